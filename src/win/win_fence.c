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

enum { SPINS = 64 };

bool weft_win_may_look(const struct weft_win *win)
{
	if (weft_proc.is_blocking || win->comm->size > WEFT_WIN_LOOKERS)
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
		.is_memory = win->looks };
	int err = 0;

	/* whose memory is not mapped may be waited for to make progress */
	for (int i = 0; win->looks && !win->has_remote && i < SPINS; i++) {
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

void weft_win_looked(struct weft_win *win)
{
	if (!win->has_remote)
		return;
	weft_vci_lock(win->comm->vci);
	weft_vci_unlock(win->comm->vci);
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
	for (uint32_t i = 0; i < (uint32_t)win->comm->size && !err; i++) {
		struct weft_win_target *target = weft_win_target_at(win, i);

		err = weft_win_wait_count(win, target, "MPI_Win_fence",
			&target->state->n_fences, number);
	}
	weft_win_looked(win);
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
