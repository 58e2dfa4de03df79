/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_progress: progress while a thread waits for memory, and for accesses of
 * peers to this process's memory
 *
 * Most fabrics need the target's CPU for an access. Each round of progress of
 * this process polls the endpoint that peers access (rma_fabric.c). After a
 * millisecond without a round, the progress thread polls that endpoint. The
 * progress thread starts no operation, but posts deferred operations once a
 * millisecond. */
#include "rma/rma_priv.h"

#include "base/log.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "transport/progress_thread.h"
#include "transport/sleep.h"

/* Posts the deferred operations of all contexts that no thread uses, because
 * peers may wait for these operations. Only the thread of a private context may
 * use that context. */
void weft_rma_release(void)
{
	struct weft_rma_own *own = &weft_rma_own;

	if (weft_likely(weft_rma.is_all_local))
		return;
	weft_spin_acquire(&own->ctxs_lock);
	weft_list_for_each(link, next, &own->ctxs)
	{
		struct weft_rma_ctx *ctx =
			weft_container_of(link, struct weft_rma_ctx, link);

		if (ctx->options & WEFT_RMA_PRIVATE) {
			if (pthread_equal(ctx->owner, pthread_self()))
				weft_remote_release(ctx);
		} else if (weft_spin_try_acquire(&ctx->lock)) {
			weft_remote_release(ctx);
			weft_spin_release(&ctx->lock);
		}
	}
	weft_spin_release(&own->ctxs_lock);
}

/* --- waits for memory ----------------------------------------------------- */

/* Makes a round of progress. If the round was empty and has_spun is set, sleeps
 * for the n-th time in this wait. */
static bool mem_wait_progress(struct weft_vci *vci, bool has_spun, uint64_t n)
{
	bool has_arrived;

	weft_vci_lock(vci);
	weft_rma_fabric_poll_next(); /* a put from another node may arrive */
	has_arrived = weft_progress(vci) > 0;
	if (has_spun && !has_arrived)
		weft_sleep(vci, n, WEFT_SLEEP_WORD);
	weft_vci_unlock(vci);
	return has_arrived;
}

bool weft_rma_relax(uint32_t round)
{
	struct weft_vci *vci = &weft_proc.vci;

	if (round % WEFT_RMA_ROUNDS == 0)
		weft_rma_release();
	if (round >= weft_proc.max_spin)
		return mem_wait_progress(
			vci, true, round - (uint64_t)weft_proc.max_spin);
	weft_cpu_pause();
	if (weft_rma.is_all_local &&
		round % WEFT_RMA_ROUNDS != WEFT_RMA_ROUNDS - 1)
		return false;
	return mem_wait_progress(vci, false, 0);
}

/* True if progress had events, or the memory changed, since the last call. */
static bool has_moved_since(struct weft_rma_wait *wait)
{
	const unsigned char *at = wait->watched;
	bool has = wait->has_moved;
	uint64_t sum = 0;

	for (size_t i = 0; at && i < wait->len; i++)
		sum = sum * 31 + __atomic_load_n(&at[i], __ATOMIC_RELAXED);
	has |= sum != wait->sum;
	wait->sum = sum;
	wait->has_moved = false;
	return has;
}

int weft_rma_wait_round(struct weft_rma_wait *wait)
{
	char failed[WEFT_RMA_GONE_TEXT];
	uint64_t now;

	wait->has_moved |= weft_rma_relax(wait->n_rounds);
	if (weft_likely(!weft_rma_wait_is_time(wait, &now)))
		return 0;
	return weft_rma_wait_check(wait, now, has_moved_since(wait), failed);
}

/* --- the progress thread -------------------------------------------------- */

/* The progress thread calls this while the program makes no call. */
static void rma_progress_tick(void)
{
	struct weft_vci *vci = &weft_proc.vci;

	if (weft_lock_try(&vci->lock)) {
		weft_rma_fabric_poll_next();
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
			"the progress thread cannot start: accesses of peers "
			"wait while this process computes");
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
