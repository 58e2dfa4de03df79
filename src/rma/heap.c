/* SPDX-License-Identifier: BSD-3-Clause */
/* heap: allocates offsets of the symmetric heap
 *
 * The blocks cover the heap without gaps, in address order. Adjacent free
 * blocks are merged immediately. A bin lists the free blocks whose lengths have
 * the same power of two.
 *
 * The descriptions of blocks are outside the heap, so a write beyond a block
 * cannot damage them. A map of the blocks in use detects foreign pointers.
 * Offsets depend only on the sequence of calls, so they are the same at all
 * PEs. */
#include "rma/heap.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

enum { GRAIN = WEFT_CACHE_LINE };

struct weft_heap_block {
	size_t at;
	size_t len; /* multiple of GRAIN */
	bool is_free;
	struct weft_link by_at;
	struct weft_link in_bin; /* in its bin, while is_free */
};

static struct weft_heap_block *block_of(struct weft_link *by_at)
{
	return weft_container_of(by_at, struct weft_heap_block, by_at);
}

static unsigned bin_of(size_t len)
{
	return 63 - (unsigned)__builtin_clzl(len / GRAIN);
}

static void put_in_bin(struct weft_heap *heap, struct weft_heap_block *block)
{
	block->is_free = true;
	weft_list_push_front(&heap->bins[bin_of(block->len)], &block->in_bin);
}

/* Inserts a block after prev. */
static struct weft_heap_block *new_block(
	struct weft_link *prev, size_t at, size_t len)
{
	struct weft_heap_block *block = calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->at = at;
	block->len = len;
	weft_list_push_front(prev, &block->by_at);
	return block;
}

int weft_heap_init(struct weft_heap *heap, size_t len)
{
	struct weft_heap_block *block;

	memset(heap, 0, sizeof(*heap));
	weft_list_init(&heap->blocks);
	for (int i = 0; i < WEFT_HEAP_BINS; i++)
		weft_list_init(&heap->bins[i]);
	len &= ~(size_t)(GRAIN - 1);
	if (!len)
		return 0;
	block = new_block(&heap->blocks, 0, len);
	if (!block)
		return WEFT_ERR_NOMEM;
	put_in_bin(heap, block);
	return 0;
}

void weft_heap_fini(struct weft_heap *heap)
{
	weft_list_for_each(link, next, &heap->blocks)
	{
		free(block_of(link));
	}
	weft_map_fini(&heap->used);
	weft_list_init(&heap->blocks);
}

/* Returns the offset of len aligned bytes in a free block. SIZE_MAX: the block
 * is too short. */
static size_t fit(const struct weft_heap_block *block, size_t len, size_t align)
{
	size_t at = weft_round_up(block->at, align);

	return at - block->at <= block->len &&
			       len <= block->len - (at - block->at)
		       ? at
		       : SIZE_MAX;
}

static struct weft_heap_block *heap_find(
	struct weft_heap *heap, size_t len, size_t align)
{
	for (unsigned i = bin_of(len); i < WEFT_HEAP_BINS; i++)
		weft_list_for_each(link, next, &heap->bins[i])
		{
			struct weft_heap_block *block = weft_container_of(
				link, struct weft_heap_block, in_bin);

			if (fit(block, len, align) != SIZE_MAX)
				return block;
		}
	return NULL;
}

/* Cuts a block at `at`; the rest becomes a free block. The block itself is in
 * no bin. */
static int heap_cut(
	struct weft_heap *heap, struct weft_heap_block *block, size_t at)
{
	struct weft_heap_block *rest;

	if (at == block->at + block->len)
		return 0;
	rest = new_block(&block->by_at, at, block->at + block->len - at);
	if (!rest)
		return WEFT_ERR_NOMEM;
	block->len = at - block->at;
	put_in_bin(heap, rest);
	return 0;
}

static void take_from_bin(struct weft_heap_block *block)
{
	block->is_free = false;
	weft_list_remove(&block->in_bin);
}

/* Rounds a length up to grains; 0 if that overflows. */
static size_t to_grains(size_t len)
{
	return len > SIZE_MAX - GRAIN ? 0 : weft_round_up(len ? len : 1, GRAIN);
}

size_t weft_heap_take(struct weft_heap *heap, size_t len, size_t align)
{
	struct weft_heap_block *block;
	size_t at;

	len = to_grains(len);
	align = weft_max(align, GRAIN);
	block = len ? heap_find(heap, len, align) : NULL;
	if (!block)
		return SIZE_MAX;
	at = fit(block, len, align);
	take_from_bin(block);
	if (at > block->at) {
		struct weft_heap_block *before = block;

		if (heap_cut(heap, before, at)) {
			put_in_bin(heap, before);
			return SIZE_MAX;
		}
		block = block_of(before->by_at.next);
		put_in_bin(heap, before);
		take_from_bin(block);
	}
	if (weft_map_put(&heap->used, at + 1, block) ||
		heap_cut(heap, block, at + len)) {
		weft_map_remove(&heap->used, at + 1);
		put_in_bin(heap, block);
		return SIZE_MAX;
	}
	heap->n_taken += len;
	return at;
}

/* Joins a block with its successor, and frees the description of the successor.
 */
static void heap_join(
	struct weft_heap_block *block, struct weft_heap_block *next)
{
	block->len += next->len;
	weft_list_remove(&next->by_at);
	free(next);
}

static struct weft_heap_block *free_neighbour(
	struct weft_heap *heap, struct weft_link *link)
{
	return link != &heap->blocks && block_of(link)->is_free ? block_of(link)
								: NULL;
}

int weft_heap_give(struct weft_heap *heap, size_t at)
{
	struct weft_heap_block *block = weft_map_remove(&heap->used, at + 1);
	struct weft_heap_block *other;

	if (!block)
		return WEFT_ERR_ARG;
	heap->n_taken -= block->len;
	other = free_neighbour(heap, block->by_at.next);
	if (other) {
		take_from_bin(other);
		heap_join(block, other);
	}
	other = free_neighbour(heap, block->by_at.prev);
	if (other) {
		take_from_bin(other);
		heap_join(other, block);
		block = other;
	}
	put_in_bin(heap, block);
	return 0;
}

bool weft_heap_resize(struct weft_heap *heap, size_t at, size_t len)
{
	struct weft_heap_block *block = weft_map_get(&heap->used, at + 1);
	struct weft_heap_block *next;
	size_t old;

	len = to_grains(len);
	if (!block || !len)
		return false;
	old = block->len;
	next = free_neighbour(heap, block->by_at.next);
	if (len > old + (next ? next->len : 0))
		return false;
	if (next) {
		take_from_bin(next);
		heap_join(block, next);
	}
	/* if no memory is left for the description of the rest, the block stays
	 * longer */
	heap_cut(heap, block, at + len);
	heap->n_taken += block->len - old;
	return true;
}

size_t weft_heap_len(struct weft_heap *heap, size_t at)
{
	const struct weft_heap_block *block = weft_map_get(&heap->used, at + 1);

	return block ? block->len : 0;
}
