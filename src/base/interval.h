/* SPDX-License-Identifier: BSD-3-Clause */
/* interval: ranges of addresses that do not overlap, found by what is in them
 *
 * Not thread safe: the owner's lock guards them. Looking, adding and removing
 * grow with the logarithm of how many there are. */
#ifndef WEFT_INTERVAL_H
#define WEFT_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

/* Part of the owner's struct; does not change while it is among others. */
struct weft_interval {
	uintptr_t start, end; /* end: the first address behind it */
};

/* Zeroed: none. */
struct weft_intervals {
	void *root;
};

/* One that has any of the bytes from start to end, or NULL; of several any. */
struct weft_interval *weft_interval_find(
	const struct weft_intervals *ranges, uintptr_t start, uintptr_t end);

/* Adds a range that is not empty and overlaps none that is there. 0 or
 * WEFT_ERR_NOMEM, after which all is as before. */
int weft_interval_add(
	struct weft_intervals *ranges, struct weft_interval *range);

/* Takes out a range that was added. */
void weft_interval_remove(
	struct weft_intervals *ranges, struct weft_interval *range);

#endif
