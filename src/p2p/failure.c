/* SPDX-License-Identifier: BSD-3-Clause */
/* failure: completes requests that wait for a failed peer with an error
 *
 * A request that the failed peer should have completed is one of these:
 * - an operation in the peer's queue: its push function reads the peer's state
 *   and completes the request;
 * - an announced send, or a matched rendezvous: found among all requests;
 * - a receive posted for the rank of the peer: found among all requests;
 * - an operation of the fabric: the fabric completes sends and tagged segments
 *   with an error, and receives when they are cancelled. Until then the fabric
 *   may access the data, so the request is not done. rndv_seg.c completes
 *   segments that a provider never completes;
 * - a send that is being cancelled: no answer will arrive.
 *
 * A receive from any source may still be completed by another member. It
 * remains active, and a call that waits for it returns the error while a
 * failure is not acknowledged (core/failed.h). A blocking receive has no handle
 * that could remain active, so the call ends it.
 *
 * A collective needs all members of its communicator. The member that should
 * send next may be alive, but may have returned with an error already. So on a
 * communicator with a failed member:
 * - no receive of a collective waits, from any source;
 * - messages of collectives that were announced to this process are refused;
 * - messages of collectives that this process announced are cancelled.
 *
 * The same applies to control messages, except those between two members
 * (weft_failure_prevents). */
#include "p2p/p2p_priv.h"

#include "core/failed.h"
#include "transport/proc.h"

/* True for a posted receive that ends when any member fails: a receive of a
 * collective or of a control message, or a receive from any source that is a
 * part of another request (on_done). A receive from any source with a handle
 * remains active, and so does the inner receive of such a request (is_inner).
 */
static bool must_end(const struct weft_req *req)
{
	if (weft_failure_prevents(req->comm, req->ctx, req->tag))
		return true;
	return req->src < 0 && req->on_done && !req->recv.is_inner &&
	       weft_failed_unacked(req->comm);
}

/* True if the receive may wait for a message from this peer. */
static bool waits_for(struct weft_req *req, struct weft_peer *peer)
{
	if (!req->recv.is_posted)
		return false;
	if (req->src < 0 ||
		weft_failure_prevents(req->comm, req->ctx, req->tag))
		return must_end(req);
	if (weft_departed_source(req->comm, req->src))
		return req->comm->failed != 0;
	return weft_group_proc(req->comm->remote, (uint32_t)req->src) ==
	       peer->proc;
}

static void failure_fail_req(struct weft_req *req, struct weft_peer *peer)
{
	if (req->kind == WEFT_REQ_RECV && waits_for(req, peer)) {
		weft_match_withdraw(&req->comm->match, req);
		weft_p2p_finish(req, peer->err);
		return;
	}
	if (weft_req_is_posted(req) || req->peer != peer) {
		weft_failure_cancel(req);
		return;
	}
	if (weft_cancel_give_up(req))
		return;
	if (req->rndv.is_unanswered) {
		weft_rndv_seg_answer(req, peer->err);
		return;
	}
	if (req->rndv.n_segs > 0 || weft_req_in_fabric(req) ||
		req->rndv.is_copying)
		return; /* the fabric or the copy completes it */
	weft_list_remove(
		&req->out.link); /* from the peer's queue of operations */
	if (req->kind == WEFT_REQ_SEND)
		weft_send_finish(req, peer->err);
	else
		weft_p2p_finish(req, peer->err);
}

void weft_failure_cancel(struct weft_req *req)
{
	if (req->kind == WEFT_REQ_SEND &&
		weft_failure_prevents(req->comm, req->ctx, req->tag))
		weft_cancel_unreceivable(req, weft_comm_failed(req->comm));
}

/* Returns an announced message that no receive will match, because a member has
 * failed. NULL: none is left. */
static struct weft_message *next_unreceivable(const struct weft_comm *comm)
{
	weft_list_for_each(link, next, &comm->match.arrived)
	{
		struct weft_message *m =
			weft_container_of(link, struct weft_message, arrived);

		if (m->is_rts && !m->is_failed &&
			weft_failure_prevents(comm, m->ctx, m->tag))
			return m;
	}
	return NULL;
}

static void failure_refuse(struct weft_comm *comm)
{
	struct weft_message *m;

	while ((m = next_unreceivable(comm)) != NULL) {
		struct weft_peer *peer = m->peer;
		uint64_t sreq = m->sreq;

		weft_match_take(&comm->match, m);
		weft_message_free(m);
		weft_control_fin(
			peer, sreq, WEFT_WIRE_PROC_FAILED + comm->failed);
	}
}

/* Ends the requests of a communicator with a failed member (comm->failed). */
static void failure_comm(struct weft_comm *comm)
{
	struct weft_req *req;
	uint32_t pos = 0;

	failure_refuse(comm);
	if (comm->local)
		failure_comm(comm->local);
	while ((req = weft_req_next(comm->vci, &pos)) != NULL) {
		if (!req->refs || req->is_done || req->comm != comm)
			continue;
		weft_failure_cancel(req);
		if (req->kind == WEFT_REQ_RECV && req->recv.is_posted &&
			must_end(req)) {
			weft_match_withdraw(&comm->match, req);
			weft_p2p_finish(req, weft_comm_failed(comm));
		}
	}
}

/* Ends requests that wait for departed members of communicators with a failed
 * member. A member may have departed before this process knew of the failure.
 * Until now, receives from this member were kept: the program could cancel
 * them, and receives of control messages could still complete. */
static void end_departed_waits(const struct weft_vci *vci)
{
	struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(vci, &pos)) != NULL)
		if (req->refs && !req->is_done && req->comm &&
			req->comm->failed)
			weft_departed_on_wait(req);
}

void weft_failure_record(struct weft_comm *comm, uint64_t failed)
{
	if (!failed)
		return;
	weft_failed_add(failed - 1);
	if (comm->failed)
		return;
	comm->failed = failed;
	if (comm->local && !comm->local->failed)
		comm->local->failed = failed;
	failure_comm(comm);
	end_departed_waits(comm->vci);
}

static void failure_record(struct weft_peer *peer)
{
	struct weft_map_entry *entry;
	size_t pos = 0;

	if (weft_proc_is_member(peer->proc))
		weft_failed_add(peer->proc);
	while ((entry = weft_map_next(&peer->vci->core->comms, &pos)) != NULL)
		weft_comm_record_failed(entry->value, peer->proc);
	pos = 0;
	while ((entry = weft_map_next(&peer->vci->core->comms, &pos)) != NULL) {
		struct weft_comm *comm = entry->value;

		if (comm->failed)
			failure_refuse(comm);
		weft_revoke_on_failed(comm, peer->proc);
	}
}

static bool includes_proc(const struct weft_comm *comm, uint64_t proc)
{
	return weft_group_rank_of(comm->group, proc) >= 0 ||
	       weft_group_rank_of(comm->remote, proc) >= 0;
}

bool weft_failure_needs_peer(const struct weft_peer *peer)
{
	struct weft_map_entry *entry;
	size_t pos = 0;

	while ((entry = weft_map_next(&peer->vci->core->comms, &pos)) != NULL) {
		const struct weft_comm *comm = entry->value;

		if (!comm->child.closing && includes_proc(comm, peer->proc))
			return true;
	}
	return false;
}

void weft_failure_peer(struct weft_peer *peer)
{
	struct weft_req *req;
	uint32_t pos = 0;

	/* record the failure first, because messages that the calls below send
	 * to other members report it */
	failure_record(peer);
	weft_peer_send_pending(peer);
	while ((req = weft_req_next(peer->vci, &pos)) != NULL) {
		if (req->refs == 0 || req->is_done)
			continue;
		if (req->kind == WEFT_REQ_SEND || req->kind == WEFT_REQ_RECV)
			failure_fail_req(req, peer);
	}
	end_departed_waits(peer->vci);
	weft_rndv_copy_fail(peer);
	weft_rndv_seg_fail(peer);
}

bool weft_failure_on_wait(struct weft_req *req)
{
	struct weft_req *inner =
		req->ops && req->ops->inner ? req->ops->inner(req) : NULL;

	weft_departed_on_wait(inner ? inner : req);
	return !req->is_done && weft_failure_is_pending(req);
}
