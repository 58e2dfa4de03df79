/* SPDX-License-Identifier: BSD-3-Clause */
/* blocked: what this process waits for, said and asked */
#include "session/blocked.h"

#include "base/err.h"
#include "base/log.h"
#include "core/alone.h"
#include "session/ask.h"
#include "session/chase.h"
#include "session/need.h"

#include <stdio.h>

enum { MARKED_MS = 2000 }; /* a mark ends the wait then, whoever is missing */

static struct {
	struct weft_spin spin; /* guards what others see of the waits */
	struct weft_link waits;
	uint64_t epoch;
} here = { .waits = { &here.waits, &here.waits } };

/* ---- the waits ---- */

void weft_blocked_lock(void)
{
	weft_spin_take(&here.spin);
}

void weft_blocked_unlock(void)
{
	weft_spin_drop(&here.spin);
}

struct weft_blocked *weft_blocked_next(const struct weft_blocked *after)
{
	struct weft_link *next = after ? after->link.next : here.waits.next;

	return next == &here.waits
		       ? NULL
		       : weft_container_of(next, struct weft_blocked, link);
}

struct weft_blocked *weft_blocked_at(
	const struct weft_lane *lane, uint64_t epoch)
{
	struct weft_blocked *b = NULL;

	weft_blocked_lock();
	while ((b = weft_blocked_next(b)) != NULL)
		if (b->epoch == epoch && weft_need_lane(b) == lane)
			break;
	weft_blocked_unlock();
	return b;
}

bool weft_blocked_is_alone(void)
{
	const struct weft_blocked *first, *b;

	weft_blocked_lock();
	first = b = weft_blocked_next(NULL);
	while (b && (b = weft_blocked_next(b)) != NULL)
		if (!b->call || b->call != first->call)
			break;
	weft_blocked_unlock();
	return !b && weft_alone_is();
}

/* ---- a process that was never heard of ---- */

struct silence {
	struct weft_lane *lane;
	uint64_t proc;
	bool is_found;
};

/* Reached over a fabric, as far as can be told from here, and silent since the
 * two began. Shared memory is there or it is not. */
static void find_silent(
	const struct weft_need *need, struct weft_need_other who, void *arg)
{
	struct silence *s = arg;
	const struct weft_peer *peer =
		weft_map_get(&s->lane->peers, who.addr + 1);

	(void)need;
	if (!peer || peer->state != WEFT_PEER_READY || peer->is_shm ||
		!peer->wire_out || peer->wire_in)
		return;
	s->is_found = true;
	s->proc = who.proc;
}

static void find_silent_need(
	const struct weft_blocked *b, const struct weft_need *need, void *arg)
{
	(void)b;
	if (need->kind == WEFT_WIRE_NEED_LEAVE)
		weft_need_each_other(need, find_silent, arg);
}

static void give_up_silent(struct weft_blocked *b)
{
	struct silence s = { .lane = weft_need_lane(b) };

	weft_need_each(b, find_silent_need, &s);
	if (!s.is_found)
		return;
	b->err = WEFT_ERR_PEER;
	snprintf(b->why, sizeof(b->why),
		"process %u lives and was never heard of; given up after %d s "
		"(WEFT_REACH_LIMIT)",
		(uint32_t)s.proc, (int)weft_knobs.reach_limit);
	weft_warn("SESSION-SILENT", "%s", b->why);
}

/* ---- the wait ---- */

void weft_blocked_open(struct weft_lane *lane)
{
	weft_dispatch_set(lane, WEFT_WIRE_ASK, weft_ask_on_ask);
	weft_dispatch_set(lane, WEFT_WIRE_TELL, weft_ask_on_tell);
	weft_dispatch_set(lane, WEFT_WIRE_CHASE, weft_chase_on_chase);
}

void weft_blocked_begin(struct weft_blocked *b)
{
	b->begun_ns = weft_now_ns();
	weft_ask_describe(b);
	weft_blocked_lock();
	b->epoch = ++here.epoch;
	weft_list_push_back(&here.waits, &b->link);
	weft_blocked_unlock();
	weft_wait_begin(&b->wait, b->text, b->begun_ns);
}

void weft_blocked_end(struct weft_blocked *b)
{
	weft_wait_end(&b->wait);
	weft_blocked_lock();
	weft_list_remove(&b->link);
	weft_blocked_unlock();
	weft_chase_end(b);
	weft_ask_end(b);
}

static bool is_over(uint64_t since_ns, uint64_t ms)
{
	return weft_now_ns() - since_ns >= ms * (WEFT_NS_PER_S / 1000);
}

/* What need not be looked at each round. */
static void look_seldom(struct weft_blocked *b)
{
	if (b->marked_ns && is_over(b->marked_ns, MARKED_MS))
		weft_chase_condemn(b);
	if (weft_knobs.reach_limit && !b->err &&
		is_over(b->begun_ns, (uint64_t)weft_knobs.reach_limit * 1000))
		give_up_silent(b);
}

int weft_blocked_round(struct weft_lane *lane, struct weft_blocked *b)
{
	if (weft_stall_round(lane, &b->stall)) {
		weft_ask_describe(b);
		weft_ask_start(b);
		weft_chase_start(b);
	}
	if (weft_unlikely(
		    atomic_load_explicit(&b->has_notes, memory_order_relaxed)))
		weft_chase_read(b);
	if (b->stall.n_rounds % 64 == 0)
		look_seldom(b);
	weft_ask_round(b);
	return b->err;
}

int weft_blocked_raise(const struct weft_blocked *b)
{
	return b->err ? weft_err_set(b->err, "%s", b->why) : 0;
}
