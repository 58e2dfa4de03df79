/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_heap: symmetric memory; every PE makes the same calls in the same order
 */
#include "shmem_priv.h"

#include "base/log.h"

#include <string.h>

static void *alloc(const char *fn, size_t len, size_t align, bool is_zeroed)
{
	void *ptr;

	weft_shmem_check_open(fn);
	if (!len)
		return NULL;
	ptr = weft_heap_alloc(len, align);
	if (ptr && is_zeroed)
		memset(ptr, 0, len);
	weft_shmem_barrier(fn);
	return ptr;
}

void *pshmem_malloc(size_t size)
{
	return alloc("shmem_malloc", size, 0, false);
}

/* Ignores the hints. They permit memory of a network card, which no supported
 * fabric offers. */
void *pshmem_malloc_with_hints(size_t size, long hints)
{
	(void)hints;
	return alloc("shmem_malloc_with_hints", size, 0, false);
}

void *pshmem_calloc(size_t count, size_t size)
{
	size_t len;

	if (__builtin_mul_overflow(count, size, &len))
		return NULL;
	return alloc("shmem_calloc", len, 0, true);
}

void *pshmem_align(size_t alignment, size_t size)
{
	if (!alignment || alignment & (alignment - 1)) {
		weft_log_warn("SHMEM-HEAP",
			"shmem_align: alignment is %zu, which is not a power "
			"of two; the result is NULL",
			alignment);
		return NULL;
	}
	return alloc("shmem_align", size, alignment, false);
}

void pshmem_free(void *ptr)
{
	weft_shmem_check_open("shmem_free");
	if (!ptr)
		return;
	weft_shmem_barrier("shmem_free");
	weft_shmem_ok("shmem_free", weft_heap_free(ptr));
}

void *pshmem_realloc(void *ptr, size_t size)
{
	void *moved;

	if (!ptr)
		return alloc("shmem_realloc", size, 0, false);
	if (!size) {
		pshmem_free(ptr);
		return NULL;
	}
	weft_shmem_barrier("shmem_realloc");
	moved = weft_heap_realloc(ptr, size);
	weft_shmem_barrier("shmem_realloc");
	return moved;
}

#include "api_shmem_heap.h"
