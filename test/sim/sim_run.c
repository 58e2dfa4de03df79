/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_run: runs the phases in a simulated process, and prints their table */
#include "test/sim/sim.h"
#include "transport/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A communicator agrees on nodes in its fifth collective. */
enum { DEATHS_NS = 1500000, FIRST_CALLS = 5 };

static uint32_t rank, n_procs;

void sim_die_later(void)
{
	struct sim_event *event = sim_event_create(SIM_KILL, rank, 0);

	sim_event_post_take(
		event, sim_self()->clock + sim_random(0, rank) % DEATHS_NS);
}

static void add(uint64_t *sum, uint64_t *most, uint64_t now, uint64_t before)
{
	*sum += now - before;
	if (now - before > *most)
		*most = now - before;
}

/* Prints the row of a phase. */
static void print_row(const char *name, uint64_t start)
{
	struct sim_counts sum = { 0 }, most = { 0 };
	uint64_t end = 0;

	for (uint32_t i = 0; i < n_procs; i++) {
		struct sim_proc *p = sim_proc(i);

		if (p->state == SIM_DEAD)
			continue;
		if (p->synced_at > end)
			end = p->synced_at;
		add(&sum.n_sent, &most.n_sent, p->counts.n_sent,
			p->before.n_sent);
		add(&sum.n_bytes, &most.n_bytes, p->counts.n_bytes,
			p->before.n_bytes);
		add(&sum.n_far, &most.n_far, p->counts.n_far, p->before.n_far);
		add(&sum.n_peers, &most.n_peers, p->counts.n_peers,
			p->before.n_peers);
		add(&sum.n_gets, &most.n_gets, p->counts.n_gets,
			p->before.n_gets);
		p->before = p->counts;
	}
	printf("%-10s %10.1f %9.2f %7llu %9.2f %10llu %7llu %7llu\n", name,
		(double)(end - start) / 1e3, (double)sum.n_sent / n_procs,
		(unsigned long long)most.n_sent, (double)sum.n_far / n_procs,
		(unsigned long long)most.n_bytes,
		(unsigned long long)most.n_peers,
		(unsigned long long)most.n_gets);
	fflush(stdout);
}

/* Prints a row for each of the sizes. */
static void run_coll(const char *name, const char *sizes)
{
	int n_before = FIRST_CALLS;

	sim_coll_begin(name, n_procs);
	weft_proc.node.shares_cores = false; /* not as on this machine */
	for (char *end; *sizes; sizes = end + (*end == ',')) {
		uint64_t start;

		sim_coll_set(strtoull(sizes, &end, 10));
		for (; n_before; n_before--)
			sim_coll_call();
		n_before = 1; /* another algorithm may meet other peers */
		sim_sync();
		for (uint32_t i = 0; !rank && i < n_procs; i++)
			sim_proc(i)->before = sim_proc(i)->counts;
		sim_sync();
		start = sim_self()->clock;
		sim_coll_call();
		sim_sync();
		if (!rank)
			print_row(name, start);
		sim_sync();
	}
	sim_coll_end();
}

static void run_phases(void)
{
	const char *until = sim_options()->until;
	const struct sim_phase *phase;

	sim_phases_set(rank, n_procs, sim_options()->n_dead);
	for (size_t i = 0; (phase = sim_phase_at(i)) != NULL; i++) {
		uint64_t start = sim_self()->clock;

		if ((phase->most && n_procs > phase->most) ||
			(sim_options()->repairs && !phase->is_repair))
			continue;
		phase->run();
		weft_proc.node.shares_cores = false;
		sim_sync();
		if (!rank)
			print_row(phase->name, start);
		sim_sync();
		if (until && !strcmp(phase->name, until))
			break;
	}
}

void sim_run(uint32_t me)
{
	rank = me;
	n_procs = sim_options()->n_procs;
	if (sim_options()->coll) {
		run_coll(sim_options()->coll, sim_options()->sizes);
		return;
	}
	run_phases();
}
