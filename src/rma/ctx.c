/* SPDX-License-Identifier: BSD-3-Clause */
/* ctx: communication contexts: their endpoints and their memory */
#include "rma/rma_fabric.h"
#include "rma/rma_priv.h"

#include <stdlib.h>

/* Allocates the states of PEs and opens the endpoint. */
static int rma_ctx_open_far(struct weft_rma_ctx *ctx)
{
	ctx->states = calloc(weft_rma.n_pes, sizeof(*ctx->states));
	ctx->touched = calloc(weft_rma.n_pes, sizeof(*ctx->touched));
	if (!ctx->states || !ctx->touched)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a context");
	ctx->window = WEFT_WINDOW;
	return weft_rma_fabric_ep(weft_rma_own.domain, &ctx->ep);
}

static void rma_ctx_destroy(struct weft_rma_ctx *ctx)
{
	if (ctx->ep) {
		weft_rma_am_forget(ctx);
		weft_rma_ep_close(ctx->ep);
	}
	while (ctx->given_up) {
		struct weft_rma_due *due = ctx->given_up;

		ctx->given_up = due->next;
		free(due);
	}
	free(ctx->waited);
	free(ctx->later);
	free(ctx->states);
	free(ctx->touched);
	free(ctx);
}

int weft_rma_ctx_create(unsigned options, struct weft_rma_ctx **ctx_out)
{
	struct weft_rma_own *own = &weft_rma_own;
	struct weft_rma_ctx *ctx = calloc(1, sizeof(*ctx));
	int err = 0;

	if (!ctx)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a context");
	ctx->options = options;
	ctx->owner = pthread_self();
	if (own->domain)
		err = rma_ctx_open_far(ctx);
	if (err) {
		rma_ctx_destroy(ctx);
		return err;
	}
	weft_spin_acquire(&own->ctxs_lock);
	weft_list_push_back(&own->ctxs, &ctx->link);
	weft_spin_release(&own->ctxs_lock);
	*ctx_out = ctx;
	return 0;
}

int weft_rma_ctx_destroy(struct weft_rma_ctx *ctx)
{
	struct weft_rma_own *own = &weft_rma_own;
	int err;

	if (!ctx)
		return 0;
	err = weft_rma_quiet(ctx);
	weft_rma_session_stop(ctx);
	weft_spin_acquire(&own->ctxs_lock);
	weft_list_remove(&ctx->link);
	weft_spin_release(&own->ctxs_lock);
	rma_ctx_destroy(ctx);
	return err;
}
