/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_progress: progress for accesses of others to this process's memory
 *
 * Most fabrics need the target's CPU now and then. Every round of progress of
 * this process polls the endpoint that others use (rma_fabric.c); after a
 * millisecond without one the progress thread does. It starts no operation, but
 * releases operations that were deferred for that long. */
#include "rma/rma_priv.h"

#include "base/log.h"
#include "transport/proc.h"
#include "transport/progress_thread.h"

/* The program may make no call for a while. */
static void rma_progress_tick(void)
{
	struct weft_vci *vci = &weft_proc.vci;

	if (weft_lock_try(&vci->lock)) {
		weft_rma_fabric_look();
		weft_vci_unlock(vci);
	}
	weft_rma_release();
}

void weft_rma_progress_open(void)
{
	struct weft_rma_own *own = &weft_rma_own;

	weft_lock_enable_mt();
	if (own->has_fabric_amo)
		return;
	own->user.vci = &weft_proc.vci;
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
	weft_vci_unlock(vci);
}
