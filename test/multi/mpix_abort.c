/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpix_abort: an abort that ends a part of the job (info key weft_abort)
 *
 * Four processes. Ranks 0 and 1 end, by an abort in a session that limits the
 * abort to them. For ranks 2 and 3 this is a failure of two processes, and they
 * continue. If the abort ends them, too, they print that. If rank 1 does not
 * end, the deadline fails the run.
 */
#include "session.h"

static void on_term(int signal_number)
{
	static const char text[] =
		"# FAILED mpix_abort: the abort ended a process outside\n";

	(void)signal_number;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(3);
	_exit(2);
}

static MPI_Session open_with(const char *scope, MPI_Errhandler errh)
{
	char value[32] = "";
	int len = sizeof(value), flag = 0;
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info, used;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "weft_abort", scope));
	OK(MPI_Session_init(info, errh, &session));
	OK(MPI_Info_free(&info));
	OK(MPI_Session_get_info(session, &used));
	OK(MPI_Info_get_string(used, "weft_abort", &len, value, &flag));
	CHECK(flag && !strcmp(value, scope),
		"the scope of the session is '%s', got '%s'", scope, value);
	OK(MPI_Info_free(&used));
	return session;
}

/* Creates the communicator of the half of the job to which this process
 * belongs. */
static MPI_Comm half_comm(MPI_Session session)
{
	int low = mtest.rank < 2 ? 0 : 2;
	int range[1][3] = { { low, low + 1, 1 } };
	MPI_Group world = session_group(session, "mpi://WORLD"), half;

	OK(MPI_Group_range_incl(world, 1, range, &half));
	OK(MPI_Group_free(&world));
	return session_comm_take(half, low ? "right" : "left");
}

/* no process needs ranks 0 and 1 after rank 0 has passed this point */
static void all_there(MPI_Comm all)
{
	int x = 0;

	session_works(all, "all");
	if (mtest.rank)
		OK(MPI_Send(&x, 1, MPI_INT, 0, 3, all));
	for (int r = 1; mtest.rank == 0 && r < mtest.size; r++)
		OK(MPI_Recv(&x, 1, MPI_INT, r, 3, all, MPI_STATUS_IGNORE));
}

/* The end of the other half is reported as a failure. All other objects remain
 * usable. */
static void go_on(MPI_Comm all, MPI_Comm half)
{
	int x = 0;

	for (int r = 0; r < 2; r++)
		FAILS(MPI_Recv(&x, 1, MPI_INT, r, 7, all, MPI_STATUS_IGNORE),
			MPI_ERR_PROC_ABORTED);
	session_works(half, "the other half");
}

/* MPI_Abort ends the members of its communicator */
static void by_group(void)
{
	MPI_Session session = open_with("group", MPI_ERRORS_RETURN);
	MPI_Comm all = session_comm(session, "mpi://WORLD", "all");
	MPI_Comm half = half_comm(session);
	int x;

	all_there(all);
	if (mtest.rank == 0)
		MPI_Abort(half, 9);
	if (mtest.rank == 1) /* never arrives */
		MPI_Recv(&x, 1, MPI_INT, 0, 7, half, MPI_STATUS_IGNORE);
	go_on(all, half);
	OK(MPI_Comm_disconnect(&half));
	MPI_Comm_free(&all);
	MPI_Session_finalize(&session);
}

/* an error without a handler ends the processes with which the session has
 * communicators */
static void by_session(void)
{
	MPI_Session mine = open_with("session", MPI_ERRORS_ARE_FATAL);
	MPI_Session other = session_open();
	MPI_Comm all = session_comm(other, "mpi://WORLD", "all");
	MPI_Comm half = half_comm(mine);
	MPI_Group group;
	int x;

	all_there(all);
	if (mtest.rank == 0)
		MPI_Group_from_session_pset(mine, "nothing://", &group);
	if (mtest.rank == 1)
		MPI_Recv(&x, 1, MPI_INT, 0, 7, half, MPI_STATUS_IGNORE);
	go_on(all, half);
	OK(MPI_Comm_disconnect(&half));
	session_close(&mine);
	MPI_Comm_free(&all);
	MPI_Session_finalize(&other);
}

static void refused(void)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "weft_abort", "neighbours"));
	FAILS(MPI_Session_init(info, MPI_ERRORS_RETURN, &session),
		MPI_ERR_INFO_VALUE);
	OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
	MPI_Session session;

	mtest_start(argv[0]);
	session = session_open();
	session_set_rank(session);
	refused();
	if (mtest.rank >= 2)
		signal(SIGTERM, on_term);
	if (mtest_arg(argc, argv, "by", 0))
		by_session();
	else
		by_group();
	session_close(&session);
	return mtest_done();
}
