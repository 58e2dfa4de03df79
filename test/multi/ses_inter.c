/* SPDX-License-Identifier: BSD-3-Clause */
/* ses_inter: creates an intercommunicator from two groups of a session that has
 * no communicator */
#include "session.h"

static void hint_is(MPI_Comm comm, const char *key, const char *want)
{
	char value[64] = "";
	int len = sizeof(value), flag = 0;
	MPI_Info info;

	OK(MPI_Comm_get_info(comm, &info));
	OK(MPI_Info_get_string(info, key, &len, value, &flag));
	CHECK(!flag || !strcmp(value, want), "%s is \"%s\" or absent: \"%s\"",
		key, want, value);
	OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
	int cut, side, size = 0, is_inter = 0, got = -1, rank = -1, rc;
	MPI_Group world, low, high;
	MPI_Session session;
	MPI_Comm inter, merged;
	MPI_Info info;

	(void)argc;
	mtest_start(argv[0]);
	session = session_open();
	session_set_rank(session);
	mtest_need(2);
	cut = (mtest.size + 1) / 2;
	side = mtest.rank >= cut;
	world = session_group(session, "mpi://WORLD");
	OK(MPI_Group_range_incl(
		world, 1, (int[1][3]){ { 0, cut - 1, 1 } }, &low));
	OK(MPI_Group_range_incl(
		world, 1, (int[1][3]){ { cut, mtest.size - 1, 1 } }, &high));
	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "mpi_assert_exact_length", "true"));
	OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "perhaps"));
	rc = MPI_Intercomm_create_from_groups(side ? high : low, 0,
		side ? low : high, 0, "two sides", info, MPI_ERRORS_RETURN,
		&inter);
	mtest_offered(rc, "MPI_Intercomm_create_from_groups");
	OK(rc);
	OK(MPI_Info_free(&info));
	hint_is(inter, "mpi_assert_exact_length", "true");
	hint_is(inter, "mpi_assert_no_any_tag", "false");
	OK(MPI_Comm_test_inter(inter, &is_inter));
	CHECK(is_inter, "the communicator is an intercommunicator");
	OK(MPI_Comm_remote_size(inter, &size));
	CHECK(size == (side ? cut : mtest.size - cut),
		"the size of the remote group is right, got %d", size);
	OK(MPI_Comm_rank(inter, &rank));
	if (rank == 0)
		OK(MPI_Sendrecv(&mtest.rank, 1, MPI_INT, 0, 1, &got, 1, MPI_INT,
			0, 1, inter, MPI_STATUS_IGNORE));
	CHECK(rank || got == (side ? 0 : cut),
		"the leaders exchange messages, %d", got);
	OK(MPI_Intercomm_merge(inter, side, &merged));
	session_works(merged, "merged");
	OK(MPI_Comm_disconnect(&merged));
	rc = MPI_Comm_disconnect(&inter);
	CHECK(rc == MPI_SUCCESS && inter == MPI_COMM_NULL,
		"S102: both sides disconnect an intercommunicator");
	OK(MPI_Group_free(&low));
	OK(MPI_Group_free(&high));
	OK(MPI_Group_free(&world));
	session_close(&session);
	return mtest_done();
}
