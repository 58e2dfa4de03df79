/* SPDX-License-Identifier: BSD-3-Clause */
/* write: writes data into memory that another process reads
 *
 * A store to a cache line that another core has read waits until that core has
 * invalidated the line. Between cores that share no cache, this takes several
 * times as long as the read of the line. So long data for a reader on such a
 * core is stored past the caches, with non-temporal stores (only with SSE2).
 * Such a store does not wait, but the reader must read the data from memory.
 * The writer chooses once for each reader. */
#ifndef WEFT_WRITE_H
#define WEFT_WRITE_H

#include "base/bits.h"

#include <stdbool.h>
#include <string.h>

enum { WEFT_WRITE_LONG = 4096 }; /* shorter data uses usual stores */

/* Writes WEFT_WRITE_LONG bytes or more. `from` and `to` do not overlap.
 * is_past: the data is stored past the caches. A release store that follows
 * publishes the data. */
void weft_write_long(bool is_past, void *to, const void *from, size_t len);

/* As weft_write_long(), for any length. */
static inline void weft_write(
	bool is_past, void *to, const void *from, size_t len)
{
	if (weft_likely(len < WEFT_WRITE_LONG))
		weft_copy_msg(to, from, len);
	else
		weft_write_long(is_past, to, from, len);
}

#endif
