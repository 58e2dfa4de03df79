/* SPDX-License-Identifier: BSD-3-Clause */
/* exhaust: allocates all memory, for unit tests */
#ifndef WEFT_TEST_EXHAUST_H
#define WEFT_TEST_EXHAUST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
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

/* Sets the limit of the address space so low that the heap cannot grow. */
static void limit_memory(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = 1;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void unlimit_memory(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

/* Skips the test where exhaust() does not work. qemu-user accepts limits of
 * memory and does not apply them. */
static void skip_unless_exhaustible(void)
{
	void *map;

	if (IS_SANITIZED) {
		print_message("the sanitizer ends a process without memory\n");
		skip();
	}
	limit_memory();
	map = mmap(
		NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unlimit_memory();
	if (map != MAP_FAILED) {
		print_message("this system does not apply RLIMIT_AS\n");
		skip();
	}
}

/* Allocates all that is free in the heap, which cannot grow. */
static struct block *exhaust(void)
{
	struct block *blocks = NULL;

	limit_memory();
	for (size_t len = 1 << 20; len > 2048; len /= 2)
		blocks = take_all(blocks, len);
	for (size_t len = 2048; len >= sizeof(*blocks); len -= 8)
		blocks = take_all(blocks, len);
	return blocks;
}

static void give_back(struct block *blocks)
{
	struct block *next;

	for (; blocks; blocks = next) {
		next = blocks->next;
		free(blocks);
	}
	unlimit_memory();
}

#endif
