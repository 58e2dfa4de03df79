/* SPDX-License-Identifier: BSD-3-Clause */
/* graph: which process waits for which, and which can never go on
 *
 * The decision alone, without messages: resolve.c gathers the graph. A wait has
 * clauses and cannot end before each of them is met. A clause is one edge to a
 * process, or several edges with the same number, of which any one suffices. A
 * process is stuck exactly when all processes of one of its clauses are stuck,
 * in the waits that they reported. The stuck processes remain when all
 * processes that may go on have been removed, again and again. A stuck process
 * that waits for itself along the edges is in a ring. The other stuck processes
 * wait for a ring, and go on when it has ended. */
#ifndef WEFT_GRAPH_H
#define WEFT_GRAPH_H

#include "transport/wire.h"

#include <stdbool.h>
#include <stddef.h>

enum { WEFT_GRAPH_NODES = 256, WEFT_GRAPH_CALL = 128 };

struct weft_graph_node {
	uint64_t proc;
	uint64_t epoch;	   /* 0: not in a wait, or not known */
	bool is_sure;	   /* see weft_wire_graph */
	bool has_answered; /* resolve.c */
	bool is_stuck, is_in_ring;
	uint32_t n_edges;
	uint32_t dead; /* a bit for each edge of a clause that is never met */
	uint16_t to[WEFT_WIRE_EDGES]; /* index of the node of each edge */
	struct weft_wire_edge edges[WEFT_WIRE_EDGES];
	char call[WEFT_GRAPH_CALL]; /* "MPI_Finalize" */
};

struct weft_graph {
	uint32_t n;
	struct weft_graph_node *nodes[WEFT_GRAPH_NODES]; /* owned */
};

/* The node of a process, created if new; NULL when the graph is full. */
struct weft_graph_node *weft_graph_node(
	struct weft_graph *graph, uint64_t proc);

void weft_graph_fini(struct weft_graph *graph);

/* The nodes and edges that take part. */
struct weft_graph_rules {
	bool with_unsure; /* processes that may act without ending the wait */
	bool with_soft;	  /* edges that are no proof */
};

/* Sets is_stuck, dead and is_in_ring of all nodes. Returns the number of nodes
 * in rings. */
uint32_t weft_graph_reduce(
	struct weft_graph *graph, struct weft_graph_rules rules);

/* A shortest ring through a node with is_in_ring: the nodes by index, from this
 * node on, and the edge of each to the next one. Returns their number. */
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
