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
	int32_t *lead = malloc((size_t)size * sizeof(*lead));
	struct weft_nodes *nodes;

	assert_non_null(lead);
	for (int32_t i = 0; i < size; i++)
		lead[i] = lead_of(i);
	nodes = weft_comm_nodes_create(lead, size);
	assert_non_null(nodes);
	free(lead);
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

static void blocks_of_a_million_members(void **state)
{
	struct weft_nodes *nodes = table_of(MANY, in_blocks);

	(void)state;
	assert_int_equal(nodes->n, N_NODES);
	assert_int_equal(nodes->most, PER_NODE);
	assert_int_equal(nodes->least, MANY % PER_NODE);
	assert_true(nodes->is_in_order);
	assert_int_equal(nodes->first[nodes->n], MANY);
	for (int32_t i = 0; i < MANY; i++) {
		assert_int_equal(nodes->of[i], i / PER_NODE);
		assert_int_equal(nodes->members[i], i);
	}
	for (int32_t k = 0; k < nodes->n; k++) {
		assert_int_equal(nodes->leaders[k], k * PER_NODE);
		assert_int_equal(nodes->first[k], k * PER_NODE);
	}
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
		for (int32_t i = 0; i < nodes->first[k + 1] - nodes->first[k];
			i++) {
			assert_int_equal(members[i], k + i * N_NODES);
			assert_int_equal(nodes->of[members[i]], k);
		}
	}
	weft_comm_nodes_put(nodes);
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
		cmocka_unit_test(turns_of_a_million_members),
		cmocka_unit_test(a_large_communicator_agrees_on_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
