/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_nodes: the nodes of a communicator's members */
#include "core/comm_nodes.h"

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
