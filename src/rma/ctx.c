/* SPDX-License-Identifier: BSD-3-Clause */
/* ctx: communication contexts and their sessions */
#include "rma/rma_priv.h"

#include <stdlib.h>

int weft_rma_ctx_create(unsigned options, struct weft_rma_ctx **ctx_out)
{
	struct weft_rma_ctx *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a context");
	ctx->options = options;
	*ctx_out = ctx;
	return 0;
}

int weft_rma_ctx_destroy(struct weft_rma_ctx *ctx)
{
	int err;

	if (!ctx)
		return 0;
	err = weft_rma_quiet(ctx);
	free(ctx);
	return err;
}

static const struct {
	unsigned bit;
	const char *name;
} hint_names[] = {
	{ WEFT_RMA_BUNDLE, "BUNDLE" },
	{ WEFT_RMA_HRP, "HRP" },
	{ WEFT_RMA_STAMO, "STAMO" },
	{ WEFT_RMA_NO_CNCR_TACCESS, "NO_CNCR_TACCESS" },
	{ WEFT_RMA_OP_PUT, "OP_PUT" },
	{ WEFT_RMA_OP_AMO, "OP_AMO" },
	{ WEFT_RMA_OP_FAMO, "OP_FAMO" },
	{ WEFT_RMA_OP_PWS, "OP_PWS" },
	{ WEFT_RMA_DC, "DC" },
	{ WEFT_RMA_UNIFORM_AMO, "UNIFORM_AMO" },
};

void weft_rma_session_start(struct weft_rma_ctx *ctx, unsigned hints,
	size_t total_ops, weft_rma_report_fn *report, void *arg)
{
	(void)total_ops;
	ctx->hints |= hints & WEFT_RMA_HINTS;
	if (!report)
		return;
	for (size_t i = 0; i < sizeof(hint_names) / sizeof(*hint_names); i++)
		if (hints & hint_names[i].bit)
			report(arg, hint_names[i].name, false,
				"all processes are on this node, where access "
				"is by load and store");
}

void weft_rma_session_stop(struct weft_rma_ctx *ctx)
{
	ctx->hints = 0;
}
