/* SPDX-License-Identifier: BSD-3-Clause */
/* leader_test: weft_leader_check() and weft_leader_group() refuse invalid data
 * of the other leader */
#include "comm/leader.h"
#include "transport/proc.h"
#include "transport/wire.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { SIZE = 10, JOB = 5 };

static uint64_t proc(uint32_t rank)
{
	return weft_proc_number(JOB, rank);
}

static int setup(void **state)
{
	(void)state;
	weft_proc.proc = proc(3);
	weft_proc.facts.size = SIZE;
	return 0;
}

static int check(uint64_t ctx, uint32_t n_runs, uint16_t has_vcis, size_t len)
{
	struct weft_leader leader = { ctx, n_runs, has_vcis, 1 };

	return weft_leader_check(&leader, len);
}

static void a_description_is_checked(void **state)
{
	const struct weft_leader wrong = { WEFT_CTX_OFFSET_END, 1, 0, 2 };
	const uint64_t ctx = 7 * (uint64_t)WEFT_CTX_OFFSET_END;
	const size_t len = sizeof(struct weft_leader);

	(void)state;
	assert_int_equal(weft_leader_limit(), SIZE);
	assert_int_equal(check(ctx, 1, 0, len), 0);
	assert_int_equal(check(ctx, SIZE, 1, len), 0);
	assert_int_equal(check(0, 1, 0, len), WEFT_ERR_PROTO);
	assert_int_equal(check(ctx + 1, 1, 0, len), WEFT_ERR_PROTO);
	assert_int_equal(check(ctx, 0, 0, len), WEFT_ERR_PROTO);
	assert_int_equal(check(ctx, SIZE + 1, 0, len), WEFT_ERR_PROTO);
	assert_int_equal(check(ctx, 1, 2, len), WEFT_ERR_PROTO);
	assert_int_equal(weft_leader_check(&wrong, len), WEFT_ERR_PROTO);
	assert_int_equal(check(ctx, 1, 0, len - 1), WEFT_ERR_PROTO);
	assert_int_equal(check(ctx, 1, 0, len + 8), WEFT_ERR_PROTO);
}

static void runs_of_the_job_become_a_group(void **state)
{
	const struct weft_run runs[] = {
		{ .first = proc(8), .stride = -3, .n = 3, .rank = 0 },
		{ .first = proc(0), .stride = 1, .n = 2, .rank = 3 },
	};
	const uint32_t ranks[] = { 8, 5, 2, 0, 1 };
	struct weft_group *group = NULL;

	(void)state;
	assert_int_equal(weft_leader_group(runs, 2, &group), 0);
	assert_int_equal(group->size, 5);
	for (uint32_t i = 0; i < group->size; i++)
		assert_int_equal(weft_group_proc(group, i), proc(ranks[i]));
	weft_group_put(group);
}

static void other_runs_are_refused(void **state)
{
	const struct weft_run wrong[][2] = {
		/* ranks beyond either end of the job */
		{ { .first = proc(SIZE), .stride = 1, .n = 1 } },
		{ { .first = proc(8), .stride = 1, .n = 3 } },
		{ { .first = proc(2), .stride = -1, .n = 4 } },
		{ { .first = proc(0), .stride = SIZE, .n = 2 } },
		/* numbers that overflow when multiplied */
		{ { .first = proc(0), .stride = INT64_MAX, .n = 3 } },
		{ { .first = proc(0), .stride = INT64_MIN, .n = 3 } },
		{ { .first = proc(0), .stride = 1, .n = UINT32_MAX } },
		/* a run without a process; a process of another job */
		{ { .first = proc(0), .stride = 1, .n = 0 } },
		{ { .first = weft_proc_number(JOB + 1, 0),
			.stride = 1,
			.n = 1 } },
		/* a process that is listed twice: in one run, or in two */
		{ { .first = proc(4), .stride = 0, .n = 2 } },
		{ { .first = proc(4), .stride = 1, .n = 3, .rank = 0 },
			{ .first = proc(9), .stride = -3, .n = 2, .rank = 3 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct weft_group *group = NULL;
		uint32_t n = wrong[i][1].first ? 2 : 1;

		assert_int_equal(
			weft_leader_group(wrong[i], n, &group), WEFT_ERR_PROTO);
		assert_null(group);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_description_is_checked),
		cmocka_unit_test(runs_of_the_job_become_a_group),
		cmocka_unit_test(other_runs_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
