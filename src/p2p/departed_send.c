/* SPDX-License-Identifier: BSD-3-Clause */
/* departed_send: notices that this process has left a communicator
 *
 * A member that departs notifies the members with which it has exchanged a
 * message. Another member that waits for it sends WATCH, when it knows that a
 * member has failed (weft_departed_watch). If the receiver has departed, it
 * answers with DEPARTED; else it has exchanged a message with the sender, and
 * notifies it later. So a member that never waits for the departed one costs no
 * message. After the last session has closed, a thread answers
 * (session/session.c).
 *
 * If the receiver of WATCH has ended, the process manager reports its end, and
 * the reason. So a WATCH that cannot be delivered does not fail the peer. Some
 * process managers report no normal end. Each query of the watchdog about the
 * wait repeats the WATCH. If it cannot be delivered either, the peer fails.
 * Polling calls beside other messages never query. They repeat the WATCH every
 * ten seconds, and test whether the peer has ended.
 *
 * This needs members that know of a failure. All members get REVOKE, and all
 * processes of the job get a report of the process manager. This process may
 * learn of the failure from another member, before the report. Then the close
 * waits for the report (comm/disconnect.c). If there is no report, or if the
 * communicator has members of several jobs or endpoints of its own, the
 * departing member notifies all others. */
#include "p2p/p2p_priv.h"

#include "base/clock.h"
#include "core/failed.h"
#include "transport/foreign.h"
#include "transport/proc.h"

#include <stdlib.h>

#define WATCH_AGAIN_NS (10 * WEFT_NS_PER_S)

bool weft_departed_set(struct weft_comm *comm, int32_t rank, int value)
{
	return !weft_map_put(&comm->p2p.departed, (uint64_t)rank + 1,
		(void *)(intptr_t)value);
}

void weft_departed_watch(struct weft_comm *comm, int32_t rank)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_WATCH,
		.ctx = comm->ctx + WEFT_CTX_OFFSET_CTL };
	char found[WEFT_PROC_FOUND];
	struct weft_peer *peer;
	bool is_again;
	uint64_t now;

	if (!comm->failed || comm->vci->number || rank < 0 ||
		rank >= comm->remote_size ||
		(!comm->is_inter && rank == comm->rank))
		return;
	if (weft_p2p_has_departed(comm, (uint32_t)rank))
		return;
	is_again = weft_p2p_departed(comm, (uint32_t)rank) ==
		   WEFT_DEPARTED_WATCHED;
	now = weft_now_ns();
	if (is_again && now - comm->p2p.watch_ns < WATCH_AGAIN_NS)
		return;
	peer = weft_comm_peer(comm, (uint32_t)rank);
	if (!peer || peer->state == WEFT_PEER_FAILED ||
		!weft_foreign_is_met(peer->proc))
		return;
	comm->p2p.watch_ns = now;
	if (is_again &&
		weft_proc_find_end(comm->vci, peer->addr, peer->proc, found))
		return;
	if (!is_again && !weft_departed_set(comm, rank, WEFT_DEPARTED_WATCHED))
		return;
	if (peer->state == WEFT_PEER_NEW) /* it may have exited */
		weft_proc_query_exit(comm->vci, peer->proc);
	/* without memory for the message, the watchdog ends the wait */
	(void)weft_peer_control(peer, &head, NULL, 0);
}

/* True if REVOKE, or a report of the process manager, reaches all members. */
static bool is_within_job(const struct weft_comm *comm)
{
	return !comm->vci->number && weft_group_is_one_job(comm->group) &&
	       (!comm->is_inter || weft_group_is_one_job(comm->remote));
}

/* True if all members will know of a failure without this process: they get
 * REVOKE, or a report of the process manager. */
static bool is_known_to_all(const struct weft_comm *comm)
{
	return is_within_job(comm) &&
	       (!comm->failed || weft_failed_was_reported(comm->failed - 1));
}

bool weft_p2p_may_be_reported_locked(const struct weft_comm *comm)
{
	return comm->failed && !weft_comm_is_revoked(comm) &&
	       weft_failed_may_be_reported(comm->failed - 1) &&
	       is_within_job(comm);
}

typedef bool each_fn(struct weft_comm *comm, struct weft_peer *peer);

/* True for the peer of another member that lives, has not departed, and has
 * exchanged a message with this process. */
static bool is_contact(
	const struct weft_comm *comm, const struct weft_peer *peer)
{
	int32_t rank = weft_group_rank_of(comm->remote, peer->proc);

	return rank >= 0 && (comm->is_inter || rank != comm->rank) &&
	       peer->addr == weft_vci_addr(peer->proc,
				     comm->vcis ? comm->vcis[rank] : 0) &&
	       (peer->state != WEFT_PEER_NEW || peer->rx || peer->wire_in) &&
	       peer->state != WEFT_PEER_FAILED &&
	       !weft_p2p_has_departed(comm, (uint32_t)rank);
}

static bool each_contact(struct weft_comm *comm, each_fn *fn)
{
	const struct weft_map *peers = &comm->vci->peers;
	const struct weft_map_entry *e;
	size_t mask = peers->mask, pos = 0;

	while ((e = weft_map_next(peers, &pos)) != NULL) {
		struct weft_peer *peer = e->value;

		if (is_contact(comm, peer) && !fn(comm, peer))
			return false;
		if (peers->mask != mask) { /* fn has made the map larger */
			mask = peers->mask;
			pos = 0;
		}
	}
	return true;
}

/* Calls fn for each other member of comm that lives, has not departed and must
 * be notified, until fn returns false. May call it again for a member. */
static bool each_other(struct weft_comm *comm, each_fn *fn)
{
	if (is_known_to_all(comm))
		return each_contact(comm, fn);
	for (int32_t i = 0; i < comm->remote_size; i++) {
		struct weft_peer *peer;

		if ((!comm->is_inter && i == comm->rank) ||
			weft_p2p_has_departed(comm, (uint32_t)i))
			continue;
		peer = weft_comm_peer(comm, (uint32_t)i);
		if (peer && peer->state != WEFT_PEER_FAILED && !fn(comm, peer))
			return false;
	}
	return true;
}

static void post_departed(struct weft_peer *peer, uint64_t ctx, uint64_t failed)
{
	struct weft_wire_head head = {
		.op = WEFT_WIRE_DEPARTED,
		.ctx = ctx + WEFT_CTX_OFFSET_CTL,
	};
	struct weft_wire_departed left = { .failed = failed };

	(void)weft_peer_control(peer, &head, &left, sizeof(left));
}

static bool send_departed(struct weft_comm *comm, struct weft_peer *peer)
{
	weft_revoke_repeat(comm, peer);
	post_departed(peer, comm->ctx, comm->failed);
	return true;
}

/* True if this process sends no more messages on comm, although the
 * communicator has not been closed yet (comm/disconnect.c). */
static bool has_left_comm(const struct weft_comm *comm)
{
	return (comm->failed || weft_comm_is_revoked(comm)) &&
	       (comm->is_disconnected ||
		       (comm->state != WEFT_COMM_LIVE && comm->refs <= 1));
}

void weft_departed_answer(
	struct weft_vci *vci, struct weft_peer *peer, uint64_t ctx)
{
	struct weft_comm *comm = weft_vci_core_comm(vci, ctx);
	uint64_t why = weft_vci_core_broken(vci, ctx);

	if (comm && has_left_comm(comm))
		(void)send_departed(comm, peer);
	else if (!comm && why == WEFT_CORE_REVOKED)
		weft_revoke_post(peer, ctx);
	else if (!comm && why)
		post_departed(peer, ctx, why);
}

void weft_departed_on_watch(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	(void)payload;
	(void)len;
	weft_departed_answer(
		vci, peer, head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1));
}

enum weft_wire_met weft_departed_on_query(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t asker,
	uint32_t *owner_out)
{
	struct weft_peer *peer = weft_map_get(&vci->peers, asker + 1);

	(void)owner_out;
	if (peer && !vci->number)
		weft_departed_answer(vci, peer,
			query->what & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1));
	return WEFT_WIRE_UNMET;
}

/* True if no message to the peer is queued, and the peer has answered each
 * PING. If this process exited before the answer, the peer could not deliver
 * the answer, and would report this process as failed. */
static bool is_departed_sent(struct weft_comm *comm, struct weft_peer *peer)
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

bool weft_p2p_is_departed_sent_locked(struct weft_comm *comm)
{
	return each_other(comm, is_departed_sent) &&
	       (!comm->local || each_other(comm->local, is_departed_sent));
}
