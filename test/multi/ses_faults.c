/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_faults: programs that end a session too early; nobody hangs or crashes
 *
 * fault=0 a receive nobody matches    fault=1 a matched message not received
 * fault=2 a message nobody receives    fault=3 an active persistent receive
 * fault=4 the process leaves with the session open
 */
#include "session.h"

int main(int argc, char **argv)
{
	int fault, in = -1, word = 5, rc;
	MPI_Session session;
	MPI_Request req;
	MPI_Message msg;
	MPI_Comm comm;

	mtest_start(argv[0]);
	fault = mtest_arg(argc, argv, "fault", 0);
	session = session_open();
	session_who(session);
	comm = session_comm(session, "mpi://WORLD", "fault");
	if (mtest.rank == 0 && fault == 0)
		OK(MPI_Irecv(&in, 1, MPI_INT, 1, 1, comm, &req));
	if (mtest.rank == 0 && fault == 3) {
		OK(MPI_Recv_init(&in, 1, MPI_INT, 1, 1, comm, &req));
		OK(MPI_Start(&req));
	}
	if (mtest.rank == 1 && (fault == 1 || fault == 2))
		OK(MPI_Send(&word, 1, MPI_INT, 0, 1, comm));
	if (mtest.rank == 0 && fault == 1)
		OK(MPI_Mprobe(1, 1, comm, &msg, MPI_STATUS_IGNORE));
	if (fault == 4)
		return mtest_done();
	rc = MPI_Session_finalize(&session);
	if (fault == 0 || fault == 3)
		CHECK(session == MPI_SESSION_NULL,
			"S33: a pending receive ends nobody's hope, %s",
			mtest_error(rc));
	else if (fault == 1)
		CHECK(session == MPI_SESSION_NULL,
			"S35: a matched message is dropped, %s",
			mtest_error(rc));
	else
		CHECK(session == MPI_SESSION_NULL,
			"S33: an unreceived message is dropped, %s",
			mtest_error(rc));
	fprintf(stderr, "# rank %d: finalize says %s\n", mtest.rank,
		mtest_error(rc));
	return mtest_done();
}
