/* SPDX-License-Identifier: BSD-3-Clause */
/* far: access to PEs that are not mapped here */
#include "rma/rma_priv.h"

static int refuse(const void *sym, uint32_t pe)
{
	return weft_err_set(WEFT_ERR_ARG,
		"%p is not symmetric; PE %u has nothing there", sym, pe);
}

int weft_far_put(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe, bool is_nbi)
{
	(void)ctx;
	(void)src;
	(void)is_nbi;
	return len ? refuse(dest, pe) : 0;
}

int weft_far_get(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe, bool is_nbi)
{
	(void)ctx;
	(void)dest;
	(void)is_nbi;
	return len ? refuse(src, pe) : 0;
}

int weft_far_put_signal(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint64_t *sig, const struct weft_amo *amo, uint32_t pe,
	bool is_nbi)
{
	int err = weft_far_put(ctx, dest, src, len, pe, is_nbi);

	return err ? err : weft_rma_amo(ctx, sig, amo, pe);
}

int weft_far_amo(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, uint32_t pe)
{
	(void)ctx;
	(void)amo;
	return refuse(dest, pe);
}

int weft_far_amo_fetch(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, void *fetched, uint32_t pe, bool is_nbi)
{
	(void)ctx;
	(void)amo;
	(void)fetched;
	(void)is_nbi;
	return refuse(dest, pe);
}

int weft_far_fence(struct weft_rma_ctx *ctx)
{
	(void)ctx;
	return 0;
}

int weft_far_quiet(struct weft_rma_ctx *ctx)
{
	(void)ctx;
	return 0;
}

void weft_far_relax(void)
{
}
