/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_ctx: contexts, and ordering of their accesses */
#include "shmem_priv.h"

#include "base/err.h"
#include "base/log.h"

struct weft_table weft_shmem_ctxs =
	WEFT_TABLE_INIT(struct weft_shmem_ctx, WEFT_KIND_SHMEM_CTX);

enum {
	CTX_OPTIONS =
		SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE
};

struct weft_shmem_ctx *weft_shmem_ctx_find(const char *fn, shmem_ctx_t ctx)
{
	struct weft_shmem_ctx *c = NULL;

	weft_shmem_check_open(fn);
	if (ctx == SHMEM_CTX_DEFAULT)
		return &weft_shmem.ctx;
	if (ctx == SHMEM_CTX_INVALID)
		weft_shmem_fatal(fn,
			"ctx is SHMEM_CTX_INVALID; create one, or use "
			"SHMEM_CTX_DEFAULT");
	c = weft_table_get(&weft_shmem_ctxs, (uintptr_t)ctx);
	if (!c)
		weft_shmem_fatal(fn,
			"ctx is %p, which is no context; was it destroyed?",
			(void *)ctx);
	return c;
}

static int create_ctx(
	const char *fn, shmem_team_t handle, long options, shmem_ctx_t *ctx_out)
{
	struct weft_shmem_team *team = weft_shmem_team_find(fn, handle);
	unsigned rma_options =
		options & SHMEM_CTX_PRIVATE ? WEFT_RMA_PRIVATE : 0;
	struct weft_shmem_ctx *c;

	*ctx_out = SHMEM_CTX_INVALID;
	if (options & ~(long)CTX_OPTIONS)
		weft_shmem_fatal(fn,
			"options is %#lx; it may have SHMEM_CTX_PRIVATE, "
			"SHMEM_CTX_SERIALIZED and SHMEM_CTX_NOSTORE",
			(unsigned long)options);
	c = team ? weft_table_new(&weft_shmem_ctxs) : NULL;
	if (!c)
		return 1;
	if (weft_rma_ctx_create(rma_options, &c->rma)) {
		weft_table_free(&weft_shmem_ctxs, c);
		return 1;
	}
	c->team = team;
	c->team_handle = handle;
	c->options = options;
	*ctx_out = (shmem_ctx_t)(uintptr_t)weft_obj_handle(c);
	return 0;
}

int pshmem_ctx_create(long options, shmem_ctx_t *ctx)
{
	return create_ctx("shmem_ctx_create", SHMEM_TEAM_WORLD, options, ctx);
}

int pshmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx)
{
	return create_ctx("shmem_team_create_ctx", team, options, ctx);
}

static int destroy_ctx(struct weft_shmem_ctx *c)
{
	int err = weft_rma_ctx_destroy(c->rma);

	weft_table_free(&weft_shmem_ctxs, c);
	return err;
}

void pshmem_ctx_destroy(shmem_ctx_t ctx)
{
	static const char fn[] = "shmem_ctx_destroy";

	if (ctx == SHMEM_CTX_INVALID)
		return;
	if (ctx == SHMEM_CTX_DEFAULT)
		weft_shmem_fatal(fn,
			"ctx is SHMEM_CTX_DEFAULT, which cannot be "
			"destroyed");
	weft_shmem_ok(fn, destroy_ctx(weft_shmem_ctx_find(fn, ctx)));
}

void weft_shmem_ctxs_close(const struct weft_shmem_team *team)
{
	struct weft_shmem_ctx *c;
	uint32_t at = 0;
	int err;

	while ((c = weft_table_next(&weft_shmem_ctxs, &at)) != NULL) {
		if (team && c->team != team)
			continue;
		err = destroy_ctx(c);
		if (err)
			weft_log_error("SHMEM-CTX", "closing a context: %s",
				weft_err_detail_peek(err));
	}
}

int pshmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)
{
	*team = SHMEM_TEAM_INVALID;
	if (ctx == SHMEM_CTX_INVALID)
		return 1;
	*team = weft_shmem_ctx_find("shmem_ctx_get_team", ctx)->team_handle;
	return 0;
}

/* Fence and quiet accept SHMEM_CTX_INVALID, the context of a PE that is not in
 * the team. */
static inline void fence_ctx(const char *fn, shmem_ctx_t ctx)
{
	if (ctx == SHMEM_CTX_INVALID)
		return;
	weft_shmem_ok(fn, weft_rma_fence(weft_shmem_ctx_find(fn, ctx)->rma));
}

static inline void quiet_ctx(const char *fn, shmem_ctx_t ctx)
{
	if (ctx == SHMEM_CTX_INVALID)
		return;
	weft_shmem_ok(fn, weft_rma_quiet(weft_shmem_ctx_find(fn, ctx)->rma));
}

static void pe_quiet(
	const char *fn, shmem_ctx_t ctx, const int *target_pes, size_t npes)
{
	struct weft_shmem_ctx *c = weft_shmem_ctx_find(fn, ctx);
	uint32_t pe = 0;

	for (size_t i = 0; i < npes; i++)
		pe = weft_shmem_pe(fn, ctx, target_pes[i]);
	/* for several PEs, complete the accesses of the context to all PEs */
	if (npes == 1)
		weft_shmem_ok(fn, weft_rma_quiet_pe(c->rma, pe));
	else if (npes)
		weft_shmem_ok(fn, weft_rma_quiet(c->rma));
}

#include "api_shmem_ctx.h"
