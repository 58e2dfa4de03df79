/* SPDX-License-Identifier: BSD-3-Clause */
/* span: the symmetric regions of this process, and offsets in them */
#include "rma/rma_priv.h"

struct weft_rma weft_rma;
struct weft_rma_own weft_rma_own = { .heap_lock = PTHREAD_MUTEX_INITIALIZER,
	.ctxs = { &weft_rma_own.ctxs, &weft_rma_own.ctxs } };

int weft_rma_span_of(const void *sym, size_t len, size_t *at_out)
{
	const struct weft_rma_region *spans[] = { &weft_rma.heap,
		&weft_rma.data };

	for (int i = 0; i < 2; i++) {
		size_t at = (size_t)((const char *)sym - spans[i]->base);

		if (at < spans[i]->len && len <= spans[i]->len - at) {
			*at_out = at;
			return i;
		}
	}
	return weft_err_set(WEFT_ERR_ARG,
		"%zu bytes at %p do not lie in symmetric memory", len, sym);
}

bool weft_rma_is_symmetric(const void *sym, size_t len)
{
	size_t at;

	return weft_rma_span_of(sym, len, &at) >= 0;
}
