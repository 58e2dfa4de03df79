/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpix_later: communicators are created and disconnected without blocking
 * (mpix.h)
 *
 * Not standard MPI: MPIX_Comm_icreate_from_group, MPIX_Comm_idisconnect.
 */
#include "session.h"

#include <mpix.h>

static void istart(MPI_Session session, const char *pset, const char *tag,
	MPI_Comm *comm, MPI_Request *req)
{
	MPI_Group group = session_group(session, pset);

	*comm = MPI_COMM_WORLD; /* a value that is not the result */
	OK(MPIX_Comm_icreate_from_group(
		group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm, req));
	CHECK(*req != MPI_REQUEST_NULL, "%s: a request is created", tag);
	OK(MPI_Group_free(&group)); /* permitted before the completion */
}

/* Two creations at the same time. Odd ranks start them in reverse order. */
static void crossed(MPI_Session a, MPI_Session b)
{
	MPI_Comm comms[2];
	MPI_Request reqs[2];
	int odd = mtest.rank & 1;

	for (int i = 0; i < 2; i++) {
		int k = i ^ odd;

		istart(k ? b : a, "mpi://WORLD", k ? "crossed 1" : "crossed 0",
			&comms[k], &reqs[k]);
	}
	OK(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
	for (int i = 0; i < 2; i++) {
		CHECK(reqs[i] == MPI_REQUEST_NULL, "request %d is null", i);
		session_works(comms[i], i ? "crossed 1" : "crossed 0");
	}
	for (int i = 0; i < 2; i++) {
		int k = i ^ odd;

		OK(MPIX_Comm_idisconnect(&comms[k], &reqs[k]));
		CHECK(comms[k] == MPI_COMM_NULL,
			"the handle is null when the call returns");
	}
	OK(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
}

/* Some members call the blocking form, and others the nonblocking one. */
static void mixed(MPI_Session session, int n)
{
	for (int i = 0; i < n; i++) {
		MPI_Request req = MPI_REQUEST_NULL;
		MPI_Comm comm;

		if ((mtest.rank ^ i) & 1)
			istart(session, "mpi://WORLD", "mixed", &comm, &req);
		else
			comm = session_comm(session, "mpi://WORLD", "mixed");
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		if (i % 16 == 0)
			session_works(comm, "mixed");
		if ((mtest.rank ^ i) & 2)
			OK(MPIX_Comm_idisconnect(&comm, &req));
		else
			OK(MPI_Comm_disconnect(&comm));
		for (int done = 0; !done;)
			OK(MPI_Test(&req, &done, MPI_STATUS_IGNORE));
	}
}

/* Messages that were sent before the disconnect arrive, although the receiver
 * receives them late. */
static void in_flight(MPI_Session session)
{
	enum { N = 200000 };
	MPI_Comm comm = session_comm(session, "mpi://WORLD", "in flight");
	int *data = calloc(N, sizeof(*data));
	int left = (mtest.rank + mtest.size - 1) % mtest.size, wrong = 0;
	int *got = calloc(N, sizeof(*got));
	MPI_Request req;

	for (int i = 0; i < N; i++)
		data[i] = mtest.rank + i;
	OK(MPI_Isend(data, N, MPI_INT, (mtest.rank + 1) % mtest.size, 5, comm,
		&req));
	OK(MPI_Request_free(&req));
	if (mtest.rank % 2 == 0)
		mtest_linger(50);
	OK(MPI_Recv(got, N, MPI_INT, left, 5, comm, MPI_STATUS_IGNORE));
	OK(MPIX_Comm_idisconnect(&comm, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	for (int i = 0; i < N; i++)
		wrong += got[i] != left + i;
	CHECK(!wrong, "all data arrives: %d of %d numbers are wrong", wrong, N);
	free(data);
	free(got);
}

static void nothing(MPI_Session session)
{
	MPI_Comm comm = MPI_COMM_SELF, self;
	MPI_Request req;
	MPI_Group group;

	OK(MPIX_Comm_icreate_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL,
		MPI_ERRORS_RETURN, &comm, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	CHECK(comm == MPI_COMM_NULL,
		"a group without members creates no communicator");
	istart(session, "mpi://SELF", "self", &self, &req);
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	session_works(self, "self");
	OK(MPIX_Comm_idisconnect(&self, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	group = session_group(session, "mpi://SELF");
	FAILS(MPIX_Comm_icreate_from_group(group, NULL, MPI_INFO_NULL,
		      MPI_ERRORS_RETURN, &comm, &req),
		MPI_ERR_ARG);
	comm = MPI_COMM_SELF;
	FAILS(MPIX_Comm_icreate_from_group(MPI_GROUP_NULL, "x", MPI_INFO_NULL,
		      MPI_ERRORS_RETURN, &comm, &req),
		MPI_ERR_GROUP);
	CHECK(comm == MPI_COMM_NULL,
		"a creation that does not start sets MPI_COMM_NULL");
	OK(MPI_Group_free(&group));
}

/* The session is finalized first: the disconnect completes, and the creation
 * fails. */
static void session_first(void)
{
	MPI_Session session = session_open(), other = session_open();
	MPI_Comm comm = session_comm(session, "mpi://WORLD", "first");
	MPI_Comm never = MPI_COMM_NULL;
	MPI_Request left, made = MPI_REQUEST_NULL;

	OK(MPIX_Comm_idisconnect(&comm, &left));
	if (mtest.rank > 0) /* rank 0 does not start the creation */
		istart(session, "mpi://WORLD", "never", &never, &made);
	session_close(&session);
	OK(MPI_Wait(&left, MPI_STATUS_IGNORE));
	if (mtest.rank > 0) {
		FAILS(MPI_Wait(&made, MPI_STATUS_IGNORE), MPI_ERR_SESSION);
		CHECK(never == MPI_COMM_NULL, "no communicator is created");
	}
	session_close(&other);
}

int main(int argc, char **argv)
{
	MPI_Session a, b;

	mtest_start(argv[0]);
	a = session_open();
	b = session_open();
	session_set_rank(a);
	crossed(a, b);
	mixed(b, mtest_arg(argc, argv, "n", 100));
	in_flight(a);
	nothing(b);
	session_close(&a);
	session_close(&b);
	session_first();
	return mtest_done();
}
