/* SPDX-License-Identifier: BSD-3-Clause */
/* order: fence, quiet, and waiting on memory; the one place that releases
 * what a context holds back */
#include "rma/rma_priv.h"

#include "core/lane.h"
#include "core/proc.h"
#include "core/progress.h"
#include "core/sleep.h"

#include <sched.h>
#include <stdatomic.h>

enum {
	ROUNDS_PER_LOOK = 64, /* a wait for memory looks at messages as well */
};

int weft_rma_fence(struct weft_rma_ctx *ctx)
{
	/* pairs with the acquire of whoever waits for what comes next */
	atomic_thread_fence(memory_order_release);
	return weft_likely(weft_rma.is_all_near) ? 0 : weft_far_fence(ctx);
}

int weft_rma_quiet(struct weft_rma_ctx *ctx)
{
	/* all that was stored is seen before anything that is read next */
	atomic_thread_fence(memory_order_seq_cst);
	return weft_likely(weft_rma.is_all_near) ? 0 : weft_far_quiet(ctx);
}

int weft_rma_quiet_pe(struct weft_rma_ctx *ctx, uint32_t pe)
{
	atomic_thread_fence(memory_order_seq_cst);
	return weft_likely(weft_rma.is_all_near) ? 0
						 : weft_far_quiet_pe(ctx, pe);
}

static bool order_look(struct weft_lane *lane)
{
	int n;

	weft_lane_take(lane);
	weft_rma_own.skip = 0; /* it may come from far */
	n = weft_progress(lane);
	weft_lane_drop(lane);
	return n > 0;
}

bool weft_rma_relax(uint32_t round)
{
	struct weft_lane *lane = &weft_proc.lane;
	bool has_come = false;

	if (round % ROUNDS_PER_LOOK == 0)
		weft_rma_release();
	if (round < weft_proc.max_spin) {
		weft_cpu_pause();
		if (!weft_rma.is_all_near ||
			round % ROUNDS_PER_LOOK == ROUNDS_PER_LOOK - 1)
			has_come = order_look(lane);
		return has_come;
	}
	has_come = order_look(lane);
	if (weft_unlikely(weft_proc.is_blocking)) {
		weft_lane_take(lane);
		weft_sleep_briefly(lane, round - (uint64_t)weft_proc.max_spin);
		weft_lane_drop(lane);
		return has_come;
	}
	sched_yield();
	return has_come;
}
