/* SPDX-License-Identifier: BSD-3-Clause */
/* cb_plan_test: the aggregators, and the bytes that each aggregator moves in
 * each round */
#include "io/cb_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SIZE = 6, KIB = 1024 };

/* Three nodes: ranks 0 1 4, ranks 2 5, rank 3. */
static int32_t nodes[SIZE] = { 0, 0, 2, 3, 0, 2 };

/* Returns the aggregators for two hints, as digits. */
static const char *aggregators(int64_t cb_nodes, int64_t cb_per_node)
{
	static char text[SIZE + 1];
	struct weft_file_hints hints = { .cb_nodes = cb_nodes,
		.cb_per_node = cb_per_node };
	int32_t aggs[SIZE];
	struct weft_cb cb = { .node = nodes, .aggs = aggs };

	weft_cb_plan_aggregators(&cb, SIZE, &hints);
	assert_int_equal(cb.mine, -1);
	for (int i = 0; i < cb.n_aggs; i++)
		text[i] = (char)('0' + aggs[i]);
	text[cb.n_aggs] = 0;
	return text;
}

static void nodes_take_turns_as_aggregators(void **state)
{
	(void)state;
	assert_string_equal(aggregators(0, 0), "023");
	assert_string_equal(aggregators(2, 0), "02");
	assert_string_equal(aggregators(5, 0), "02315");
	assert_string_equal(aggregators(99, 0), "023154");
	assert_string_equal(aggregators(0, 2), "02315");
	assert_string_equal(aggregators(0, INT32_MAX), "023154");
	assert_string_equal(aggregators(4, 1), "023");
}

static struct weft_cb_sums sums(int64_t span, int64_t len, int64_t n_runs)
{
	return (struct weft_cb_sums){ .first = 100,
		.end = 100 + span,
		.len = len,
		.n_runs = n_runs,
		.is_monotone = true };
}

static bool pays(struct weft_cb_sums all, bool is_write)
{
	return weft_cb_plan_is_used(
		&all, WEFT_FILE_AUTOMATIC, is_write, 4 * KIB, 4);
}

static void short_dense_runs_are_buffered(void **state)
{
	struct weft_cb_sums all = sums(64 * KIB, 64 * KIB, 64);

	(void)state;
	assert_true(pays(all, true));
	assert_true(pays(all, false));
	/* aggregators do not pay if each of the four members has few runs */
	assert_false(pays(sums(64 * KIB, 64 * KIB, 63), true));
	/* they pay for a write that leaves out at most an eighth of the range
	 */
	assert_true(pays(sums(64 * KIB, 56 * KIB, 64), true));
	assert_false(pays(sums(64 * KIB, 56 * KIB - 1, 64), true));
	/* they pay for a read with gaps of 4 KiB at most */
	assert_true(pays(sums(320 * KIB, 64 * KIB, 64), false));
	assert_false(pays(sums(325 * KIB, 64 * KIB, 64), false));
	/* runs of a file block are too long for a read, and runs of 32 KiB for
	 * a write */
	assert_false(pays(sums(256 * KIB, 256 * KIB, 64), false));
	assert_true(pays(sums(256 * KIB, 256 * KIB, 64), true));
	assert_false(pays(sums(2048 * KIB, 2048 * KIB, 64), true));
	/* byte offsets that decrease cannot be buffered, even with hints */
	all.is_monotone = false;
	assert_false(
		weft_cb_plan_is_used(&all, WEFT_FILE_ENABLE, true, 4096, 4));
	all = sums(1 << 30, 1, 1);
	assert_true(
		weft_cb_plan_is_used(&all, WEFT_FILE_ENABLE, true, 4096, 4));
}

static void members_are_summed(void **state)
{
	const struct weft_cb_member members[] = {
		{ .first = 500, .end = 900, .len = 100, .run_len = 30 },
		{ .first = 0, .end = 0 }, /* no data */
		{ .first = 200, .end = 600, .len = 50, .run_len = 50 },
	};
	struct weft_cb_sums all = weft_cb_plan_sum(members, 3);

	(void)state;
	assert_int_equal(all.first, 200);
	assert_int_equal(all.end, 900);
	assert_int_equal(all.len, 150);
	assert_int_equal(all.n_runs, 5);
	assert_true(all.is_monotone);
}

/* The windows of all aggregators and rounds cover the range once. */
static void check_windows(
	int n_aggs, int64_t unit, int64_t len, int64_t first, int64_t end)
{
	char *mapped[SIZE] = { NULL };
	struct weft_cb cb = {
		.n_aggs = n_aggs, .unit = unit, .len = len, .mapped = mapped
	};
	struct weft_cb_plan plan = { .cb = &cb };
	struct weft_cb_sums all = { .first = first,
		.end = end,
		.len = end - first,
		.is_monotone = true };
	struct weft_cb_window w;
	int64_t at = first;

	weft_cb_plan_domains(&plan, &all);
	assert_false(plan.has_holes);
	assert_int_equal(plan.base % unit, 0);
	assert_int_equal(plan.domain % unit, 0);
	for (int a = 0; a < n_aggs; a++)
		for (int64_t k = 0; k < plan.n_rounds; k++) {
			if (!weft_cb_plan_window(&plan, a, k, &w))
				continue;
			assert_int_equal(w.first, at);
			assert_in_range(w.end - w.base, 1, len);
			assert_true(w.first >= w.base);
			assert_int_equal(w.i, k % WEFT_CB_SLOTS);
			assert_null(w.slot);
			at = w.end;
		}
	assert_int_equal(at, end);
	assert_false(weft_cb_plan_window(&plan, 0, -1, &w));
	assert_false(weft_cb_plan_window(&plan, 0, plan.n_rounds, &w));
}

static void windows_cover_the_range_once(void **state)
{
	(void)state;
	for (int n_aggs = 1; n_aggs <= 4; n_aggs++)
		for (int64_t first = 0; first < 3 * 4096; first += 1500) {
			check_windows(n_aggs, 4096, 64 * KIB, first, first + 1);
			check_windows(n_aggs, 4096, 64 * KIB, first,
				first + 1000 * KIB + 17);
			check_windows(n_aggs, 1 << 20, 96 * KIB, first,
				first + 5000 * KIB);
		}
}

static void slots_of_a_mapped_buffer_alternate(void **state)
{
	static char buffer[2 * 64 * KIB];
	char *mapped[1] = { buffer };
	struct weft_cb cb = {
		.n_aggs = 1, .unit = 4096, .len = 64 * KIB, .mapped = mapped
	};
	struct weft_cb_plan plan = { .cb = &cb };
	struct weft_cb_sums all = sums(400 * KIB, 300 * KIB, 100);
	struct weft_cb_window w;

	(void)state;
	weft_cb_plan_domains(&plan, &all);
	assert_true(plan.has_holes);
	for (int64_t k = 0; k < plan.n_rounds; k++) {
		assert_true(weft_cb_plan_window(&plan, 0, k, &w));
		assert_ptr_equal(w.slot, buffer + k % 2 * 64 * KIB);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_take_turns_as_aggregators),
		cmocka_unit_test(short_dense_runs_are_buffered),
		cmocka_unit_test(members_are_summed),
		cmocka_unit_test(windows_cover_the_range_once),
		cmocka_unit_test(slots_of_a_mapped_buffer_alternate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
