/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_leave: after disconnect and finalize the sender may exit
 *
 * Rank 0 begins an operation of len= bytes, disconnects, finalizes and calls
 * _exit. Rank 1 takes part later and must get all data.
 *
 * how=0 freed sends    how=1 freed active persistent sends
 * how=2 buffered sends    how=3 freed receives (rank 0 receives)
 * how=4 non-blocking and persistent collectives, completed at the root only
 */
#include "session.h"

enum { PARTS = 3, EXTRA = 4096 };

static MPI_Comm comm;
static char *buf[PARTS], *buffer;
static int len, how;

static void begin_send(int i)
{
	MPI_Request req;

	mtest_fill(buf[i], len, i);
	if (how == 1) {
		OK(MPI_Send_init(buf[i], len, MPI_BYTE, 1, i, comm, &req));
		OK(MPI_Start(&req));
		OK(MPI_Request_free(&req));
	} else if (how == 2) {
		OK(MPI_Bsend(buf[i], len, MPI_BYTE, 1, i, comm));
		memset(buf[i], 0, len);
	} else {
		OK(MPI_Isend(buf[i], len, MPI_BYTE, 1, i, comm, &req));
		OK(MPI_Request_free(&req));
	}
}

static void begin(void)
{
	MPI_Request req;

	for (int i = 0; i < PARTS; i++) {
		if (how == 3) {
			memset(buf[i], 0, len);
			OK(MPI_Irecv(buf[i], len, MPI_BYTE, 1, i, comm, &req));
			OK(MPI_Request_free(&req));
		} else {
			begin_send(i);
		}
	}
}

/* Rank 1 makes its calls 400 ms later. */
static void answer(void)
{
	mtest_linger(400);
	for (int i = PARTS - 1; i >= 0; i--) {
		if (how == 3) {
			mtest_fill(buf[i], len, i);
			OK(MPI_Send(buf[i], len, MPI_BYTE, 0, i, comm));
			continue;
		}
		memset(buf[i], 0, len);
		OK(MPI_Recv(
			buf[i], len, MPI_BYTE, 0, i, comm, MPI_STATUS_IGNORE));
		CHECK(mtest_same(buf[i], len, i),
			"S36, S54, S60, S99, S112: %d B arrive, way %d", len,
			how);
	}
}

static void collectives(void)
{
	MPI_Request req;

	if (mtest.rank)
		mtest_linger(400);
	if (mtest.rank == 0)
		mtest_fill(buf[0], len, 0);
	OK(MPI_Ibcast(buf[0], len, MPI_BYTE, 0, comm, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	if (mtest.rank == 0)
		mtest_fill(buf[1], len, 1);
	OK(MPI_Bcast_init(buf[1], len, MPI_BYTE, 0, comm, MPI_INFO_NULL, &req));
	OK(MPI_Start(&req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	OK(MPI_Request_free(&req));
	for (int i = 0; i < 2; i++)
		CHECK(mtest_same(buf[i], len, i),
			"S112: collective %d of %d B arrives", i, len);
}

int main(int argc, char **argv)
{
	MPI_Session session;

	mtest_start(argv[0]);
	len = mtest_arg(argc, argv, "len", 4000000);
	how = mtest_arg(argc, argv, "how", 0);
	for (int i = 0; i < PARTS; i++)
		buf[i] = mtest_alloc(len);
	buffer = mtest_alloc((size_t)PARTS * (len + EXTRA));
	session = session_open();
	session_set_rank(session);
	comm = session_comm(session, "mpi://WORLD", "leave");
	if (how == 2 && mtest.rank == 0)
		OK(MPI_Buffer_attach(buffer, PARTS * (len + EXTRA)));
	if (how == 4)
		collectives();
	else if (mtest.rank == 0)
		begin();
	else if (mtest.rank == 1)
		answer();
	OK(MPI_Comm_disconnect(&comm));
	for (int i = 0; i < PARTS && how == 3 && mtest.rank == 0; i++)
		CHECK(mtest_same(buf[i], len, i),
			"S99, S112: freed receive %d completes, %d B", i, len);
	if (mtest.rank == 0)
		for (int i = 0; i < PARTS; i++)
			memset(buf[i], 0, len);
	session_close(&session);
	if (mtest.rank == 0) {
		fflush(NULL);
		_exit(mtest_done());
	}
	for (int i = 0; i < PARTS; i++)
		free(buf[i]);
	free(buffer);
	return mtest_done();
}
