/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * win_silent: a member of a window dies or stops during long accesses
 *
 * The other members access the memory of the last rank without a pause: long
 * puts, gets or accumulates, and a short access that needs the target's
 * processor. The last rank is killed or stops for ever in the middle of them.
 * The accesses of each member end with PROC_FAILED, and the window can be
 * freed.
 *
 * stop=1: the last rank stops, and only WEFT_FAIL_TIMEOUT finds that. It is
 * killed at the end.
 */
#include "mtest.h"

enum { LEN = 20000000, LINGER_MS = 30, TAG = 5 };

static char *memory, *data;
static MPI_Win win;
static int last, pid;

static int access_long(void)
{
	if (mtest.rank % 3 == 0)
		return MPI_Get(
			data, LEN, MPI_CHAR, last, 0, LEN, MPI_CHAR, win);
	if (mtest.rank % 3 == 1)
		return MPI_Put(
			data, LEN, MPI_CHAR, last, 0, LEN, MPI_CHAR, win);
	return MPI_Accumulate(
		data, LEN, MPI_CHAR, last, 0, LEN, MPI_CHAR, MPI_BXOR, win);
}

static int access_once(void)
{
	long one = 1, old;
	int rc = access_long();

	if (!rc)
		rc = MPI_Win_flush(last, win);
	if (!rc)
		rc = MPI_Fetch_and_op(
			&one, &old, MPI_LONG, last, 0, MPI_SUM, win);
	return rc ? rc : MPI_Win_flush(last, win);
}

static void survive(void)
{
	double began;
	int rc;

	OK(MPI_Win_lock_all(0, win));
	OK(MPI_Send(NULL, 0, MPI_INT, last, TAG, MPI_COMM_WORLD));
	began = mtest_now();
	do
		rc = access_once();
	while (!rc && mtest_now() - began < MTEST_SOON_S);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED, "an access ends: got %s",
		rc ? mtest_error(rc) : "success");
	CHECK(mtest_now() - began < MTEST_SOON_S, "the accesses took %.1f s",
		mtest_now() - began);
	(void)MPI_Win_unlock_all(win);
}

/* Dies or stops when all others access the window, and while its own accesses
 * are incomplete. */
static void leave(int stops)
{
	OK(MPI_Win_lock_all(0, win));
	for (int r = 0; r < last; r++)
		OK(MPI_Recv(NULL, 0, MPI_INT, r, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	mtest_linger(LINGER_MS);
	OK(MPI_Put(data, LEN, MPI_CHAR, 0, 0, LEN, MPI_CHAR, win));
	OK(MPI_Accumulate(
		data, LEN, MPI_CHAR, 0, 0, LEN, MPI_CHAR, MPI_BXOR, win));
	raise(stops ? SIGSTOP : SIGKILL);
}

/* Rank 0 kills the stopped process when no member accesses it any more. */
static void end_stopped(void)
{
	for (int r = 1; r < last; r++)
		if (mtest.rank == 0)
			OK(MPI_Recv(NULL, 0, MPI_INT, r, TAG, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
	if (mtest.rank)
		OK(MPI_Send(NULL, 0, MPI_INT, 0, TAG, MPI_COMM_WORLD));
	else
		kill(pid, SIGKILL);
}

int main(int argc, char **argv)
{
	int stops, rc;

	mtest_init(&argc, &argv);
	mtest_need(2);
	mtest_connect_all(MPI_COMM_WORLD);
	stops = (int)mtest_arg(argc, argv, "stop", 0);
	last = mtest.size - 1;
	pid = getpid();
	OK(MPI_Bcast(&pid, 1, MPI_INT, last, MPI_COMM_WORLD));
	memory = mtest_alloc(LEN);
	data = mtest_alloc(LEN);
	OK(MPI_Win_create(memory, LEN, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	if (mtest.rank == last)
		leave(stops);
	else
		survive();
	if (stops)
		end_stopped();
	rc = MPI_Win_free(&win);
	CHECK(win == MPI_WIN_NULL &&
			(!rc || mtest_class(rc) == MPIX_ERR_PROC_FAILED),
		"the window is freed: got %s", rc ? mtest_error(rc) : "");
	free(memory);
	free(data);
	return mtest_finish();
}
