/* SPDX-License-Identifier: BSD-3-Clause */
/* departed: a member has left a communicator without the barrier
 *
 * The departed member sends no more messages on the communicator. Requests that
 * only this member could complete end with an error. departed_send.c sends the
 * notices. */
#include "p2p/p2p_priv.h"

#include "base/log.h"

#include <stdio.h>

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

/* True for a posted receive from a rank, and for a send that only its receiver
 * can complete. */
static bool is_for_rank(const struct weft_req *req)
{
	return (req->kind == WEFT_REQ_RECV && req->recv.is_posted) ||
	       weft_req_is_announced(req) || weft_req_is_queued(req);
}

void weft_departed_poll(const struct weft_req *req)
{
	if (req->ops && req->ops->inner)
		req = req->ops->inner(req);
	if (req && req->comm && req->comm->failed && is_for_rank(req))
		weft_departed_watch(req->comm, req->src);
}

void weft_departed_on_wait(struct weft_req *req)
{
	struct weft_comm *comm = req->comm;

	if (!comm || (!comm->p2p.departed.n_used && !comm->failed) ||
		req->is_done)
		return;
	if (comm->failed && is_for_rank(req))
		weft_departed_watch(comm, req->src);
	if (req->is_done)
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
 * failed, ends all requests that wait for departed members. Other requests, and
 * receives from any source, end only when a call waits for them
 * (weft_departed_on_wait). */
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
			((comm->failed && req->src >= 0) ||
				weft_p2p_offset_of(comm, req->ctx) ==
					WEFT_CTX_OFFSET_COLL))
			end_departed(req);
	}
}

void weft_p2p_departed_locked(
	struct weft_comm *comm, int32_t rank, int coll_err)
{
	if (weft_p2p_has_departed(comm, (uint32_t)rank) ||
		!weft_departed_set(
			comm, rank, coll_err ? coll_err : WEFT_DEPARTED))
		return;
	comm->vci->n_failed++;
	end_all(comm);
}

void weft_departed_on_departed(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	uint64_t ctx = head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
	struct weft_comm *comm = ctx ? weft_vci_core_comm(vci, ctx) : NULL;
	struct weft_wire_departed left;
	int32_t rank;

	if (!ctx || !weft_wire_get_departed(&left, payload, len) ||
		!weft_failure_is_known(vci, left.failed)) {
		weft_dispatch_drop(vci, "malformed departure");
		return;
	}
	if (!comm) {
		if (!weft_vci_core_broken(vci, ctx))
			weft_dispatch_queue(vci, peer, head, payload, len);
		return;
	}
	rank = weft_group_rank_of(comm->remote, peer->proc);
	if (rank < 0) {
		weft_dispatch_drop(
			vci, "departure of a process that is no member");
		return;
	}
	weft_failure_record(comm, left.failed);
	weft_p2p_departed_locked(comm, rank, 0);
}
