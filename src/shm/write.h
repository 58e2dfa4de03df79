/* SPDX-License-Identifier: BSD-3-Clause */
/* write: data into memory that another process reads
 *
 * A store into a line that another core has read waits until that core has
 * given it up, one line after another: 7 to 30 ns each, four times what the
 * reader then takes. A store past the caches does not wait, but the reader
 * finds nothing in a cache near by. Which is better follows from the length and
 * from where the two run, so the writer takes the time of both (base/choice.h),
 * with what the second costs its reader. */
#ifndef WEFT_WRITE_H
#define WEFT_WRITE_H

#include "base/bits.h"
#include "base/choice.h"

#include <string.h>

enum {
	WEFT_WRITE_LONG = 4096, /* shorter data is always stored as usual */
	WEFT_WRITE_LENS = 5,	/* powers of two from there */
};

/* Of one writer and one piece of memory; all 0 at first. Not thread safe. */
struct weft_write {
	struct weft_choice by_len[WEFT_WRITE_LENS];
	bool is_for_many; /* readers, on cores that have no time to wait */
};

/* Of WEFT_WRITE_LONG bytes or more; from does not overlap to. What follows in
 * program order, as a store that says that the data is there, is seen after it.
 */
void weft_write_long(
	struct weft_write *write, void *to, const void *from, size_t len);

static inline void weft_write(
	struct weft_write *write, void *to, const void *from, size_t len)
{
	if (weft_likely(len < WEFT_WRITE_LONG))
		weft_copy_msg(to, from, len);
	else
		weft_write_long(write, to, from, len);
}

#endif
