/* SPDX-License-Identifier: BSD-3-Clause */
/* exhaust: allocates all memory, for unit tests */
#ifndef WEFT_TEST_EXHAUST_H
#define WEFT_TEST_EXHAUST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CAN_EXHAUST = 0 };
#else
enum { CAN_EXHAUST = 1 };
#endif

struct block {
	struct block *next;
};

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

#endif
