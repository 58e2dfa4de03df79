/* SPDX-License-Identifier: BSD-3-Clause */
/* revoke: ends communication on a communicator, at all of its members
 *
 * One member starts the revocation. Each member that receives REVOKE for the
 * first time ends its operations and forwards REVOKE (revoke_send.c).
 *
 * Revoking clears the communicator's cache of peers, so each send takes the
 * slow path, which refuses the send. Revoking also increments the VCI's
 * n_failed. If n_failed is not 0, each receive or probe that has to wait checks
 * its communicator first. If the communicator is revoked, the receive or probe
 * ends with an error. */
#include "p2p/p2p_priv.h"

/* Drops the unexpected messages, and refuses those that are announced. */
static void drop_unexpected(struct weft_comm *comm)
{
	while (!weft_list_is_empty(&comm->match.arrived)) {
		struct weft_message *m = weft_container_of(
			comm->match.arrived.next, struct weft_message, arrived);
		struct weft_peer *peer = m->peer;
		bool is_announced = m->is_rts && !m->is_failed;
		uint64_t sreq = m->sreq;

		weft_match_take(&comm->match, m);
		if (!m->is_rts)
			weft_p2p_return_credit(peer, m->len);
		weft_message_free(m);
		if (is_announced)
			weft_revoke_refuse(comm, peer, sreq);
	}
}

/* Ends a request, unless it has matched. A send whose RTS was sent ends when
 * the receiver has answered, because until then the receiver may read the data.
 */
static void revoke_end(struct weft_req *req)
{
	if (weft_req_is_queued(req)) {
		weft_list_remove(&req->out.link);
		weft_send_finish(req, weft_comm_revoked(req->comm));
	} else if (weft_req_is_posted(req) || req->kind == WEFT_REQ_SEND) {
		weft_cancel_unreceivable(req, weft_comm_revoked(req->comm));
	}
}

static void revoke_end_all(struct weft_comm *comm)
{
	struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(comm->vci, &pos)) != NULL)
		if (req->refs && !req->is_done && req->comm == comm)
			revoke_end(req);
}

/* Marks the communicator as revoked and ends its operations. False if it was
 * revoked before. */
static bool revoke_here(struct weft_comm *comm)
{
	if (weft_comm_is_revoked(comm))
		return false;
	atomic_store_explicit(&comm->is_revoked, true, memory_order_relaxed);
	comm->vci->n_failed++;
	weft_comm_forget_peers(comm);
	drop_unexpected(comm);
	revoke_end_all(comm);
	if (comm->win)
		comm->vci->on_win_revoked(comm);
	return true;
}

/* The second part of a revocation. The handler of REVOKE defers this part,
 * because REVOKE may arrive while this process creates the communicator. The
 * local communicator and the VCIs of the members are known only after the
 * creation. */
static void revoke_finish(struct weft_comm *comm)
{
	if (comm->local)
		(void)revoke_here(comm->local);
	weft_revoke_forward(comm);
}

void weft_revoke_locked(struct weft_comm *comm)
{
	weft_comm_get(comm); /* a request may hold the last reference */
	if (revoke_here(comm))
		revoke_finish(comm);
	weft_comm_put(comm);
}

void weft_revoke(struct weft_comm *comm)
{
	for (uint32_t i = 0; i == 0 || i < comm->n_spread; i++) {
		struct weft_comm *on = i ? comm->spread[i] : comm;

		weft_vci_lock(on->vci);
		weft_revoke_locked(on);
		weft_vci_unlock(on->vci);
	}
}

static void revoke_run(struct weft_progress_hook *hook)
{
	struct weft_comm *comm =
		weft_container_of(hook, struct weft_comm, p2p.revoke_hook);

	revoke_finish(comm);
	weft_comm_put(comm);
}

void weft_revoke_arrive_locked(struct weft_comm *comm)
{
	weft_comm_get(comm); /* a request may hold the last reference */
	if (revoke_here(comm)) {
		comm->p2p.revoke_hook.run = revoke_run;
		weft_vci_defer(comm->vci, &comm->p2p.revoke_hook);
		weft_comm_get(comm); /* released by the hook */
	}
	weft_comm_put(comm);
}

void weft_revoke_on_revoke(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	uint64_t ctx = head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
	struct weft_comm *comm = ctx ? weft_vci_core_comm(vci, ctx) : NULL;

	if (!ctx || len)
		weft_dispatch_drop(vci, "malformed revocation");
	else if (!comm && weft_vci_core_broken(vci, ctx))
		return; /* closed */
	else if (!comm)
		weft_dispatch_queue(vci, peer, head, payload, len);
	else if (weft_group_rank_of(comm->group, peer->proc) < 0 &&
		 weft_group_rank_of(comm->remote, peer->proc) < 0)
		weft_dispatch_drop(
			vci, "revocation by a process that is no member");
	else
		weft_revoke_arrive_locked(comm);
}
