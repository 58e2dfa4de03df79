/* SPDX-License-Identifier: BSD-3-Clause */
/* fortran_array: choice arguments of mpi_f08
 *
 * The compiler passes the shape of a choice argument. An array section with
 * gaps is copied for the duration of a call, as compilers do for the older
 * interfaces. A nonblocking call uses a datatype of the section instead. For
 * operands, and for buffers with a block for each member, no datatype is
 * possible: a section with gaps is an error there (MPI_SUBARRAYS_SUPPORTED is
 * false). */
#include "fortran.h"

#include <stdio.h>
#include <string.h>

/* Moves the elements of dimensions 0..dim between the array at addr and the
 * packed memory at *packed, which it advances. */
static void fortran_array_move(const CFI_cdesc_t *desc, int dim, char *addr,
	char **packed, bool gather)
{
	CFI_index_t n = desc->dim[dim].extent;

	for (CFI_index_t i = 0; i < n; i++, addr += desc->dim[dim].sm) {
		if (dim) {
			fortran_array_move(desc, dim - 1, addr, packed, gather);
			continue;
		}
		if (gather)
			memcpy(*packed, addr, desc->elem_len);
		else
			memcpy(addr, *packed, desc->elem_len);
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

/* CFI_is_contiguous() does the same, but would add a dependency on the
 * compiler's library. The last extent of an assumed-size array is -1; it has no
 * gaps. */
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

static int reject_section(const char *func, int comm)
{
	fprintf(stderr,
		"weft: %s: the buffer is an array section with gaps, which "
		"this operation cannot use after the call returns. Use a "
		"contiguous array, or a derived datatype on the whole array\n",
		func);
	PMPI_Comm_call_errhandler(PMPI_Comm_fromint(comm), MPI_ERR_BUFFER);
	return MPI_ERR_BUFFER;
}

int weft_f_array_in(struct weft_f_array *array, CFI_cdesc_t *desc,
	enum weft_f_how how, const char *func, int comm, int rc)
{
	char *end;

	memset(array, 0, sizeof(*array));
	array->addr = desc->base_addr;
	if (rc != MPI_SUCCESS || how == WEFT_F_ADDRESS || desc->rank == 0 ||
		!desc->base_addr || is_contiguous(desc))
		return rc;
	if (how == WEFT_F_NONBLOCKING)
		return reject_section(func, comm);
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

const int weft_f_one = 1;
const MPI_Count weft_f_one_c = 1;

/* Creates a type of all elements of the section, as nested vectors. */
static int type_of_whole_section(
	const CFI_cdesc_t *desc, MPI_Datatype type, MPI_Datatype *section_out)
{
	MPI_Datatype inner = type, outer;

	for (int i = 0; i < desc->rank; i++) {
		int rc = PMPI_Type_create_hvector_c(
			desc->dim[i].extent, 1, desc->dim[i].sm, inner, &outer);

		if (i)
			PMPI_Type_free(&inner);
		if (rc != MPI_SUCCESS)
			return rc;
		inner = outer;
	}
	*section_out = inner;
	return PMPI_Type_commit(section_out);
}

/* Creates a type of the first count elements, in the array's order. */
static int type_of_first_elements(const CFI_cdesc_t *desc, MPI_Count count,
	MPI_Datatype type, MPI_Datatype *section_out)
{
	MPI_Count *at = malloc((size_t)count * sizeof(*at));
	CFI_index_t index[CFI_MAX_RANK] = { 0 };
	int rc;

	if (!at)
		return MPI_ERR_NO_MEM;
	for (MPI_Count i = 0; i < count; i++) {
		at[i] = 0;
		for (int k = 0; k < desc->rank; k++)
			at[i] += index[k] * desc->dim[k].sm;
		for (int k = 0; k < desc->rank; k++) {
			if (++index[k] < desc->dim[k].extent)
				break;
			index[k] = 0;
		}
	}
	rc = PMPI_Type_create_hindexed_block_c(count, 1, at, type, section_out);
	free(at);
	return rc != MPI_SUCCESS ? rc : PMPI_Type_commit(section_out);
}

int weft_f_array_in_nonblocking(struct weft_f_array *array, CFI_cdesc_t *desc,
	MPI_Count count, int type_f, const char *func, int comm, int rc)
{
	MPI_Datatype type = PMPI_Type_fromint(type_f);
	MPI_Count lb, extent, n = 1;

	memset(array, 0, sizeof(*array));
	array->addr = desc->base_addr;
	if (rc != MPI_SUCCESS || count <= 0 || desc->rank == 0 ||
		!desc->base_addr || is_contiguous(desc))
		return rc;
	rc = PMPI_Type_get_extent_c(type, &lb, &extent);
	if (rc != MPI_SUCCESS)
		return rc;
	for (int i = 0; i < desc->rank; i++)
		n *= desc->dim[i].extent;
	if (lb || extent != (MPI_Count)desc->elem_len || count > n)
		return reject_section(func, comm);
	rc = count == n ? type_of_whole_section(desc, type, &array->section)
			: type_of_first_elements(
				  desc, count, type, &array->section);
	if (rc == MPI_SUCCESS)
		array->section_f = PMPI_Type_toint(array->section);
	return rc;
}

void weft_f_array_finish(struct weft_f_array *array)
{
	char *end = array->copy;

	if (array->section)
		PMPI_Type_free(&array->section);
	if (array->back)
		fortran_array_move(array->back, array->back->rank - 1,
			array->back->base_addr, &end, false);
	free(array->copy);
}
