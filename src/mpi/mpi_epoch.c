/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_epoch: synchronisation of windows
 *
 * MPI-5.0, 12.5. The room win reports calls in the wrong order. */
#include "mpi_mix.h"

/* The asserts that a call accepts. */
struct assert_set {
	int all;
	const char *names;
};

static const struct assert_set of_fence = { MPI_MODE_NOSTORE | MPI_MODE_NOPUT |
						    MPI_MODE_NOPRECEDE |
						    MPI_MODE_NOSUCCEED,
	"MPI_MODE_NOSTORE, NOPUT, NOPRECEDE, NOSUCCEED" };
static const struct assert_set of_post = { MPI_MODE_NOCHECK | MPI_MODE_NOSTORE |
						   MPI_MODE_NOPUT,
	"MPI_MODE_NOCHECK, NOSTORE, NOPUT" };
static const struct assert_set of_others = { MPI_MODE_NOCHECK,
	"MPI_MODE_NOCHECK" };

static int bad_asserts(int assert, const struct assert_set *set)
{
	return weft_err_set(WEFT_ERR_ASSERT,
		"assert is 0x%x, of which 0x%x is not valid for this call: %s",
		(unsigned)assert, (unsigned)(assert & ~set->all), set->names);
}

/* Translates asserts to those of the room win, which has no use for NOSTORE,
 * NOPUT and NOPRECEDE. */
static int to_asserts(
	int assert, const struct assert_set *set, unsigned *asserts_out)
{
	unsigned to = 0;

	if (weft_unlikely(assert & ~set->all) && weft_check_is_on())
		return weft_check_failed(bad_asserts(assert, set));
	if (assert & MPI_MODE_NOCHECK)
		to |= WEFT_WIN_NOCHECK;
	if (assert & MPI_MODE_NOSUCCEED)
		to |= WEFT_WIN_NOSUCCEED;
	*asserts_out = to;
	return 0;
}

/* ---- fence ---- */

int PMPI_Win_fence(int assert, MPI_Win win)
{
	struct weft_win *of = NULL;
	unsigned asserts;
	int err = weft_check_win(win, &of);

	if (!err)
		err = to_asserts(assert, &of_fence, &asserts);
	if (!err)
		err = weft_win_fence(of, asserts);
	return weft_mpi_end_win(of, "MPI_Win_fence", err);
}

/* ---- post, start, complete, wait ---- */

typedef int open_fn(
	struct weft_win *win, const struct weft_group *group, unsigned asserts);

static int open_with(const char *func, open_fn *fn, MPI_Group group, int assert,
	const struct assert_set *set, MPI_Win win)
{
	struct weft_win *of = NULL;
	struct weft_group *with = NULL;
	unsigned asserts;
	int err = weft_check_win(win, &of);

	if (!err)
		err = weft_check_group(group, &with);
	if (!err)
		err = to_asserts(assert, set, &asserts);
	if (!err)
		err = weft_mix_comm_group(of->comm, with);
	if (!err)
		err = fn(of, with, asserts);
	return weft_mpi_end_win(of, func, err);
}

int PMPI_Win_start(MPI_Group group, int assert, MPI_Win win)
{
	return open_with("MPI_Win_start", weft_win_start, group, assert,
		&of_others, win);
}

int PMPI_Win_post(MPI_Group group, int assert, MPI_Win win)
{
	return open_with(
		"MPI_Win_post", weft_win_post, group, assert, &of_post, win);
}

typedef int window_fn(struct weft_win *win);

/* Runs a call whose only argument is the window. */
static int on_window(const char *func, window_fn *fn, MPI_Win win)
{
	struct weft_win *of = NULL;
	int err = weft_check_win(win, &of);

	if (!err)
		err = fn(of);
	return weft_mpi_end_win(of, func, err);
}

int PMPI_Win_complete(MPI_Win win)
{
	return on_window("MPI_Win_complete", weft_win_complete, win);
}

int PMPI_Win_wait(MPI_Win win)
{
	return on_window("MPI_Win_wait", weft_win_wait, win);
}

int PMPI_Win_test(MPI_Win win, int *flag)
{
	struct weft_win *of = NULL;
	bool is_done = false;
	int err = weft_check_win(win, &of);

	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (!err)
		err = weft_win_test(of, &is_done);
	if (!err)
		*flag = is_done;
	return weft_mpi_end_win(of, "MPI_Win_test", err);
}

/* ---- locks ---- */

static int check_lock_type(int lock_type)
{
	if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE &&
		weft_check_is_on())
		return weft_err_set(WEFT_ERR_LOCKTYPE,
			"lock_type is %d, must be MPI_LOCK_SHARED or "
			"MPI_LOCK_EXCLUSIVE",
			lock_type);
	return 0;
}

int PMPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win)
{
	struct weft_win *of = NULL;
	unsigned asserts;
	int err = weft_check_win(win, &of);

	if (!err)
		err = check_lock_type(lock_type);
	if (!err)
		err = weft_check_target(of, rank);
	if (!err)
		err = to_asserts(assert, &of_others, &asserts);
	if (!err && rank != MPI_PROC_NULL)
		err = weft_win_lock(
			of, lock_type == MPI_LOCK_EXCLUSIVE, rank, asserts);
	return weft_mpi_end_win(of, "MPI_Win_lock", err);
}

int PMPI_Win_lock_all(int assert, MPI_Win win)
{
	struct weft_win *of = NULL;
	unsigned asserts;
	int err = weft_check_win(win, &of);

	if (!err)
		err = to_asserts(assert, &of_others, &asserts);
	if (!err)
		err = weft_win_lock_all(of, asserts);
	return weft_mpi_end_win(of, "MPI_Win_lock_all", err);
}

typedef int rank_fn(struct weft_win *win, int32_t rank);

/* Runs fn for one target. Does nothing for MPI_PROC_NULL. */
static inline int on_target(
	const char *func, rank_fn *fn, int rank, MPI_Win win)
{
	struct weft_win *of = NULL;
	int err = weft_check_win(win, &of);

	if (!err)
		err = weft_check_target(of, rank);
	if (!err && rank != MPI_PROC_NULL)
		err = fn(of, rank);
	return weft_mpi_end_win(of, func, err);
}

/* Runs fn for all targets, which the rank WEFT_PROC_NULL denotes. */
static inline int on_all(const char *func, rank_fn *fn, MPI_Win win)
{
	struct weft_win *of = NULL;
	int err = weft_check_win(win, &of);

	if (!err)
		err = fn(of, WEFT_PROC_NULL);
	return weft_mpi_end_win(of, func, err);
}

int PMPI_Win_unlock(int rank, MPI_Win win)
{
	return on_target("MPI_Win_unlock", weft_win_unlock, rank, win);
}

int PMPI_Win_unlock_all(MPI_Win win)
{
	return on_window("MPI_Win_unlock_all", weft_win_unlock_all, win);
}

int PMPI_Win_flush(int rank, MPI_Win win)
{
	return on_target("MPI_Win_flush", weft_win_flush, rank, win);
}

int PMPI_Win_flush_all(MPI_Win win)
{
	return on_all("MPI_Win_flush_all", weft_win_flush, win);
}

int PMPI_Win_flush_local(int rank, MPI_Win win)
{
	return on_target(
		"MPI_Win_flush_local", weft_win_flush_local, rank, win);
}

int PMPI_Win_flush_local_all(MPI_Win win)
{
	return on_all("MPI_Win_flush_local_all", weft_win_flush_local, win);
}

int PMPI_Win_sync(MPI_Win win)
{
	return on_window("MPI_Win_sync", weft_win_sync, win);
}

#include "api_epoch.h"
