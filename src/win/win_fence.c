/* SPDX-License-Identifier: BSD-3-Clause */
/* win_fence: a fence's barrier
 *
 * Few members that share memory tell each other by a word in each one's state,
 * which counts its fences: a store, and a look at each other member's. Nobody
 * is woken by that, so those that sleep while they wait use messages. */
#include "win/win_priv.h"

#include "base/bits.h"
#include "base/err.h"
#include "coll/coll.h"
#include "comm/failed.h"
#include "core/comm.h"
#include "transport/proc.h"

#include <stdio.h>

enum {
	MEMBERS = 16, /* each looks at all */
	SPINS = 64,
	ROUNDS = 2048, /* then, before it sleeps */
};

bool weft_win_may_look(const struct weft_win *win)
{
	if (weft_proc.is_blocking || win->comm->size > MEMBERS)
		return false;
	for (uint32_t i = 0; i < (uint32_t)win->comm->size; i++) {
		const struct weft_win_target *t = weft_win_target_at(win, i);

		if (!t || !t->state)
			return false;
	}
	return true;
}

static bool has_come(const struct weft_win_target *target, unsigned number)
{
	/* pairs with the store below; differences, as it may wrap */
	unsigned its = atomic_load_explicit(
		&target->state->n_fences, memory_order_acquire);

	return (int)(its - number) >= 0;
}

static int wait_for(
	struct weft_win *win, struct weft_win_target *target, unsigned number)
{
	struct weft_win_wait wait = { .win = win,
		.target = target,
		.what = "MPI_Win_fence",
		.is_memory = true,
		.n_awake = ROUNDS };
	int err = 0;

	for (int i = 0; i < SPINS; i++) {
		if (has_come(target, number))
			return 0;
		weft_cpu_pause();
	}
	weft_vci_lock(win->comm->vci);
	while (!err && !has_come(target, number))
		err = weft_win_wait_round(&wait);
	weft_vci_unlock(win->comm->vci);
	return err;
}

static int look_at_all(struct weft_win *win)
{
	unsigned number = atomic_load_explicit(
				  &win->state->n_fences, memory_order_relaxed) +
			  1;
	int err = 0;

	/* pairs with the load above: what was done before is seen */
	atomic_store_explicit(
		&win->state->n_fences, number, memory_order_release);
	for (uint32_t i = 0; i < (uint32_t)win->comm->size && !err; i++)
		err = wait_for(win, weft_win_target_at(win, i), number);
	/* what another thread has done for others is seen by this one */
	if (win->has_remote) {
		weft_vci_lock(win->comm->vci);
		weft_vci_unlock(win->comm->vci);
	}
	return err;
}

/* The error of a collective, said to be about the window. */
static int of_window(const struct weft_win *win, int err)
{
	const struct weft_comm *comm = win->comm;
	char why[160], who[32] = "";
	int32_t rank;

	if (weft_likely(!err))
		return 0;
	snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
	rank = comm->failed ? weft_group_rank_of(comm->group, comm->failed - 1)
			    : weft_failed_first(comm->group);
	if (rank >= 0)
		snprintf(who, sizeof(who), "rank %d of ", rank);
	return weft_err_set(err, "%swindow \"%s\": %s", who, win->name, why);
}

int weft_win_barrier(struct weft_win *win)
{
	struct weft_coll barrier = { .comm = win->comm,
		.ctx_offset = WEFT_CTX_OFFSET_COLL };

	if (win->looks)
		return look_at_all(win);
	return of_window(win, weft_coll_run(WEFT_COLL_BARRIER, &barrier));
}
