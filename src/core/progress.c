/* SPDX-License-Identifier: BSD-3-Clause */
/* progress: rings, pending work, the fabric, the process manager */
#include "core/progress.h"

#include "core/lane.h"
#include "core/proc.h"
#include "core/sleep.h"
#include "net/net.h"
#include "shm/seg.h"

#include <sched.h>

enum {
	HELP_ROUNDS = 64, /* idle ones between looks at other lanes */
	NET_SKIP = 16,	  /* rounds between expensive ones that found nothing */
};

static int progress_flush(struct weft_lane *lane)
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
	if (weft_unlikely(lane->net->n_lost != lane->n_lost_seen)) {
		uint64_t n_lost = lane->net->n_lost;

		if (weft_peer_probe_all(lane))
			lane->n_lost_seen = n_lost;
	}
	if (n == 0 && lane->shm && lane->net->plan.poll_ns > WEFT_POLL_CHEAP_NS)
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
		n += progress_flush(lane);
	if (lane->net)
		n += poll_net(lane);
	if (weft_unlikely(lane->rails.n_users))
		n += weft_rail_poll(lane);
	n += weft_boot_poll(lane->boot, weft_proc_on_event, lane);
	if (weft_unlikely(!weft_list_is_empty(&lane->chores)))
		run_chores(lane);
	lane->is_polling = false;
	if (n && weft_unlikely(lane->n_asleep))
		weft_lane_wake(lane);
	return n;
}

/* The program's own function runs without our lock. */
static __attribute__((noinline)) void progress_tell(struct weft_lane *lane)
{
	weft_lane_drop(lane);
	weft_proc.tell();
	weft_lane_take(lane);
}

/* The lane with this number, or NULL. */
static struct weft_lane *progress_lane_at(uint32_t number)
{
	/* pairs with the release in core/lane.c */
	return number ? atomic_load_explicit(&weft_proc.others[number - 1],
				memory_order_acquire)
		      : &weft_proc.lane;
}

/* A thread that waits on one lane owes progress to the others, where nobody
 * else waits. Gives the lock up meanwhile. Waits for no lock. Not inline: its
 * array would make the frame of every wait larger. */
static __attribute__((noinline)) void progress_help(
	struct weft_lane *lane, uint32_t n_others)
{
	struct weft_lane *quiet[WEFT_LANES];
	int n = 0;

	for (uint32_t i = 0; i <= n_others; i++) {
		struct weft_lane *other = progress_lane_at(i);
		uint32_t n_idle = atomic_load_explicit(
			&other->n_idle, memory_order_relaxed);

		if (other != lane && n_idle == lane->seen_idle[i])
			quiet[n++] = other;
		lane->seen_idle[i] = n_idle;
	}
	if (!n)
		return;
	weft_lane_drop(lane);
	for (int i = 0; i < n; i++)
		if (weft_lock_try(&quiet[i]->lock)) {
			weft_progress(quiet[i]);
			weft_lane_drop(quiet[i]);
		}
	weft_lane_take(lane);
}

/* Looks after the other lanes now and then, when there are any. */
static void look_around(struct weft_lane *lane)
{
	uint32_t n_others =
		atomic_load_explicit(&weft_proc.n_others, memory_order_relaxed);
	uint32_t n_idle;

	if (weft_likely(!n_others))
		return;
	n_idle = atomic_load_explicit(&lane->n_idle, memory_order_relaxed);
	atomic_store_explicit(&lane->n_idle, n_idle + 1, memory_order_relaxed);
	if (n_idle % HELP_ROUNDS == 0 || weft_proc.is_blocking)
		progress_help(lane, n_others);
}

static inline __attribute__((always_inline)) void round_of(
	struct weft_lane *lane, bool may_sleep)
{
	if (weft_progress(lane)) {
		lane->idle_polls = 0;
		return;
	}
	if (weft_unlikely(atomic_load_explicit(
		    &weft_proc.has_news, memory_order_relaxed))) {
		progress_tell(lane);
		return;
	}
	look_around(lane);
	if (lane->idle_polls < weft_proc.max_spin) {
		lane->idle_polls++;
		weft_cpu_pause();
		weft_lock_pause(&lane->lock);
		return;
	}
	if (weft_unlikely(weft_proc.is_blocking) && may_sleep) {
		weft_sleep(lane);
		return;
	}
	lane->idle_polls += lane->idle_polls < UINT32_MAX / 2;
	weft_lane_drop(lane);
	sched_yield();
	weft_lane_take(lane);
}

void weft_progress_wait(struct weft_lane *lane)
{
	round_of(lane, true);
}

void weft_progress_try(struct weft_lane *lane)
{
	round_of(lane, false);
}
