/* SPDX-License-Identifier: BSD-3-Clause */
/* group_test: groups against a naive model, and a group of a million */
#include "core/group.h"
#include "transport/proc.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MAX = 200, ROUNDS = 400 };

/* A list of processes, searched linearly. */
struct model {
	uint64_t procs[2 * MAX];
	uint32_t n;
};

static int model_find(const struct model *m, uint64_t proc)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->procs[i] == proc)
			return (int)i;
	return WEFT_UNDEFINED;
}

/* Random members without duplicates: runs with strides and single members, in
 * two jobs. */
static void model_random(struct model *m)
{
	uint32_t want = (uint32_t)rand() % MAX;

	m->n = 0;
	while (m->n < want) {
		uint64_t at = weft_proc_number(
			(uint32_t)rand() % 2, (uint32_t)rand() % 500);
		int stride = rand() % 7 - 3;
		int len = stride ? rand() % 20 : 1;

		for (int k = 0; k < len && m->n < want; k++) {
			if (model_find(m, at) == WEFT_UNDEFINED)
				m->procs[m->n++] = at;
			at += (uint64_t)(int64_t)stride;
		}
	}
}

static struct weft_group *make(const struct model *m)
{
	struct weft_group *group = NULL;

	assert_int_equal(weft_group_create(m->procs, m->n, &group), 0);
	return group;
}

/* Checks that each run has processes of one job only: a process that receives a
 * run checks only its ends (comm/leader.c). */
static void assert_runs(const struct weft_group *group)
{
	for (uint32_t i = 0; i < group->n_runs; i++) {
		const struct weft_run *run = &group->runs[i];

		for (uint32_t k = 0; k < run->n; k++)
			assert_true((run->first + (uint64_t)run->stride * k) >>
					    32 ==
				    run->first >> 32);
	}
}

static void assert_same(const struct weft_group *group, const struct model *m)
{
	assert_int_equal(group->size, m->n);
	assert_runs(group);
	for (uint32_t i = 0; i < m->n; i++) {
		assert_true(weft_group_proc(group, i) == m->procs[i]);
		assert_int_equal(
			weft_group_rank_of(group, m->procs[i]), (int)i);
	}
	for (int i = 0; i < 50; i++) {
		uint64_t proc = weft_proc_number(
			(uint32_t)rand() % 3, (uint32_t)rand() % 600);

		assert_int_equal(
			weft_group_rank_of(group, proc), model_find(m, proc));
	}
}

static void test_members(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct model m;
		struct weft_group *group;

		model_random(&m);
		group = make(&m);
		assert_same(group, &m);
		weft_group_put(group);
	}
}

static void filter(const struct model *a, const struct model *b, bool want,
	struct model *out)
{
	for (uint32_t i = 0; i < a->n; i++)
		if ((model_find(b, a->procs[i]) != WEFT_UNDEFINED) == want)
			out->procs[out->n++] = a->procs[i];
}

static void test_sets(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct model a, b, both = { .n = 0 }, diff = { .n = 0 }, sum;
		struct weft_group *ga, *gb, *out;

		model_random(&a);
		model_random(&b);
		ga = make(&a);
		gb = make(&b);
		filter(&a, &b, true, &both);
		filter(&a, &b, false, &diff);
		sum = a;
		filter(&b, &a, false, &sum);
		assert_int_equal(weft_group_intersection(ga, gb, &out), 0);
		assert_same(out, &both);
		weft_group_put(out);
		assert_int_equal(weft_group_difference(ga, gb, &out), 0);
		assert_same(out, &diff);
		weft_group_put(out);
		assert_int_equal(weft_group_union(ga, gb, &out), 0);
		assert_same(out, &sum);
		weft_group_put(out);
		weft_group_put(ga);
		weft_group_put(gb);
	}
}

static void shuffle(int *ranks, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ranks[i] = (int)i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = (uint32_t)rand() % i;
		int swapped = ranks[i - 1];

		ranks[i - 1] = ranks[k];
		ranks[k] = swapped;
	}
}

static void test_choice(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct model m, chosen = { .n = 0 }, rest = { .n = 0 };
		struct weft_group *group, *out;
		int ranks[MAX];
		uint32_t n;

		model_random(&m);
		group = make(&m);
		shuffle(ranks, m.n);
		n = m.n ? (uint32_t)rand() % m.n : 0;
		for (uint32_t i = 0; i < n; i++)
			chosen.procs[chosen.n++] = m.procs[ranks[i]];
		filter(&m, &chosen, false, &rest);
		assert_int_equal(weft_group_incl(group, ranks, n, &out), 0);
		assert_same(out, &chosen);
		weft_group_put(out);
		assert_int_equal(weft_group_excl(group, ranks, n, &out), 0);
		assert_same(out, &rest);
		weft_group_put(out);
		weft_group_put(group);
	}
}

static void test_compare(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct model m, other;
		struct weft_group *a, *b, *c;
		uint64_t da[2], db[2];
		int ranks[MAX];

		do
			model_random(&m);
		while (m.n < 2);
		a = make(&m);
		b = make(&m);
		assert_int_equal(weft_group_compare(a, b), WEFT_IDENT);
		weft_group_digest(a, da);
		weft_group_digest(b, db);
		assert_memory_equal(da, db, sizeof(da));
		weft_group_put(b);
		do
			shuffle(ranks, m.n);
		while (ranks[0] == 0);
		assert_int_equal(weft_group_incl(a, ranks, m.n, &b), 0);
		assert_int_equal(weft_group_compare(a, b), WEFT_SIMILAR);
		weft_group_digest(b, db);
		assert_memory_not_equal(da, db, sizeof(da));
		other = m;
		other.procs[0] = weft_proc_number(9, 9);
		c = make(&other);
		assert_int_equal(weft_group_compare(a, c), WEFT_UNEQUAL);
		weft_group_put(a);
		weft_group_put(b);
		weft_group_put(c);
	}
}

/* Equal member lists have equal runs however they were made. */
static void test_canonical(void **state)
{
	struct weft_group *whole, *odd, *even, *joined, *again;
	int ranks[100];

	(void)state;
	assert_int_equal(
		weft_group_create_range(weft_proc_number(1, 0), 200, &whole),
		0);
	for (int i = 0; i < 100; i++)
		ranks[i] = 2 * i;
	assert_int_equal(weft_group_incl(whole, ranks, 100, &even), 0);
	assert_int_equal(weft_group_excl(whole, ranks, 100, &odd), 0);
	assert_int_equal(even->n_runs, 1);
	assert_int_equal(odd->n_runs, 1);
	assert_int_equal(weft_group_union(even, odd, &joined), 0);
	assert_int_equal(joined->n_runs, 2);
	assert_int_equal(
		weft_group_create_runs(joined->runs, joined->n_runs, &again),
		0);
	assert_int_equal(weft_group_compare(joined, again), WEFT_IDENT);
	assert_int_equal(weft_group_compare(joined, whole), WEFT_SIMILAR);
	weft_group_put(whole);
	weft_group_put(odd);
	weft_group_put(even);
	weft_group_put(joined);
	weft_group_put(again);
}

/* A group of processes of five jobs. No run has processes of two jobs. */
static void test_jobs(void **state)
{
	const uint64_t procs[] = {
		weft_proc_number(1, 0),
		weft_proc_number(1, 2),
		weft_proc_number(2, 0),
		weft_proc_number(2, 2),
		weft_proc_number(3, 4),
		weft_proc_number(4, 4),
		weft_proc_number(5, 4),
	};
	enum { N = sizeof(procs) / sizeof(procs[0]) };
	struct weft_group *group, *again;

	(void)state;
	assert_int_equal(weft_group_create(procs, N, &group), 0);
	assert_runs(group);
	assert_int_equal(group->n_runs, 5);
	for (uint32_t i = 0; i < N; i++)
		assert_true(weft_group_proc(group, i) == procs[i]);
	assert_int_equal(
		weft_group_create_runs(group->runs, group->n_runs, &again), 0);
	assert_int_equal(weft_group_compare(group, again), WEFT_IDENT);
	weft_group_put(group);
	weft_group_put(again);
}

static void test_million(void **state)
{
	enum { N = 1000000 };
	struct weft_group *group, *copy, *tail;
	uint64_t first = weft_proc_number(7, 0);
	int zero = 0;

	(void)state;
	assert_int_equal(weft_group_create_range(first, N, &group), 0);
	assert_int_equal(group->size, N);
	assert_int_equal(group->n_runs, 1);
	assert_true(weft_group_proc(group, N - 1) == first + N - 1);
	assert_int_equal(weft_group_rank_of(group, first + 123456), 123456);
	assert_int_equal(weft_group_rank_of(group, first + N), WEFT_UNDEFINED);
	assert_int_equal(weft_group_dup(group, &copy), 0);
	assert_int_equal(copy->n_runs, 1);
	assert_int_equal(weft_group_compare(group, copy), WEFT_IDENT);
	assert_int_equal(weft_group_excl(group, &zero, 1, &tail), 0);
	assert_int_equal(tail->n_runs, 1);
	assert_int_equal(tail->size, N - 1);
	weft_group_put(group);
	weft_group_put(copy);
	weft_group_put(tail);
}

static void test_refused(void **state)
{
	uint64_t twins[] = { 5, 6, 5 };
	struct weft_run bad[] = { { 1, 1, 0, 0 } };
	struct weft_group *group = NULL;
	int ranks[] = { 0, 0 }, high[] = { 3 }, low[] = { -1 };

	(void)state;
	assert_int_equal(weft_group_create(twins, 3, &group), WEFT_ERR_RANK);
	assert_int_equal(
		weft_group_create_runs(bad, 1, &group), WEFT_ERR_PROTO);
	assert_null(group);
	assert_int_equal(weft_group_create_range(5, 3, &group), 0);
	assert_int_equal(
		weft_group_incl(group, ranks, 2, &group), WEFT_ERR_RANK);
	assert_int_equal(
		weft_group_incl(group, high, 1, &group), WEFT_ERR_RANK);
	assert_int_equal(weft_group_excl(group, low, 1, &group), WEFT_ERR_RANK);
	weft_group_put(group);
}

static void test_empty(void **state)
{
	struct weft_group *group, *none = NULL;

	(void)state;
	assert_int_equal(weft_group_create(NULL, 0, &none), 0);
	assert_ptr_equal(none, &weft_group_empty);
	assert_int_equal(weft_group_create_range(5, 3, &group), 0);
	assert_int_equal(weft_group_difference(group, group, &none), 0);
	assert_ptr_equal(none, &weft_group_empty);
	assert_int_equal(weft_group_compare(none, none), WEFT_IDENT);
	assert_int_equal(weft_group_compare(none, group), WEFT_UNEQUAL);
	weft_group_put(none);
	weft_group_put(none);
	weft_group_put(group);
	assert_int_equal(weft_table_n_live(&weft_groups), 0);
}

/* Ranges of groups with several runs, of two jobs, against a loop. */
static void test_ranges(void **state)
{
	enum { MEMBERS = 60, TIMES = 2000 };
	uint64_t procs[MEMBERS];

	(void)state;
	for (int round = 0; round < TIMES; round++) {
		struct weft_group *from, *group;
		struct weft_rank_range range;
		uint32_t first = 0, left;

		for (uint32_t i = 0; i < MEMBERS; i++) {
			first += i && rand() % 4 ? 2 : 2 + rand() % 9u;
			procs[i] = weft_proc_number(1 + i / 40, first);
		}
		assert_int_equal(weft_group_create(procs, MEMBERS, &from), 0);
		range.first = rand() % (unsigned)MEMBERS;
		range.stride = 1 + rand() % 5;
		left = MEMBERS - 1 - range.first;
		if (rand() % 2) {
			range.stride = -range.stride;
			left = range.first;
		}
		range.n = 1 + rand() % (left / abs(range.stride) + 1u);
		assert_int_equal(
			weft_group_create_ranges(from, &range, 1, &group), 0);
		assert_int_equal(group->size, range.n);
		for (uint32_t i = 0; i < range.n; i++)
			assert_int_equal(weft_group_proc(group, i),
				procs[range.first +
					(uint32_t)range.stride * i]);
		weft_group_put(group);
		weft_group_put(from);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_million),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_ranges),
	};

	srand(20260101);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
