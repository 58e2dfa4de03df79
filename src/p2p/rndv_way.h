/* SPDX-License-Identifier: BSD-3-Clause */
/* rndv_way: how the data of a long message comes from a process of the node
 *
 * Where its sender waits for it the receiver may read it, or have it in
 * fragments through the ring, which both copy at once. Fragments are better
 * where a cache is near to both, as that of two threads of a core; a kernel's
 * copy elsewhere, ten times in places. So the receiver takes the time of both
 * ways, for each peer and length, and goes the better one. Now and then it
 * takes the other, after twice as many messages each time that was worse.
 *
 * The least of recent times counts, so that it does not matter when somebody
 * is away for a while. Fragments have to be clearly better: in an exchange of
 * two of which one reads, the other's fragments wait for that. */
#ifndef WEFT_RNDV_WAY_H
#define WEFT_RNDV_WAY_H

#include <stddef.h>
#include <stdint.h>

enum weft_rndv_way { WEFT_RNDV_FRAGS, WEFT_RNDV_READ, WEFT_RNDV_WAYS };

enum { WEFT_RNDV_WAY_LENS = 7 }; /* powers of two: 16 KiB and below to 1 MiB */

/* Of one peer and one of these; all 0 at first. */
struct weft_rndv_choice {
	uint32_t cost[WEFT_RNDV_WAYS]; /* by byte; 0: not known */
	uint16_t n;		       /* messages, since the last look */
	uint8_t n_looks; /* at the other way, since it was better */
	uint8_t last;	 /* the better way then */
};

/* The way for the next message. */
enum weft_rndv_way weft_rndv_choose(struct weft_rndv_choice *choice);

/* What it has taken; ticks are all of one length. */
void weft_rndv_chosen_took(struct weft_rndv_choice *choice,
	enum weft_rndv_way way, size_t len, uint32_t ticks);

/* Which of a peer's choices is for this length. */
int weft_rndv_way_of(size_t len);

#endif
