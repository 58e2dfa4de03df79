/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpix_broken: a process set loses a member
 *
 * The last process exits without finalizing. From then on, the use of its set
 * of the command line (set=) fails with MPIX_ERR_PROC_FAILED. Sets without the
 * process work, and so do the predefined ones.
 */
#include "session.h"

#include <mpix.h>

static void define_all(MPI_Session session)
{
	MPI_Group world = session_group(session, "mpi://WORLD"), part;
	int last = mtest.size - 1;

	OK(MPIX_Session_create_pset(session, "all", world));
	OK(MPI_Group_excl(world, 1, &last, &part));
	OK(MPIX_Session_create_pset(session, "part", part));
	OK(MPI_Group_free(&part));
	OK(MPI_Group_free(&world));
}

static void wait_broken(MPI_Session session, const char *set)
{
	int rc = MPI_SUCCESS;

	while (rc == MPI_SUCCESS) {
		MPI_Count n;
		MPI_Group group = MPI_GROUP_NULL;

		OK(MPIX_Session_get_pset_changes(session, &n)); /* progress */
		rc = MPI_Group_from_session_pset(session, set, &group);
		if (rc == MPI_SUCCESS)
			OK(MPI_Group_free(&group));
		mtest_linger(1);
	}
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"'%s': the call reports a failed process, got %s", set,
		mtest_error(rc));
}

static void broken(MPI_Session session, const char *set)
{
	MPI_Group group = MPI_GROUP_EMPTY;
	MPI_Info info;

	FAILS(MPI_Group_from_session_pset(session, set, &group),
		MPIX_ERR_PROC_FAILED);
	CHECK(group == MPI_GROUP_NULL, "'%s': no group is created", set);
	FAILS(MPI_Session_get_pset_info(session, set, &info),
		MPIX_ERR_PROC_FAILED);
	FAILS(MPIX_Session_pset_union(session, set, "part", "new"),
		MPIX_ERR_PROC_FAILED);
}

int main(int argc, char **argv)
{
	const char *set = "all";
	MPI_Session session, other;
	MPI_Comm comm, last_words;
	MPI_Group group;
	int n[2] = { 0 };

	mtest_start(argv[0]);
	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "set=", 4))
			set = argv[i] + 4;
	session = session_open();
	session_set_rank(session);
	other = session_open();
	last_words = session_comm(other, "mpi://WORLD", "last words");
	define_all(session);
	comm = session_comm(session, set, "whole");
	session_works(comm, "whole");
	OK(MPI_Comm_disconnect(&comm));
	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n[0]));
	session_let_go(last_words);
	if (mtest.rank == mtest.size - 1)
		_exit(5);
	wait_broken(session, set);
	broken(session, set);
	broken(session, "all");
	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n[1]));
	CHECK(n[0] <= n[1], "the number of sets does not decrease: %d, then %d",
		n[0], n[1]);
	group = session_group(session, "mpi://WORLD");
	OK(MPI_Group_free(&group));
	comm = session_comm(session, "part", "what is left");
	session_works(comm, "what is left");
	OK(MPI_Comm_disconnect(&comm));
	session_close(&session);
	MPI_Comm_free(&last_words);
	MPI_Session_finalize(&other); /* the error names the failed process */
	return mtest_done();
}
