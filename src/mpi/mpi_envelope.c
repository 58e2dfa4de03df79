/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_envelope: the constructor of a datatype; Fortran's parametrized types
 *
 * MPI-5.0 sections 5.1.13 and 19.1.9. A type stores the arguments of its
 * constructor's int form. For a large-count constructor, counts and addresses
 * are returned as large counts. Only the two array constructors also have int
 * arguments. */
#include "mpi_check.h"
#include "mpi_map.h"

/* The numbers of arguments of each kind. */
struct shown {
	int64_t n_ints, n_aints, n_counts, n_types;
};

static struct shown shown_of(const struct weft_type *type)
{
	struct shown s = { type->n_ints, type->n_aints, 0, type->n_types };

	switch (type->combiner) {
	case WEFT_COMBINER_F90_REAL:
	case WEFT_COMBINER_F90_COMPLEX:
		s.n_types = 0;
		break;
	case WEFT_COMBINER_F90_INTEGER:
		s.n_ints = 1;
		s.n_types = 0;
		break;
	case WEFT_COMBINER_SUBARRAY:
		if (type->is_large) {
			s.n_ints = 2;
			s.n_counts = type->n_ints - 2;
		}
		break;
	case WEFT_COMBINER_DARRAY:
		if (type->is_large) {
			s.n_counts = type->args[2];
			s.n_ints -= s.n_counts;
		}
		break;
	default:
		if (type->is_large)
			s = (struct shown){ 0, 0, s.n_ints + s.n_aints,
				s.n_types };
	}
	return s;
}

/* Output arguments. */
struct contents {
	int *ints;
	MPI_Aint *aints;
	MPI_Count *counts;
	MPI_Datatype *types;
};

/* Copies arguments of the constructor as ints. */
static int *mpi_envelope_copy_ints(
	const struct weft_type *type, int64_t first, int64_t n, int *to)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = (int)type->args[first + i];
	return to + n;
}

static void copy_counts(
	const struct weft_type *type, int64_t first, int64_t n, MPI_Count *to)
{
	if (n)
		memcpy(to, type->args + first, (size_t)n * sizeof *to);
}

static void fill_args(const struct weft_type *type, const struct shown *s,
	const struct contents *c)
{
	int64_t n_dims;
	int *ints;

	if (type->is_large && type->combiner == WEFT_COMBINER_SUBARRAY) {
		ints = mpi_envelope_copy_ints(type, 0, 1, c->ints);
		mpi_envelope_copy_ints(type, type->n_ints - 1, 1, ints);
		copy_counts(type, 1, s->n_counts, c->counts);
	} else if (type->is_large && type->combiner == WEFT_COMBINER_DARRAY) {
		n_dims = type->args[2];
		ints = mpi_envelope_copy_ints(type, 0, 3, c->ints);
		mpi_envelope_copy_ints(type, 3 + n_dims, s->n_ints - 3, ints);
		copy_counts(type, 3, n_dims, c->counts);
	} else if (type->combiner == WEFT_COMBINER_F90_INTEGER) {
		mpi_envelope_copy_ints(type, 1, 1, c->ints);
	} else {
		mpi_envelope_copy_ints(type, 0, s->n_ints, c->ints);
		copy_counts(type, 0, s->n_counts, c->counts);
		if (s->n_aints)
			memcpy(c->aints, type->args + type->n_ints,
				(size_t)s->n_aints * sizeof *c->aints);
	}
}

static void mpi_envelope_fill(const struct weft_type *type,
	const struct shown *s, const struct contents *c)
{
	fill_args(type, s, c);
	for (int64_t i = 0; i < s->n_types; i++)
		c->types[i] = (MPI_Datatype)(uintptr_t)weft_type_open_handle(
			type->types[i]);
}

static int only_large(void)
{
	return weft_err_set(WEFT_ERR_TYPE,
		"the datatype was made by a large-count procedure; only the "
		"large-count form can describe it");
}

static int mpi_type_get_envelope(const struct weft_type *type,
	int *num_integers, int *num_addresses, int *num_datatypes,
	int *combiner)
{
	struct shown s = shown_of(type);

	if (s.n_counts)
		return only_large();
	*num_integers = (int)s.n_ints;
	*num_addresses = (int)s.n_aints;
	*num_datatypes = (int)s.n_types;
	*combiner = (int)type->combiner;
	return 0;
}

static int mpi_type_get_envelope_c(const struct weft_type *type,
	MPI_Count *num_integers, MPI_Count *num_addresses,
	MPI_Count *num_large_counts, MPI_Count *num_datatypes, int *combiner)
{
	struct shown s = shown_of(type);

	*num_integers = s.n_ints;
	*num_addresses = s.n_aints;
	*num_large_counts = s.n_counts;
	*num_datatypes = s.n_types;
	*combiner = (int)type->combiner;
	return 0;
}

static int check_contents(const struct shown *s, const struct contents *out)
{
	int err =
		s->n_ints ? weft_check_ptr(out->ints, "array_of_integers") : 0;

	if (!err && s->n_aints)
		err = weft_check_ptr(out->aints, "array_of_addresses");
	if (!err && s->n_counts)
		err = weft_check_ptr(out->counts, "array_of_large_counts");
	if (!err && s->n_types)
		err = weft_check_ptr(out->types, "array_of_datatypes");
	return err;
}

/* Writes the arguments of the constructor to out. max: sizes of the output
 * arrays. */
static int get_contents(const struct weft_type *type, const struct shown *max,
	const struct contents *out, bool can_large)
{
	struct shown s = shown_of(type);
	int err = 0;

	if (type->combiner == WEFT_COMBINER_NAMED)
		err = weft_err_set(WEFT_ERR_TYPE,
			"%s is predefined and has no contents", type->name);
	if (!err && s.n_counts && !can_large)
		err = only_large();
	if (!err &&
		(max->n_ints < s.n_ints || max->n_aints < s.n_aints ||
			max->n_counts < s.n_counts || max->n_types < s.n_types))
		err = weft_err_set(WEFT_ERR_ARG,
			"an array is shorter than the envelope reports: %lld "
			"integers, %lld addresses, %lld counts, %lld datatypes",
			(long long)s.n_ints, (long long)s.n_aints,
			(long long)s.n_counts, (long long)s.n_types);
	if (!err)
		err = check_contents(&s, out);
	if (!err)
		mpi_envelope_fill(type, &s, out);
	return err;
}

static int mpi_type_get_contents(const struct weft_type *type, int max_integers,
	int max_addresses, int max_datatypes, int array_of_integers[],
	MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[])
{
	const struct shown max = { max_integers, max_addresses, 0,
		max_datatypes };
	const struct contents out = { array_of_integers, array_of_addresses,
		NULL, array_of_datatypes };

	return get_contents(type, &max, &out, false);
}

static int mpi_type_get_contents_c(const struct weft_type *type,
	MPI_Count max_integers, MPI_Count max_addresses,
	MPI_Count max_large_counts, MPI_Count max_datatypes,
	int array_of_integers[], MPI_Aint array_of_addresses[],
	MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[])
{
	const struct shown max = { max_integers, max_addresses,
		max_large_counts, max_datatypes };
	const struct contents out = { array_of_integers, array_of_addresses,
		array_of_large_counts, array_of_datatypes };

	return get_contents(type, &max, &out, true);
}

/* ---- predefined types by property ---- */

static int mpi_type_get_value_index(const struct weft_type *value,
	const struct weft_type *index, struct weft_type **pair)
{
	*pair = weft_type_pair(value, index);
	return 0;
}

/* A predefined type with a property (a class, or decimal digits) and a size. */
struct sized {
	int property;
	int size;
	MPI_Datatype type;
};

static int mpi_type_match_size(
	int typeclass, int size, struct weft_type **found)
{
	const struct sized all[] = {
		{ MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1 },
		{ MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2 },
		{ MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4 },
		{ MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8 },
		{ MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16 },
		{ MPI_TYPECLASS_REAL, 2, MPI_REAL2 },
		{ MPI_TYPECLASS_REAL, 4, MPI_REAL4 },
		{ MPI_TYPECLASS_REAL, 8, MPI_REAL8 },
		{ MPI_TYPECLASS_REAL, 16, MPI_REAL16 },
		{ MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4 },
		{ MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8 },
		{ MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16 },
		{ MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32 },
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i].property == typeclass && all[i].size == size)
			*found = weft_mpi_type(all[i].type);
	if (*found)
		return 0;
	return weft_err_set(WEFT_ERR_ARG,
		"no predefined type of class %d has %d bytes", typeclass, size);
}

/* ---- Fortran's selected kinds ---- */

/* Decimal digits and exponent range of a kind, ascending by size. */
struct kind {
	int p, r;
	MPI_Datatype real, complex;
};

static int f90_float(
	enum weft_combiner combiner, int p, int r, struct weft_type **made)
{
	const struct kind kinds[] = {
		{ 6, 37, MPI_REAL4, MPI_COMPLEX8 },
		{ 15, 307, MPI_REAL8, MPI_COMPLEX16 },
		{ 33, 4931, MPI_REAL16, MPI_COMPLEX32 },
	};
	MPI_Datatype found = MPI_DATATYPE_NULL;

	for (int i = 2; i >= 0; i--)
		if ((p == MPI_UNDEFINED || p <= kinds[i].p) &&
			(r == MPI_UNDEFINED || r <= kinds[i].r))
			found = combiner == WEFT_COMBINER_F90_REAL
					? kinds[i].real
					: kinds[i].complex;
	if (found == MPI_DATATYPE_NULL ||
		(p == MPI_UNDEFINED && r == MPI_UNDEFINED))
		return weft_err_set(WEFT_ERR_ARG,
			"no kind has precision %d and range %d", p, r);
	return weft_type_make_f90(combiner, p, r, weft_mpi_type(found), made);
}

static int mpi_type_create_f90_real(int p, int r, struct weft_type **made)
{
	return f90_float(WEFT_COMBINER_F90_REAL, p, r, made);
}

static int mpi_type_create_f90_complex(int p, int r, struct weft_type **made)
{
	return f90_float(WEFT_COMBINER_F90_COMPLEX, p, r, made);
}

static int mpi_type_create_f90_integer(int r, struct weft_type **made)
{
	const struct sized kinds[] = {
		{ 2, 1, MPI_INTEGER1 },
		{ 4, 2, MPI_INTEGER2 },
		{ 9, 4, MPI_INTEGER4 },
		{ 18, 8, MPI_INTEGER8 },
		{ 38, 16, MPI_INTEGER16 },
	};
	size_t i = 0;

	while (i < 5 && kinds[i].property < r)
		i++;
	if (i == 5)
		return weft_err_set(
			WEFT_ERR_ARG, "no kind has a range of %d digits", r);
	return weft_type_make_f90(WEFT_COMBINER_F90_INTEGER, 0, r,
		weft_mpi_type(kinds[i].type), made);
}

#include "api_envelope.h"
