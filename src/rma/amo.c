/* SPDX-License-Identifier: BSD-3-Clause */
/* amo: atomics by the CPU
 *
 * The origin executes atomics on memory that is mapped in its process. The
 * target executes the atomics of far origins. Atomics by the CPU and by the
 * fabric are never mixed. */
#include "rma/rma_priv.h"

#include <string.h>

#define APPLY(type)                                                            \
	static uint64_t apply_##type(type *at, const struct weft_amo *amo)     \
	{                                                                      \
		type value = (type)amo->value, cond = (type)amo->cond;         \
                                                                               \
		switch (amo->op) {                                             \
		case WEFT_AMO_SET:                                             \
		case WEFT_AMO_SWAP:                                            \
			return __atomic_exchange_n(                            \
				at, value, __ATOMIC_SEQ_CST);                  \
		case WEFT_AMO_ADD:                                             \
			return __atomic_fetch_add(                             \
				at, value, __ATOMIC_SEQ_CST);                  \
		case WEFT_AMO_AND:                                             \
			return __atomic_fetch_and(                             \
				at, value, __ATOMIC_SEQ_CST);                  \
		case WEFT_AMO_OR:                                              \
			return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST); \
		case WEFT_AMO_XOR:                                             \
			return __atomic_fetch_xor(                             \
				at, value, __ATOMIC_SEQ_CST);                  \
		case WEFT_AMO_CSWAP:                                           \
			__atomic_compare_exchange_n(at, &cond, value, 0,       \
				__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);           \
			return cond;                                           \
		case WEFT_AMO_FETCH:                                           \
			break;                                                 \
		}                                                              \
		return __atomic_load_n(at, __ATOMIC_SEQ_CST);                  \
	}

APPLY(uint32_t)
APPLY(uint64_t)

int weft_amo_check(const struct weft_amo *amo, const void *at)
{
	if (weft_likely((amo->width == 8 || amo->width == 4) &&
			(uintptr_t)at % amo->width == 0 &&
			amo->op <= WEFT_AMO_CSWAP))
		return 0;
	return weft_err_set(WEFT_ERR_ARG,
		"no such atomic: operation %d on %u bytes at %p", amo->op,
		amo->width, at);
}

int weft_amo_apply(void *at, const struct weft_amo *amo, uint64_t *old_out)
{
	if (weft_unlikely(
		    amo->op > WEFT_AMO_CSWAP || (uintptr_t)at % amo->width))
		return weft_amo_check(amo, at);
	if (amo->width == 8)
		*old_out = apply_uint64_t(at, amo);
	else if (amo->width == 4)
		*old_out = apply_uint32_t(at, amo);
	else
		return weft_amo_check(amo, at);
	return 0;
}

/* The word's address in this process. NULL if the PE is far, or if the fabric
 * executes atomics. */
static inline void *by_cpu(const void *sym, uint32_t pe)
{
	return weft_unlikely(weft_rma_own.has_fabric_amo)
		       ? NULL
		       : weft_rma_local(sym, pe);
}

/* Executes an atomic on memory of a local PE. */
static inline int amo_here(
	void *there, const struct weft_amo *amo, uint64_t *old_out)
{
	weft_rma_note_mapped(amo->width);
	return weft_amo_apply(there, amo, old_out);
}

static int amo_remote(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, void *fetched, uint32_t pe, bool is_nbi)
{
	return weft_remote_access(ctx,
		&(struct weft_rma_access){
			.class = fetched ? WEFT_CLASS_FAMO : WEFT_CLASS_AMO,
			.pe = pe,
			.is_nbi = is_nbi,
			.sym = dest,
			.here = fetched,
			.len = amo->width,
			.amo = amo });
}

int weft_rma_amo(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, uint32_t pe)
{
	void *there = by_cpu(dest, pe);
	uint64_t old;

	if (weft_unlikely(!there))
		return amo_remote(ctx, dest, amo, NULL, pe, false);
	return amo_here(there, amo, &old);
}

int weft_rma_amo_fetch(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, uint64_t *fetched, uint32_t pe)
{
	void *there = by_cpu(dest, pe);

	if (weft_unlikely(!there)) {
		*fetched = 0;
		return amo_remote(ctx, dest, amo, fetched, pe, false);
	}
	return amo_here(there, amo, fetched);
}

int weft_rma_amo_fetch_nbi(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, void *fetched, uint32_t pe)
{
	void *there = by_cpu(dest, pe);
	uint64_t old;
	int err;

	if (weft_unlikely(!there))
		return amo_remote(ctx, dest, amo, fetched, pe, true);
	err = amo_here(there, amo, &old);
	if (weft_unlikely(err))
		return err;
	/* a copy of a constant length is one store */
	if (amo->width == 8)
		memcpy(fetched, &old, 8);
	else
		memcpy(fetched, &old, 4);
	return 0;
}
