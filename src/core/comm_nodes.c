/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_nodes: the nodes of a communicator's members */
#include "core/comm_nodes.h"

#include "boot/boot.h"
#include "core/comm.h"
#include "core/group.h"
#include "transport/foreign.h"

#include <stdlib.h>
#include <string.h>

/* Returns the last k for which first[k * stride] is at most the rank. */
static uint32_t last_up_to(
	const int32_t *first, size_t stride, uint32_t n, int32_t rank)
{
	uint32_t low = 0, high = n;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (first[mid * stride] <= rank)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* The first rank of part i, and the lowest rank of its node. */
static uint32_t part_first(const struct weft_node_run *run, uint32_t i)
{
	return run->first + i * run->step;
}

static uint32_t part_leader(const struct weft_node_run *run, uint32_t i)
{
	return run->leader + i * run->step;
}

uint32_t weft_node_runs_append(
	struct weft_node_run *runs, uint32_t n, struct weft_node_run next)
{
	struct weft_node_run *last = n ? &runs[n - 1] : NULL;
	uint32_t step;

	if (last && next.leader == part_leader(last, last->n - 1)) {
		/* the node of the last part continues */
		if (next.n == 1)
			return n;
		next.first += next.step;
		next.leader += next.step;
		next.n--;
	}
	if (last) {
		step = next.first - part_first(last, last->n - 1);
		if (next.leader - part_leader(last, last->n - 1) == step &&
			(last->n == 1 || last->step == step) &&
			(next.n == 1 || next.step == step)) {
			last->step = step;
			last->n += next.n;
			return n;
		}
	}
	runs[n] = next;
	return n + 1;
}

/* True if a rank begins the first part of a node in one of n runs. */
static bool begins_node(
	const struct weft_node_run *runs, uint32_t n, uint32_t rank)
{
	const struct weft_node_run *run =
		&runs[last_up_to((const int32_t *)&runs->first,
			sizeof(*runs) / sizeof(rank), n, (int32_t)rank)];
	uint32_t offset = rank - run->first;

	if (run->leader != run->first || run->n == 1)
		return run->leader == run->first && offset == 0;
	return offset % run->step == 0 && offset / run->step < run->n;
}

static bool run_is_valid(
	const struct weft_node_run *runs, uint32_t k, uint32_t size)
{
	const struct weft_node_run *run = &runs[k];

	if (!run->n || run->n > size || (run->n > 1 && !run->step))
		return false;
	if (run->first + (uint64_t)(run->n - 1) * run->step >= size ||
		run->leader > run->first)
		return false;
	if (k ? run->first <= part_first(run - 1, run[-1].n - 1) : run->first)
		return false;
	for (uint32_t i = 0; i < run->n; i++)
		if (!begins_node(runs, k + 1, part_leader(run, i)))
			return false;
	return true;
}

bool weft_node_runs_are_valid(
	const struct weft_node_run *runs, uint32_t n, int32_t size)
{
	if (!n || n > (uint32_t)size)
		return false;
	for (uint32_t k = 0; k < n; k++)
		if (!run_is_valid(runs, k, (uint32_t)size))
			return false;
	return true;
}

static void set_sizes(struct weft_nodes *nodes)
{
	nodes->least = nodes->size;
	for (int32_t k = 0; k < nodes->n; k++) {
		int32_t size = weft_nodes_size(nodes, k);

		if (size > nodes->most)
			nodes->most = size;
		if (size < nodes->least)
			nodes->least = size;
	}
}

/* Numbers the nodes, and sets first[k + 1] to the members of node k. */
static void number_nodes(const struct weft_node_run *runs, uint32_t n,
	int32_t size, int32_t *of, int32_t *first, int32_t *leaders)
{
	int32_t n_nodes = 0, rank = 0;

	for (uint32_t k = 0; k < n; k++) {
		const struct weft_node_run *run = &runs[k];
		int32_t run_end = k + 1 < n ? (int32_t)run[1].first : size;

		for (uint32_t i = 0; i < run->n; i++) {
			int32_t node = n_nodes, end = run_end;

			if (i + 1 < run->n)
				end = (int32_t)part_first(run, i + 1);
			if (run->leader == run->first)
				leaders[n_nodes++] = rank;
			else
				node = of[part_leader(run, i)];
			first[node + 1] += end - rank;
			while (rank < end)
				of[rank++] = node;
		}
	}
}

/* Creates the arrays of a table whose nodes do not have consecutive ranks. */
static void scattered_nodes(
	struct weft_nodes *nodes, const struct weft_node_run *runs, uint32_t n)
{
	int32_t *first = (int32_t *)(nodes + 1);
	int32_t *leaders = first + nodes->n + 1;
	int32_t *of = leaders + nodes->n;
	int32_t *members = of + nodes->size;

	number_nodes(runs, n, nodes->size, of, first, leaders);
	for (int32_t k = 0; k < nodes->n; k++)
		first[k + 1] += first[k];
	for (int32_t i = 0; i < nodes->size; i++)
		members[first[of[i]]++] = i;
	for (int32_t k = nodes->n; k > 0; k--)
		first[k] = first[k - 1];
	first[0] = 0;
	nodes->of = of;
	nodes->members = members;
	nodes->leaders = leaders;
}

struct weft_nodes *weft_comm_nodes_create(
	const struct weft_node_run *runs, uint32_t n, int32_t size)
{
	struct weft_nodes *nodes;
	bool is_in_order = true;
	int32_t *first;
	size_t n_nodes = 0, len;

	for (uint32_t k = 0; k < n; k++) {
		if (runs[k].leader == runs[k].first)
			n_nodes += runs[k].n;
		else
			is_in_order = false;
	}
	len = n_nodes + 1;
	if (!is_in_order)
		len += n_nodes + 2 * (size_t)size;
	nodes = calloc(1, sizeof(*nodes) + len * sizeof(int32_t));
	if (!nodes)
		return NULL;
	first = (int32_t *)(nodes + 1);
	nodes->n = (int32_t)n_nodes;
	nodes->size = size;
	nodes->first = nodes->leaders = first;
	nodes->refs = 1;
	nodes->is_in_order = is_in_order;
	if (is_in_order) {
		for (uint32_t k = 0; k < n; k++)
			for (uint32_t i = 0; i < runs[k].n; i++)
				*first++ = (int32_t)part_first(&runs[k], i);
		*first = size;
	} else {
		scattered_nodes(nodes, runs, n);
	}
	set_sizes(nodes);
	return nodes;
}

int32_t weft_nodes_of(const struct weft_nodes *nodes, int32_t rank)
{
	if (nodes->of)
		return nodes->of[rank];
	return (int32_t)last_up_to(nodes->first, 1, (uint32_t)nodes->n, rank);
}

/* ---- the members on this node ---- */

struct local {
	int32_t *ranks, n, room;
};

/* Returns false if memory is out. */
static bool local_add(struct local *l, int32_t rank)
{
	int32_t room = 2 * l->room + 16, *more;

	if (l->n == l->room) {
		more = realloc(l->ranks, (size_t)room * sizeof(*more));
		if (!more)
			return false;
		l->ranks = more;
		l->room = room;
	}
	l->ranks[l->n++] = rank;
	return true;
}

/* Adds the members of a run that are on this node, in any order. Tests the
 * processes of this node if they are fewer than those of the run. Their numbers
 * are procs[0] to procs[n - 1] in this job. */
static bool local_add_run(struct local *l, const struct weft_comm *comm,
	const struct weft_run *run, const uint32_t *procs, size_t n)
{
	bool is_ours = !weft_foreign_is(run->first), is_done = true;

	for (size_t i = 0; is_ours && n < run->n && i < n; i++) {
		uint64_t job = run->first >> 32 << 32;
		int32_t rank = weft_run_rank_of(run, job | procs[i]);

		if (rank >= 0)
			is_done &= local_add(l, rank);
	}
	if (is_ours && n < run->n)
		return is_done;
	for (uint32_t i = 0; i < run->n; i++) {
		int32_t rank = (int32_t)(run->rank + i);

		if (rank == comm->rank ||
			weft_foreign_is_local(
				run->first + (uint64_t)run->stride * i))
			is_done &= local_add(l, rank);
	}
	return is_done;
}

static int rank_order(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

int32_t *weft_comm_nodes_local(
	const struct weft_comm *comm, int32_t *n_out, int32_t *me_out)
{
	const struct weft_group *group = comm->group;
	const uint32_t *procs = NULL;
	struct local local = { 0 };
	bool is_done = true;
	size_t n = 0;

	if (weft_boot_local(weft_proc.boot, &procs, &n))
		n = UINT32_MAX; /* tests the members */
	for (uint32_t i = 0; i < group->n_runs; i++)
		is_done &=
			local_add_run(&local, comm, &group->runs[i], procs, n);
	if (!is_done) {
		free(local.ranks);
		return NULL;
	}
	qsort(local.ranks, (size_t)local.n, sizeof(*local.ranks), rank_order);
	for (int32_t i = 0; i < local.n; i++)
		if (local.ranks[i] == comm->rank)
			*me_out = i;
	*n_out = local.n;
	return local.ranks;
}

/* ---- references ---- */

struct weft_nodes *weft_comm_nodes_get(struct weft_nodes *nodes)
{
	if (!nodes || !nodes->is_agreed)
		return NULL;
	nodes->refs++;
	return nodes;
}

void weft_comm_nodes_put(struct weft_nodes *nodes)
{
	if (nodes && !--nodes->refs)
		free(nodes);
}
