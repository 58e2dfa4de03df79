/* SPDX-License-Identifier: BSD-3-Clause */
/* order: fence and quiet */
#include "rma/rma_priv.h"

#include <stdatomic.h>

int weft_rma_fence(struct weft_rma_ctx *ctx)
{
	/* pairs with the acquire of whoever waits for what comes next */
	atomic_thread_fence(memory_order_release);
	return weft_likely(weft_rma.is_all_local) ? 0 : weft_remote_fence(ctx);
}

int weft_rma_quiet(struct weft_rma_ctx *ctx)
{
	/* orders earlier stores before later loads */
	atomic_thread_fence(memory_order_seq_cst);
	return weft_likely(weft_rma.is_all_local) ? 0 : weft_remote_quiet(ctx);
}

int weft_rma_quiet_pe(struct weft_rma_ctx *ctx, uint32_t pe)
{
	atomic_thread_fence(memory_order_seq_cst);
	return weft_likely(weft_rma.is_all_local)
		       ? 0
		       : weft_remote_quiet_pe(ctx, pe);
}
