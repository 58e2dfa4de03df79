/* SPDX-License-Identifier: BSD-3-Clause */
/* handle_test: live, stale, foreign and invented handles */
#include "base/handle.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct thing {
	struct weft_obj obj;
	int value;
	char pad[100];
};

static struct weft_table table = WEFT_TABLE_INIT(struct thing, WEFT_KIND_COMM);
static struct weft_table other = WEFT_TABLE_INIT(struct thing, WEFT_KIND_GROUP);
static struct weft_table grown = WEFT_TABLE_INIT(struct thing, WEFT_KIND_INFO);

static void a_handle_finds_its_object(void **state)
{
	struct thing *thing = weft_table_new(&table);
	uint64_t handle = weft_obj_handle(thing);

	(void)state;
	assert_non_null(thing);
	assert_true(handle >= WEFT_HANDLE_PREDEFINED_END);
	assert_ptr_equal(weft_table_get(&table, handle), thing);
	assert_ptr_equal(weft_table_from_int(&table, (uint32_t)handle), thing);
	weft_table_free(&table, thing);
}

static void a_new_object_is_zeroed(void **state)
{
	struct thing *thing = weft_table_new(&table);

	(void)state;
	thing->value = 5;
	memset(thing->pad, 1, sizeof(thing->pad));
	weft_table_free(&table, thing);
	thing = weft_table_new(&table);
	assert_int_equal(thing->value, 0);
	for (size_t i = 0; i < sizeof(thing->pad); i++)
		assert_int_equal(thing->pad[i], 0);
	weft_table_free(&table, thing);
}

static void a_freed_handle_is_stale_for_ever(void **state)
{
	struct thing *thing = weft_table_new(&table);
	uint64_t old = weft_obj_handle(thing);

	(void)state;
	weft_table_free(&table, thing);
	assert_null(weft_table_get(&table, old));
	assert_null(weft_table_from_int(&table, (uint32_t)old));
	for (int i = 0; i < 1000; i++) {
		struct thing *again = weft_table_new(&table);

		assert_ptr_equal(again, thing);
		assert_true(weft_obj_handle(again) != old);
		assert_null(weft_table_get(&table, old));
		weft_table_free(&table, again);
	}
	weft_table_free(&table, NULL);
}

static void a_renewed_object_stays_live(void **state)
{
	struct thing *thing = weft_table_new(&table);
	uint64_t old = weft_obj_handle(thing);

	(void)state;
	weft_obj_renew(thing);
	assert_null(weft_table_get(&table, old));
	assert_ptr_equal(weft_table_get(&table, weft_obj_handle(thing)), thing);
	weft_table_free(&table, thing);
}

static void a_spare_object_has_no_handle(void **state)
{
	struct thing *thing = weft_table_new(&table);
	uint64_t old = weft_obj_handle(thing);
	uint32_t pos = 0;

	(void)state;
	weft_obj_toggle(thing);
	assert_null(weft_table_get(&table, old));
	assert_null(weft_table_get(&table, weft_obj_handle(thing)));
	assert_null(weft_table_from_int(&table, thing->obj.low));
	assert_null(weft_table_next(&table, &pos));
	weft_obj_toggle(thing);
	assert_null(weft_table_get(&table, old));
	assert_ptr_equal(weft_table_get(&table, weft_obj_handle(thing)), thing);
	weft_table_free(&table, thing);
}

static void generations_wrap_without_dying(void **state)
{
	struct thing *thing = weft_table_new(&table);

	(void)state;
	thing->obj.gen = 0x7fffffffu;
	assert_ptr_equal(weft_table_get(&table, weft_obj_handle(thing)), thing);
	weft_obj_renew(thing);
	assert_ptr_equal(weft_table_get(&table, weft_obj_handle(thing)), thing);
	weft_table_free(&table, thing);
	thing = weft_table_new(&table);
	assert_true(weft_obj_handle(thing) >> 63 == 0);
	weft_table_free(&table, thing);
}

static void a_foreign_handle_is_refused(void **state)
{
	struct thing *thing = weft_table_new(&table);

	(void)state;
	assert_null(weft_table_get(&other, weft_obj_handle(thing)));
	weft_table_free(&table, thing);
}

static void invented_handles_are_refused(void **state)
{
	struct thing *thing = weft_table_new(&table);
	uint64_t handle = weft_obj_handle(thing);

	(void)state;
	srandom(7);
	for (uint64_t low = 0; low < WEFT_HANDLE_PREDEFINED_END; low++)
		assert_null(weft_table_get(&table, low));
	for (int i = 0; i < 1000000; i++) {
		uint64_t any = (uint64_t)random() << 33 ^
			       (uint64_t)random() << 16 ^ (uint64_t)random();

		if (any != handle)
			assert_null(weft_table_get(&table, any));
	}
	for (int bit = 0; bit < 64; bit++)
		assert_null(weft_table_get(&table, handle ^ 1ull << bit));
	weft_table_free(&table, thing);
}

static void many_objects_keep_apart(void **state)
{
	enum { N = 3000 };
	static struct thing *things[N];
	static uint64_t handles[N];
	uint32_t before = weft_table_n_live(&table), pos = 0, n = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		things[i] = weft_table_new(&table);
		things[i]->value = i;
		handles[i] = weft_obj_handle(things[i]);
	}
	assert_int_equal(weft_table_n_live(&table), before + N);
	for (int i = 0; i < N; i += 2)
		weft_table_free(&table, things[i]);
	for (int i = 0; i < N; i++) {
		struct thing *thing = weft_table_get(&table, handles[i]);

		if (i % 2)
			assert_int_equal(thing->value, i);
		else
			assert_null(thing);
	}
	while (weft_table_next(&table, &pos))
		n++;
	assert_int_equal(n, before + N / 2);
	for (int i = 1; i < N; i += 2)
		weft_table_free(&table, things[i]);
	assert_int_equal(weft_table_n_live(&table), before);
}

static void *churn(void *arg)
{
	intptr_t bad = 0;

	(void)arg;
	for (int i = 0; i < 20000; i++) {
		struct thing *thing = weft_table_new(&other);
		uint64_t handle = weft_obj_handle(thing);

		bad += weft_table_get(&other, handle) != thing;
		weft_table_free(&other, thing);
	}
	return (void *)bad;
}

static void threads_share_a_table(void **state)
{
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, churn, NULL), 0);
	for (int i = 0; i < 4; i++) {
		void *bad;

		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
	assert_int_equal(weft_table_n_live(&other), 0);
}

/* Allocates more objects than a chunk has, so that the table grows. */
static void *grow(void *arg)
{
	enum { N = 1000 };
	struct thing *things[N];

	for (int i = 0; i < N; i++)
		things[i] = weft_table_new(&grown);
	for (int i = 0; i < N; i++)
		weft_table_free(&grown, things[i]);
	atomic_fetch_sub_explicit((atomic_int *)arg, 1, memory_order_release);
	return NULL;
}

static void a_table_is_walked_while_it_grows(void **state)
{
	atomic_int n_growing = 2;
	pthread_t threads[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, grow, &n_growing), 0);
	while (atomic_load_explicit(&n_growing, memory_order_acquire)) {
		const struct thing *thing;
		uint32_t pos = 0;

		while ((thing = weft_table_next(&grown, &pos)) != NULL)
			assert_int_equal(
				thing->obj.low >> WEFT_HANDLE_INDEX_BITS,
				WEFT_KIND_INFO);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(weft_table_n_live(&grown), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handle_finds_its_object),
		cmocka_unit_test(a_new_object_is_zeroed),
		cmocka_unit_test(a_freed_handle_is_stale_for_ever),
		cmocka_unit_test(a_renewed_object_stays_live),
		cmocka_unit_test(a_spare_object_has_no_handle),
		cmocka_unit_test(generations_wrap_without_dying),
		cmocka_unit_test(a_foreign_handle_is_refused),
		cmocka_unit_test(invented_handles_are_refused),
		cmocka_unit_test(many_objects_keep_apart),
		cmocka_unit_test(threads_share_a_table),
		cmocka_unit_test(a_table_is_walked_while_it_grows),
	};

	return cmocka_run_group_tests_name("handle", tests, NULL, NULL);
}
