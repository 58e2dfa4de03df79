/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi-ext.h: the extensions of mpix.h, under the name of Open MPI's header */
#ifndef WEFT_MPI_EXT_H
#define WEFT_MPI_EXT_H

#include <mpix.h>

/* The library is built with support for CUDA, ROCm and Level Zero.
 * MPIX_Query_cuda_support(), MPIX_Query_rocm_support() and
 * MPIX_Query_ze_support() return whether the program can use it. */
#define MPIX_CUDA_AWARE_SUPPORT 1
#define MPIX_ROCM_AWARE_SUPPORT 1
#define MPIX_ZE_AWARE_SUPPORT 1

#endif
