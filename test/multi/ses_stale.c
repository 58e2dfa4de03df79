/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_stale: objects of a finalized session are refused (S40)
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
	CHECK(lost == copy, "S39: the handle of the program is not changed");
	CHECK(refused(MPI_Comm_rank(lost, &rank)), "S40: rank is refused");
	CHECK(refused(MPI_Barrier(lost)), "S40: a barrier is refused");
	CHECK(refused(MPI_Send(&word, 1, MPI_INT, 0, 0, dup)),
		"S40: a send on a derived communicator is refused");
	CHECK(refused(MPI_Comm_free(&lost)), "S40: freeing is refused");
	CHECK(MPI_Barrier(kept) == MPI_SUCCESS,
		"S32: the other session still works");
	session_works(kept, "kept");
	session_works(MPI_COMM_WORLD, "world");
	OK(MPI_Comm_disconnect(&kept));
	session_close(&second);
}

/* All objects of a session end with it, whatever call created them. Objects of
 * the other session stay valid. */
static void inherited(void)
{
	MPI_Session first = session_open(), second = session_open();
	MPI_Comm root = session_comm(first, "mpi://WORLD", "root");
	MPI_Comm kept = session_comm(second, "mpi://WORLD", "stays"), comms[5];
	static const char *const how[] = { "dup", "split", "create",
		"group create", "topology" };
	int word = 5, rank = -1, dims = mtest.size, zero = 0, rc;
	MPI_Group group, of_kept;
	MPI_Message message;
	MPI_Request req;

	OK(MPI_Comm_group(root, &group));
	OK(MPI_Comm_group(kept, &of_kept));
	OK(MPI_Comm_dup(root, &comms[0]));
	OK(MPI_Comm_split(comms[0], 0, 0, &comms[1]));
	OK(MPI_Comm_create(comms[1], group, &comms[2]));
	OK(MPI_Comm_create_group(comms[2], group, 3, &comms[3]));
	OK(MPI_Cart_create(comms[3], 1, &dims, &zero, 0, &comms[4]));
	OK(MPI_Send_init(&word, 1, MPI_INT, 0, 3, comms[4], &req));
	OK(MPI_Send(&word, 1, MPI_INT, mtest.rank, 4, comms[4]));
	OK(MPI_Mprobe(mtest.rank, 4, comms[4], &message, MPI_STATUS_IGNORE));
	rc = MPI_Session_finalize(&first);
	CHECK(mtest_class(rc) == MPI_ERR_PENDING,
		"S35, S43: finalize reports a message that was received on a "
		"communicator derived five times, %s",
		mtest_error(rc));
	for (int i = 0; i < 5; i++)
		CHECK(refused(MPI_Comm_rank(comms[i], &rank)),
			"S43: a communicator created by %s is invalid", how[i]);
	CHECK(mtest_class(MPI_Start(&req)) == MPI_ERR_REQUEST,
		"S43: a request of the session is invalid");
	CHECK(MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE) !=
			MPI_SUCCESS,
		"S43: a message of the session is invalid");
	CHECK(refused(MPI_Comm_create_from_group(group, "none", MPI_INFO_NULL,
		      MPI_ERRORS_RETURN, &comms[0])),
		"S43: a group of a communicator is invalid");
	comms[0] = session_comm_take(of_kept, "more");
	session_works(comms[0], "S43: a group of the other session");
	session_works(kept, "S43: a communicator of the other session");
	OK(MPI_Comm_disconnect(&comms[0]));
	OK(MPI_Comm_disconnect(&kept));
	OK(MPI_Group_free(&group));
	session_close(&second);
}

/* An error handler for communicators is refused for a session. */
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
	CHECK(session == MPI_SESSION_NULL, "S16: no session is opened");
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

/* S45: attribute callbacks are called at free and disconnect, but not when the
 * session is finalized. */
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
		CHECK(callbacks == (how < 2),
			"S45: free and disconnect run the callback once: "
			"%d calls in case %d",
			callbacks, how);
		session_close(&session);
		CHECK(callbacks == (how < 2),
			"S45: finalize runs no callback, case %d", how);
	}
	OK(MPI_Comm_free_keyval(&key));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	handles();
	wrong_handler();
	communicators();
	inherited();
	attributes();
	return mtest_finish();
}
