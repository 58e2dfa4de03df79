/* SPDX-License-Identifier: BSD-3-Clause */
/* agree_test: the ancestors and the neighbors of a rank in the tree */
#include "comm/agree.h"
#include "core/comm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { SIZE = 200 };

/* Returns the parent of a rank in a binomial tree: the root of the smallest
 * subtree, of a power of two ranks, that contains `rank`. */
static int32_t parent_of(int32_t rank)
{
	int32_t parent = 0;

	for (int32_t step = SIZE; step; step--)
		if (step < rank && (step & (step - 1)) == 0 && step * 2 > rank)
			parent = step;
	if (parent == 0)
		return 0;
	return parent + parent_of(rank - parent);
}

static void each_rank_lists_its_ancestors(void **state)
{
	(void)state;
	for (int32_t rank = 0; rank < SIZE; rank++) {
		struct weft_comm comm = { .rank = rank, .size = SIZE };
		int32_t above[33], at = rank;
		uint32_t n = weft_agree_above(&comm, above);

		for (uint32_t i = 0; i < n; i++) {
			at = parent_of(at);
			assert_int_equal(above[i], at);
		}
		assert_int_equal(at, 0);
		assert_true(rank ? n > 0 : n == 0);
	}
}

static void an_intercommunicator_adds_the_other_leader(void **state)
{
	struct weft_comm comm = { .rank = 6, .size = 9, .is_inter = true };
	int32_t above[33];

	(void)state;
	assert_int_equal(weft_agree_above(&comm, above), 3);
	assert_int_equal(above[0], 4);
	assert_int_equal(above[1], 0);
	assert_int_equal(above[2], 9);
}

static void the_largest_rank_fits(void **state)
{
	struct weft_comm comm = {
		.rank = INT32_MAX, .size = INT32_MAX, .is_inter = true
	};
	int32_t above[33];

	(void)state;
	assert_int_equal(weft_agree_above(&comm, above), 32);
}

static void parents_and_children_are_near(void **state)
{
	(void)state;
	for (int32_t rank = 0; rank < SIZE; rank++) {
		struct weft_comm comm = { .rank = rank, .size = SIZE };

		for (int32_t i = 0; i < SIZE; i++)
			if (i != rank)
				assert_int_equal(
					weft_agree_is_near(&comm, (uint32_t)i),
					(rank && parent_of(rank) == i) ||
						(i && parent_of(i) == rank));
	}
}

static void the_leaders_of_an_intercommunicator_are_near(void **state)
{
	struct weft_comm comm = { .size = 4, .is_inter = true };

	(void)state;
	assert_true(weft_agree_is_near(&comm, 4));
	assert_false(weft_agree_is_near(&comm, 5));
	comm.rank = 1;
	assert_false(weft_agree_is_near(&comm, 4));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rank_lists_its_ancestors),
		cmocka_unit_test(an_intercommunicator_adds_the_other_leader),
		cmocka_unit_test(the_largest_rank_fits),
		cmocka_unit_test(parents_and_children_are_near),
		cmocka_unit_test(the_leaders_of_an_intercommunicator_are_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
