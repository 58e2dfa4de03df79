/* SPDX-License-Identifier: BSD-3-Clause */
/* choice_test: the faster way is found, kept, and left when it is no more */
#include "base/choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { LEN = 65536, FEW = 32 };
enum { ZERO, ONE };

/* Ticks that both ways take, and how many messages went each. */
struct machine {
	uint32_t ticks[2];
	int n[2];
	bool is_noisy; /* one of five times is many times as long */
};

static void send_some(struct weft_choice *choice, struct machine *m, int n)
{
	m->n[ZERO] = m->n[ONE] = 0;
	for (int i = 0; i < n; i++) {
		int way = weft_choice_take(choice, 1);
		uint32_t ticks = m->ticks[way];

		if (m->is_noisy && random() % 5 == 0)
			ticks *= 2 + (uint32_t)random() % 50;
		m->n[way]++;
		weft_choice_took(choice, way, LEN, ticks);
	}
}

static void the_faster_is_found(int faster, bool is_noisy)
{
	int other = 1 - faster;
	struct weft_choice choice = { 0 };
	struct machine m = { .is_noisy = is_noisy };

	m.ticks[faster] = 300;
	m.ticks[other] = 600;
	send_some(&choice, &m, FEW);
	assert_true(m.n[other] >= 4); /* not by one that was cold */
	send_some(&choice, &m, 100000);
	assert_in_range(m.n[other], 20, 60); /* it is looked at, seldom */
}

static void finds_the_faster(void **state)
{
	(void)state;
	srandom(3);
	for (int is_noisy = 0; is_noisy < 2; is_noisy++) {
		the_faster_is_found(ZERO, is_noisy);
		the_faster_is_found(ONE, is_noisy);
	}
}

static void the_first_must_be_clearly_better(void **state)
{
	struct weft_choice choice = { 0 };
	struct machine m = { .ticks = { 300, 310 } };

	(void)state;
	send_some(&choice, &m, 1000);
	assert_true(m.n[ZERO] < 40);
}

static void follows_a_machine_that_changes(void **state)
{
	struct weft_choice choice = { 0 };
	struct machine m = { .ticks = { 300, 600 }, .is_noisy = true };

	(void)state;
	srandom(5);
	send_some(&choice, &m, 10000);
	m.ticks[ZERO] = 3000;
	send_some(&choice, &m, 200);
	assert_true(m.n[ZERO] < 100);
	/* what is not taken is looked at when its turn comes */
	m.ticks[ZERO] = 300;
	send_some(&choice, &m, 10000);
	send_some(&choice, &m, 1000);
	assert_true(m.n[ONE] < 50);
}

/* The first time after the other way takes long. */
static void a_look_goes_on_until_it_tells(void **state)
{
	struct weft_choice choice = { 0 };
	int last = ZERO, n_zero = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		int way = weft_choice_take(&choice, 4);

		weft_choice_took(&choice, way, LEN,
			(way == ZERO ? 300 : 400) + (way == last ? 0 : 1000));
		last = way;
		n_zero += way == ZERO;
	}
	assert_in_range(n_zero, 9900, 9980);
}

static void lengths_have_classes(void **state)
{
	(void)state;
	assert_int_equal(weft_choice_class(1, 4096, 5), 0);
	assert_int_equal(weft_choice_class(4096, 4096, 5), 0);
	assert_int_equal(weft_choice_class(8191, 4096, 5), 0);
	assert_int_equal(weft_choice_class(8192, 4096, 5), 1);
	assert_int_equal(weft_choice_class(65536, 4096, 5), 4);
	assert_int_equal(weft_choice_class(SIZE_MAX, 4096, 5), 4);
}

/* Some of what goes the better way is, so that it is seen when that is so no
 * more. */
static void some_are_timed(void **state)
{
	struct weft_choice choice = { 0 };
	int n = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		int way = weft_choice_take(&choice, 1);

		if (!weft_choice_is_timed(&choice))
			continue;
		n++;
		weft_choice_took(
			&choice, way, LEN, way == ZERO && i < 5000 ? 300 : 600);
	}
	assert_in_range(n, 10000 / 10, 10000 / 6);
	assert_int_equal(weft_choice_take(&choice, 1), ONE);
}

static void no_time_is_too_long(void **state)
{
	struct weft_choice choice = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int way = weft_choice_take(&choice, 1);

		weft_choice_took(&choice, way, 1, UINT32_MAX);
		assert_true(choice.cost[way] > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_faster),
		cmocka_unit_test(the_first_must_be_clearly_better),
		cmocka_unit_test(follows_a_machine_that_changes),
		cmocka_unit_test(a_look_goes_on_until_it_tells),
		cmocka_unit_test(lengths_have_classes),
		cmocka_unit_test(some_are_timed),
		cmocka_unit_test(no_time_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
