/* SPDX-License-Identifier: BSD-3-Clause */
/* device: device memory for tests of MPI */
#ifndef DEVICE_H
#define DEVICE_H

#include "mtest.h"
#include "driver.h"

/* True if MPI_COMM_WORLD was granted the kind of the vendor. */
static inline bool device_is_granted(void)
{
	char value[MPI_MAX_INFO_VAL] = "";
	int len = sizeof(value), flag = 0;
	MPI_Info info;

	OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
	OK(MPI_Info_get_string(
		info, "mpi_memory_alloc_kinds", &len, value, &flag));
	OK(MPI_Info_free(&info));
	return flag && strstr(value, device_vendor()->kind);
}

/* True if the library supports the vendor's memory. */
static inline bool device_is_supported(void)
{
	switch (device_id()) {
	case DEVICE_CUDA:
		return MPIX_Query_cuda_support();
	case DEVICE_ROCM:
		return MPIX_Query_rocm_support();
	default:
		return MPIX_Query_ze_support();
	}
}

/* As device_load(). Skips the test if there is no driver. */
static inline void device_open(void)
{
	if (!device_load())
		mtest_skip("there is no driver of a device");
}

/* As device_open(). Skips the test if MPI_COMM_WORLD was not granted the kind.
 */
static inline void device_start(void)
{
	if (!device_is_granted())
		mtest_skip("the kind of device memory is not granted");
	device_open();
}

#endif
