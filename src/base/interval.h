/* SPDX-License-Identifier: BSD-3-Clause */
/* interval: ranges of addresses that do not overlap, found by an address in
 * them
 *
 * Not thread safe: the owner's lock guards them. Search, insertion and removal
 * take time logarithmic in the number of ranges. */
#ifndef WEFT_INTERVAL_H
#define WEFT_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

/* Embedded in the owner's struct; constant while it is in a set. */
struct weft_interval {
	uintptr_t start, end; /* end: first address after the range */
};

/* A set of ranges. A zeroed struct is empty. */
struct weft_intervals {
	void *root;
};

/* Returns a range that overlaps [start, end), or NULL. If there are several,
 * any of them. */
struct weft_interval *weft_interval_find(
	const struct weft_intervals *ranges, uintptr_t start, uintptr_t end);

/* Adds a range that is not empty and overlaps no other. Returns 0, or
 * WEFT_ERR_NOMEM with the set unchanged. */
int weft_interval_add(
	struct weft_intervals *ranges, struct weft_interval *range);

/* Removes a range that was added. */
void weft_interval_remove(
	struct weft_intervals *ranges, struct weft_interval *range);

#endif
