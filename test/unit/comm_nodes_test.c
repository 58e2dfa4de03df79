/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_nodes_test: tables of nodes, also of more than 65,536 members */
#include "coll/coll_settle.h"
#include "core/comm_nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MANY = 1000000, PER_NODE = 128, N_NODES = (MANY + 127) / 128 };

static struct weft_nodes *table_of(int32_t size, int32_t (*lead_of)(int32_t))
{
	struct weft_node_run *runs = malloc((size_t)size * sizeof(*runs));
	struct weft_nodes *nodes;
	int32_t n = 0;

	assert_non_null(runs);
	for (int32_t i = 0; i < size; i++)
		if (!n || runs[n - 1].leader != lead_of(i))
			runs[n++] = (struct weft_node_run){ i, lead_of(i) };
	assert_true(weft_node_runs_are_valid(runs, n, size));
	nodes = weft_comm_nodes_create(runs, n, size);
	assert_non_null(nodes);
	free(runs);
	return nodes;
}

static int32_t in_blocks(int32_t rank)
{
	return rank - rank % PER_NODE;
}

static int32_t in_turns(int32_t rank)
{
	return rank % N_NODES;
}

/* Node k has the ranks from k * k on. */
static int32_t in_growing_blocks(int32_t rank)
{
	int32_t k = 0;

	while ((k + 1) * (k + 1) <= rank)
		k++;
	return k * k;
}

static void blocks_of_a_million_members(void **state)
{
	struct weft_nodes *nodes = table_of(MANY, in_blocks);

	(void)state;
	assert_int_equal(nodes->n, N_NODES);
	assert_int_equal(nodes->most, PER_NODE);
	assert_int_equal(nodes->least, MANY % PER_NODE);
	assert_true(nodes->is_in_order);
	assert_null(nodes->of); /* no memory for each member */
	assert_null(nodes->members);
	assert_int_equal(nodes->first[nodes->n], MANY);
	for (int32_t i = 0; i < MANY; i++) {
		assert_int_equal(weft_nodes_of(nodes, i), i / PER_NODE);
		assert_int_equal(weft_nodes_member(nodes, i), i);
	}
	for (int32_t k = 0; k < nodes->n; k++) {
		assert_int_equal(nodes->leaders[k], k * PER_NODE);
		assert_int_equal(nodes->first[k], k * PER_NODE);
	}
	weft_comm_nodes_put(nodes);
}

static void blocks_of_different_sizes(void **state)
{
	enum { SIZE = 1000 }; /* the last node has 39 of its 63 ranks */
	struct weft_nodes *nodes = table_of(SIZE, in_growing_blocks);

	(void)state;
	assert_int_equal(nodes->n, 32);
	assert_int_equal(nodes->most, 61);
	assert_int_equal(nodes->least, 1);
	assert_null(nodes->of);
	for (int32_t i = 0; i < SIZE; i++)
		assert_int_equal(nodes->leaders[weft_nodes_of(nodes, i)],
			in_growing_blocks(i));
	weft_comm_nodes_put(nodes);
}

static void turns_of_a_million_members(void **state)
{
	struct weft_nodes *nodes = table_of(MANY, in_turns);

	(void)state;
	assert_int_equal(nodes->n, N_NODES);
	assert_false(nodes->is_in_order);
	for (int32_t k = 0; k < nodes->n; k++) {
		const int32_t *members = nodes->members + nodes->first[k];

		assert_int_equal(nodes->leaders[k], k);
		for (int32_t i = 0; i < weft_nodes_size(nodes, k); i++) {
			assert_int_equal(members[i], k + i * N_NODES);
			assert_int_equal(weft_nodes_of(nodes, members[i]), k);
		}
	}
	weft_comm_nodes_put(nodes);
}

static void malformed_runs(void **state)
{
	static const struct {
		int32_t n;
		struct weft_node_run runs[4];
	} bad[] = {
		{ 0, { { 0, 0 } } },
		{ 11, { { 0, 0 } } },
		{ 1, { { 1, 1 } } },	       /* rank 0 is missing */
		{ 2, { { 0, 0 }, { 0, 0 } } }, /* not in order */
		{ 3, { { 0, 0 }, { 5, 5 }, { 4, 4 } } },
		{ 2, { { 0, 0 }, { 10, 10 } } }, /* there are 10 ranks */
		{ 2, { { 0, 0 }, { 4, 5 } } },	 /* a leader of a lower rank */
		{ 2, { { 0, 0 }, { 4, -1 } } },
		{ 2, { { 0, 0 }, { 4, 2 } } }, /* rank 2 leads no node */
		{ 4, { { 0, 0 }, { 2, 2 }, { 4, 0 }, { 6, 4 } } },
	};
	static const struct weft_node_run good[] = { { 0, 0 }, { 2, 2 },
		{ 4, 0 }, { 6, 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(
			weft_node_runs_are_valid(bad[i].runs, bad[i].n, 10));
	assert_true(weft_node_runs_are_valid(good, 4, 10));
}

static void a_large_communicator_agrees_on_nodes(void **state)
{
	struct weft_comm comm = { .size = MANY, .coll.seq = 100 };

	(void)state;
	assert_true(weft_coll_settle_is_due(&comm));
	comm.size = 1;
	assert_false(weft_coll_settle_is_due(&comm));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_a_million_members),
		cmocka_unit_test(blocks_of_different_sizes),
		cmocka_unit_test(turns_of_a_million_members),
		cmocka_unit_test(malformed_runs),
		cmocka_unit_test(a_large_communicator_agrees_on_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
