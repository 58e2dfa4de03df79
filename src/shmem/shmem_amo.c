/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_amo: atomic operations */
#include "shmem_priv.h"

#include <string.h>

/* The bits of a value; 0 if value is NULL. */
static inline uint64_t bits_of(const void *value, size_t size)
{
	uint64_t bits = 0;

	if (value)
		memcpy(&bits, value, size);
	return bits;
}

/* amo_far() and fetch_far() are called if this process cannot access the word:
 * it is at a far PE or in the external heap, or it is not symmetric. */
__attribute__((noinline, cold)) static void amo_far(const char *fn,
	shmem_ctx_t ctx, void *dest, const struct weft_amo *what, uint32_t pe)
{
	if (weft_shmem_ext_amo(fn, ctx, "dest", dest, what, NULL, pe))
		return;
	weft_shmem_check_sym(fn, "dest", dest, what->width);
	weft_shmem_ok(
		fn, weft_rma_amo(weft_shmem_rma(fn, ctx), dest, what, pe));
}

__attribute__((noinline, cold)) static void fetch_far(const char *fn,
	shmem_ctx_t ctx, const void *dest, const struct weft_amo *what,
	uint64_t *was_out, uint32_t pe)
{
	if (weft_shmem_ext_amo(fn, ctx, "dest", dest, what, was_out, pe))
		return;
	weft_shmem_check_sym(fn, "dest", dest, what->width);
	weft_shmem_ok(fn, weft_rma_amo_fetch(weft_shmem_rma(fn, ctx),
				  (void *)(uintptr_t)dest, what, was_out, pe));
}

static inline void amo(const char *fn, shmem_ctx_t ctx, void *dest,
	enum weft_amo_op op, size_t size, const void *value, int pe)
{
	const struct weft_amo what = { op, (uint32_t)size, bits_of(value, size),
		0 };
	uint32_t at = weft_shmem_pe(fn, ctx, pe);

	if (weft_likely(weft_shmem_local(dest, size, at)))
		weft_shmem_ok(fn,
			weft_rma_amo(weft_shmem_rma(fn, ctx), dest, &what, at));
	else
		amo_far(fn, ctx, dest, &what, at);
}

static inline void shmem_amo_fetch(const char *fn, shmem_ctx_t ctx,
	const void *dest, enum weft_amo_op op, size_t size, const void *value,
	const void *cond, void *was_out, int pe)
{
	const struct weft_amo what = { op, (uint32_t)size, bits_of(value, size),
		bits_of(cond, size) };
	uint32_t at = weft_shmem_pe(fn, ctx, pe);
	uint64_t was = 0;

	if (weft_likely(weft_shmem_local(dest, size, at)))
		weft_shmem_ok(
			fn, weft_rma_amo_fetch(weft_shmem_rma(fn, ctx),
				    (void *)(uintptr_t)dest, &what, &was, at));
	else
		fetch_far(fn, ctx, dest, &what, &was, at);
	memcpy(was_out, &was, size);
}

__attribute__((noinline)) static void fetch_later(const char *fn,
	shmem_ctx_t ctx, const void *dest, const struct weft_amo *what,
	void *was_out, int pe)
{
	uint32_t at = weft_shmem_pe(fn, ctx, pe);

	if (weft_unlikely(weft_shmem.tested_max) &&
		weft_shmem_stage_fetch(fn, ctx, dest, what, was_out, at))
		return;
	if (weft_unlikely(!weft_shmem_local(dest, what->width, at)))
		weft_shmem_check_sym(fn, "dest", dest, what->width);
	weft_shmem_ok(fn, weft_rma_amo_fetch_nbi(weft_shmem_rma(fn, ctx),
				  (void *)(uintptr_t)dest, what, was_out, at));
}

static inline __attribute__((always_inline)) void fetch_nbi(const char *fn,
	shmem_ctx_t ctx, const void *dest, enum weft_amo_op op, size_t size,
	const void *value, const void *cond, void *was_out, int pe)
{
	const struct weft_amo what = { op, (uint32_t)size, bits_of(value, size),
		bits_of(cond, size) };

	fetch_later(fn, ctx, dest, &what, was_out, pe);
}

#include "api_shmem_amo.h"
