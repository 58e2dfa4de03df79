/* SPDX-License-Identifier: BSD-3-Clause */
/* chase: the messages that look for a ring of waits */
#include "session/chase.h"

#include "base/err.h"
#include "base/log.h"
#include "core/outer.h"
#include "p2p/p2p.h"
#include "session/need.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	AT_ONCE = 8, /* waits of one lane that a chase is given to */
	SEEN = 256,  /* chases remembered */
};

/* A chase left with a wait. Created by the handler, destroyed by the wait. */
struct weft_blocked_note {
	struct weft_blocked_note *next;
	struct weft_cycle cycle;
	uint32_t owner;
};

/* Guarded by the lock of the waits. */
static struct {
	uint64_t n_chases;
	struct {
		uint64_t proc, number, epoch;
	} seen[SEEN]; /* passed on already */
	uint32_t next_seen;
} chases;

static void send_cycle(
	struct weft_lane *lane, uint64_t addr, const struct weft_cycle *c)
{
	(void)weft_p2p_control_held(lane, addr, WEFT_WIRE_CHASE, c,
		sizeof(c->chase) + c->chase.n_hops * sizeof(c->hops[0]));
}

/* About a wait alone: over the lane that everybody has. */
static void send_default(
	struct weft_lane *lane, uint64_t proc, const struct weft_cycle *c)
{
	bool is_other = lane != &weft_proc.lane;

	if (is_other)
		weft_lane_take(&weft_proc.lane);
	send_cycle(&weft_proc.lane, proc, c);
	if (is_other)
		weft_lane_drop(&weft_proc.lane);
}

struct chase_arg {
	const struct weft_blocked *b;
	struct weft_cycle *cycle;
	uint32_t owner;
};

static void chase_other(
	const struct weft_need *need, struct weft_need_other who, void *arg)
{
	const struct chase_arg *how = arg;

	(void)need;
	send_cycle(weft_need_lane(how->b), who.addr, how->cycle);
}

/* Sends the chase on along one need of one wait. */
static void chase_need(
	const struct weft_blocked *b, const struct weft_need *need, void *arg)
{
	const struct chase_arg *how = arg;
	struct weft_cycle c = *how->cycle;
	struct weft_wire_hop hop = {
		.proc = weft_proc.proc,
		.epoch = b->epoch,
		.what = need->what,
		.kind = b->kind,
		.session = b->session ? b->session->number : 0,
		.owner = how->owner,
		.size = need->size,
		.need = need->kind,
		.round = need->round,
	};
	struct chase_arg next = { .b = b, .cycle = &c };

	snprintf(hop.label, sizeof(hop.label), "%.31s", need->label);
	if (weft_cycle_extend(&c, &hop))
		weft_need_each_other(need, chase_other, &next);
}

/* A chase that goes round again takes the way it came by. */
struct step_arg {
	const struct weft_blocked *b;
	const struct weft_cycle *cycle;
	const struct weft_wire_hop *hop; /* of this process */
	uint64_t next;
	bool is_sent;
};

static void step_other(
	const struct weft_need *need, struct weft_need_other who, void *arg)
{
	struct step_arg *step = arg;

	(void)need;
	if (who.proc != step->next)
		return;
	send_cycle(weft_need_lane(step->b), who.addr, step->cycle);
	step->is_sent = true;
}

static void step_need(
	const struct weft_blocked *b, const struct weft_need *need, void *arg)
{
	const struct step_arg *step = arg;

	(void)b;
	if (need->kind == step->hop->need && need->what == step->hop->what &&
		need->round == step->hop->round)
		weft_need_each_other(need, step_other, arg);
}

/* It will not be proven: those that it has been through are told. */
static void void_cycle(struct weft_lane *lane, const struct weft_cycle *c)
{
	struct weft_cycle none = *c;

	if (c->chase.phase != WEFT_CYCLE_CONFIRM || c->chase.is_doubtful)
		return;
	none.chase.phase = WEFT_CYCLE_VOID;
	for (uint32_t i = 0; i < c->chase.at && i < c->chase.n_hops; i++)
		if (c->hops[i].proc != weft_proc.proc)
			send_default(lane, c->hops[i].proc, &none);
}

/* To the next process, about the demand it was found by, unless that is met by
 * now. */
static void confirm_next(struct weft_blocked *b, const struct weft_cycle *c)
{
	uint32_t at = c->chase.at;
	struct step_arg step = {
		.b = b,
		.cycle = c,
		.hop = &c->hops[at - 1],
		.next = c->hops[at % c->chase.n_hops].proc,
	};

	weft_need_each(b, step_need, &step);
	if (!step.is_sent)
		void_cycle(weft_need_lane(b), c);
	else if (!c->chase.is_doubtful)
		weft_hold_note(&b->hold, c);
}

void weft_chase_start(const struct weft_blocked *b)
{
	struct weft_cycle c = { .chase = { .is_doubtful =
						   !weft_blocked_is_alone() } };
	struct chase_arg how = { .b = b, .cycle = &c };

	weft_blocked_lock();
	c.chase.number = ++chases.n_chases;
	weft_blocked_unlock();
	weft_need_each(b, chase_need, &how);
}

/* True the first time it is asked about a chase and a wait. */
static bool is_new(const struct weft_cycle *c, uint64_t epoch)
{
	bool was_seen = false;

	weft_blocked_lock();
	for (int i = 0; i < SEEN; i++)
		if (chases.seen[i].proc == c->hops[0].proc &&
			chases.seen[i].number == c->chase.number &&
			chases.seen[i].epoch == epoch)
			was_seen = true;
	if (!was_seen) {
		chases.seen[chases.next_seen].proc = c->hops[0].proc;
		chases.seen[chases.next_seen].number = c->chase.number;
		chases.seen[chases.next_seen].epoch = epoch;
		chases.next_seen = (chases.next_seen + 1) % SEEN;
	}
	weft_blocked_unlock();
	return !was_seen;
}

static void print_ring(const struct weft_cycle *c)
{
	char text[400];

	for (uint32_t i = 0; i < c->chase.n_hops; i++)
		weft_warn("SESSION-CYCLE", "%s",
			weft_cycle_print_edge(c, i, text, sizeof(text)));
}

/* The wait is part of a ring: whatever happens now, it ends with an error. */
static void mark(struct weft_blocked *b, const struct weft_cycle *c)
{
	char text[200], more[256] = "";

	if (b->marked_ns)
		return;
	b->marked_ns = weft_now_ns();
	if (b->explain)
		b->explain(b, more, sizeof(more));
	print_ring(c);
	weft_warn("SESSION-DEADLOCK",
		"these %u processes wait for each other for ever; the call "
		"ends with an error%s%s",
		c->chase.n_hops, more[0] ? ": " : "", more);
	if (more[0])
		snprintf(b->why, sizeof(b->why), "%s", more);
	else
		snprintf(b->why, sizeof(b->why), "deadlock, processes %s",
			weft_cycle_print(c, text, sizeof(text)));
}

void weft_chase_condemn(struct weft_blocked *b)
{
	if (!b->err)
		b->err = b->kind == WEFT_CYCLE_CREATE ? WEFT_ERR_NOT_SAME
						      : WEFT_ERR_OTHER;
}

static void doubt(struct weft_blocked *b, const struct weft_cycle *c)
{
	print_ring(c);
	weft_warn("SESSION-DOUBT",
		"these %u processes wait for each other; only another thread "
		"of one of them can end that (wait %llu)",
		c->chase.n_hops, (unsigned long long)b->epoch);
}

/* All of the ring are marked: the wait ends, unless it stays for another. */
static void release(struct weft_blocked *b, const struct weft_cycle *c)
{
	mark(b, c);
	weft_hold_release(&b->hold, c);
	if (weft_hold_may_go(&b->hold))
		weft_chase_condemn(b);
}

/* A mark goes to the next process, or the verdict to all. */
static void pass_mark(struct weft_blocked *b, const struct weft_cycle *c)
{
	struct weft_lane *lane = weft_need_lane(b);

	mark(b, c);
	if (c->chase.phase == WEFT_CYCLE_MARK) {
		send_default(
			lane, c->hops[c->chase.at % c->chase.n_hops].proc, c);
		return;
	}
	for (uint32_t i = 1; i < c->chase.n_hops; i++)
		send_default(lane, c->hops[i].proc, c);
	release(b, c);
}

/* No other ring is looked for through a wait that has its error. */
static bool is_over(const struct weft_blocked *b)
{
	return b->err || b->hold.is_released;
}

/* The wait does not stay for this ring. */
static void let_go(struct weft_blocked *b, const struct weft_cycle *c)
{
	weft_hold_void(&b->hold, c);
	if (weft_hold_may_go(&b->hold))
		weft_chase_condemn(b);
}

/* A second round ends here; of the first process it was its own. */
static void drop(struct weft_blocked *b, const struct weft_cycle *c)
{
	void_cycle(weft_need_lane(b), c);
	if (c->chase.phase == WEFT_CYCLE_CONFIRM)
		let_go(b, c);
}

/* One wait of this process meets a chase. Its lane's lock held. */
static void meet(struct weft_blocked *b, struct weft_cycle *c,
	bool can_be_alone, uint32_t owner)
{
	const struct weft_cycle_me me = {
		.proc = weft_proc.proc,
		.epoch = is_over(b) && c->chase.phase < WEFT_CYCLE_MARK
				 ? 0
				 : b->epoch,
		.is_alone = can_be_alone,
	};
	struct chase_arg how = { .b = b, .cycle = c, .owner = owner };
	bool is_back = c->chase.phase == WEFT_CYCLE_SEEK;

	switch (weft_cycle_judge(c, &me)) {
	case WEFT_CYCLE_DROP:
		drop(b, c);
		break;
	case WEFT_CYCLE_EXTEND:
		if (is_new(c, b->epoch))
			weft_need_each(b, chase_need, &how);
		break;
	case WEFT_CYCLE_TO_NEXT:
		if (is_back)
			c->hops[0].owner = owner;
		confirm_next(b, c);
		break;
	case WEFT_CYCLE_PROVEN:
		if (c->chase.is_doubtful)
			doubt(b, c);
		else
			pass_mark(b, c);
		break;
	case WEFT_CYCLE_MARKED:
	case WEFT_CYCLE_ALL:
		pass_mark(b, c);
		break;
	case WEFT_CYCLE_CONDEMNED:
		release(b, c);
		break;
	case WEFT_CYCLE_VOIDED:
		let_go(b, c);
	}
}

/* Leaves a chase with a wait on another lane. Spin lock held. */
static bool leave_note(
	struct weft_blocked *b, const struct weft_cycle *c, uint32_t owner)
{
	struct weft_blocked_note *note = malloc(sizeof(*note));

	if (!note)
		return false;
	*note = (struct weft_blocked_note){ b->notes, *c, owner };
	b->notes = note;
	atomic_store_explicit(&b->has_notes, true, memory_order_relaxed);
	return true;
}

/* Gives a chase to the waits it is about. The lane's lock held. */
static void give(
	struct weft_lane *lane, const struct weft_cycle *c, uint32_t owner)
{
	uint64_t wanted = weft_cycle_wanted(c, weft_proc.proc);
	struct weft_blocked *b = NULL, *now[AT_ONCE];
	bool can_be_alone = weft_blocked_is_alone(), is_left = false;
	int n = 0;

	weft_blocked_lock();
	while ((b = weft_blocked_next(b)) != NULL) {
		if (wanted && wanted != b->epoch)
			continue;
		if (weft_need_lane(b) != lane)
			is_left = leave_note(b, c, owner) || is_left;
		else if (n < AT_ONCE)
			now[n++] = b; /* stays, as the lane's lock is held */
	}
	weft_blocked_unlock();
	for (int i = 0; i < n; i++) {
		struct weft_cycle copy = *c;

		meet(now[i], &copy, can_be_alone, owner);
	}
	if (!n && !is_left)
		void_cycle(lane, c);
}

void weft_chase_read(struct weft_blocked *b)
{
	struct weft_blocked_note *note;
	bool can_be_alone;

	weft_blocked_lock();
	note = b->notes;
	b->notes = NULL;
	atomic_store_explicit(&b->has_notes, false, memory_order_relaxed);
	weft_blocked_unlock();
	can_be_alone = weft_blocked_is_alone();
	while (note) {
		struct weft_blocked_note *next = note->next;

		meet(b, &note->cycle, can_be_alone, note->owner);
		free(note);
		note = next;
	}
}

/* A chase through another job ends: not all of a ring know each other then. */
static bool is_far(const struct weft_cycle *c)
{
	for (uint32_t i = 0; i < c->chase.n_hops; i++)
		if (weft_outer_is(c->hops[i].proc))
			return true;
	return false;
}

/* It is sent on to those it names. */
static bool are_members(const struct weft_cycle *c)
{
	for (uint32_t i = 0; i < c->chase.n_hops; i++)
		if (!weft_proc_is_member(c->hops[i].proc))
			return false;
	return true;
}

void weft_chase_on_chase(struct weft_lane *lane, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_cycle c = { 0 };
	const struct weft_wire_hop *behind;
	uint32_t owner = 0;

	(void)head;
	(void)peer;
	if (!weft_wire_get_chase(&c.chase, payload, len) ||
		c.chase.n_hops > WEFT_CYCLE_HOPS ||
		len != sizeof(c.chase) + c.chase.n_hops * sizeof(c.hops[0])) {
		weft_dispatch_drop(lane, "chase of a wrong length");
		return;
	}
	memcpy(c.hops, (const char *)payload + sizeof(c.chase),
		len - sizeof(c.chase));
	if (is_far(&c))
		return;
	if (!weft_cycle_is_sane(&c) || !are_members(&c)) {
		weft_dispatch_drop(lane, "malformed chase");
		return;
	}
	behind = weft_cycle_behind(&c);
	if (behind) {
		const struct weft_wire_ask ask = {
			.what = behind->what,
			.need = (uint16_t)behind->need,
			.round = behind->round,
		};

		if (weft_need_is_met(lane, &ask, behind->proc, &owner)) {
			void_cycle(lane, &c);
			return;
		}
	}
	give(lane, &c, owner);
}

void weft_chase_end(struct weft_blocked *b)
{
	struct weft_blocked_note *note;

	weft_blocked_lock();
	note = b->notes;
	b->notes = NULL;
	weft_blocked_unlock();
	while (note) {
		struct weft_blocked_note *next = note->next;

		free(note);
		note = next;
	}
	weft_hold_fini(&b->hold);
	if (b->marked_ns)
		weft_chase_condemn(b);
}
