/* SPDX-License-Identifier: BSD-3-Clause */
/* revoke_send: sends REVOKE
 *
 * Member i sends REVOKE to its neighbours i + 2^k and i - 2^k modulo the number
 * n of members, for all 2^k < n. These are at most 2 log2(n) + 2 messages. If a
 * member has failed before, or a neighbour fails later, member i sends REVOKE
 * to all members. So if a living member has received REVOKE, all living members
 * receive it.
 *
 * A member also sends REVOKE before each message that reports the revocation:
 * an error of a collective, a refusal, its departure. So a process has received
 * REVOKE before one of its calls returns WEFT_ERR_REVOKED. */
#include "p2p/p2p_priv.h"

#include "transport/foreign.h"

#include <string.h>

/* A place is the index of a member among the members of both groups, or of the
 * only group. All members use the same order. */
struct places {
	uint32_t n;
	uint32_t n_low; /* members of the first group */
	uint32_t me;	/* place of this process */
	bool is_low;	/* the local group is the first group */
};

static struct places revoke_places(const struct weft_comm *comm)
{
	struct places p = { .n = (uint32_t)comm->size,
		.n_low = (uint32_t)comm->size,
		.me = (uint32_t)comm->rank,
		.is_low = true };

	if (!comm->is_inter)
		return p;
	p.n += (uint32_t)comm->remote_size;
	p.is_low = weft_comm_is_first(comm);
	if (p.is_low)
		return p;
	p.n_low = (uint32_t)comm->remote_size;
	p.me += p.n_low;
	return p;
}

/* Returns the peer at a place. NULL for this process, or if out of memory. */
static struct weft_peer *revoke_peer_at(
	struct weft_comm *comm, const struct places *p, uint32_t place)
{
	bool is_local = (place < p->n_low) == p->is_low;
	uint32_t rank = place < p->n_low ? place : place - p->n_low;

	if (place == p->me)
		return NULL;
	if (is_local && comm->is_inter)
		comm = comm->local;
	return weft_comm_peer(comm, rank);
}

static void send_revoke(const struct weft_comm *comm, struct weft_peer *peer)
{
	struct weft_wire_head head = {
		.op = WEFT_WIRE_REVOKE,
		.src = (uint32_t)comm->rank,
		.ctx = comm->ctx + WEFT_CTX_OFFSET_CTL,
	};
	int err = 0;

	/* a process that refused the creation may not have met all members */
	if (peer && weft_foreign_is_met(peer->proc))
		err = weft_peer_control(peer, &head, NULL, 0);
	if (err) /* a member that receives no REVOKE may wait forever */
		weft_peer_fail(peer, err);
}

void weft_revoke_repeat(const struct weft_comm *comm, struct weft_peer *peer)
{
	if (weft_comm_is_revoked(comm))
		send_revoke(comm, peer);
}

static void revoke_send_all(struct weft_comm *comm)
{
	struct places p = revoke_places(comm);

	for (uint32_t place = 0; place < p.n; place++)
		send_revoke(comm, revoke_peer_at(comm, &p, place));
}

void weft_revoke_forward(struct weft_comm *comm)
{
	struct places p = revoke_places(comm);

	if (comm->failed) {
		revoke_send_all(comm);
		return;
	}
	for (uint64_t d = 1; d < p.n; d <<= 1) {
		uint32_t up = (uint32_t)((p.me + d) % p.n);
		uint32_t down = (uint32_t)((p.me + p.n - d) % p.n);

		send_revoke(comm, revoke_peer_at(comm, &p, up));
		if (down != up)
			send_revoke(comm, revoke_peer_at(comm, &p, down));
	}
}

static bool is_neighbour(const struct weft_comm *comm, uint64_t proc)
{
	struct places p = revoke_places(comm);
	int32_t rank = weft_group_rank_of(comm->group, proc);
	bool is_local = rank >= 0;
	uint32_t place, up, down;

	if (!is_local)
		rank = weft_group_rank_of(comm->remote, proc);
	if (rank < 0)
		return false;
	place = (uint32_t)rank + (is_local == p.is_low ? 0 : p.n_low);
	up = (place + p.n - p.me) % p.n;
	down = p.n - up;
	return !(up & (up - 1)) || !(down & (down - 1));
}

void weft_revoke_on_failed(struct weft_comm *comm, uint64_t proc)
{
	if (weft_comm_is_revoked(comm) && is_neighbour(comm, proc))
		revoke_send_all(comm);
}

void weft_revoke_refuse(
	const struct weft_comm *comm, struct weft_peer *peer, uint64_t sreq)
{
	weft_revoke_repeat(comm, peer);
	weft_control_fin(peer, sreq, WEFT_WIRE_REVOKED);
}

int weft_comm_revoked(const struct weft_comm *comm)
{
	const struct weft_comm *whole =
		weft_comm_whole((struct weft_comm *)(uintptr_t)comm);
	const char *label = weft_comm_label(whole ? whole : comm);

	if (comm->win || comm->file) /* the label is "of window x" */
		return weft_err_set(WEFT_ERR_REVOKED, "%s is revoked",
			label + strlen("of "));
	return weft_err_set(
		WEFT_ERR_REVOKED, "communicator \"%s\" is revoked", label);
}
