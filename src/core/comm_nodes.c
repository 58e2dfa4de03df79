/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_nodes: the nodes of a communicator's members */
#include "core/comm_nodes.h"

#include <stdlib.h>
#include <string.h>

/* Numbers the nodes, and counts the members of node k in first[k + 1]. */
static void comm_nodes_count(struct weft_nodes *nodes, const int32_t *lead,
	int32_t size, int32_t *of, int32_t *first, int32_t *leaders)
{
	nodes->n = 0;
	nodes->is_in_order = true;
	for (int32_t i = 0; i < size; i++) {
		if (lead[i] == i)
			leaders[nodes->n++] = i;
		of[i] = lead[i] == i ? nodes->n - 1 : of[lead[i]];
		first[of[i] + 1]++;
		if (i && of[i] < of[i - 1])
			nodes->is_in_order = false;
	}
}

struct weft_nodes *weft_comm_nodes_create(const int32_t *lead, int32_t size)
{
	struct weft_nodes *nodes;
	int32_t *of, *members, *first, *leaders;
	size_t n_nodes = 0;

	for (int32_t i = 0; i < size; i++)
		n_nodes += lead[i] == i;
	nodes = calloc(
		1, sizeof(*nodes) + (2 * (size_t)size + 2 * n_nodes + 1) *
					    sizeof(int32_t));
	if (!nodes)
		return NULL;
	of = (int32_t *)(nodes + 1);
	members = of + size;
	leaders = members + size;
	first = leaders + n_nodes;
	comm_nodes_count(nodes, lead, size, of, first, leaders);
	nodes->least = size;
	for (int32_t k = 0; k < nodes->n; k++) {
		if (first[k + 1] > nodes->most)
			nodes->most = first[k + 1];
		if (first[k + 1] < nodes->least)
			nodes->least = first[k + 1];
		first[k + 1] += first[k];
	}
	for (int32_t i = 0; i < size; i++)
		members[first[of[i]]++] = i;
	for (int32_t k = nodes->n; k > 0; k--)
		first[k] = first[k - 1];
	first[0] = 0;
	nodes->of = of;
	nodes->members = members;
	nodes->leaders = leaders;
	nodes->first = first;
	nodes->refs = 1;
	return nodes;
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
