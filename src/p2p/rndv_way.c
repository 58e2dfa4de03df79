/* SPDX-License-Identifier: BSD-3-Clause */
/* rndv_way: how the data of a long message comes from a process of the node */
#include "p2p/rndv_way.h"

#include "base/bits.h"

enum {
	FIRST_LEN = 1 << 14,
	FIRST_TIMES = 4, /* each way is taken at first */
	LOOK_AFTER = 16, /* messages, at the other way */
	N_LOOKS_MAX = 8, /* doublings of that */
	AGE_SHIFT = 5,	 /* a time that is not reached is a part worse */
	CLEARLY_SHIFT = 3,
	COST_SCALE = 1 << 16,
};

int weft_rndv_way_of(size_t len)
{
	size_t n = len / FIRST_LEN;

	return n <= 1 ? 0
		      : (int)weft_min(63 - (size_t)__builtin_clzl(n),
				WEFT_RNDV_WAY_LENS - 1);
}

static enum weft_rndv_way better_way(const struct weft_rndv_choice *choice)
{
	uint32_t read = choice->cost[WEFT_RNDV_READ];

	return choice->cost[WEFT_RNDV_FRAGS] < read - (read >> CLEARLY_SHIFT)
		       ? WEFT_RNDV_FRAGS
		       : WEFT_RNDV_READ;
}

enum weft_rndv_way weft_rndv_choose(struct weft_rndv_choice *choice)
{
	enum weft_rndv_way way;

	choice->n++;
	if (!choice->cost[WEFT_RNDV_FRAGS] || !choice->cost[WEFT_RNDV_READ] ||
		(!choice->n_looks && choice->n <= 2 * FIRST_TIMES))
		return choice->n % 2 ? WEFT_RNDV_FRAGS : WEFT_RNDV_READ;
	way = better_way(choice);
	if (choice->n < LOOK_AFTER << choice->n_looks)
		return way;
	choice->n = 0;
	if (way != choice->last)
		choice->n_looks = 1;
	else if (choice->n_looks < N_LOOKS_MAX)
		choice->n_looks++;
	choice->last = (uint8_t)way;
	return way == WEFT_RNDV_READ ? WEFT_RNDV_FRAGS : WEFT_RNDV_READ;
}

void weft_rndv_chosen_took(struct weft_rndv_choice *choice,
	enum weft_rndv_way way, size_t len, uint32_t ticks)
{
	uint64_t cost = (uint64_t)ticks * COST_SCALE / (len | 1) + 1;
	uint64_t aged = choice->cost[way];

	aged += (aged >> AGE_SHIFT) + 1;
	if (choice->cost[way] && aged < cost)
		cost = aged;
	choice->cost[way] =
		cost < UINT32_MAX / 2 ? (uint32_t)cost : UINT32_MAX / 2;
}
