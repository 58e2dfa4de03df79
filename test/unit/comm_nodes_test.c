/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_nodes_test: tables of nodes, also of more than 65,536 members */
#include "boot/boot.h"
#include "coll/coll_settle.h"
#include "core/comm_nodes.h"
#include "core/group.h"
#include "transport/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MANY = 1000000, PER_NODE = 128, N_NODES = (MANY + 127) / 128 };

static struct weft_nodes *table_of(
	int32_t size, int32_t (*lead_of)(int32_t), uint32_t n_runs)
{
	struct weft_node_run *runs = malloc((size_t)size * sizeof(*runs));
	struct weft_nodes *nodes;
	uint32_t n = 0;

	assert_non_null(runs);
	for (int32_t i = 0; i < size; i++)
		n = weft_node_runs_append(runs, n,
			(struct weft_node_run){
				(uint32_t)i, (uint32_t)lead_of(i), 1, 0 });
	assert_int_equal(n, n_runs);
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
	struct weft_nodes *nodes = table_of(MANY, in_blocks, 1);

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
	struct weft_nodes *nodes = table_of(SIZE, in_growing_blocks, 16);

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
	struct weft_nodes *nodes = table_of(MANY, in_turns, PER_NODE);

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
		uint32_t n;
		struct weft_node_run runs[4];
	} bad[] = {
		{ 0, { { 0, 0, 1, 0 } } },
		{ 11, { { 0, 0, 1, 0 } } },
		{ 1, { { 1, 1, 1, 0 } } }, /* rank 0 is missing */
		{ 1, { { 0, 0, 0, 0 } } },
		{ 1, { { 0, 0, 2, 0 } } },  /* a step of 0 */
		{ 1, { { 0, 0, 2, 10 } } }, /* there are 10 ranks */
		{ 1, { { 0, 0, 2, INT32_MAX } } },
		{ 1, { { 0, 0, INT32_MAX, 1 } } },
		/* not in order */
		{ 2, { { 0, 0, 1, 0 }, { 0, 0, 1, 0 } } },
		{ 2, { { 0, 0, 3, 2 }, { 4, 4, 1, 0 } } },
		{ 2, { { 0, 0, 1, 0 }, { 10, 10, 1, 0 } } },
		{ 2, { { 0, 0, 1, 0 }, { 4, 5, 1, 0 } } }, /* above the rank */
		{ 2, { { 0, 0, 1, 0 }, { 4, UINT32_MAX, 1, 0 } } },
		/* these lead no node */
		{ 2, { { 0, 0, 1, 0 }, { 4, 2, 1, 0 } } },
		{ 2, { { 0, 0, 2, 2 }, { 4, 0, 3, 2 } } },
		{ 3, { { 0, 0, 2, 2 }, { 4, 0, 1, 0 }, { 6, 4, 1, 0 } } },
	};
	static const struct weft_node_run good[] = { { 0, 0, 2, 2 },
		{ 4, 0, 2, 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(
			weft_node_runs_are_valid(bad[i].runs, bad[i].n, 10));
	assert_true(weft_node_runs_are_valid(good, 2, 10));
}

/* Any order of appending parts of a list gives the same table. */
static void parts_are_appended(void **state)
{
	enum { SIZE = 64, NODES = 5 };
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct weft_node_run runs[2][SIZE];
		int32_t lead[SIZE], first[NODES];
		uint32_t n[2] = { 0, 0 };
		int32_t half = 1 + round % (SIZE - 1);
		struct weft_nodes *nodes;

		for (int k = 0; k < NODES; k++)
			first[k] = -1;
		for (int32_t i = 0; i < SIZE; i++) {
			uint32_t node =
				(uint32_t)(round & 1 ? i / 13 : i % NODES);

			seed = seed * 1103515245 + 12345;
			if (seed >> 16 & 1 && round & 2)
				node = seed >> 20 & 3;
			if (first[node] < 0)
				first[node] = i;
			lead[i] = first[node];
		}
		for (int32_t i = 0; i < SIZE; i++)
			n[i >= half] = weft_node_runs_append(runs[i >= half],
				n[i >= half],
				(struct weft_node_run){
					(uint32_t)i, (uint32_t)lead[i], 1, 0 });
		for (uint32_t k = 0; k < n[1]; k++)
			n[0] = weft_node_runs_append(runs[0], n[0], runs[1][k]);
		assert_true(weft_node_runs_are_valid(runs[0], n[0], SIZE));
		nodes = weft_comm_nodes_create(runs[0], n[0], SIZE);
		assert_non_null(nodes);
		for (int32_t i = 0; i < SIZE; i++)
			assert_int_equal(
				nodes->leaders[weft_nodes_of(nodes, i)],
				lead[i]);
		weft_comm_nodes_put(nodes);
	}
}

static void a_large_communicator_agrees_on_nodes(void **state)
{
	struct weft_comm comm = { .size = MANY, .coll.seq = 100 };

	(void)state;
	assert_true(weft_coll_settle_is_due(&comm));
	comm.size = 1;
	assert_false(weft_coll_settle_is_due(&comm));
}

/* This node has the processes 500,000 to 500,127 and number 9 of job 7. */
static int list_local(
	struct weft_boot *boot, const uint32_t **ranks_out, size_t *n_out)
{
	static uint32_t ranks[PER_NODE + 1] = { 9 };

	(void)boot;
	for (uint32_t i = 0; i < PER_NODE; i++)
		ranks[i + 1] = MANY / 2 + i;
	*ranks_out = ranks;
	*n_out = PER_NODE + 1;
	return 0;
}

/* Compares the members on this node with a loop over all members. */
static void check_local(const struct weft_run *runs, uint32_t n_runs)
{
	struct weft_comm comm = { 0 };
	int32_t n = 0, me = -1, *ranks, at = 0;

	assert_int_equal(weft_group_create_runs(runs, n_runs, &comm.group), 0);
	comm.size = (int32_t)comm.group->size;
	comm.rank = weft_group_rank_of(comm.group, weft_proc.proc);
	ranks = weft_comm_nodes_local(&comm, &n, &me);
	assert_non_null(ranks);
	for (uint32_t i = 0; i < comm.group->size; i++)
		if (weft_proc_is_local(weft_group_proc(comm.group, i)))
			assert_int_equal(ranks[at++], i);
	assert_int_equal(at, n);
	assert_int_equal(ranks[me], comm.rank);
	free(ranks);
	weft_group_put(comm.group);
}

static void members_on_this_node(void **state)
{
	static const struct weft_boot_ops ops = { .local = list_local };
	static struct weft_boot boot = { .ops = &ops };
	const uint64_t job = (uint64_t)7 << 32, other = (uint64_t)8 << 32;
	const struct weft_run all[] = { { job, 1, MANY, 0 } };
	const struct weft_run reversed[] = { { job + MANY - 1, -1, MANY, 0 } };
	const struct weft_run odd[] = { { job + 1, 2, MANY / 2, 0 } };
	const struct weft_run mixed[] = {
		{ job + MANY / 2, 1, 20, 0 },
		{ job + 9, 1, 1, 20 },
		{ job + MANY - 1, -2, MANY / 2, 21 },
		{ other + MANY / 2, 1, 1000, 21 + MANY / 2 },
	};

	(void)state;
	weft_proc.boot = &boot;
	weft_proc.proc = job + MANY / 2 + 1;
	check_local(all, 1);
	check_local(reversed, 1);
	check_local(odd, 1);
	check_local(mixed, 3);
	check_local(mixed, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_a_million_members),
		cmocka_unit_test(blocks_of_different_sizes),
		cmocka_unit_test(turns_of_a_million_members),
		cmocka_unit_test(malformed_runs),
		cmocka_unit_test(parts_are_appended),
		cmocka_unit_test(a_large_communicator_agrees_on_nodes),
		cmocka_unit_test(members_on_this_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
