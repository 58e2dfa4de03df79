/* SPDX-License-Identifier: BSD-3-Clause */
/* progress_thread: progress for what others do to our memory
 *
 * Most fabrics need the target's CPU now and then. Whoever makes progress here
 * for whatever reason looks at the endpoint that others use; when nobody has
 * for a millisecond, a helper thread does. It starts no operation, but sends
 * what was held back for that long. */
#include "rma/rma_priv.h"

#include "base/log.h"
#include "transport/thread_check.h"
#include "transport/proc.h"
#include "transport/progress.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum {
	BACKOFF_NS = 1000000,
	SKIP = 16,	/* rounds between expensive ones that found nothing */
	MIN_ROUNDS = 4, /* of the helper each time: what peers do here is not
			 * told as an event */
	MAX_ROUNDS = 1000, /* while there is something to do */
};

static void progress_thread_run(struct weft_progress_hook *hook)
{
	struct weft_rma_own *own =
		weft_container_of(hook, struct weft_rma_own, hook);
	struct weft_rma_ctx *ctx = weft_rma.ctx;
	int n;

	atomic_fetch_add_explicit(&own->n_rounds, 1, memory_order_relaxed);
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

static void serve(struct weft_vci *vci)
{
	for (int i = 0, n = 1; i < MIN_ROUNDS || (n && i < MAX_ROUNDS); i++) {
		weft_vci_lock(vci);
		weft_rma_own.skip = 0;
		n = weft_progress(vci);
		weft_vci_unlock(vci);
		sched_yield();
	}
}

static void *progress_thread_help(void *arg)
{
	struct weft_rma_own *own = arg;
	const struct timespec backoff = { .tv_nsec = BACKOFF_NS };
	uint32_t last = 0;

	while (!atomic_load_explicit(
		&own->is_helper_over, memory_order_relaxed)) {
		uint32_t now = atomic_load_explicit(
			&own->n_rounds, memory_order_relaxed);

		if (now == last) {
			serve(&weft_proc.vci);
			now = atomic_load_explicit(
				&own->n_rounds, memory_order_relaxed);
		}
		weft_rma_release(); /* nobody may come to wait for a while */
		last = now;
		nanosleep(&backoff, NULL);
	}
	return NULL;
}

/* Without signals: they are the program's threads' to handle. */
static int start_helper(struct weft_rma_own *own)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&own->helper, NULL, progress_thread_help, own);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

void weft_progress_thread_open(void)
{
	struct weft_rma_own *own = &weft_rma_own;
	struct weft_vci *vci = &weft_proc.vci;
	bool began;

	weft_lock_go_mt();
	weft_vci_lock(vci);
	own->hook.run = progress_thread_run;
	weft_list_push_back(&vci->hooks, &own->hook.link);
	if (!own->has_fabric_amo) {
		began = weft_thread_check_begin();
		own->is_helper_over = false;
		own->has_helper = start_helper(own) == 0;
		weft_thread_check_end(began);
		if (!own->has_helper)
			weft_log_warn("RMA-HELPER",
				"no helper thread: peers wait for this "
				"process's memory while it computes");
	}
	weft_vci_unlock(vci);
}

void weft_progress_thread_close(void)
{
	struct weft_rma_own *own = &weft_rma_own;
	struct weft_vci *vci = &weft_proc.vci;

	if (own->has_helper) {
		atomic_store_explicit(
			&own->is_helper_over, true, memory_order_relaxed);
		pthread_join(own->helper, NULL);
		own->has_helper = false;
	}
	weft_vci_lock(vci);
	weft_list_remove(&own->hook.link);
	weft_vci_unlock(vci);
}
