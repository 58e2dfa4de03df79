/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_nodes: the nodes of a communicator's members */
#include "core/comm_nodes.h"

#include <stdlib.h>
#include <string.h>

/* Returns the last k for which first[k * stride] is at most the rank. */
static int32_t last_up_to(
	const int32_t *first, int32_t stride, int32_t n, int32_t rank)
{
	int32_t low = 0, high = n;

	while (high - low > 1) {
		int32_t mid = low + (high - low) / 2;

		if (first[(int64_t)mid * stride] <= rank)
			low = mid;
		else
			high = mid;
	}
	return low;
}

bool weft_node_runs_are_valid(
	const struct weft_node_run *runs, int32_t n, int32_t size)
{
	if (n < 1 || n > size || runs[0].first)
		return false;
	for (int32_t i = 0; i < n; i++) {
		const struct weft_node_run *run = &runs[i], *leader;

		if (i && run->first <= runs[i - 1].first)
			return false;
		if (run->first >= size || run->leader < 0 ||
			run->leader > run->first)
			return false;
		leader = &runs[last_up_to(&runs->first, 2, i + 1, run->leader)];
		if (leader->first != run->leader ||
			leader->leader != run->leader)
			return false;
	}
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
static void number_nodes(const struct weft_node_run *runs, int32_t n,
	int32_t size, int32_t *of, int32_t *first, int32_t *leaders)
{
	int32_t n_nodes = 0;

	for (int32_t i = 0; i < n; i++) {
		int32_t end = i + 1 < n ? runs[i + 1].first : size;
		int32_t node = n_nodes;

		if (runs[i].leader == runs[i].first)
			leaders[n_nodes++] = runs[i].first;
		else
			node = of[runs[i].leader];
		for (int32_t rank = runs[i].first; rank < end; rank++)
			of[rank] = node;
		first[node + 1] += end - runs[i].first;
	}
}

/* Creates the arrays of a table whose nodes do not have consecutive ranks. */
static void scattered_nodes(
	struct weft_nodes *nodes, const struct weft_node_run *runs, int32_t n)
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
	const struct weft_node_run *runs, int32_t n, int32_t size)
{
	struct weft_nodes *nodes;
	size_t n_nodes = 0, len;
	int32_t *first;

	for (int32_t i = 0; i < n; i++)
		n_nodes += runs[i].leader == runs[i].first;
	len = n_nodes + 1;
	if (n_nodes < (size_t)n)
		len += n_nodes + 2 * (size_t)size;
	nodes = calloc(1, sizeof(*nodes) + len * sizeof(int32_t));
	if (!nodes)
		return NULL;
	first = (int32_t *)(nodes + 1);
	nodes->n = (int32_t)n_nodes;
	nodes->size = size;
	nodes->first = nodes->leaders = first;
	nodes->refs = 1;
	nodes->is_in_order = nodes->n == n;
	if (!nodes->is_in_order)
		scattered_nodes(nodes, runs, n);
	for (int32_t k = 0; nodes->is_in_order && k < n; k++)
		first[k] = runs[k].first;
	first[n_nodes] = size;
	set_sizes(nodes);
	return nodes;
}

int32_t weft_nodes_of(const struct weft_nodes *nodes, int32_t rank)
{
	return nodes->of ? nodes->of[rank]
			 : last_up_to(nodes->first, 1, nodes->n, rank);
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
