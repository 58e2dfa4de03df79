/* SPDX-License-Identifier: BSD-3-Clause */
/* win_rings: processes that wait for each other through windows get errors
 *
 * Run with WEFT_DEADLOCK=error. All processes of a cycle get an error, and the
 * window works afterwards. */
#include "mtest.h"

enum { LONG = 5000 };

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

/* One process waits in a fence, the other one in a receive. */
static void fence_and_receive(void)
{
	int *memory, in = 0, rc;
	MPI_Win win = make(&memory);

	if (mtest.rank)
		rc = MPI_Win_fence(0, win);
	else
		rc = MPI_Recv(&in, 1, MPI_INT, 1, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
	CHECK(rc != MPI_SUCCESS,
		"a fence and a receive that wait for each other fail");
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (!mtest.rank)
		OK(MPI_Win_fence(0, win));
	OK(MPI_Win_free(&win));
}

/* Both processes call MPI_Win_start, but neither has called MPI_Win_post. */
static void starts(void)
{
	MPI_Group world, group;
	int *memory, value = mtest.rank + 1;
	MPI_Win win = make(&memory);

	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_incl(world, 1, &other, &group));
	CHECK(MPI_Win_start(group, 0, win) != MPI_SUCCESS,
		"two starts that wait for each other fail");
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_post(group, 0, win));
	OK(MPI_Win_start(group, 0, win));
	OK(MPI_Put(&value, 1, MPI_INT, other, 0, 1, MPI_INT, win));
	OK(MPI_Win_complete(win));
	OK(MPI_Win_wait(win));
	CHECK(*memory == other + 1, "the window works after the error: %d",
		*memory);
	OK(MPI_Group_free(&group));
	OK(MPI_Group_free(&world));
	OK(MPI_Win_free(&win));
}

/* If the lock cannot be granted, the lock, the put or the flush returns the
 * error. */
static int lock_and_put(int rank, int *value, MPI_Win win)
{
	int rc = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win), put_rc;

	if (rc)
		return rc;
	put_rc = MPI_Put(value, 1, MPI_INT, rank, 0, 1, MPI_INT, win);
	rc = MPI_Win_flush(rank, win);
	return put_rc ? put_rc : rc;
}

/* Unlocks after an error. The lock may have been granted or not. */
static void unlock(int rank, MPI_Win win)
{
	int rc = MPI_Win_unlock(rank, win);

	CHECK(rc == MPI_SUCCESS || mtest_class(rc) == MPI_ERR_RMA_SYNC,
		"an unlock after the error succeeds or finds no lock: %d", rc);
}

/* Each process holds its own lock and requests the other's. */
static void locks(void)
{
	int *memory, value = 7;
	MPI_Win win = make(&memory);

	OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mtest.rank, 0, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	CHECK(lock_and_put(other, &value, win) != MPI_SUCCESS,
		"two locks that wait for each other fail");
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_unlock(mtest.rank, win));
	unlock(other, win);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(lock_and_put(other, &value, win));
	OK(MPI_Win_unlock(other, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	CHECK(*memory == 7, "the window works after the error: %d", *memory);
	OK(MPI_Win_free(&win));
}

/* Rank 1 holds the lock of rank 0 and waits for a message of rank 2, which
 * requests the lock. Rank 0 waits for rank 1, and no process waits for rank
 * 0. */
static void lock_of_a_third(void)
{
	int *memory, value = mtest.rank, in = 0;
	MPI_Win win = make(&memory);

	if (mtest.rank == 1)
		OK(lock_and_put(0, &value, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 1) {
		CHECK(MPI_Recv(&in, 1, MPI_INT, 2, 0, MPI_COMM_WORLD,
			      MPI_STATUS_IGNORE) != MPI_SUCCESS,
			"a receive fails if its sender waits for a lock of the "
			"receiver");
		OK(MPI_Win_unlock(0, win));
		OK(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
	} else if (mtest.rank == 2) {
		CHECK(lock_and_put(0, &value, win) != MPI_SUCCESS,
			"a lock fails if its holder waits for the process that "
			"requests it");
		unlock(0, win);
	} else {
		OK(MPI_Recv(&in, 1, MPI_INT, 1, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(lock_and_put(0, &value, win));
	OK(MPI_Win_unlock(0, win));
	OK(MPI_Win_free(&win));
}

/* Rank 0 frees the window while rank 1 holds its lock and rank 2 waits for the
 * lock. The accesses of both are carried out. */
static void freed_early(void)
{
	static int memory[LONG], from[LONG], back[LONG];
	MPI_Win win;

	for (int i = 0; i < LONG; i++)
		from[i] = i + 1;
	OK(MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	if (mtest.rank == 1)
		OK(lock_and_put(0, from, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 1)
		mtest_linger(2500);
	if (mtest.rank == 2) {
		OK(lock_and_put(0, from, win));
		OK(MPI_Put(from, LONG, MPI_INT, 0, 0, LONG, MPI_INT, win));
		OK(MPI_Win_flush(0, win));
		OK(MPI_Get(back, LONG, MPI_INT, 0, 0, LONG, MPI_INT, win));
	}
	if (mtest.rank)
		OK(MPI_Win_unlock(0, win));
	OK(MPI_Win_free(&win));
	CHECK(mtest.rank != 2 || !memcmp(back, from, sizeof(from)),
		"a get returns the data that was put");
	CHECK(mtest.rank || !memcmp(memory, from, sizeof(from)),
		"puts arrive while rank 0 frees the window");
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	other = !mtest.rank;
	if (mtest.size == 2) {
		starts();
		fence_and_receive();
		locks();
	} else {
		lock_of_a_third();
		freed_early();
	}
	return mtest_finish();
}
