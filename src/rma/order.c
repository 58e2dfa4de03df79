/* SPDX-License-Identifier: BSD-3-Clause */
/* order: fence, quiet, and waiting on memory; the one place that releases
 * what a context holds back */
#include "rma/rma_priv.h"

#include "transport/vci.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "transport/sleep.h"

#include <sched.h>
#include <stdatomic.h>

enum {
	ROUNDS_PER_LOOK = 64, /* a wait for memory looks at messages as well */
};

int weft_rma_fence(struct weft_rma_ctx *ctx)
{
	/* pairs with the acquire of whoever waits for what comes next */
	atomic_thread_fence(memory_order_release);
	return weft_likely(weft_rma.is_all_local) ? 0 : weft_remote_fence(ctx);
}

int weft_rma_quiet(struct weft_rma_ctx *ctx)
{
	/* all that was stored is seen before anything that is read next */
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

static bool order_look(struct weft_vci *vci)
{
	int n;

	weft_vci_lock(vci);
	weft_rma_own.skip = 0; /* it may come from another node */
	n = weft_progress(vci);
	weft_vci_unlock(vci);
	return n > 0;
}

bool weft_rma_relax(uint32_t round)
{
	struct weft_vci *vci = &weft_proc.vci;
	bool has_come = false;

	if (round % ROUNDS_PER_LOOK == 0)
		weft_rma_release();
	if (round < weft_proc.max_spin) {
		weft_cpu_pause();
		if (!weft_rma.is_all_local ||
			round % ROUNDS_PER_LOOK == ROUNDS_PER_LOOK - 1)
			has_come = order_look(vci);
		return has_come;
	}
	has_come = order_look(vci);
	if (weft_unlikely(weft_proc.is_blocking)) {
		weft_vci_lock(vci);
		weft_sleep_briefly(vci, round - (uint64_t)weft_proc.max_spin);
		weft_vci_unlock(vci);
		return has_come;
	}
	sched_yield();
	return has_come;
}
