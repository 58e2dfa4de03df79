/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_cost_test: predictions end, and say what any model would */
#include "coll/coll_cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static double cost(const char *net, int32_t n, int32_t per_node,
	const struct weft_coll_algo *algo, int64_t bytes)
{
	const struct weft_coll_machine machine = {
		.n = n, .per_node = per_node, .net = weft_coll_link_of(net)
	};
	struct weft_coll_case c;
	double ns = 0;

	assert_int_equal(
		weft_coll_machine_case(&machine, algo->kind, bytes, &c), 0);
	if (!weft_coll_can(algo, &c))
		return -1;
	assert_int_equal(weft_coll_cost(&machine, algo, bytes, &ns), 0);
	return ns;
}

static const struct weft_coll_algo *named(
	enum weft_coll_kind kind, const char *name)
{
	const struct weft_coll_algo *algo;
	size_t i = 0;

	while ((algo = weft_coll_algo_at(i++)) != NULL)
		if (algo->kind == kind && !strcmp(algo->name, name))
			return algo;
	fail_msg("no algorithm %s", name);
	return NULL;
}

/* The clock comes to an end for all of the table, and takes time. */
static void test_all(void **state)
{
	const int64_t sizes[] = { 8, 4096, 1 << 20 };
	const struct weft_coll_algo *algo;
	int n_done = 0;

	(void)state;
	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++)
		for (int32_t n = 1; n <= 20; n += n < 9 ? 1 : 3)
			for (int32_t k = 1; k <= n; k += 2)
				for (int s = 0; s < 3; s++) {
					double ns = cost(
						"tcp", n, k, algo, sizes[s]);

					if (algo->kind >=
						WEFT_COLL_NEIGHBOR_ALLGATHER)
						continue;
					n_done += ns > 0;
					if (n > 1)
						assert_true(ns == -1 || ns > 0);
				}
	assert_true(n_done > 1000);
}

/* By hand: one message is o + L + o, and bytes go at 1 / G. */
static void test_model(void **state)
{
	const struct weft_coll_algo *tree = named(WEFT_COLL_BCAST, "binomial");
	const struct weft_coll_link *tcp = weft_coll_link_of("tcp");
	const double one = tcp->latency + 2 * tcp->overhead;

	(void)state;
	assert_float_equal(cost("tcp", 2, 1, tree, 1), one + tcp->per_byte, 1);
	assert_float_equal(
		cost("tcp", 2, 1, tree, 10000), one + 10000 * tcp->per_byte, 1);
	/* a second round, behind the first message of the root's card */
	assert_true(cost("tcp", 4, 1, tree, 1) > 1.5 * one);
	assert_true(cost("tcp", 4, 1, tree, 1) < 3 * one);
	/* near is nearer */
	assert_true(cost("tcp", 8, 8, tree, 4096) <
		    cost("tcp", 8, 1, tree, 4096) / 4);
	assert_true(
		cost("cxi", 8, 1, tree, 4096) < cost("tcp", 8, 1, tree, 4096));
}

/* What everybody knows of them. */
static void test_known(void **state)
{
	const struct weft_coll_algo *ring = named(WEFT_COLL_ALLREDUCE, "ring");
	const struct weft_coll_algo *doubling =
		named(WEFT_COLL_ALLREDUCE, "doubling");
	const struct weft_coll_algo *nodes =
		named(WEFT_COLL_ALLREDUCE, "nodes");

	(void)state;
	assert_true(cost("cxi", 16, 1, doubling, 1024) <
		    cost("cxi", 16, 1, ring, 1024));
	assert_true(cost("cxi", 16, 1, ring, 16 << 20) <
		    cost("cxi", 16, 1, doubling, 16 << 20));
	/* one card for many */
	assert_true(cost("cxi", 64, 16, nodes, 8) <
		    cost("cxi", 64, 16, doubling, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_known),
	};

	unsetenv("WEFT_COLL");
	unsetenv("WEFT_COLL_FILE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
