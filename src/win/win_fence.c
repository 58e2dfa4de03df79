/* SPDX-License-Identifier: BSD-3-Clause */
/* win_fence: the barrier of a fence
 *
 * Up to WEFT_WIN_POLLED_MAX members of one node count their fences in their own
 * state, and poll the counters of the other members. A store wakes no process,
 * so members that sleep while they wait use messages. */
#include "win/win_priv.h"

#include "base/bits.h"
#include "base/err.h"
#include "coll/coll.h"
#include "core/failed.h"
#include "core/comm.h"
#include "p2p/p2p.h"
#include "transport/proc.h"

#include <stdio.h>

enum { SPINS = 64 };

bool weft_win_may_poll_states(const struct weft_win *win)
{
	if (weft_proc.is_blocking || win->comm->size > WEFT_WIN_POLLED_MAX)
		return false;
	for (uint32_t i = 0; i < (uint32_t)win->comm->size; i++) {
		const struct weft_win_target *t = weft_win_target_at(win, i);

		if (!t || !t->state)
			return false;
	}
	return true;
}

int weft_win_wait_count(struct weft_win *win,
	const struct weft_win_target *target, const char *what,
	const atomic_uint *word, unsigned number)
{
	struct weft_win_wait wait = { .win = win,
		.target = target,
		.what = what,
		.word = word,
		.number = number,
		.is_memory = win->polls_states };
	int err = 0;

	/* does not spin if memory of a member is not mapped, because other
	 * members may then need this process's progress */
	for (int i = 0; win->polls_states && !win->has_remote && i < SPINS;
		i++) {
		if (weft_win_has_counted(word, number))
			return 0;
		weft_cpu_pause();
	}
	weft_vci_lock(win->comm->vci);
	while (!err && !weft_win_has_counted(word, number))
		err = weft_win_wait_round(&wait);
	err = weft_win_wait_end(&wait, err);
	weft_vci_unlock(win->comm->vci);
	return err;
}

void weft_win_sync_threads(struct weft_win *win)
{
	if (!win->has_remote)
		return;
	weft_vci_lock(win->comm->vci);
	weft_vci_unlock(win->comm->vci);
}

static int poll_all_states(struct weft_win *win)
{
	unsigned number = atomic_load_explicit(
				  &win->state->n_fences, memory_order_relaxed) +
			  1;
	int err = 0;

	/* publishes this member's earlier accesses before the count; pairs with
	 * the load in weft_win_has_counted() */
	atomic_store_explicit(
		&win->state->n_fences, number, memory_order_release);
	for (uint32_t i = 0; i < (uint32_t)win->comm->size && !err; i++) {
		struct weft_win_target *target = weft_win_target_at(win, i);

		err = weft_win_wait_count(win, target, "MPI_Win_fence",
			&target->state->n_fences, number);
	}
	weft_win_sync_threads(win);
	return err;
}

/* Adds the window, and the member that failed, to the error of a collective. */
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

	if (weft_comm_is_revoked(win->comm))
		return weft_comm_revoked(win->comm);
	if (win->polls_states)
		return poll_all_states(win);
	return of_window(win, weft_coll_run(WEFT_COLL_BARRIER, &barrier));
}
