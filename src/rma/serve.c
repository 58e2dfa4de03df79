/* SPDX-License-Identifier: BSD-3-Clause */
/* serve: progress for what others do to our memory
 *
 * Most fabrics need the target's CPU now and then. Whoever makes progress here
 * for whatever reason looks at the endpoint that others use; when nobody has
 * for a millisecond, a helper thread does. It starts no operation, but sends
 * what was held back for that long. */
#include "rma/rma_priv.h"

#include "base/log.h"
#include "core/alone.h"
#include "core/proc.h"
#include "core/progress.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum {
	NAP_NS = 1000000,
	SKIP = 16,	/* rounds between expensive ones that found nothing */
	MIN_ROUNDS = 4, /* of the helper each time: what peers do here is not
			 * told as an event */
	MAX_ROUNDS = 1000, /* while there is something to do */
};

static void progress_thread_run(struct weft_chore *chore)
{
	struct weft_rma_own *own =
		weft_container_of(chore, struct weft_rma_own, chore);
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
	n = weft_side_poll(ctx->ep);
	weft_spin_drop(&ctx->lock);
	/* rounds are long where each gives up the core */
	if (n == 0 && weft_proc.lane.shm && weft_proc.max_spin &&
		own->side->plan.poll_ns > WEFT_POLL_CHEAP_NS)
		own->skip = SKIP;
}

static void serve(struct weft_lane *lane)
{
	for (int i = 0, n = 1; i < MIN_ROUNDS || (n && i < MAX_ROUNDS); i++) {
		weft_lane_take(lane);
		weft_rma_own.skip = 0;
		n = weft_progress(lane);
		weft_lane_drop(lane);
		sched_yield();
	}
}

static void *progress_thread_help(void *arg)
{
	struct weft_rma_own *own = arg;
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint32_t last = 0;

	while (!atomic_load_explicit(
		&own->is_helper_over, memory_order_relaxed)) {
		uint32_t now = atomic_load_explicit(
			&own->n_rounds, memory_order_relaxed);

		if (now == last) {
			serve(&weft_proc.lane);
			now = atomic_load_explicit(
				&own->n_rounds, memory_order_relaxed);
		}
		weft_rma_release(); /* nobody may come to wait for a while */
		last = now;
		nanosleep(&nap, NULL);
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

void weft_serve_open(void)
{
	struct weft_rma_own *own = &weft_rma_own;
	struct weft_lane *lane = &weft_proc.lane;
	bool began;

	weft_lock_go_mt();
	weft_lane_take(lane);
	own->chore.run = progress_thread_run;
	weft_list_push_back(&lane->chores, &own->chore.link);
	if (!own->has_fabric_amo) {
		began = weft_alone_begin();
		own->is_helper_over = false;
		own->has_helper = start_helper(own) == 0;
		weft_alone_end(began);
		if (!own->has_helper)
			weft_log_warn("RMA-HELPER",
				"no helper thread: peers wait for this "
				"process's memory while it computes");
	}
	weft_lane_drop(lane);
}

void weft_serve_close(void)
{
	struct weft_rma_own *own = &weft_rma_own;
	struct weft_lane *lane = &weft_proc.lane;

	if (own->has_helper) {
		atomic_store_explicit(
			&own->is_helper_over, true, memory_order_relaxed);
		pthread_join(own->helper, NULL);
		own->has_helper = false;
	}
	weft_lane_take(lane);
	weft_list_remove(&own->chore.link);
	weft_lane_drop(lane);
}
