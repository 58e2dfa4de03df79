/* SPDX-License-Identifier: BSD-3-Clause */
/* graph: finds the waits that can never end
 *
 * The graph has a node for each process and an edge to each process that it
 * waits for. resolve.c gathers it; this file sends no messages.
 *
 * A wait has clauses. It cannot end before each clause is met. A clause is one
 * edge, or several edges with the same value of `clause`. A clause is met when
 * the need of one of its edges is met. A process is stuck if, for one of its
 * clauses, all processes at the edges are stuck in the waits that the edges
 * name. The algorithm removes processes that may continue until all remaining
 * processes are stuck. A stuck process that can reach itself along edges is in
 * a cycle, called ring in the names below. The other stuck processes wait for a
 * ring. They can continue when the waits of the ring end with errors. */
#ifndef WEFT_GRAPH_H
#define WEFT_GRAPH_H

#include "transport/wire.h"

#include <stdbool.h>
#include <stddef.h>

enum { WEFT_GRAPH_NODES = 256, WEFT_GRAPH_CALL = 128 };

struct weft_graph_node {
	uint64_t proc;
	uint64_t epoch; /* number of the process's wait; 0: it does not wait, or
			   has not answered */
	bool is_sure;	/* see weft_wire_graph */
	bool is_stuck, is_in_ring;
	uint32_t n_edges;
	uint32_t dead; /* bit i is set if the clause of edge i can never be met
			*/
	uint16_t to[WEFT_WIRE_EDGES]; /* to[i]: index of the node that edge i
					 leads to, or n of the graph if there is
					 no such node */
	struct weft_wire_edge edges[WEFT_WIRE_EDGES];
	char call[WEFT_GRAPH_CALL]; /* name of the call: "MPI_Finalize" */
};

struct weft_graph {
	uint32_t n;
	struct weft_graph_node *nodes[WEFT_GRAPH_NODES]; /* owned */
};

/* Finds or creates the node of a process; NULL if the graph is full, or when
 * out of memory. */
struct weft_graph_node *weft_graph_node(
	struct weft_graph *graph, uint64_t proc);

/* Frees all nodes. */
void weft_graph_fini(struct weft_graph *graph);

/* The analysis uses only nodes that are sure and edges that are not soft,
 * unless these flags add further nodes or edges. */
struct weft_graph_rules {
	bool with_unsure; /* also use processes that may make another call while
			     they wait (is_sure is false) */
	bool with_soft;	  /* also use edges of messages and collectives; their
			     rings are reported, but end with errors only under
			     WEFT_DEADLOCK=error */
};

/* Sets is_stuck, dead and is_in_ring of all nodes. Returns the number of nodes
 * in rings. */
uint32_t weft_graph_reduce(
	struct weft_graph *graph, struct weft_graph_rules rules);

/* A step of a ring: the index of a node, and the index of its edge to the next
 * node. */
struct weft_graph_step {
	uint32_t node, edge;
};

/* Finds a shortest ring through a node with is_in_ring. The steps begin at that
 * node. Returns the number of steps. */
uint32_t weft_graph_ring(const struct weft_graph *graph, uint32_t node,
	struct weft_graph_step steps[WEFT_GRAPH_NODES]);

/* weft_graph_print_step() prints one step as a sentence. weft_graph_print()
 * prints the n steps of a ring in one line. Both return buf. */
const char *weft_graph_print_step(const struct weft_graph *graph,
	struct weft_graph_step step, char *buf, size_t len);
const char *weft_graph_print(const struct weft_graph *graph,
	const struct weft_graph_step *steps, uint32_t n, char *buf, size_t len);

#endif
