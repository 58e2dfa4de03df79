/* SPDX-License-Identifier: BSD-3-Clause */
/* persist: persistent sends and receives */
#include "p2p/p2p_priv.h"

static const struct weft_req_ops send_ops = { .start = weft_send_start };
static const struct weft_req_ops recv_ops = { .start = weft_recv_start };

static int persist_init(const struct weft_msg *msg, enum weft_req_kind kind,
	struct weft_req **req_out)
{
	struct weft_vci *vci = msg->comm->vci;
	struct weft_req *req;

	weft_vci_lock(vci);
	req = weft_p2p_new(msg, kind);
	if (req) {
		req->is_persistent = true;
		req->is_active = false;
		req->is_done = true;
		req->ops = kind == WEFT_REQ_SEND ? &send_ops : &recv_ops;
		*req_out = req;
	}
	weft_vci_unlock(vci);
	return req ? 0 : WEFT_ERR_NOMEM;
}

int weft_send_init(const struct weft_msg *msg, struct weft_req **req_out)
{
	return persist_init(msg, WEFT_REQ_SEND, req_out);
}

int weft_recv_init(const struct weft_msg *msg, struct weft_req **req_out)
{
	return persist_init(msg, WEFT_REQ_RECV, req_out);
}
