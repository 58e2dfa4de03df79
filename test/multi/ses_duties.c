/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_duties: operations that must be complete before a session ends, and
 * others
 *
 * Some cases leave their communicators to MPI_Session_finalize().
 */
#include "session.h"

static MPI_Session session;
static MPI_Comm comm;
static int right, left;

static void open_one(const char *tag)
{
	session = session_open();
	session_set_rank(session);
	comm = session_comm(session, "mpi://WORLD", tag);
	right = (mtest.rank + 1) % mtest.size;
	left = (mtest.rank + mtest.size - 1) % mtest.size;
}

static int close_one(void)
{
	return MPI_Session_finalize(&session);
}

static void complete(void)
{
	int in = -1, sum = -1;
	MPI_Request req[2];

	open_one("send and wait");
	OK(MPI_Isend(&mtest.rank, 1, MPI_INT, right, 1, comm, &req[0]));
	OK(MPI_Recv(&in, 1, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE));
	OK(MPI_Wait(&req[0], MPI_STATUS_IGNORE));
	CHECK(in == left && close_one() == MPI_SUCCESS,
		"S31, S34, S38: finalize after a completed send and receive");
	open_one("collective");
	OK(MPI_Iallreduce(
		&mtest.rank, &sum, 1, MPI_INT, MPI_SUM, comm, &req[0]));
	OK(MPI_Wait(&req[0], MPI_STATUS_IGNORE));
	CHECK(close_one() == MPI_SUCCESS,
		"S31, S38, S43, S49: finalize succeeds after collectives");
}

static void persistent(void)
{
	MPI_Request req[2];
	int in = -1;

	open_one("persistent");
	OK(MPI_Send_init(&mtest.rank, 1, MPI_INT, right, 1, comm, &req[0]));
	OK(MPI_Recv_init(&in, 1, MPI_INT, left, 1, comm, &req[1]));
	OK(MPI_Startall(2, req));
	OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
	CHECK(in == left, "the word of the left neighbour arrives, %d", in);
	CHECK(close_one() == MPI_SUCCESS,
		"S37: inactive persistent requests are no error");
}

/* All processes free the communicator, rank 0 later than the others. The last
 * process ends its session late. */
static void freed_only(void)
{
	open_one("freed only");
	session_works(comm, "freed only");
	if (mtest.rank == 0)
		mtest_linger(200);
	OK(MPI_Comm_free(&comm));
	if (mtest.rank == mtest.size - 1)
		mtest_linger(200);
	CHECK(close_one() == MPI_SUCCESS,
		"S51: a session with freed communicators waits for slow "
		"processes");
}

/* The requests are freed, and their messages are matched. */
static void freed_requests(void)
{
	static int in[4];
	MPI_Request req;

	open_one("freed requests");
	for (int i = 0; i < 4; i++) {
		in[i] = -1;
		OK(MPI_Irecv(&in[i], 1, MPI_INT, left, i, comm, &req));
		OK(MPI_Request_free(&req));
	}
	for (int i = 0; i < 4; i++) {
		OK(MPI_Isend(&mtest.rank, 1, MPI_INT, right, i, comm, &req));
		OK(MPI_Request_free(&req));
	}
	OK(MPI_Comm_disconnect(&comm));
	for (int i = 0; i < 4; i++)
		CHECK(in[i] == left,
			"S104, S106: freed receive %d completes, got %d", i,
			in[i]);
	CHECK(close_one() == MPI_SUCCESS, "S36: freed requests are no error");
}

/* Disconnects communicators of the same processes that were created in
 * different ways: dup, split, intercommunicator, group. */
static void all_paths(void)
{
	MPI_Comm dup, part, inter, local;
	int color = mtest.rank % 2;

	open_one("paths");
	OK(MPI_Comm_dup(comm, &dup));
	OK(MPI_Comm_split(comm, 0, -mtest.rank, &part));
	OK(MPI_Comm_split(comm, color, 0, &local));
	OK(MPI_Intercomm_create(local, 0, comm, !color, 7, &inter));
	OK(MPI_Comm_disconnect(&inter));
	OK(MPI_Comm_disconnect(&local));
	OK(MPI_Comm_disconnect(&part));
	OK(MPI_Comm_disconnect(&comm));
	session_works(dup, "the last path");
	CHECK(MPI_Comm_disconnect(&dup) == MPI_SUCCESS,
		"S59, S102, S114, S115: communicators are freed and "
		"disconnected in turn");
	CHECK(close_one() == MPI_SUCCESS, "S59: the session is finalized last");
}

int main(int argc, char **argv)
{
	(void)argc;
	mtest_start(argv[0]);
	complete();
	persistent();
	freed_only();
	freed_requests();
	if (mtest.size > 1)
		all_paths();
	return mtest_done();
}
