/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_died: the other processes distinguish a process that crashes from one
 * that exits without finalizing, and wait for neither
 *
 * how=0  killed
 * how=1  exit code 0
 * how=2  another exit code
 * how=3  abort(): a crash, although libraries below libfabric turn it into an
 *        exit
 */
#include "session.h"

#include "output.h"

int main(int argc, char **argv)
{
	static const char *const words[] = { "crashed: it was killed",
		"exited with code 0 without finalizing",
		"exited with code 3 without finalizing" };
	MPI_Session session;
	MPI_Comm comm;
	int how, kind, rc, flag;

	mtest_start(argv[0]);
	how = (int)mtest_arg(argc, argv, "how", 0);
	kind = how % 3;
	session = session_open();
	session_set_rank(session);
	comm = session_comm(session, "mpi://WORLD", "died");
	output_capture(); /* the process may have died before the next line is
			  complete */
	session_works(comm, "S93: all are there");
	session_let_go(comm);
	if (mtest.rank == mtest.size - 1 && how == 0)
		raise(SIGKILL);
	if (mtest.rank == mtest.size - 1 && how == 3)
		abort();
	if (mtest.rank == mtest.size - 1)
		_exit(how == 1 ? 0 : 3);
	while (!output_count("CORE-DIED")) {
		rc = MPI_Iprobe(
			MPI_ANY_SOURCE, 1, comm, &flag, MPI_STATUS_IGNORE);
		CHECK(rc == MPI_SUCCESS ||
				mtest_class(rc) == MPIX_ERR_PROC_FAILED,
			"S93: a receive from the failed process ends, %s",
			mtest_error(rc));
		output_read();
		mtest_linger(1);
	}
	rc = MPI_Session_finalize(&session);
	output_restore();
	CHECK(rc == MPI_SUCCESS,
		"S93: finalize succeeds without the failed process, %s",
		mtest_error(rc));
	CHECK(output_count("CORE-DIED") == 1 && output_count(words[kind]) == 1,
		"S94: the kind of the end is reported once");
	for (int i = 0; i < 3; i++)
		CHECK(output_count(words[i]) == (i == kind),
			"S94: only the kind of the end is reported, kind %d",
			i);
	return mtest_done();
}
