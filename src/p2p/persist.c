/* SPDX-License-Identifier: BSD-3-Clause */
/* persist: persistent sends and receives */
#include "p2p/p2p_priv.h"

static int start_send(struct weft_req *req)
{
	return weft_send_start(req);
}

static int start_recv(struct weft_req *req)
{
	return weft_recv_start(req);
}

static const struct weft_req_ops send_ops = { .start = start_send };
static const struct weft_req_ops recv_ops = { .start = start_recv };

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
