/* SPDX-License-Identifier: BSD-3-Clause */
/* recv: the whole receive path: post, arrive, deliver, complete */
#include "p2p/p2p_priv.h"

#include "base/event.h"
#include "base/log.h"
#include "transport/progress.h"

#include <stdlib.h>
#include <string.h>

/* Returns the communicator of a message, or NULL if this process has not
 * created it yet or has closed it. */
static inline struct weft_comm *comm_of(struct weft_vci *vci, uint64_t ctx)
{
	struct weft_comm *comm = vci->core->last_comm;

	ctx &= ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
	if (weft_likely(comm && comm->ctx == ctx))
		return comm;
	if (!ctx)
		return NULL;
	comm = weft_vci_core_comm(vci, ctx);
	if (comm)
		vci->core->last_comm = comm;
	return comm;
}

static __attribute__((cold)) int truncated(
	uint64_t ctx, size_t room, int32_t src, int32_t tag, size_t len)
{
	if (ctx % WEFT_CTX_OFFSET_END == WEFT_CTX_OFFSET_COLL)
		return weft_err_set(WEFT_ERR_TRUNCATE,
			"rank %d sent %zu bytes of a collective operation "
			"where %zu were expected: members must agree on the "
			"length of the data",
			src, len, room);
	return weft_err_set(WEFT_ERR_TRUNCATE,
		"a message of %zu bytes from rank %d with tag %d matched a "
		"receive of %zu bytes",
		len, src, tag, room);
}

/* Fills the status of a receive of `room` bytes that matched a message. Returns
 * the error of the receive. */
static inline int matched(struct weft_status *status, size_t room, uint64_t ctx,
	int32_t src, int32_t tag, size_t len)
{
	status->source = src;
	status->tag = tag;
	status->len = (int64_t)weft_min(len, room);
	if (weft_likely(len <= room))
		return 0;
	return truncated(ctx, room, src, tag, len);
}

/* Copies the data into the user's buffer. len is the length in the status. */
static inline void put_data(void *buf, int64_t count,
	const struct weft_type *type, const void *data, int64_t len)
{
	if (!len)
		return; /* the buffer may be NULL */
	if (weft_likely(type->is_contig))
		weft_copy_msg((char *)buf + type->true_lb, data, (size_t)len);
	else
		weft_unpack(type, count, buf, 0, data, (size_t)len);
}

static void raise_unexpected(const struct weft_comm *comm,
	const struct weft_wire_head *head, uint64_t len)
{
	weft_event_raise(WEFT_EVENT_unexpected_queued, comm->vci->number, true,
		(int64_t)head->ctx, head->src, head->tag, (int64_t)len);
}

static int queue_eager(struct weft_comm *comm, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	if (weft_comm_is_revoked(comm) ||
		weft_failure_prevents(comm, head->ctx, head->tag)) {
		weft_p2p_return_credit(peer, len);
		return 0;
	}
	raise_unexpected(comm, head, len);
	return weft_message_queue(comm, peer, head, payload, len)
		       ? 0
		       : WEFT_ERR_NOMEM;
}

/* Searches for a posted receive with the source and the collective's number of
 * this message, but of another kind of collective. Completes that receive with
 * WEFT_ERR_NOT_SAME. The error message can then name both collectives. False if
 * there is no such receive. */
static bool end_other(struct weft_comm *comm, const struct weft_wire_head *head)
{
	struct weft_req *req = weft_match_other_posted(
		&comm->match, head->ctx, (int32_t)head->src, head->tag);

	if (!req)
		return false;
	weft_match_withdraw(&comm->match, req);
	req->status.source = (int32_t)head->src;
	req->status.tag = head->tag;
	weft_p2p_finish(req, WEFT_ERR_NOT_SAME);
	return true;
}

bool weft_recv_other_locked(const struct weft_msg *msg, int32_t *tag_out)
{
	struct weft_message *message =
		weft_match_other_unexpected(&msg->comm->match,
			msg->comm->ctx + msg->ctx_offset, msg->rank, msg->tag);

	if (!message)
		return false;
	*tag_out = message->tag;
	weft_match_take(&msg->comm->match, message);
	if (message->is_rts && !message->is_failed)
		weft_control_fin(
			message->peer, message->sreq, WEFT_WIRE_DELIVERED);
	else if (!message->is_rts)
		weft_p2p_return_credit(message->peer, message->len);
	weft_message_free(message);
	return true;
}

/* Handles an eager message of a communicator that this process does not have.
 */
static __attribute__((cold)) void eager_without_comm(struct weft_vci *vci,
	struct weft_peer *peer, const struct weft_wire_head *head,
	const void *payload, size_t len)
{
	uint64_t ctx = head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);

	if (weft_vci_core_broken(vci, ctx)) {
		weft_p2p_return_credit(peer, len);
		weft_departed_answer(vci, peer, ctx);
	} else {
		weft_dispatch_queue(vci, peer, head, payload, len);
	}
}

void weft_recv_on_eager(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_comm *comm = comm_of(vci, head->ctx);
	struct weft_req *req;
	int err;

	if (weft_unlikely(!comm)) {
		eager_without_comm(vci, peer, head, payload, len);
		return;
	}
	if (weft_unlikely(head->src >= (uint32_t)comm->remote_size)) {
		weft_dispatch_drop(vci, "from a rank that does not exist");
		return;
	}
	req = weft_match_arrive(
		&comm->match, head->ctx, (int32_t)head->src, head->tag);
	if (weft_unlikely(!req)) {
		if (end_other(comm, head))
			weft_p2p_return_credit(peer, len);
		else if (queue_eager(comm, peer, head, payload, len))
			weft_dispatch_drop(vci, "out of memory");
		return;
	}
	/* the receive has matched: it completes below, even with an error */
	req->peer = peer;
	err = matched(&req->status, req->len, head->ctx, (int32_t)head->src,
		head->tag, len);
	put_data(req->buf, req->count, req->type, payload, req->status.len);
	weft_p2p_return_credit(peer, len);
	weft_p2p_finish(req, err);
}

/* Refuses an announced message if its communicator was closed without a
 * barrier. False if it was not. */
static bool is_refused(struct weft_vci *vci, struct weft_peer *peer,
	uint64_t ctx, uint64_t sreq)
{
	uint64_t why = weft_vci_core_broken(
		vci, ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1));

	if (!why)
		return false;
	weft_control_fin(peer, sreq,
		why == WEFT_CORE_REVOKED ? WEFT_WIRE_REVOKED
					 : WEFT_WIRE_PROC_FAILED + why);
	return true;
}

void weft_recv_on_rts(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_comm *comm = comm_of(vci, head->ctx);
	const bool is_device = head->flags & WEFT_WIRE_IS_DEVICE;
	struct weft_message *message;
	struct weft_wire_device device;
	struct weft_wire_rts rts;
	struct weft_req *req;

	if (!weft_wire_get_rts(&rts, payload, len) || !rts.sreq ||
		rts.len > INT64_MAX ||
		(is_device &&
			(!weft_wire_get_device(&device,
				 (const char *)payload + sizeof(rts),
				 len - sizeof(rts)) ||
				!weft_rndv_dev_is_valid(&device, &rts)))) {
		weft_dispatch_drop(vci, "malformed RTS");
		return;
	}
	if (!comm) {
		if (!is_refused(vci, peer, head->ctx, rts.sreq))
			weft_dispatch_queue(vci, peer, head, payload, len);
		return;
	}
	if (head->src >= (uint32_t)comm->remote_size) {
		weft_dispatch_drop(vci, "from a rank that does not exist");
		return;
	}
	req = weft_match_arrive(
		&comm->match, head->ctx, (int32_t)head->src, head->tag);
	if (req) {
		struct weft_rndv_announced announced = { rts.sreq, rts.addr,
			rts.len, is_device ? &device : NULL };

		req->peer = peer;
		req->status.err = matched(&req->status, req->len, head->ctx,
			(int32_t)head->src, head->tag, rts.len);
		weft_rndv_pull(req, peer, &announced);
		return;
	}
	if (end_other(comm, head)) {
		weft_control_fin(peer, rts.sreq, WEFT_WIRE_DELIVERED);
		return;
	}
	if (weft_comm_is_revoked(comm)) {
		weft_revoke_refuse(comm, peer, rts.sreq);
		return;
	}
	if (weft_failure_prevents(comm, head->ctx, head->tag)) {
		weft_control_fin(
			peer, rts.sreq, WEFT_WIRE_PROC_FAILED + comm->failed);
		return;
	}
	message = weft_message_queue(
		comm, peer, head, &device, is_device ? sizeof(device) : 0);
	if (!message) {
		weft_control_fin(peer, rts.sreq, WEFT_WIRE_DATA_FAILED);
		return;
	}
	raise_unexpected(comm, head, rts.len);
	message->is_rts = true;
	message->is_device = is_device;
	message->is_uncancellable = head->flags & WEFT_WIRE_IS_UNCANCELLABLE;
	message->len = rts.len;
	message->sreq = rts.sreq;
	message->addr = rts.addr;
	if (message->is_uncancellable && comm->is_disconnected)
		weft_unmatched_check(message);
}

/* Queues an error as unexpected, until its receive is posted. */
static int queue_coll_error(struct weft_comm *comm, struct weft_peer *peer,
	const struct weft_wire_head *head, int err, const char *text,
	size_t len)
{
	struct weft_message *message =
		weft_message_queue(comm, peer, head, text, len);

	if (!message)
		return WEFT_ERR_NOMEM;
	message->is_rts = true;
	message->is_failed = true;
	message->sreq = (uint64_t)(int64_t)err;
	return 0;
}

void weft_recv_on_coll_error(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	uint64_t ctx = head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
	const char *text =
		(const char *)payload + sizeof(struct weft_wire_failed);
	struct weft_wire_failed word;
	struct weft_comm *comm;
	struct weft_req *req;

	if (!ctx || !weft_coll_error_read(vci, head, payload, len, &word)) {
		weft_dispatch_drop(vci, "malformed error of a collective");
		return;
	}
	comm = weft_vci_core_comm(vci, ctx);
	if (!comm && weft_vci_core_broken(vci, ctx))
		return;
	if (!comm) {
		weft_dispatch_queue(vci, peer, head, payload, len);
		return;
	}
	if (head->src >= (uint32_t)comm->remote_size) {
		weft_dispatch_drop(vci, "from a rank that does not exist");
		return;
	}
	weft_failure_record(comm, word.failed);
	req = weft_match_arrive(
		&comm->match, head->ctx, (int32_t)head->src, head->tag);
	if (req)
		weft_coll_error_end(req, word.err, text, word.len);
	else if (!end_other(comm, head) && !weft_comm_is_revoked(comm) &&
		 !weft_failure_prevents(comm, head->ctx, head->tag) &&
		 queue_coll_error(comm, peer, head, word.err, text, word.len))
		weft_dispatch_drop(vci, "out of memory");
}

void weft_recv_deliver_take(struct weft_req *req, struct weft_message *message)
{
	struct weft_peer *peer = message->peer;
	int err;

	if (message->is_rts && weft_unlikely(message->is_failed)) {
		weft_coll_error_deliver_take(req, message);
		return;
	}
	req->peer = peer;
	err = matched(&req->status, req->len, message->ctx, message->src,
		message->tag, message->len);
	if (message->is_rts) {
		struct weft_rndv_announced announced = { message->sreq,
			message->addr, message->len, NULL };
		struct weft_wire_device device;

		if (message->is_device) {
			memcpy(&device, message->data, sizeof(device));
			announced.device = &device;
		}
		weft_message_free(message);
		req->status.err = err;
		weft_rndv_pull(req, peer, &announced);
	} else {
		put_data(req->buf, req->count, req->type, message->data,
			req->status.len);
		weft_p2p_return_credit(peer, message->len);
		weft_message_free(message);
		weft_p2p_finish(req, err);
	}
}

/* Starts a receive. message: the unexpected message that matches, or NULL.
 * may_copy: a deferred copy may run in this call, and releases the lock. */
static inline __attribute__((always_inline)) int recv_begin(
	struct weft_req *req, struct weft_message *message, bool may_copy)
{
	struct weft_match *match = &req->comm->match;
	int err;

	if (weft_unlikely(req->src == WEFT_PROC_NULL)) {
		req->status.source = WEFT_PROC_NULL;
		req->status.tag = WEFT_ANY_TAG;
		req->status.len = 0;
		weft_req_complete(req, 0);
		return 0;
	}
	weft_req_get(req);
	if (message) {
		weft_match_take(match, message);
		weft_recv_deliver_take(req, message);
		if (may_copy && req->vci->has_deferred)
			weft_progress(req->vci); /* runs the deferred copy */
		return 0;
	}
	err = weft_match_post(match, req);
	if (err)
		weft_p2p_finish(req, err);
	else if (weft_unlikely(req->vci->n_failed))
		weft_failure_check(req);
	return err;
}

int weft_recv_start(struct weft_req *req)
{
	return recv_begin(req,
		weft_match_find(
			&req->comm->match, req->ctx, req->src, req->tag),
		false);
}

static inline struct weft_message *recv_find(const struct weft_msg *msg)
{
	return weft_match_find(&msg->comm->match,
		msg->comm->ctx + msg->ctx_offset, msg->rank, msg->tag);
}

static inline __attribute__((always_inline)) int irecv(
	const struct weft_msg *msg, struct weft_message *message, bool may_copy,
	struct weft_req **req_out)
{
	struct weft_req *req = weft_p2p_new(msg, WEFT_REQ_RECV);
	int err;

	if (weft_unlikely(!req))
		return WEFT_ERR_NOMEM;
	err = recv_begin(req, message, may_copy);
	if (weft_unlikely(err)) {
		weft_req_put(req);
		return err;
	}
	*req_out = req;
	return 0;
}

int weft_irecv_locked(const struct weft_msg *msg, struct weft_req **req_out)
{
	return irecv(msg, recv_find(msg), false, req_out);
}

int weft_irecv(const struct weft_msg *msg, struct weft_req **req_out)
{
	struct weft_vci *vci = msg->comm->vci;
	int err;

	weft_vci_lock(vci);
	err = irecv(msg, recv_find(msg), true, req_out);
	weft_vci_unlock(vci);
	return err;
}

/* Receives an unexpected eager message without a request. */
static int recv_unexpected_take(const struct weft_msg *msg,
	struct weft_message *message, struct weft_status *status)
{
	struct weft_peer *peer = message->peer;

	weft_match_take(&msg->comm->match, message);
	status->is_cancelled = false;
	status->err = matched(status, (size_t)(msg->count * msg->type->size),
		message->ctx, message->src, message->tag, message->len);
	put_data(msg->buf, msg->count, msg->type, message->data, status->len);
	weft_p2p_return_credit(peer, message->len);
	weft_message_free(message);
	return status->err;
}

void weft_recv_wait_more(
	struct weft_vci *vci, struct weft_req *req, const char *call)
{
	weft_req_wait_more(vci, req, call);
	if (weft_unlikely(!req->is_done))
		weft_failure_end_pending(req);
}

int weft_recv(const struct weft_msg *msg, struct weft_status *status_out)
{
	struct weft_vci *vci = msg->comm->vci;
	struct weft_message *message;
	struct weft_req *req = NULL;
	int err;

	weft_vci_lock(vci);
	message = recv_find(msg);
	if (message && !message->is_rts) {
		err = recv_unexpected_take(msg, message, status_out);
		weft_vci_unlock(vci);
		return err;
	}
	err = irecv(msg, message, true, &req);
	if (!err) {
		weft_recv_wait_in(vci, req, NULL);
		err = req->status.err;
		if (weft_unlikely(err))
			weft_failure_explain(req);
		*status_out = req->status;
		weft_req_put(req);
	}
	weft_vci_unlock(vci);
	return err;
}

void weft_recv_drop_locked(const struct weft_msg *msg)
{
	struct weft_msg none = *msg;
	struct weft_req *req;

	none.count = 0;
	if (!weft_irecv_locked(&none, &req))
		weft_req_put(req); /* completes when its message arrives */
}
