/* SPDX-License-Identifier: BSD-3-Clause */
/* early_test: blocks in use do not overlap, freed blocks are kept up to a limit
 */
#include "p2p/early.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N_BLOCKS = 64, N_STEPS = 20000 };

struct taken {
	unsigned char *data;
	size_t len;
	unsigned char mark;
};

static size_t any_len(void)
{
	static const size_t about[] = { 1, 7, 8, 65, 4096, 16384, 65536,
		WEFT_EARLY_LEN_MAX, WEFT_EARLY_LEN_MAX + 1 };

	return about[(size_t)random() % (sizeof(about) / sizeof(*about))] +
	       (size_t)random() % 9 / 8;
}

static void give_back(struct weft_early *early, struct taken *t)
{
	for (size_t i = 0; i < t->len; i++)
		if (t->data[i] != t->mark)
			fail_msg("byte %zu of %zu was overwritten", i, t->len);
	weft_early_give(early, t->data, t->len);
	t->data = NULL;
}

static void blocks_are_apart(void **state)
{
	struct weft_early early = { 0 };
	struct taken taken[N_BLOCKS] = { 0 };

	(void)state;
	srandom(7);
	for (int step = 0; step < N_STEPS; step++) {
		struct taken *t = &taken[(size_t)random() % N_BLOCKS];

		if (t->data) {
			give_back(&early, t);
			continue;
		}
		t->len = any_len();
		t->mark = (unsigned char)step;
		t->data = weft_early_take(&early, t->len);
		assert_non_null(t->data);
		memset(t->data, t->mark, t->len);
		assert_true(early.n_kept <= WEFT_EARLY_KEPT);
	}
	for (int i = 0; i < N_BLOCKS; i++)
		if (taken[i].data)
			give_back(&early, &taken[i]);
	weft_early_drop(&early);
	assert_int_equal(early.n_kept, 0);
	assert_int_equal(early.n_held, 0);
}

static void given_is_taken_again(void **state)
{
	struct weft_early early = { 0 };
	void *first = weft_early_take(&early, 5000), *second;

	(void)state;
	weft_early_give(&early, first, 5000);
	assert_int_equal(early.n_kept, 8192);
	second = weft_early_take(&early, 8000);
	assert_ptr_equal(second, first);
	assert_int_equal(early.n_kept, 0);
	assert_int_equal(early.n_held, 8192);
	weft_early_give(&early, second, 8000);
	weft_early_drop(&early);
}

static void no_more_is_kept(void **state)
{
	enum { LEN = 65536, N = 2 * WEFT_EARLY_KEPT / LEN };
	struct weft_early early = { 0 };
	void *all[N];

	(void)state;
	for (int i = 0; i < N; i++)
		all[i] = weft_early_take(&early, LEN);
	for (int i = 0; i < N; i++)
		weft_early_give(&early, all[i], LEN);
	assert_int_equal(early.n_kept, WEFT_EARLY_KEPT);
	weft_early_give(&early, weft_early_take(&early, WEFT_EARLY_LEN_MAX + 1),
		WEFT_EARLY_LEN_MAX + 1);
	assert_int_equal(early.n_kept, WEFT_EARLY_KEPT);
	weft_early_drop(&early);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_apart),
		cmocka_unit_test(given_is_taken_again),
		cmocka_unit_test(no_more_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
