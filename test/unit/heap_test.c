/* SPDX-License-Identifier: BSD-3-Clause */
/* heap_test: random calls against a plain table of owners */
#include "rma/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { HEAP_LEN = 1 << 20, N_SLOTS = 200, N_STEPS = 20000, GRAIN = 64 };

/* grains: the owner of each grain, which is a slot + 1; 0: none. */
struct account {
	struct weft_heap heap;
	uint16_t grains[HEAP_LEN / GRAIN];
	size_t at[N_SLOTS], len[N_SLOTS]; /* at is SIZE_MAX: an empty slot */
};

static void mark(struct account *a, int slot, size_t at, size_t len, int owner)
{
	assert_true(at % GRAIN == 0 && at + len <= HEAP_LEN);
	for (size_t g = at / GRAIN; g < (at + len + GRAIN - 1) / GRAIN; g++) {
		assert_int_equal(a->grains[g], owner ? 0 : slot + 1);
		a->grains[g] = (uint16_t)owner;
	}
}

static void take(struct account *a, int slot)
{
	size_t len = (size_t)random() % (random() % 8 ? 2000 : 60000);
	size_t align = random() % 4 ? 0 : (size_t)1 << (random() % 14);

	a->at[slot] = weft_heap_take(&a->heap, len, align);
	if (a->at[slot] == SIZE_MAX)
		return;
	a->len[slot] = len ? len : 1;
	if (align)
		assert_int_equal(a->at[slot] % align, 0);
	assert_true(weft_heap_len(&a->heap, a->at[slot]) >= len);
	mark(a, slot, a->at[slot], a->len[slot], slot + 1);
}

static void give(struct account *a, int slot)
{
	mark(a, slot, a->at[slot], a->len[slot], 0);
	assert_int_equal(weft_heap_give(&a->heap, a->at[slot]), 0);
	assert_int_equal(weft_heap_give(&a->heap, a->at[slot]), WEFT_ERR_ARG);
	a->at[slot] = SIZE_MAX;
}

static void resize(struct account *a, int slot)
{
	size_t len = 1 + (size_t)random() % (2 * a->len[slot] + 100);

	if (!weft_heap_resize(&a->heap, a->at[slot], len))
		return;
	mark(a, slot, a->at[slot], a->len[slot], 0);
	mark(a, slot, a->at[slot], len, slot + 1);
	a->len[slot] = len;
}

static void step(struct account *a)
{
	int slot = (int)(random() % N_SLOTS);

	if (a->at[slot] == SIZE_MAX)
		take(a, slot);
	else if (random() % 2)
		give(a, slot);
	else
		resize(a, slot);
}

static struct account *account_make(void)
{
	struct account *a = calloc(1, sizeof(*a));

	assert_non_null(a);
	assert_int_equal(weft_heap_init(&a->heap, HEAP_LEN), 0);
	for (int i = 0; i < N_SLOTS; i++)
		a->at[i] = SIZE_MAX;
	return a;
}

static void account_free(struct account *a)
{
	weft_heap_fini(&a->heap);
	free(a);
}

static void blocks_do_not_overlap_and_are_all_freed(void **state)
{
	struct account *a = account_make();

	(void)state;
	srandom(7);
	for (int i = 0; i < N_STEPS; i++)
		step(a);
	for (int i = 0; i < N_SLOTS; i++)
		if (a->at[i] != SIZE_MAX)
			give(a, i);
	assert_int_equal(a->heap.n_taken, 0);
	/* the free ranges are merged, so a block of the whole heap fits */
	assert_int_equal(weft_heap_take(&a->heap, HEAP_LEN, 0), 0);
	assert_true(weft_heap_take(&a->heap, 1, 0) == SIZE_MAX);
	account_free(a);
}

static void the_same_calls_give_the_same_places(void **state)
{
	struct account *a = account_make(), *b = account_make();

	(void)state;
	for (int i = 0; i < N_STEPS; i++) {
		srandom((unsigned)i);
		step(a);
		srandom((unsigned)i);
		step(b);
		assert_memory_equal(a->at, b->at, sizeof(a->at));
	}
	account_free(a);
	account_free(b);
}

static void odd_requests_are_refused(void **state)
{
	struct weft_heap heap;
	size_t at;

	(void)state;
	assert_int_equal(weft_heap_init(&heap, 4096), 0);
	assert_true(weft_heap_take(&heap, SIZE_MAX, 0) == SIZE_MAX);
	assert_true(weft_heap_take(&heap, 4097, 0) == SIZE_MAX);
	assert_true(weft_heap_take(&heap, 64, 8192) == 0);
	at = weft_heap_take(&heap, 64, 4096);
	assert_true(at == SIZE_MAX);
	at = weft_heap_take(&heap, 0, 0);
	assert_int_equal(at, 64);
	assert_false(weft_heap_resize(&heap, at, SIZE_MAX));
	assert_false(weft_heap_resize(&heap, at + 8, 8));
	assert_int_equal(weft_heap_give(&heap, at + 8), WEFT_ERR_ARG);
	assert_int_equal(weft_heap_len(&heap, at + 8), 0);
	weft_heap_fini(&heap);
	assert_int_equal(weft_heap_init(&heap, 0), 0);
	assert_true(weft_heap_take(&heap, 1, 0) == SIZE_MAX);
	weft_heap_fini(&heap);
}

static void a_block_grows_into_the_gap_behind_it(void **state)
{
	struct weft_heap heap;

	(void)state;
	assert_int_equal(weft_heap_init(&heap, 4096), 0);
	assert_int_equal(weft_heap_take(&heap, 64, 0), 0);
	assert_int_equal(weft_heap_take(&heap, 64, 0), 64);
	assert_int_equal(weft_heap_take(&heap, 64, 0), 128);
	assert_false(weft_heap_resize(&heap, 0, 65));
	assert_int_equal(weft_heap_give(&heap, 64), 0);
	assert_true(weft_heap_resize(&heap, 0, 128));
	assert_false(weft_heap_resize(&heap, 0, 129));
	assert_true(weft_heap_resize(&heap, 0, 10));
	assert_int_equal(weft_heap_take(&heap, 64, 0), 64);
	weft_heap_fini(&heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_do_not_overlap_and_are_all_freed),
		cmocka_unit_test(the_same_calls_give_the_same_places),
		cmocka_unit_test(odd_requests_are_refused),
		cmocka_unit_test(a_block_grows_into_the_gap_behind_it),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
