/* SPDX-License-Identifier: BSD-3-Clause */
/* type_test: bounds, sizes, envelopes and handles of datatypes */
#include "dt/type.h"
#include "base/err.h"
#include "dt/flat.h"
#include "typeref.h"

#include <pthread.h>

static struct weft_type *builtin(unsigned value)
{
	struct weft_type *type = weft_type_builtin(value);

	assert_non_null(type);
	return type;
}

static void test_builtin_values(void **state)
{
	int n = 0;

	(void)state;
	for (unsigned v = 0x1f0; v < 0x300; v++) {
		struct weft_type *t = weft_type_builtin(v);

		if (!t)
			continue;
		n++;
		assert_int_equal(weft_obj_handle(t), v);
		assert_ptr_equal(weft_type_lookup(v), t);
		assert_true(t->size > 0 && t->extent >= t->size);
		assert_int_equal(
			strncmp(t->name,
				v == 0x24a || v == 0x24c ? "MPIX_" : "MPI_", 4),
			0);
		/* fixed-size types carry the log2 of their size */
		if (v >= 0x240)
			assert_int_equal(t->size, 1 << ((v >> 3) & 7));
	}
	assert_int_equal(n, 72);
	assert_null(weft_type_builtin(0x200));
	assert_int_equal(builtin(0x229)->extent, 16);
	assert_int_equal(builtin(0x229)->size, 12);
	assert_false(builtin(0x22c)->is_one_run);
}

/* Every random type has the bounds, size and elements of its type map. */
static void test_random_bounds(void **state)
{
	struct ref *r = malloc(sizeof *r);
	uint32_t before = weft_table_n_live(&weft_types);

	(void)state;
	for (uint64_t s = 1; s <= 4000; s++) {
		uint64_t seed = s;
		struct weft_type *t = random_type(&seed, r, DEPTH_MAX);
		int64_t lb, ub;

		ref_true(r, &lb, &ub);
		assert_int_equal(t->size, ref_size(r));
		assert_int_equal(t->lb, r->lb);
		assert_int_equal(t->extent, r->ub - r->lb);
		assert_int_equal(t->true_lb, lb);
		assert_int_equal(t->true_extent, ub - lb);
		assert_int_equal(t->n_elems, r->n);
		weft_type_put(t);
	}
	assert_int_equal(weft_table_n_live(&weft_types), before);
	free(r);
}

/* The span of any number of items is from their lowest to their highest byte.
 */
static void test_span(void **state)
{
	struct ref *r = malloc(sizeof *r);
	struct weft_type *t, *back;
	int64_t first, len;
	int n_negative = 0;

	(void)state;
	for (uint64_t s = 1; s <= 2000; s++) {
		uint64_t seed = s;
		int64_t lb, ub, rest, count, extent;

		t = random_type(&seed, r, DEPTH_MAX);
		extent = (int64_t)rnd(&seed, 200) - 100;
		assert_int_equal(
			weft_type_make_resized(t, 7, extent, &back), 0);
		count = rnd(&seed, 6);
		ref_true(r, &lb, &ub);
		rest = (count - 1) * extent;
		assert_true(weft_type_span(back, count, &first, &len));
		if (!count || !r->n) {
			assert_int_equal(first, 0);
			assert_int_equal(len, 0);
		} else {
			assert_int_equal(first, rest < 0 ? lb + rest : lb);
			assert_int_equal(len, ub - lb + llabs(rest));
			n_negative += rest < 0;
		}
		weft_type_put(back);
		weft_type_put(t);
	}
	assert_true(n_negative > 100);
	t = builtin(0x214);
	assert_int_equal(weft_type_make_resized(t, 0, INT64_MIN / 4, &back), 0);
	assert_true(weft_type_span(back, 4, &first, &len));
	assert_false(weft_type_span(back, 5, &first, &len));
	assert_false(weft_type_span(back, INT64_MAX, &first, &len));
	weft_type_put(back);
	free(r);
}

/* The elements of any number of leading bytes. */
static void test_elements(void **state)
{
	struct ref *r = malloc(sizeof *r);

	(void)state;
	for (uint64_t s = 1; s <= 500; s++) {
		uint64_t seed = s * 77;
		struct weft_type *t = random_type(&seed, r, DEPTH_MAX);
		int64_t at = 0, n = 0;

		for (int i = 0; i < 2 * r->n; i++) {
			assert_int_equal(weft_type_elements(t, at), n);
			assert_int_equal(weft_type_elements_len(t, n), at);
			at += r->e[i % r->n].size;
			assert_int_equal(weft_type_elements(t, at - 1), n);
			n++;
			assert_int_equal(weft_type_elements(t, at), n);
		}
		weft_type_put(t);
	}
	free(r);
}

struct seen {
	const struct ref *r;
	int64_t at; /* position in bytes */
	int64_t n;
};

static int see(
	void *arg, const struct weft_type *basic, int64_t disp, int64_t n)
{
	struct seen *seen = arg;

	for (int64_t i = 0; i < n; i++) {
		assert_int_equal(disp + i * basic->extent,
			seen->r->e[seen->n % seen->r->n].disp +
				seen->n / seen->r->n *
					(seen->r->ub - seen->r->lb));
		seen->n += basic->n_elems;
	}
	return 0;
}

static void test_visit(void **state)
{
	struct ref *r = malloc(sizeof *r);

	(void)state;
	for (uint64_t s = 1; s <= 1000; s++) {
		uint64_t seed = s * 31;
		struct weft_type *t = random_type(&seed, r, DEPTH_MAX);
		struct seen seen = { r, 0, 0 };

		assert_int_equal(weft_type_visit(t, 3, see, &seen), 0);
		assert_int_equal(seen.n, 3 * r->n);
		weft_type_put(t);
	}
	free(r);
}

static void test_envelope(void **state)
{
	struct weft_type *old = builtin(0x209), *t = NULL;
	const int64_t lens[] = { 1, 2 }, displs[] = { 8, 32 };

	(void)state;
	assert_int_equal(weft_type_make_hindexed(2, lens, displs, old, &t), 0);
	assert_int_equal(t->combiner, WEFT_COMBINER_HINDEXED);
	assert_int_equal(t->n_ints, 3);
	assert_int_equal(t->n_aints, 2);
	assert_int_equal(t->args[0], 2);
	assert_int_equal(t->args[2], 2);
	assert_int_equal(t->args[4], 32);
	assert_ptr_equal(t->types[0], old);
	assert_false(t->is_committed);
	weft_type_commit(t);
	assert_true(t->is_committed);
	weft_type_put(t);
}

/* A million blocks at a constant stride are one loop with all constructors. */
static void test_stays_small(void **state)
{
	struct weft_type *d = builtin(0x214), *a = NULL, *b = NULL, *c = NULL;
	int64_t n = 1000000;
	int64_t *displs = malloc((size_t)n * sizeof *displs);

	(void)state;
	for (int64_t i = 0; i < n; i++)
		displs[i] = 3 * i;
	assert_int_equal(weft_type_make_vector(n, 1, 3, d, &a), 0);
	assert_int_equal(weft_type_make_indexed_block(n, 1, displs, d, &b), 0);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->extent, b->extent);
	assert_int_equal(a->flat->kind, WEFT_FLAT_LOOP);
	assert_int_equal(b->flat->kind, WEFT_FLAT_LOOP);
	assert_int_equal(b->flat->child->kind, WEFT_FLAT_RUN);
	assert_int_equal(weft_type_make_contiguous(n, d, &c), 0);
	assert_true(weft_type_is_run(c, 7));
	assert_false(weft_type_is_run(a, 1));
	weft_type_put(a);
	weft_type_put(b);
	weft_type_put(c);
	free(displs);
}

static void test_refused(void **state)
{
	struct weft_type *d = builtin(0x214), *t = NULL, *big = NULL;
	const int64_t minus = -1, huge = INT64_MAX / 8, one = 1;
	int distrib = WEFT_DISTRIBUTE_BLOCK, darg = 1, psize = 2;
	int64_t gsize = 10;
	struct weft_type_darray desc = { 2, 0, 1, &gsize, &distrib, &darg,
		&psize, WEFT_ORDER_C };

	(void)state;
	assert_int_equal(weft_type_make_contiguous(-1, d, &t), WEFT_ERR_ARG);
	assert_int_equal(weft_type_make_vector(1, -1, 1, d, &t), WEFT_ERR_ARG);
	assert_int_equal(
		weft_type_make_indexed(1, &minus, &one, d, &t), WEFT_ERR_ARG);
	assert_int_equal(weft_type_make_contiguous(INT64_MAX, d, &t),
		WEFT_ERR_VALUE_TOO_LARGE);
	assert_int_equal(weft_type_make_contiguous(huge, d, &big), 0);
	assert_int_equal(weft_type_make_contiguous(3, big, &t),
		WEFT_ERR_VALUE_TOO_LARGE);
	assert_int_equal(weft_type_make_vector(3, 1, INT64_MAX / 8, d, &t),
		WEFT_ERR_VALUE_TOO_LARGE);
	assert_int_equal(weft_type_make_darray(&desc, d, &t), WEFT_ERR_ARG);
	gsize = INT64_MAX;
	distrib = WEFT_DISTRIBUTE_CYCLIC;
	assert_int_equal(
		weft_type_make_darray(&desc, d, &t), WEFT_ERR_VALUE_TOO_LARGE);
	assert_null(t);
	weft_type_put(big);
	assert_int_equal(weft_table_n_live(&weft_types), 0);
}

/* A closed handle is stale although a derived type keeps the type alive, and
 * opening the type again creates a new handle. */
static void test_handles(void **state)
{
	struct weft_type *a = NULL, *b = NULL;
	uint64_t first, second;

	(void)state;
	assert_int_equal(weft_type_make_contiguous(3, builtin(0x209), &a), 0);
	assert_int_equal(weft_type_make_vector(2, 1, 2, a, &b), 0);
	first = weft_obj_handle(a);
	assert_ptr_equal(weft_type_lookup(first), a);
	weft_type_close_handle(a);
	assert_null(weft_type_lookup(first));
	second = weft_type_open_handle(b->types[0]);
	assert_ptr_equal(weft_type_lookup(second), a);
	weft_type_close_handle(b);
	assert_ptr_equal(weft_type_lookup(second), a);
	weft_type_close_handle(a);
	assert_null(weft_type_lookup(second));
	assert_int_equal(weft_table_n_live(&weft_types), 0);
}

static void test_f90(void **state)
{
	struct weft_type *a = NULL, *b = NULL, *c = NULL;

	(void)state;
	assert_int_equal(weft_type_make_f90(WEFT_COMBINER_F90_REAL, 6, 30,
				 builtin(0x21a), &a),
		0);
	assert_int_equal(weft_type_make_f90(WEFT_COMBINER_F90_REAL, 6, 30,
				 builtin(0x21a), &b),
		0);
	assert_int_equal(weft_type_make_f90(WEFT_COMBINER_F90_REAL, 12, 30,
				 builtin(0x21c), &c),
		0);
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	assert_true(a->is_committed && a->is_builtin);
	weft_type_put(a); /* has no effect on a predefined type */
	assert_int_equal(a->size, 4);
}

enum { F90_PAIRS = 100, F90_THREADS = 4 };
static struct weft_type *f90_made[F90_THREADS][F90_PAIRS];

/* Creates Fortran types, while other threads create and free types. */
static void *make_f90(void *arg)
{
	struct weft_type **made = arg, *other;

	for (int p = 0; p < F90_PAIRS; p++) {
		if (weft_type_make_f90(WEFT_COMBINER_F90_REAL, 100 + p, 30,
			    weft_type_builtin(0x21a), &made[p]) ||
			weft_type_make_vector(2, 1, 100 + p,
				weft_type_builtin(0x21a), &other))
			return arg;
		weft_type_close_handle(other);
	}
	return NULL;
}

static void test_f90_threads(void **state)
{
	pthread_t threads[F90_THREADS];

	(void)state;
	for (int i = 0; i < F90_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_f90,
					 f90_made[i]),
			0);
	for (int i = 0; i < F90_THREADS; i++) {
		void *bad = NULL;

		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
	for (int i = 1; i < F90_THREADS; i++)
		assert_memory_equal(
			f90_made[i], f90_made[0], sizeof(f90_made[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin_values),
		cmocka_unit_test(test_random_bounds),
		cmocka_unit_test(test_span),
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_visit),
		cmocka_unit_test(test_envelope),
		cmocka_unit_test(test_stays_small),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_handles),
		cmocka_unit_test(test_f90),
		cmocka_unit_test(test_f90_threads),
	};

	return cmocka_run_group_tests_name("type", tests, NULL, NULL);
}
