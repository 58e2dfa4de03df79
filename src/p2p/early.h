/* SPDX-License-Identifier: BSD-3-Clause */
/* early: memory for the data of unexpected messages
 *
 * If messages arrive before their receives are posted, the receiver allocates
 * and frees memory for each message. A C library may return each block of about
 * 100 KiB to the kernel; the next message then faults in new pages. So this
 * file keeps freed blocks in lists by power of two, WEFT_EARLY_KEPT bytes at
 * most. */
#ifndef WEFT_EARLY_H
#define WEFT_EARLY_H

#include <stddef.h>

enum {
	WEFT_EARLY_LEN_MAX = 1 << 17, /* longer blocks are in no list */
	WEFT_EARLY_LISTS = 18,
	WEFT_EARLY_KEPT = 4 << 20, /* most bytes in all lists */
};

struct weft_early_block;

/* The lists of a VCI. Its lock guards them. All fields are 0 at first. */
struct weft_early {
	struct weft_early_block *kept[WEFT_EARLY_LISTS];
	size_t n_kept; /* bytes of the blocks in the lists */
	size_t n_held; /* n_kept and the bytes of the blocks in use */
};

/* weft_early_take() allocates len bytes; len is not 0. NULL if out of memory.
 * weft_early_give() frees a block of weft_early_take() with the same len. */
void *weft_early_take(struct weft_early *early, size_t len);
void weft_early_give(struct weft_early *early, void *data, size_t len);

/* Frees the blocks in the lists. */
void weft_early_drop(struct weft_early *early);

#endif
