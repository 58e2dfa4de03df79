/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_lonely: rank 0 uses MPI on mpi://SELF and then with rank 1; no other
 * process ever calls MPI
 */
#include "session.h"

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Group group, pair;
	MPI_Comm comm;

	(void)argc;
	mtest_start(argv[0]);
	if (mtest.rank > 1)
		return 0;
	session = session_open();
	comm = session_comm(session, "mpi://SELF", "alone");
	session_works(comm, "alone");
	OK(MPI_Comm_disconnect(&comm));
	group = session_group(session, "mpi://WORLD");
	OK(MPI_Group_incl(group, 2, (int[]){ 0, 1 }, &pair));
	OK(MPI_Group_free(&group));
	comm = session_comm_take(pair, "a part of the job");
	CHECK(MPI_Barrier(comm) == MPI_SUCCESS,
		"S17, S52: a barrier completes although the other processes "
		"never call MPI");
	session_works(comm, "a part of the job");
	OK(MPI_Comm_disconnect(&comm));
	session_close(&session);
	return mtest_done();
}
