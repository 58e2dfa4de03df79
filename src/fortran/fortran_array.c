/* SPDX-License-Identifier: BSD-3-Clause */
/* fortran_array: choice arguments of mpi_f08
 *
 * They arrive with their shape. An array section with gaps is copied together
 * for the time of a call, as a compiler does for the older interfaces. A call
 * that returns before the data is used cannot do this, so it is an error there
 * (MPI_SUBARRAYS_SUPPORTED is false) and not a silent corruption. */
#include "fortran.h"

#include <stdio.h>
#include <string.h>

/* Moves the elements of dimensions 0..dim between the array at place and the
 * packed memory at *packed, which it advances. */
static void fortran_array_move(const CFI_cdesc_t *desc, int dim, char *place,
	char **packed, bool gather)
{
	CFI_index_t n = desc->dim[dim].extent;

	for (CFI_index_t i = 0; i < n; i++, place += desc->dim[dim].sm) {
		if (dim) {
			fortran_array_move(
				desc, dim - 1, place, packed, gather);
			continue;
		}
		if (gather)
			memcpy(*packed, place, desc->elem_len);
		else
			memcpy(place, *packed, desc->elem_len);
		*packed += desc->elem_len;
	}
}

static size_t fortran_array_size_of(const CFI_cdesc_t *desc)
{
	size_t n = desc->elem_len;

	for (int i = 0; i < desc->rank; i++)
		n *= (size_t)desc->dim[i].extent;
	return n;
}

/* The compiler's library has this too, but is not needed for anything else. An
 * array of assumed size ends in an extent of -1 and has no gaps. */
static bool is_contiguous(const CFI_cdesc_t *desc)
{
	size_t step = desc->elem_len;

	for (int i = 0; i < desc->rank; i++) {
		if (desc->dim[i].extent == 0)
			return true;
		if (desc->dim[i].extent < 0)
			break;
		if (desc->dim[i].extent > 1 &&
			desc->dim[i].sm != (CFI_index_t)step)
			return false;
		step *= (size_t)desc->dim[i].extent;
	}
	return true;
}

/* There is no communicator to blame in every call that comes here. */
static int fortran_array_refuse(const char *func)
{
	fprintf(stderr,
		"weft: %s: this array section has gaps; it would have to stay "
		"where it is until the operation completes. Use a contiguous "
		"array, or a derived datatype on the whole one\n",
		func);
	PMPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_BUFFER);
	return MPI_ERR_BUFFER;
}

int weft_f_array_in(struct weft_f_array *array, CFI_cdesc_t *desc,
	enum weft_f_how how, const char *func, int rc)
{
	char *end;

	memset(array, 0, sizeof(*array));
	array->addr = desc->base_addr;
	if (rc != MPI_SUCCESS || how == WEFT_F_WHERE || desc->rank == 0 ||
		!desc->base_addr || is_contiguous(desc))
		return rc;
	if (how == WEFT_F_STAYS)
		return fortran_array_refuse(func);
	array->copy = malloc(fortran_array_size_of(desc) + 1);
	if (!array->copy)
		return MPI_ERR_NO_MEM;
	end = array->copy;
	fortran_array_move(desc, desc->rank - 1, desc->base_addr, &end, true);
	array->addr = array->copy;
	if (how == WEFT_F_OUT)
		array->back = desc;
	return MPI_SUCCESS;
}

void weft_f_array_out(struct weft_f_array *array)
{
	char *end = array->copy;

	if (array->back)
		fortran_array_move(array->back, array->back->rank - 1,
			array->back->base_addr, &end, false);
	free(array->copy);
}
