/* SPDX-License-Identifier: BSD-3-Clause */
/* failure_check: can the process that should complete a request still do so?
 *
 * A process that has died, or has departed from the communicator, cannot
 * complete requests. These functions change no request, except
 * weft_failure_check() and weft_failure_end_pending(), which may end a receive.
 */
#include "p2p/p2p_priv.h"

#include "core/failed.h"
#include "transport/proc.h"
#include "transport/thread_check.h"

#include <stdio.h>

bool weft_failure_is_known(const struct weft_vci *vci, uint64_t failed)
{
	return !failed || weft_proc_is_member(failed - 1) ||
	       weft_map_get(&vci->peers, failed);
}

/* True if the member has departed or failed. */
static bool can_send_no_more(const struct weft_comm *comm, uint32_t rank)
{
	const struct weft_peer *peer = weft_comm_peer_cached(comm, rank);

	return weft_p2p_has_departed(comm, rank) ||
	       (peer && peer->state == WEFT_PEER_FAILED) ||
	       weft_failed_is(weft_group_proc(comm->remote, rank));
}

/* True if all other members have departed or failed, so that no member is left
 * that could send. */
static bool is_last_here(const struct weft_comm *comm)
{
	for (int32_t i = 0; i < comm->remote_size; i++)
		if ((comm->is_inter || i != comm->rank) &&
			!can_send_no_more(comm, (uint32_t)i))
			return false;
	return true;
}

/* True if no message can arrive for a receive from any source. This process may
 * send to itself, now or in another thread. A failure that is not acknowledged
 * has another error (weft_failure_is_pending). */
static bool is_alone(const struct weft_comm *comm)
{
	return (comm->is_inter ||
		       (!comm->p2p.n_sends && weft_thread_check_is_single())) &&
	       !weft_failed_unacked(comm) && is_last_here(comm);
}

/* Returns the error for a member that departed, on a communicator with a failed
 * member. rank < 0: all other members have departed or failed. */
static int departed_after_death(const struct weft_comm *comm, int32_t rank)
{
	char why[320];

	weft_comm_failed(comm);
	snprintf(why, sizeof(why), "%s", weft_err_detail_peek(WEFT_ERR_PEER));
	if (rank < 0)
		weft_err_set(WEFT_ERR_PEER,
			"%s; all other members have failed or departed", why);
	else
		weft_err_set(WEFT_ERR_PEER,
			"%s; rank %d has departed for that reason", why,
			(int)rank);
	weft_err_object_set(comm->ctx, comm->failed);
	return WEFT_ERR_PEER;
}

int weft_departed_source(const struct weft_comm *comm, int32_t rank)
{
	if ((!comm->p2p.departed.n_used && !comm->failed) ||
		rank >= comm->remote_size)
		return 0;
	if (rank >= 0 ? !weft_p2p_has_departed(comm, (uint32_t)rank)
		      : rank != WEFT_ANY_SOURCE || !is_alone(comm))
		return 0;
	if (comm->failed)
		return departed_after_death(comm, rank);
	if (rank >= 0)
		return weft_err_set(WEFT_ERR_OTHER,
			"rank %d has left the communicator and sends no more "
			"messages on it",
			(int)rank);
	return weft_err_set(WEFT_ERR_OTHER,
		"all other members have left the communicator and send no "
		"more messages on it");
}

int weft_departed_member(const struct weft_comm *comm, int32_t rank)
{
	int err = rank < 0 || rank >= comm->remote_size
			  ? 0
			  : weft_p2p_departed(comm, (uint32_t)rank);

	if (err >= 0 || comm->failed)
		return weft_departed_source(comm, rank);
	return weft_err_set(err,
		"rank %d left the communicator after a collective that failed "
		"there (the error at that rank names the cause)",
		(int)rank);
}

int weft_departed_receiver(const struct weft_comm *comm, int32_t rank)
{
	return comm->failed ? weft_departed_source(comm, rank) : 0;
}

/* Describes the failure of the peer at this rank, and returns its error. A peer
 * also fails when this process has no memory for a message to it. */
static int failed_peer(const struct weft_comm *comm, int32_t rank,
	const struct weft_peer *peer)
{
	return peer->err == WEFT_ERR_PEER
		       ? weft_comm_failed_rank(comm, rank)
		       : weft_err_set(peer->err,
				 "process %u cannot be reached any more: %s",
				 (uint32_t)peer->proc,
				 peer->why ? peer->why : "");
}

/* Returns WEFT_ERR_PEER. The description names the failed member that was
 * reported first of those that are not acknowledged, or comm->failed if all are
 * acknowledged. */
static int failed_unacked(const struct weft_comm *comm)
{
	uint64_t failed = weft_failed_unacked(comm);

	return weft_comm_failed_proc(
		comm, (failed ? failed : comm->failed) - 1);
}

int weft_failure_source(struct weft_comm *comm, int32_t rank)
{
	struct weft_peer *peer;

	if (weft_likely(!comm->vci->n_failed))
		return 0;
	if (weft_comm_is_revoked(comm))
		return weft_comm_revoked(comm);
	if (rank < 0 && weft_failed_unacked(comm))
		return failed_unacked(comm);
	if (rank < 0)
		return weft_departed_source(comm, rank);
	peer = weft_comm_peer(comm, (uint32_t)rank);
	if (peer && peer->state == WEFT_PEER_FAILED)
		return failed_peer(comm, rank, peer);
	return weft_departed_source(comm, rank);
}

void weft_failure_explain(const struct weft_req *req)
{
	struct weft_comm *comm = req->comm;
	int32_t rank = -1;

	if (req->status.err != WEFT_ERR_PEER || !comm || !comm->failed)
		return;
	if (req->kind == WEFT_REQ_SEND || req->kind == WEFT_REQ_RECV)
		rank = req->src;
	if (rank < 0 || rank >= comm->remote_size ||
		weft_failure_source(comm, rank) != WEFT_ERR_PEER)
		failed_unacked(comm);
}

/* Returns 0, or an error that describes why a posted receive cannot complete
 * normally. */
static int failure_receive(const struct weft_req *req)
{
	struct weft_comm *comm = req->comm;
	uint64_t ctx_offset = req->ctx % WEFT_CTX_OFFSET_END;
	int err = 0;

	if (weft_comm_is_revoked(comm))
		return weft_comm_revoked(comm);
	if (weft_failure_prevents(comm, req->ctx, req->tag))
		return weft_comm_failed(comm);
	/* a receive from a departed source ends only when a call waits for it,
	 * because the program may cancel it first; a disconnect still uses the
	 * control context */
	if (!comm->failed && (ctx_offset == WEFT_CTX_OFFSET_P2P ||
				     ctx_offset == WEFT_CTX_OFFSET_CTL))
		return 0;
	if (ctx_offset == WEFT_CTX_OFFSET_COLL)
		err = weft_departed_member(comm, req->src);
	else if (req->src < 0)
		return 0; /* this process may send to itself, after this call */
	return err ? err : weft_failure_source(comm, req->src);
}

void weft_failure_check(struct weft_req *req)
{
	int err = failure_receive(req);

	if (!err) {
		weft_departed_watch(req->comm, req->src);
		return;
	}
	weft_match_withdraw(&req->comm->match, req);
	weft_p2p_finish(req, err);
}

bool weft_failure_is_pending(const struct weft_req *req)
{
	if (req->ops && req->ops->inner)
		req = req->ops->inner(req);
	if (!req)
		return false;
	return weft_req_is_posted(req) && req->src < 0 &&
	       weft_p2p_offset_of(req->comm, req->ctx) == WEFT_CTX_OFFSET_P2P &&
	       (weft_failed_unacked(req->comm) ||
		       (req->comm->failed && is_alone(req->comm)));
}

int weft_failure_describe_pending(const struct weft_comm *comm)
{
	bool is_acked = !weft_failed_unacked(comm);
	char why[300];

	failed_unacked(comm);
	snprintf(why, sizeof(why), "%s", weft_err_detail_peek(WEFT_ERR_PEER));
	return weft_err_set(WEFT_ERR_FAILED_PENDING,
		is_acked ? "%s; all other members have failed or departed; the "
			   "receive is still active"
			 : "%s; the receive is still active, and waits for the "
			   "other members after MPIX_Comm_ack_failed",
		why);
}

void weft_failure_end_pending(struct weft_req *req)
{
	if (req->is_done || !weft_failure_is_pending(req))
		return;
	weft_match_withdraw(&req->comm->match, req);
	weft_p2p_finish(req, failed_unacked(req->comm));
}
