/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_leaders: an argument that is wrong only at a leader or root is an error
 * of all members of its side, and no process waits; empty groups need no other
 * process */
#include "session.h"

static MPI_Comm half; /* the communicator of the low or of the high ranks */
static int is_high, cut, is_leader;

/* If either group is empty, the call is local and returns MPI_COMM_NULL. */
static void empty_groups(void)
{
	MPI_Group world, none, groups[3][2];
	MPI_Comm comm;

	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_excl(
		world, mtest.size, (int[]){ 0, 1, 2, 3, 4, 5, 6, 7 }, &none));
	memcpy(groups,
		(MPI_Group[3][2]){
			{ world, none }, { none, world }, { none, none } },
		sizeof(groups));
	/* one process after the other, so that no other process is in the call
	 */
	for (int turn = 0; turn < mtest.size; turn++) {
		for (int i = 0; mtest.rank == turn && i < 3; i++) {
			comm = MPI_COMM_WORLD;
			OK(MPI_Intercomm_create_from_groups(groups[i][0], 0,
				groups[i][1], 0, "empty", MPI_INFO_NULL,
				MPI_ERRORS_RETURN, &comm));
			CHECK(comm == MPI_COMM_NULL,
				"case %d creates no communicator", i);
		}
		OK(MPI_Barrier(MPI_COMM_WORLD));
	}
	OK(MPI_Group_free(&world));
}

/* Only the leader passes a wrong rank, tag, communicator or group. */
static void wrong_at_leader(void)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	MPI_Group mine;

	FAILS(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD,
		      is_leader ? mtest.size : 0, 1, &comm),
		MPI_ERR_RANK);
	CHECK(comm == MPI_COMM_NULL, "no communicator is created");
	FAILS(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_high ? 0 : cut,
		      is_leader ? -7 : 1, &comm),
		MPI_ERR_TAG);
	FAILS(MPI_Intercomm_create(half, 0,
		      is_leader ? MPI_COMM_NULL : MPI_COMM_WORLD,
		      is_high ? 0 : cut, 1, &comm),
		MPI_ERR_COMM);
	OK(MPI_Comm_group(half, &mine));
	FAILS(MPI_Intercomm_create_from_groups(mine, 0,
		      is_leader ? MPI_GROUP_NULL : mine, 0, "null",
		      MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
		MPI_ERR_GROUP);
	FAILS(MPI_Intercomm_create_from_groups(mine, 0, mine,
		      is_leader ? mtest.size : 0, "rank", MPI_INFO_NULL,
		      MPI_ERRORS_RETURN, &comm),
		MPI_ERR_RANK);
	OK(MPI_Group_free(&mine));
}

/* The leader of the high ranks passes two arguments of different sessions. Its
 * remote leader is valid, so both sides return an error. */
static void error_reaches_both_sides(void)
{
	MPI_Session session = session_open();
	MPI_Group world, part;
	MPI_Comm mine, comm = MPI_COMM_WORLD;
	int range[3] = { is_high ? cut : 0, is_high ? mtest.size - 1 : cut - 1,
		1 };
	int rc, class;

	world = session_group(session, "mpi://WORLD");
	OK(MPI_Group_range_incl(world, 1, &range, &part));
	OK(MPI_Group_free(&world));
	mine = session_comm_take(part, is_high ? "high" : "low");
	rc = MPI_Intercomm_create(is_high ? mine : half, 0, MPI_COMM_WORLD,
		is_high ? 0 : cut, 2, &comm);
	class = mtest_class(rc);
	CHECK(class == (is_high ? MPI_ERR_COMM : MPI_ERR_OTHER),
		"both groups get an error, %s", mtest_error(rc));
	CHECK(comm == MPI_COMM_NULL, "no communicator is created");
	OK(MPI_Comm_disconnect(&mine));
	session_close(&session);
}

/* Only the root's arguments are used. If they are wrong, all members return an
 * error. */
static void wrong_at_root(void)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	int root = mtest.size - 1, is_root = mtest.rank == root, rc;

	FAILS(MPI_Comm_accept(is_root ? "no port" : NULL, MPI_INFO_NULL, root,
		      MPI_COMM_WORLD, &comm),
		MPI_ERR_PORT);
	CHECK(comm == MPI_COMM_NULL, "no communicator is created");
	FAILS(MPI_Comm_connect(is_root ? "no port" : NULL, MPI_INFO_NULL, root,
		      MPI_COMM_WORLD, &comm),
		MPI_ERR_PORT);
	rc = MPI_Comm_spawn(is_root ? "/no/such/program" : NULL, MPI_ARGV_NULL,
		is_root ? 1 : -1, MPI_INFO_NULL, root, MPI_COMM_WORLD, &comm,
		MPI_ERRCODES_IGNORE);
	FAILS(rc, MPI_ERR_SPAWN);
	FAILS(MPI_Comm_spawn("true", MPI_ARGV_NULL, is_root ? -1 : 1,
		      MPI_INFO_NULL, root, MPI_COMM_WORLD, &comm,
		      MPI_ERRCODES_IGNORE),
		MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(2);
	cut = mtest.size / 2;
	is_high = mtest.rank >= cut;
	is_leader = mtest.rank == 0 || mtest.rank == cut;
	OK(MPI_Comm_split(MPI_COMM_WORLD, is_high, 0, &half));
	MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
	empty_groups();
	wrong_at_leader();
	error_reaches_both_sides();
	wrong_at_root();
	OK(MPI_Comm_free(&half));
	return mtest_finish();
}
