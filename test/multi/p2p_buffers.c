/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_buffers: buffers of a communicator, of a session, and automatic ones
 *
 * Rank 0 sends into each kind before rank 1 receives; flush, detach and
 * disconnect return when the buffer is no longer needed.
 */
#include "session.h"

enum { N = 8, LEN = 30000, ROOM = N * (LEN + 4096) };

static char *data, *room;
static MPI_Session session;
static MPI_Comm comm;

static void send_some(int seed)
{
	MPI_Request req;

	for (int i = 0; i < N && mtest.rank == 0; i++) {
		mtest_fill(data, LEN, seed + i);
		switch (i % 3) {
		case 0:
			OK(MPI_Bsend(data, LEN, MPI_BYTE, 1, i, comm));
			break;
		case 1:
			OK(MPI_Ibsend(data, LEN, MPI_BYTE, 1, i, comm, &req));
			OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
			break;
		default:
			OK(MPI_Bsend_init(
				data, LEN, MPI_BYTE, 1, i, comm, &req));
			OK(MPI_Start(&req));
			OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
			OK(MPI_Request_free(&req));
		}
		memset(data, 0xee, LEN);
	}
}

static void receive_some(int seed, const char *what)
{
	if (mtest.rank != 1)
		return;
	mtest_linger(100);
	for (int i = N - 1; i >= 0; i--) {
		memset(data, 0, LEN);
		OK(MPI_Recv(
			data, LEN, MPI_BYTE, 0, i, comm, MPI_STATUS_IGNORE));
		CHECK(mtest_same(data, LEN, seed + i),
			"%s: buffered message %d arrives unchanged", what, i);
	}
}

static void of_communicator(void)
{
	void *back = NULL;
	MPI_Request req;
	int len = 0;

	OK(MPI_Comm_attach_buffer(comm, room, ROOM));
	send_some(10);
	receive_some(10, "communicator");
	OK(MPI_Comm_flush_buffer(comm));
	send_some(20);
	receive_some(20, "flushed");
	OK(MPI_Comm_iflush_buffer(comm, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	OK(MPI_Comm_detach_buffer(comm, &back, &len));
	CHECK(back == room && len == ROOM,
		"the buffer of the communicator is returned");
	memset(room, 0xee, ROOM);
}

static void of_session(void)
{
	void *back = NULL;
	int len = 0;

	OK(MPI_Session_attach_buffer(session, room, ROOM));
	send_some(30);
	receive_some(30, "session");
	OK(MPI_Session_flush_buffer(session));
	OK(MPI_Session_detach_buffer(session, &back, &len));
	CHECK(back == room && len == ROOM,
		"the buffer of the session is returned");
	memset(room, 0xee, ROOM);
}

static void automatic(void)
{
	void *back = NULL;
	int len = 0;

	OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
	send_some(40);
	receive_some(40, "automatic");
	OK(MPI_Comm_detach_buffer(comm, &back, &len));
	CHECK(back == MPI_BUFFER_AUTOMATIC,
		"detach returns MPI_BUFFER_AUTOMATIC");
}

/* The program never detaches the buffer. MPI_Comm_disconnect() has to send its
 * messages. */
static void left_behind(void)
{
	OK(MPI_Comm_attach_buffer(comm, room, ROOM));
	send_some(50);
	receive_some(50, "left behind");
	CHECK(MPI_Comm_disconnect(&comm) == MPI_SUCCESS,
		"S112: disconnect sends the messages of the buffer");
	memset(room, 0xee, ROOM);
}

int main(int argc, char **argv)
{
	(void)argc;
	mtest_start(argv[0]);
	data = mtest_alloc(LEN);
	room = mtest_alloc(ROOM);
	session = session_open();
	session_set_rank(session);
	mtest_need(2);
	comm = session_comm(session, "mpi://WORLD", "buffers");
	of_communicator();
	of_session();
	automatic();
	left_behind();
	session_close(&session);
	free(room);
	free(data);
	return mtest_done();
}
