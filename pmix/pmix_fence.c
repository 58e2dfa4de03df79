/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_fence: a barrier of some or all ranks of the job
 *
 * weft_pmix_fence() sets PMIX_COLLECT_DATA. Without this attribute, Slurm's
 * fence is not a barrier if a step has fewer nodes than the width of Slurm's
 * tree. The fence of weft_pmix_fence_start() runs only under PRRTE, and does
 * not set the attribute. */
#include "pmix/pmix_boot_priv.h"
#include "pmix/pmix_codec.h"

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The longest wait for the commits of all ranks, in seconds. PRRTE checks every
 * two seconds whether a business card that was requested too early has been
 * published. */
enum { START_S = 2 };

/* Runs on PMIx's thread. */
static void on_fenced(pmix_status_t status, void *arg)
{
	struct pmix_item *item = arg;

	item->err = weft_pmix_err(status);
	weft_pmix_item_post(item);
}

/* Returns the members as PMIx names them, or the wildcard for the whole job.
 * The caller frees the array. */
static pmix_proc_t *members(
	const struct pmix_boot *boot, const uint32_t *ranks, size_t n)
{
	pmix_proc_t *procs = calloc(ranks ? n : 1, sizeof(*procs));

	if (!procs)
		return NULL;
	if (!ranks)
		PMIX_LOAD_PROCID(
			&procs[0], boot->me.nspace, PMIX_RANK_WILDCARD);
	for (size_t i = 0; ranks && i < n; i++)
		PMIX_LOAD_PROCID(&procs[i], boot->me.nspace, ranks[i]);
	return procs;
}

static pmix_status_t pmix_fence_fence(struct pmix_boot *boot,
	const uint32_t *ranks, size_t n, struct pmix_item *item)
{
	pmix_proc_t *procs = members(boot, ranks, n);
	struct weft_infovec vec = { 0 };
	pmix_status_t status = PMIX_ERR_NOMEM;

	weft_infovec_set_bool(&vec, PMIX_COLLECT_DATA, true);
	if (procs && !vec.err)
		status = PMIx_Fence_nb(
			procs, ranks ? n : 1, vec.info, vec.n, on_fenced, item);
	weft_infovec_fini(&vec); /* PMIx has packed vec */
	free(procs);
	return status;
}

int weft_pmix_fence(struct weft_boot *base, const uint32_t *ranks, size_t n,
	weft_boot_done_fn *fn, void *arg)
{
	struct pmix_boot *boot = pmix_boot_of(base);
	struct pmix_item *item;
	pmix_status_t status;

	if (ranks && !n)
		return weft_err_set(WEFT_ERR_ARG, "a fence of no ranks");
	item = weft_pmix_item_create(boot, PMIX_ITEM_FENCE);
	if (!item)
		return WEFT_ERR_NOMEM;
	item->done_fn = fn;
	item->arg = arg;
	status = pmix_fence_fence(boot, ranks, n, item);
	if (status == PMIX_SUCCESS)
		return 0;
	if (status == PMIX_OPERATION_SUCCEEDED) {
		weft_pmix_item_post(item);
		return 0;
	}
	weft_pmix_item_destroy(item);
	return weft_err_set(weft_pmix_err(status), "PMIx_Fence: %s",
		PMIx_Error_string(status));
}

/* Runs on PMIx's thread. */
static void on_started(pmix_status_t status, void *arg)
{
	struct pmix_boot *boot = arg;

	(void)status;
	sem_post(&boot->started);
}

void weft_pmix_fence_start(struct pmix_boot *boot)
{
	const uint32_t *ranks;
	struct timespec until;
	pmix_proc_t *procs;
	size_t n;

	if (strcmp(weft_pmix_manager(boot), "prrte") ||
		weft_boot_local(&boot->boot, &ranks, &n) || n == boot->size)
		return;
	procs = members(boot, NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += START_S;
	if (procs && PMIx_Fence_nb(procs, 1, NULL, 0, on_started, boot) ==
			     PMIX_SUCCESS)
		while (sem_clockwait(&boot->started, CLOCK_MONOTONIC, &until) &&
			errno == EINTR)
			;
	free(procs);
}
