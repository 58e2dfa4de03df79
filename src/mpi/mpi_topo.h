/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_topo: the process topology of a communicator
 *
 * A topology is one block of memory, and never changes once attached. free()
 * frees it when the communicator is destroyed. */
#ifndef WEFT_MPI_TOPO_H
#define WEFT_MPI_TOPO_H

#include <stddef.h>

struct weft_topo_attached {
	size_t len; /* bytes of the whole block */
	int kind;   /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
	int is_weighted;
	int n_dims;  /* cart */
	int n_nodes; /* graph */
	int n_edges; /* graph */
	int n_in;    /* dist graph */
	int n_out;   /* dist graph */
	int data[];  /* cart: dims, periods, coords; graph: index, edges; dist
			graph: sources, their weights, destinations, their
			weights */
};

/* Copies a topology; *topo_out is NULL if topo is NULL. 0 or WEFT_ERR_NOMEM. */
int weft_topo_dup(const struct weft_topo_attached *topo,
	struct weft_topo_attached **topo_out);

struct weft_comm;

/* Returns the in- and out-degree of this process. The communicator has a
 * topology. */
void weft_topo_degrees(
	const struct weft_comm *comm, int *n_sources_out, int *n_dests_out);

/* Writes the neighbours' ranks, MPI_PROC_NULL beyond the edge of a grid, in the
 * order of neighbourhood collectives. The arrays have space for all. */
void weft_topo_neighbors(
	const struct weft_comm *comm, int *sources, int *dests);

#endif
