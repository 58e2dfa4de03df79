/* SPDX-License-Identifier: BSD-3-Clause */
/* sleep: who waits gives up its core until something comes
 *
 * What wakes: writers to our rings, readers of the rings we wait for space in,
 * the process manager and other threads of this process by the lane's bell
 * (shm/bell.h); the fabric by its descriptor, where it has one. Nothing of this
 * costs those who do not sleep more than a look at a flag.
 *
 * What does not wake, and is looked for every millisecond: a fabric without
 * such a descriptor, or one that cries wolf; messages that the fabric did not
 * accept; chores; rails; other lanes. A sleep is bounded in any case. */
#include "core/sleep.h"

#include "core/lane.h"
#include "core/proc.h"
#include "core/progress.h"
#include "net/net.h"
#include "shm/seg.h"

#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	VAIN_WAKES = 16,    /* by the fabric, before it is not asked */
	NAP_MIN_NS = 31250, /* five doublings make a millisecond */
	NAP_DOUBLINGS = 5,
	ROUNDS_PER_NAP = 8,   /* of one length */
	LONG_NS = 10000000,   /* when all that may come wakes us */
	LONG_MT_NS = 5000000, /* another thread may end what we wait for */
};

static uint64_t nap_ns(uint64_t n)
{
	return (uint64_t)NAP_MIN_NS
	       << weft_min(n / ROUNDS_PER_NAP, NAP_DOUBLINGS);
}

/* Asks those we wait for space at to wake us. False when some of what waits
 * to leave does not wait for that. */
static bool watch_flush(struct weft_lane *lane)
{
	bool is_all = true;

	weft_list_for_each(link, next, &lane->flush)
	{
		struct weft_peer *peer =
			weft_container_of(link, struct weft_peer, link);

		if (peer->state == WEFT_PEER_READY && peer->is_shm)
			weft_ring_watch(&peer->tx);
		else
			is_all = false;
	}
	return is_all;
}

/* Makes sure that we are woken for all that may come through the lane but for
 * the fabric; false when that cannot be had. */
static bool sleep_watch(struct weft_lane *lane)
{
	bool is_all = weft_list_is_empty(&lane->chores) &&
		      !atomic_load_explicit(
			      &weft_proc.n_others, memory_order_relaxed);

	if (lane->bell.wr < 0)
		return false;
	if (lane->shm)
		weft_shm_watch(lane->shm);
	is_all = watch_flush(lane) && is_all;
	return weft_bell_fence() && is_all;
}

/* The same for the fabric. False when there is something to poll. */
static bool watch_net(struct weft_lane *lane, int *fd_out, bool *is_all)
{
	if (!lane->net)
		return true;
	*is_all = *is_all && !lane->rails.n_users;
	if (lane->vain_wakes >= VAIN_WAKES) {
		*is_all = false;
		return true;
	}
	if (!weft_net_may_sleep(lane->net, fd_out)) {
		lane->vain_wakes++;
		return false;
	}
	*is_all = *is_all && *fd_out >= 0;
	return true;
}

/* Threads beside the one that reads the bell: theirs is a futex, since a bell
 * that was rung for all would not be quiet before the last had heard it. */
static void wake_followers(struct weft_lane *lane, int n)
{
	atomic_fetch_add_explicit(&lane->n_wakes, 1, memory_order_relaxed);
	syscall(SYS_futex, &lane->n_wakes, FUTEX_WAKE_PRIVATE, n, NULL, NULL,
		0);
}

static void sleep_follow(struct weft_lane *lane, uint64_t ns)
{
	const struct timespec ts = { .tv_nsec = (long)ns };
	unsigned seen =
		atomic_load_explicit(&lane->n_wakes, memory_order_relaxed);

	lane->n_asleep++;
	weft_lane_drop(lane);
	syscall(SYS_futex, &lane->n_wakes, FUTEX_WAIT_PRIVATE, seen, &ts, NULL,
		0);
	weft_lane_take(lane);
	lane->n_asleep--;
}

static void lead(struct weft_lane *lane, uint64_t ns, int net_fd)
{
	const struct timespec ts = { .tv_nsec = (long)ns };
	struct pollfd fds[2] = { { .fd = net_fd, .events = POLLIN },
		{ .fd = lane->bell.rd, .events = POLLIN } };
	bool is_net;

	lane->has_leader = true;
	lane->n_asleep++;
	weft_lane_drop(lane);
	is_net = ppoll(fds, 2, &ts, NULL) > 0 && fds[0].revents;
	weft_lane_take(lane);
	lane->vain_wakes += is_net;
	lane->n_asleep--;
	lane->has_leader = false;
	lane->is_rung = false;
	if (fds[1].revents)
		weft_bell_quiet(&lane->bell);
	if (lane->n_asleep)
		wake_followers(lane, 1); /* we may not come back */
}

void weft_lane_wake(struct weft_lane *lane)
{
	if (lane->n_asleep > lane->has_leader)
		wake_followers(lane, INT_MAX);
	if (!lane->has_leader || lane->is_rung)
		return;
	lane->is_rung = true;
	weft_bell_ring(lane->bell.wr);
}

static uint64_t long_ns(void)
{
	return weft_lock_is_mt() ? LONG_MT_NS : LONG_NS;
}

static void doze(struct weft_lane *lane, uint64_t n, bool is_brief)
{
	bool is_all;
	int net_fd = -1;

	if (lane->has_leader) {
		sleep_follow(lane, is_brief ? nap_ns(n) : long_ns());
		return;
	}
	is_all = sleep_watch(lane);
	lane->net_skip = 0;
	/* whatever came before the watch was set */
	if (weft_progress(lane)) {
		lane->idle_polls = 0;
		return;
	}
	if (watch_net(lane, &net_fd, &is_all))
		lead(lane, is_all && !is_brief ? long_ns() : nap_ns(n), net_fd);
}

void weft_sleep(struct weft_lane *lane)
{
	uint64_t n = lane->idle_polls - (uint64_t)weft_proc.max_spin;

	if (n == 0)
		lane->vain_wakes = 0;
	lane->idle_polls += lane->idle_polls < UINT32_MAX / 2;
	doze(lane, n, false);
}

void weft_sleep_briefly(struct weft_lane *lane, uint64_t n)
{
	if (n == 0)
		lane->vain_wakes = 0;
	doze(lane, n, true);
}
