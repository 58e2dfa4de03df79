/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_progress: progress for what others do to our memory
 *
 * Most fabrics need the target's CPU now and then. Whoever makes progress here
 * for whatever reason looks at the endpoint that others use; when nobody has
 * for a millisecond, the progress thread does. It starts no operation, but
 * sends what was held back for that long. */
#include "rma/rma_priv.h"

#include "base/log.h"
#include "transport/proc.h"
#include "transport/progress_thread.h"

enum { SKIP = 16 }; /* rounds between expensive ones that found nothing */

static void rma_progress_run(struct weft_progress_hook *hook)
{
	struct weft_rma_own *own =
		weft_container_of(hook, struct weft_rma_own, hook);
	struct weft_rma_ctx *ctx = weft_rma.ctx;
	int n;

	if (own->skip) {
		own->skip--;
		return;
	}
	/* whoever has the context drives its endpoint */
	if (!ctx || !weft_spin_try(&ctx->lock))
		return;
	n = weft_rma_ep_poll(ctx->ep);
	weft_spin_drop(&ctx->lock);
	/* rounds are long where each gives up the core */
	if (n == 0 && weft_proc.vci.shm && weft_proc.max_spin &&
		own->domain->plan.poll_ns > WEFT_POLL_CHEAP_NS)
		own->skip = SKIP;
}

/* Nobody may come to wait for a while. */
static void rma_progress_tick(void)
{
	struct weft_vci *vci = &weft_proc.vci;

	if (weft_lock_try(&vci->lock)) {
		weft_rma_own.skip = 0;
		weft_vci_unlock(vci);
	}
	weft_rma_release();
}

void weft_rma_progress_open(void)
{
	struct weft_rma_own *own = &weft_rma_own;
	struct weft_vci *vci = &weft_proc.vci;

	weft_lock_go_mt();
	weft_vci_lock(vci);
	own->hook.run = rma_progress_run;
	weft_list_push_back(&vci->hooks, &own->hook.link);
	weft_vci_unlock(vci);
	if (own->has_fabric_amo)
		return;
	own->user.vci = vci;
	own->has_helper = weft_progress_thread_add(&own->user) == 0;
	if (own->has_helper)
		weft_progress_thread_tick(rma_progress_tick);
	else
		weft_log_warn("RMA-HELPER",
			"no helper thread: peers wait for this "
			"process's memory while it computes");
}

void weft_rma_progress_close(void)
{
	struct weft_rma_own *own = &weft_rma_own;
	struct weft_vci *vci = &weft_proc.vci;

	if (own->has_helper)
		weft_progress_thread_tick(NULL);
	own->has_helper = false;
	weft_vci_lock(vci);
	weft_progress_thread_remove(&own->user);
	weft_list_remove(&own->hook.link);
	weft_vci_unlock(vci);
}
