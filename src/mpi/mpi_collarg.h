/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_collarg: arguments of a collective procedure
 *
 * A procedure fills a struct weft_collarg and calls the function of its
 * operation. The function checks the arguments by the standard. An argument
 * that is significant at the root only is ignored at the other processes. Then
 * the function widens int counts, and runs, starts or initialises the
 * operation. It returns the result of the procedure. */
#ifndef WEFT_MPI_COLLARG_H
#define WEFT_MPI_COLLARG_H

#include "mpi_map.h"

#include "coll/coll.h"

enum weft_collarg_mode {
	WEFT_COLLARG_RUN,   /* blocking */
	WEFT_COLLARG_START, /* non-blocking */
	WEFT_COLLARG_INIT,  /* persistent */
};

/* The buffer of one side: count and type, or arrays of them. counts and
 * counts_c are not both set, nor are displs and displs_c. */
struct weft_collside {
	const void *buf;
	MPI_Count count;
	MPI_Datatype type;
	const int *counts;
	const MPI_Count *counts_c;
	const int *displs;
	const MPI_Aint *displs_c;
	const MPI_Datatype *types; /* if set, displacements are in bytes */
};

struct weft_collarg {
	const char *func;
	enum weft_collarg_mode mode;
	MPI_Comm comm;
	bool is_irregular; /* a v or w variant */
	int root;
	MPI_Op op;
	/* Bcast uses recv only. Reductions use count and type of recv. */
	struct weft_collside send, recv;
	MPI_Info info; /* INIT only */
	MPI_Request *request;
};

int weft_collarg_barrier(const struct weft_collarg *a);
int weft_collarg_bcast(const struct weft_collarg *a);
int weft_collarg_gather(const struct weft_collarg *a);
int weft_collarg_scatter(const struct weft_collarg *a);
int weft_collarg_allgather(const struct weft_collarg *a);
int weft_collarg_alltoall(const struct weft_collarg *a);
int weft_collarg_reduce(const struct weft_collarg *a);
int weft_collarg_allreduce(const struct weft_collarg *a);
int weft_collarg_reduce_scatter(const struct weft_collarg *a);
int weft_collarg_scan(const struct weft_collarg *a);
int weft_collarg_exscan(const struct weft_collarg *a);
int weft_collarg_neighbor_allgather(const struct weft_collarg *a);
int weft_collarg_neighbor_alltoall(const struct weft_collarg *a);

#endif
