/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_session: hints about the use of a context
 *
 * A context stores the options of its session, and a further start adds
 * options. src/rma applies or ignores each hint. */
#include "shmem_priv.h"

#include "base/log.h"

#include <stdio.h>

struct option {
	long bit;
	unsigned hint;
	const char *name;
};

static const struct option options_known[] = {
	{ SHMEM_SESSION_BUNDLE, WEFT_RMA_BUNDLE, "SHMEM_SESSION_BUNDLE" },
	{ SHMEM_SESSION_HRP, WEFT_RMA_HRP, "SHMEM_SESSION_HRP" },
	{ SHMEM_SESSION_STAMO, WEFT_RMA_STAMO, "SHMEM_SESSION_STAMO" },
	{ SHMEM_SESSION_NO_CNCR_TACCESS, WEFT_RMA_NO_CNCR_TACCESS,
		"SHMEM_SESSION_NO_CNCR_TACCESS" },
	{ SHMEM_SESSION_OP_PUT, WEFT_RMA_OP_PUT, "SHMEM_SESSION_OP_PUT" },
	{ SHMEM_SESSION_OP_AMO, WEFT_RMA_OP_AMO, "SHMEM_SESSION_OP_AMO" },
	{ SHMEM_SESSION_OP_FAMO, WEFT_RMA_OP_FAMO, "SHMEM_SESSION_OP_FAMO" },
	{ SHMEM_SESSION_OP_PWS, WEFT_RMA_OP_PWS, "SHMEM_SESSION_OP_PWS" },
	{ SHMEM_SESSION_DC, WEFT_RMA_DC, "SHMEM_SESSION_DC" },
	{ SHMEM_SESSION_UNIFORM_AMO, WEFT_RMA_UNIFORM_AMO,
		"SHMEM_SESSION_UNIFORM_AMO" },
};

enum { N_OPTIONS = sizeof(options_known) / sizeof(options_known[0]) };

static void report(
	void *arg, const char *hint, bool is_applied, const char *how)
{
	(void)arg;
	fprintf(stderr, "shmem[%u]   SHMEM_SESSION_%s %s: %s\n", weft_rma.my_pe,
		hint, is_applied ? "applied" : "ignored", how);
}

/* Returns the valid options; warns of unknown bits. */
static long valid_options(const char *fn, long options)
{
	long all = 0;

	for (int i = 0; i < N_OPTIONS; i++)
		all |= options_known[i].bit;
	if (options & ~all)
		weft_log_warn("SHMEM-OPTION",
			"%s: options has the unknown bits %#lx, which are "
			"ignored; the known options are %#lx (shmemx.h)",
			fn, (unsigned long)(options & ~all),
			(unsigned long)all);
	return options & all;
}

static void print_start(shmem_ctx_t ctx, const struct weft_shmem_ctx *c)
{
	const char *between = " ";

	fprintf(stderr, "shmem[%u] session on context %#lx:", weft_rma.my_pe,
		(unsigned long)(uintptr_t)ctx);
	for (int i = 0; i < N_OPTIONS; i++) {
		if (!(c->session & options_known[i].bit))
			continue;
		fprintf(stderr, "%s%s", between, options_known[i].name);
		between = " | ";
	}
	fprintf(stderr, c->session ? "\n" : " no options\n");
}

static void session_start(const char *fn, shmem_ctx_t ctx, long options)
{
	struct weft_shmem_ctx *c = weft_shmem_ctx_find(fn, ctx);
	unsigned hints = 0;

	if (!c->has_session)
		c->session = 0;
	c->has_session = true;
	c->session |= options;
	for (int i = 0; i < N_OPTIONS; i++)
		if (c->session & options_known[i].bit)
			hints |= options_known[i].hint;
	if (weft_shmem.is_debug)
		print_start(ctx, c);
	weft_rma_session_start(c->rma, hints, c->total_ops,
		weft_shmem.is_debug ? report : NULL, NULL);
}

static void session_stop(const char *fn, shmem_ctx_t ctx)
{
	struct weft_shmem_ctx *c;

	if (ctx == SHMEM_CTX_INVALID)
		return;
	c = weft_shmem_ctx_find(fn, ctx);
	if (!c->has_session)
		return;
	weft_rma_session_stop(c->rma);
	c->has_session = false;
	c->session = 0;
	c->total_ops = SIZE_MAX;
	if (weft_shmem.is_debug)
		fprintf(stderr, "shmem[%u] session on context %#lx ends\n",
			weft_rma.my_pe, (unsigned long)(uintptr_t)ctx);
}

/* The standard has one option, SHMEM_CTX_SESSION_BATCH. It has the effect of
 * SHMEM_SESSION_BUNDLE in shmemx.h. */
void pshmem_ctx_session_start(shmem_ctx_t ctx, long options,
	const shmem_ctx_session_config_t *config, long config_mask)
{
	static const char fn[] = "shmem_ctx_session_start";
	struct weft_shmem_ctx *c;

	if (ctx == SHMEM_CTX_INVALID)
		return;
	c = weft_shmem_ctx_find(fn, ctx);
	if (options & ~SHMEM_CTX_SESSION_BATCH)
		weft_log_warn("SHMEM-OPTION",
			"%s: options has the unknown bits %#lx, which are "
			"ignored; the known option is SHMEM_CTX_SESSION_BATCH",
			fn,
			(unsigned long)(options & ~SHMEM_CTX_SESSION_BATCH));
	if (config_mask & SHMEM_CTX_SESSION_TOTAL_OPS && !config)
		weft_shmem_fatal(fn,
			"config is NULL although config_mask names "
			"SHMEM_CTX_SESSION_TOTAL_OPS");
	if (config_mask & SHMEM_CTX_SESSION_TOTAL_OPS)
		c->total_ops = config->total_ops;
	else if (!c->has_session)
		c->total_ops = SIZE_MAX;
	session_start(fn, ctx,
		options & SHMEM_CTX_SESSION_BATCH ? SHMEM_SESSION_BUNDLE : 0);
}

void pshmem_ctx_session_stop(shmem_ctx_t ctx)
{
	session_stop("shmem_ctx_session_stop", ctx);
}

static void start_with_hints(const char *fn, shmem_ctx_t ctx, long options)
{
	struct weft_shmem_ctx *c;

	if (ctx == SHMEM_CTX_INVALID)
		return;
	c = weft_shmem_ctx_find(fn, ctx);
	if (!c->has_session)
		c->total_ops = SIZE_MAX;
	session_start(fn, ctx, valid_options(fn, options));
}

void pshmemx_session_start(shmem_ctx_t ctx, long options)
{
	start_with_hints("shmemx_session_start", ctx, options);
}

void pshmemx_session_stop(shmem_ctx_t ctx)
{
	session_stop("shmemx_session_stop", ctx);
}

void pshmemx_ctx_session_start(shmem_ctx_t ctx, long options)
{
	start_with_hints("shmemx_ctx_session_start", ctx, options);
}

void pshmemx_ctx_session_stop(shmem_ctx_t ctx)
{
	session_stop("shmemx_ctx_session_stop", ctx);
}

#include "api_shmem_session.h"
