/* SPDX-License-Identifier: BSD-3-Clause */
/* heap: who has which part of the symmetric heap
 *
 * Offsets only: the memory itself is never touched. The same calls in the
 * same order give the same offsets on every PE. Not thread safe. */
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
	struct weft_link bins[WEFT_HEAP_BINS]; /* the free ones, by length */
	struct weft_map used;		       /* offset + 1 to block */
	size_t n_taken;			       /* bytes in use */
};

/* A heap of len bytes, all free. 0 or WEFT_ERR_NOMEM. */
int weft_heap_init(struct weft_heap *heap, size_t len);
void weft_heap_fini(struct weft_heap *heap);

/* A block of at least len bytes (0 counts as 1) at a multiple of align, a
 * power of two or 0, and of a cache line. SIZE_MAX when nothing fits. */
size_t weft_heap_take(struct weft_heap *heap, size_t len, size_t align);

/* Gives back a block; WEFT_ERR_ARG when none begins there. */
int weft_heap_give(struct weft_heap *heap, size_t at);

/* Makes a block longer or shorter where it is; false if that cannot be. */
bool weft_heap_resize(struct weft_heap *heap, size_t at, size_t len);

/* Length of the block that begins there; 0: none does. */
size_t weft_heap_len(struct weft_heap *heap, size_t at);

#endif
