/* SPDX-License-Identifier: BSD-3-Clause */
/* control: the control messages that several files of this room send */
#include "p2p/p2p_priv.h"

void weft_control_credit(struct weft_peer *peer)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_CREDIT };

	/* otherwise a queued message will carry the credit */
	if (weft_list_is_empty(&peer->pending))
		weft_peer_control(peer, &head, NULL, 0);
}

int weft_control_cts(struct weft_req *req, uint64_t sreq, size_t len)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_CTS };
	struct weft_wire_cts cts = {
		.sreq = sreq,
		.rreq = weft_obj_handle(req),
		.len = len,
		.n_rails = req->rndv.n_rails,
	};

	if (weft_p2p_peer_of(req->peer)->is_unmappable)
		head.flags |= WEFT_WIRE_CANNOT_MAP;
	if (req->rndv.is_short)
		head.flags |= WEFT_WIRE_SHORT_SEGS;
	return weft_peer_control(req->peer, &head, &cts, sizeof(cts));
}

void weft_control_fin(struct weft_peer *peer, uint64_t handle, uint64_t how)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_FIN };
	struct weft_wire_fin fin = { .req = handle, .status = how };
	int err = weft_peer_control(peer, &head, &fin, sizeof(fin));

	if (err)
		weft_peer_fail(peer, err);
}

int weft_p2p_control_locked(struct weft_vci *vci, uint64_t proc,
	enum weft_wire_op op, const void *payload, size_t len)
{
	struct weft_wire_head head = { .op = (uint8_t)op };
	struct weft_peer *peer = weft_peer_of(vci, proc);

	if (!peer)
		return WEFT_ERR_NOMEM;
	return weft_peer_control(peer, &head, payload, len);
}
