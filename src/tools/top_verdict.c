/* SPDX-License-Identifier: BSD-3-Clause */
/* top_verdict: whether a job makes progress, waits for a process, or can never
 * end
 *
 * The cycle is that of the watchdog: the processes publish the edges that the
 * watchdog would gather, and weft_graph_reduce() analyses them. */
#include "tools/top_verdict.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/plain.h"

#include <stdlib.h>
#include <string.h>

enum {
	LONG_WAIT_S = 1, /* shorter waits are no reason to name a process */
	NAMED = 4,	 /* processes named in the sentence */
};

uint64_t weft_top_rate(
	const struct weft_top_proc *proc, uint64_t before, uint64_t now)
{
	uint64_t ns = proc->now.at_ns - proc->before.at_ns;

	if (!proc->before.at_ns || !ns || now < before)
		return 0;
	return (uint64_t)((double)(now - before) * 1e9 / (double)ns);
}

static bool waits_long(const struct weft_top_proc *proc)
{
	return proc->is_waiting &&
	       proc->now.at_ns > proc->since_ns + LONG_WAIT_S * WEFT_NS_PER_S;
}

bool weft_top_is_known(const struct weft_top_job *job, uint64_t since_ns)
{
	for (size_t i = 0; i < job->n; i++)
		if (waits_long(&job->procs[i]) && job->procs[i].epoch &&
			job->procs[i].state != 'T' &&
			job->procs[i].edges_ns < since_ns)
			return false;
	return true;
}

static const struct weft_top_proc *top_proc_of(
	const struct weft_top_job *job, uint32_t rank)
{
	for (size_t i = 0; i < job->n; i++)
		if (job->procs[i].rank == rank)
			return &job->procs[i];
	return NULL;
}

/* ---- cycles ---- */

static void fill_graph(const struct weft_top_job *job, struct weft_graph *graph)
{
	for (size_t i = 0; i < job->n; i++) {
		const struct weft_top_proc *proc = &job->procs[i];
		struct weft_graph_node *node;

		if (!proc->is_waiting || !proc->epoch || !proc->n_edges)
			continue;
		node = weft_graph_node(graph, proc->page.proc);
		if (!node)
			return;
		node->epoch = proc->epoch;
		node->is_sure = proc->is_sure;
		node->n_edges = proc->n_edges;
		memcpy(node->edges, proc->edges, sizeof(node->edges));
		snprintf(
			node->call, sizeof(node->call), "%s", proc->facts.call);
	}
}

static void judge_ring(const struct weft_graph *graph, bool is_proven,
	struct weft_top_verdict *verdict)
{
	struct weft_graph_step steps[WEFT_GRAPH_NODES];
	uint32_t first = 0, n;
	size_t used;

	while (!graph->nodes[first]->is_in_ring)
		first++;
	n = weft_graph_ring(graph, first, steps);
	verdict->state = WEFT_TOP_STUCK;
	used = (size_t)snprintf(verdict->sentence, sizeof(verdict->sentence),
		"The job cannot end: ranks ");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t rank = (uint32_t)graph->nodes[steps[i].node]->proc;

		verdict->ranks[verdict->n_ranks++] = rank;
		if (i < WEFT_TOP_STEPS)
			weft_graph_print_step(graph, steps[i],
				verdict->steps[verdict->n_steps++],
				WEFT_TOP_STEP);
		if (i < 2 * NAMED)
			used += (size_t)snprintf(verdict->sentence + used,
				sizeof(verdict->sentence) - used, "%s%u",
				i ? ", " : "", rank);
	}
	snprintf(verdict->sentence + used, sizeof(verdict->sentence) - used,
		"%s wait for each other%s.", n > 2 * NAMED ? " and others" : "",
		is_proven ? ""
			  : ", and only another thread of one of them could "
			    "change that");
}

static bool find_ring(
	const struct weft_top_job *job, struct weft_top_verdict *verdict)
{
	const struct weft_graph_rules proof = { .with_soft = true };
	const struct weft_graph_rules all = { true, true };
	struct weft_graph graph = { 0 };
	bool is_proven, is_ring;

	fill_graph(job, &graph);
	is_proven = weft_graph_reduce(&graph, proof) > 0;
	is_ring = is_proven || weft_graph_reduce(&graph, all) > 0;
	if (is_ring)
		judge_ring(&graph, is_proven, verdict);
	weft_graph_fini(&graph);
	return is_ring;
}

/* ---- processes that others wait for ---- */

/* Describes the activity of a process for which other processes wait. */
static void describe_missing(
	const struct weft_top_job *job, uint32_t rank, char *buf, size_t len)
{
	const struct weft_top_proc *proc = top_proc_of(job, rank);
	const char *what = "which makes no MPI call and sleeps";

	if (!proc) {
		snprintf(buf, len,
			"rank %u, which has ended or runs on another node",
			rank);
		return;
	}
	if (proc->state == 'T' || proc->state == 't')
		what = "which is stopped";
	else if (proc->is_polling)
		what = "which polls";
	else if (proc->state == 'R')
		what = "which computes (no MPI call waits)";
	else if (proc->state == 'D')
		what = "which waits for a disk or file system";
	snprintf(buf, len, "rank %u (pid %d%s%s), %s%s%s", rank, (int)proc->pid,
		*proc->host ? " on " : "", proc->host, what,
		proc->is_polling ? " " : "",
		proc->is_polling ? proc->text : "");
}

static void add_missing_rank(struct weft_top_verdict *verdict, uint32_t rank)
{
	for (uint32_t i = 0; i < verdict->n_ranks; i++)
		if (verdict->ranks[i] == rank)
			return;
	if (verdict->n_ranks < WEFT_GRAPH_NODES)
		verdict->ranks[verdict->n_ranks++] = rank;
}

/* A missing process that has begun to wait since its answer is not listed. */
static void collect_missing_ranks(
	const struct weft_top_job *job, struct weft_top_verdict *verdict)
{
	for (size_t i = 0; i < job->n; i++) {
		const struct weft_top_proc *proc = &job->procs[i], *other;

		if (!waits_long(proc) || !proc->edges_ns ||
			!proc->facts.n_missing)
			continue;
		if (proc->facts.missing >> 32 != proc->page.proc >> 32) {
			verdict->is_elsewhere = true;
			continue;
		}
		other = top_proc_of(job, (uint32_t)proc->facts.missing);
		if (other && other->is_waiting && other->state != 'T')
			continue;
		add_missing_rank(verdict, (uint32_t)proc->facts.missing);
		if (verdict->n_missing < proc->facts.n_missing)
			verdict->n_missing = proc->facts.n_missing;
	}
}

static unsigned wait_seconds(const struct weft_top_proc *proc)
{
	return (unsigned)((proc->now.at_ns - proc->since_ns) / WEFT_NS_PER_S);
}

static const struct weft_top_proc *longest_of(const struct weft_top_job *job)
{
	const struct weft_top_proc *longest = NULL;

	for (size_t i = 0; i < job->n; i++)
		if (waits_long(&job->procs[i]) &&
			(!longest ||
				job->procs[i].since_ns < longest->since_ns))
			longest = &job->procs[i];
	return longest;
}

static void judge_one_missing(const struct weft_top_job *job,
	const struct weft_top_proc *longest, struct weft_top_verdict *verdict)
{
	const char *elsewhere = verdict->is_elsewhere
					? ", and for processes of other jobs"
					: "";
	char one[320], others[40] = "";

	describe_missing(job, verdict->ranks[0], one, sizeof(one));
	if (verdict->n_missing > 1)
		snprintf(others, sizeof(others), ", and %u other rank%s",
			verdict->n_missing - 1,
			verdict->n_missing > 2 ? "s" : "");
	snprintf(verdict->sentence, sizeof(verdict->sentence),
		"The job waits for %s%s%s: %u of %u ranks wait, rank %u for "
		"%u s.",
		one, others, elsewhere, verdict->n_waiting, job->size,
		longest->rank, wait_seconds(longest));
}

static void judge_waits(
	const struct weft_top_job *job, struct weft_top_verdict *verdict)
{
	const struct weft_top_proc *longest = longest_of(job);
	const char *elsewhere = "";
	char who[300] = "";
	size_t used = 0;

	collect_missing_ranks(job, verdict);
	verdict->state = WEFT_TOP_WAITS;
	if (verdict->n_ranks == 1) {
		judge_one_missing(job, longest, verdict);
		return;
	}
	for (uint32_t i = 0; i < weft_min(verdict->n_ranks, NAMED); i++)
		used += (size_t)snprintf(who + used, sizeof(who) - used, "%s%u",
			i ? ", " : " for ranks ", verdict->ranks[i]);
	if (verdict->is_elsewhere)
		elsewhere = used ? ", and for processes of other jobs"
				 : " for processes of other jobs";
	snprintf(verdict->sentence, sizeof(verdict->sentence),
		"%u of %u ranks wait%s%s%s, rank %u for %u s %s.",
		verdict->n_waiting, job->size, who,
		verdict->n_ranks > NAMED ? " and others" : "", elsewhere,
		longest->rank, wait_seconds(longest), longest->text);
}

/* ---- motion ---- */

/* The number of one-sided operations, except those that messages carry. */
static uint64_t n_one_sided(const struct weft_counters *counters)
{
	return counters->rma_mapped + counters->rma_copied +
	       counters->rma_posted;
}

static void judge_moving(
	const struct weft_top_job *job, struct weft_top_verdict *verdict)
{
	uint64_t messages = 0, accesses = 0, colls = 0;
	uint32_t n_open = 0;

	for (size_t i = 0; i < job->n; i++) {
		const struct weft_top_proc *proc = &job->procs[i];
		const struct weft_counters *now =
			(const void *)proc->now.counters;
		const struct weft_counters *before =
			(const void *)proc->before.counters;

		n_open += proc->has_session;
		messages +=
			weft_top_rate(proc, before->shm_sent + before->net_sent,
				now->shm_sent + now->net_sent);
		accesses += weft_top_rate(
			proc, n_one_sided(before), n_one_sided(now));
		colls += weft_top_rate(proc, proc->before.n_collectives,
			proc->now.n_collectives);
	}
	verdict->state = WEFT_TOP_MOVES;
	if (!n_open)
		snprintf(verdict->sentence, sizeof(verdict->sentence),
			"No rank on %s has an open session: the job is about "
			"to end, or not yet in MPI.",
			job->n_nodes ? "these nodes" : "this node");
	else if (messages + accesses + colls)
		snprintf(verdict->sentence, sizeof(verdict->sentence),
			"The job moves: no rank waits for longer than a "
			"second; %llu messages, %llu one-sided operations "
			"and %llu collectives per second.",
			(unsigned long long)messages,
			(unsigned long long)accesses,
			(unsigned long long)colls);
	else
		snprintf(verdict->sentence, sizeof(verdict->sentence),
			"The job computes: no rank waits for longer than a "
			"second, and no rank communicates.");
}

void weft_top_judge(
	const struct weft_top_job *job, struct weft_top_verdict *verdict)
{
	*verdict = (struct weft_top_verdict){ 0 };

	for (size_t i = 0; i < job->n; i++)
		verdict->n_waiting += waits_long(&job->procs[i]);
	if (!find_ring(job, verdict) && verdict->n_waiting)
		judge_waits(job, verdict);
	else if (verdict->state != WEFT_TOP_STUCK)
		judge_moving(job, verdict);
	/* processes of the job wrote parts of the texts */
	weft_plain(verdict->sentence, sizeof(verdict->sentence));
	for (uint32_t i = 0; i < verdict->n_steps; i++)
		weft_plain(verdict->steps[i], sizeof(verdict->steps[i]));
}
