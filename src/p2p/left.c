/* SPDX-License-Identifier: BSD-3-Clause */
/* left: what a communicator still holds when it is left for good
 *
 * A send that waits for its receive keeps its process from leaving. It can be
 * matched as long as the receiver may post, and withdrawn as long as the
 * sender may cancel; once both have begun to leave neither can happen. So a
 * sender that leaves says so for each such send (a CANCEL marked as the last
 * word; a blocking send says it at once), and a receiver that leaves too and
 * has kept the announcement refuses it. Both note it; what else is left is
 * found when the communicator goes. */
#include "p2p/p2p_priv.h"

#include "base/log.h"
#include "core/alone.h"
#include "core/comm.h"

#include <stdio.h>
#include <stdlib.h>

/* Noted before the communicator goes. Destroyed with it. */
struct weft_left_note {
	struct weft_left_note *next;
	struct weft_left left;
};

void weft_left_note(struct weft_comm *comm, enum weft_left_kind kind,
	int32_t rank, int32_t tag, uint64_t len)
{
	struct weft_left_note *n = malloc(sizeof(*n));

	if (!n)
		return; /* the rest is said without it */
	*n = (struct weft_left_note){
		.next = comm->left,
		.left = { .kind = kind, .rank = rank, .tag = tag, .len = len },
	};
	comm->left = n;
}

/* ---- sends that will never be received ---- */

static enum weft_plane plane_of(const struct weft_comm *comm, uint64_t ctx)
{
	return (enum weft_plane)(ctx - comm->ctx);
}

/* Announced, and nothing heard since. */
static bool is_offered(const struct weft_req *req)
{
	return req->kind == WEFT_REQ_SEND && !req->is_done && req->peer &&
	       !req->is_eager && !req->remote && req->n_parts == 0 &&
	       weft_list_is_empty(&req->out.link);
}

/* Says of every send that waits for its receive that it will not be taken
 * back. */
static void say_last(struct weft_comm *comm)
{
	struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(comm->lane, &pos)) != NULL) {
		struct weft_wire_head head = {
			.op = WEFT_WIRE_CANCEL,
			.flags = WEFT_WIRE_IS_LAST,
		};
		struct weft_wire_fin fin = { .req = weft_obj_handle(req) };

		if (req->refs == 0 || req->comm != comm || req->is_last ||
			!is_offered(req))
			continue;
		head.src = (uint32_t)comm->rank;
		head.ctx = req->ctx;
		head.tag = req->tag;
		req->is_last =
			!weft_peer_control(req->peer, &head, &fin, sizeof(fin));
	}
}

/* True while a collective of this process may yet ask for data. */
static bool has_collective(const struct weft_comm *comm)
{
	const struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(comm->lane, &pos)) != NULL)
		if (req->refs && req->comm == comm && !req->is_done &&
			req->kind == WEFT_REQ_COLL)
			return true;
	return false;
}

static enum weft_left_kind kind_of(const struct weft_message *message)
{
	switch (plane_of(message->comm, message->ctx)) {
	case WEFT_PLANE_COLL:
		return WEFT_LEFT_COLL_DATA;
	case WEFT_PLANE_PART:
		return WEFT_LEFT_PARTITION;
	default:
		return WEFT_LEFT_MESSAGE;
	}
}

static void refuse_take(
	struct weft_message *message, enum weft_left_kind kind, uint64_t sreq)
{
	struct weft_wire_head answer = { .op = WEFT_WIRE_CANCEL_ACK };
	struct weft_wire_fin fin = { .req = sreq, .status = WEFT_WIRE_REFUSED };

	weft_left_note(
		message->comm, kind, message->src, message->tag, message->len);
	weft_peer_control(message->peer, &answer, &fin, sizeof(fin));
	weft_message_free(message);
}

void weft_left_judge(struct weft_message *message)
{
	struct weft_comm *comm = message->comm;
	enum weft_plane plane = plane_of(comm, message->ctx);

	if (!message->is_last || !comm->is_disconnected ||
		plane == WEFT_PLANE_CTL ||
		(plane == WEFT_PLANE_COLL && has_collective(comm)))
		return;
	weft_match_take(&comm->match, message);
	refuse_take(message, kind_of(message), message->sreq);
}

/* A message taken out by a probe and not received. */
static struct weft_message *next_probed(struct weft_comm *comm, uint32_t *pos)
{
	struct weft_message *m;

	while ((m = weft_table_next(&weft_messages, pos)) != NULL)
		if (m->comm == comm && weft_list_is_empty(&m->arrived))
			return m;
	return NULL;
}

static void judge_probed(struct weft_message *message)
{
	struct weft_comm *comm = message->comm;

	if (!comm->is_disconnected || !(message->is_last || message->is_nic))
		return;
	if (message->is_nic) {
		weft_left_note(comm, WEFT_LEFT_HANDLE, message->src,
			message->tag, message->len);
		weft_nic_toss(message);
		weft_message_free(message);
	} else
		refuse_take(message, WEFT_LEFT_HANDLE, message->sreq);
	comm->n_probed--;
	weft_comm_put(comm);
}

void weft_left_on_last(struct weft_comm *comm, struct weft_peer *peer,
	uint64_t ctx, uint64_t sreq)
{
	struct weft_message *m;
	uint32_t pos = 0;

	weft_list_for_each(link, next, &comm->match.arrived)
	{
		m = weft_container_of(link, struct weft_message, arrived);
		if (m->is_rts && m->peer == peer && m->ctx == ctx &&
			m->sreq == sreq) {
			m->is_last = true;
			weft_left_judge(m);
			return;
		}
	}
	while (comm->n_probed && (m = next_probed(comm, &pos)) != NULL)
		if (m->is_rts && m->peer == peer && m->ctx == ctx &&
			m->sreq == sreq) {
			m->is_last = true;
			judge_probed(m);
			return;
		}
}

void weft_left_on_refused(struct weft_req *req)
{
	/* otherwise the call that completes it says so */
	if (req->comm->is_disconnected &&
		plane_of(req->comm, req->ctx) == WEFT_PLANE_P2P)
		weft_left_note(req->comm,
			req->mode == WEFT_SEND_BUFFERED ? WEFT_LEFT_BUFFERED
							: WEFT_LEFT_SEND,
			req->src, req->tag, req->len);
	weft_send_finish(req,
		weft_err_set(WEFT_ERR_PENDING,
			"a send of %zu bytes with tag %d to rank %d is "
			"pending for ever: rank %d left the communicator "
			"without receiving it",
			req->len, (int)req->tag, (int)req->src, (int)req->src));
}

void weft_p2p_leave_held(struct weft_comm *comm)
{
	if (comm->n_sends)
		say_last(comm);
	weft_p2p_refuse_held(comm);
}

void weft_p2p_refuse_held(struct weft_comm *comm)
{
	struct weft_message *m;
	uint32_t pos = 0;

	if (comm->nic)
		weft_nic_leave(comm);
	weft_list_for_each(link, next, &comm->match.arrived) weft_left_judge(
		weft_container_of(link, struct weft_message, arrived));
	while (comm->n_probed && (m = next_probed(comm, &pos)) != NULL)
		judge_probed(m);
}

/* ---- receives that can never be matched ---- */

bool weft_p2p_has_come_held(const struct weft_comm *comm, enum weft_plane plane,
	int32_t rank, int32_t tag)
{
	/* looks, and changes nothing */
	struct weft_match *match = (struct weft_match *)&comm->match;

	return weft_match_find(match, comm->ctx + plane, rank, tag) != NULL;
}

/* Nobody is left who could send: all others are gone from it, and this process
 * is in a call. */
static bool is_last_here(const struct weft_comm *comm)
{
	for (int32_t i = 0; i < comm->remote_size; i++)
		if (!comm->forsaken[i] && (comm->is_inter || i != comm->rank))
			return false;
	return comm->is_inter || weft_alone_is();
}

static void forsake(struct weft_req *req, int32_t rank)
{
	char source[24] = "any source", tag[24] = "any tag";

	if (req->src != WEFT_ANY_SOURCE)
		snprintf(source, sizeof(source), "rank %d", (int)req->src);
	if (req->tag != WEFT_ANY_TAG)
		snprintf(tag, sizeof(tag), "tag %d", (int)req->tag);
	weft_warn("P2P-FORSAKEN",
		"a blocking receive from %s with %s waits for ever: rank %d is "
		"leaving the communicator and has nothing more to send on it",
		source, tag, (int)rank);
	weft_match_withdraw(&req->comm->match, req);
	weft_p2p_finish(req,
		weft_err_set(WEFT_ERR_OTHER,
			"rank %d is leaving the communicator: this receive can "
			"never be matched",
			(int)rank));
}

void weft_p2p_forsaken_held(struct weft_comm *comm, int32_t rank)
{
	struct weft_req *req;
	uint32_t pos = 0;
	bool is_last;

	if (!comm->forsaken)
		comm->forsaken = calloc((size_t)comm->remote_size, 1);
	if (!comm->forsaken)
		return;
	comm->forsaken[rank] = 1;
	is_last = is_last_here(comm);
	while ((req = weft_req_next(comm->lane, &pos)) != NULL)
		if (req->refs && req->kind == WEFT_REQ_RECV && !req->is_done &&
			req->is_posted && req->is_last && req->comm == comm &&
			plane_of(comm, req->ctx) == WEFT_PLANE_P2P &&
			(req->src == rank ||
				(is_last && req->src == WEFT_ANY_SOURCE)))
			forsake(req, rank);
}

/* ---- what is left ---- */

/* What a request that its owner should have completed is; NONE if there is
 * nothing to say of it. */
static enum weft_left_kind kind_of_req(
	const struct weft_comm *comm, const struct weft_req *req)
{
	bool is_held = req->is_persistent ? req->is_active : true;

	is_held = is_held && !req->is_user_freed;
	if (req->kind == WEFT_REQ_COLL)
		return !req->is_done || req->status.err ||
				       (req->is_persistent && is_held)
			       ? WEFT_LEFT_COLL
			       : WEFT_LEFT_NONE;
	if (req->kind != WEFT_REQ_SEND && req->kind != WEFT_REQ_RECV)
		return WEFT_LEFT_NONE;
	if (plane_of(comm, req->ctx) == WEFT_PLANE_PART)
		return req->is_persistent && is_held ? WEFT_LEFT_ACTIVE
						     : WEFT_LEFT_NONE;
	if (plane_of(comm, req->ctx) != WEFT_PLANE_P2P)
		return WEFT_LEFT_NONE;
	if (req->is_persistent && is_held)
		return WEFT_LEFT_ACTIVE;
	if (req->kind == WEFT_REQ_RECV && !req->is_done)
		return WEFT_LEFT_RECV;
	return req->is_done && is_held && !req->is_persistent ? WEFT_LEFT_DONE
							      : WEFT_LEFT_NONE;
}

static void tell_requests(struct weft_comm *comm, weft_left_fn *fn, void *arg)
{
	const struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(comm->lane, &pos)) != NULL) {
		struct weft_left left;

		if (req->refs == 0 || req->comm != comm)
			continue;
		left = (struct weft_left){
			.kind = kind_of_req(comm, req),
			.is_send = req->kind == WEFT_REQ_SEND,
			.rank = req->src,
			.tag = req->tag,
			.len = req->len,
		};
		if (left.kind != WEFT_LEFT_NONE)
			fn(&left, arg);
	}
}

static void tell_message(const struct weft_message *message,
	enum weft_left_kind kind, weft_left_fn *fn, void *arg)
{
	const struct weft_left left = {
		.kind = kind,
		.rank = message->src,
		.tag = message->tag,
		.len = message->len,
	};

	fn(&left, arg);
}

/* Creation and leaving clear up after themselves; a partitioned send that was
 * set up and never started owes nobody anything. */
static bool is_told(const struct weft_message *message)
{
	enum weft_plane plane = plane_of(message->comm, message->ctx);

	return plane != WEFT_PLANE_CTL &&
	       (plane != WEFT_PLANE_PART || message->tag < 0);
}

void weft_p2p_left_held(struct weft_comm *comm, weft_left_fn *fn, void *arg)
{
	const struct weft_message *m;
	uint32_t pos = 0;

	for (const struct weft_left_note *n = comm->left; n; n = n->next)
		fn(&n->left, arg);
	if (comm->refs > 1)
		tell_requests(comm, fn, arg);
	while (comm->n_probed && (m = next_probed(comm, &pos)) != NULL)
		tell_message(m, WEFT_LEFT_HANDLE, fn, arg);
	weft_list_for_each(link, next, &comm->match.arrived)
	{
		m = weft_container_of(link, struct weft_message, arrived);
		if (is_told(m))
			tell_message(m, kind_of(m), fn, arg);
	}
}

void weft_left_purge(struct weft_comm *comm)
{
	struct weft_message *m;
	uint32_t pos = 0;

	while (comm->left) {
		struct weft_left_note *n = comm->left;

		comm->left = n->next;
		free(n);
	}
	while (comm->n_probed && (m = next_probed(comm, &pos)) != NULL) {
		if (!m->is_rts)
			weft_p2p_owe(m->peer, m->len);
		if (m->is_nic)
			weft_nic_toss(m);
		weft_message_free(m);
		comm->n_probed--;
		weft_comm_put(comm);
	}
}
