/* SPDX-License-Identifier: BSD-3-Clause */
/* progress: one round polls the rings and the fabric, sends pending messages,
 * and polls the process manager */
#include "transport/progress.h"

#include "transport/foreign.h"
#include "transport/vci.h"
#include "transport/proc.h"
#include "transport/sleep.h"
#include "base/yield.h"
#include "net/net.h"
#include "shm/seg.h"

enum {
	HELP_ROUNDS = 64, /* idle rounds between polls of other VCIs */
	NET_SKIP = 16,	  /* rounds without a poll of the fabric, after an empty
			     poll that was a system call */
	ROUNDS_BEFORE_EVENTS = 64, /* most polls for messages before the events
				      are handled */
};

/* Sends the pending messages of all peers. A send may remove other peers from
 * the list or add them, so each peer is put back on the list before its
 * messages are sent. */
static int progress_flush(struct weft_vci *vci)
{
	struct weft_link todo, *link;
	int n = 0;

	weft_list_init(&todo);
	weft_list_move(&todo, &vci->pending_peers);
	while ((link = weft_list_pop_front(&todo)) != NULL) {
		weft_list_push_back(&vci->pending_peers, link);
		n += weft_peer_send_pending(
			weft_container_of(link, struct weft_peer, link));
	}
	return n;
}

/* Polls the fabric. If an empty poll is a system call, the fabric is not polled
 * in each round, because that would slow the rings down. */
static int poll_net(struct weft_vci *vci)
{
	uint64_t n_lost;
	int n;

	vci->n_net_rounds++;
	if (vci->net_skip) {
		vci->net_skip--;
		return 0;
	}
	n = weft_net_poll(vci->net);
	n_lost = vci->net->counters.net_undelivered;
	if (weft_unlikely(n_lost != vci->n_lost_seen)) {
		if (weft_peer_probe_all(vci))
			vci->n_lost_seen = n_lost;
	}
	/* skips polls, but not on a shared core (max_spin is 0), where another
	 * process may run for a time slice between two rounds */
	if (n == 0 && vci->shm && weft_proc.max_spin &&
		vci->net->plan.poll_ns > WEFT_POLL_CHEAP_NS)
		vci->net_skip = NET_SKIP;
	return n;
}

/* Calls all hooks. Each hook is put back on the list before its call, as in
 * progress_flush(). A hook may remove other hooks, for example when it destroys
 * a communicator. */
static void run_hooks(struct weft_vci *vci)
{
	struct weft_link todo, *link;

	weft_list_init(&todo);
	weft_list_move(&todo, &vci->hooks);
	while ((link = weft_list_pop_front(&todo)) != NULL) {
		struct weft_progress_hook *hook = weft_container_of(
			link, struct weft_progress_hook, link);

		weft_list_push_back(&vci->hooks, link);
		hook->run(hook);
	}
}

/* Calls the deferred hooks. Each hook is removed from the list before its call,
 * which may release the lock. Meanwhile other threads may call the next hooks.
 * This thread may do so too, if the hook calls a function of the program that
 * makes MPI calls. */
static __attribute__((noinline)) int run_deferred(struct weft_vci *vci)
{
	int n = 0;

	for (; !weft_list_is_empty(&vci->deferred); n++) {
		struct weft_progress_hook *hook = weft_container_of(
			vci->deferred.next, struct weft_progress_hook, link);

		weft_vci_undefer(vci, hook);
		hook->run(hook);
	}
	if (vci->n_asleep)
		weft_vci_wake(vci);
	return n;
}

/* Handles the events of the process manager. An event may report a death, so
 * the messages of dead processes are received first. */
static __attribute__((noinline)) int take_events(struct weft_vci *vci)
{
	int n = 0;

	for (int i = 0, more = 1; more && i < ROUNDS_BEFORE_EVENTS; i++) {
		more = vci->shm ? weft_shm_poll(vci->shm) : 0;
		vci->net_skip = 0;
		if (vci->net)
			more += poll_net(vci);
		n += more;
	}
	return n + weft_boot_poll(vci->boot, weft_proc_on_event, vci);
}

int weft_progress(struct weft_vci *vci)
{
	int n = 0;

	weft_lock_assert_locked(&vci->lock);
	if (weft_unlikely(vci->round_flags))
		return vci->is_polling ? 0 : run_deferred(vci);
	vci->is_polling = true;
	if (weft_likely(vci->shm))
		n += weft_shm_poll(vci->shm);
	if (weft_unlikely(!weft_list_is_empty(&vci->pending_peers)))
		n += progress_flush(vci);
	if (vci->net)
		n += poll_net(vci);
	if (weft_unlikely(vci->rails.n_users))
		n += weft_rail_poll(vci);
	if (weft_unlikely(weft_boot_has_events(vci->boot)))
		n += take_events(vci);
	if (weft_unlikely(!weft_list_is_empty(&vci->hooks)))
		run_hooks(vci);
	vci->is_polling = false;
	if (n && weft_unlikely(vci->n_asleep))
		weft_vci_wake(vci);
	return n;
}

/* Calls the program's function without the lock. */
static __attribute__((noinline)) void notify_program(struct weft_vci *vci)
{
	weft_vci_unlock(vci);
	weft_proc.notify();
	weft_vci_lock(vci);
}

/* Returns the VCI with this number, or NULL. */
static struct weft_vci *progress_vci_at(uint32_t number)
{
	/* acquire: pairs with the store in open_another() (vci.c), which
	 * publishes an open VCI */
	return number ? atomic_load_explicit(&weft_proc.others[number - 1],
				memory_order_acquire)
		      : &weft_proc.vci;
}

/* Makes progress on the other VCIs on which no thread waits. Releases the lock
 * during that time, and waits for no other lock. Not inline, because the array
 * would enlarge the stack frame of every wait. */
static __attribute__((noinline)) void progress_help(
	struct weft_vci *vci, uint32_t n_others)
{
	struct weft_vci *quiet[WEFT_VCIS];
	int n = 0;

	for (uint32_t i = 0; i <= n_others; i++) {
		struct weft_vci *other = progress_vci_at(i);
		uint32_t n_idle = atomic_load_explicit(
			&other->n_idle, memory_order_relaxed);

		if (other != vci && n_idle == vci->seen_idle[i])
			quiet[n++] = other;
		vci->seen_idle[i] = n_idle;
	}
	if (!n)
		return;
	weft_vci_unlock(vci);
	for (int i = 0; i < n; i++)
		if (weft_lock_try(&quiet[i]->lock)) {
			weft_progress(quiet[i]);
			weft_vci_unlock(quiet[i]);
		}
	weft_vci_lock(vci);
}

/* Makes progress on other VCIs, if there are any: every HELP_ROUNDS idle
 * rounds, or in each idle round if idle rounds are long. */
static void poll_other_vcis(struct weft_vci *vci)
{
	uint32_t n_others =
		atomic_load_explicit(&weft_proc.n_others, memory_order_relaxed);
	uint32_t n_idle;

	if (weft_likely(!n_others))
		return;
	n_idle = atomic_load_explicit(&vci->n_idle, memory_order_relaxed);
	atomic_store_explicit(&vci->n_idle, n_idle + 1, memory_order_relaxed);
	if (n_idle % HELP_ROUNDS == 0 || weft_proc.sleeps ||
		weft_yield_is_costly())
		progress_help(vci, n_others);
}

static inline __attribute__((always_inline)) void round_of(
	struct weft_vci *vci, enum weft_sleep_kind kind)
{
	if (weft_progress(vci)) {
		vci->idle_polls = 0;
		return;
	}
	if (weft_unlikely(atomic_load_explicit(
		    &weft_proc.has_notices, memory_order_relaxed))) {
		notify_program(vci);
		return;
	}
	if (weft_unlikely(vci->foreign_check_ns))
		weft_foreign_check(vci);
	poll_other_vcis(vci);
	if (vci->idle_polls < weft_proc.max_spin) {
		vci->idle_polls++;
		weft_cpu_pause();
		weft_lock_pause(&vci->lock);
		return;
	}
	weft_sleep(vci, vci->idle_polls - (uint64_t)weft_proc.max_spin, kind);
	vci->idle_polls += vci->idle_polls < UINT32_MAX / 2;
}

void weft_progress_wait(struct weft_vci *vci)
{
	round_of(vci, WEFT_SLEEP_MESSAGE);
}

void weft_progress_wait_word(struct weft_vci *vci)
{
	round_of(vci, WEFT_SLEEP_WORD);
}

void weft_progress_try(struct weft_vci *vci)
{
	round_of(vci, WEFT_SLEEP_TRY);
}
