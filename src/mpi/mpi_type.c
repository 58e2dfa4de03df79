/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_type: creating, committing, freeing and measuring datatypes
 *
 * MPI-5.0 sections 5.1.1 to 5.1.11. The two forms of a constructor differ in
 * the width of their arguments, which gen-api widens, and in the envelope. */
#include "mpi_check.h"
#include "mpi_map.h"
#include "mpi_widen.h"

#include "core/attr.h"

#include <stdlib.h>

_Static_assert(sizeof(MPI_Aint) == sizeof(int64_t), "");
_Static_assert(sizeof(MPI_Count) == sizeof(int64_t), "");

/* Returns the handle of a new type, and stores which form created it. */
static MPI_Datatype weft_widen_type(const char *func, struct weft_type *type)
{
	type->is_large = weft_widen_is_large(func);
	return weft_mpi_type_handle(type);
}

static int mpi_type_check_array(int64_t n, const void *array, const char *name)
{
	if (array == weft_widen_no_memory)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a datatype");
	return n > 0 ? weft_check_ptr(array, name) : 0;
}

/* ---- constructors without arrays ---- */

static int mpi_type_dup(struct weft_type *old, struct weft_type **made)
{
	struct weft_attrs *from = old->attrs, *to = NULL;
	int err = weft_check_up();

	if (!err)
		err = weft_type_make_dup(old, made);
	if (err)
		return err;
	err = weft_attr_copy_all(&from, weft_mpi_type_handle(old), &to);
	if (err) {
		weft_attrs_destroy(to);
		weft_type_close_handle(*made);
		return err;
	}
	(*made)->attrs = to;
	return 0;
}

static int mpi_type_contiguous(
	MPI_Count count, struct weft_type *old, struct weft_type **made)
{
	int err = weft_check_up();

	return err ? err : weft_type_make_contiguous(count, old, made);
}

static int mpi_type_vector(MPI_Count count, MPI_Count blocklength,
	MPI_Count stride, struct weft_type *old, struct weft_type **made)
{
	int err = weft_check_up();

	return err ? err
		   : weft_type_make_vector(
			     count, blocklength, stride, old, made);
}

static int mpi_type_create_hvector(MPI_Count count, MPI_Count blocklength,
	MPI_Count stride, struct weft_type *old, struct weft_type **made)
{
	int err = weft_check_up();

	return err ? err
		   : weft_type_make_hvector(
			     count, blocklength, stride, old, made);
}

static int mpi_type_create_resized(struct weft_type *old, MPI_Count lb,
	MPI_Count extent, struct weft_type **made)
{
	int err = weft_check_up();

	return err ? err : weft_type_make_resized(old, lb, extent, made);
}

/* ---- constructors with arrays ---- */

/* Checks the arrays of displacements and, unless all blocks have one length, of
 * lengths. */
static int check_blocks(int64_t n, const int64_t *lens, const int64_t *displs)
{
	int err = weft_check_up();

	if (!err)
		err = mpi_type_check_array(n, lens, "array_of_blocklengths");
	return err ? err
		   : mpi_type_check_array(n, displs, "array_of_displacements");
}

static int check_starts(int64_t n, const int64_t *displs)
{
	int err = weft_check_up();

	return err ? err
		   : mpi_type_check_array(n, displs, "array_of_displacements");
}

static int mpi_type_indexed(MPI_Count count, const MPI_Count lens[],
	const MPI_Count displs[], struct weft_type *old,
	struct weft_type **made)
{
	int err = check_blocks(count, lens, displs);

	return err ? err
		   : weft_type_make_indexed(count, lens, displs, old, made);
}

static int mpi_type_create_hindexed(MPI_Count count, const MPI_Count lens[],
	const MPI_Count displs[], struct weft_type *old,
	struct weft_type **made)
{
	int err = check_blocks(count, lens, displs);

	return err ? err
		   : weft_type_make_hindexed(count, lens, displs, old, made);
}

static int mpi_type_create_indexed_block(MPI_Count count, MPI_Count len,
	const MPI_Count displs[], struct weft_type *old,
	struct weft_type **made)
{
	int err = check_starts(count, displs);

	return err ? err
		   : weft_type_make_indexed_block(
			     count, len, displs, old, made);
}

static int mpi_type_create_hindexed_block(MPI_Count count, MPI_Count len,
	const MPI_Count displs[], struct weft_type *old,
	struct weft_type **made)
{
	int err = check_starts(count, displs);

	return err ? err
		   : weft_type_make_hindexed_block(
			     count, len, displs, old, made);
}

/* Looks up the component types of a struct; the caller frees the array. */
static int look_up_all(
	int64_t n, const MPI_Datatype handles[], struct weft_type ***types_out)
{
	struct weft_type **types;
	int err = mpi_type_check_array(n, handles, "array_of_types");

	*types_out = NULL;
	if (err)
		return err;
	types = calloc((size_t)n + 1, sizeof *types);
	if (!types)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a datatype");
	for (int64_t i = 0; i < n && !err; i++)
		err = weft_check_type(handles[i], &types[i]);
	*types_out = types;
	return err;
}

static int mpi_type_create_struct(MPI_Count count, const MPI_Count lens[],
	const MPI_Count displs[], const MPI_Datatype types[],
	struct weft_type **made)
{
	struct weft_type **olds = NULL;
	int err = check_blocks(count, lens, displs);

	if (!err)
		err = look_up_all(count, types, &olds);
	if (!err)
		err = weft_type_make_struct(count, lens, displs, olds, made);
	free(olds);
	return err;
}

/* ---- arrays ---- */

static int mpi_type_create_subarray(int ndims, const MPI_Count sizes[],
	const MPI_Count subsizes[], const MPI_Count starts[], int order,
	struct weft_type *old, struct weft_type **made)
{
	const struct weft_type_subarray desc = { ndims, sizes, subsizes, starts,
		(enum weft_order)order };
	int err = weft_check_up();

	if (!err)
		err = mpi_type_check_array(ndims, sizes, "array_of_sizes");
	if (!err)
		err = mpi_type_check_array(
			ndims, subsizes, "array_of_subsizes");
	if (!err)
		err = mpi_type_check_array(ndims, starts, "array_of_starts");
	return err ? err : weft_type_make_subarray(&desc, old, made);
}

static int mpi_type_create_darray(int size, int rank, int ndims,
	const MPI_Count gsizes[], const int distribs[], const int dargs[],
	const int psizes[], int order, struct weft_type *old,
	struct weft_type **made)
{
	const struct weft_type_darray desc = { size, rank, ndims, gsizes,
		distribs, dargs, psizes, (enum weft_order)order };
	int err = weft_check_up();

	if (!err)
		err = mpi_type_check_array(ndims, gsizes, "array_of_gsizes");
	return err ? err : weft_type_make_darray(&desc, old, made);
}

/* ---- commit, free, name ---- */

static int mpi_type_commit(struct weft_type *type)
{
	weft_type_commit(type);
	return 0;
}

static int mpi_type_free(struct weft_type *type)
{
	struct weft_attrs *attrs = type->attrs;
	int err = 0;

	if (type->is_builtin)
		return weft_err_set(WEFT_ERR_TYPE,
			"predefined datatypes cannot be freed: %s", type->name);
	if (weft_type_is_last_handle(type)) {
		err = weft_attr_delete_all(&attrs, weft_mpi_type_handle(type));
		if (!err)
			weft_attrs_destroy(attrs);
		type->attrs = err ? attrs : NULL;
	}
	if (!err)
		weft_type_close_handle(type);
	return err;
}

static int mpi_type_set_name(struct weft_type *type, const char *type_name)
{
	if (strlen(type_name) >= sizeof(type->name))
		return weft_err_set(WEFT_ERR_ARG,
			"the name has %zu characters, at most %zu fit",
			strlen(type_name), sizeof(type->name) - 1);
	strcpy(type->name, type_name);
	return 0;
}

int PMPI_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
	const char *name = "MPI_DATATYPE_NULL";
	struct weft_type *type = NULL;
	int err = 0;

	if (datatype != MPI_DATATYPE_NULL) {
		err = weft_check_type(datatype, &type);
		name = err ? NULL : type->name;
	}
	if (!err)
		err = weft_check_ptr(type_name, "type_name");
	if (!err)
		err = weft_check_ptr(resultlen, "resultlen");
	if (err)
		return weft_mpi_raise_none("MPI_Type_get_name", err);
	*resultlen = (int)strlen(name);
	memcpy(type_name, name, (size_t)*resultlen + 1);
	return MPI_SUCCESS;
}

/* ---- size and bounds ---- */

static int mpi_type_size(const struct weft_type *type, MPI_Count *size)
{
	*size = type->size;
	return 0;
}

static int mpi_type_size_x(const struct weft_type *type, MPI_Count *size)
{
	return mpi_type_size(type, size);
}

static int mpi_type_get_extent(
	const struct weft_type *type, MPI_Count *lb, MPI_Count *extent)
{
	*lb = type->lb;
	*extent = type->extent;
	return 0;
}

static int mpi_type_get_extent_x(
	const struct weft_type *type, MPI_Count *lb, MPI_Count *extent)
{
	return mpi_type_get_extent(type, lb, extent);
}

static int mpi_type_get_true_extent(
	const struct weft_type *type, MPI_Count *lb, MPI_Count *extent)
{
	*lb = type->true_lb;
	*extent = type->true_extent;
	return 0;
}

static int mpi_type_get_true_extent_x(
	const struct weft_type *type, MPI_Count *lb, MPI_Count *extent)
{
	return mpi_type_get_true_extent(type, lb, extent);
}

/* ---- addresses ---- */

static int mpi_get_address(const void *location, MPI_Aint *address)
{
	*address = (MPI_Aint)location;
	return 0;
}

MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp)
{
	return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
	return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}

#include "api_type.h"
