/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_widen: widens numbers of the int form of a procedure for the body that it
 * shares with the large-count form
 *
 * The code that gen-api generates for entries with the flag "widen" calls these
 * functions. They pass an invalid address on to the body, which reports it. */
#ifndef WEFT_MPI_WIDEN_H
#define WEFT_MPI_WIDEN_H

#include "mpi.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* False for NULL and for other addresses of the first page, which are never
 * valid. */
static inline bool weft_widen_is_there(const void *ptr)
{
	return (uintptr_t)ptr >= 4096;
}

/* Reads an input argument; 0 if the address is invalid. */
static inline int64_t weft_widen_get(const int *from)
{
	return weft_widen_is_there(from) ? *from : 0;
}

/* Returns the address that is passed to the body for an output: that of the
 * wide variable, or the invalid address of the program. */
static inline int64_t *weft_widen_at(int *to, int64_t *wide)
{
	return weft_widen_is_there(to) ? wide : (int64_t *)(void *)to;
}

/* Writes an output of a successful call; MPI_UNDEFINED if it is too large. */
static inline void weft_widen_put(int rc, int *to, int64_t wide)
{
	if (rc == MPI_SUCCESS)
		*to = wide > INT_MAX ? MPI_UNDEFINED : (int)wide;
}

/* weft_widen_array() returns a wide copy of n numbers, or weft_widen_no_memory
 * when out of memory. weft_widen_free() frees the copy. */
const int64_t *weft_widen_array(int n, const int *from);
void weft_widen_free(const int *from, const int64_t *wide);

extern const int64_t weft_widen_no_memory[1];

/* True if func names the large-count form. */
static inline bool weft_widen_is_large(const char *func)
{
	return strcmp(func + strlen(func) - 2, "_c") == 0;
}

#endif
