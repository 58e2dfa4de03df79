/* SPDX-License-Identifier: BSD-3-Clause */
/* win_rings: two processes wait for each other through windows, and are told
 *
 * Run with WEFT_DEADLOCK=error: both have an error, and go on, also with the
 * window. Elsewhere than in shared memory who has a lock is not known.
 */
#include "mtest.h"

static int other;

static MPI_Win make(int **memory)
{
	MPI_Win win;

	OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, memory, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	**memory = 0;
	OK(MPI_Barrier(MPI_COMM_WORLD));
	return win;
}

/* A fence here, a receive there. */
static void fence_and_receive(void)
{
	int *memory, in = 0, rc;
	MPI_Win win = make(&memory);

	if (mtest.rank)
		rc = MPI_Win_fence(0, win);
	else
		rc = MPI_Recv(&in, 1, MPI_INT, 1, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
	CHECK(rc != MPI_SUCCESS, "a fence and a receive wait for each other");
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (!mtest.rank)
		OK(MPI_Win_fence(0, win));
	OK(MPI_Win_free(&win));
}

/* Both start, and neither has posted. */
static void starts(void)
{
	MPI_Group world, group;
	int *memory, value = mtest.rank + 1;
	MPI_Win win = make(&memory);

	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_incl(world, 1, &other, &group));
	CHECK(MPI_Win_start(group, 0, win) != MPI_SUCCESS,
		"two starts wait for each other");
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_post(group, 0, win));
	OK(MPI_Win_start(group, 0, win));
	OK(MPI_Put(&value, 1, MPI_INT, other, 0, 1, MPI_INT, win));
	OK(MPI_Win_complete(win));
	OK(MPI_Win_wait(win));
	CHECK(*memory == other + 1, "after that it goes as ever: %d", *memory);
	OK(MPI_Group_free(&group));
	OK(MPI_Group_free(&world));
	OK(MPI_Win_free(&win));
}

/* Each has its own, and wants the other's. */
static void locks(void)
{
	int *memory, *its, unit;
	MPI_Win win = make(&memory);
	MPI_Aint size;

	OK(MPI_Win_shared_query(win, other, &size, &unit, &its));
	if (!its) {
		OK(MPI_Win_free(&win));
		return;
	}
	OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mtest.rank, 0, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	CHECK(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win) != MPI_SUCCESS,
		"two locks wait for each other");
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_unlock(mtest.rank, win));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win));
	OK(MPI_Win_unlock(other, win));
	OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	other = !mtest.rank;
	starts();
	fence_and_receive();
	locks();
	return mtest_finish();
}
