/* SPDX-License-Identifier: BSD-3-Clause */
/* departed: a member has left a communicator without the barrier
 *
 * The departed member sends no more messages on the communicator. Requests that
 * only this member could complete end with an error. */
#include "p2p/p2p_priv.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

static void warn_unreceivable(const struct weft_req *req, int err)
{
	char source[24] = "any source", tag[24] = "any tag";

	if (req->src != WEFT_ANY_SOURCE)
		snprintf(source, sizeof(source), "rank %d", (int)req->src);
	if (req->tag != WEFT_ANY_TAG)
		snprintf(tag, sizeof(tag), "tag %d", (int)req->tag);
	weft_log_warn("P2P-FORSAKEN",
		"a receive from %s with %s can never complete: %s", source, tag,
		weft_err_detail_peek(err));
}

static int departed_err(const struct weft_req *req)
{
	if (weft_p2p_offset_of(req->comm, req->ctx) == WEFT_CTX_OFFSET_COLL)
		return weft_departed_member(req->comm, req->src);
	return weft_departed_source(req->comm, req->src);
}

static void end_departed(struct weft_req *req)
{
	int err = departed_err(req);

	if (!err)
		return;
	if (!req->comm->failed &&
		weft_p2p_offset_of(req->comm, req->ctx) == WEFT_CTX_OFFSET_P2P)
		warn_unreceivable(req, err);
	weft_match_withdraw(&req->comm->match, req);
	weft_p2p_finish(req, departed_err(req));
}

/* True for an announced or queued send to a departed member of a communicator
 * with a failed member. A queued send must end too, because a fabric may never
 * accept a message to a process that has exited. */
static bool is_send_to_departed(const struct weft_req *req)
{
	return (weft_req_is_announced(req) || weft_req_is_queued(req)) &&
	       weft_departed_receiver(req->comm, req->src);
}

void weft_departed_on_wait(struct weft_req *req)
{
	struct weft_comm *comm = req->comm;

	if (!comm || !comm->p2p.departed || req->is_done)
		return;
	if (req->kind == WEFT_REQ_RECV && req->recv.is_posted) {
		/* a disconnect still uses the control context */
		if (comm->failed || weft_p2p_offset_of(comm, req->ctx) !=
					    WEFT_CTX_OFFSET_CTL)
			end_departed(req);
	} else if (is_send_to_departed(req)) {
		weft_list_remove(&req->out.link);
		weft_send_finish(req, weft_departed_source(comm, req->src));
	} else if (weft_req_is_announced(req) && !req->send.is_uncancellable &&
		   weft_departed_source(comm, req->src)) {
		weft_unmatched_send_last(req);
	}
}

/* Ends receives of collectives that wait for departed members. If a member has
 * failed, ends all requests that wait for departed members. Other requests end
 * only when a call waits for them (weft_departed_on_wait). */
static void end_all(struct weft_comm *comm)
{
	struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(comm->vci, &pos)) != NULL) {
		if (!req->refs || req->comm != comm || req->is_done)
			continue;
		if (is_send_to_departed(req))
			weft_departed_on_wait(req);
		if (req->kind == WEFT_REQ_RECV && !req->is_done &&
			req->recv.is_posted &&
			(comm->failed || weft_p2p_offset_of(comm, req->ctx) ==
						 WEFT_CTX_OFFSET_COLL))
			end_departed(req);
	}
}

void weft_p2p_departed_locked(
	struct weft_comm *comm, int32_t rank, int coll_err)
{
	int *departed = comm->p2p.departed;

	if (!departed)
		departed = calloc((size_t)comm->remote_size, sizeof(*departed));
	comm->p2p.departed = departed;
	if (!departed || departed[rank])
		return;
	departed[rank] = coll_err ? coll_err : 1;
	comm->vci->n_failed++;
	end_all(comm);
}

void weft_departed_on_departed(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	uint64_t ctx = head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
	struct weft_comm *comm = ctx ? weft_vci_core_comm(vci, ctx) : NULL;
	struct weft_wire_departed left;

	if (!ctx || !weft_wire_get_departed(&left, payload, len) ||
		!weft_failure_is_known(vci, left.failed)) {
		weft_dispatch_drop(vci, "malformed departure");
	} else if (!comm) {
		if (!weft_vci_core_broken(vci, ctx))
			weft_dispatch_queue(vci, peer, head, payload, len);
	} else if (head->src >= (uint32_t)comm->remote_size ||
		   weft_group_proc(comm->remote, head->src) != peer->proc) {
		weft_dispatch_drop(
			vci, "departure of a rank of another process");
	} else {
		weft_failure_record(comm, left.failed);
		weft_p2p_departed_locked(comm, (int32_t)head->src, 0);
	}
}

/* Calls fn for each other member of comm that lives and has not departed, until
 * fn returns false. */
static bool each_other(const struct weft_comm *comm,
	bool (*fn)(const struct weft_comm *comm, struct weft_peer *peer))
{
	for (int32_t i = 0; i < comm->remote_size; i++) {
		struct weft_peer *peer;

		if ((!comm->is_inter && i == comm->rank) ||
			(comm->p2p.departed && comm->p2p.departed[i]))
			continue;
		peer = weft_comm_peer((struct weft_comm *)comm, (uint32_t)i);
		if (peer && peer->state != WEFT_PEER_FAILED && !fn(comm, peer))
			return false;
	}
	return true;
}

static bool send_departed(const struct weft_comm *comm, struct weft_peer *peer)
{
	struct weft_wire_head head = {
		.op = WEFT_WIRE_DEPARTED,
		.src = (uint32_t)comm->rank,
		.ctx = comm->ctx + WEFT_CTX_OFFSET_CTL,
	};
	struct weft_wire_departed left = { .failed = comm->failed };

	weft_revoke_repeat(comm, peer);
	(void)weft_peer_control(peer, &head, &left, sizeof(left));
	return true;
}

/* True if no message to the peer is queued, and the peer has answered each
 * PING. If this process exited before the answer, the peer could not deliver
 * the answer, and would report this process as failed. */
static bool is_departed_sent(
	const struct weft_comm *comm, struct weft_peer *peer)
{
	(void)comm;
	return weft_list_is_empty(&peer->pending) &&
	       weft_flush_is_answered(peer);
}

void weft_p2p_send_departed_locked(struct weft_comm *comm)
{
	(void)each_other(comm, send_departed);
	if (comm->local)
		(void)each_other(comm->local, send_departed);
}

bool weft_p2p_is_departed_sent_locked(const struct weft_comm *comm)
{
	return each_other(comm, is_departed_sent) &&
	       (!comm->local || each_other(comm->local, is_departed_sent));
}
