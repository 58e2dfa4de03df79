/* SPDX-License-Identifier: BSD-3-Clause */
/* map_test: random operations against a plain array */
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N_KEYS = 300, N_STEPS = 200000 };

/* Keys that collide a lot and keys that do not. */
static uint64_t key_of(int i)
{
	return i % 2 ? (uint64_t)(i + 1) << 40 : (uint64_t)i + 1;
}

static void agrees_with_an_array(void **state)
{
	static char model[N_KEYS];
	static int values[N_KEYS][2];
	struct weft_map map = { 0 };
	size_t n_model = 0;

	(void)state;
	srandom(42);
	for (int step = 0; step < N_STEPS; step++) {
		int i = (int)(random() % N_KEYS), which = (int)(random() % 2);
		void *want = model[i] ? &values[i][model[i] - 1] : NULL;

		/* phases that grow and phases that shrink */
		if (random() % 10 < (step / 20000 % 2 ? 3 : 6)) {
			assert_int_equal(weft_map_put(&map, key_of(i),
						 &values[i][which]),
				0);
			n_model += !model[i];
			model[i] = (char)(which + 1);
		} else if (random() % 2) {
			assert_ptr_equal(
				weft_map_remove(&map, key_of(i)), want);
			n_model -= model[i] != 0;
			model[i] = 0;
		} else {
			assert_ptr_equal(weft_map_get(&map, key_of(i)), want);
		}
		assert_int_equal(map.n_used, n_model);
	}
	for (int i = 0; i < N_KEYS; i++)
		assert_ptr_equal(weft_map_get(&map, key_of(i)),
			model[i] ? &values[i][model[i] - 1] : NULL);
	weft_map_fini(&map);
}

static void a_walk_meets_every_entry_once(void **state)
{
	static int met[N_KEYS];
	struct weft_map map = { 0 };
	struct weft_map_entry *e;
	size_t pos = 0;

	(void)state;
	memset(met, 0, sizeof(met));
	for (int i = 0; i < N_KEYS; i++)
		assert_int_equal(weft_map_put(&map, key_of(i), &met[i]), 0);
	while ((e = weft_map_next(&map, &pos)) != NULL)
		++*(int *)e->value;
	for (int i = 0; i < N_KEYS; i++)
		assert_int_equal(met[i], 1);
	weft_map_fini(&map);
}

static void an_empty_map_answers(void **state)
{
	struct weft_map map = { 0 };
	size_t pos = 0;

	(void)state;
	assert_null(weft_map_get(&map, 1));
	assert_null(weft_map_remove(&map, 1));
	assert_null(weft_map_next(&map, &pos));
	weft_map_fini(&map);
	assert_int_equal(weft_map_put(&map, 9, &map), 0);
	assert_ptr_equal(weft_map_get(&map, 9), &map);
	weft_map_fini(&map);
	assert_null(weft_map_get(&map, 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_an_array),
		cmocka_unit_test(a_walk_meets_every_entry_once),
		cmocka_unit_test(an_empty_map_answers),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
