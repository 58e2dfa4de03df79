/* SPDX-License-Identifier: BSD-3-Clause */
/* failed_test: the list of failed processes, also without memory */
#include "core/failed.h"
#include "transport/proc.h"
#include "test/unit/exhaust.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SCARCE = 32, MANY = 1000 };

static uint64_t numbered(uint32_t i)
{
	return weft_proc_number(1 + i % 2, 7 * i);
}

static void no_failure_is_lost_without_memory(void **state)
{
	struct block *blocks;

	(void)state;
	skip_unless_exhaustible();
	blocks = exhaust();
	for (uint32_t i = 0; i < SCARCE; i++)
		weft_failed_add(numbered(i));
	give_back(blocks);
	for (uint32_t i = 0; i < SCARCE; i++)
		assert_true(weft_failed_is(numbered(i)));
}

static void many_failures_keep_their_order(void **state)
{
	uint64_t procs[MANY];
	struct weft_group *group;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		procs[MANY - 1 - i] = numbered(i);
		weft_failed_add(numbered(i));
		weft_failed_add(numbered(i));
		assert_false(
			weft_failed_is(numbered(i + 1)) && i + 1 >= SCARCE);
	}
	assert_int_equal(weft_group_create(procs, MANY, &group), 0);
	assert_int_equal(weft_failed_first(group), MANY - 1);
	weft_group_put(group);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_true(weft_failed_is(numbered(i)));
		assert_false(weft_failed_was_aborted(numbered(i)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_failure_is_lost_without_memory),
		cmocka_unit_test(many_failures_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
