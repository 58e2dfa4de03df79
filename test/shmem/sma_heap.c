/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_heap: symmetric memory is allocated, extended, freed and allocated again
 */
#include "stest.h"

enum { SLOTS = 32, ROUNDS = 400 };

/* Checks that all PEs have the block at the same offset of their heaps: a get
 * with this PE's address returns what the next PE stored in its block. */
static void agree(void *ptr, size_t len)
{
	unsigned char mark = (unsigned char)(len * 7 + 1);

	if (!ptr)
		return;
	memset(ptr, mark, len);
	shmem_barrier_all();
	CHECK(shmem_uchar_g((unsigned char *)ptr + len - 1, stest_next()) ==
			mark,
		"a block of %zu is the same block at the next PE", len);
	shmem_barrier_all();
}

/* Allocates and frees blocks of 1 to 5000 bytes, in one order at all PEs. */
static void churn(void)
{
	unsigned char *slot[SLOTS] = { NULL };
	size_t len[SLOTS] = { 0 };
	unsigned seed = 7;
	long wrong = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int k;

		seed = seed * 1103515245u + 12345u;
		k = (int)(seed >> 8) % SLOTS;
		for (size_t b = 0; slot[k] && b < len[k]; b += 97)
			wrong += slot[k][b] != (unsigned char)k;
		shmem_free(slot[k]);
		len[k] = (seed >> 16) % 5000 + 1;
		slot[k] =
			i % 3 ? shmem_malloc(len[k]) : shmem_align(256, len[k]);
		CHECK(slot[k], "a block of %zu bytes is allocated", len[k]);
		if (slot[k])
			memset(slot[k], k, len[k]);
	}
	CHECK(!wrong, "%ld bytes were changed by other PEs", wrong);
	for (int k = 0; k < SLOTS; k++)
		shmem_free(slot[k]);
}

int main(int argc, char **argv)
{
	size_t len = 4 << 20;
	char *p, *q;
	int local;

	(void)argc;
	stest_init(argv);
	CHECK(!shmem_malloc(0) && !shmem_calloc(0, 8) && !shmem_calloc(8, 0) &&
			!shmem_align(64, 0) && !shmem_malloc_with_hints(0, 0),
		"an allocation of 0 bytes returns NULL");
	CHECK(!shmem_malloc(SIZE_MAX / 2) && !shmem_calloc(SIZE_MAX, 16),
		"an allocation beyond the heap returns NULL");
	shmem_free(NULL);
	p = shmem_malloc(100);
	agree(p, 100);
	q = shmem_malloc_with_hints(
		100, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
	agree(q, 100);
	CHECK((uintptr_t)p % _Alignof(max_align_t) == 0,
		"memory is aligned for all types");
	CHECK(!shmem_align(0, 100) && !shmem_align(24, 100),
		"an invalid alignment returns NULL");
	p = shmem_realloc(p, len);
	CHECK(p && (unsigned char)p[99] == (unsigned char)(100 * 7 + 1),
		"realloc keeps the data");
	agree(p, len);
	p = shmem_realloc(p, 10);
	agree(p, 10);
	CHECK(!shmem_realloc(p, 0), "realloc to 0 bytes frees the block");
	shmem_free(q);
	for (size_t a = 8; a <= 1 << 16; a *= 2) {
		p = shmem_align(a, a + 1);
		CHECK(p && (uintptr_t)p % a == 0, "the block is aligned to %zu",
			a);
		agree(p, a + 1);
		shmem_free(p);
	}
	q = shmem_malloc(100); /* occupies the first byte of the heap */
	for (size_t a = 1 << 20; a <= 32 << 20; a *= 2) {
		p = shmem_align(a, 1000);
		CHECK(p && (uintptr_t)p % a == 0, "the block is aligned to %zu",
			a);
		agree(p, 1000);
		shmem_free(p);
	}
	shmem_free(q);
	p = shmem_realloc(NULL, 50);
	agree(p, 50);
	shmem_free(p);
	churn();
	p = shmem_malloc(64 << 20);
	CHECK(p, "a large block can be allocated after all blocks are freed");
	shmem_free(p);
	p = shmem_calloc(1000, 1000);
	for (int i = 0; i < 1000000; i += 999)
		CHECK(!p[i], "calloc clears the block");
	CHECK(shmem_addr_accessible(p, 0) &&
			shmem_addr_accessible(&len, 0) == 0 &&
			!shmem_addr_accessible(&local, 0) &&
			!shmem_addr_accessible(p, stest.n),
		"shmem_addr_accessible is right");
	return stest_done();
}
