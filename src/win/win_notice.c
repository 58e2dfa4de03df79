/* SPDX-License-Identifier: BSD-3-Clause */
/* win_notice: posts, and completes
 *
 * Each is told to each member of its group, and used up by one start or wait
 * there, so they are counted. Members that look at each other's state have a
 * word there for each other one; else they are messages. */
#include "win/win_priv.h"

#include "core/comm.h"

/* What was done before is seen by who finds it. */
static void count(atomic_uint *word)
{
	/* pairs with the load of who looks; nobody else changes it */
	atomic_store_explicit(word,
		atomic_load_explicit(word, memory_order_relaxed) + 1,
		memory_order_release);
}

bool weft_win_is_told_here(
	const struct weft_win *win, const struct weft_win_target *target)
{
	return win->looks || target->is_me;
}

void weft_win_tell_post(struct weft_win *win, struct weft_win_target *target)
{
	count(win->looks ? &target->state->n_posts[win->comm->rank]
			 : &target->notices.n_posts);
}

void weft_win_tell_complete(
	struct weft_win *win, struct weft_win_target *target)
{
	count(win->looks ? &target->state->n_completes[win->comm->rank]
			 : &target->notices.n_completes);
}

int weft_win_take_post(struct weft_win *win, struct weft_win_target *target)
{
	const atomic_uint *word =
		win->looks ? &win->state->n_posts[target->am.rank]
			   : &target->notices.n_posts;
	int err = weft_win_wait_count(win, target, "MPI_Win_start", word,
		target->notices.n_started + 1);

	target->notices.n_started += !err;
	return err;
}

static const atomic_uint *completes_of(
	const struct weft_win *win, const struct weft_win_target *target)
{
	return win->looks ? &win->state->n_completes[target->am.rank]
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
