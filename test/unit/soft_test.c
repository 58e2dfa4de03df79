/* SPDX-License-Identifier: BSD-3-Clause */
/* soft_test: the numbers of processes that a spawn may start */
#include "spawn/spawn_soft.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static uint32_t most(const char *text, uint32_t limit)
{
	uint32_t n = 99999;

	assert_int_equal(weft_spawn_soft_max(text, limit, &n), 0);
	return n;
}

static void the_standard_s_forms(void **state)
{
	(void)state;
	assert_int_equal(most("3", 8), 3);
	assert_int_equal(most("9", 8), 0);
	assert_int_equal(most("2:6", 8), 6);
	assert_int_equal(most("2:6", 4), 4);
	assert_int_equal(most("0:1000:3", 8), 6);
	assert_int_equal(most("1,2,4,8,16", 15), 8);
	assert_int_equal(most("16:1:-5", 15), 11);
	assert_int_equal(most("16:12:-5", 15), 0);
	assert_int_equal(most("6:2:-2", 5), 4);
	assert_int_equal(most("6:2", 5), 0);
	assert_int_equal(most("0", 5), 0);
	assert_int_equal(most("-3:2", 5), 2);
}

/* Compares each small range with an explicit list. */
static void every_small_range(void **state)
{
	(void)state;
	for (int from = -3; from < 12; from++)
		for (int to = -3; to < 12; to++)
			for (int step = -5; step < 6; step++)
				for (int limit = 1; limit < 10; limit++) {
					char text[48];
					int best = 0, x = from;

					if (!step)
						continue;
					for (; step > 0 ? x <= to : x >= to;
						x += step)
						if (x <= limit && x > best)
							best = x;
					snprintf(text, sizeof(text), "%d:%d:%d",
						from, to, step);
					if (most(text, (uint32_t)limit) !=
						(uint32_t)best)
						fail_msg("%s to %d", text,
							limit);
				}
}

static void anything_else_is_an_error(void **state)
{
	static const char *const bad[] = { "", "x", "1,", ",1",
		"1:", "1:2:", "1:2:0", "1:2:3:4", "1;2", "99999999999999999999",
		"1 2" };
	uint32_t n = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(weft_spawn_soft_max(bad[i], 8, &n),
			WEFT_ERR_INFO_VALUE);
	assert_int_equal(n, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_standard_s_forms),
		cmocka_unit_test(every_small_range),
		cmocka_unit_test(anything_else_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
