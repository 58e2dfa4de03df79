/* SPDX-License-Identifier: BSD-3-Clause */
/* progress: rings, pending work, the fabric, the process manager */
#include "core/progress.h"

#include "core/lane.h"
#include "core/proc.h"
#include "net/net.h"
#include "shm/seg.h"

#include <sched.h>

enum {
	NET_CHEAP_NS =
		150,   /* an idle poll that costs less is done each round */
	NET_SKIP = 16, /* rounds between expensive ones that found nothing */
};

static int flush(struct weft_lane *lane)
{
	int n = 0;

	weft_list_for_each(link, next, &lane->flush)
	{
		struct weft_peer *peer =
			weft_container_of(link, struct weft_peer, link);

		n += weft_peer_flush(peer);
	}
	return n;
}

/* A fabric whose idle poll is a system call must not slow the rings down. */
static int poll_net(struct weft_lane *lane)
{
	int n;

	if (lane->net_skip) {
		lane->net_skip--;
		return 0;
	}
	n = weft_net_poll(lane->net);
	if (n == 0 && lane->shm && lane->net->plan.poll_ns > NET_CHEAP_NS)
		lane->net_skip = NET_SKIP;
	return n;
}

static void run_chores(struct weft_lane *lane)
{
	weft_list_for_each(link, next, &lane->chores)
	{
		struct weft_chore *chore =
			weft_container_of(link, struct weft_chore, link);

		chore->run(chore);
	}
}

int weft_progress(struct weft_lane *lane)
{
	int n = 0;

	weft_lock_assert_held(&lane->lock);
	if (weft_unlikely(lane->is_polling))
		return 0;
	lane->is_polling = true;
	if (weft_likely(lane->shm))
		n += weft_shm_poll(lane->shm);
	if (weft_unlikely(!weft_list_is_empty(&lane->flush)))
		n += flush(lane);
	if (lane->net)
		n += poll_net(lane);
	n += weft_boot_poll(lane->boot, weft_proc_on_event, lane);
	if (weft_unlikely(!weft_list_is_empty(&lane->chores)))
		run_chores(lane);
	lane->is_polling = false;
	return n;
}

/* The program's own function runs without our lock. */
static void tell(struct weft_lane *lane)
{
	weft_lane_drop(lane);
	weft_proc.tell();
	weft_lane_take(lane);
}

void weft_progress_wait(struct weft_lane *lane)
{
	if (weft_progress(lane)) {
		lane->idle_polls = 0;
		return;
	}
	if (weft_unlikely(atomic_load_explicit(
		    &weft_proc.has_news, memory_order_relaxed)))
		tell(lane);
	if (lane->idle_polls < weft_proc.max_spin) {
		lane->idle_polls++;
		weft_cpu_pause();
		weft_lock_pause(&lane->lock);
		return;
	}
	weft_lane_drop(lane);
	sched_yield();
	weft_lane_take(lane);
}
