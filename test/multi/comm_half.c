/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comm_half: one process has a communicator that another process never gets
 *
 * Rank 0 has the communicator immediately, because rank 0 distributes its id.
 * how=0  Only rank 0 calls the creation. Then rank 1 dies. Rank 2 waits until
 *        it has detected the death. A broadcast of len= bytes by rank 0 on the
 *        communicator, or the barrier after it, ends with an error
 * how=1  Rank 1 exits normally instead. A wait of rank 0 on the communicator
 *        ends
 * how=2  As how=1, with a finalize of rank 0 in place of the wait
 */
#include "session.h"

enum { TAG = 3 };

static MPI_Comm all;

static void wait_for(int rank)
{
	int rc = MPI_Recv(NULL, 0, MPI_INT, rank, TAG, all, MPI_STATUS_IGNORE);

	CHECK(rc == MPI_SUCCESS || mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"the receive succeeds or reports a failed process, %s",
		mtest_error(rc));
}

static void use(MPI_Session session, int len)
{
	MPI_Comm half = session_comm(session, "mpi://WORLD", "half");
	char *buf = mtest_alloc((size_t)len);
	int rc;

	OK(MPI_Send(NULL, 0, MPI_INT, 1, TAG, all));
	rc = MPI_Bcast(buf, len, MPI_BYTE, 0, half);
	if (!rc) /* the root may have sent all data without a wait */
		rc = MPI_Barrier(half);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"a broadcast without its other members ends with an error, %s",
		mtest_error(rc));
	OK(MPI_Send(NULL, 0, MPI_INT, 2, TAG, all));
	OK(MPI_Comm_free(&half));
	free(buf);
}

static void with_a_death(MPI_Session session, int len)
{
	/* rank 0 waits until rank 2 has left the barrier, because the death of
	 * rank 1 might disturb the barrier */
	if (mtest.rank == 2)
		OK(MPI_Send(NULL, 0, MPI_INT, 0, TAG, all));
	if (mtest.rank == 0)
		OK(MPI_Recv(NULL, 0, MPI_INT, 2, TAG, all, MPI_STATUS_IGNORE));
	if (mtest.rank == 0)
		use(session, len);
	else
		wait_for(mtest.rank == 1 ? 0 : 1);
	if (mtest.rank == 1)
		raise(SIGKILL);
	if (mtest.rank == 2)
		wait_for(0);
}

static void alone(MPI_Session session, int how)
{
	MPI_Comm half;
	int x, rc;

	if (mtest.rank)
		return;
	half = session_comm(session, "mpi://WORLD", "half");
	OK(MPI_Comm_disconnect(&all));
	if (how == 2)
		return;
	rc = MPI_Recv(&x, 1, MPI_INT, 1, TAG, half, MPI_STATUS_IGNORE);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"a receive from a member that exited fails, %s",
		mtest_error(rc));
	rc = MPI_Barrier(half);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"a collective with a member that exited fails, %s",
		mtest_error(rc));
}

int main(int argc, char **argv)
{
	MPI_Session session;
	int len, how, rc;

	mtest_start(argv[0]);
	how = (int)mtest_arg(argc, argv, "how", 0);
	len = (int)mtest_arg(argc, argv, "len", 2000000);
	session = session_open();
	session_set_rank(session);
	all = session_comm(session, "mpi://WORLD", "all");
	OK(MPI_Barrier(all));
	if (how)
		alone(session, how);
	else
		with_a_death(session, len);
	if (all != MPI_COMM_NULL)
		OK(MPI_Comm_free(&all));
	rc = MPI_Session_finalize(&session);
	CHECK(rc == MPI_SUCCESS, "finalize succeeds, %s", mtest_error(rc));
	return mtest_done();
}
