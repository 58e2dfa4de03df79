/* SPDX-License-Identifier: BSD-3-Clause */
/* sleep: a waiting thread releases its core until an event arrives
 *
 * The VCI's wakeup (shm/wakeup.h) wakes the thread. Writers to the rings of the
 * VCI signal the wakeup. So do readers of rings in which a message waits for
 * space, the process manager, and other threads of this process. If the fabric
 * has a file descriptor for waiting, it also wakes the thread (with
 * WEFT_WAIT=block). If no process sleeps, a writer only loads a flag.
 *
 * These events do not wake the thread: a fabric without such a descriptor, or
 * with one that reports no events; messages that the fabric did not accept;
 * progress hooks; rails; other VCIs. They are polled, at first every 31 us. A
 * long wait polls less often, because the polls and fences of waiting processes
 * would occupy the cores of a node with more processes than cores: a sleep
 * lasts an eighth of the time that the wait has slept already, and 8 ms at
 * most. Every sleep is bounded.
 *
 * No wake-up is lost:
 * - The sleeper stores is_reader_asleep (for space: is_writer_asleep) in each
 *   ring, calls weft_wakeup_fence(), polls the rings, and sleeps on the pipe of
 *   the wakeup.
 * - The other side stores the message (for space: how far it has read), then
 *   loads the flag, with only a compiler fence between. If the flag is set it
 *   clears the flag and then signals the pipe.
 * - The fence is a membarrier: a full barrier within each running process that
 *   uses a wakeup. If the other side's store is before that barrier, the
 *   sleeper's poll sees the message. If not, the other side's load follows the
 *   barrier and sees the flag.
 * - A signal before the sleep stays in the pipe, and the sleep ends
 *   immediately.
 * - A process that attaches after the poll finds no flag set in its ring. It
 *   loads a flag of the whole segment instead (shm/seg.c: wake_owner). */
#include "transport/sleep.h"

#include "transport/vci.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "base/clock.h"
#include "base/yield.h"
#include "net/net.h"
#include "shm/seg.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	VAIN_WAKES = 16, /* in one wait: after the fabric has prevented or ended
			    this many sleeps, its descriptor is not used */
	WATCHED_NS = 500000, /* messages do not end a shorter sleep of a thread
				that waits for a word of memory: a fence would
				take a large part of that time */
	/* limits of one sleep if every event wakes the thread: */
	WOKEN_NS = 10000000,
	WOKEN_MT_NS = 5000000, /* another thread may end the wait */
};

static _Atomic(weft_slept_fn *) on_slept;

/* Requests a wake-up from the processes in whose rings messages wait for space.
 * False if a pending message waits for something else. */
static bool watch_flush(struct weft_vci *vci)
{
	bool is_all = true;

	weft_list_for_each(link, next, &vci->pending_peers)
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

/* Requests wake-ups for all events of the VCI except those of the fabric; false
 * if some events wake no thread. */
static bool sleep_watch(struct weft_vci *vci)
{
	bool is_all = weft_list_is_empty(&vci->hooks) &&
		      !atomic_load_explicit(
			      &weft_proc.n_others, memory_order_relaxed);

	if (vci->shm)
		weft_shm_watch(vci->shm);
	is_all = watch_flush(vci) && is_all;
	return weft_wakeup_fence() && is_all;
}

/* Requests a wake-up by the fabric. Clears *is_all if some of its events wake
 * no thread. False if the fabric must be polled before a sleep. */
static bool watch_net(struct weft_vci *vci, int *fd_out, bool *is_all)
{
	if (!vci->net)
		return true;
	*is_all = *is_all && !vci->rails.n_users;
	if (vci->vain_wakes >= VAIN_WAKES) {
		*is_all = false;
		return true;
	}
	if (!weft_net_may_sleep(vci->net, fd_out)) {
		vci->vain_wakes++;
		return false;
	}
	*is_all = *is_all && *fd_out >= 0;
	return true;
}

static void sleep_follow(struct weft_vci *vci, uint64_t ns)
{
	const struct timespec ts = { .tv_nsec = (long)ns };
	unsigned seen =
		atomic_load_explicit(&vci->n_wakes, memory_order_relaxed);

	vci->n_asleep++;
	vci->counters.sleeps++;
	weft_vci_unlock(vci);
	syscall(SYS_futex, &vci->n_wakes, FUTEX_WAIT_PRIVATE, seen, &ts, NULL,
		0);
	weft_vci_lock(vci);
	vci->n_asleep--;
}

static void lead(struct weft_vci *vci, uint64_t ns, int net_fd)
{
	const struct timespec ts = { .tv_nsec = (long)ns };
	struct pollfd fds[2] = { { .fd = net_fd, .events = POLLIN },
		{ .fd = vci->wakeup.rd, .events = POLLIN } };
	bool is_net;

	vci->has_leader = true;
	vci->n_asleep++;
	vci->counters.sleeps++;
	weft_vci_unlock(vci);
	is_net = ppoll(fds, 2, &ts, NULL) > 0 && fds[0].revents;
	weft_vci_lock(vci);
	vci->vain_wakes += is_net;
	vci->n_asleep--;
	vci->has_leader = false;
	vci->is_signalled = false;
	if (fds[1].revents)
		weft_wakeup_drain(&vci->wakeup);
	if (vci->n_asleep)
		weft_vci_wake_followers(
			vci, 1); /* one of them becomes the leader, because this
				    thread might not poll again */
}

/* Returns the length of the n-th sleep of a wait. is_all: every event wakes the
 * thread. */
static uint64_t sleep_ns(enum weft_sleep_kind kind, uint64_t n, bool is_all)
{
	if (kind == WEFT_SLEEP_TRY)
		return weft_yield_sleep_ns(0);
	if (kind != WEFT_SLEEP_MESSAGE || !is_all)
		return weft_yield_sleep_ns(n);
	return weft_lock_is_mt() ? WOKEN_MT_NS : WOKEN_NS;
}

static void sleep_once(
	struct weft_vci *vci, uint64_t n, enum weft_sleep_kind kind)
{
	bool has_wakeup = vci->wakeup.wr >= 0, is_all;
	uint64_t poll_ns = sleep_ns(kind, n, false);
	int net_fd = -1;

	/* the leader polls the wakeup, or there is no wakeup: other threads
	 * wake this thread through the futex */
	if (vci->has_leader || !has_wakeup) {
		sleep_follow(vci, sleep_ns(kind, n, has_wakeup));
		return;
	}
	vci->net_skip = 0;
	if (kind != WEFT_SLEEP_MESSAGE && poll_ns < WATCHED_NS) {
		lead(vci, poll_ns, -1);
		return;
	}
	is_all = sleep_watch(vci);
	/* a message may have arrived before the watch was set */
	if (weft_progress(vci)) {
		vci->idle_polls = 0;
		return;
	}
	if (watch_net(vci, &net_fd, &is_all))
		lead(vci, sleep_ns(kind, n, is_all), net_fd);
}

static bool sleep_yield(struct weft_vci *vci)
{
	bool has_yielded;

	weft_vci_unlock(vci);
	has_yielded = weft_yield();
	weft_vci_lock(vci);
	return has_yielded;
}

static void sleep_round(
	struct weft_vci *vci, uint64_t n, enum weft_sleep_kind kind)
{
	bool may_yield = kind == WEFT_SLEEP_TRY ||
			 (!weft_proc.sleeps && kind != WEFT_SLEEP_ALWAYS);

	if (n == 0) {
		vci->vain_wakes = 0;
		vci->n_slept = 0;
	}
	if (may_yield && weft_likely(sleep_yield(vci)))
		return;
	sleep_once(vci, vci->n_slept++, kind);
}

void weft_sleep(struct weft_vci *vci, uint64_t n, enum weft_sleep_kind kind)
{
	weft_slept_fn *fn =
		atomic_load_explicit(&on_slept, memory_order_relaxed);
	uint64_t start;

	if (weft_likely(!fn)) {
		sleep_round(vci, n, kind);
		return;
	}
	start = weft_now_ns();
	sleep_round(vci, n, kind);
	fn(weft_now_ns() - start);
}

void weft_sleep_on_slept(weft_slept_fn *fn)
{
	atomic_store_explicit(&on_slept, fn, memory_order_relaxed);
}
