/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_args: the names of collectives */
#include "core/coll_args.h"

const char *weft_coll_name(enum weft_coll_kind kind)
{
	static const char *const names[] = {
		[WEFT_COLL_BARRIER] = "MPI_Barrier",
		[WEFT_COLL_BCAST] = "MPI_Bcast",
		[WEFT_COLL_GATHER] = "MPI_Gather",
		[WEFT_COLL_SCATTER] = "MPI_Scatter",
		[WEFT_COLL_ALLGATHER] = "MPI_Allgather",
		[WEFT_COLL_ALLTOALL] = "MPI_Alltoall",
		[WEFT_COLL_REDUCE] = "MPI_Reduce",
		[WEFT_COLL_ALLREDUCE] = "MPI_Allreduce",
		[WEFT_COLL_REDUCE_SCATTER] = "MPI_Reduce_scatter",
		[WEFT_COLL_SCAN] = "MPI_Scan",
		[WEFT_COLL_EXSCAN] = "MPI_Exscan",
		[WEFT_COLL_NEIGHBOR_ALLGATHER] = "MPI_Neighbor_allgather",
		[WEFT_COLL_NEIGHBOR_ALLTOALL] = "MPI_Neighbor_alltoall",
	};

	return names[kind];
}

int weft_coll_mismatch(enum weft_coll_kind kind, unsigned other, int32_t rank)
{
	return weft_err_set(WEFT_ERR_NOT_SAME,
		"%s here met %s of rank %d: all members must call the same "
		"collectives on a communicator, in the same order",
		weft_coll_name(kind),
		other < WEFT_COLL_N ? weft_coll_name((enum weft_coll_kind)other)
				    : "an unknown operation",
		(int)rank);
}
