/* SPDX-License-Identifier: BSD-3-Clause */
/* graph_test: a deadlock is found exactly where the definition has one
 *
 * A step of a process is one call: the finalize of a session with all its
 * communicators, a disconnect, which has one communicator, or a collective
 * creation. Each process finalizes its sessions in the order of their numbers.
 * For jobs of two processes and up to four communicators, and of three
 * processes and up to three, the test tries every assignment of communicators
 * to sessions of their members, and so every order of finalizing. Larger jobs
 * are random (make_job()).
 *
 * S63 and the like are rules of test/conformance/rules.tsv. The model is the
 * definition (S63): a call starts on all communicators of its session, then
 * waits until every member has started on each. A collective creation from a
 * communicator is a step, too. If in the creation all members wait for all, it
 * is like a disconnect. If the creation only passes an id down a tree, a
 * process waits for the processes above it (is_down). The test tries both for
 * each of up to three communicators.
 *
 * The protocol is that of watchdog/resolve.c: a snapshot is gathered process by
 * process while the processes continue. It is closed only after all its
 * verdicts have been received.
 *
 * In random graphs, a process waits for all of a set of processes, or for any
 * of them. The analysis of a graph is compared with a simulation, in which
 * every process that can continue does so. */
#include "watchdog/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PROCS = 4, STEPS = 3, COMMS = 4, COMMS_MAX = 6 };

static struct {
	int n_procs, n_comms;
	uint8_t members[COMMS_MAX]; /* bit p: process p is a member */
	bool is_down[COMMS_MAX];    /* a process waits only for the processes
				     * above it */
	uint8_t step[PROCS][STEPS]; /* bit c: communicator c is part of the
				     * step */
	/* state while the simulation runs */
	int pos[PROCS];
	uint8_t begun[COMMS_MAX];
	bool has_threads[PROCS];
	/* number of the wait that process q reported to p about c; 0: none, or
	 * q has begun */
	int notified[PROCS][COMMS_MAX][PROCS];
	bool has_verdict[PROCS];
	uint8_t open[PROCS]; /* bit q: an open snapshot that process q gathers
				includes the wait of this process */
	bool in_ring[PROCS][STEPS], has_error[PROCS][STEPS];
} job;

/* ---- the model ---- */

static void begin(int p)
{
	memset(job.notified[p], 0, sizeof(job.notified[p]));
	if (job.pos[p] == STEPS)
		return;
	for (int c = 0; c < job.n_comms; c++)
		if (job.step[p][job.pos[p]] & 1 << c)
			job.begun[c] |= (uint8_t)(1 << p);
}

/* Returns the members that must start before a process's wait on c can end. */
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

/* A wait with a verdict ends with an error, even if its members have started
 * meanwhile. */
static void end_wait(int p)
{
	job.has_error[p][job.pos[p]] = job.has_verdict[p];
	job.has_verdict[p] = false;
	job.open[p] = 0;
	job.pos[p]++;
	begin(p);
}

static bool try_complete(int p)
{
	if (job.pos[p] == STEPS || is_blocked(p))
		return false;
	end_wait(p);
	return true;
}

/* A verdict ends a wait only when no snapshot that includes the wait is open,
 * because a snapshot may still prove another ring. */
static bool try_fail(int p)
{
	if (!job.has_verdict[p] || job.open[p])
		return false;
	end_wait(p);
	return true;
}

static bool completes(void)
{
	bool all = true, moved;

	do {
		moved = false;
		for (int p = 0; p < job.n_procs; p++)
			moved |= try_complete(p);
	} while (moved);
	for (int p = 0; p < job.n_procs; p++)
		all &= job.pos[p] == STEPS;
	return all;
}

/* ---- the watchdog without a network ---- */

static int epoch_of(int p)
{
	return is_blocked(p) && !job.has_verdict[p] ? job.pos[p] + 1 : 0;
}

/* p queries q about c. May be called at any time. */
static void query(int p, int c, int q)
{
	if (is_blocked(p) && job.step[p][job.pos[p]] & 1 << c)
		job.notified[p][c][q] = job.begun[c] & 1 << q ? 0 : epoch_of(q);
}

static void query_all(int p)
{
	for (int c = 0; c < job.n_comms; c++)
		for (int q = 0; q < job.n_procs; q++)
			if (q != p && needs(p, c) & 1 << q)
				query(p, c, q);
}

/* Adds the present state of this process to a snapshot. */
static void fill(struct weft_graph *graph, int p)
{
	struct weft_graph_node *node = weft_graph_node(graph, (uint64_t)p);

	node->epoch = (uint64_t)epoch_of(p);
	node->is_sure = !job.has_threads[p];
	for (int c = 0; node->epoch && c < job.n_comms; c++)
		for (int q = 0; q < job.n_procs; q++)
			if (job.notified[p][c][q] &&
				job.step[p][job.pos[p]] & 1 << c)
				node->edges[node->n_edges++] =
					(struct weft_wire_edge){
						.proc = (uint64_t)q,
						.epoch = (uint64_t)job
								 .notified[p][c]
									  [q],
						.clause =
							(uint16_t)node->n_edges,
					};
}

static const struct weft_graph_rules strict = { false, false };

static uint32_t judge(struct weft_graph *graph)
{
	return weft_graph_reduce(graph, strict);
}

/* ---- every case ---- */

/* A possible communicator: its members, and its session at each of them. */
struct candidate {
	uint8_t members;
	uint8_t session[PROCS];
};

static struct candidate candidates[128];
static int n_candidates;

static void list_candidates(int n_procs)
{
	n_candidates = 0;
	for (int members = 1; members < 1 << n_procs; members++) {
		if (!(members & (members - 1)))
			continue;
		for (int s = 0; s < STEPS * STEPS * STEPS; s++) {
			struct candidate candidate = {
				.members = (uint8_t)members
			};
			int rest = s;
			bool is_one = true;

			for (int p = 0; p < PROCS; p++, rest /= STEPS) {
				candidate.session[p] = (uint8_t)(rest % STEPS);
				if (!(members & 1 << p) && rest % STEPS)
					is_one = false;
			}
			if (is_one)
				candidates[n_candidates++] = candidate;
		}
	}
}

static void add_comm(const struct candidate *candidate)
{
	int c = job.n_comms++;

	job.members[c] = candidate->members;
	for (int p = 0; p < PROCS; p++)
		if (candidate->members & 1 << p)
			job.step[p][candidate->session[p]] |= (uint8_t)(1 << c);
}

static void set_job(
	int n_procs, int n_comms, const int pick[COMMS], unsigned down)
{
	memset(&job, 0, sizeof(job));
	job.n_procs = n_procs;
	for (int i = 0; i < n_comms; i++) {
		job.is_down[i] = down >> i & 1;
		add_comm(&candidates[pick[i]]);
	}
	reset();
}

/* Selects the next multiset of candidates. False after the last one. */
static bool next_pick(int pick[COMMS], int n)
{
	int i = n - 1;

	while (i >= 0 && pick[i] == n_candidates - 1)
		i--;
	if (i < 0)
		return false;
	pick[i]++;
	for (int j = i + 1; j < n; j++)
		pick[j] = pick[i];
	return true;
}

static int n_cases, n_deadlocks, n_wrong;

/* Gathers a snapshot of all processes when none can continue. */
static void snapshot_all(struct weft_graph *graph)
{
	for (int p = 0; p < job.n_procs; p++)
		query_all(p);
	for (int p = 0; p < job.n_procs; p++)
		fill(graph, p);
}

/* True if the process waits for itself through others, by the definition. */
static bool is_in_real_ring(int p)
{
	uint8_t reach = 0, old;

	do {
		old = reach;
		for (int a = 0; a < job.n_procs; a++)
			if ((a == p || reach & 1 << a) && is_blocked(a))
				for (int c = 0; c < job.n_comms; c++)
					if (job.step[a][job.pos[a]] & 1 << c)
						reach |=
							(uint8_t)(needs(a, c) &
								  ~job.begun
									   [c]);
	} while (reach != old);
	return reach & 1 << p;
}

static void try_all(int n_procs, int n_comms, unsigned down)
{
	int pick[COMMS] = { 0 };

	list_candidates(n_procs);
	do {
		struct weft_graph graph = { 0 };
		bool is_dead;
		uint32_t n;

		set_job(n_procs, n_comms, pick, down);
		is_dead = !completes();
		snapshot_all(&graph);
		n = judge(&graph);
		n_cases++;
		n_deadlocks += is_dead;
		n_wrong += is_dead != (n > 0);
		for (int p = 0; p < n_procs; p++)
			n_wrong += graph.nodes[p]->is_in_ring !=
				   is_in_real_ring(p);
		weft_graph_fini(&graph);
	} while (next_pick(pick, n_comms));
}

static void every_case_agrees_with_the_definition(void **state)
{
	(void)state;
	n_cases = n_deadlocks = n_wrong = 0;
	for (int n = 1; n <= COMMS; n++)
		for (unsigned down = 0; down < (n < COMMS ? 1u << n : 1);
			down++) {
			if (n == COMMS) {
				try_all(2, n, down);
				break;
			}
			try_all(2, n, down);
			try_all(3, n, down);
		}
	printf("# %d cases, %d of them deadlocks, %d verdicts differ\n",
		n_cases, n_deadlocks, n_wrong);
	assert_int_equal(n_wrong, 0);
	assert_true(
		n_cases > 50000 && n_deadlocks > 1000 && n_deadlocks < n_cases);
}

/* ---- while processes continue ---- */

static uint64_t rng_state;

static uint32_t rng(uint32_t n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (uint32_t)(rng_state >> 33) % n;
}

/* A snapshot that one process gathers. Each step is one message: a query, then
 * the verdicts, then the closing of the snapshot. Steps of several snapshots
 * mix at random. */
static struct gather {
	struct weft_graph graph;
	uint8_t todo;	  /* processes to query */
	uint8_t verdicts; /* processes without an acknowledgement of the
			   * verdict */
	uint8_t closes;
	bool is_active, is_judged, has_proof;
} gathers[PROCS];

static bool has_close; /* a wait with a verdict ends only after its snapshots
			* are closed */
static int n_proven, n_false;

static void start_gather(int p)
{
	struct gather *g = &gathers[p];

	if (g->is_active || !epoch_of(p))
		return;
	memset(g, 0, sizeof(*g));
	g->is_active = true;
	g->todo = (uint8_t)((1 << job.n_procs) - 1);
}

/* Counts false proofs. Each process of a proven ring must still be blocked in
 * the call that the snapshot contains, or have ended that call with an error.
 */
static void check_proof(const struct gather *g)
{
	for (uint32_t i = 0; i < g->graph.n; i++) {
		const struct weft_graph_node *node = g->graph.nodes[i];
		int p = (int)node->proc, step = (int)node->epoch - 1;

		if (!node->is_in_ring)
			continue;
		job.in_ring[p][step] = true;
		if (job.pos[p] == step)
			n_false += !is_blocked(p);
		else
			n_false += !job.has_error[p][step];
	}
}

static void receive_verdict(const struct gather *g, int p)
{
	for (uint32_t i = 0; i < g->graph.n; i++) {
		const struct weft_graph_node *node = g->graph.nodes[i];

		if (node->proc == (uint64_t)p && node->is_in_ring &&
			job.pos[p] < STEPS &&
			node->epoch == (uint64_t)job.pos[p] + 1)
			job.has_verdict[p] = true;
	}
}

static int pick_bit(uint8_t set)
{
	int p = (int)rng(PROCS);

	while (!(set & 1 << p))
		p = (p + 1) % PROCS;
	return p;
}

static void decide(struct gather *g)
{
	g->is_judged = true;
	g->closes = (uint8_t)((1 << job.n_procs) - 1);
	if (!judge(&g->graph))
		return;
	n_proven++;
	check_proof(g);
	for (uint32_t i = 0; i < g->graph.n; i++)
		if (g->graph.nodes[i]->is_in_ring)
			g->verdicts |= (uint8_t)(1 << g->graph.nodes[i]->proc);
}

static void step_gather(int waiter)
{
	struct gather *g = &gathers[waiter];
	int p;

	if (!g->is_active)
		return;
	if (g->todo) {
		p = pick_bit(g->todo);
		g->todo &= (uint8_t) ~(1 << p);
		fill(&g->graph, p);
		if (epoch_of(p) && has_close)
			job.open[p] |= (uint8_t)(1 << waiter);
		if (!g->todo)
			decide(g);
	} else if (g->verdicts) {
		p = pick_bit(g->verdicts);
		g->verdicts &= (uint8_t) ~(1 << p);
		receive_verdict(g, p);
	} else if (g->closes) {
		p = pick_bit(g->closes);
		g->closes &= (uint8_t) ~(1 << p);
		job.open[p] &= (uint8_t) ~(1 << waiter);
	} else {
		weft_graph_fini(&g->graph);
		g->is_active = false;
	}
}

static void act(int p)
{
	uint32_t what = rng(8);

	if (what == 0)
		try_complete(p);
	else if (what == 1)
		try_fail(p);
	else if (what == 2)
		query_all(p);
	else if (what == 3)
		start_gather(p);
	else
		step_gather(p);
}

/* A random job of four processes with random communicators. */
static void make_job(void)
{
	memset(&job, 0, sizeof(job));
	job.n_procs = PROCS;
	job.n_comms = COMMS_MAX;
	for (int c = 0; c < COMMS_MAX; c++) {
		int a = (int)rng(PROCS), b = (int)rng(PROCS - 1);

		b += b >= a;
		job.members[c] = (uint8_t)(1 << a | 1 << b);
		job.step[a][rng(STEPS)] |= (uint8_t)(1 << c);
		job.step[b][rng(STEPS)] |= (uint8_t)(1 << c);
	}
	reset();
}

/* Runs until all processes have ended; false if they do not. */
static bool run_out(void)
{
	bool is_all;

	for (int i = 0; i < 20000; i++) {
		is_all = true;
		act((int)rng(PROCS));
		for (int p = 0; p < PROCS; p++)
			is_all &= job.pos[p] == STEPS;
		if (is_all)
			break;
	}
	for (int p = 0; p < PROCS; p++) {
		weft_graph_fini(&gathers[p].graph);
		gathers[p].is_active = false;
	}
	return is_all;
}

/* Returns the number of waits in proven rings that ended without an error. */
static int n_spared(void)
{
	int n = 0;

	for (int p = 0; p < PROCS; p++)
		for (int s = 0; s < STEPS; s++)
			n += job.in_ring[p][s] && !job.has_error[p][s];
	return n;
}

static void random_programs(int n, int *spared_out, int *stuck_out)
{
	*spared_out = *stuck_out = n_proven = n_false = 0;
	for (int i = 0; i < n; i++) {
		make_job();
		*stuck_out += !run_out();
		*spared_out += n_spared();
	}
}

/* Processes continue, query each other and receive verdicts in random order.
 * Only stuck processes receive verdicts, all processes of a proven cycle get
 * errors, and all processes end. Without the close of snapshots (has_close),
 * some processes of a cycle get no error. */
static void rings_with_common_processes_are_found(void **state)
{
	int spared, stuck;

	(void)state;
	rng_state = 0xd1342543de82ef95ull;
	has_close = false;
	random_programs(20000, &spared, &stuck);
	printf("# %d proofs, %d waits of proven rings end without an error "
	       "if snapshots do not delay them\n",
		n_proven, spared);
	assert_true(spared > 10);
	has_close = true;
	random_programs(20000, &spared, &stuck);
	printf("# %d proofs\n", n_proven);
	assert_true(n_proven > 5000);
	assert_int_equal(n_false, 0);
	assert_int_equal(spared, 0);
	assert_int_equal(stuck, 0);
}

static void a_correct_program_has_no_deadlock(void **state)
{
	int n_correct = 0;

	(void)state;
	rng_state = 0x2545f4914f6cdd1dull;
	has_close = true;
	list_candidates(3);
	n_proven = n_false = 0;
	for (int i = 0; i < 60000; i++) {
		int pick[COMMS];

		for (int c = 0; c < COMMS; c++)
			pick[c] = (int)rng((uint32_t)n_candidates);
		set_job(3, COMMS, pick, rng(1u << COMMS));
		if (!completes())
			continue;
		n_correct++;
		reset();
		for (int k = 0; k < 300; k++)
			act((int)rng(3));
		for (int p = 0; p < PROCS; p++) {
			weft_graph_fini(&gathers[p].graph);
			gathers[p].is_active = false;
		}
	}
	printf("# %d correct programs\n", n_correct);
	assert_true(n_correct > 1000);
	assert_int_equal(n_proven, 0);
}

/* ---- any and all ---- */

/* Removes processes that can continue until none can. Returns the removed
 * processes as bits. */
static uint32_t simulate(const struct weft_graph *graph)
{
	uint32_t live = 0, old;

	do {
		old = live;
		for (uint32_t i = 0; i < graph->n; i++) {
			const struct weft_graph_node *node = graph->nodes[i];
			uint32_t met = 0, all = 0;

			for (uint32_t e = 0; e < node->n_edges; e++) {
				uint64_t to = node->edges[e].proc;

				all |= 1u << node->edges[e].clause;
				if (live & 1u << to ||
					graph->nodes[to]->epoch !=
						node->edges[e].epoch)
					met |= 1u << node->edges[e].clause;
			}
			if (!node->epoch || !node->is_sure || met == all)
				live |= 1u << i;
		}
	} while (live != old);
	return live;
}

static void random_graph(struct weft_graph *graph, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct weft_graph_node *node = weft_graph_node(graph, i);

		node->epoch = rng(12) ? 1 + rng(2) : 0;
		node->is_sure = rng(16) != 0;
		node->n_edges = rng(7);
		for (uint32_t e = 0; e < node->n_edges; e++)
			node->edges[e] = (struct weft_wire_edge){
				.proc = rng(n),
				.clause = (uint16_t)rng(4),
			};
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t e = 0; e < graph->nodes[i]->n_edges; e++) {
			struct weft_wire_edge *edge =
				&graph->nodes[i]->edges[e];

			edge->epoch = graph->nodes[edge->proc]->epoch;
			if (!edge->epoch || !rng(12))
				edge->epoch += 1;
		}
}

static void remaining_processes_cannot_continue(void **state)
{
	int n_stuck = 0, n_live = 0;

	(void)state;
	rng_state = 0x9e3779b97f4a7c15ull;
	for (int i = 0; i < 50000; i++) {
		struct weft_graph graph = { 0 };
		uint32_t n = 2 + rng(9), live;

		random_graph(&graph, n);
		weft_graph_reduce(&graph, strict);
		live = simulate(&graph);
		for (uint32_t k = 0; k < n; k++) {
			assert_int_equal(
				graph.nodes[k]->is_stuck, !(live & 1u << k));
			n_stuck += graph.nodes[k]->is_stuck;
			n_live += !graph.nodes[k]->is_stuck;
			assert_false(graph.nodes[k]->is_in_ring &&
				     !graph.nodes[k]->is_stuck);
		}
		weft_graph_fini(&graph);
	}
	assert_true(n_stuck > 10000 && n_live > 10000);
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

/* Example 11.9 of the standard. Communicators x, y and z are bits 1, 2 and 4.
 * Sessions a and b have {x,y} and {z} at rank 0, {x,z} and {y} at rank 1. */
static void example_11_9_agrees_with_the_definition(void **state)
{
	static const uint8_t members[COMMS_MAX] = { 3, 3, 3 };

	(void)state;
	for (int order = 0; order < 4; order++) {
		uint8_t steps[PROCS][STEPS] = { { 3, 4 }, { 5, 2 } };
		struct weft_graph graph = { 0 };

		if (order & 1) {
			steps[0][0] = 4;
			steps[0][1] = 3;
		}
		if (order & 2) {
			steps[1][0] = 2;
			steps[1][1] = 5;
		}
		set_example(steps, members, 2, 3);
		/* orders 1 and 2 (S75) complete, 0 and 3 (S76) do not */
		assert_int_equal(completes(), order == 1 || order == 2);
		snapshot_all(&graph);
		assert_int_equal(
			judge(&graph), order == 0 || order == 3 ? 2 : 0);
		weft_graph_fini(&graph);
	}
}

/* Processes X, Y and Z: the order of S85 completes, that of S86 does not. X
 * waits for the ring but is not part of it. */
static void only_the_ring_is_accused(void **state)
{
	static const uint8_t members[COMMS_MAX] = { 7, 7 };
	static const uint8_t crossed[PROCS][STEPS] = { { 3 }, { 1, 2 },
		{ 2, 1 } };
	static const uint8_t even[PROCS][STEPS] = { { 3 }, { 1, 2 }, { 1, 2 } };
	struct weft_graph graph = { 0 };

	(void)state;
	set_example(even, members, 3, 2);
	assert_true(completes());
	set_example(crossed, members, 3, 2);
	assert_false(completes());
	snapshot_all(&graph);
	assert_int_equal(judge(&graph), 2);
	assert_true(graph.nodes[0]->is_stuck && !graph.nodes[0]->is_in_ring);
	weft_graph_fini(&graph);
}

/* If another thread of a process in the cycle could end the wait, no process
 * gets an error; the cycle is only reported. */
static void a_thread_that_could_end_a_wait_prevents_errors(void **state)
{
	static const uint8_t members[COMMS_MAX] = { 3, 6, 5 };
	static const uint8_t ring[PROCS][STEPS] = { { 1, 4 }, { 2, 1 },
		{ 4, 2 } };

	(void)state;
	for (int p = -1; p < 3; p++) {
		struct weft_graph graph = { 0 };

		set_example(ring, members, 3, 3);
		if (p >= 0)
			job.has_threads[p] = true;
		snapshot_all(&graph);
		assert_int_equal(judge(&graph), p < 0 ? 3 : 0);
		assert_int_equal(weft_graph_reduce(&graph,
					 (struct weft_graph_rules){
						 .with_unsure = true }),
			3);
		weft_graph_fini(&graph);
	}
}

/* Two receives that wait for each other prove a ring only if the caller
 * requests that. */
static void soft_needs_count_on_request(void **state)
{
	struct weft_graph graph = { 0 };

	(void)state;
	for (uint64_t p = 0; p < 2; p++) {
		struct weft_graph_node *node = weft_graph_node(&graph, p);

		node->epoch = 7;
		node->is_sure = true;
		node->n_edges = 1;
		node->edges[0] = (struct weft_wire_edge){
			.proc = !p, .epoch = 7, .is_soft = true
		};
	}
	assert_int_equal(judge(&graph), 0);
	assert_int_equal(
		weft_graph_reduce(
			&graph, (struct weft_graph_rules){ .with_soft = true }),
		2);
	weft_graph_fini(&graph);
}

static void a_ring_can_be_read(void **state)
{
	struct weft_graph graph = { 0 };
	struct weft_graph_step steps[WEFT_GRAPH_NODES];
	char text[400], small[8];

	(void)state;
	for (uint64_t p = 0; p < 2; p++) {
		struct weft_graph_node *node = weft_graph_node(&graph, p);

		node->epoch = 1;
		node->is_sure = true;
		node->n_edges = 1;
		node->edges[0] = (struct weft_wire_edge){ .proc = !p,
			.epoch = 1,
			.need = p ? WEFT_WIRE_NEED_CREATE
				  : WEFT_WIRE_NEED_LEAVE,
			.owner = p ? 0 : 4,
			.size = 2 };
		strcpy(node->edges[0].label, p ? "z" : "foobar2");
		strcpy(node->call,
			p ? "MPI_Comm_create_from_group" : "MPI_Finalize");
	}
	assert_int_equal(judge(&graph), 2);
	assert_int_equal(weft_graph_ring(&graph, 0, steps), 2);
	assert_string_equal(
		weft_graph_print_step(&graph, steps[0], text, sizeof(text)),
		"process 0 in MPI_Finalize waits for process 1 to close "
		"communicator \"foobar2\" (2 processes), which session 4 owns "
		"there");
	assert_string_equal(
		weft_graph_print_step(&graph, steps[1], text, sizeof(text)),
		"process 1 in MPI_Comm_create_from_group waits for process 0 "
		"to create communicator \"z\" (2 processes)");
	weft_graph_print(&graph, steps, 2, text, sizeof(text));
	assert_non_null(strstr(text, "0 (MPI_Finalize) -\"foobar2\"-> 1 ("));
	weft_graph_print(&graph, steps, 2, small, sizeof(small));
	assert_true(strlen(small) < sizeof(small));
	weft_graph_fini(&graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_agrees_with_the_definition),
		cmocka_unit_test(a_correct_program_has_no_deadlock),
		cmocka_unit_test(rings_with_common_processes_are_found),
		cmocka_unit_test(remaining_processes_cannot_continue),
		cmocka_unit_test(example_11_9_agrees_with_the_definition),
		cmocka_unit_test(only_the_ring_is_accused),
		cmocka_unit_test(
			a_thread_that_could_end_a_wait_prevents_errors),
		cmocka_unit_test(soft_needs_count_on_request),
		cmocka_unit_test(a_ring_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
