/* SPDX-License-Identifier: BSD-3-Clause */
/* pinned: host memory for copies of device memory
 *
 * The driver copies pinned memory several times faster than other host memory,
 * but pinning takes longer than a copy. So the process has one pool of pinned
 * memory, which grows when it is used and shrinks only after the last session.
 * Any thread may call these functions, and none acquires a VCI's lock. */
#ifndef WEFT_PINNED_H
#define WEFT_PINNED_H

#include "dev/dev.h"

/* Returns len > 0 bytes of host memory, which the driver of the device copies.
 * The memory is pinned if it is long and the pool has space, and otherwise
 * malloc's. NULL: no memory. The caller owns it. */
void *weft_pinned_alloc(const struct weft_dev_where *where, size_t len);

/* Frees memory of weft_pinned_alloc(), or of malloc(). NULL: no effect. */
void weft_pinned_free(void *memory);

/* Unpins and frees the pool, except regions with memory in use. */
void weft_pinned_close(void);

#endif
