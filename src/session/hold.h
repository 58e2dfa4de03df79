/* SPDX-License-Identifier: BSD-3-Clause */
/* hold: a wait that has its error stays for the other rings it is in
 *
 * A process may be in two rings at once, proven at the same time. Were it gone
 * as soon as one of them is marked, it would take along what the other waits
 * for, and free a process there that has not been marked yet. So each wait
 * remembers the second rounds (CONFIRM) that went through it: no ring is proven
 * without one. Its verdict taken, it goes on only when each of them is
 *
 *   released  all of that ring are marked,
 *   covered   all of it, in the same waits, are in a ring that is released, or
 *   void      somebody told that it will not be proven,
 *
 * or, as messages may be lost with a process that dies, after some time. It
 * stands in the way of nobody meanwhile: marks go on through it. So no wait of
 * a proven ring ends before it is marked: it could only because one in front of
 * it went, and that one stays for the same ring.
 *
 * Data and decisions only; chase.c carries the messages. */
#ifndef WEFT_HOLD_H
#define WEFT_HOLD_H

#include "session/cycle.h"

enum { WEFT_HOLD_MAX = 256 }; /* rings remembered for a wait */

struct weft_hold_ring;

/* Part of a wait; zeroed before, emptied by fini. The lock of the wait's lane
 * held. */
struct weft_hold {
	struct weft_hold_ring *rings;
	uint32_t n_rings;
	bool is_released; /* the wait has its verdict */
};

/* A second round goes through this wait. What is too much is not stayed for. */
void weft_hold_note(struct weft_hold *hold, const struct weft_cycle *cycle);

/* This ring will not be proven. */
void weft_hold_void(struct weft_hold *hold, const struct weft_cycle *cycle);

/* All of this ring, which the wait is in, are marked. */
void weft_hold_release(struct weft_hold *hold, const struct weft_cycle *cycle);

/* It has its verdict and stays for nobody. */
bool weft_hold_may_go(const struct weft_hold *hold);

void weft_hold_fini(struct weft_hold *hold);

#endif
