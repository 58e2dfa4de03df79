/* SPDX-License-Identifier: BSD-3-Clause */
/* mpitype_test: datatypes and operations through the API
 *
 * Every constructor with int and MPI_Count: the contents of the envelope are
 * passed to the constructor again and must give an equal type. */
#include "mpi.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct shown {
	MPI_Count n_ints, n_aints, n_counts, n_types;
	int combiner;
	int ints[32];
	MPI_Aint aints[32];
	MPI_Count counts[32];
	MPI_Datatype types[8];
};

static void show(MPI_Datatype type, struct shown *s)
{
	memset(s, 0, sizeof *s);
	assert_int_equal(MPI_Type_get_envelope_c(type, &s->n_ints, &s->n_aints,
				 &s->n_counts, &s->n_types, &s->combiner),
		0);
	if (s->combiner != MPI_COMBINER_NAMED)
		assert_int_equal(
			MPI_Type_get_contents_c(type, 32, 32, 32, 8, s->ints,
				s->aints, s->counts, s->types),
			0);
}

static MPI_Datatype again_small(const struct shown *s)
{
	const int *i = s->ints;
	MPI_Datatype t = MPI_DATATYPE_NULL, old = s->types[0];
	int n = i[0];

	switch (s->combiner) {
	case MPI_COMBINER_DUP:
		MPI_Type_dup(old, &t);
		break;
	case MPI_COMBINER_CONTIGUOUS:
		MPI_Type_contiguous(n, old, &t);
		break;
	case MPI_COMBINER_VECTOR:
		MPI_Type_vector(n, i[1], i[2], old, &t);
		break;
	case MPI_COMBINER_HVECTOR:
		MPI_Type_create_hvector(n, i[1], s->aints[0], old, &t);
		break;
	case MPI_COMBINER_INDEXED:
		MPI_Type_indexed(n, i + 1, i + 1 + n, old, &t);
		break;
	case MPI_COMBINER_HINDEXED:
		MPI_Type_create_hindexed(n, i + 1, s->aints, old, &t);
		break;
	case MPI_COMBINER_INDEXED_BLOCK:
		MPI_Type_create_indexed_block(n, i[1], i + 2, old, &t);
		break;
	case MPI_COMBINER_HINDEXED_BLOCK:
		MPI_Type_create_hindexed_block(n, i[1], s->aints, old, &t);
		break;
	case MPI_COMBINER_STRUCT:
		MPI_Type_create_struct(n, i + 1, s->aints, s->types, &t);
		break;
	case MPI_COMBINER_SUBARRAY:
		MPI_Type_create_subarray(n, i + 1, i + 1 + n, i + 1 + 2 * n,
			i[1 + 3 * n], old, &t);
		break;
	case MPI_COMBINER_DARRAY:
		n = i[2];
		MPI_Type_create_darray(i[0], i[1], n, i + 3, i + 3 + n,
			i + 3 + 2 * n, i + 3 + 3 * n, i[3 + 4 * n], old, &t);
		break;
	case MPI_COMBINER_RESIZED:
		MPI_Type_create_resized(old, s->aints[0], s->aints[1], &t);
		break;
	}
	return t;
}

static MPI_Datatype again_large(const struct shown *s)
{
	const MPI_Count *c = s->counts;
	const int *i = s->ints;
	MPI_Datatype t = MPI_DATATYPE_NULL, old = s->types[0];
	MPI_Count n = c[0];

	switch (s->combiner) {
	case MPI_COMBINER_CONTIGUOUS:
		MPI_Type_contiguous_c(n, old, &t);
		break;
	case MPI_COMBINER_VECTOR:
		MPI_Type_vector_c(n, c[1], c[2], old, &t);
		break;
	case MPI_COMBINER_HVECTOR:
		MPI_Type_create_hvector_c(n, c[1], c[2], old, &t);
		break;
	case MPI_COMBINER_INDEXED:
		MPI_Type_indexed_c(n, c + 1, c + 1 + n, old, &t);
		break;
	case MPI_COMBINER_HINDEXED:
		MPI_Type_create_hindexed_c(n, c + 1, c + 1 + n, old, &t);
		break;
	case MPI_COMBINER_INDEXED_BLOCK:
		MPI_Type_create_indexed_block_c(n, c[1], c + 2, old, &t);
		break;
	case MPI_COMBINER_HINDEXED_BLOCK:
		MPI_Type_create_hindexed_block_c(n, c[1], c + 2, old, &t);
		break;
	case MPI_COMBINER_STRUCT:
		MPI_Type_create_struct_c(n, c + 1, c + 1 + n, s->types, &t);
		break;
	case MPI_COMBINER_SUBARRAY:
		MPI_Type_create_subarray_c(
			i[0], c, c + i[0], c + 2 * i[0], i[1], old, &t);
		break;
	case MPI_COMBINER_DARRAY:
		MPI_Type_create_darray_c(i[0], i[1], i[2], c, i + 3,
			i + 3 + i[2], i + 3 + 2 * i[2], i[3 + 3 * i[2]], old,
			&t);
		break;
	case MPI_COMBINER_RESIZED:
		MPI_Type_create_resized_c(old, c[0], c[1], &t);
		break;
	}
	return t;
}

static void assert_same(MPI_Datatype a, MPI_Datatype b)
{
	MPI_Count x[5], y[5];

	MPI_Type_size_c(a, &x[0]);
	MPI_Type_size_c(b, &y[0]);
	MPI_Type_get_extent_c(a, &x[1], &x[2]);
	MPI_Type_get_extent_c(b, &y[1], &y[2]);
	MPI_Type_get_true_extent_c(a, &x[3], &x[4]);
	MPI_Type_get_true_extent_c(b, &y[3], &y[4]);
	assert_memory_equal(x, y, sizeof x);
}

/* Rebuilds a type from its envelope, compares, and frees all. */
static void check(MPI_Datatype *type, int combiner, int is_large)
{
	struct shown s, t;
	MPI_Datatype copy;

	show(*type, &s);
	assert_int_equal(s.combiner, combiner);
	if (is_large)
		assert_true(s.n_counts > 0 && s.n_aints == 0);
	else
		assert_int_equal(s.n_counts, 0);
	copy = is_large ? again_large(&s) : again_small(&s);
	assert_ptr_not_equal(copy, MPI_DATATYPE_NULL);
	assert_same(*type, copy);
	show(copy, &t);
	assert_memory_equal(&s, &t, offsetof(struct shown, types));
	for (int i = 0; i < (int)s.n_types; i++)
		if (s.types[i] != MPI_INT && s.types[i] != MPI_DOUBLE)
			for (int k = 0; k < 2; k++)
				MPI_Type_free(&(k ? t : s).types[i]);
	MPI_Type_free(&copy);
	MPI_Type_free(type);
	assert_ptr_equal(*type, MPI_DATATYPE_NULL);
}

static void test_small(void **state)
{
	const int lens[] = { 1, 3 }, displs[] = { 2, 7 };
	const int sizes[] = { 5, 6 }, subs[] = { 2, 3 }, starts[] = { 1, 2 };
	const int dist[] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK };
	const int dargs[] = { 2, MPI_DISTRIBUTE_DFLT_DARG };
	const int grid[] = { 2, 2 };
	const MPI_Aint aints[] = { 8, 48 };
	MPI_Datatype t, two[2] = { MPI_INT, MPI_DOUBLE };

	(void)state;
	MPI_Type_dup(MPI_INT, &t);
	check(&t, MPI_COMBINER_DUP, 0);
	MPI_Type_contiguous(7, MPI_INT, &t);
	check(&t, MPI_COMBINER_CONTIGUOUS, 0);
	MPI_Type_vector(3, 2, 5, MPI_INT, &t);
	check(&t, MPI_COMBINER_VECTOR, 0);
	MPI_Type_create_hvector(3, 2, 40, MPI_INT, &t);
	check(&t, MPI_COMBINER_HVECTOR, 0);
	MPI_Type_indexed(2, lens, displs, MPI_INT, &t);
	check(&t, MPI_COMBINER_INDEXED, 0);
	MPI_Type_create_hindexed(2, lens, aints, MPI_INT, &t);
	check(&t, MPI_COMBINER_HINDEXED, 0);
	MPI_Type_create_indexed_block(2, 2, displs, MPI_INT, &t);
	check(&t, MPI_COMBINER_INDEXED_BLOCK, 0);
	MPI_Type_create_hindexed_block(2, 2, aints, MPI_INT, &t);
	check(&t, MPI_COMBINER_HINDEXED_BLOCK, 0);
	MPI_Type_create_struct(2, lens, aints, two, &t);
	check(&t, MPI_COMBINER_STRUCT, 0);
	MPI_Type_create_subarray(
		2, sizes, subs, starts, MPI_ORDER_C, MPI_INT, &t);
	check(&t, MPI_COMBINER_SUBARRAY, 0);
	MPI_Type_create_darray(4, 1, 2, sizes, dist, dargs, grid,
		MPI_ORDER_FORTRAN, MPI_INT, &t);
	check(&t, MPI_COMBINER_DARRAY, 0);
	MPI_Type_create_resized(MPI_INT, -4, 24, &t);
	check(&t, MPI_COMBINER_RESIZED, 0);
}

static void test_large(void **state)
{
	const MPI_Count lens[] = { 1, 3 }, displs[] = { 8, 48 };
	const MPI_Count sizes[] = { 5, 6 }, subs[] = { 2, 3 };
	const MPI_Count starts[] = { 1, 2 };
	const int dist[] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK };
	const int dargs[] = { 2, MPI_DISTRIBUTE_DFLT_DARG };
	const int grid[] = { 2, 2 };
	MPI_Datatype t, two[2] = { MPI_INT, MPI_DOUBLE };

	(void)state;
	MPI_Type_contiguous_c((MPI_Count)1 << 40, MPI_INT, &t);
	check(&t, MPI_COMBINER_CONTIGUOUS, 1);
	MPI_Type_vector_c(3, 2, 5, MPI_INT, &t);
	check(&t, MPI_COMBINER_VECTOR, 1);
	MPI_Type_create_hvector_c(3, 2, 40, MPI_INT, &t);
	check(&t, MPI_COMBINER_HVECTOR, 1);
	MPI_Type_indexed_c(2, lens, displs, MPI_INT, &t);
	check(&t, MPI_COMBINER_INDEXED, 1);
	MPI_Type_create_hindexed_c(2, lens, displs, MPI_INT, &t);
	check(&t, MPI_COMBINER_HINDEXED, 1);
	MPI_Type_create_indexed_block_c(2, 2, displs, MPI_INT, &t);
	check(&t, MPI_COMBINER_INDEXED_BLOCK, 1);
	MPI_Type_create_hindexed_block_c(2, 2, displs, MPI_INT, &t);
	check(&t, MPI_COMBINER_HINDEXED_BLOCK, 1);
	MPI_Type_create_struct_c(2, lens, displs, two, &t);
	check(&t, MPI_COMBINER_STRUCT, 1);
	MPI_Type_create_subarray_c(
		2, sizes, subs, starts, MPI_ORDER_FORTRAN, MPI_INT, &t);
	check(&t, MPI_COMBINER_SUBARRAY, 1);
	MPI_Type_create_darray_c(
		4, 3, 2, sizes, dist, dargs, grid, MPI_ORDER_C, MPI_INT, &t);
	check(&t, MPI_COMBINER_DARRAY, 1);
	MPI_Type_create_resized_c(MPI_INT, -4, 24, &t);
	check(&t, MPI_COMBINER_RESIZED, 1);
}

/* The inner type of an envelope exists after the user has freed its handle. */
static void test_nested(void **state)
{
	MPI_Datatype inner, outer;
	struct shown s;
	int size;

	(void)state;
	MPI_Type_vector(3, 2, 5, MPI_INT, &inner);
	MPI_Type_contiguous(2, inner, &outer);
	MPI_Type_free(&inner);
	show(outer, &s);
	assert_int_equal(MPI_Type_size(s.types[0], &size), 0);
	assert_int_equal(size, 24);
	MPI_Type_free(&s.types[0]);
	assert_int_equal(MPI_Type_size(outer, &size), 0);
	assert_int_equal(size, 48);
	MPI_Type_free(&outer);
}

static int n_deleted;

static int count_delete(MPI_Datatype type, int keyval, void *value, void *extra)
{
	(void)type;
	(void)keyval;
	(void)value;
	(void)extra;
	n_deleted++;
	return MPI_SUCCESS;
}

/* A user frees the handle that an envelope returned. The attributes of the type
 * stay while its owner has it. */
static void test_attributes_stay(void **state)
{
	MPI_Datatype inner, outer;
	struct shown s;
	int key, found = 0;
	void *value;

	(void)state;
	n_deleted = 0;
	MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, count_delete, &key, NULL);
	MPI_Type_vector(3, 2, 5, MPI_INT, &inner);
	MPI_Type_set_attr(inner, key, &key);
	MPI_Type_contiguous(2, inner, &outer);
	show(outer, &s);
	MPI_Type_free(&s.types[0]);
	assert_int_equal(n_deleted, 0);
	MPI_Type_get_attr(inner, key, &value, &found);
	assert_true(found && value == &key);
	MPI_Type_free(&inner);
	assert_int_equal(n_deleted, 1);
	MPI_Type_free(&outer);
	assert_int_equal(n_deleted, 1);
	MPI_Type_free_keyval(&key);
}

static void test_large_size(void **state)
{
	MPI_Datatype t;
	MPI_Count wide;
	int size = 0;

	(void)state;
	MPI_Type_contiguous_c((MPI_Count)1 << 33, MPI_BYTE, &t);
	MPI_Type_size(t, &size);
	assert_int_equal(size, MPI_UNDEFINED);
	MPI_Type_size_c(t, &wide);
	assert_int_equal(wide, (MPI_Count)1 << 33);
	MPI_Type_free(&t);
}

static void test_names(void **state)
{
	char name[MPI_MAX_OBJECT_NAME];
	MPI_Datatype t;
	int len;

	(void)state;
	MPI_Type_get_name(MPI_DOUBLE_INT, name, &len);
	assert_string_equal(name, "MPI_DOUBLE_INT");
	assert_int_equal(len, strlen(name));
	MPI_Type_get_name(MPI_DATATYPE_NULL, name, &len);
	assert_string_equal(name, "MPI_DATATYPE_NULL");
	MPI_Type_contiguous(2, MPI_INT, &t);
	MPI_Type_get_name(t, name, &len);
	assert_string_equal(name, "");
	MPI_Type_set_name(t, "two");
	MPI_Type_get_name(t, name, &len);
	assert_string_equal(name, "two");
	MPI_Type_free(&t);
}

static void test_fortran(void **state)
{
	MPI_Datatype a, b;
	struct shown s;
	int size;

	(void)state;
	MPI_Type_create_f90_real(10, MPI_UNDEFINED, &a);
	MPI_Type_create_f90_real(10, MPI_UNDEFINED, &b);
	assert_ptr_equal(a, b);
	MPI_Type_size(a, &size);
	assert_int_equal(size, 8);
	show(a, &s);
	assert_int_equal(s.combiner, MPI_COMBINER_F90_REAL);
	assert_int_equal(s.n_ints, 2);
	assert_int_equal(s.n_types, 0);
	assert_int_equal(s.ints[0], 10);
	MPI_Type_create_f90_integer(12, &a);
	MPI_Type_size(a, &size);
	assert_int_equal(size, 8);
	show(a, &s);
	assert_int_equal(s.n_ints, 1);
	assert_int_equal(s.ints[0], 12);
	MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &a);
	MPI_Type_size(a, &size);
	assert_int_equal(size, 16);
	MPI_Type_get_value_index(MPI_LONG, MPI_INT, &a);
	assert_ptr_equal(a, MPI_LONG_INT);
	MPI_Type_get_value_index(MPI_CHAR, MPI_INT, &a);
	assert_ptr_equal(a, MPI_DATATYPE_NULL);
}

static void add_mod(void *in, void *inout, int *n, MPI_Datatype *type)
{
	const int *a = in;
	int *b = inout;

	assert_ptr_equal(*type, MPI_INT);
	for (int i = 0; i < *n; i++)
		b[i] = (a[i] + b[i]) % 10;
}

static void test_ops(void **state)
{
	int in[3] = { 5, 6, 7 }, out[3] = { 6, 7, 8 }, flag = -1;
	MPI_Op op;

	(void)state;
	MPI_Op_create(add_mod, 0, &op);
	MPI_Op_commutative(op, &flag);
	assert_int_equal(flag, 0);
	MPI_Op_commutative(MPI_SUM, &flag);
	assert_int_equal(flag, 1);
	MPI_Reduce_local(in, out, 3, MPI_INT, op);
	assert_int_equal(out[0], 1);
	assert_int_equal(out[2], 5);
	MPI_Reduce_local(in, out, 3, MPI_INT, MPI_MAX);
	assert_int_equal(out[0], 5);
	MPI_Op_free(&op);
	assert_ptr_equal(op, MPI_OP_NULL);
}

static void test_external(void **state)
{
	const unsigned char want[] = { 0, 0, 1, 2, 0xff, 0xff, 0xff, 0xfe };
	int in[2] = { 0x102, -2 }, out[2] = { 0 };
	unsigned char stream[16];
	MPI_Aint size, position = 1;

	(void)state;
	MPI_Pack_external_size("external32", 2, MPI_INT, &size);
	assert_int_equal(size, 8);
	MPI_Pack_external("external32", in, 2, MPI_INT, stream, 16, &position);
	assert_int_equal(position, 9);
	assert_memory_equal(stream + 1, want, 8);
	position = 1;
	MPI_Unpack_external(
		"external32", stream, 16, &position, out, 2, MPI_INT);
	assert_memory_equal(in, out, sizeof in);
}

static int open_session(void **state)
{
	*state = test_malloc(sizeof(MPI_Session));
	return MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, *state);
}

static int close_session(void **state)
{
	int rc = MPI_Session_finalize(*state);

	test_free(*state);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_attributes_stay),
		cmocka_unit_test(test_large_size),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_fortran),
		cmocka_unit_test(test_ops),
		cmocka_unit_test(test_external),
	};

	return cmocka_run_group_tests_name(
		"mpitype", tests, open_session, close_session);
}
