/* SPDX-License-Identifier: BSD-3-Clause */
/* win_left: windows that are not freed when their session or the World Model
 * ends
 *
 * Arguments: late=1 makes one process finalize late. */
#include "mtest.h"

static int right;

/* Creates a window and completes a put to the right neighbour. */
static MPI_Win use(MPI_Comm comm, int *memory)
{
	int rank, size;
	MPI_Win win;

	OK(MPI_Comm_rank(comm, &rank));
	OK(MPI_Comm_size(comm, &size));
	right = (rank + 1) % size;
	OK(MPI_Win_create(memory, sizeof(int), 1, MPI_INFO_NULL, comm, &win));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
	OK(MPI_Put(&right, 1, MPI_INT, right, 0, 1, MPI_INT, win));
	OK(MPI_Win_unlock(right, win));
	return win;
}

static void in_session(void)
{
	static int memory[2];
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	MPI_Win win;

	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
	OK(MPI_Comm_create_from_group(
		group, "left", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
	win = use(comm, &memory[0]);
	use(comm, &memory[1]);
	OK(MPI_Comm_free(&comm));
	OK(MPI_Group_free(&group));
	OK(MPI_Session_finalize(&session));
	CHECK(memory[0] == mtest.rank && memory[1] == mtest.rank,
		"both puts have arrived: %d, %d", memory[0], memory[1]);
	FAILS(MPI_Win_sync(win), MPI_ERR_WIN);
}

int main(int argc, char **argv)
{
	static int memory[2];

	mtest_init(&argc, &argv);
	in_session();
	in_session();
	use(MPI_COMM_WORLD, &memory[0]);
	use(MPI_COMM_WORLD, &memory[1]);
	if (mtest_arg(argc, argv, "late", 0) && mtest.rank == 0)
		mtest_linger(100);
	OK(MPI_Finalize());
	CHECK(memory[0] == mtest.rank && memory[1] == mtest.rank,
		"both puts have arrived: %d, %d", memory[0], memory[1]);
	return mtest_done();
}
