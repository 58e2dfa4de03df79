/* SPDX-License-Identifier: BSD-3-Clause */
/* hold: a wait that has its error stays for the other rings it is in */
#include "session/hold.h"

#include <stdlib.h>

struct weft_hold_ring {
	struct weft_hold_ring *next;
	uint64_t number; /* the first process's, of the chase */
	uint32_t n;
	struct {
		uint64_t proc, epoch;
	} waits[];
};

static bool is_of(
	const struct weft_hold_ring *ring, const struct weft_cycle *cycle)
{
	if (ring->number != cycle->chase.number ||
		ring->n != cycle->chase.n_hops)
		return false;
	for (uint32_t i = 0; i < ring->n; i++)
		if (ring->waits[i].proc != cycle->hops[i].proc ||
			ring->waits[i].epoch != cycle->hops[i].epoch)
			return false;
	return true;
}

/* Are all its waits among those of the other? */
static bool is_covered(
	const struct weft_hold_ring *ring, const struct weft_cycle *cycle)
{
	for (uint32_t i = 0; i < ring->n; i++)
		if (weft_cycle_wanted(cycle, ring->waits[i].proc) !=
			ring->waits[i].epoch)
			return false;
	return true;
}

typedef bool match_fn(
	const struct weft_hold_ring *ring, const struct weft_cycle *cycle);

static void drop(
	struct weft_hold *hold, match_fn *match, const struct weft_cycle *cycle)
{
	struct weft_hold_ring **at = &hold->rings;

	while (*at) {
		struct weft_hold_ring *ring = *at;

		if (!match(ring, cycle)) {
			at = &ring->next;
			continue;
		}
		*at = ring->next;
		hold->n_rings--;
		free(ring);
	}
}

void weft_hold_note(struct weft_hold *hold, const struct weft_cycle *cycle)
{
	uint32_t n = cycle->chase.n_hops;
	struct weft_hold_ring *ring = NULL;

	if (hold->n_rings < WEFT_HOLD_MAX)
		ring = malloc(sizeof(*ring) + n * sizeof(ring->waits[0]));
	if (!ring)
		return;
	ring->number = cycle->chase.number;
	ring->n = n;
	for (uint32_t i = 0; i < n; i++) {
		ring->waits[i].proc = cycle->hops[i].proc;
		ring->waits[i].epoch = cycle->hops[i].epoch;
	}
	ring->next = hold->rings;
	hold->rings = ring;
	hold->n_rings++;
}

void weft_hold_void(struct weft_hold *hold, const struct weft_cycle *cycle)
{
	drop(hold, is_of, cycle);
}

void weft_hold_release(struct weft_hold *hold, const struct weft_cycle *cycle)
{
	hold->is_released = true;
	drop(hold, is_covered, cycle);
}

bool weft_hold_may_go(const struct weft_hold *hold)
{
	return hold->is_released && !hold->rings;
}

void weft_hold_fini(struct weft_hold *hold)
{
	while (hold->rings) {
		struct weft_hold_ring *next = hold->rings->next;

		free(hold->rings);
		hold->rings = next;
	}
	hold->n_rings = 0;
}
