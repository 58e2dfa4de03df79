/* SPDX-License-Identifier: BSD-3-Clause */
/* fast: short blocking collectives without a list of steps
 *
 * The same messages with the same tags as the list would send, so that members
 * need not agree on which way they take. */
#include "coll/coll_priv.h"

#include "transport/vci.h"
#include "p2p/p2p.h"

static struct weft_msg fast_message(
	const struct weft_fast *q, struct weft_span span, int32_t rank)
{
	return (struct weft_msg){
		.comm = q->comm,
		.buf = span.buf,
		.count = span.count,
		.type = span.type,
		.rank = rank,
		.tag = q->tag,
		.ctx_offset = q->ctx_offset,
	};
}

struct weft_fast weft_fast_begin(
	const struct weft_coll *args, enum weft_coll_kind kind)
{
	return (struct weft_fast){ args->comm, args->ctx_offset,
		weft_coll_tag(args->comm, args->ctx_offset, kind), kind, 0 };
}

void weft_fast_send(struct weft_fast *q, struct weft_span span, int32_t rank)
{
	struct weft_msg msg = fast_message(q, span, rank);

	if (weft_unlikely(q->err))
		weft_send_coll_error_locked(&msg, q->err);
	else
		q->err = weft_send_locked(&msg);
}

static int fast_finish(const struct weft_fast *q, struct weft_req *req)
{
	int err;

	weft_req_wait_in(q->comm->vci, req, weft_coll_name(q->kind));
	err = req->status.err;
	if (weft_unlikely(err == WEFT_ERR_NOT_SAME) &&
		req->status.tag != q->tag)
		weft_coll_met(
			q->comm, q->tag, req->status.tag, req->status.source);
	weft_req_put(req);
	return err;
}

/* Posts a receive, unless another collective's message is there already. */
static int fast_post(const struct weft_fast *q, const struct weft_msg *msg,
	struct weft_req **req_out)
{
	int32_t met;

	if (weft_unlikely(q->comm->match.n_unexpected) &&
		weft_recv_other_locked(msg, &met))
		return weft_coll_met(q->comm, q->tag, met, msg->rank);
	return weft_irecv_locked(msg, req_out);
}

void weft_fast_recv(struct weft_fast *q, struct weft_span span, int32_t rank)
{
	struct weft_msg msg = fast_message(q, span, rank);
	struct weft_req *req;

	if (weft_unlikely(q->err)) {
		weft_recv_drop_locked(&msg);
		return;
	}
	q->err = fast_post(q, &msg, &req);
	if (!q->err)
		q->err = fast_finish(q, req);
}

void weft_fast_exchange(struct weft_fast *q, struct weft_span out, int32_t to,
	struct weft_span in, int32_t from)
{
	struct weft_msg in_msg = fast_message(q, in, from);
	struct weft_msg out_msg = fast_message(q, out, to);
	struct weft_req *req;
	int send_err, err;

	if (weft_unlikely(q->err)) {
		weft_recv_drop_locked(&in_msg);
		weft_send_coll_error_locked(&out_msg, q->err);
		return;
	}
	err = fast_post(q, &in_msg, &req);
	if (weft_unlikely(err)) {
		q->err = err;
		weft_send_coll_error_locked(&out_msg, err);
		return;
	}
	send_err = weft_send_locked(&out_msg);
	err = fast_finish(q, req);
	if (weft_unlikely(send_err | err))
		q->err = send_err ? send_err : err;
}

void weft_fast_call(const struct weft_fast *q, const struct weft_redop *op,
	const void *in, struct weft_span inout)
{
	struct weft_vci *vci = q->comm->vci;

	weft_vci_unlock(vci);
	weft_redop_call(op, in, inout.buf, inout.count, inout.type);
	weft_vci_lock(vci);
}
