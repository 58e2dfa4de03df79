/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_topo: what a communicator knows about its process topology
 *
 * One block of memory, so that whoever destroys the communicator frees it with
 * free(). Never changes once attached. */
#ifndef WEFT_MPI_TOPO_H
#define WEFT_MPI_TOPO_H

#include <stddef.h>

struct weft_topo_attached {
	size_t len; /* bytes of the whole */
	int kind;   /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
	int is_weighted;
	int n_dims;  /* cart */
	int n_nodes; /* graph */
	int n_edges; /* graph */
	int n_in;    /* dist graph */
	int n_out;   /* dist graph */
	int data[];  /* cart: dims, periods, coords; graph: index, edges; dist
			graph: sources, their weights, destinations, theirs */
};

/* A copy; NULL of NULL. */
int weft_topo_dup(const struct weft_topo_attached *topo,
	struct weft_topo_attached **topo_out);

struct weft_comm;

/* How many neighbours send to me and get from me. The communicator has a
 * topology. */
void weft_topo_degrees(
	const struct weft_comm *comm, int *n_sources_out, int *n_dests_out);

/* Writes their ranks, MPI_PROC_NULL where a grid ends, in the order
 * neighbourhood collectives use; the arrays have room for them. */
void weft_topo_neighbors(
	const struct weft_comm *comm, int *sources, int *dests);

#endif
