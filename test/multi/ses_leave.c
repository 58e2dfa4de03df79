/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_leave: after disconnect and finalize the sender may vanish (S99, S112)
 *
 * Rank 0 sends len= bytes with a freed request, disconnects, finalizes and
 * calls _exit; rank 1 receives later and must get everything.
 */
#include "session.h"

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Request req;
	MPI_Comm comm;
	char *buf;
	int len;

	mtest_start(argv[0]);
	len = mtest_arg(argc, argv, "len", 4000000);
	buf = calloc(1, len + 1);
	session = session_open();
	session_who(session);
	comm = session_comm(session, "mpi://WORLD", "leave");
	if (mtest.rank == 0) {
		mtest_fill(buf, len, 5);
		OK(MPI_Isend(buf, len, MPI_BYTE, 1, 1, comm, &req));
		OK(MPI_Request_free(&req));
	} else if (mtest.rank == 1) {
		mtest_linger(500);
		OK(MPI_Recv(buf, len, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE));
		CHECK(mtest_same(buf, len, 5), "S99: all %d B arrive", len);
	}
	OK(MPI_Comm_disconnect(&comm));
	session_close(&session);
	if (mtest.rank == 0) {
		memset(buf, 0, len);
		CHECK(true, "rank 0 is done");
		fflush(NULL);
		_exit(mtest_done());
	}
	free(buf);
	return mtest_done();
}
