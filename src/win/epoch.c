/* SPDX-License-Identifier: BSD-3-Clause */
/* epoch: opens and closes access epochs, and completes accesses
 *
 * An access reads one flag of its target, is_open. MPI_Win_lock and
 * MPI_Win_start set it. In the epoch of a fence or of lock_all, the first
 * access to a target sets it. For lock_all, this access also acquires the
 * target's lock. So neither epoch costs a message for a member that is not
 * accessed. The window lists its open targets, and the call that ends the epoch
 * closes them. */
#include "win/win_priv.h"

#include "base/err.h"
#include "core/comm.h"
#include "p2p/p2p.h"
#include "transport/progress.h"

#include <stdio.h>

enum {
	/* one of this many calls makes progress, even if none needs it */
	FLUSHES_PER_ROUND = 32,
	UNLOCKS_PER_ROUND = 64,
};

static const char *const epoch_names[] = {
	[WEFT_WIN_CLOSED] = "no access epoch",
	[WEFT_WIN_FENCED] = "the epoch of a fence",
	[WEFT_WIN_USED] = "the epoch of a fence, with accesses",
	[WEFT_WIN_STARTED] = "the epoch of MPI_Win_start",
	[WEFT_WIN_LOCKED] = "the epoch of MPI_Win_lock",
	[WEFT_WIN_LOCKED_ALL] = "the epoch of MPI_Win_lock_all",
};

static __attribute__((cold)) int out_of_turn(
	const struct weft_win *win, const char *remedy)
{
	return weft_err_set(WEFT_ERR_RMA_SYNC, "window \"%s\" is in %s%s; %s",
		win->name, epoch_names[win->access],
		win->is_exposed ? " and was posted" : "", remedy);
}

/* 0, or the error of a call that would begin an epoch of a revoked window. */
static int check_not_revoked(const struct weft_win *win)
{
	return weft_likely(!weft_comm_is_revoked(win->comm))
		       ? 0
		       : weft_comm_revoked(win->comm);
}

/* The result of a call that completes accesses. If the window is revoked, some
 * accesses may be incomplete. */
static int completed(const struct weft_win *win, int err)
{
	int revoked = check_not_revoked(win);

	return weft_likely(!revoked) ? err : revoked;
}

/* --- the lock of a member ------------------------------------------ */

/* Acquires the lock of a target whose state this process can access. Otherwise
 * the first access to the target requests the lock by message. */
static int take_lock(
	struct weft_win *win, struct weft_win_target *target, bool is_exclusive)
{
	if (target->state)
		return weft_win_lock_here(win, target, is_exclusive);
	weft_win_am_lock(win, target, is_exclusive);
	return 0;
}

static int give_lock(
	struct weft_win *win, struct weft_win_target *target, bool is_exclusive)
{
	if (!target->state)
		return weft_win_am_unlock(win, target);
	weft_win_drop_lock(target->state, is_exclusive);
	return 0;
}

/* --- open targets ------------------------------------------------- */

/* win->spin held. */
static void list_opened(struct weft_win *win, struct weft_win_target *target)
{
	weft_list_push_back(&win->opened, &target->opened);
	__atomic_store_n(&target->is_open, true, __ATOMIC_RELEASE);
}

static void unlist_opened(struct weft_win *win, struct weft_win_target *target)
{
	weft_spin_acquire(&win->spin);
	weft_list_remove(&target->opened);
	__atomic_store_n(&target->is_open, false, __ATOMIC_RELAXED);
	weft_spin_release(&win->spin);
}

/* Returns the open target after `target`, or the first one if `target` is NULL.
 * NULL: there are no more. Other threads may open targets meanwhile. */
static struct weft_win_target *opened_next(
	struct weft_win *win, struct weft_win_target *target)
{
	struct weft_link *link;

	weft_spin_acquire(&win->spin);
	link = target ? target->opened.next : win->opened.next;
	weft_spin_release(&win->spin);
	return link == &win->opened ? NULL
				    : weft_container_of(link,
					      struct weft_win_target, opened);
}

static void list_locked(
	struct weft_win *win, struct weft_win_target *target, bool has_lock)
{
	weft_spin_acquire(&win->spin);
	if (!target->is_open) {
		target->lock.is_taken = has_lock;
		target->lock.is_exclusive = false;
		list_opened(win, target);
	}
	weft_spin_release(&win->spin);
}

/* True if this thread must acquire the target's lock for lock_all. False if
 * another thread has acquired it; waits while that thread acquires it. */
static bool begin_opening(struct weft_win *win, struct weft_win_target *target)
{
	struct weft_vci *vci = win->comm->vci;

	for (;;) {
		bool is_mine = false, is_open;

		weft_spin_acquire(&win->spin);
		is_open = target->is_open;
		if (!is_open && !target->is_opening)
			is_mine = target->is_opening = true;
		weft_spin_release(&win->spin);
		if (is_mine || is_open)
			return is_mine;
		weft_vci_lock(vci);
		weft_progress_try(vci);
		weft_vci_unlock(vci);
	}
}

static int open_locked_all(struct weft_win *win, struct weft_win_target *target)
{
	int err;

	if (!begin_opening(win, target))
		return 0;
	err = take_lock(win, target, false);
	if (!err)
		list_locked(win, target, true);
	weft_spin_acquire(&win->spin);
	target->is_opening = false;
	weft_spin_release(&win->spin);
	return err;
}

int weft_win_target_open(struct weft_win *win, struct weft_win_target *target)
{
	if (win->access == WEFT_WIN_FENCED)
		win->access = WEFT_WIN_USED;
	if (win->access == WEFT_WIN_LOCKED_ALL && !win->is_nocheck)
		return open_locked_all(win, target);
	if (win->access != WEFT_WIN_USED && win->access != WEFT_WIN_LOCKED_ALL)
		return weft_err_set(WEFT_ERR_RMA_SYNC,
			"access to rank %u of window \"%s\" in %s%s; begin one "
			"with MPI_Win_fence, start, lock or lock_all",
			target->am.rank, win->name, epoch_names[win->access],
			win->access == WEFT_WIN_CLOSED
				? ""
				: ", which is not for it");
	list_locked(win, target, false);
	return 0;
}

/* --- completion ---------------------------------------------------- */

/* Completes all accesses to the target: at the origin and, unless is_local, at
 * the target. */
static int flush_target(
	struct weft_win *win, struct weft_win_target *target, bool is_local)
{
	return target->method == WEFT_WIN_MAPPED || target->is_me
		       ? 0
		       : weft_win_am_flush(win, target, is_local);
}

/* Makes progress in one of FLUSHES_PER_ROUND calls, or in each call if the
 * window has_remote. The program may poll a word of the window that only an
 * incoming message changes. */
static void flush_progress(struct weft_win *win)
{
	struct weft_vci *vci = win->comm->vci;
	uint32_t n =
		atomic_load_explicit(&win->n_flushes, memory_order_relaxed);

	atomic_thread_fence(memory_order_seq_cst);
	atomic_store_explicit(&win->n_flushes, n + 1, memory_order_relaxed);
	if (weft_likely(n % FLUSHES_PER_ROUND && !win->has_remote))
		return;
	weft_vci_lock(vci);
	/* weft_progress_try() may sleep, so that a process that changes the
	 * word can use this core */
	if (n % FLUSHES_PER_ROUND == 0)
		weft_progress_try(vci);
	else
		weft_progress(vci);
	weft_vci_unlock(vci);
}

/* Makes progress, so that an origin whose accesses need none still answers
 * other processes. */
static void win_progress(struct weft_win *win)
{
	struct weft_vci *vci = win->comm->vci;

	weft_vci_lock(vci);
	weft_progress(vci);
	weft_vci_unlock(vci);
}

static int close_target(struct weft_win *win, struct weft_win_target *target)
{
	bool is_by_am = target->lock.is_taken && !target->state;
	/* the answer to an unlock message confirms all accesses */
	int err = is_by_am ? 0 : flush_target(win, target, false);
	int lock_err = 0;

	if (target->lock.is_taken)
		lock_err = give_lock(win, target, target->lock.is_exclusive);
	target->lock.is_taken = false;
	target->lock.is_open = false;
	if (target->method == WEFT_WIN_COPIED)
		win_progress(win);
	return err ? err : lock_err;
}

int weft_win_close_epoch(struct weft_win *win)
{
	struct weft_win_target *target;
	int err = 0;

	atomic_thread_fence(memory_order_seq_cst);
	while ((target = opened_next(win, NULL)) != NULL) {
		int one;

		unlist_opened(win, target);
		one = close_target(win, target);
		err = err ? err : one;
	}
	return err;
}

static int flush(struct weft_win *win, int32_t rank, bool is_local)
{
	struct weft_win_target *target;
	int err = 0;

	if (win->access != WEFT_WIN_LOCKED &&
		win->access != WEFT_WIN_LOCKED_ALL)
		return out_of_turn(
			win, "begin one with MPI_Win_lock or MPI_Win_lock_all");
	flush_progress(win);
	if (rank != WEFT_PROC_NULL) {
		target = weft_win_target_of(win, (uint32_t)rank);
		if (!target)
			return WEFT_ERR_NOMEM;
		if (win->access == WEFT_WIN_LOCKED && !target->lock.is_open)
			return out_of_turn(win, "and that rank is not locked");
		return flush_target(win, target, is_local);
	}
	if (!win->has_remote)
		return 0;
	target = NULL;
	while ((target = opened_next(win, target)) != NULL) {
		int one = flush_target(win, target, is_local);

		err = err ? err : one;
	}
	return err;
}

int weft_win_flush(struct weft_win *win, int32_t rank)
{
	return completed(win, flush(win, rank, false));
}

int weft_win_flush_local(struct weft_win *win, int32_t rank)
{
	return completed(win, flush(win, rank, true));
}

int weft_win_finish_local(struct weft_win *win, int32_t rank)
{
	struct weft_win_target *target =
		weft_win_target_of(win, (uint32_t)rank);

	return target ? completed(win, flush_target(win, target, true))
		      : WEFT_ERR_NOMEM;
}

int weft_win_sync(struct weft_win *win)
{
	flush_progress(win);
	return 0;
}

/* --- fence --------------------------------------------------------- */

int weft_win_fence(struct weft_win *win, unsigned asserts)
{
	int err, barrier_err;

	if (win->access > WEFT_WIN_USED || win->is_exposed)
		return out_of_turn(win, "end that first");
	err = weft_win_close_epoch(win);
	barrier_err = weft_win_barrier(win);
	atomic_thread_fence(memory_order_seq_cst);
	win->access = asserts & WEFT_WIN_NOSUCCEED ? WEFT_WIN_CLOSED
						   : WEFT_WIN_FENCED;
	return completed(win, err ? err : barrier_err);
}

/* --- post, start, complete, wait ----------------------------------- */

/* The window's member that has rank i in a group. NULL with an error described.
 */
static struct weft_win_target *member_at(
	struct weft_win *win, const struct weft_group *group, uint32_t i)
{
	int32_t rank =
		weft_group_rank_of(win->comm->group, weft_group_proc(group, i));

	if (rank < 0) {
		weft_err_set(WEFT_ERR_GROUP,
			"rank %u of the group is no member of window \"%s\"", i,
			win->name);
		return NULL;
	}
	return weft_win_target_of(win, (uint32_t)rank);
}

static int check_members(struct weft_win *win, const struct weft_group *group)
{
	for (uint32_t i = 0; i < group->size; i++)
		if (!member_at(win, group, i))
			return WEFT_ERR_GROUP;
	return 0;
}

static bool is_notified_in_memory(
	const struct weft_win *win, const struct weft_win_target *target)
{
	return win->polls_states || target->is_me;
}

static int notify_post(struct weft_win *win, struct weft_win_target *target)
{
	if (!is_notified_in_memory(win, target))
		return weft_win_am_post(win, target);
	weft_win_notice_count(win, target, WEFT_WIN_POST);
	return 0;
}

/* Completes all accesses to the target, and then notifies the target. */
static int notify_complete(struct weft_win *win, struct weft_win_target *target)
{
	int err;

	if (!is_notified_in_memory(win, target))
		return weft_win_am_complete(win, target);
	err = flush_target(win, target, false);
	weft_win_notice_count(win, target, WEFT_WIN_COMPLETE);
	return err;
}

static void unexpose(struct weft_win *win)
{
	atomic_thread_fence(memory_order_seq_cst);
	weft_group_put(win->posted);
	win->posted = NULL;
	win->is_exposed = false;
}

int weft_win_post(
	struct weft_win *win, const struct weft_group *group, unsigned asserts)
{
	int err = check_members(win, group);

	if (!err)
		err = check_not_revoked(win);
	if (err)
		return err;
	if (win->is_exposed)
		return out_of_turn(win, "call MPI_Win_wait first");
	if (win->access >= WEFT_WIN_LOCKED)
		return out_of_turn(win, "unlock it first");
	atomic_thread_fence(memory_order_seq_cst);
	win->is_exposed = true;
	win->posted = weft_group_get((struct weft_group *)group);
	for (uint32_t i = 0; !(asserts & WEFT_WIN_NOCHECK) && i < group->size;
		i++) {
		int one = notify_post(win, member_at(win, group, i));

		err = err ? err : one;
	}
	if (err)
		unexpose(win);
	return err;
}

int weft_win_start(
	struct weft_win *win, const struct weft_group *group, unsigned asserts)
{
	int err = check_members(win, group);

	if (!err)
		err = check_not_revoked(win);
	if (err)
		return err;
	if (win->access > WEFT_WIN_FENCED)
		return out_of_turn(win, "end that first");
	for (uint32_t i = 0;
		!(asserts & WEFT_WIN_NOCHECK) && i < group->size && !err; i++)
		err = weft_win_notice_take(
			win, member_at(win, group, i), WEFT_WIN_POST);
	if (err)
		return err;
	win->access = WEFT_WIN_STARTED;
	win->started = weft_group_get((struct weft_group *)group);
	for (uint32_t i = 0; i < group->size; i++)
		list_locked(win, member_at(win, group, i), false);
	return 0;
}

int weft_win_complete(struct weft_win *win)
{
	struct weft_group *group = win->started;
	int err = 0;

	if (win->access != WEFT_WIN_STARTED)
		return out_of_turn(win, "call MPI_Win_start first");
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < group->size; i++) {
		struct weft_win_target *target = member_at(win, group, i);
		int one;

		unlist_opened(win, target);
		one = notify_complete(win, target);
		err = err ? err : one;
	}
	win->access = WEFT_WIN_CLOSED;
	win->started = NULL;
	weft_group_put(group);
	return completed(win, err);
}

int weft_win_wait(struct weft_win *win)
{
	int err = 0;

	if (!win->is_exposed)
		return out_of_turn(
			win, "it was not posted: call MPI_Win_post first");
	for (uint32_t i = 0; i < win->posted->size && !err; i++)
		err = weft_win_notice_take(
			win, member_at(win, win->posted, i), WEFT_WIN_COMPLETE);
	weft_win_sync_threads(win);
	unexpose(win);
	return completed(win, err);
}

int weft_win_test(struct weft_win *win, bool *done_out)
{
	bool is_done = true;

	if (!win->is_exposed)
		return out_of_turn(
			win, "it was not posted: call MPI_Win_post first");
	weft_vci_lock(win->comm->vci);
	weft_progress_try(win->comm->vci);
	for (uint32_t i = 0; i < win->posted->size && is_done; i++)
		is_done = weft_win_notice_has(
			win, member_at(win, win->posted, i), WEFT_WIN_COMPLETE);
	weft_vci_unlock(win->comm->vci);
	*done_out = is_done;
	return is_done || weft_comm_is_revoked(win->comm) ? weft_win_wait(win)
							  : 0;
}

/* --- locks --------------------------------------------------------- */

/* Warns once if a program locks a window with the info key no_locks. The
 * library does not rely on this promise of the program. */
static void note_lock(struct weft_win *win, const char *call)
{
	if (weft_likely(!win->has_no_locks))
		return;
	win->has_no_locks = false;
	weft_log_warn("WIN-LOCKS",
		"%s on window \"%s\", which was created with no_locks=true: "
		"other libraries may not support that",
		call, win->name);
}

int weft_win_lock(
	struct weft_win *win, bool is_exclusive, int32_t rank, unsigned asserts)
{
	bool has_lock = !(asserts & WEFT_WIN_NOCHECK);
	struct weft_win_target *target;
	int err = check_not_revoked(win);

	if (err)
		return err;
	note_lock(win, "MPI_Win_lock");
	if (win->access != WEFT_WIN_CLOSED && win->access != WEFT_WIN_FENCED &&
		win->access != WEFT_WIN_LOCKED)
		return out_of_turn(win, "end that first");
	target = weft_win_target_of(win, (uint32_t)rank);
	if (!target)
		return WEFT_ERR_NOMEM;
	if (target->lock.is_open)
		return out_of_turn(win, "and that rank is locked already");
	if (has_lock)
		err = take_lock(win, target, is_exclusive);
	if (err)
		return err;
	weft_spin_acquire(&win->spin);
	win->access = WEFT_WIN_LOCKED;
	win->n_locks++;
	target->lock.is_open = true;
	target->lock.is_taken = has_lock;
	target->lock.is_exclusive = is_exclusive;
	list_opened(win, target);
	weft_spin_release(&win->spin);
	return 0;
}

int weft_win_unlock(struct weft_win *win, int32_t rank)
{
	struct weft_win_target *target =
		weft_win_target_of(win, (uint32_t)rank);
	bool is_round;
	int err;

	if (!target)
		return WEFT_ERR_NOMEM;
	if (win->access != WEFT_WIN_LOCKED || !target->lock.is_open)
		return out_of_turn(win, "and that rank is not locked");
	atomic_thread_fence(memory_order_seq_cst);
	unlist_opened(win, target);
	err = close_target(win, target);
	weft_spin_acquire(&win->spin);
	if (!--win->n_locks)
		win->access = WEFT_WIN_CLOSED;
	is_round = ++win->n_unlocks % UNLOCKS_PER_ROUND == 0;
	weft_spin_release(&win->spin);
	if (weft_unlikely(is_round))
		win_progress(win);
	return completed(win, err);
}

int weft_win_lock_all(struct weft_win *win, unsigned asserts)
{
	int err = check_not_revoked(win);

	if (err)
		return err;
	note_lock(win, "MPI_Win_lock_all");
	if (win->access > WEFT_WIN_FENCED)
		return out_of_turn(win, "end that first");
	win->access = WEFT_WIN_LOCKED_ALL;
	win->is_nocheck = asserts & WEFT_WIN_NOCHECK;
	return 0;
}

int weft_win_unlock_all(struct weft_win *win)
{
	int err;

	if (win->access != WEFT_WIN_LOCKED_ALL)
		return out_of_turn(win, "call MPI_Win_lock_all first");
	err = weft_win_close_epoch(win);
	win->access = WEFT_WIN_CLOSED;
	return completed(win, err);
}
