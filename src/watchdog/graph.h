/* SPDX-License-Identifier: BSD-3-Clause */
/* graph: who waits for whom, and who can never go on
 *
 * Pure decisions, no messages: resolve.c gathers the graph. A process that
 * waits has clauses; its wait cannot end before each of them is met. A clause
 * is an edge to one process, or several edges with the same number, of which
 * any one would do. So a process is stuck exactly when it has a clause all of
 * whose processes are stuck, in the very waits they were in when they told so:
 * what is left when everybody who may yet go on has been taken out, again and
 * again. Of the stuck, those are in a ring who wait for themselves in the end;
 * the others wait for a ring, and go on when that ends. */
#ifndef WEFT_GRAPH_H
#define WEFT_GRAPH_H

#include "transport/wire.h"

#include <stdbool.h>
#include <stddef.h>

enum { WEFT_GRAPH_NODES = 256, WEFT_GRAPH_CALL = 128 };

struct weft_graph_node {
	uint64_t proc;
	uint64_t epoch; /* 0: not in a wait, or not known */
	bool is_sure;	/* see weft_wire_graph */
	bool has_told;	/* resolve.c */
	bool is_stuck, is_in_ring;
	uint32_t n_edges;
	uint32_t dead; /* edges of clauses that will never be met, as bits */
	uint16_t to[WEFT_WIRE_EDGES]; /* index of the node they lead to */
	struct weft_wire_edge edges[WEFT_WIRE_EDGES];
	char call[WEFT_GRAPH_CALL]; /* "MPI_Finalize" */
};

struct weft_graph {
	uint32_t n;
	struct weft_graph_node *nodes[WEFT_GRAPH_NODES]; /* owned */
};

/* The node of a process, made when new; NULL when there is no room. */
struct weft_graph_node *weft_graph_node(
	struct weft_graph *graph, uint64_t proc);

void weft_graph_fini(struct weft_graph *graph);

/* What counts. */
struct weft_graph_rules {
	bool with_unsure; /* processes that something else may make act */
	bool with_soft;	  /* edges that are no proof */
};

/* Sets is_stuck, is_in_ring and what belongs to them. Returns how many are in
 * rings. */
uint32_t weft_graph_reduce(
	struct weft_graph *graph, struct weft_graph_rules rules);

/* A shortest ring through a node with is_in_ring: the nodes by index, from it
 * on, and the edge that each takes to the next one. Returns how many. */
struct weft_graph_step {
	uint32_t node, edge;
};
uint32_t weft_graph_ring(const struct weft_graph *graph, uint32_t node,
	struct weft_graph_step steps[WEFT_GRAPH_NODES]);

/* One step, or the whole ring in brief, as text. Returns buf. */
const char *weft_graph_print_step(const struct weft_graph *graph,
	struct weft_graph_step step, char *buf, size_t len);
const char *weft_graph_print(const struct weft_graph *graph,
	const struct weft_graph_step *steps, uint32_t n, char *buf, size_t len);

#endif
