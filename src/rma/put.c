/* SPDX-License-Identifier: BSD-3-Clause */
/* put: put, get, fence and quiet; copies data to and from local PEs
 *
 * Data with the length of a basic type is moved by one load and one store
 * (base/word.h), because peers wait for such words with plain loads. */
#include "rma/rma_priv.h"

#include "base/word.h"

#include <stdatomic.h>

/* class and is_nbi are constants in each caller, so the compiler keeps only one
 * branch. */
static inline int put_or_get(struct weft_rma_ctx *ctx,
	enum weft_rma_class class, const void *sym, void *here, size_t len,
	uint32_t pe, bool is_nbi)
{
	void *there = weft_rma_local(sym, pe);

	if (weft_unlikely(!there))
		return weft_remote_access(
			ctx, &(struct weft_rma_access){ .class = class,
				     .pe = pe,
				     .is_nbi = is_nbi,
				     .sym = sym,
				     .here = here,
				     .len = len });
	weft_rma_note_mapped(len);
	if (class == WEFT_CLASS_PUT)
		weft_word_store(there, here, len, __ATOMIC_RELAXED);
	else
		weft_word_load(here, there, len);
	return 0;
}

int weft_rma_put(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe)
{
	return put_or_get(ctx, WEFT_CLASS_PUT, dest, (void *)(uintptr_t)src,
		len, pe, false);
}

int weft_rma_get(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe)
{
	return put_or_get(ctx, WEFT_CLASS_GET, src, dest, len, pe, false);
}

int weft_rma_put_nbi(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe)
{
	return put_or_get(ctx, WEFT_CLASS_PUT, dest, (void *)(uintptr_t)src,
		len, pe, true);
}

int weft_rma_get_nbi(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe)
{
	return put_or_get(ctx, WEFT_CLASS_GET, src, dest, len, pe, true);
}

int weft_rma_iput(struct weft_rma_ctx *ctx, void *dest, const void *src,
	const struct weft_rma_stride *how, uint32_t pe)
{
	int err = 0;

	for (size_t i = 0; i < how->n && !err; i++)
		err = put_or_get(ctx, WEFT_CLASS_PUT,
			(char *)dest + (ptrdiff_t)i * how->dest,
			(char *)(uintptr_t)src + (ptrdiff_t)i * how->src,
			how->len, pe, false);
	return err;
}

int weft_rma_iget(struct weft_rma_ctx *ctx, void *dest, const void *src,
	const struct weft_rma_stride *how, uint32_t pe)
{
	int err = 0;

	for (size_t i = 0; i < how->n && !err; i++)
		err = put_or_get(ctx, WEFT_CLASS_GET,
			(const char *)src + (ptrdiff_t)i * how->src,
			(char *)dest + (ptrdiff_t)i * how->dest, how->len, pe,
			false);
	return err;
}

int weft_rma_put_signal(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint64_t *sig, enum weft_amo_op op, uint64_t value,
	uint32_t pe, bool is_nbi)
{
	struct weft_amo amo = { .op = op, .width = 8, .value = value };
	void *there = weft_rma_local(dest, pe);

	if (weft_unlikely(weft_rma_own.has_fabric_amo || !there))
		return weft_remote_access(
			ctx, &(struct weft_rma_access){ .class = WEFT_CLASS_PWS,
				     .pe = pe,
				     .is_nbi = is_nbi,
				     .sym = dest,
				     .here = (void *)(uintptr_t)src,
				     .len = len,
				     .amo = &amo,
				     .sig = sig });
	weft_rma_note_mapped(len);
	weft_word_store(there, src, len, __ATOMIC_RELAXED);
	/* the signal's update releases the data; pairs with the acquire of the
	 * PE that waits for the signal */
	return weft_rma_amo(ctx, sig, &amo, pe);
}

/* --- order --------------------------------------------------------------- */

int weft_rma_fence(struct weft_rma_ctx *ctx)
{
	/* publishes earlier stores before later ones; pairs with the acquire of
	 * a PE that waits for a later store */
	atomic_thread_fence(memory_order_release);
	return weft_likely(weft_rma.is_all_local) ? 0 : weft_remote_fence(ctx);
}

int weft_rma_quiet(struct weft_rma_ctx *ctx)
{
	/* orders earlier stores before later loads */
	atomic_thread_fence(memory_order_seq_cst);
	return weft_likely(weft_rma.is_all_local)
		       ? 0
		       : weft_remote_quiet(ctx, WEFT_RMA_ALL);
}

int weft_rma_quiet_pe(struct weft_rma_ctx *ctx, uint32_t pe)
{
	atomic_thread_fence(memory_order_seq_cst);
	return weft_likely(weft_rma.is_all_local) ? 0
						  : weft_remote_quiet(ctx, pe);
}
