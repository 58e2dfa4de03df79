/* SPDX-License-Identifier: BSD-3-Clause */
/* relay: the members to which a member forwards a notice about a communicator
 *
 * The neighbours of member i of n are i + 2^k and i - 2^k modulo n, for all
 * 2^k < n. A failed neighbour is replaced by the next living member in the same
 * direction. Each member forwards the first notice that it receives, so it
 * sends at most 2 log2(n) + 2 messages, and a notice reaches all members in
 * log2(n) steps.
 *
 * While the members that have the notice keep the communicator, every living
 * member receives the notice: when a neighbour fails, its replacement gets the
 * notice (weft_relay_replace). A member that has closed the communicator
 * replaces no neighbour any more. Even then, every living member receives the
 * notice, if fewer members fail than a member has neighbours. The reason is
 * that one must remove as many members as a member has neighbours to cut this
 * graph in two (computed for 4 to 72 members). */
#include "p2p/p2p_priv.h"

#include "core/failed.h"

/* A place is the index of a member among the members of both groups, or of the
 * only group. All members use the same order. */
struct places {
	uint32_t n;
	uint32_t n_low; /* members of the first group */
	uint32_t me;	/* place of this process */
	bool is_low;	/* the local group is the first group */
};

static struct places relay_places(const struct weft_comm *comm)
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

static bool is_place_local(const struct places *p, uint32_t place)
{
	return (place < p->n_low) == p->is_low;
}

static uint32_t relay_rank_at(const struct places *p, uint32_t place)
{
	return place < p->n_low ? place : place - p->n_low;
}

static uint64_t relay_proc_at(
	const struct weft_comm *comm, const struct places *p, uint32_t place)
{
	return weft_group_proc(
		is_place_local(p, place) ? comm->group : comm->remote,
		relay_rank_at(p, place));
}

/* Calls fn for the first living member at a distance of d or more. If proc is
 * not 0, does so only if this member replaces process proc - 1. */
static void relay_to(struct weft_comm *comm, const struct places *p, uint32_t d,
	bool is_up, uint64_t proc, weft_relay_fn *fn)
{
	bool is_replaced = proc == 0;
	struct weft_peer *peer;
	uint32_t place = 0;

	for (; d < p->n; d++) {
		uint64_t at;

		place = (p->me + (is_up ? d : p->n - d)) % p->n;
		at = relay_proc_at(comm, p, place);
		if (!weft_failed_is(at))
			break;
		is_replaced = is_replaced || at + 1 == proc;
	}
	if (d == p->n || !is_replaced)
		return;
	peer = weft_comm_peer(
		comm->is_inter && is_place_local(p, place) ? comm->local : comm,
		relay_rank_at(p, place));
	if (peer)
		fn(comm, peer);
}

static void relay_to_all(
	struct weft_comm *comm, uint64_t proc, weft_relay_fn *fn)
{
	struct places p = relay_places(comm);

	for (uint64_t d = 1; d < p.n; d <<= 1) {
		relay_to(comm, &p, (uint32_t)d, true, proc, fn);
		if (2 * d != p.n) /* else both are the same member */
			relay_to(comm, &p, (uint32_t)d, false, proc, fn);
	}
}

void weft_relay(struct weft_comm *comm, weft_relay_fn *fn)
{
	relay_to_all(comm, 0, fn);
}

void weft_relay_replace(
	struct weft_comm *comm, uint64_t proc, weft_relay_fn *fn)
{
	relay_to_all(comm, proc + 1, fn);
}
