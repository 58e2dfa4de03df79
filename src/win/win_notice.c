/* SPDX-License-Identifier: BSD-3-Clause */
/* win_notice: posts and completes
 *
 * MPI_Win_post and MPI_Win_complete notify each member of their group. Each
 * MPI_Win_start or MPI_Win_wait of a notified member consumes one notice, so
 * notices are counted. If members poll each other's state, the state of each
 * member has a counter for each other member. Otherwise members send
 * messages. */
#include "win/win_priv.h"

#include "core/comm.h"

static const char *const waits[] = {
	[WEFT_WIN_POST] = "MPI_Win_start",
	[WEFT_WIN_COMPLETE] = "MPI_Win_wait",
};

/* The counter of the notices that have arrived from the target. */
static const atomic_uint *notices_of(const struct weft_win *win,
	const struct weft_win_target *target, enum weft_win_notice notice)
{
	return win->polls_states
		       ? &win->state->n_notices[notice][target->am.rank]
		       : &target->n_notices[notice];
}

void weft_win_notice_count(struct weft_win *win, struct weft_win_target *target,
	enum weft_win_notice notice)
{
	atomic_uint *word =
		win->polls_states
			? &target->state->n_notices[notice][win->comm->rank]
			: &target->n_notices[notice];

	/* The release pairs with the load in weft_win_has_counted(): earlier
	 * accesses are visible to the process that reads the count. Only this
	 * process changes the count. */
	atomic_store_explicit(word,
		atomic_load_explicit(word, memory_order_relaxed) + 1,
		memory_order_release);
}

int weft_win_notice_take(struct weft_win *win, struct weft_win_target *target,
	enum weft_win_notice notice)
{
	int err = weft_win_wait_count(win, target, waits[notice],
		notices_of(win, target, notice), target->n_taken[notice] + 1);

	target->n_taken[notice] += !err;
	return err;
}

bool weft_win_notice_has(const struct weft_win *win,
	const struct weft_win_target *target, enum weft_win_notice notice)
{
	return weft_win_has_counted(
		notices_of(win, target, notice), target->n_taken[notice] + 1);
}
