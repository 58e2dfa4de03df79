/* SPDX-License-Identifier: BSD-3-Clause */
/* heap: allocates offsets of the symmetric heap
 *
 * These calls do not access the heap's memory. The same calls in the same order
 * return the same offsets on every PE. The caller serialises the calls. */
#ifndef WEFT_HEAP_H
#define WEFT_HEAP_H

#include "base/err.h"
#include "base/list.h"
#include "base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_HEAP_BINS = 58 };

struct weft_heap {
	struct weft_link blocks;	       /* all, by address */
	struct weft_link bins[WEFT_HEAP_BINS]; /* free blocks, by length */
	struct weft_map used;		       /* offset + 1 to block */
	size_t n_taken;			       /* bytes in use */
};

/* Initializes a heap of len free bytes. 0 or WEFT_ERR_NOMEM. */
int weft_heap_init(struct weft_heap *heap, size_t len);
void weft_heap_fini(struct weft_heap *heap);

/* Allocates a block of at least len bytes (0 counts as 1). Its offset is a
 * multiple of a cache line and of align, a power of two or 0. Returns SIZE_MAX
 * if no free block is large enough. */
size_t weft_heap_take(struct weft_heap *heap, size_t len, size_t align);

/* Frees the block at this offset. WEFT_ERR_ARG if no block begins there. */
int weft_heap_give(struct weft_heap *heap, size_t at);

/* Changes the length of a block in place. Returns false if the block is unknown
 * or the space behind it is too short; then nothing changes. */
bool weft_heap_resize(struct weft_heap *heap, size_t at, size_t len);

/* The length of the block at this offset; 0: no block begins there. */
size_t weft_heap_len(struct weft_heap *heap, size_t at);

#endif
