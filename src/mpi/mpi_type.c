/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_type: making, committing, freeing and measuring datatypes
 *
 * MPI-5.0 sections 5.1.1 to 5.1.11. The two forms of a constructor differ in
 * the width of their arguments, which gen-api widens, and in what the envelope
 * shows. */
#include "mpi_check.h"
#include "mpi_map.h"
#include "mpi_twin.h"

#include "core/attr.h"

#include <stdlib.h>

_Static_assert(sizeof(MPI_Aint) == sizeof(int64_t), "");
_Static_assert(sizeof(MPI_Count) == sizeof(int64_t), "");

/* The end of a constructor. */
static int hand_out(const char *func, int err, struct weft_type *type,
	MPI_Datatype *newtype)
{
	weft_mpi_null(newtype, MPI_DATATYPE_NULL);
	if (err)
		return weft_mpi_raise_none(func, err);
	type->is_large = weft_twin_is_large(func);
	*newtype = weft_mpi_type_handle(type);
	return MPI_SUCCESS;
}

/* What most constructors check. */
static int check_old(MPI_Count count, MPI_Datatype oldtype,
	const MPI_Datatype *newtype, struct weft_type **old_out)
{
	int err = weft_check_up();

	if (!err)
		err = weft_check_count(count);
	if (!err)
		err = weft_check_type(oldtype, old_out);
	if (!err)
		err = weft_check_ptr(newtype, "newtype");
	return err;
}

static int mpi_type_check_array(int64_t n, const void *array, const char *name)
{
	if (array == weft_twin_no_memory)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a datatype");
	return n > 0 ? weft_check_ptr(array, name) : 0;
}

/* ---- constructors without arrays ---- */

int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(0, oldtype, newtype, &old);
	struct weft_attrs *from, *to = NULL;

	weft_mpi_null(newtype, MPI_DATATYPE_NULL);
	if (!err)
		err = weft_type_make_dup(old, &type);
	if (err)
		return weft_mpi_raise_none("MPI_Type_dup", err);
	from = old->attrs;
	err = weft_attr_copy_all(&from, oldtype, &to);
	if (err) {
		weft_attrs_destroy(to);
		weft_type_close_handle(type);
		return weft_mpi_raise_none("MPI_Type_dup", err);
	}
	type->attrs = to;
	*newtype = weft_mpi_type_handle(type);
	return MPI_SUCCESS;
}

static inline int mpi_type_contiguous(const char *func, MPI_Count count,
	MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(count, oldtype, newtype, &old);

	if (!err)
		err = weft_type_make_contiguous(count, old, &type);
	return hand_out(func, err, type, newtype);
}

static inline int mpi_type_vector(const char *func, MPI_Count count,
	MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(count, oldtype, newtype, &old);

	if (!err)
		err = weft_type_make_vector(
			count, blocklength, stride, old, &type);
	return hand_out(func, err, type, newtype);
}

static inline int mpi_type_create_hvector(const char *func, MPI_Count count,
	MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(count, oldtype, newtype, &old);

	if (!err)
		err = weft_type_make_hvector(
			count, blocklength, stride, old, &type);
	return hand_out(func, err, type, newtype);
}

static inline int mpi_type_create_resized(const char *func,
	MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent,
	MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(0, oldtype, newtype, &old);

	if (!err)
		err = weft_type_make_resized(old, lb, extent, &type);
	return hand_out(func, err, type, newtype);
}

/* ---- constructors with arrays ---- */

/* Where blocks lie and, unless they have one length, how long each is. */
static int check_blocks(int64_t n, const int64_t *lens, const int64_t *displs)
{
	int err = mpi_type_check_array(n, lens, "array_of_blocklengths");

	return err ? err
		   : mpi_type_check_array(n, displs, "array_of_displacements");
}

static inline int mpi_type_indexed(const char *func, MPI_Count count,
	const MPI_Count array_of_blocklengths[],
	const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(count, oldtype, newtype, &old);

	if (!err)
		err = check_blocks(
			count, array_of_blocklengths, array_of_displacements);
	if (!err)
		err = weft_type_make_indexed(count, array_of_blocklengths,
			array_of_displacements, old, &type);
	return hand_out(func, err, type, newtype);
}

static inline int mpi_type_create_hindexed(const char *func, MPI_Count count,
	const MPI_Count array_of_blocklengths[],
	const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(count, oldtype, newtype, &old);

	if (!err)
		err = check_blocks(
			count, array_of_blocklengths, array_of_displacements);
	if (!err)
		err = weft_type_make_hindexed(count, array_of_blocklengths,
			array_of_displacements, old, &type);
	return hand_out(func, err, type, newtype);
}

static inline int mpi_type_create_indexed_block(const char *func,
	MPI_Count count, MPI_Count blocklength,
	const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(count, oldtype, newtype, &old);

	if (!err)
		err = mpi_type_check_array(count, array_of_displacements,
			"array_of_displacements");
	if (!err)
		err = weft_type_make_indexed_block(
			count, blocklength, array_of_displacements, old, &type);
	return hand_out(func, err, type, newtype);
}

static inline int mpi_type_create_hindexed_block(const char *func,
	MPI_Count count, MPI_Count blocklength,
	const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(count, oldtype, newtype, &old);

	if (!err)
		err = mpi_type_check_array(count, array_of_displacements,
			"array_of_displacements");
	if (!err)
		err = weft_type_make_hindexed_block(
			count, blocklength, array_of_displacements, old, &type);
	return hand_out(func, err, type, newtype);
}

/* Looks the old types of a struct up; the caller frees the array. */
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

static inline int mpi_type_create_struct(const char *func, MPI_Count count,
	const MPI_Count array_of_blocklengths[],
	const MPI_Count array_of_displacements[],
	const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
	struct weft_type **olds = NULL, *type = NULL;
	int err = weft_check_up();

	if (!err)
		err = weft_check_count(count);
	if (!err)
		err = weft_check_ptr(newtype, "newtype");
	if (!err)
		err = check_blocks(
			count, array_of_blocklengths, array_of_displacements);
	if (!err)
		err = look_up_all(count, array_of_types, &olds);
	if (!err)
		err = weft_type_make_struct(count, array_of_blocklengths,
			array_of_displacements, olds, &type);
	free(olds);
	return hand_out(func, err, type, newtype);
}

/* ---- arrays ---- */

static inline int mpi_type_create_subarray(const char *func, int ndims,
	const MPI_Count array_of_sizes[], const MPI_Count array_of_subsizes[],
	const MPI_Count array_of_starts[], int order, MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	const struct weft_type_subarray desc = { ndims, array_of_sizes,
		array_of_subsizes, array_of_starts, (enum weft_order)order };
	struct weft_type *old, *type = NULL;
	int err = check_old(0, oldtype, newtype, &old);

	if (!err)
		err = mpi_type_check_array(
			ndims, array_of_sizes, "array_of_sizes");
	if (!err)
		err = mpi_type_check_array(
			ndims, array_of_subsizes, "array_of_subsizes");
	if (!err)
		err = mpi_type_check_array(
			ndims, array_of_starts, "array_of_starts");
	if (!err)
		err = weft_type_make_subarray(&desc, old, &type);
	return hand_out(func, err, type, newtype);
}

static inline int mpi_type_create_darray(const char *func, int size, int rank,
	int ndims, const MPI_Count array_of_gsizes[],
	const int array_of_distribs[], const int array_of_dargs[],
	const int array_of_psizes[], int order, MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	const struct weft_type_darray desc = { size, rank, ndims,
		array_of_gsizes, array_of_distribs, array_of_dargs,
		array_of_psizes, (enum weft_order)order };
	struct weft_type *old, *type = NULL;
	int err = check_old(0, oldtype, newtype, &old);

	if (!err)
		err = mpi_type_check_array(
			ndims, array_of_gsizes, "array_of_gsizes");
	if (!err)
		err = mpi_type_check_array(
			ndims, array_of_distribs, "array_of_distribs");
	if (!err)
		err = mpi_type_check_array(
			ndims, array_of_dargs, "array_of_dargs");
	if (!err)
		err = mpi_type_check_array(
			ndims, array_of_psizes, "array_of_psizes");
	if (!err)
		err = weft_type_make_darray(&desc, old, &type);
	return hand_out(func, err, type, newtype);
}

/* ---- commit, free, name ---- */

int PMPI_Type_commit(MPI_Datatype *datatype)
{
	struct weft_type *type = NULL;
	int err = weft_check_ptr(datatype, "datatype");

	if (!err)
		err = weft_check_type(*datatype, &type);
	if (err)
		return weft_mpi_raise_none("MPI_Type_commit", err);
	weft_type_commit(type);
	return MPI_SUCCESS;
}

int PMPI_Type_free(MPI_Datatype *datatype)
{
	struct weft_attrs *attrs;
	struct weft_type *type = NULL;
	int err = weft_check_ptr(datatype, "datatype");

	if (!err)
		err = weft_check_type(*datatype, &type);
	if (!err && type->is_builtin)
		err = weft_err_set(WEFT_ERR_TYPE,
			"predefined datatypes cannot be freed: %s", type->name);
	if (!err && weft_type_is_last_handle(type)) {
		attrs = type->attrs;
		err = weft_attr_delete_all(&attrs, *datatype);
		if (!err)
			weft_attrs_destroy(attrs);
		type->attrs = err ? attrs : NULL;
	}
	if (err)
		return weft_mpi_raise_none("MPI_Type_free", err);
	weft_type_close_handle(type);
	*datatype = MPI_DATATYPE_NULL;
	return MPI_SUCCESS;
}

int PMPI_Type_set_name(MPI_Datatype datatype, const char *type_name)
{
	struct weft_type *type = NULL;
	int err = weft_check_type(datatype, &type);

	if (!err)
		err = weft_check_ptr(type_name, "type_name");
	if (!err && strlen(type_name) >= sizeof(type->name))
		err = weft_err_set(WEFT_ERR_ARG,
			"the name has %zu characters, at most %zu fit",
			strlen(type_name), sizeof(type->name) - 1);
	if (err)
		return weft_mpi_raise_none("MPI_Type_set_name", err);
	strcpy(type->name, type_name);
	return MPI_SUCCESS;
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

static inline int mpi_type_size(
	const char *func, MPI_Datatype datatype, MPI_Count *size)
{
	struct weft_type *type = NULL;
	int err = weft_check_type(datatype, &type);

	if (!err)
		err = weft_check_ptr(size, "size");
	if (err)
		return weft_mpi_raise_none(func, err);
	*size = type->size;
	return MPI_SUCCESS;
}

int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
	return mpi_type_size("MPI_Type_size_x", datatype, size);
}

static inline int mpi_type_get_extent(const char *func, MPI_Datatype datatype,
	MPI_Count *lb, MPI_Count *extent)
{
	struct weft_type *type = NULL;
	int err = weft_check_type(datatype, &type);

	if (!err)
		err = weft_check_ptr(lb, "lb");
	if (!err)
		err = weft_check_ptr(extent, "extent");
	if (err)
		return weft_mpi_raise_none(func, err);
	*lb = type->lb;
	*extent = type->extent;
	return MPI_SUCCESS;
}

int PMPI_Type_get_extent_x(
	MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
	return mpi_type_get_extent(
		"MPI_Type_get_extent_x", datatype, lb, extent);
}

static inline int mpi_type_get_true_extent(const char *func,
	MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
	struct weft_type *type = NULL;
	int err = weft_check_type(datatype, &type);

	if (!err)
		err = weft_check_ptr(true_lb, "true_lb");
	if (!err)
		err = weft_check_ptr(true_extent, "true_extent");
	if (err)
		return weft_mpi_raise_none(func, err);
	*true_lb = type->true_lb;
	*true_extent = type->true_extent;
	return MPI_SUCCESS;
}

int PMPI_Type_get_true_extent_x(
	MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
	return mpi_type_get_true_extent(
		"MPI_Type_get_true_extent_x", datatype, true_lb, true_extent);
}

/* ---- addresses ---- */

int PMPI_Get_address(const void *location, MPI_Aint *address)
{
	int err = weft_check_ptr(address, "address");

	if (err)
		return weft_mpi_raise_none("MPI_Get_address", err);
	*address = (MPI_Aint)location;
	return MPI_SUCCESS;
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
