/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_world: sessions before, around and after the World Model (S44, S137)
 *
 * how=0  the World Model begins and ends within a session
 * how=1  a session opens and closes within the World Model
 * how=2  a session closes while the World Model continues
 * how=3  sessions open after the end of the World Model
 */
#include "session.h"

static void world_works(void)
{
	session_works(MPI_COMM_WORLD, "MPI_COMM_WORLD");
	session_works(MPI_COMM_SELF, "MPI_COMM_SELF");
}

static void session_part(MPI_Session session)
{
	MPI_Comm comm = session_comm(session, "mpi://WORLD", "beside");

	session_works(comm, "session's communicator");
	OK(MPI_Comm_disconnect(&comm));
}

int main(int argc, char **argv)
{
	int how, flag = 1;
	MPI_Session session = MPI_SESSION_NULL;

	mtest_start(argv[0]);
	how = mtest_arg(argc, argv, "how", 0);
	OK(MPI_Initialized(&flag));
	CHECK(!flag, "MPI is not initialized at the start");
	if (how == 0 || how == 2) {
		session = session_open();
		session_part(session);
	}
	OK(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	world_works();
	if (how == 1)
		session = session_open();
	if (how < 3)
		session_part(session);
	if (how == 1 || how == 2) {
		session_close(&session);
		world_works();
	}
	OK(MPI_Finalize());
	OK(MPI_Finalized(&flag));
	CHECK(flag, "S137: finalized, although a session may be open");
	if (how == 0) {
		session_part(session);
		session_close(&session);
	}
	for (int i = 0; i < 3 && how == 3; i++) {
		int rc = MPI_Session_init(
			MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);

		CHECK(rc == MPI_SUCCESS,
			"S137: a session can be opened after MPI_Finalize");
		session_part(session);
		session_close(&session);
	}
	return mtest_done();
}
