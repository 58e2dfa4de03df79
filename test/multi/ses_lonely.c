/* SPDX-License-Identifier: BSD-3-Clause */
/* ses_lonely: only rank 0 uses MPI, on mpi://SELF; nobody else calls it */
#include "session.h"

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Comm comm;

	(void)argc;
	mtest_start(argv[0]);
	if (mtest.rank)
		return 0;
	session = session_open();
	comm = session_comm(session, "mpi://SELF", "alone");
	session_works(comm, "alone");
	OK(MPI_Comm_disconnect(&comm));
	session_close(&session);
	return mtest_done();
}
