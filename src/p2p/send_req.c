/* SPDX-License-Identifier: BSD-3-Clause */
/* send_req: the data and the completion of a send's request */
#include "p2p/p2p_priv.h"

#include <stdlib.h>

void *weft_send_run(struct weft_req *req)
{
	if (weft_unlikely(!req->len))
		return req; /* any address, because no byte is read */
	if (weft_unlikely(req->send.mode == WEFT_SEND_DEVICE))
		return req->staging;
	if (weft_type_is_run(req->type, req->count))
		return (char *)req->buf + req->type->true_lb;
	if (!req->staging) {
		req->staging = malloc(req->len);
		if (req->staging)
			weft_pack(req->type, req->count, req->buf, 0,
				req->staging, req->len);
	}
	return req->staging;
}

void weft_send_finish(struct weft_req *req, int err)
{
	req->comm->p2p.n_sends--;
	req->send.is_cancelling = false; /* a pending CANCEL is too late */
	if (req->send.is_announced) {
		req->send.is_announced = false;
		weft_p2p_peer_of(req->peer)->n_offered--;
	}
	if (weft_unlikely(req->send.mode == WEFT_SEND_DEVICE))
		weft_rndv_dev_unstage(req);
	weft_p2p_finish(req, err);
}
