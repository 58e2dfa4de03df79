/* SPDX-License-Identifier: BSD-3-Clause */
/* failed_test: the list of failed processes, also without memory */
#include "core/failed.h"
#include "transport/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <cmocka.h>

enum { SCARCE = 32, MANY = 1000 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CAN_EXHAUST = 0 };
#else
enum { CAN_EXHAUST = 1 };
#endif

struct block {
	struct block *next;
};

static uint64_t numbered(uint32_t i)
{
	return weft_proc_number(1 + i % 2, 7 * i);
}

static struct block *take_all(struct block *blocks, size_t len)
{
	struct block *block;

	while ((block = malloc(len)) != NULL) {
		block->next = blocks;
		blocks = block;
	}
	return blocks;
}

/* Sets the limit of the address space so low that the heap cannot grow, and
 * allocates all that is free in the heap. */
static struct block *exhaust(void)
{
	struct rlimit limit;
	struct block *blocks = NULL;

	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = 1;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	for (size_t len = 1 << 20; len > 2048; len /= 2)
		blocks = take_all(blocks, len);
	for (size_t len = 2048; len >= sizeof(*blocks); len -= 8)
		blocks = take_all(blocks, len);
	return blocks;
}

static void give_back(struct block *blocks)
{
	struct rlimit limit;
	struct block *next;

	for (; blocks; blocks = next) {
		next = blocks->next;
		free(blocks);
	}
	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void no_failure_is_lost_without_memory(void **state)
{
	struct block *blocks;

	(void)state;
	if (!CAN_EXHAUST) {
		print_message("the sanitizer ends a process without memory\n");
		skip();
	}
	blocks = exhaust();
	for (uint32_t i = 0; i < SCARCE; i++)
		weft_failed_add(numbered(i));
	give_back(blocks);
	for (uint32_t i = 0; i < SCARCE; i++)
		assert_true(weft_failed_is(numbered(i)));
}

static void many_failures_keep_their_order(void **state)
{
	uint64_t procs[MANY];
	struct weft_group *group;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		procs[MANY - 1 - i] = numbered(i);
		weft_failed_add(numbered(i));
		weft_failed_add(numbered(i));
		assert_false(
			weft_failed_is(numbered(i + 1)) && i + 1 >= SCARCE);
	}
	assert_int_equal(weft_group_create(procs, MANY, &group), 0);
	assert_int_equal(weft_failed_first(group), MANY - 1);
	weft_group_put(group);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_true(weft_failed_is(numbered(i)));
		assert_false(weft_failed_was_aborted(numbered(i)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_failure_is_lost_without_memory),
		cmocka_unit_test(many_failures_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
