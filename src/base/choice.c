/* SPDX-License-Identifier: BSD-3-Clause */
/* choice: which of two ways is faster, here and now, by the time both took */
#include "base/choice.h"

#include "base/bits.h"

enum {
	FIRST_TIMES = 8, /* both ways in turn, at least */
	TIMED = 8,	 /* one of so many is, later */
	LOOK_AFTER = 8,	 /* times, at the other way; doubled with each look */
	N_LOOKS_MAX = 9,
	AGE_SHIFT = 5, /* a time that is not reached is a part worse */
	CLEARLY_SHIFT = 3,
	COST_SCALE = 1 << 16,
	COST_MAX = 1 << 30,
};

int weft_choice_class(size_t n, size_t first, int n_classes)
{
	size_t ratio = n / first;

	return ratio <= 1 ? 0
			  : (int)weft_min(63 - (size_t)__builtin_clzl(ratio),
				    (size_t)n_classes - 1);
}

static int better_way(const struct weft_choice *choice)
{
	uint32_t cost = choice->cost[1];

	return choice->cost[0] < cost - (cost >> CLEARLY_SHIFT) ? 0 : 1;
}

static uint32_t choice_look_at(const struct weft_choice *choice)
{
	return (uint32_t)LOOK_AFTER << choice->n_looks;
}

/* What the last look has shown. */
static void choice_settle(struct weft_choice *choice)
{
	int way = better_way(choice);

	if (!choice->n_looks || way != choice->last)
		choice->n_looks = 1;
	else if (choice->n_looks < N_LOOKS_MAX)
		choice->n_looks++;
	choice->last = (uint8_t)way;
	choice->n = 0;
}

int weft_choice_take(struct weft_choice *choice, int run)
{
	uint32_t n = choice->n++;

	if (weft_unlikely(!choice->n_looks)) {
		if (n < FIRST_TIMES || n < 2 * (uint32_t)run ||
			!choice->cost[0] || !choice->cost[1])
			return (int)(n / (uint32_t)run % 2);
		choice_settle(choice);
	} else if (weft_unlikely(n >= choice_look_at(choice) + (uint32_t)run)) {
		choice_settle(choice);
	} else if (weft_unlikely(n >= choice_look_at(choice))) {
		if (n == choice_look_at(choice))
			choice->last = (uint8_t)better_way(choice);
		return !choice->last;
	}
	return better_way(choice);
}

bool weft_choice_is_timed(const struct weft_choice *choice)
{
	return choice->n % TIMED == 0 || !choice->n_looks ||
	       choice->n > choice_look_at(choice);
}

void weft_choice_took(
	struct weft_choice *choice, int way, size_t len, uint32_t ticks)
{
	uint64_t cost = (uint64_t)ticks * COST_SCALE / (len | 1) + 1;
	uint64_t aged = choice->cost[way];

	aged += (aged >> AGE_SHIFT) + 1;
	if (choice->cost[way] && aged < cost)
		cost = aged;
	choice->cost[way] = (uint32_t)weft_min(cost, COST_MAX);
}
