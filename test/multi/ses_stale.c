/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_stale: what belonged to a finalized session is refused (S40)
 *
 * The World Model is up, so that errors without an object go to
 * MPI_COMM_SELF's handler.
 */
#include "session.h"

static bool refused(int rc)
{
	int class = mtest_class(rc);

	return class == MPI_ERR_COMM || class == MPI_ERR_SESSION ||
	       class == MPI_ERR_GROUP;
}

static void comm_handler(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	(void)code;
}

static void handles(void)
{
	MPI_Session session = session_open(), copy = session;
	MPI_Group group = MPI_GROUP_NULL;

	session_close(&session);
	FAILS(MPI_Group_from_session_pset(copy, "mpi://WORLD", &group),
		MPI_ERR_SESSION);
	FAILS(MPI_Session_finalize(&copy), MPI_ERR_SESSION);
	copy = MPI_SESSION_NULL;
	FAILS(MPI_Session_finalize(&copy), MPI_ERR_SESSION);
	FAILS(MPI_Group_from_session_pset(copy, "mpi://WORLD", &group),
		MPI_ERR_SESSION);
}

static void communicators(void)
{
	MPI_Session first = session_open(), second = session_open();
	MPI_Comm kept = session_comm(second, "mpi://WORLD", "kept");
	MPI_Comm lost = session_comm(first, "mpi://WORLD", "lost"), dup, copy;
	int word = 0, rank = -1;

	OK(MPI_Comm_dup(lost, &dup));
	OK(MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN));
	copy = lost;
	session_close(&first);
	CHECK(lost == copy, "S39: the user's handle is not touched");
	CHECK(refused(MPI_Comm_rank(lost, &rank)), "S40: rank is refused");
	CHECK(refused(MPI_Barrier(lost)), "S40: a barrier is refused");
	CHECK(refused(MPI_Send(&word, 1, MPI_INT, 0, 0, dup)),
		"S40: a send on a derived one is refused");
	CHECK(refused(MPI_Comm_free(&lost)), "S40: freeing is refused");
	CHECK(MPI_Barrier(kept) == MPI_SUCCESS,
		"S32: the other session is not disturbed");
	session_works(kept, "kept");
	session_works(MPI_COMM_WORLD, "world");
	OK(MPI_Comm_disconnect(&kept));
	session_close(&second);
}

/* a handler for communicators cannot serve a session */
static void wrong_handler(void)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Errhandler mine;
	int rc;

	OK(MPI_Comm_create_errhandler(comm_handler, &mine));
	rc = MPI_Session_init(MPI_INFO_NULL, mine, &session);
	CHECK(mtest_class(rc) == MPI_ERR_ERRHANDLER ||
			mtest_class(rc) == MPI_ERR_ARG,
		"S16: a communicator's handler is refused, %s",
		mtest_error(rc));
	CHECK(session == MPI_SESSION_NULL, "S16: and no session");
	OK(MPI_Errhandler_free(&mine));
}

static int callbacks;

static int delete_fn(MPI_Comm comm, int key, void *value, void *state)
{
	(void)comm;
	(void)key;
	(void)value;
	(void)state;
	callbacks++;
	return MPI_SUCCESS;
}

/* S45: callbacks run at free and disconnect, never at session finalize */
static void attributes(void)
{
	MPI_Session session;
	MPI_Comm comm;
	int key;

	OK(MPI_Comm_create_keyval(
		MPI_COMM_NULL_COPY_FN, delete_fn, &key, NULL));
	for (int how = 0; how < 3; how++) {
		session = session_open();
		comm = session_comm(session, "mpi://SELF", "attributes");
		OK(MPI_Comm_set_attr(comm, key, &key));
		callbacks = 0;
		if (how == 0)
			OK(MPI_Comm_free(&comm));
		if (how == 1)
			OK(MPI_Comm_disconnect(&comm));
		CHECK(callbacks == (how < 2), "S45: way %d runs %d", how,
			callbacks);
		session_close(&session);
		CHECK(callbacks == (how < 2),
			"S45: finalize runs no callback, way %d", how);
	}
	OK(MPI_Comm_free_keyval(&key));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	handles();
	wrong_handler();
	communicators();
	attributes();
	return mtest_finish();
}
