/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_status: reading and setting statuses
 *
 * MPI-5.0 sections 3.2, 3.8, 5.1.11 and 13.3. */
#include "mpi_check.h"
#include "mpi_map.h"

static int mpi_get_count(const MPI_Status *status, const struct weft_type *type,
	MPI_Count *count)
{
	int64_t len = weft_status_len(status);

	if (!type->is_committed)
		return weft_check_bad_type(weft_mpi_type_handle(type));
	if (type->size)
		*count = len % type->size ? MPI_UNDEFINED : len / type->size;
	else
		*count = len ? MPI_UNDEFINED : 0;
	return 0;
}

static int mpi_get_elements(const MPI_Status *status,
	const struct weft_type *type, MPI_Count *count)
{
	int64_t len = weft_status_len(status);

	*count = weft_type_elements(type, len);
	/* received as another type, or truncated within an element */
	if (weft_type_elements_len(type, *count) != len)
		*count = MPI_UNDEFINED;
	return 0;
}

static int mpi_get_elements_x(const MPI_Status *status,
	const struct weft_type *type, MPI_Count *count)
{
	return mpi_get_elements(status, type, count);
}

static int mpi_status_set_elements(
	MPI_Status *status, const struct weft_type *type, MPI_Count count)
{
	weft_status_set_len(status, weft_type_elements_len(type, count));
	return 0;
}

static int mpi_status_set_elements_x(
	MPI_Status *status, const struct weft_type *type, MPI_Count count)
{
	return mpi_status_set_elements(status, type, count);
}

static int mpi_test_cancelled(const MPI_Status *status, int *flag)
{
	*flag = status->MPI_internal[2] != 0;
	return 0;
}

static int mpi_status_set_cancelled(MPI_Status *status, int flag)
{
	status->MPI_internal[2] = flag != 0;
	return 0;
}

static int mpi_status_get_source(const MPI_Status *status, int *source)
{
	*source = status->MPI_SOURCE;
	return 0;
}

static int mpi_status_get_tag(const MPI_Status *status, int *tag)
{
	*tag = status->MPI_TAG;
	return 0;
}

static int mpi_status_get_error(const MPI_Status *status, int *err)
{
	*err = status->MPI_ERROR;
	return 0;
}

static int mpi_status_set_source(MPI_Status *status, int source)
{
	status->MPI_SOURCE = source;
	return 0;
}

static int mpi_status_set_tag(MPI_Status *status, int tag)
{
	status->MPI_TAG = tag;
	return 0;
}

static int mpi_status_set_error(MPI_Status *status, int err)
{
	status->MPI_ERROR = err;
	return 0;
}

#include "api_status.h"
