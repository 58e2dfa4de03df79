/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_map: between MPI's handles, statuses and error classes and our objects */
#ifndef WEFT_MPI_MAP_H
#define WEFT_MPI_MAP_H

#include <mpi.h>

/* A procedure that nobody implements yet was called: says so and returns
 * MPI_ERR_UNSUPPORTED_OPERATION. `name` is its full name. Any thread, also
 * before the library is initialized. */
int weft_mpi_missing(const char *name);

#endif
