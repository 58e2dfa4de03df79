/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_widen: widens numbers of the int form of a procedure for the body that it
 * shares with the large-count form
 *
 * The code that gen-api generates for entries with the flag "widen" calls it.
 * NULL is passed through, so that the body reports it. */
#ifndef WEFT_MPI_WIDEN_H
#define WEFT_MPI_WIDEN_H

#include "mpi.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

static inline bool weft_widen_is_there(const void *ptr)
{
	return (uintptr_t)ptr >= 4096;
}

/* An input. */
static inline int64_t weft_widen_get(const int *from)
{
	return weft_widen_is_there(from) ? *from : 0;
}

/* The wide variable that the body writes to. */
static inline int64_t *weft_widen_at(int *to, int64_t *wide)
{
	return weft_widen_is_there(to) ? wide : (int64_t *)(void *)to;
}

/* An output; MPI_UNDEFINED if it is too large. */
static inline void weft_widen_put(int rc, int *to, int64_t wide)
{
	if (rc == MPI_SUCCESS)
		*to = wide > INT_MAX ? MPI_UNDEFINED : (int)wide;
}

/* A wide copy of n numbers, to be freed with weft_widen_free();
 * weft_widen_no_memory when out of memory. */
const int64_t *weft_widen_array(int n, const int *from);
void weft_widen_free(const int *from, const int64_t *wide);

extern const int64_t weft_widen_no_memory[1];

/* True if func names the large-count form. */
static inline bool weft_widen_is_large(const char *func)
{
	return strcmp(func + strlen(func) - 2, "_c") == 0;
}

#endif
