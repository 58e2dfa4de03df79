/* SPDX-License-Identifier: BSD-3-Clause */
/* choice: which of two ways is faster, here and now, by the time both took
 *
 * At first both are taken a few times, then the better one. Now and then the
 * other is, after twice as many times each time that it was worse still; for a
 * run of times, where the first of them meet what the better way left. The
 * least of recent times counts, so that it does not matter when somebody is
 * away for a while. Way 0 has to be clearly better, by an eighth.
 *
 * Two that do the same with each other choose alike for a while, as they count
 * alike, so neither spoils the times of the other. */
#ifndef WEFT_CHOICE_H
#define WEFT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All 0 at first. */
struct weft_choice {
	uint32_t cost[2]; /* by byte; 0: not known */
	uint16_t n;	  /* times, since the last look at the other way */
	uint8_t n_looks;  /* at it, since it was better; 0: at first */
	uint8_t last;	  /* the better way at the last of them */
};

/* The way for the next time, 0 or 1; run: how many times a look takes. */
int weft_choice_take(struct weft_choice *choice, int run);

/* Is weft_choice_took() due for it? Most times need not be taken, where taking
 * them costs something; who takes all says all. */
bool weft_choice_is_timed(const struct weft_choice *choice);

/* What len bytes took; ticks are all of one length. */
void weft_choice_took(
	struct weft_choice *choice, int way, size_t len, uint32_t ticks);

/* The power of two that n is in, from 0 for up to 2 * first to n_classes - 1,
 * where a choice is made for each. */
int weft_choice_class(size_t n, size_t first, int n_classes);

#endif
