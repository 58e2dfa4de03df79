/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_level: thread levels as MPI constants */
#ifndef WEFT_MPI_LEVEL_H
#define WEFT_MPI_LEVEL_H

#include "mpi_map.h"

static inline int weft_mpi_level_out(enum weft_thread_level level)
{
	switch (level) {
	case WEFT_THREAD_SINGLE:
		return MPI_THREAD_SINGLE;
	case WEFT_THREAD_FUNNELED:
		return MPI_THREAD_FUNNELED;
	case WEFT_THREAD_SERIALIZED:
		return MPI_THREAD_SERIALIZED;
	default:
		return MPI_THREAD_MULTIPLE;
	}
}

static inline int weft_mpi_level_in(int n, enum weft_thread_level *level_out)
{
	for (int i = WEFT_THREAD_SINGLE; i <= WEFT_THREAD_MULTIPLE; i++)
		if (weft_mpi_level_out((enum weft_thread_level)i) == n) {
			*level_out = (enum weft_thread_level)i;
			return 0;
		}
	return weft_err_set(
		WEFT_ERR_ARG, "required is %d, which is no thread level", n);
}

#endif
