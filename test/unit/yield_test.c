/* SPDX-License-Identifier: BSD-3-Clause */
/* yield_test: when yields are costly, with a simulated clock */
#include "base/yield.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

enum { MS = 1000000, S = 1000000000 };

static uint64_t now = S, yield_ns;
static int n_yields;

/* Replaces the function of the C library. */
int sched_yield(void)
{
	now += yield_ns;
	n_yields++;
	return 0;
}

/* The same. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = (time_t)(now / S);
	ts->tv_nsec = (long)(now % S);
	return 0;
}

/* Yields n times; each yield takes some time. */
static void yield_each(int n, uint64_t ns)
{
	yield_ns = ns;
	for (int i = 0; i < n; i++)
		assert_true(weft_yield());
}

/* Yields until the count of costly yields is 0. */
static void forget(void)
{
	now += S;
	yield_each(40, 0);
	assert_false(weft_yield_is_costly());
}

/* The time for which yields are refused, in ms. */
static int refused_ms(void)
{
	int ms = 0;

	yield_ns = 0;
	for (; !weft_yield(); ms++)
		now += MS;
	return ms;
}

/* After some yields of a length, the next one is refused. Returns the number.
 * Seven of eight are not timed. */
static int yields_before_refusal(uint64_t ns)
{
	yield_ns = ns;
	n_yields = 0;
	while (n_yields < 1000 && weft_yield())
		;
	return n_yields;
}

static void three_costly_yields_are_enough(void **state)
{
	int n;

	(void)state;
	forget();
	n = yields_before_refusal(MS);
	assert_in_range(n, 3, 3 + 7);
	assert_true(weft_yield_is_costly());
	assert_in_range(refused_ms(), 99, 100);
	/* one more costly yield doubles the time, up to 400 ms */
	for (int ms = 200; ms <= 800; ms *= 2) {
		assert_int_equal(yields_before_refusal(MS), 1);
		assert_in_range(refused_ms(), (ms < 400 ? ms : 400) - 1, 400);
	}
	forget();
	assert_int_equal(yields_before_refusal(MS - 1), 1000);
}

static void no_yield_is_costly_in_a_crowd(void **state)
{
	(void)state;
	forget();
	weft_yield_set_sharers(32);
	assert_int_equal(yields_before_refusal(100 * MS), 1000);
	assert_false(weft_yield_is_costly());
	weft_yield_set_sharers(31);
	assert_in_range(yields_before_refusal(MS), 3, 3 + 7);
	assert_in_range(refused_ms(), 99, 100);
	weft_yield_set_sharers(0);
	forget();
	assert_in_range(yields_before_refusal(MS), 3, 3 + 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_costly_yields_are_enough),
		cmocka_unit_test(no_yield_is_costly_in_a_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
