/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_mix: objects of different sessions are not mixed in one call
 *
 * A call that would create an object from objects of two sessions, or of the
 * World Model and a session, is refused, and all objects stay usable. Calls
 * that only query or complete succeed; with WEFT_CHECK=strict (strict=1) they
 * are refused.
 */
#include "session.h"

static int is_strict;

/* Checks a call that only queries or completes: it succeeds, or with strict=1
 * it returns this class. */
static void looks(int rc, int class, const char *what)
{
	CHECK(mtest_class(rc) == (is_strict ? class : MPI_SUCCESS),
		"%s succeeds, or returns an error with strict=1: %s", what,
		mtest_error(rc));
}

static void mix_groups(MPI_Group a, MPI_Group b)
{
	MPI_Group made = MPI_GROUP_NULL;
	int rank = 0, there = -1, result = -1;

	FAILS(MPI_Group_union(a, b, &made), MPI_ERR_GROUP);
	FAILS(MPI_Group_intersection(a, b, &made), MPI_ERR_GROUP);
	FAILS(MPI_Group_difference(b, a, &made), MPI_ERR_GROUP);
	CHECK(made == MPI_GROUP_NULL, "no object is created");
	looks(MPI_Group_compare(a, b, &result), MPI_ERR_GROUP, "compare");
	looks(MPI_Group_translate_ranks(a, 1, &rank, b, &there), MPI_ERR_GROUP,
		"translate");
	CHECK(is_strict || (result == MPI_IDENT && there == 0),
		"the comparison has a result, %d and %d", result, there);
	OK(MPI_Group_union(a, MPI_GROUP_EMPTY, &made));
	OK(MPI_Group_free(&made));
}

static void mix_comms(MPI_Comm a, MPI_Comm b)
{
	MPI_Comm made = MPI_COMM_NULL;
	MPI_Group of_b;
	int result = -1;

	OK(MPI_Comm_group(b, &of_b));
	FAILS(MPI_Comm_create(a, of_b, &made), MPI_ERR_GROUP);
	FAILS(MPI_Comm_create_group(a, of_b, 3, &made), MPI_ERR_GROUP);
	CHECK(made == MPI_COMM_NULL, "no object is created");
	OK(MPI_Group_free(&of_b));
	looks(MPI_Comm_compare(a, b, &result), MPI_ERR_COMM, "compare");
	CHECK(is_strict || result == MPI_CONGRUENT,
		"the result is MPI_CONGRUENT: %d", result);
}

static void without_object(MPI_Errhandler handler)
{
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
}

static void mix_requests(MPI_Comm a, MPI_Comm b)
{
	MPI_Request reqs[4];
	int other = !mtest.rank, out[2] = { 1, 2 }, in[2] = { 0, 0 };

	OK(MPI_Irecv(&in[0], 1, MPI_INT, other, 0, a, &reqs[0]));
	OK(MPI_Irecv(&in[1], 1, MPI_INT, other, 0, b, &reqs[1]));
	OK(MPI_Isend(&out[0], 1, MPI_INT, other, 0, a, &reqs[2]));
	OK(MPI_Isend(&out[1], 1, MPI_INT, other, 0, b, &reqs[3]));
	without_object(MPI_ERRORS_ARE_FATAL); /* the error is raised on a */
	looks(MPI_Waitall(4, reqs, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST,
		"waitall");
	without_object(MPI_ERRORS_RETURN);
	for (int i = 0; i < 4; i++)
		OK(MPI_Wait(&reqs[i], MPI_STATUS_IGNORE));
	CHECK(in[0] == 1 && in[1] == 2, "both items arrive: %d and %d", in[0],
		in[1]);
}

/* self and bridge are of one session, or (is_mixed) of two. */
static void mix_leaders(MPI_Comm self, MPI_Comm bridge, int is_mixed)
{
	MPI_Comm inter = MPI_COMM_NULL;
	MPI_Group near, far, both;
	int rc = MPI_Intercomm_create(self, 0, bridge, !mtest.rank, 5, &inter);

	CHECK(mtest_class(rc) == (is_mixed ? MPI_ERR_COMM : MPI_SUCCESS),
		"the creation succeeds if both communicators are of one "
		"session, and otherwise fails: %s",
		mtest_error(rc));
	if (inter == MPI_COMM_NULL)
		return;
	OK(MPI_Comm_group(inter, &near));
	OK(MPI_Comm_remote_group(inter, &far));
	OK(MPI_Group_union(near, far, &both)); /* of one session */
	OK(MPI_Group_free(&near));
	OK(MPI_Group_free(&far));
	OK(MPI_Group_free(&both));
	OK(MPI_Comm_disconnect(&inter));
}

static void mix_inter(MPI_Group a, MPI_Group b)
{
	int me = mtest.rank, other = !mtest.rank;
	MPI_Group near, far;
	MPI_Comm inter = MPI_COMM_NULL;

	OK(MPI_Group_incl(a, 1, &me, &near));
	OK(MPI_Group_incl(b, 1, &other, &far));
	FAILS(MPI_Intercomm_create_from_groups(near, 0, far, 0, "mixed",
		      MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter),
		MPI_ERR_GROUP);
	OK(MPI_Group_free(&near));
	OK(MPI_Group_free(&far));
}

/* The text of the error names both sessions. */
static void both_are_named(MPI_Group a, MPI_Group world)
{
	MPI_Group made = MPI_GROUP_NULL;
	char text[MPI_MAX_ERROR_STRING] = "";
	int len, rc = MPI_Group_union(a, world, &made);

	OK(MPI_Error_string(rc, text, &len));
	CHECK(strstr(text, "session") && strstr(text, "World"),
		"the text names the session and the World: \"%s\"", text);
}

int main(int argc, char **argv)
{
	MPI_Session sessions[2];
	MPI_Comm comms[2], self;
	MPI_Group groups[2], world;

	mtest_init(&argc, &argv);
	is_strict = mtest_arg(argc, argv, "strict", 0);
	for (int i = 0; i < 2; i++) {
		sessions[i] = session_open();
		groups[i] = session_group(sessions[i], "mpi://WORLD");
		comms[i] = session_comm(sessions[i], "mpi://WORLD", "mix");
	}
	self = session_comm(sessions[0], "mpi://SELF", "self");
	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	mix_groups(groups[0], groups[1]);
	mix_groups(groups[0], world);
	mix_comms(comms[0], comms[1]);
	mix_comms(comms[1], MPI_COMM_WORLD);
	mix_requests(comms[0], comms[1]);
	mix_requests(comms[0], MPI_COMM_WORLD);
	mix_leaders(self, comms[0], 0);
	mix_leaders(self, comms[1], 1);
	mix_leaders(self, MPI_COMM_WORLD, 1);
	mix_inter(groups[0], groups[1]);
	both_are_named(groups[0], world);
	OK(MPI_Group_free(&world));
	OK(MPI_Comm_disconnect(&self));
	for (int i = 0; i < 2; i++) {
		OK(MPI_Group_free(&groups[i]));
		session_works(comms[i], "after it all");
		OK(MPI_Comm_disconnect(&comms[i]));
		session_close(&sessions[i]);
	}
	return mtest_finish();
}
