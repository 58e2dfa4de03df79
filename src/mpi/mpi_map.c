/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_map: between MPI's handles, statuses and error classes and our objects */
#include "mpi/mpi_map.h"

#include "base/log.h"

int weft_mpi_missing(const char *name)
{
	weft_error("MPI-MISSING",
		"%s is not implemented; weft-info --api lists what is", name);
	return MPI_ERR_UNSUPPORTED_OPERATION;
}
