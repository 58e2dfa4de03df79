/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_aborted: processes wait for processes of an abort that they have never
 * contacted
 *
 * Six or more processes. Ranks 0 and 1 end by MPI_Abort of a communicator of
 * both. The other ranks wait for messages from both in either order, and each
 * of these waits ends with MPI_ERR_PROC_ABORTED. The fabric must not report the
 * ends first, as failures without a reason.
 */
#include "session.h"

enum { N = 6, N_ABORTED = 2, TAG = 3, CODE = 9 };

/* Returns when all processes of higher ranks have called this function. Each
 * process contacts its neighbours only. */
static void meet(MPI_Comm comm)
{
	if (mtest.rank < mtest.size - 1)
		OK(MPI_Recv(NULL, 0, MPI_INT, mtest.rank + 1, TAG, comm,
			MPI_STATUS_IGNORE));
	if (mtest.rank > 0)
		OK(MPI_Send(NULL, 0, MPI_INT, mtest.rank - 1, TAG, comm));
}

static MPI_Session open_group(void)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "weft_abort", "group"));
	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	return session;
}

static void abort_half(void)
{
	MPI_Session session = open_group();
	MPI_Group world = session_group(session, "mpi://WORLD"), group;
	int ranks[N_ABORTED] = { 0, 1 };
	MPI_Comm half;

	OK(MPI_Group_incl(world, N_ABORTED, ranks, &group));
	OK(MPI_Group_free(&world));
	half = session_comm_take(group, "half");
	meet(MPI_COMM_WORLD);
	if (mtest.rank == 0)
		MPI_Abort(half, CODE);
	MPI_Recv(NULL, 0, MPI_INT, 0, TAG, half, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(N);
	if (mtest.rank < N_ABORTED)
		abort_half();
	meet(MPI_COMM_WORLD);
	for (int i = 0; i < N_ABORTED; i++)
		FAILS(MPI_Recv(NULL, 0, MPI_INT, (mtest.rank + i) % N_ABORTED,
			      TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
			MPI_ERR_PROC_ABORTED);
	return mtest_finish();
}
