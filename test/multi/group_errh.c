/* SPDX-License-Identifier: BSD-3-Clause */
/* group_errh: a call that has only groups raises its errors on the error
 * handler of the session of the group, or else on that of MPI_COMM_SELF */
#include "mtest.h"

static int session_calls, self_calls;
static MPI_Session session, last_session;

static void on_session(MPI_Session *of, int *code, ...)
{
	(void)code;
	last_session = *of;
	session_calls++;
}

static void on_self(MPI_Comm *comm, int *code, ...)
{
	(void)code;
	self_calls += *comm == MPI_COMM_SELF;
}

/* Each of these calls is erroneous. Its error is raised on the session of the
 * group. */
static void wrong_calls(MPI_Group group, const char *where, int *calls)
{
	int bad = 999, ranges[1][3] = { { 0, 999, 1 } }, to;
	MPI_Group made;

	*calls = 0;
	FAILS(MPI_Group_incl(group, 1, &bad, &made), MPI_ERR_RANK);
	FAILS(MPI_Group_excl(group, 1, &bad, &made), MPI_ERR_RANK);
	FAILS(MPI_Group_range_incl(group, 1, ranges, &made), MPI_ERR_RANK);
	FAILS(MPI_Group_range_excl(group, 1, ranges, &made), MPI_ERR_RANK);
	FAILS(MPI_Group_size(group, NULL), MPI_ERR_ARG);
	FAILS(MPI_Group_rank(group, NULL), MPI_ERR_ARG);
	FAILS(MPI_Group_translate_ranks(group, 1, &bad, group, &to),
		MPI_ERR_RANK);
	FAILS(MPI_Group_compare(group, MPI_GROUP_NULL, &to), MPI_ERR_GROUP);
	FAILS(MPI_Group_union(group, MPI_GROUP_NULL, &made), MPI_ERR_GROUP);
	CHECK(*calls == 9, "%s: the handler is called for 9 errors, got %d",
		where, *calls);
}

static void of_session(void)
{
	MPI_Errhandler errh;
	MPI_Group group, some, of_comm;
	MPI_Comm comm;
	int first = 0;

	OK(MPI_Session_create_errhandler(on_session, &errh));
	OK(MPI_Session_init(MPI_INFO_NULL, errh, &session));
	OK(MPI_Errhandler_free(&errh));
	OK(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
	wrong_calls(group, "a session's process set", &session_calls);
	CHECK(last_session == session, "the handler gets the session");
	OK(MPI_Group_incl(group, 1, &first, &some));
	wrong_calls(some, "made of it", &session_calls);
	OK(MPI_Comm_create_from_group(
		group, "group_errh", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
	OK(MPI_Comm_group(comm, &of_comm));
	wrong_calls(of_comm, "of a communicator of it", &session_calls);
	OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
	session_calls = 0;
	FAILS(MPI_Group_size(group, NULL), MPI_ERR_ARG);
	CHECK(session_calls == 0, "the session has another handler now");
	OK(MPI_Group_free(&of_comm));
	OK(MPI_Group_free(&some));
	OK(MPI_Group_free(&group));
	OK(MPI_Comm_disconnect(&comm));
}

static void of_world(void)
{
	MPI_Errhandler errh;
	MPI_Group group;

	OK(MPI_Comm_create_errhandler(on_self, &errh));
	OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, errh));
	OK(MPI_Errhandler_free(&errh));
	OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
	wrong_calls(group, "of the World", &self_calls);
	self_calls = 0;
	FAILS(MPI_Group_size(MPI_GROUP_NULL, NULL), MPI_ERR_GROUP);
	FAILS(MPI_Group_size(MPI_GROUP_EMPTY, NULL), MPI_ERR_ARG);
	CHECK(self_calls == 2,
		"an error of a null session calls the handler of "
		"MPI_COMM_SELF, got %d",
		self_calls);
	OK(MPI_Group_free(&group));
}

/* A group may live longer than its session. */
static void of_finalized(void)
{
	MPI_Group group;

	OK(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
	OK(MPI_Session_finalize(&session));
	self_calls = session_calls = 0;
	FAILS(MPI_Group_size(group, NULL), MPI_ERR_ARG);
	CHECK(self_calls == 1 && session_calls == 0,
		"an error of a finalized session calls the handler of "
		"MPI_COMM_SELF");
	OK(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	of_session();
	of_world();
	of_finalized();
	return mtest_finish();
}
