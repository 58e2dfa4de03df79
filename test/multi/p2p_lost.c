/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_lost: a process fails during a long message to or from it; the process at
 * the other end gets an error
 *
 * Arguments: who=0 the receiver dies, who=1 the sender dies; len= bytes
 */
#include "session.h"

enum { TAG = 5, TESTS = 3 };

/* Kills this process. The message has started, and may be complete. */
static void die(MPI_Request *request)
{
	int flag;

	for (int i = 0; i < TESTS; i++)
		OK(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
	raise(SIGKILL);
}

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Request request;
	MPI_Comm comm;
	int victim, len, rc;
	char *buf;

	mtest_start(argv[0]);
	victim = (int)mtest_arg(argc, argv, "who", 0);
	len = (int)mtest_arg(argc, argv, "len", 1000000);
	buf = calloc((size_t)len, 1);
	session = session_open();
	session_set_rank(session);
	comm = session_comm(session, "mpi://WORLD", "lost");
	OK(MPI_Barrier(comm));
	if (mtest.rank == 0)
		OK(MPI_Irecv(buf, len, MPI_BYTE, 1, TAG, comm, &request));
	else
		OK(MPI_Isend(buf, len, MPI_BYTE, 0, TAG, comm, &request));
	if (mtest.rank == victim)
		die(&request);
	rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(rc == MPI_SUCCESS || mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"the pending send or receive succeeds or fails, %s",
		mtest_error(rc));
	if (mtest.rank == 0) /* no message was sent with this tag */
		CHECK(mtest_class(MPI_Recv(buf, 1, MPI_BYTE, 1, TAG + 1, comm,
			      MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED,
			"a later receive fails");
	rc = MPI_Session_finalize(&session);
	CHECK(rc == MPI_SUCCESS, "finalize succeeds, %s", mtest_error(rc));
	free(buf);
	return mtest_done();
}
