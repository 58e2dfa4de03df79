/* SPDX-License-Identifier: BSD-3-Clause */
/* win_notice: posts and completes
 *
 * A post or complete notifies each member of its group, and one start or wait
 * there uses it up, so they are counted. Members that poll each other's state
 * have a word there for each other member; the others send messages. */
#include "win/win_priv.h"

#include "core/comm.h"

/* Earlier accesses are visible to the process that reads the count. */
static void count(atomic_uint *word)
{
	/* pairs with the load in weft_win_has_counted(); this process alone
	 * changes it */
	atomic_store_explicit(word,
		atomic_load_explicit(word, memory_order_relaxed) + 1,
		memory_order_release);
}

bool weft_win_counts_in_memory(
	const struct weft_win *win, const struct weft_win_target *target)
{
	return win->polls_states || target->is_me;
}

void weft_win_count_post(struct weft_win *win, struct weft_win_target *target)
{
	count(win->polls_states ? &target->state->n_posts[win->comm->rank]
				: &target->notices.n_posts);
}

void weft_win_count_complete(
	struct weft_win *win, struct weft_win_target *target)
{
	count(win->polls_states ? &target->state->n_completes[win->comm->rank]
				: &target->notices.n_completes);
}

int weft_win_take_post(struct weft_win *win, struct weft_win_target *target)
{
	const atomic_uint *word =
		win->polls_states ? &win->state->n_posts[target->am.rank]
				  : &target->notices.n_posts;
	int err = weft_win_wait_count(win, target, "MPI_Win_start", word,
		target->notices.n_started + 1);

	target->notices.n_started += !err;
	return err;
}

static const atomic_uint *completes_of(
	const struct weft_win *win, const struct weft_win_target *target)
{
	return win->polls_states ? &win->state->n_completes[target->am.rank]
				 : &target->notices.n_completes;
}

int weft_win_take_complete(struct weft_win *win, struct weft_win_target *target)
{
	int err = weft_win_wait_count(win, target, "MPI_Win_wait",
		completes_of(win, target), target->notices.n_waited + 1);

	target->notices.n_waited += !err;
	return err;
}

bool weft_win_has_completed(
	const struct weft_win *win, const struct weft_win_target *target)
{
	return weft_win_has_counted(
		completes_of(win, target), target->notices.n_waited + 1);
}
