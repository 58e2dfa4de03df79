/* SPDX-License-Identifier: BSD-3-Clause */
/* interval_test: random intervals against a byte for each address */
#include "base/interval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { ADDRESSES = 2000, LONGEST = 40, N_STEPS = 200000 };

static struct weft_interval *any_in(
	struct weft_interval *const *owner, size_t start, size_t end)
{
	for (size_t i = start; i < end; i++)
		if (owner[i])
			return owner[i];
	return NULL;
}

static void own(struct weft_interval **owner, const struct weft_interval *range,
	struct weft_interval *by)
{
	for (size_t i = range->start; i < range->end; i++)
		owner[i] = by;
}

static void agrees_with_an_array(void **state)
{
	static struct weft_interval *owner[ADDRESSES + LONGEST];
	struct weft_intervals ranges = { 0 };
	struct weft_interval *range;

	(void)state;
	srandom(42);
	for (int step = 0; step < N_STEPS; step++) {
		size_t start = (size_t)random() % ADDRESSES;
		size_t end = start + (size_t)random() % LONGEST;
		bool is_any = any_in(owner, start, end);

		range = weft_interval_find(&ranges, start, end);
		assert_int_equal(range != NULL, is_any);
		if (range) {
			assert_ptr_equal(owner[range->start], range);
			assert_true(range->start < end && start < range->end);
		}
		/* phases that grow and phases that shrink */
		if (range && random() % 10 < (step / 20000 % 2 ? 9 : 1)) {
			weft_interval_remove(&ranges, range);
			own(owner, range, NULL);
			free(range);
		} else if (!range && start < end) {
			range = malloc(sizeof(*range));
			assert_non_null(range);
			*range = (struct weft_interval){ start, end };
			assert_int_equal(weft_interval_add(&ranges, range), 0);
			own(owner, range, range);
		}
	}
	while ((range = weft_interval_find(&ranges, 0, UINTPTR_MAX)) != NULL) {
		weft_interval_remove(&ranges, range);
		own(owner, range, NULL);
		free(range);
	}
	assert_null(ranges.root);
	assert_null(any_in(owner, 0, ADDRESSES + LONGEST));
}

static void adjacent_intervals_do_not_overlap(void **state)
{
	struct weft_interval low = { 100, 200 }, high = { 300, 400 };
	struct weft_intervals ranges = { 0 };

	(void)state;
	assert_null(weft_interval_find(&ranges, 0, UINTPTR_MAX));
	assert_int_equal(weft_interval_add(&ranges, &low), 0);
	assert_int_equal(weft_interval_add(&ranges, &high), 0);
	assert_null(weft_interval_find(&ranges, 200, 300));
	assert_null(weft_interval_find(&ranges, 0, 100));
	assert_null(weft_interval_find(&ranges, 400, UINTPTR_MAX));
	assert_null(weft_interval_find(&ranges, 150, 150)); /* an empty range */
	assert_ptr_equal(weft_interval_find(&ranges, 199, 300), &low);
	assert_ptr_equal(weft_interval_find(&ranges, 200, 301), &high);
	weft_interval_remove(&ranges, &low);
	assert_null(weft_interval_find(&ranges, 0, 300));
	weft_interval_remove(&ranges, &high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_an_array),
		cmocka_unit_test(adjacent_intervals_do_not_overlap),
	};

	return cmocka_run_group_tests_name("interval", tests, NULL, NULL);
}
