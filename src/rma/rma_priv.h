/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_priv: what the files of this room share */
#ifndef WEFT_RMA_PRIV_H
#define WEFT_RMA_PRIV_H

#include "base/lock.h"
#include "rma/heap.h"
#include "rma/rma.h"
#include "shm/share.h"

#include <pthread.h>

struct weft_rma_ctx {
	unsigned options;
	unsigned hints; /* of the session; 0: none or without hints */
};

/* One per process, beside weft_rma. Set by open, cleared by close. */
struct weft_rma_own {
	struct weft_comm *comm; /* lent by who opened */
	struct weft_share heap_share;
	struct weft_share data_share;
	pthread_mutex_t heap_lock;
	struct weft_heap heap; /* guarded by heap_lock */
	bool has_fabric_amo;   /* all atomics are the fabric's */
};

extern struct weft_rma_own weft_rma_own;

/* amo.c: one atomic operation by this CPU. WEFT_ERR_ARG with a description
 * when it is none that we know; *old_out is untouched then. */
int weft_amo_apply(void *at, const struct weft_amo *amo, uint64_t *old_out);

/* far.c: the same as in rma.h, for PEs that only a fabric reaches. */
int weft_far_put(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe, bool is_nbi);
int weft_far_get(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe, bool is_nbi);
int weft_far_put_signal(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint64_t *sig, const struct weft_amo *amo, uint32_t pe,
	bool is_nbi);
int weft_far_amo(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, uint32_t pe);
int weft_far_amo_fetch(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, void *fetched, uint32_t pe, bool is_nbi);
int weft_far_fence(struct weft_rma_ctx *ctx);
int weft_far_quiet(struct weft_rma_ctx *ctx);
void weft_far_relax(void);

#endif
