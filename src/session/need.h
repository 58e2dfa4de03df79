/* SPDX-License-Identifier: BSD-3-Clause */
/* need: what a blocked call waits for, process by process
 *
 * A wait cannot end before each of its needs is met by all the processes that
 * the need is about. Who is asked whether it has met one looks here, too. */
#ifndef WEFT_NEED_H
#define WEFT_NEED_H

#include "core/proc.h"
#include "session/blocked.h"

enum { WEFT_NEED_ASK_MAX = 128 }; /* members asked for each communicator */

/* One thing that a wait cannot end without. */
struct weft_need {
	enum weft_wire_need kind;
	uint64_t what; /* context, or creations received */
	uint32_t round;
	const struct weft_blocked_join *join; /* NULL: everybody */
	uint32_t size;
	const char *label;
	struct weft_comm *comm; /* NULL for a creation */
	uint64_t parent;	/* creation: the only one waited for */
};

/* The wait's lane's lock held. */
typedef void weft_need_fn(
	const struct weft_blocked *b, const struct weft_need *need, void *arg);

/* A process that is waited for, and where it is reached. */
struct weft_need_other {
	uint64_t proc;
	uint64_t addr;
};

typedef void weft_need_other_fn(
	const struct weft_need *need, struct weft_need_other who, void *arg);

static inline struct weft_lane *weft_need_lane(const struct weft_blocked *b)
{
	return b->lane ? b->lane : &weft_proc.lane;
}

/* Calls fn for each need of the wait that is not met yet, as far as is known
 * here. Its lane's lock held. */
void weft_need_each(const struct weft_blocked *b, weft_need_fn *fn, void *arg);

/* Calls fn for each process the need is about but this one, as far as they are
 * asked; returns how many there are in all. */
uint32_t weft_need_each_other(
	const struct weft_need *need, weft_need_other_fn *fn, void *arg);

/* Has this process done what another waits for, or may it still do so without
 * returning from what it is blocked in? What it does not know it is not asked
 * to prove. The session that has it here in *session_out, or 0. The lock of
 * the lane that it is asked over held. */
bool weft_need_is_met(const struct weft_lane *lane,
	const struct weft_wire_ask *ask, uint64_t asker, uint32_t *session_out);

/* A creation's context id was passed on to, or came from, a process. Counted,
 * so that one on its way is not overlooked. Default lane's lock held. */
void weft_need_count_out(uint64_t proc);
void weft_need_count_in(uint64_t proc);

#endif
