/* SPDX-License-Identifier: BSD-3-Clause */
/* win_lock: the lock of a window at a member, and locks by address
 *
 * A window's lock at a member is a word in shared memory. Members on the same
 * node acquire the lock with an atomic instruction. A member on another node
 * sends its request to the member that the lock belongs to, which acquires the
 * lock for it (win_target.c). */
#include "win/win_priv.h"

#include "base/bits.h"
#include "base/err.h"
#include "base/pid.h"
#include "base/yield.h"
#include "transport/proc.h"
#include "transport/vci.h"

#include <unistd.h>

enum {
	SPINS = 64,	   /* polls before a yield, if processes share cores */
	LONG_SPINS = 4096, /* polls before a yield, if each has its own core */
	ROUNDS_PER_CHECK = 64, /* for checks that a stripe's holder is alive */
	ROUNDS_WANTED = 1000,  /* rounds until a stale WANTED is cleared */
	TRIES = 6,   /* attempts before a wait; each pause doubles in length */
	MODEST = 16, /* rounds before WANTED is set */
	PATIENCE = 4 * 64, /* rounds in which others may acquire first */
};

bool weft_win_try_lock(
	struct weft_win_state *state, bool is_exclusive, int32_t rank)
{
	unsigned now = atomic_load_explicit(&state->lock, memory_order_relaxed);

	if (is_exclusive) {
		if (now & ~(unsigned)WEFT_WIN_WANTED)
			return false;
		if (!atomic_compare_exchange_strong(
			    &state->lock, &now, WEFT_WIN_EXCLUSIVE))
			return false;
		atomic_store_explicit(
			&state->holder, rank + 1, memory_order_relaxed);
		return true;
	}
	while (!(now & (WEFT_WIN_EXCLUSIVE | WEFT_WIN_WANTED)))
		if (atomic_compare_exchange_weak(&state->lock, &now, now + 1))
			return true;
	return false;
}

void weft_win_drop_lock(struct weft_win_state *state, bool is_exclusive)
{
	if (is_exclusive) {
		atomic_store_explicit(&state->holder, 0, memory_order_relaxed);
		atomic_fetch_and(&state->lock, ~(unsigned)WEFT_WIN_EXCLUSIVE);
	} else {
		atomic_fetch_sub(&state->lock, 1);
	}
}

/* Clears WANTED if no process holds the lock. The process that set WANTED may
 * have failed, or have ended its wait with an error. */
static void forget_wanted(struct weft_win_state *state)
{
	unsigned now = atomic_load_explicit(&state->lock, memory_order_relaxed);

	if (now == WEFT_WIN_WANTED)
		atomic_compare_exchange_strong(&state->lock, &now, 0);
}

static bool is_lock_wanted(const struct weft_win_state *state)
{
	return atomic_load_explicit(&state->lock, memory_order_relaxed) &
	       WEFT_WIN_WANTED;
}

void weft_win_want_lock(struct weft_win_state *state)
{
	if (!is_lock_wanted(state))
		atomic_fetch_or(&state->lock, WEFT_WIN_WANTED);
}

/* Waits for the lock of a member on this node. While WANTED is set, this
 * process does not try to acquire the lock for `patience` rounds, so that the
 * process that set WANTED can acquire it first. That process may have no core
 * at the moment. */
static int wait_lock(struct weft_win *win, struct weft_win_target *target,
	bool is_exclusive, uint32_t patience)
{
	struct weft_win_wait wait = { .win = win,
		.target = target,
		.what = "MPI_Win_lock",
		.is_memory = true,
		.is_lock = true };
	int err = 0, end_err;

	weft_vci_lock(win->comm->vci);
	while (!err) {
		/* patience stays 0 from then on, because this process itself
		 * may set WANTED */
		if (wait.n_rounds >= patience || !is_lock_wanted(target->state))
			patience = 0;
		if (!patience && weft_win_try_lock(target->state, is_exclusive,
					 win->comm->rank))
			break;
		if (!patience && is_exclusive && wait.n_rounds >= MODEST)
			weft_win_want_lock(target->state);
		err = weft_win_wait_round(&wait);
		if (wait.n_rounds % ROUNDS_WANTED == 0)
			forget_wanted(target->state);
	}
	end_err = weft_win_wait_end(&wait, err);
	if (end_err && !err)
		weft_win_drop_lock(target->state, is_exclusive);
	weft_vci_unlock(win->comm->vci);
	return end_err;
}

int weft_win_lock_here(
	struct weft_win *win, struct weft_win_target *target, bool is_exclusive)
{
	if (weft_unlikely(is_lock_wanted(target->state)))
		return wait_lock(win, target, is_exclusive, PATIENCE);
	for (int i = 0; i < (win->has_remote ? 1 : TRIES); i++) {
		if (weft_win_try_lock(
			    target->state, is_exclusive, win->comm->rank))
			return 0;
		for (int k = 0; k < 1 << i; k++)
			weft_cpu_pause();
	}
	return wait_lock(win, target, is_exclusive, 0);
}

/* --- by address ---------------------------------------------------- */

static atomic_uint *stripe_of(weft_win_stripes *stripes, uint64_t address)
{
	return &(*stripes)[address / 4096 % WEFT_WIN_STRIPES];
}

static void stripe_wait(atomic_uint *stripe, unsigned round)
{
	unsigned spins = weft_proc.node.shares_cores ? SPINS : LONG_SPINS,
		 holder;

	if (round < spins) {
		weft_cpu_pause();
		return;
	}
	weft_yield_wait(round - spins);
	holder = atomic_load_explicit(stripe, memory_order_relaxed);
	if (round % ROUNDS_PER_CHECK == 0 && holder &&
		weft_pid_has_ended((pid_t)holder, 0))
		atomic_compare_exchange_strong(stripe, &holder, 0);
}

void weft_win_stripe_take(weft_win_stripes *stripes, uint64_t address)
{
	atomic_uint *stripe = stripe_of(stripes, address);
	unsigned mine = (unsigned)weft_win_my_pid(), none = 0, round = 0;

	while (!atomic_compare_exchange_weak_explicit(stripe, &none, mine,
		memory_order_acquire, memory_order_relaxed)) {
		/* waits with loads, which disturb the holder less than
		 * atomic operations */
		do
			stripe_wait(stripe, round++);
		while (atomic_load_explicit(stripe, memory_order_relaxed));
		none = 0;
	}
}

void weft_win_stripe_drop(weft_win_stripes *stripes, uint64_t address)
{
	/* publishes the update before the stripe is free; pairs with the
	 * acquire in weft_win_stripe_take() */
	atomic_store_explicit(
		stripe_of(stripes, address), 0, memory_order_release);
}
