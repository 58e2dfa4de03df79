/* SPDX-License-Identifier: BSD-3-Clause */
/* sleep: who waits gives up its core until something comes
 *
 * What wakes: writers to our rings, readers of the rings we wait for space in,
 * the process manager and other threads of this process by the VCI's wakeup
 * (shm/wakeup.h); the fabric by its descriptor, where it has one. Nothing of
 * this costs those who do not sleep more than a look at a flag.
 *
 * What does not wake, and is looked for every millisecond: a fabric without
 * such a descriptor, or one that is ready for nothing; messages that the fabric
 * did not accept; progress hooks; rails; other VCIs. A sleep is bounded in any
 * case. */
#include "transport/sleep.h"

#include "transport/vci.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "net/net.h"
#include "shm/seg.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	VAIN_WAKES = 16,	/* by the fabric, before it is not asked */
	BACKOFF_MIN_NS = 31250, /* five doublings make a millisecond */
	BACKOFF_DOUBLINGS = 5,
	ROUNDS_PER_BACKOFF = 8, /* of one length */
	LONG_NS = 10000000,	/* when all that may come wakes us */
	LONG_MT_NS = 5000000,	/* another thread may end what we wait for */
};

static uint64_t backoff_ns(uint64_t n)
{
	return (uint64_t)BACKOFF_MIN_NS
	       << weft_min(n / ROUNDS_PER_BACKOFF, BACKOFF_DOUBLINGS);
}

/* Asks those we wait for space at to wake us. False when some of what waits
 * to leave does not wait for that. */
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

/* Makes sure that we are woken for all that may come through the VCI but for
 * the fabric; false when that cannot be had. */
static bool sleep_watch(struct weft_vci *vci)
{
	bool is_all = weft_list_is_empty(&vci->hooks) &&
		      !atomic_load_explicit(
			      &weft_proc.n_others, memory_order_relaxed);

	if (vci->wakeup.wr < 0)
		return false;
	if (vci->shm)
		weft_shm_watch(vci->shm);
	is_all = watch_flush(vci) && is_all;
	return weft_wakeup_fence() && is_all;
}

/* The same for the fabric. False when there is something to poll. */
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
		weft_vci_wake_followers(vci, 1); /* we may not come back */
}

static uint64_t long_ns(void)
{
	return weft_lock_is_mt() ? LONG_MT_NS : LONG_NS;
}

static void doze(struct weft_vci *vci, uint64_t n, bool is_brief)
{
	bool is_all;
	int net_fd = -1;

	if (vci->has_leader) {
		sleep_follow(vci, is_brief ? backoff_ns(n) : long_ns());
		return;
	}
	is_all = sleep_watch(vci);
	vci->net_skip = 0;
	/* whatever came before the watch was set */
	if (weft_progress(vci)) {
		vci->idle_polls = 0;
		return;
	}
	if (watch_net(vci, &net_fd, &is_all))
		lead(vci, is_all && !is_brief ? long_ns() : backoff_ns(n),
			net_fd);
}

void weft_sleep(struct weft_vci *vci)
{
	uint64_t n = vci->idle_polls - (uint64_t)weft_proc.max_spin;

	if (n == 0)
		vci->vain_wakes = 0;
	vci->idle_polls += vci->idle_polls < UINT32_MAX / 2;
	doze(vci, n, !weft_proc.is_blocking); /* who is not woken */
}

void weft_sleep_briefly(struct weft_vci *vci, uint64_t n)
{
	if (n == 0)
		vci->vain_wakes = 0;
	doze(vci, n, true);
}

void weft_sleep_aside(struct weft_vci *vci, uint64_t n)
{
	if (vci->wakeup.wr >= 0)
		weft_sleep_briefly(vci, n);
	else
		sleep_follow(vci, backoff_ns(n));
}
