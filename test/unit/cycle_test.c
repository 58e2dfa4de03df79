/* SPDX-License-Identifier: BSD-3-Clause */
/* cycle_test: a deadlock is found exactly where the definition has one
 *
 * Two and three processes, up to three sessions each, up to four communicators.
 * Every way to tie each communicator to a session of each of its members is
 * tried, with all orders of finalizing: the sessions of a process are finalized
 * in the order of their numbers, and since every assignment of communicators to
 * numbers comes up, so does every order. A step with one communicator is as
 * well a disconnect.
 *
 * The model is the definition (S63): a call starts on all communicators of its
 * session, then waits until every member has started on each. A collective
 * creation from a communicator is a step, too: one that everybody waits for
 * everybody in (split, merge, create from groups over lanes) is like a leaving;
 * in one that only brings an id down the tree (duplicate, create, the side of
 * an intercommunicator) a process waits for those above it. Any communicator
 * below can be one or the other. The detector is cycle.c, its messages carried
 * here from hand to hand. */
#include "session/cycle.h"
#include "session/hold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PROCS = 4, STEPS = 3, COMMS = 4, COMMS_MAX = 6, QUEUE = 2048 };

static struct {
	int n_procs, n_comms;
	uint8_t members[COMMS_MAX]; /* sets of processes */
	bool is_down[COMMS_MAX];    /* waits only for those above */
	uint8_t step[PROCS][STEPS]; /* sets of communicators */
	/* while it runs */
	int pos[PROCS];
	uint8_t begun[COMMS_MAX];
	bool has_threads[PROCS];
	/* when a wait may end although it was not met */
	bool has_errors;
	uint64_t now;
	uint64_t begun_at[COMMS_MAX][PROCS], over_at[PROCS][STEPS];
	/* and whether it stays for other rings then */
	bool has_holds;
	struct weft_hold holds[PROCS];
	bool is_marked[PROCS];
	bool in_ring[PROCS][STEPS], has_error[PROCS][STEPS];
} job;

static struct {
	int to;
	struct weft_cycle c;
} queue[QUEUE];
static int n_queue;
static int n_proven, n_doubtful, n_condemned, n_false, n_given_up;
static uint8_t in_ring, told; /* processes of proven rings; with an error */

/* ---- the model ---- */

static void begin(int p)
{
	if (job.pos[p] == STEPS)
		return;
	for (int c = 0; c < job.n_comms; c++)
		if (job.step[p][job.pos[p]] & 1 << c) {
			job.begun[c] |= (uint8_t)(1 << p);
			job.begun_at[c][p] = job.now;
		}
}

/* Those whose start a process needs before its wait on c can end. */
static uint8_t needs(int p, int c)
{
	uint8_t above = 0;
	uint32_t rank = 0;
	int ranks[PROCS], n = 0;

	if (!job.is_down[c])
		return job.members[c];
	for (int q = 0; q < job.n_procs; q++)
		if (job.members[c] & 1 << q) {
			if (q == p)
				rank = (uint32_t)n;
			ranks[n++] = q;
		}
	while (rank) {
		rank &= rank - 1;
		above |= (uint8_t)(1 << ranks[rank]);
	}
	return above;
}

static bool is_met(int p, int c)
{
	return !(needs(p, c) & ~job.begun[c]);
}

static void reset(void)
{
	memset(job.pos, 0, sizeof(job.pos));
	memset(job.begun, 0, sizeof(job.begun));
	job.now = 1; /* 0 is never */
	for (int p = 0; p < job.n_procs; p++)
		begin(p);
}

static bool is_blocked(int p)
{
	if (job.pos[p] == STEPS)
		return false;
	for (int c = 0; c < job.n_comms; c++)
		if (job.step[p][job.pos[p]] & 1 << c && !is_met(p, c))
			return true;
	return false;
}

static void end_wait(int p)
{
	weft_hold_fini(&job.holds[p]);
	job.holds[p].is_released = false;
	job.is_marked[p] = false;
	job.over_at[p][job.pos[p]++] = job.now;
	begin(p);
}

/* What is marked has its error whatever ends it. */
static bool go_on(int p)
{
	if (job.pos[p] == STEPS || is_blocked(p))
		return false;
	job.has_error[p][job.pos[p]] = job.is_marked[p];
	end_wait(p);
	return true;
}

/* The wait ends with an error, and the process goes on. */
static void give_up(int p)
{
	if (!is_blocked(p))
		return;
	job.has_error[p][job.pos[p]] = true;
	end_wait(p);
	n_given_up++;
}

static bool completes(void)
{
	bool all = true, moved;

	do {
		moved = false;
		for (int p = 0; p < job.n_procs; p++)
			moved |= go_on(p);
	} while (moved);
	for (int p = 0; p < job.n_procs; p++)
		all &= job.pos[p] == STEPS;
	return all;
}

/* ---- what blocked.c does, without a network ---- */

static void push(int to, const struct weft_cycle *c)
{
	assert_true(n_queue < QUEUE);
	queue[n_queue].to = to;
	queue[n_queue++].c = *c;
}

static void chase_on(int p, const struct weft_cycle *sofar)
{
	struct weft_wire_hop hop = {
		.proc = (uint64_t)p,
		.epoch = (uint64_t)job.pos[p] + 1,
	};

	for (int c = 0; c < job.n_comms; c++) {
		struct weft_cycle copy = *sofar;

		if (!(job.step[p][job.pos[p]] & 1 << c) || is_met(p, c))
			continue;
		hop.what = (uint64_t)c;
		if (!weft_cycle_extend(&copy, &hop))
			continue;
		for (int q = 0; q < job.n_procs; q++)
			if (q != p && needs(p, c) & 1 << q)
				push(q, &copy);
	}
}

static void start_chase(int p)
{
	struct weft_cycle c = { 0 };

	c.chase.is_doubtful = job.has_threads[p];
	if (is_blocked(p))
		chase_on(p, &c);
}

/* A proven ring must be one, of processes that are still in it. */
static bool is_real(const struct weft_cycle *c)
{
	for (uint32_t i = 0; i < c->chase.n_hops; i++) {
		const struct weft_wire_hop *hop = &c->hops[i];
		uint64_t next = c->hops[(i + 1) % c->chase.n_hops].proc;

		if (!is_blocked((int)hop->proc) ||
			hop->epoch != (uint64_t)job.pos[hop->proc] + 1 ||
			!(needs((int)hop->proc, (int)hop->what) & 1 << next) ||
			job.begun[hop->what] & 1 << next)
			return false;
	}
	return true;
}

/* Where waits end with errors one may do so between the last look at it and
 * the proof. But all must have been there when the second round began. */
static bool was_real(const struct weft_cycle *c)
{
	uint64_t then = c->chase.number;

	for (uint32_t i = 0; i < c->chase.n_hops; i++) {
		const struct weft_wire_hop *hop = &c->hops[i];
		uint64_t next = c->hops[(i + 1) % c->chase.n_hops].proc;
		uint64_t over = job.over_at[hop->proc][hop->epoch - 1];
		uint64_t begun = job.begun_at[hop->what][next];

		if ((over && over < then) || (begun && begun < then) ||
			!(needs((int)hop->proc, (int)hop->what) & 1 << next))
			return false;
	}
	return true;
}

static void prove(int p, struct weft_cycle *c)
{
	if (c->chase.is_doubtful) {
		n_doubtful++;
		return;
	}
	n_proven++;
	n_false += job.has_errors ? !was_real(c) : !is_real(c);
	for (uint32_t i = 0; i < c->chase.n_hops; i++) {
		in_ring |= (uint8_t)(1 << c->hops[i].proc);
		job.in_ring[c->hops[i].proc][c->hops[i].epoch - 1] = true;
	}
	job.is_marked[p] = true;
	push((int)c->hops[1].proc, c);
}

/* Is it the wait of this process that the verdict is about? */
static bool is_meant(int p, const struct weft_cycle *c)
{
	for (uint32_t i = 0; i < c->chase.n_hops; i++)
		if (c->hops[i].proc == (uint64_t)p)
			return is_blocked(p) &&
			       c->hops[i].epoch == (uint64_t)job.pos[p] + 1;
	return false;
}

static void let_go(int p, const struct weft_cycle *c)
{
	weft_hold_void(&job.holds[p], c);
	if (weft_hold_may_go(&job.holds[p]))
		give_up(p);
}

static void void_chase(int p, const struct weft_cycle *c)
{
	struct weft_cycle none = *c;

	if (c->chase.phase != WEFT_CYCLE_CONFIRM || !job.has_holds)
		return;
	let_go(p, c);
	none.chase.phase = WEFT_CYCLE_VOID;
	for (uint32_t h = 0; h < c->chase.at && h < c->chase.n_hops; h++)
		if (c->hops[h].proc != (uint64_t)p)
			push((int)c->hops[h].proc, &none);
}

/* The second round goes on, unless what this one waits for was done. */
static void confirm_next(int p, struct weft_cycle *c)
{
	const struct weft_wire_hop *hop = &c->hops[c->chase.at - 1];
	uint64_t next = c->hops[c->chase.at % c->chase.n_hops].proc;

	if (c->chase.at == 1)
		c->chase.number = job.now;
	if (job.has_holds && is_met(p, (int)hop->what)) {
		void_chase(p, c);
		return;
	}
	if (job.has_holds)
		weft_hold_note(&job.holds[p], c);
	push((int)next, c);
}

static void condemn(int p, const struct weft_cycle *c)
{
	n_condemned++;
	told |= (uint8_t)(1 << p);
	n_false += !is_meant(p, c);
	if (!job.has_errors)
		return;
	job.is_marked[p] = true;
	weft_hold_release(&job.holds[p], c);
	if (weft_hold_may_go(&job.holds[p]))
		give_up(p);
}

/* Where waits stay for other rings one that is over is still marked, and one
 * with its verdict is not looked at any more for others. */
static uint64_t epoch_of(int p, const struct weft_cycle *c)
{
	if (job.pos[p] == STEPS ||
		(c->chase.phase < WEFT_CYCLE_MARK && job.holds[p].is_released))
		return 0;
	return is_blocked(p) || (job.has_holds &&
					c->chase.phase >= WEFT_CYCLE_MARK)
		       ? (uint64_t)job.pos[p] + 1
		       : 0;
}

static void deliver(int i)
{
	struct weft_cycle c = queue[i].c;
	int p = queue[i].to;
	struct weft_cycle_me me = {
		.proc = (uint64_t)p,
		.epoch = epoch_of(p, &c),
		.is_alone = !job.has_threads[p],
	};
	const struct weft_wire_hop *behind = weft_cycle_behind(&c);

	queue[i] = queue[--n_queue];
	assert_true(weft_cycle_is_sane(&c));
	me.has_done = behind && job.begun[behind->what] & 1 << p;
	switch (weft_cycle_judge(&c, &me)) {
	case WEFT_CYCLE_DROP:
		void_chase(p, &c);
		break;
	case WEFT_CYCLE_EXTEND:
		chase_on(p, &c);
		break;
	case WEFT_CYCLE_TO_NEXT:
		confirm_next(p, &c);
		break;
	case WEFT_CYCLE_PROVEN:
		prove(p, &c);
		break;
	case WEFT_CYCLE_MARKED:
		job.is_marked[p] = true;
		push((int)c.hops[c.chase.at % c.chase.n_hops].proc, &c);
		break;
	case WEFT_CYCLE_ALL:
		for (uint32_t h = 1; h < c.chase.n_hops; h++)
			push((int)c.hops[h].proc, &c);
		condemn(p, &c);
		break;
	case WEFT_CYCLE_CONDEMNED:
		condemn(p, &c);
		break;
	case WEFT_CYCLE_VOIDED:
		let_go(p, &c);
	}
}

static void forget(void)
{
	n_queue = 0;
	n_proven = 0;
	n_doubtful = 0;
	n_condemned = 0;
	n_false = 0;
	n_given_up = 0;
	in_ring = 0;
	told = 0;
}

/* The detector's verdict once nothing moves any more. */
static void detect(void)
{
	forget();
	for (int p = 0; p < job.n_procs; p++)
		start_chase(p);
	while (n_queue)
		deliver(n_queue - 1);
}

/* ---- every case ---- */

/* One communicator: who is in it and its session at each. */
struct tie {
	uint8_t members;
	uint8_t session[PROCS];
};

static struct tie ties[128];
static int n_ties;

static void list_ties(int n_procs)
{
	n_ties = 0;
	for (int members = 1; members < 1 << n_procs; members++) {
		if (!(members & (members - 1)))
			continue;
		for (int s = 0; s < STEPS * STEPS * STEPS; s++) {
			struct tie tie = { .members = (uint8_t)members };
			int rest = s;
			bool is_one = true;

			for (int p = 0; p < PROCS; p++, rest /= STEPS) {
				tie.session[p] = (uint8_t)(rest % STEPS);
				if (!(members & 1 << p) && rest % STEPS)
					is_one = false;
			}
			if (is_one)
				ties[n_ties++] = tie;
		}
	}
}

static void add_comm(const struct tie *tie)
{
	int c = job.n_comms++;

	job.members[c] = tie->members;
	for (int p = 0; p < PROCS; p++)
		if (tie->members & 1 << p)
			job.step[p][tie->session[p]] |= (uint8_t)(1 << c);
}

static void set_job(
	int n_procs, int n_comms, const int pick[COMMS], unsigned down)
{
	memset(&job, 0, sizeof(job));
	job.n_procs = n_procs;
	for (int i = 0; i < n_comms; i++) {
		job.is_down[i] = down >> i & 1;
		add_comm(&ties[pick[i]]);
	}
	reset();
}

/* Next multiset; false after the last. */
static bool next_pick(int pick[COMMS], int n)
{
	int i = n - 1;

	while (i >= 0 && pick[i] == n_ties - 1)
		i--;
	if (i < 0)
		return false;
	pick[i]++;
	for (int j = i + 1; j < n; j++)
		pick[j] = pick[i];
	return true;
}

static int n_cases, n_deadlocks, n_wrong;

static void try_all(int n_procs, int n_comms, unsigned down)
{
	int pick[COMMS] = { 0 };

	list_ties(n_procs);
	do {
		bool is_dead;

		set_job(n_procs, n_comms, pick, down);
		is_dead = !completes();
		detect();
		n_cases++;
		n_deadlocks += is_dead;
		n_wrong += is_dead != (n_proven > 0) || n_false;
		n_wrong += is_dead && !n_condemned;
		n_wrong += in_ring != told; /* S76: all of them, nobody else */
	} while (next_pick(pick, n_comms));
}

static void every_case_agrees_with_the_definition(void **state)
{
	(void)state;
	n_cases = n_deadlocks = n_wrong = 0;
	for (int n = 1; n <= COMMS; n++) {
		try_all(2, n, 0);
		try_all(3, n, 0);
	}
	printf("# %d cases, %d of them deadlocks, %d verdicts differ\n",
		n_cases, n_deadlocks, n_wrong);
	assert_int_equal(n_wrong, 0);
	assert_true(n_cases > 400000 && n_deadlocks > 1000 &&
		    n_deadlocks < n_cases);
}

/* Multisets are in order, so every choice of which are creations that only
 * bring something down comes up. */
static void so_does_every_case_with_derived_ones(void **state)
{
	(void)state;
	n_cases = n_deadlocks = n_wrong = 0;
	for (int n = 1; n < COMMS; n++)
		for (unsigned down = 1; down < 1u << n; down++) {
			try_all(2, n, down);
			try_all(3, n, down);
		}
	printf("# %d cases, %d of them deadlocks, %d verdicts differ\n",
		n_cases, n_deadlocks, n_wrong);
	assert_int_equal(n_wrong, 0);
	assert_true(
		n_cases > 50000 && n_deadlocks > 200 && n_deadlocks < n_cases);
}

/* ---- while processes still move ---- */

static uint64_t rng_state;

static uint32_t rng(uint32_t n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (uint32_t)(rng_state >> 33) % n;
}

/* Chases begin at any time and messages overtake each other. */
static void shuffle(void)
{
	forget();
	for (int i = 0; i < 200; i++) {
		uint32_t what = rng(8);

		if (what == 0)
			go_on((int)rng((uint32_t)job.n_procs));
		else if (what == 1 && n_queue < QUEUE / 4)
			start_chase((int)rng((uint32_t)job.n_procs));
		else if (n_queue)
			deliver((int)rng((uint32_t)n_queue));
	}
}

static void nobody_is_accused_on_the_way(void **state)
{
	int n_correct = 0, n_accused = 0, n_early = 0;

	(void)state;
	rng_state = 0x2545f4914f6cdd1dull;
	list_ties(3);
	for (int i = 0; i < 20000; i++) {
		int pick[COMMS];
		bool is_dead;

		for (int c = 0; c < COMMS; c++)
			pick[c] = (int)rng((uint32_t)n_ties);
		set_job(3, COMMS, pick, rng(1u << COMMS));
		is_dead = !completes();
		reset();
		shuffle();
		n_correct += !is_dead;
		n_accused += !is_dead && n_proven;
		n_early += n_false;
	}
	printf("# %d correct programs\n", n_correct);
	assert_true(n_correct > 1000);
	assert_int_equal(n_accused, 0);
	assert_int_equal(n_early, 0);
}

/* Waits end with errors, because of a ring or of something else (a member that
 * died); what was sent about them is still on its way, and comes when those
 * it was about are in their next waits. Without the epochs in the hops some
 * of these would be taken for rings. */
static void rough(void)
{
	forget();
	for (int i = 0; i < 300; i++) {
		uint32_t what = rng(16);

		job.now++;
		if (what < 2)
			go_on((int)rng((uint32_t)job.n_procs));
		else if (what < 5 && n_queue < QUEUE / 4)
			start_chase((int)rng((uint32_t)job.n_procs));
		else if (what == 5)
			give_up((int)rng((uint32_t)job.n_procs));
		else if (n_queue) /* the oldest as often as the others */
			deliver(what & 1 ? 0 : (int)rng((uint32_t)n_queue));
	}
}

static void what_is_over_proves_nothing(void **state)
{
	int n_rings = 0, n_wrong_rings = 0, n_errors = 0;

	(void)state;
	rng_state = 0x9e3779b97f4a7c15ull;
	list_ties(3);
	for (int i = 0; i < 40000; i++) {
		int pick[COMMS];

		for (int c = 0; c < COMMS; c++)
			pick[c] = (int)rng((uint32_t)n_ties);
		set_job(3, COMMS, pick, rng(1u << COMMS));
		job.has_errors = true;
		rough();
		n_rings += n_proven;
		n_wrong_rings += n_false;
		n_errors += n_given_up;
	}
	printf("# %d rings proven, %d waits ended by an error\n", n_rings,
		n_errors);
	assert_true(n_rings > 1000 && n_errors > 10000);
	assert_int_equal(n_wrong_rings, 0);
}

/* Any communicators of four processes; chases begin and messages come in any
 * order, and processes go on when they may. */
static void make_job(bool has_holds)
{
	for (int p = 0; p < PROCS; p++)
		weft_hold_fini(&job.holds[p]);
	memset(&job, 0, sizeof(job));
	job.n_procs = PROCS;
	job.n_comms = COMMS_MAX;
	job.has_errors = true;
	job.has_holds = has_holds;
	for (int c = 0; c < COMMS_MAX; c++) {
		int a = (int)rng(PROCS), b = (int)rng(PROCS - 1);

		b += b >= a;
		job.members[c] = (uint8_t)(1 << a | 1 << b);
		job.step[a][rng(STEPS)] |= (uint8_t)(1 << c);
		job.step[b][rng(STEPS)] |= (uint8_t)(1 << c);
	}
	reset();
}

/* Until nothing moves; returns whether everybody came to an end. */
static bool run_out(void)
{
	bool is_all = true;

	forget();
	for (int i = 0; i < 4000 && (n_queue || i < 400); i++) {
		uint32_t what = rng(8);

		job.now++;
		if (what < 2)
			go_on((int)rng(PROCS));
		else if (what == 2 && i < 300 && n_queue < QUEUE / 8)
			start_chase((int)rng(PROCS));
		else if (n_queue)
			deliver((int)rng((uint32_t)n_queue));
	}
	for (int i = 0; i < STEPS * PROCS; i++) {
		for (int p = 0; p < PROCS; p++)
			start_chase(p);
		while (n_queue) {
			job.now++;
			deliver((int)rng((uint32_t)n_queue));
		}
		completes();
	}
	for (int p = 0; p < PROCS; p++)
		is_all &= job.pos[p] == STEPS;
	return is_all;
}

/* Waits of proven rings that ended without an error. */
static int n_spared(void)
{
	int n = 0;

	for (int p = 0; p < PROCS; p++)
		for (int s = 0; s < STEPS; s++)
			n += job.in_ring[p][s] && !job.has_error[p][s];
	return n;
}

static void rings_with_common_processes_spare_nobody(void **state)
{
	int spared[2] = { 0 }, n_stuck = 0, n_rings = 0;

	(void)state;
	rng_state = 0xd1342543de82ef95ull;
	for (int i = 0; i < 60000; i++) {
		bool has_holds = i % 2;
		bool is_all;

		make_job(has_holds);
		is_all = run_out();
		spared[has_holds] += n_spared();
		if (!has_holds)
			continue;
		n_stuck += !is_all;
		n_rings += n_proven;
	}
	printf("# %d rings, %d waits spared where none stays for another\n",
		n_rings, spared[0]);
	assert_true(n_rings > 10000 && spared[0] > 10);
	assert_int_equal(spared[1], 0);
	assert_int_equal(n_stuck, 0);
}

/* Who has done it, or waits for nothing, is in no ring. */
static void who_is_not_stuck_breaks_the_ring(void **state)
{
	const struct weft_cycle ring = { .chase = { .n_hops = 2 },
		.hops = { { .proc = 0, .epoch = 5 },
			{ .proc = 1, .epoch = 7 } } };
	struct weft_cycle_me me = { .proc = 2, .is_alone = true };
	struct weft_cycle c = ring;

	(void)state;
	assert_int_equal(weft_cycle_judge(&c, &me), WEFT_CYCLE_DROP);
	me.epoch = 3;
	assert_int_equal(weft_cycle_judge(&c, &me), WEFT_CYCLE_EXTEND);
	me.has_done = true;
	assert_int_equal(weft_cycle_judge(&c, &me), WEFT_CYCLE_DROP);
	me.proc = 0;
	me.epoch = 5;
	assert_int_equal(weft_cycle_judge(&c, &me), WEFT_CYCLE_DROP);
	for (uint32_t at = 1; at <= 2; at++) {
		c = ring;
		c.chase.phase = WEFT_CYCLE_CONFIRM;
		c.chase.at = at;
		me.proc = at % 2;
		me.epoch = at == 1 ? 7 : 5;
		assert_int_equal(weft_cycle_judge(&c, &me), WEFT_CYCLE_DROP);
	}
}

/* Each look at an epoch, alone. */
static void another_wait_is_another_wait(void **state)
{
	const struct weft_cycle ring = { .chase = { .n_hops = 2 },
		.hops = { { .proc = 0, .epoch = 5 },
			{ .proc = 1, .epoch = 7 } } };
	struct weft_cycle_me me = { .proc = 0, .epoch = 5, .is_alone = true };
	struct weft_cycle c = ring;

	(void)state;
	assert_int_equal(weft_cycle_wanted(&c, 0), 5);
	assert_int_equal(weft_cycle_wanted(&c, 1), 7);
	assert_int_equal(weft_cycle_wanted(&c, 2), 0);
	assert_int_equal(weft_cycle_judge(&c, &me), WEFT_CYCLE_TO_NEXT);
	c = ring;
	me.epoch = 6; /* back, but to the next wait */
	assert_int_equal(weft_cycle_judge(&c, &me), WEFT_CYCLE_DROP);
	c = ring;
	me.epoch = 0; /* or to none */
	assert_int_equal(weft_cycle_judge(&c, &me), WEFT_CYCLE_DROP);
	for (uint64_t epoch = 6; epoch <= 8; epoch++) {
		c = ring;
		c.chase.phase = WEFT_CYCLE_CONFIRM;
		c.chase.at = 1;
		me.proc = 1;
		me.epoch = epoch;
		assert_int_equal(weft_cycle_judge(&c, &me),
			epoch == 7 ? WEFT_CYCLE_TO_NEXT : WEFT_CYCLE_DROP);
		c = ring;
		c.chase.phase = WEFT_CYCLE_MARK;
		c.chase.at = 1;
		assert_int_equal(weft_cycle_judge(&c, &me),
			epoch == 7 ? WEFT_CYCLE_MARKED : WEFT_CYCLE_DROP);
		c = ring;
		c.chase.phase = WEFT_CYCLE_RELEASE;
		assert_int_equal(weft_cycle_judge(&c, &me),
			epoch == 7 ? WEFT_CYCLE_CONDEMNED : WEFT_CYCLE_DROP);
	}
	c = ring;
	c.chase.phase = WEFT_CYCLE_CONFIRM;
	c.chase.at = 2;
	me.proc = 0;
	me.epoch = 6; /* the first has been through its wait by now */
	assert_int_equal(weft_cycle_judge(&c, &me), WEFT_CYCLE_DROP);
	me.epoch = 5;
	assert_int_equal(weft_cycle_judge(&c, &me), WEFT_CYCLE_PROVEN);
}

/* ---- the examples ---- */

static void set_example(const uint8_t steps[PROCS][STEPS],
	const uint8_t members[COMMS_MAX], int n_procs, int n_comms)
{
	memset(&job, 0, sizeof(job));
	job.n_procs = n_procs;
	job.n_comms = n_comms;
	memcpy(job.step, steps, sizeof(job.step));
	memcpy(job.members, members, sizeof(job.members));
	reset();
}

/* 11.9: bits x 1, y 2, z 4; (0a,0b) is {x,y},{z}; (1a,1b) is {x,z},{y} */
static void example_11_9_as_the_definition_has_it(void **state)
{
	static const uint8_t members[COMMS_MAX] = { 3, 3, 3 };

	(void)state;
	for (int order = 0; order < 4; order++) {
		uint8_t steps[PROCS][STEPS] = { { 3, 4 }, { 5, 2 } };

		if (order & 1) {
			steps[0][0] = 4;
			steps[0][1] = 3;
		}
		if (order & 2) {
			steps[1][0] = 2;
			steps[1][1] = 5;
		}
		set_example(steps, members, 2, 3);
		/* S76: both in the same order; T2: the others complete */
		assert_int_equal(completes(), order == 1 || order == 2);
		detect();
		assert_int_equal(n_proven > 0, order == 0 || order == 3);
	}
}

/* X/Y/Z: S85 completes, S86 does not; X hangs on it but is in no ring */
static void only_the_ring_is_accused(void **state)
{
	static const uint8_t members[COMMS_MAX] = { 7, 7 };
	static const uint8_t crossed[PROCS][STEPS] = { { 3 }, { 1, 2 },
		{ 2, 1 } };
	static const uint8_t even[PROCS][STEPS] = { { 3 }, { 1, 2 }, { 1, 2 } };

	(void)state;
	set_example(even, members, 3, 2);
	assert_true(completes());
	set_example(crossed, members, 3, 2);
	assert_false(completes());
	forget();
	start_chase(0);
	while (n_queue)
		deliver(n_queue - 1);
	assert_int_equal(n_proven, 0);
	detect();
	assert_int_equal(n_proven, 2);
	assert_int_equal(n_false, 0);
}

/* With a thread that could end it, wherever in the ring it is, nobody gets an
 * error; it is only said. */
static void threads_make_it_doubtful(void **state)
{
	static const uint8_t members[COMMS_MAX] = { 3, 6, 5 };
	static const uint8_t ring[PROCS][STEPS] = { { 1, 4 }, { 2, 1 },
		{ 4, 2 } };

	(void)state;
	set_example(ring, members, 3, 3);
	detect();
	assert_int_equal(n_proven, 3);
	for (int p = 0; p < job.n_procs; p++) {
		memset(job.has_threads, 0, sizeof(job.has_threads));
		job.has_threads[p] = true;
		detect();
		assert_int_equal(n_proven, 0);
		assert_int_equal(n_condemned, 0);
		assert_true(n_doubtful > 0);
	}
}

static void a_ring_can_be_read(void **state)
{
	struct weft_cycle c = { .chase = { .n_hops = 2 },
		.hops = {
			{ .proc = 0,
				.session = 1,
				.owner = 3,
				.size = 2,
				.label = "foobar2" },
			{ .proc = 1,
				.session = 2,
				.owner = 4,
				.size = 2,
				.kind = WEFT_CYCLE_CREATE,
				.need = WEFT_WIRE_NEED_CREATE,
				.label = "z" },
		} };
	char text[400], small[8];

	(void)state;
	assert_string_equal(weft_cycle_print_edge(&c, 0, text, sizeof(text)),
		"process 0 in MPI_Session_finalize of its session 1 waits for "
		"process 1 to leave communicator \"foobar2\" (2 processes), "
		"which belongs there to session 4");
	assert_non_null(strstr(weft_cycle_print_edge(&c, 1, text, sizeof(text)),
		"process 1 in MPI_Comm_create_from_group waits for process 0 "
		"to create communicator \"z\""));
	assert_non_null(
		strstr(weft_cycle_print(&c, text, sizeof(text)), "foobar2"));
	assert_true(strlen(weft_cycle_print(&c, small, sizeof(small))) <
		    sizeof(small));
}

static void nonsense_is_refused(void **state)
{
	struct weft_cycle c = { .chase = { .n_hops = 1 },
		.hops = { { .epoch = 1 } } };

	(void)state;
	assert_true(weft_cycle_is_sane(&c));
	c.hops[0].label[WEFT_WIRE_LABEL - 1] = 'x';
	assert_false(weft_cycle_is_sane(&c));
	c.hops[0].label[WEFT_WIRE_LABEL - 1] = 0;
	c.chase.phase = WEFT_CYCLE_CONFIRM; /* at 0 is nobody */
	assert_false(weft_cycle_is_sane(&c));
	c.chase.at = 2;
	assert_false(weft_cycle_is_sane(&c));
	c.chase.phase = WEFT_CYCLE_VOID + 1;
	assert_false(weft_cycle_is_sane(&c));
	c.chase.phase = WEFT_CYCLE_SEEK;
	c.chase.n_hops = WEFT_CYCLE_HOPS + 1;
	assert_false(weft_cycle_is_sane(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_agrees_with_the_definition),
		cmocka_unit_test(so_does_every_case_with_derived_ones),
		cmocka_unit_test(nobody_is_accused_on_the_way),
		cmocka_unit_test(what_is_over_proves_nothing),
		cmocka_unit_test(rings_with_common_processes_spare_nobody),
		cmocka_unit_test(who_is_not_stuck_breaks_the_ring),
		cmocka_unit_test(another_wait_is_another_wait),
		cmocka_unit_test(example_11_9_as_the_definition_has_it),
		cmocka_unit_test(only_the_ring_is_accused),
		cmocka_unit_test(threads_make_it_doubtful),
		cmocka_unit_test(a_ring_can_be_read),
		cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
