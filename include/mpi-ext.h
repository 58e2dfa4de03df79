/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi-ext.h: the extensions of mpix.h, under the name of Open MPI's header */
#ifndef WEFT_MPI_EXT_H
#define WEFT_MPI_EXT_H

#include <mpix.h>

#endif
