/* SPDX-License-Identifier: BSD-3-Clause */
/* rndv_way_test: the faster way is found, kept, and left when it is no more */
#include "p2p/rndv_way.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { LEN = 65536, FEW = 32 };

/* Ticks that both ways take, and how many messages went each. */
struct machine {
	uint32_t ticks[WEFT_RNDV_WAYS];
	int n[WEFT_RNDV_WAYS];
	bool is_noisy; /* one of five times is many times as long */
};

static void send_some(struct weft_rndv_choice *choice, struct machine *m, int n)
{
	m->n[WEFT_RNDV_FRAGS] = m->n[WEFT_RNDV_READ] = 0;
	for (int i = 0; i < n; i++) {
		enum weft_rndv_way way = weft_rndv_choose(choice);
		uint32_t ticks = m->ticks[way];

		if (m->is_noisy && random() % 5 == 0)
			ticks *= 2 + (uint32_t)random() % 50;
		m->n[way]++;
		weft_rndv_chosen_took(choice, way, LEN, ticks);
	}
}

static void the_faster_is_found(enum weft_rndv_way faster, bool is_noisy)
{
	enum weft_rndv_way other = 1 - faster;
	struct weft_rndv_choice choice = { 0 };
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
		the_faster_is_found(WEFT_RNDV_FRAGS, is_noisy);
		the_faster_is_found(WEFT_RNDV_READ, is_noisy);
	}
}

static void fragments_must_be_clearly_better(void **state)
{
	struct weft_rndv_choice choice = { 0 };
	struct machine m = { .ticks = { 300, 310 } };

	(void)state;
	send_some(&choice, &m, 1000);
	assert_true(m.n[WEFT_RNDV_FRAGS] < 40);
}

static void follows_a_machine_that_changes(void **state)
{
	struct weft_rndv_choice choice = { 0 };
	struct machine m = { .ticks = { 300, 600 }, .is_noisy = true };

	(void)state;
	srandom(5);
	send_some(&choice, &m, 10000);
	m.ticks[WEFT_RNDV_FRAGS] = 3000;
	send_some(&choice, &m, 200);
	assert_true(m.n[WEFT_RNDV_FRAGS] < 100);
	/* what is not taken is looked at when its turn comes */
	m.ticks[WEFT_RNDV_FRAGS] = 300;
	send_some(&choice, &m, 10000);
	send_some(&choice, &m, 1000);
	assert_true(m.n[WEFT_RNDV_READ] < 50);
}

static void lengths_have_choices(void **state)
{
	(void)state;
	assert_int_equal(weft_rndv_way_of(1), 0);
	assert_int_equal(weft_rndv_way_of(16385), 0);
	assert_int_equal(weft_rndv_way_of(32768), 1);
	assert_int_equal(weft_rndv_way_of(1 << 20), WEFT_RNDV_WAY_LENS - 1);
	assert_int_equal(weft_rndv_way_of(SIZE_MAX), WEFT_RNDV_WAY_LENS - 1);
}

static void no_time_is_too_long(void **state)
{
	struct weft_rndv_choice choice = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		enum weft_rndv_way way = weft_rndv_choose(&choice);

		weft_rndv_chosen_took(&choice, way, 1, UINT32_MAX);
		assert_true(choice.cost[way] > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_faster),
		cmocka_unit_test(fragments_must_be_clearly_better),
		cmocka_unit_test(follows_a_machine_that_changes),
		cmocka_unit_test(lengths_have_choices),
		cmocka_unit_test(no_time_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
