/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_heap: the memory that the library allocates in a simulated process */
#include "test/sim/sim_heap.h"

#include "test/sim/sim.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__

char *sim_heap_create(size_t *len_out)
{
	*len_out = 0;
	return NULL;
}

void sim_heap_add_caller(const char *at, size_t len)
{
	(void)at;
	(void)len;
}

#else

enum {
	UNIT = 16,
	SMALL = 1024, /* up to this length, a kind for each unit */
	STEPS = 4,    /* kinds for each power of two above */
	KINDS = 100,
	LARGE = 8 * 1024,
	LARGE_ZERO = 288 * 1024, /* a table of handles is smaller */
	CALLERS = 8,
};

/* Blocks are of some lengths only. Each kind has an area, so that the third
 * peer of any process, for example, is at the same address. */
#define AREA_LEN ((size_t)1 << 22)
#define HEAP_LEN (AREA_LEN * (KINDS + 1))

/* Before each block. */
struct block {
	uint32_t kind, len;
	struct block *next; /* of free blocks */
};

/* At the start of the heap. Free blocks and unused memory are zero. */
struct heap {
	size_t used[KINDS]; /* bytes of the area */
	struct block *free[KINDS];
};

static char *heap; /* NULL before the processes start */

static struct {
	uintptr_t at;
	size_t len;
} callers[CALLERS];
static size_t n_callers;

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
} libc;

static void find(const char *name, void *function)
{
	void *at = dlsym(RTLD_NEXT, name);

	if (!at)
		abort();
	memcpy(function, &at, sizeof(at));
}

static void find_libc(void)
{
	if (libc.free)
		return;
	find("malloc", &libc.malloc);
	find("calloc", &libc.calloc);
	find("realloc", &libc.realloc);
	find("free", &libc.free);
}

char *sim_heap_create(size_t *len_out)
{
	char *at = mmap(NULL, HEAP_LEN, PROT_READ,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	*len_out = HEAP_LEN;
	heap = at;
	return at;
}

void sim_heap_add_caller(const char *at, size_t len)
{
	if (n_callers == CALLERS)
		abort();
	callers[n_callers].at = (uintptr_t)at;
	callers[n_callers++].len = len;
}

static bool is_in_heap(const void *at)
{
	return heap && (uintptr_t)at - (uintptr_t)heap < HEAP_LEN;
}

static bool is_library(const void *caller)
{
	if (!heap || sim_rank() == UINT32_MAX)
		return false;
	for (size_t i = 0; i < n_callers; i++)
		if ((uintptr_t)caller - callers[i].at < callers[i].len)
			return true;
	return false;
}

/* Returns the kind of block for a length, which becomes the block's length. */
static uint32_t kind_of(size_t *len)
{
	uint32_t kind = SMALL / UNIT, step = SMALL / STEPS, most = SMALL;

	if (*len <= SMALL) {
		kind = (uint32_t)((*len + UNIT - 1) / UNIT);
		*len = (size_t)kind * UNIT;
		return kind;
	}
	for (; most < *len; most += step, kind++)
		if (most == 2 * STEPS * step)
			step *= 2;
	*len = most;
	return kind;
}

/* Returns a block of zero bytes, or NULL if the heap is full. */
static void *heap_alloc(size_t len)
{
	struct heap *h = (struct heap *)(void *)heap;
	uint32_t kind = kind_of(&len);
	struct block *block = h->free[kind];

	if (block) {
		h->free[kind] = block->next;
		block->next = NULL;
		return block + 1;
	}
	if (AREA_LEN - h->used[kind] < sizeof(*block) + len)
		return NULL;
	block = (struct block *)(void *)(heap + (kind + 1) * AREA_LEN +
					 h->used[kind]);
	h->used[kind] += sizeof(*block) + len;
	block->kind = kind;
	block->len = (uint32_t)len;
	return block + 1;
}

static void heap_free(void *at)
{
	struct heap *h = (struct heap *)(void *)heap;
	struct block *block = (struct block *)at - 1;

	memset(at, 0, block->len);
	block->next = h->free[block->kind];
	h->free[block->kind] = block;
}

void *malloc(size_t len)
{
	void *at = NULL;

	find_libc();
	if (len <= LARGE && is_library(__builtin_return_address(0)))
		at = heap_alloc(len);
	return at ? at : libc.malloc(len);
}

void *calloc(size_t n, size_t size)
{
	void *at = NULL;

	find_libc();
	if (size && n <= LARGE_ZERO / size &&
		is_library(__builtin_return_address(0)))
		at = heap_alloc(n * size);
	return at ? at : libc.calloc(n, size);
}

void free(void *at)
{
	find_libc();
	if (is_in_heap(at))
		heap_free(at);
	else
		libc.free(at);
}

void *realloc(void *at, size_t len)
{
	void *to = NULL;
	size_t before;

	find_libc();
	if (!at && len <= LARGE && is_library(__builtin_return_address(0)))
		to = heap_alloc(len);
	if (!is_in_heap(at))
		return to ? to : libc.realloc(at, len);
	before = ((struct block *)at - 1)->len;
	if (len <= before)
		return at;
	to = len <= LARGE ? heap_alloc(len) : NULL;
	if (!to)
		to = libc.malloc(len);
	if (to) {
		memcpy(to, at, before);
		heap_free(at);
	}
	return to;
}

#endif
