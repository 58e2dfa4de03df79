/* SPDX-License-Identifier: BSD-3-Clause */
/* graph: finds the waits that can never end */
#include "watchdog/graph.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t graph_index_of(const struct weft_graph *graph, uint64_t proc)
{
	uint32_t i = 0;

	while (i < graph->n && graph->nodes[i]->proc != proc)
		i++;
	return i;
}

struct weft_graph_node *weft_graph_node(struct weft_graph *graph, uint64_t proc)
{
	uint32_t i = graph_index_of(graph, proc);

	if (i < graph->n)
		return graph->nodes[i];
	if (i == WEFT_GRAPH_NODES)
		return NULL;
	graph->nodes[i] = calloc(1, sizeof(*graph->nodes[i]));
	if (!graph->nodes[i])
		return NULL;
	graph->nodes[i]->proc = proc;
	graph->n++;
	return graph->nodes[i];
}

void weft_graph_fini(struct weft_graph *graph)
{
	for (uint32_t i = 0; i < graph->n; i++)
		free(graph->nodes[i]);
	graph->n = 0;
}

/* True if this edge leads to a process that is stuck in the wait that the edge
 * names. */
static bool leads_to_stuck(const struct weft_graph *graph,
	const struct weft_graph_node *node, uint32_t e,
	struct weft_graph_rules rules)
{
	const struct weft_wire_edge *edge = &node->edges[e];
	uint32_t to = node->to[e];

	return to < graph->n && graph->nodes[to]->is_stuck && edge->epoch &&
	       graph->nodes[to]->epoch == edge->epoch &&
	       (rules.with_soft || !edge->is_soft);
}

/* Returns the edges whose clauses can never be met, as bits: all processes of
 * such a clause are stuck. */
static uint32_t dead_edges(const struct weft_graph *graph,
	const struct weft_graph_node *node, struct weft_graph_rules rules)
{
	uint32_t live = 0, dead = 0;

	for (uint32_t i = 0; i < node->n_edges; i++)
		if (!leads_to_stuck(graph, node, i, rules))
			live |= 1u << i;
	for (uint32_t i = 0; i < node->n_edges; i++) {
		bool is_dead = true;

		for (uint32_t k = 0; k < node->n_edges; k++)
			if (node->edges[k].clause == node->edges[i].clause &&
				live & 1u << k)
				is_dead = false;
		dead |= is_dead ? 1u << i : 0;
	}
	return dead;
}

static void remove_live(struct weft_graph *graph, struct weft_graph_rules rules)
{
	bool has_changed = true;

	for (uint32_t i = 0; i < graph->n; i++) {
		struct weft_graph_node *node = graph->nodes[i];

		node->is_stuck =
			node->epoch && (rules.with_unsure || node->is_sure);
		for (uint32_t e = 0; e < node->n_edges; e++)
			node->to[e] = (uint16_t)graph_index_of(
				graph, node->edges[e].proc);
	}
	while (has_changed) {
		has_changed = false;
		for (uint32_t i = 0; i < graph->n; i++) {
			struct weft_graph_node *node = graph->nodes[i];

			node->dead = dead_edges(graph, node, rules);
			if (!node->is_stuck || node->dead)
				continue;
			node->is_stuck = false;
			has_changed = true;
		}
	}
}

/* A breadth-first search along dead edges. by[i] is the step that first reached
 * node i. */
struct search {
	struct weft_graph_step by[WEFT_GRAPH_NODES];
	bool is_seen[WEFT_GRAPH_NODES];
	uint32_t queue[WEFT_GRAPH_NODES];
	uint32_t n;
};

/* True if the search reaches its first node again. */
static bool graph_search(
	const struct weft_graph *graph, uint32_t from, struct search *s)
{
	memset(s->is_seen, 0, sizeof(s->is_seen));
	s->queue[0] = from;
	s->n = 1;
	for (uint32_t at = 0; at < s->n; at++) {
		const struct weft_graph_node *node = graph->nodes[s->queue[at]];

		for (uint32_t e = 0; e < node->n_edges; e++) {
			uint32_t to = node->to[e];

			if (!(node->dead & 1u << e) || s->is_seen[to])
				continue;
			s->is_seen[to] = true;
			s->by[to] = (struct weft_graph_step){ s->queue[at], e };
			if (to == from)
				return true;
			s->queue[s->n++] = to;
		}
	}
	return false;
}

uint32_t weft_graph_reduce(
	struct weft_graph *graph, struct weft_graph_rules rules)
{
	struct search s;
	uint32_t n = 0;

	remove_live(graph, rules);
	for (uint32_t i = 0; i < graph->n; i++) {
		struct weft_graph_node *node = graph->nodes[i];

		node->is_in_ring = node->is_stuck && graph_search(graph, i, &s);
		n += node->is_in_ring;
	}
	return n;
}

uint32_t weft_graph_ring(const struct weft_graph *graph, uint32_t node,
	struct weft_graph_step steps[WEFT_GRAPH_NODES])
{
	struct search s;
	uint32_t n = 0, at = node;

	if (!graph_search(graph, node, &s))
		return 0;
	do {
		steps[n++] = s.by[at];
		at = s.by[at].node;
	} while (at != node);
	for (uint32_t i = 0; i < n / 2; i++) {
		struct weft_graph_step step = steps[i];

		steps[i] = steps[n - 1 - i];
		steps[n - 1 - i] = step;
	}
	return n;
}

/* Returns the action by which the other process meets the need. */
static const char *verb_of(uint16_t need)
{
	static const char *const verbs[WEFT_WIRE_NEED_END] = {
		[WEFT_WIRE_NEED_LEAVE] = "close",
		[WEFT_WIRE_NEED_CREATE] = "create",
		[WEFT_WIRE_NEED_ROUND] = "make the same call on",
		[WEFT_WIRE_NEED_ENDPOINTS] = "create",
		[WEFT_WIRE_NEED_AGREE] = "take part in an agreement of",
		[WEFT_WIRE_NEED_SIDE] = "make an intercommunicator of",
		[WEFT_WIRE_NEED_INTERCOMM] = "call as the other leader on",
		[WEFT_WIRE_NEED_MESSAGE] = "send on",
		[WEFT_WIRE_NEED_RECEIVE] = "receive on",
		[WEFT_WIRE_NEED_WINDOW] = "act on",
		[WEFT_WIRE_NEED_LOCK] = "release a lock of",
		[WEFT_WIRE_NEED_NONE] = "act on",
	};

	return verbs[need < WEFT_WIRE_NEED_END ? need : WEFT_WIRE_NEED_NONE];
}

const char *weft_graph_print_step(const struct weft_graph *graph,
	struct weft_graph_step step, char *buf, size_t len)
{
	const struct weft_graph_node *node = graph->nodes[step.node];
	const struct weft_wire_edge *edge = &node->edges[step.edge];
	bool is_window = edge->need == WEFT_WIRE_NEED_WINDOW ||
			 edge->need == WEFT_WIRE_NEED_LOCK;
	char owner[64] = "";

	if (edge->owner)
		snprintf(owner, sizeof(owner), ", which session %u owns there",
			edge->owner);
	snprintf(buf, len,
		"process %u in %s waits for process %u to %s %s "
		"\"%.31s\" (%u processes)%s",
		(unsigned)node->proc, node->call, (unsigned)edge->proc,
		verb_of(edge->need), is_window ? "window" : "communicator",
		edge->label, edge->size, owner);
	return buf;
}

const char *weft_graph_print(const struct weft_graph *graph,
	const struct weft_graph_step *steps, uint32_t n, char *buf, size_t len)
{
	size_t used = 0;

	buf[0] = 0;
	for (uint32_t i = 0; i < n && used < len; i++) {
		const struct weft_graph_node *node =
			graph->nodes[steps[i].node];

		used += (size_t)snprintf(buf + used, len - used,
			"%u (%s) -\"%.31s\"-> ", (unsigned)node->proc,
			node->call, node->edges[steps[i].edge].label);
	}
	if (used < len && n)
		snprintf(buf + used, len - used, "%u",
			(unsigned)graph->nodes[steps[0].node]->proc);
	return buf;
}
