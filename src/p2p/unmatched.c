/* SPDX-License-Identifier: BSD-3-Clause */
/* unmatched: messages and requests that are left on a communicator when it is
 * closed
 *
 * A disconnect does not return while a send of the process waits for its
 * receive: the receiver may still post the receive, or the sender may cancel
 * the send. Once both processes are in disconnect, neither can happen.
 *
 * So a sender in disconnect sends a CANCEL with the flag IS_UNCANCELLABLE for
 * each such send. The RTS of a blocking send has this flag already. A receiver
 * in disconnect that has the announcement refuses the message. Both processes
 * record the message for the report. All other leftovers are found when the
 * communicator is destroyed. */
#include "p2p/p2p_priv.h"

#include <stdlib.h>

/* An unmatched message that was found before the communicator is destroyed. The
 * communicator owns the record. */
struct weft_unmatched_record {
	struct weft_unmatched_record *next;
	struct weft_unmatched left;
};

static void record_unmatched(struct weft_comm *comm,
	enum weft_unmatched_kind kind, int32_t rank, int32_t tag, uint64_t len)
{
	struct weft_unmatched_record *n;

	if (kind == WEFT_UNMATCHED_COLL_DATA &&
		(comm->failed || comm->coll_err))
		return; /* expected after a death or a failed collective */
	n = malloc(sizeof(*n));
	if (!n)
		return; /* out of memory: the report lacks the message */
	*n = (struct weft_unmatched_record){
		.next = comm->p2p.unmatched,
		.left = { .kind = kind, .rank = rank, .tag = tag, .len = len },
	};
	comm->p2p.unmatched = n;
}

/* ---- sends that will never be received ---- */

void weft_unmatched_send_last(struct weft_req *req)
{
	struct weft_wire_fin fin = { .req = weft_obj_handle(req) };
	struct weft_wire_head head = {
		.op = WEFT_WIRE_CANCEL,
		.flags = WEFT_WIRE_IS_UNCANCELLABLE,
		.src = (uint32_t)req->comm->rank,
		.ctx = req->ctx,
		.tag = req->tag,
	};

	req->send.is_uncancellable =
		!weft_peer_control(req->peer, &head, &fin, sizeof(fin));
}

static void send_all_last(struct weft_comm *comm)
{
	struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(comm->vci, &pos)) != NULL)
		if (req->refs && req->comm == comm &&
			weft_req_is_announced(req) &&
			!req->send.is_uncancellable)
			weft_unmatched_send_last(req);
}

/* True while a collective with a request of this process may still receive
 * data. */
static bool has_collective(const struct weft_comm *comm)
{
	const struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(comm->vci, &pos)) != NULL)
		if (req->refs && req->comm == comm && !req->is_done &&
			req->kind == WEFT_REQ_COLL)
			return true;
	return false;
}

static enum weft_unmatched_kind unmatched_kind_of(
	const struct weft_message *message)
{
	switch (weft_p2p_offset_of(message->comm, message->ctx)) {
	case WEFT_CTX_OFFSET_COLL:
		return WEFT_UNMATCHED_COLL_DATA;
	case WEFT_CTX_OFFSET_PART:
		return WEFT_UNMATCHED_PARTITION;
	default:
		return WEFT_UNMATCHED_MESSAGE;
	}
}

static void refuse_take(struct weft_message *message,
	enum weft_unmatched_kind kind, uint64_t sreq)
{
	struct weft_wire_head answer = { .op = WEFT_WIRE_CANCEL_ACK };
	struct weft_wire_fin fin = { .req = sreq, .status = WEFT_WIRE_REFUSED };
	struct weft_peer *peer = message->peer;
	uint64_t failed = message->comm->failed;

	if (kind == WEFT_UNMATCHED_COLL_DATA &&
		weft_err_is_fault(message->comm->coll_err))
		fin.status += (uint64_t)-message->comm->coll_err;
	record_unmatched(
		message->comm, kind, message->src, message->tag, message->len);
	weft_message_free(message);
	if (failed)
		weft_control_fin(peer, sreq, WEFT_WIRE_PROC_FAILED + failed);
	else
		weft_peer_control(peer, &answer, &fin, sizeof(fin));
}

void weft_unmatched_check(struct weft_message *message)
{
	struct weft_comm *comm = message->comm;
	enum weft_ctx_offset ctx_offset =
		weft_p2p_offset_of(comm, message->ctx);

	if (!message->is_uncancellable || !comm->is_disconnected ||
		ctx_offset == WEFT_CTX_OFFSET_CTL ||
		(ctx_offset == WEFT_CTX_OFFSET_COLL && has_collective(comm)))
		return;
	weft_match_take(&comm->match, message);
	refuse_take(message, unmatched_kind_of(message), message->sreq);
}

/* Returns the next message, from *pos on, that a matched probe removed from
 * matching and that was not received. NULL: there is none. */
static struct weft_message *next_probed(struct weft_comm *comm, uint32_t *pos)
{
	struct weft_message *m;

	while ((m = weft_table_next(&weft_messages, pos)) != NULL)
		if (m->comm == comm && weft_list_is_empty(&m->arrived))
			return m;
	return NULL;
}

static void check_probed(struct weft_message *message)
{
	struct weft_comm *comm = message->comm;

	if (!comm->is_disconnected || !message->is_uncancellable)
		return;
	refuse_take(message, WEFT_UNMATCHED_HANDLE, message->sreq);
	comm->p2p.n_probed--;
	weft_comm_put(comm);
}

void weft_unmatched_on_last(struct weft_comm *comm, struct weft_peer *peer,
	uint64_t ctx, uint64_t sreq)
{
	struct weft_message *m;
	uint32_t pos = 0;

	weft_list_for_each(link, next, &comm->match.arrived)
	{
		m = weft_container_of(link, struct weft_message, arrived);
		if (m->is_rts && m->peer == peer && m->ctx == ctx &&
			m->sreq == sreq) {
			m->is_uncancellable = true;
			weft_unmatched_check(m);
			return;
		}
	}
	while (comm->p2p.n_probed && (m = next_probed(comm, &pos)) != NULL)
		if (m->is_rts && m->peer == peer && m->ctx == ctx &&
			m->sreq == sreq) {
			m->is_uncancellable = true;
			check_probed(m);
			return;
		}
}

/* Returns the error of a send of a collective to a rank at which the collective
 * failed. */
static int left_after(const struct weft_req *req, int err)
{
	return weft_err_set(err,
		"rank %d left the communicator without receiving this message, "
		"after a collective that failed there (the error at that rank "
		"names the cause)",
		(int)req->src);
}

void weft_unmatched_on_refused(struct weft_req *req, int coll_err)
{
	uint32_t ms = weft_rndv_now_ms() - req->rndv.since_ms;

	/* in other cases the call that completes the send reports the error */
	if (req->comm->is_disconnected &&
		weft_p2p_offset_of(req->comm, req->ctx) == WEFT_CTX_OFFSET_P2P)
		record_unmatched(req->comm,
			req->send.mode == WEFT_SEND_BUFFERED
				? WEFT_UNMATCHED_BUFFERED
				: WEFT_UNMATCHED_SEND,
			req->src, req->tag, req->len);
	if (coll_err) {
		weft_send_finish(req, left_after(req, coll_err));
		return;
	}
	weft_send_finish(req,
		weft_err_set(WEFT_ERR_PENDING,
			"a send of %zu bytes with tag %d to rank %d is "
			"pending for %u.%u s and can never complete: rank %d "
			"left the communicator without receiving it",
			req->len, (int)req->tag, (int)req->src, ms / 1000,
			ms % 1000 / 100, (int)req->src));
}

void weft_p2p_leave_locked(struct weft_comm *comm)
{
	if (comm->p2p.n_sends)
		send_all_last(comm);
	weft_p2p_refuse_locked(comm);
}

void weft_p2p_refuse_locked(struct weft_comm *comm)
{
	struct weft_message *m;
	uint32_t pos = 0;

	weft_list_for_each(link, next, &comm->match.arrived)
		weft_unmatched_check(
			weft_container_of(link, struct weft_message, arrived));
	while (comm->p2p.n_probed && (m = next_probed(comm, &pos)) != NULL)
		check_probed(m);
}

/* ---- leftovers ---- */

/* Returns the kind of a request that its owner should have completed, or NONE
 * if the request is not reported. */
static enum weft_unmatched_kind kind_of_req(
	const struct weft_comm *comm, const struct weft_req *req)
{
	bool is_held = req->is_persistent ? req->is_active : true;

	is_held = is_held && !req->is_user_freed;
	if (req->kind == WEFT_REQ_COLL && comm->failed)
		return WEFT_UNMATCHED_NONE; /* expected after a death */
	if (req->kind == WEFT_REQ_COLL)
		return !req->is_done || req->status.err ||
				       (req->is_persistent && is_held)
			       ? WEFT_UNMATCHED_COLL
			       : WEFT_UNMATCHED_NONE;
	if (req->kind != WEFT_REQ_SEND && req->kind != WEFT_REQ_RECV)
		return WEFT_UNMATCHED_NONE;
	if (weft_p2p_offset_of(comm, req->ctx) == WEFT_CTX_OFFSET_PART)
		return req->is_persistent && is_held ? WEFT_UNMATCHED_ACTIVE
						     : WEFT_UNMATCHED_NONE;
	if (weft_p2p_offset_of(comm, req->ctx) != WEFT_CTX_OFFSET_P2P)
		return WEFT_UNMATCHED_NONE;
	if (req->is_persistent && is_held)
		return WEFT_UNMATCHED_ACTIVE;
	if (req->kind == WEFT_REQ_RECV && !req->is_done)
		return WEFT_UNMATCHED_RECV;
	return req->is_done && is_held && !req->is_persistent
		       ? WEFT_UNMATCHED_DONE
		       : WEFT_UNMATCHED_NONE;
}

static void report_requests(
	struct weft_comm *comm, weft_unmatched_fn *fn, void *arg)
{
	const struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(comm->vci, &pos)) != NULL) {
		struct weft_unmatched left;

		if (req->refs == 0 || req->comm != comm)
			continue;
		left = (struct weft_unmatched){
			.kind = kind_of_req(comm, req),
			.is_send = req->kind == WEFT_REQ_SEND,
			.rank = req->src,
			.tag = req->tag,
			.len = req->len,
		};
		if (left.kind != WEFT_UNMATCHED_NONE)
			fn(&left, arg);
	}
}

static void report_message(const struct weft_message *message,
	enum weft_unmatched_kind kind, weft_unmatched_fn *fn, void *arg)
{
	const struct weft_unmatched left = {
		.kind = kind,
		.rank = message->src,
		.tag = message->tag,
		.len = message->len,
	};

	fn(&left, arg);
}

/* True for a message that is reported. These messages are not reported:
 * - control messages: creation and disconnect remove them;
 * - messages of a failed collective, or of a collective of a communicator with
 *   a failed member;
 * - the set-up of a partitioned send, which carries no data of the program. */
static bool unmatched_is_reported(const struct weft_message *message)
{
	enum weft_ctx_offset ctx_offset =
		weft_p2p_offset_of(message->comm, message->ctx);

	if (ctx_offset == WEFT_CTX_OFFSET_COLL &&
		(message->is_failed || message->comm->failed ||
			message->comm->coll_err))
		return false;
	return ctx_offset != WEFT_CTX_OFFSET_CTL &&
	       (ctx_offset != WEFT_CTX_OFFSET_PART || message->tag < 0);
}

void weft_p2p_unmatched_locked(
	struct weft_comm *comm, weft_unmatched_fn *fn, void *arg)
{
	const struct weft_message *m;
	uint32_t pos = 0;

	for (const struct weft_unmatched_record *n = comm->p2p.unmatched; n;
		n = n->next)
		fn(&n->left, arg);
	if (comm->refs > 1)
		report_requests(comm, fn, arg);
	while (comm->p2p.n_probed && (m = next_probed(comm, &pos)) != NULL)
		report_message(m, WEFT_UNMATCHED_HANDLE, fn, arg);
	weft_list_for_each(link, next, &comm->match.arrived)
	{
		m = weft_container_of(link, struct weft_message, arrived);
		if (unmatched_is_reported(m))
			report_message(m, unmatched_kind_of(m), fn, arg);
	}
}

/* Frees the records and the probed messages. */
static void purge_records(struct weft_comm *comm)
{
	struct weft_message *m;
	uint32_t pos = 0;

	while (comm->p2p.unmatched) {
		struct weft_unmatched_record *n = comm->p2p.unmatched;

		comm->p2p.unmatched = n->next;
		free(n);
	}
	while (comm->p2p.n_probed && (m = next_probed(comm, &pos)) != NULL) {
		if (!m->is_rts)
			weft_p2p_return_credit(m->peer, m->len);
		weft_message_free(m);
		comm->p2p.n_probed--;
		weft_comm_put(comm);
	}
}

static struct weft_link *first_receive(struct weft_match *match)
{
	if (!weft_list_is_empty(&match->wild))
		return match->wild.next;
	for (int i = 0; match->posted && i < WEFT_MATCH_BINS; i++)
		if (!weft_list_is_empty(&match->posted[i]))
			return match->posted[i].next;
	return NULL;
}

void weft_p2p_purge_locked(struct weft_comm *comm)
{
	struct weft_match *match = &comm->match;
	struct weft_link *link;

	purge_records(comm);
	while (!weft_list_is_empty(&match->arrived)) {
		struct weft_message *m = weft_container_of(
			match->arrived.next, struct weft_message, arrived);

		weft_match_take(match, m);
		if (!m->is_rts)
			weft_p2p_return_credit(m->peer, m->len);
		weft_message_free(m);
	}
	while ((link = first_receive(match)) != NULL) {
		struct weft_req *req =
			weft_container_of(link, struct weft_req, link);

		weft_match_withdraw(match, req);
		weft_p2p_finish(
			req, comm->failed ? weft_comm_failed(comm)
					  : weft_err_set(WEFT_ERR_COMM,
						    "the communicator of this "
						    "receive was closed"));
	}
}
