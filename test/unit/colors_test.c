/* SPDX-License-Identifier: BSD-3-Clause */
/* colors_test: tables of splits against a plain model */
#include "comm/colors.h"
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 33, ROUNDS = 300, MANY = 100000, REMOTE = 1000 };

/* One side of a communicator: the members' arguments. */
struct model {
	uint32_t n;
	int64_t colors[MOST];
	int32_t keys[MOST];
	struct weft_color_record records[MOST];
	struct weft_group *group;
};

static void model_fill(
	struct model *m, uint32_t n, uint64_t first, int n_colors, int n_keys)
{
	static const int64_t spread[] = { 1, INT64_C(1) << 31,
		INT64_MAX / MOST };
	int64_t unit = spread[rand() % 3];

	m->n = n;
	for (uint32_t i = 0; i < n; i++) {
		m->colors[i] = rand() % 8 ? rand() % n_colors * unit : -1;
		m->keys[i] = rand() % n_keys - n_keys / 2;
		m->records[i] = weft_color_record(m->colors[i], m->keys[i]);
	}
	m->group = &weft_group_empty;
	if (n)
		assert_int_equal(
			weft_group_create_range(first, n, &m->group), 0);
}

/* Lists the ranks with a color: repeatedly the lowest key, then the lowest
 * rank. */
static uint32_t model_members(
	const struct model *m, int64_t color, uint32_t *ranks)
{
	bool is_taken[MOST] = { false };
	uint32_t n = 0;

	for (;;) {
		uint32_t best = MOST;

		for (uint32_t i = 0; i < m->n; i++)
			if (m->colors[i] == color && !is_taken[i] &&
				(best == MOST || m->keys[i] < m->keys[best]))
				best = i;
		if (best == MOST)
			return n;
		is_taken[best] = true;
		ranks[n++] = best;
	}
}

static void expect_runs(
	const struct model *m, int64_t color, const char *runs, uint32_t n_runs)
{
	struct weft_group *group;
	uint32_t ranks[MOST], n = model_members(m, color, ranks);

	assert_int_equal(weft_colors_group(runs, n_runs, m->group, &group), 0);
	assert_int_equal(group->size, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(weft_group_proc(group, i),
			weft_group_proc(m->group, ranks[i]));
	if (n)
		assert_int_equal(weft_colors_first(runs), ranks[0]);
	weft_group_put(group);
}

/* True if a rank from first to end - 1 has the color. */
static bool model_has(
	const struct model *m, int64_t color, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		if (m->colors[i] == color)
			return true;
	return false;
}

/* Sends the table down the tree, to the ranks from first to end - 1, and checks
 * the blocks of each member. */
static void descend(const struct model *local, const struct model *remote,
	const char *table, size_t len, uint32_t first, uint32_t end)
{
	struct weft_color_block block;
	int err = weft_colors_find(table, len, first, &block);

	if (local->colors[first] < 0) {
		assert_int_equal(err, WEFT_ERR_PROTO);
	} else {
		assert_int_equal(err, 0);
		expect_runs(local, local->colors[first], block.runs,
			block.head.n_runs);
		expect_runs(remote, local->colors[first], block.remote_runs,
			block.head.n_remote_runs);
	}
	for (uint32_t i = 0; i < local->n; i++)
		if (local->colors[i] >= 0 &&
			!model_has(local, local->colors[i], first, end))
			assert_int_equal(
				weft_colors_find(table, len, i, &block),
				WEFT_ERR_PROTO);
	for (uint32_t n = end - first; n > 1;) {
		uint32_t half = 1;
		char part[4096];
		size_t part_len;

		while (half * 2 < n)
			half *= 2;
		part_len = weft_colors_part(
			table, len, first + half, first + n, part);
		assert_int_equal(weft_colors_part(table, len, first + half,
					 first + n, NULL),
			part_len);
		descend(local, remote, part, part_len, first + half, first + n);
		n = half;
	}
}

static void split_as_the_model(uint32_t n, uint32_t n_remote)
{
	int n_colors = 1 + rand() % MOST, n_keys = 1 + rand() % MOST;
	size_t len, max = weft_colors_len_max(n, n_remote);
	struct model local, remote;
	char *table = malloc(max);

	assert_non_null(table);
	assert_true(max <= 4096);
	model_fill(&local, n, 0, n_colors, n_keys);
	model_fill(&remote, n_remote, REMOTE, n_colors, n_keys);
	assert_int_equal(
		weft_colors_make((struct weft_color_side){ local.records, n },
			(struct weft_color_side){ remote.records, n_remote },
			table, &len),
		0);
	assert_true(len <= max);
	descend(&local, &remote, table, len, 0, n);
	free(table);
	weft_group_put(local.group);
	weft_group_put(remote.group);
}

static void each_member_receives_its_color(void **state)
{
	(void)state;
	srand(43);
	for (uint32_t n = 1; n <= MOST; n++)
		for (int i = 0; i < ROUNDS; i++)
			split_as_the_model(
				n, i % 2 ? 0 : (uint32_t)rand() % MOST + 1);
}

/* The most runs: a color for each member, or members in an order without
 * regular steps. */
static void the_longest_tables_fit(void **state)
{
	struct weft_color_record records[MOST];
	char table[4096];
	size_t len;

	(void)state;
	for (uint32_t n = 1; n <= MOST; n++) {
		struct weft_color_side side = { records, n };

		for (uint32_t i = 0; i < n; i++)
			records[i] = weft_color_record(i, 0);
		assert_int_equal(weft_colors_make(side, side, table, &len), 0);
		assert_true(len <= weft_colors_len_max(n, n));
		for (uint32_t i = 0; i < n; i++)
			records[i] =
				weft_color_record(0, (int32_t)(i * i * i % 37));
		assert_int_equal(weft_colors_make(side, side, table, &len), 0);
		assert_true(len <= weft_colors_len_max(n, n));
	}
}

static size_t many_len(uint32_t divisor, bool is_modulo, int32_t sign)
{
	size_t max = weft_colors_len_max(MANY, 0), len = 0;
	struct weft_color_record *records = calloc(MANY, sizeof(*records));
	char *table = malloc(max);

	assert_non_null(records);
	assert_non_null(table);
	for (uint32_t i = 0; i < MANY; i++)
		records[i] =
			weft_color_record(is_modulo ? i % divisor : i / divisor,
				sign * (int32_t)i);
	assert_int_equal(
		weft_colors_make((struct weft_color_side){ records, MANY },
			(struct weft_color_side){ NULL, 0 }, table, &len),
		0);
	free(table);
	free(records);
	return len;
}

static void regular_colors_make_short_tables(void **state)
{
	size_t one =
		sizeof(struct weft_color_head) + sizeof(struct weft_color_run);

	(void)state;
	assert_int_equal(many_len(MANY, false, 1), one);
	assert_int_equal(many_len(MANY, false, -1), one);
	assert_int_equal(many_len(100, true, 1), 100 * one);
	assert_int_equal(many_len(100, false, -1), MANY / 100 * one);
}

/* A table of another process may have any bytes. */
static void malformed_tables_are_refused(void **state)
{
	static const struct weft_color_run bad[] = {
		{ 0, 1, 0 },  /* empty */
		{ 10, 1, 1 }, /* no such rank */
		{ 1, 3, 4 },  /* ends above the last rank */
		{ 2, -1, 4 }, /* ends below 0 */
		{ 0, INT32_MAX, 4 },
		{ 0, INT32_MIN, 2 },
		{ 0, 1, UINT32_MAX },
		{ 0, 0, 11 }, /* more members than there are */
		{ UINT32_MAX, 1, 1 },
		{ 9, INT32_MIN, UINT32_MAX },
	};
	struct weft_color_head head = { 1, 0 };
	struct weft_color_run run = { 0, 1, 2 };
	struct weft_color_block block;
	struct weft_group *group, *from;
	char table[sizeof(head) + sizeof(run)];

	(void)state;
	assert_int_equal(weft_group_create_range(0, 10, &from), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(weft_colors_group((const char *)&bad[i], 1,
					 from, &group),
			WEFT_ERR_PROTO);
	run.stride = 0;
	assert_int_equal(weft_colors_group((const char *)&run, 1, from, &group),
		WEFT_ERR_RANK);
	run.stride = 1;
	for (size_t len = 0; len <= sizeof(table); len++) {
		memcpy(table, &head, sizeof(head));
		memcpy(table + sizeof(head), &run, sizeof(run));
		assert_int_equal(weft_colors_find(table, len, 0, &block),
			len < sizeof(table) ? WEFT_ERR_PROTO : 0);
	}
	head = (struct weft_color_head){ UINT32_MAX, UINT32_MAX };
	memcpy(table, &head, sizeof(head));
	assert_int_equal(weft_colors_find(table, sizeof(table), 0, &block),
		WEFT_ERR_PROTO);
	weft_group_put(from);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_member_receives_its_color),
		cmocka_unit_test(the_longest_tables_fit),
		cmocka_unit_test(regular_colors_make_short_tables),
		cmocka_unit_test(malformed_tables_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
