/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_type: making, committing, freeing and measuring datatypes
 *
 * MPI-5.0 sections 5.1.1 to 5.1.11. The two forms of a constructor differ in
 * the width of their arguments and in what the envelope shows, so each pair
 * shares one function that takes wide arguments and a mark. */
#include "mpi_check.h"
#include "mpi_map.h"

#include "core/attr.h"

#include <limits.h>
#include <stdlib.h>

_Static_assert(sizeof(MPI_Aint) == sizeof(int64_t), "");
_Static_assert(sizeof(MPI_Count) == sizeof(int64_t), "");

/* The end of a constructor. */
static int hand_out(const char *func, int err, bool is_large,
	struct weft_type *type, MPI_Datatype *newtype)
{
	weft_mpi_null(newtype, MPI_DATATYPE_NULL);
	if (err)
		return weft_mpi_raise_none(func, err);
	type->is_large = is_large;
	*newtype = weft_mpi_type_handle(type);
	return MPI_SUCCESS;
}

/* A wide copy of an array of n (or, if negative, no) numbers; the caller frees
 * it, also after failure, when it is NULL. */
static int widen(int64_t n, const int *from, const char *name, int64_t **to_out)
{
	int err = n > 0 ? weft_check_ptr(from, name) : 0;

	*to_out = NULL;
	if (err)
		return err;
	if (n < 0)
		n = 0;
	*to_out = malloc(((size_t)n + 1) * sizeof **to_out);
	if (!*to_out)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a datatype");
	for (int64_t i = 0; i < n; i++)
		(*to_out)[i] = from[i];
	return 0;
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

static int make_contiguous(const char *func, bool is_large, MPI_Count count,
	MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(count, oldtype, newtype, &old);

	if (!err)
		err = weft_type_make_contiguous(count, old, &type);
	return hand_out(func, err, is_large, type, newtype);
}

int PMPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	return make_contiguous(
		"MPI_Type_contiguous", false, count, oldtype, newtype);
}

int PMPI_Type_contiguous_c(
	MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	return make_contiguous(
		"MPI_Type_contiguous_c", true, count, oldtype, newtype);
}

/* args: count, block length, stride. */
static int mpi_type_make_vector(const char *func, bool is_large,
	const int64_t args[3], bool is_bytes, MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(args[0], oldtype, newtype, &old);

	if (!err && is_bytes)
		err = weft_type_make_hvector(
			args[0], args[1], args[2], old, &type);
	else if (!err)
		err = weft_type_make_vector(
			args[0], args[1], args[2], old, &type);
	return hand_out(func, err, is_large, type, newtype);
}

int PMPI_Type_vector(int count, int blocklength, int stride,
	MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	const int64_t args[3] = { count, blocklength, stride };

	return mpi_type_make_vector(
		"MPI_Type_vector", false, args, false, oldtype, newtype);
}

int PMPI_Type_vector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
	MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	const int64_t args[3] = { count, blocklength, stride };

	return mpi_type_make_vector(
		"MPI_Type_vector_c", true, args, false, oldtype, newtype);
}

int PMPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride,
	MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	const int64_t args[3] = { count, blocklength, stride };

	return mpi_type_make_vector(
		"MPI_Type_create_hvector", false, args, true, oldtype, newtype);
}

int PMPI_Type_create_hvector_c(MPI_Count count, MPI_Count blocklength,
	MPI_Count stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	const int64_t args[3] = { count, blocklength, stride };

	return mpi_type_make_vector("MPI_Type_create_hvector_c", true, args,
		true, oldtype, newtype);
}

static int make_resized(const char *func, bool is_large, MPI_Datatype oldtype,
	const int64_t bounds[2], MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(0, oldtype, newtype, &old);

	if (!err)
		err = weft_type_make_resized(old, bounds[0], bounds[1], &type);
	return hand_out(func, err, is_large, type, newtype);
}

int PMPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent,
	MPI_Datatype *newtype)
{
	const int64_t bounds[2] = { lb, extent };

	return make_resized(
		"MPI_Type_create_resized", false, oldtype, bounds, newtype);
}

int PMPI_Type_create_resized_c(MPI_Datatype oldtype, MPI_Count lb,
	MPI_Count extent, MPI_Datatype *newtype)
{
	const int64_t bounds[2] = { lb, extent };

	return make_resized(
		"MPI_Type_create_resized_c", true, oldtype, bounds, newtype);
}

/* ---- constructors with arrays ---- */

/* The arguments of one, widened. */
struct blocks {
	const char *func;
	bool is_large;
	bool is_bytes; /* how displacements count */
	bool has_lens; /* otherwise all blocks have length `len` */
	int64_t n, len;
	const int64_t *lens, *displs;
};

static int make_of_blocks(const struct blocks *b, struct weft_type *old,
	struct weft_type **type_out)
{
	if (b->has_lens && b->is_bytes)
		return weft_type_make_hindexed(
			b->n, b->lens, b->displs, old, type_out);
	if (b->has_lens)
		return weft_type_make_indexed(
			b->n, b->lens, b->displs, old, type_out);
	if (b->is_bytes)
		return weft_type_make_hindexed_block(
			b->n, b->len, b->displs, old, type_out);
	return weft_type_make_indexed_block(
		b->n, b->len, b->displs, old, type_out);
}

static int mpi_type_make_blocks(
	const struct blocks *b, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(b->n, oldtype, newtype, &old);

	if (!err)
		err = mpi_type_check_array(
			b->n, b->displs, "array_of_displacements");
	if (!err && b->has_lens)
		err = mpi_type_check_array(
			b->n, b->lens, "array_of_blocklengths");
	if (!err)
		err = make_of_blocks(b, old, &type);
	return hand_out(b->func, err, b->is_large, type, newtype);
}

int PMPI_Type_indexed(int count, const int array_of_blocklengths[],
	const int array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct blocks b = {
		.func = "MPI_Type_indexed", .has_lens = true, .n = count
	};
	int64_t *lens, *displs = NULL;
	int rc, err;

	err = widen(
		count, array_of_blocklengths, "array_of_blocklengths", &lens);
	if (!err)
		err = widen(count, array_of_displacements,
			"array_of_displacements", &displs);
	b.lens = lens;
	b.displs = displs;
	rc = err ? hand_out(b.func, err, false, NULL, newtype)
		 : mpi_type_make_blocks(&b, oldtype, newtype);
	free(lens);
	free(displs);
	return rc;
}

int PMPI_Type_indexed_c(MPI_Count count,
	const MPI_Count array_of_blocklengths[],
	const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	const struct blocks b = { .func = "MPI_Type_indexed_c",
		.is_large = true,
		.has_lens = true,
		.n = count,
		.lens = array_of_blocklengths,
		.displs = array_of_displacements };

	return mpi_type_make_blocks(&b, oldtype, newtype);
}

int PMPI_Type_create_hindexed(int count, const int array_of_blocklengths[],
	const MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct blocks b = { .func = "MPI_Type_create_hindexed",
		.is_bytes = true,
		.has_lens = true,
		.n = count,
		.displs = array_of_displacements };
	int64_t *lens;
	int rc, err;

	err = widen(
		count, array_of_blocklengths, "array_of_blocklengths", &lens);
	b.lens = lens;
	rc = err ? hand_out(b.func, err, false, NULL, newtype)
		 : mpi_type_make_blocks(&b, oldtype, newtype);
	free(lens);
	return rc;
}

int PMPI_Type_create_hindexed_c(MPI_Count count,
	const MPI_Count array_of_blocklengths[],
	const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	const struct blocks b = { .func = "MPI_Type_create_hindexed_c",
		.is_large = true,
		.is_bytes = true,
		.has_lens = true,
		.n = count,
		.lens = array_of_blocklengths,
		.displs = array_of_displacements };

	return mpi_type_make_blocks(&b, oldtype, newtype);
}

int PMPI_Type_create_indexed_block(int count, int blocklength,
	const int array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct blocks b = { .func = "MPI_Type_create_indexed_block",
		.n = count,
		.len = blocklength };
	int64_t *displs;
	int rc, err;

	err = widen(count, array_of_displacements, "array_of_displacements",
		&displs);
	b.displs = displs;
	rc = err ? hand_out(b.func, err, false, NULL, newtype)
		 : mpi_type_make_blocks(&b, oldtype, newtype);
	free(displs);
	return rc;
}

int PMPI_Type_create_indexed_block_c(MPI_Count count, MPI_Count blocklength,
	const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	const struct blocks b = { .func = "MPI_Type_create_indexed_block_c",
		.is_large = true,
		.n = count,
		.len = blocklength,
		.displs = array_of_displacements };

	return mpi_type_make_blocks(&b, oldtype, newtype);
}

int PMPI_Type_create_hindexed_block(int count, int blocklength,
	const MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	const struct blocks b = { .func = "MPI_Type_create_hindexed_block",
		.is_bytes = true,
		.n = count,
		.len = blocklength,
		.displs = array_of_displacements };

	return mpi_type_make_blocks(&b, oldtype, newtype);
}

int PMPI_Type_create_hindexed_block_c(MPI_Count count, MPI_Count blocklength,
	const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	const struct blocks b = { .func = "MPI_Type_create_hindexed_block_c",
		.is_large = true,
		.is_bytes = true,
		.n = count,
		.len = blocklength,
		.displs = array_of_displacements };

	return mpi_type_make_blocks(&b, oldtype, newtype);
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

static int make_struct(const struct blocks *b, const MPI_Datatype types[],
	MPI_Datatype *newtype)
{
	struct weft_type **olds = NULL, *type = NULL;
	int err = weft_check_up();

	if (!err)
		err = weft_check_count(b->n);
	if (!err)
		err = weft_check_ptr(newtype, "newtype");
	if (!err)
		err = mpi_type_check_array(
			b->n, b->displs, "array_of_displacements");
	if (!err)
		err = mpi_type_check_array(
			b->n, b->lens, "array_of_blocklengths");
	if (!err)
		err = look_up_all(b->n, types, &olds);
	if (!err)
		err = weft_type_make_struct(
			b->n, b->lens, b->displs, olds, &type);
	free(olds);
	return hand_out(b->func, err, b->is_large, type, newtype);
}

int PMPI_Type_create_struct(int count, const int array_of_blocklengths[],
	const MPI_Aint array_of_displacements[],
	const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
	struct blocks b = { .func = "MPI_Type_create_struct",
		.n = count,
		.displs = array_of_displacements };
	int64_t *lens;
	int rc, err;

	err = widen(
		count, array_of_blocklengths, "array_of_blocklengths", &lens);
	b.lens = lens;
	rc = err ? hand_out(b.func, err, false, NULL, newtype)
		 : make_struct(&b, array_of_types, newtype);
	free(lens);
	return rc;
}

int PMPI_Type_create_struct_c(MPI_Count count,
	const MPI_Count array_of_blocklengths[],
	const MPI_Count array_of_displacements[],
	const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
	const struct blocks b = { .func = "MPI_Type_create_struct_c",
		.is_large = true,
		.n = count,
		.lens = array_of_blocklengths,
		.displs = array_of_displacements };

	return make_struct(&b, array_of_types, newtype);
}

/* ---- arrays ---- */

static int make_subarray(const char *func, bool is_large,
	const struct weft_type_subarray *desc, MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(0, oldtype, newtype, &old);

	if (!err)
		err = mpi_type_check_array(
			desc->n_dims, desc->sizes, "array_of_sizes");
	if (!err)
		err = mpi_type_check_array(
			desc->n_dims, desc->subsizes, "array_of_subsizes");
	if (!err)
		err = mpi_type_check_array(
			desc->n_dims, desc->starts, "array_of_starts");
	if (!err)
		err = weft_type_make_subarray(desc, old, &type);
	return hand_out(func, err, is_large, type, newtype);
}

int PMPI_Type_create_subarray(int ndims, const int array_of_sizes[],
	const int array_of_subsizes[], const int array_of_starts[], int order,
	MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	const char *func = "MPI_Type_create_subarray";
	int64_t *sizes, *subsizes = NULL, *starts = NULL;
	int rc, err;

	err = widen(ndims, array_of_sizes, "array_of_sizes", &sizes);
	if (!err)
		err = widen(ndims, array_of_subsizes, "array_of_subsizes",
			&subsizes);
	if (!err)
		err = widen(ndims, array_of_starts, "array_of_starts", &starts);
	if (err) {
		rc = hand_out(func, err, false, NULL, newtype);
	} else {
		const struct weft_type_subarray desc = { ndims, sizes, subsizes,
			starts, (enum weft_order)order };

		rc = make_subarray(func, false, &desc, oldtype, newtype);
	}
	free(sizes);
	free(subsizes);
	free(starts);
	return rc;
}

int PMPI_Type_create_subarray_c(int ndims, const MPI_Count array_of_sizes[],
	const MPI_Count array_of_subsizes[], const MPI_Count array_of_starts[],
	int order, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	const struct weft_type_subarray desc = { ndims, array_of_sizes,
		array_of_subsizes, array_of_starts, (enum weft_order)order };

	return make_subarray(
		"MPI_Type_create_subarray_c", true, &desc, oldtype, newtype);
}

static int make_darray(const char *func, bool is_large,
	const struct weft_type_darray *desc, MPI_Datatype oldtype,
	MPI_Datatype *newtype)
{
	struct weft_type *old, *type = NULL;
	int err = check_old(0, oldtype, newtype, &old);

	if (!err)
		err = mpi_type_check_array(
			desc->n_dims, desc->gsizes, "array_of_gsizes");
	if (!err)
		err = mpi_type_check_array(
			desc->n_dims, desc->distribs, "array_of_distribs");
	if (!err)
		err = mpi_type_check_array(
			desc->n_dims, desc->dargs, "array_of_dargs");
	if (!err)
		err = mpi_type_check_array(
			desc->n_dims, desc->psizes, "array_of_psizes");
	if (!err)
		err = weft_type_make_darray(desc, old, &type);
	return hand_out(func, err, is_large, type, newtype);
}

int PMPI_Type_create_darray(int size, int rank, int ndims,
	const int array_of_gsizes[], const int array_of_distribs[],
	const int array_of_dargs[], const int array_of_psizes[], int order,
	MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	const char *func = "MPI_Type_create_darray";
	struct weft_type_darray desc = { size, rank, ndims, NULL,
		array_of_distribs, array_of_dargs, array_of_psizes,
		(enum weft_order)order };
	int64_t *gsizes;
	int rc, err;

	err = widen(ndims, array_of_gsizes, "array_of_gsizes", &gsizes);
	desc.gsizes = gsizes;
	rc = err ? hand_out(func, err, false, NULL, newtype)
		 : make_darray(func, false, &desc, oldtype, newtype);
	free(gsizes);
	return rc;
}

int PMPI_Type_create_darray_c(int size, int rank, int ndims,
	const MPI_Count array_of_gsizes[], const int array_of_distribs[],
	const int array_of_dargs[], const int array_of_psizes[], int order,
	MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	const struct weft_type_darray desc = { size, rank, ndims,
		array_of_gsizes, array_of_distribs, array_of_dargs,
		array_of_psizes, (enum weft_order)order };

	return make_darray(
		"MPI_Type_create_darray_c", true, &desc, oldtype, newtype);
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

static int get_size(
	const char *func, MPI_Datatype datatype, int64_t *size, const void *out)
{
	struct weft_type *type = NULL;
	int err = weft_check_type(datatype, &type);

	if (!err)
		err = weft_check_ptr(out, "size");
	if (err)
		return weft_mpi_raise_none(func, err);
	*size = type->size;
	return MPI_SUCCESS;
}

int PMPI_Type_size(MPI_Datatype datatype, int *size)
{
	int64_t wide = 0;
	int rc = get_size("MPI_Type_size", datatype, &wide, size);

	if (!rc)
		*size = wide > INT_MAX ? MPI_UNDEFINED : (int)wide;
	return rc;
}

int PMPI_Type_size_c(MPI_Datatype datatype, MPI_Count *size)
{
	return get_size("MPI_Type_size_c", datatype, size, size);
}

int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
	return get_size("MPI_Type_size_x", datatype, size, size);
}

static int get_extent(const char *func, MPI_Datatype datatype, bool is_true,
	int64_t *lb, int64_t *extent)
{
	struct weft_type *type = NULL;
	int err = weft_check_type(datatype, &type);

	if (!err)
		err = weft_check_ptr(lb, is_true ? "true_lb" : "lb");
	if (!err)
		err = weft_check_ptr(
			extent, is_true ? "true_extent" : "extent");
	if (err)
		return weft_mpi_raise_none(func, err);
	*lb = is_true ? type->true_lb : type->lb;
	*extent = is_true ? type->true_extent : type->extent;
	return MPI_SUCCESS;
}

int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent)
{
	return get_extent("MPI_Type_get_extent", datatype, false, lb, extent);
}

int PMPI_Type_get_extent_c(
	MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
	return get_extent("MPI_Type_get_extent_c", datatype, false, lb, extent);
}

int PMPI_Type_get_extent_x(
	MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
	return get_extent("MPI_Type_get_extent_x", datatype, false, lb, extent);
}

int PMPI_Type_get_true_extent(
	MPI_Datatype datatype, MPI_Aint *true_lb, MPI_Aint *true_extent)
{
	return get_extent("MPI_Type_get_true_extent", datatype, true, true_lb,
		true_extent);
}

int PMPI_Type_get_true_extent_c(
	MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
	return get_extent("MPI_Type_get_true_extent_c", datatype, true, true_lb,
		true_extent);
}

int PMPI_Type_get_true_extent_x(
	MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
	return get_extent("MPI_Type_get_true_extent_x", datatype, true, true_lb,
		true_extent);
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
