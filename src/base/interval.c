/* SPDX-License-Identifier: BSD-3-Clause */
/* interval: uses the C library's balanced tree; ranges that overlap compare
 * equal */
#include "base/interval.h"

#include "base/err.h"

#include <assert.h>
#include <search.h>

static int interval_compare(const void *a, const void *b)
{
	const struct weft_interval *x = a, *y = b;

	return x->end <= y->start ? -1 : x->start >= y->end;
}

struct weft_interval *weft_interval_find(
	const struct weft_intervals *ranges, uintptr_t start, uintptr_t end)
{
	const struct weft_interval key = { .start = start, .end = end };
	struct weft_interval **node =
		start < end ? tfind(&key, &ranges->root, interval_compare)
			    : NULL;

	return node ? *node : NULL;
}

int weft_interval_add(
	struct weft_intervals *ranges, struct weft_interval *range)
{
	struct weft_interval **node =
		tsearch(range, &ranges->root, interval_compare);

	if (!node)
		return weft_err_set(WEFT_ERR_NOMEM,
			"no memory to record the addresses %p to %p",
			(void *)range->start, (void *)range->end);
	assert(*node == range);
	return 0;
}

void weft_interval_remove(
	struct weft_intervals *ranges, struct weft_interval *range)
{
	tdelete(range, &ranges->root, interval_compare);
}
