/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_forms: messages, buffers and packing with MPI_Count arguments */
#include "mtest.h"

enum { N = 5, TAG = 3, BUFFER = 65536 };

static const MPI_Comm world = MPI_COMM_WORLD;
static int in[N], out[N], other;
static char buffer[BUFFER];

static void set_data(void)
{
	for (int i = 0; i < N; i++) {
		in[i] = 10 * mtest.rank + i;
		out[i] = -1;
	}
}

static void check_items(const char *name, const int *got)
{
	for (int i = 0; i < N; i++)
		CHECK(got[i] == 10 * other + i, "%s: item %d arrives, got %d",
			name, i, got[i]);
	set_data();
}

/* Posts a receive. Returns when the other process has posted one too, so that a
 * ready send may follow. */
static MPI_Request posted(void)
{
	MPI_Request req;
	char token = 0;

	OK(MPI_Irecv(out, N, MPI_INT, other, TAG, world, &req));
	OK(MPI_Sendrecv(&token, 1, MPI_CHAR, other, TAG + 1, &token, 1,
		MPI_CHAR, other, TAG + 1, world, MPI_STATUS_IGNORE));
	return req;
}

#define BLOCKING(op)                                       \
	do {                                               \
		MPI_Request recv = posted();               \
                                                           \
		OK(op(in, N, MPI_INT, other, TAG, world)); \
		OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));    \
		check_items(#op, out);                     \
	} while (0)

#define STARTED(op, is_persistent)                                \
	do {                                                      \
		MPI_Request recv = posted(), send;                \
                                                                  \
		OK(op(in, N, MPI_INT, other, TAG, world, &send)); \
		if (is_persistent)                                \
			OK(MPI_Start(&send));                     \
		OK(MPI_Wait(&send, MPI_STATUS_IGNORE));           \
		if (is_persistent)                                \
			OK(MPI_Request_free(&send));              \
		OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));           \
		check_items(#op, out);                            \
	} while (0)

static void check_sends(void)
{
	MPI_Count len = 0;
	MPI_Request flush;
	void *was;

	OK(MPI_Buffer_attach_c(buffer, BUFFER));
	BLOCKING(MPI_Bsend_c);
	BLOCKING(MPI_Rsend_c);
	STARTED(MPI_Ibsend_c, 0);
	STARTED(MPI_Irsend_c, 0);
	STARTED(MPI_Issend_c, 0);
	STARTED(MPI_Send_init_c, 1);
	STARTED(MPI_Bsend_init_c, 1);
	STARTED(MPI_Rsend_init_c, 1);
	STARTED(MPI_Ssend_init_c, 1);
	OK(MPI_Buffer_flush());
	OK(MPI_Buffer_iflush(&flush));
	OK(MPI_Wait(&flush, MPI_STATUS_IGNORE));
	OK(MPI_Buffer_detach_c(&was, &len));
	CHECK(was == buffer && len == BUFFER,
		"detach returns the buffer: %lld bytes", (long long)len);
	OK(MPI_Comm_attach_buffer_c(world, buffer, BUFFER));
	BLOCKING(MPI_Bsend_c);
	OK(MPI_Comm_detach_buffer_c(world, &was, &len));
	CHECK(was == buffer && len == BUFFER,
		"the buffer of a communicator is returned: %lld bytes",
		(long long)len);
}

static void check_session_buffer(void)
{
	MPI_Session session;
	MPI_Request flush;
	MPI_Count len = 0;
	void *was;

	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	OK(MPI_Session_attach_buffer_c(session, buffer, BUFFER));
	OK(MPI_Session_iflush_buffer(session, &flush));
	OK(MPI_Wait(&flush, MPI_STATUS_IGNORE));
	OK(MPI_Session_detach_buffer_c(session, &was, &len));
	CHECK(was == buffer && len == BUFFER,
		"the buffer of a session is returned: %lld bytes",
		(long long)len);
	OK(MPI_Session_finalize(&session));
}

static void check_receives(void)
{
	MPI_Request reqs[2];
	MPI_Message message;

	OK(MPI_Isend(in, N, MPI_INT, other, TAG, world, &reqs[0]));
	OK(MPI_Mprobe(other, TAG, world, &message, MPI_STATUS_IGNORE));
	OK(MPI_Mrecv_c(out, N, MPI_INT, &message, MPI_STATUS_IGNORE));
	OK(MPI_Wait(&reqs[0], MPI_STATUS_IGNORE));
	check_items("MPI_Mrecv_c", out);

	OK(MPI_Isend(in, N, MPI_INT, other, TAG, world, &reqs[0]));
	OK(MPI_Mprobe(other, TAG, world, &message, MPI_STATUS_IGNORE));
	OK(MPI_Imrecv_c(out, N, MPI_INT, &message, &reqs[1]));
	OK(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
	check_items("MPI_Imrecv_c", out);

	OK(MPI_Recv_init_c(out, N, MPI_INT, other, TAG, world, &reqs[1]));
	OK(MPI_Start(&reqs[1]));
	OK(MPI_Send(in, N, MPI_INT, other, TAG, world));
	OK(MPI_Wait(&reqs[1], MPI_STATUS_IGNORE));
	OK(MPI_Request_free(&reqs[1]));
	check_items("MPI_Recv_init_c", out);
}

static void check_exchanges(void)
{
	MPI_Request req;

	OK(MPI_Isendrecv_c(in, N, MPI_INT, other, TAG, out, N, MPI_INT, other,
		TAG, world, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	check_items("MPI_Isendrecv_c", out);
	OK(MPI_Sendrecv_replace_c(in, N, MPI_INT, other, TAG, other, TAG, world,
		MPI_STATUS_IGNORE));
	check_items("MPI_Sendrecv_replace_c", in);
	OK(MPI_Isendrecv_replace_c(
		in, N, MPI_INT, other, TAG, other, TAG, world, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	check_items("MPI_Isendrecv_replace_c", in);
}

static void check_partitions(void)
{
	MPI_Request reqs[2];

	OK(MPI_Psend_init_c(
		in, N, 1, MPI_INT, other, TAG, world, MPI_INFO_NULL, &reqs[0]));
	OK(MPI_Precv_init_c(out, N, 1, MPI_INT, other, TAG, world,
		MPI_INFO_NULL, &reqs[1]));
	OK(MPI_Startall(2, reqs));
	OK(MPI_Pready_range(0, N - 1, reqs[0]));
	OK(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
	check_items("MPI_Precv_init_c", out);
	OK(MPI_Request_free(&reqs[0]));
	OK(MPI_Request_free(&reqs[1]));
}

static void check_packing(void)
{
	const int mine[2] = { 7, 8 };
	MPI_Count len = -1, at = 0;
	int got[2] = { 0, 0 };

	OK(MPI_Pack_size_c(2, MPI_INT, world, &len));
	CHECK(len >= 8, "pack_size is at least the data: %lld bytes",
		(long long)len);
	OK(MPI_Pack_c(mine, 2, MPI_INT, buffer, BUFFER, &at, world));
	CHECK(at >= 8 && at <= len, "pack advances the position: %lld",
		(long long)at);
	len = at;
	at = 0;
	OK(MPI_Unpack_c(buffer, len, &at, got, 2, MPI_INT, world));
	CHECK(at == len && got[0] == 7 && got[1] == 8,
		"both items are unpacked: %d, %d", got[0], got[1]);
	OK(MPI_Pack_external_size_c("external32", 2, MPI_INT, &len));
	CHECK(len == 8, "the size in external32 is 8: %lld bytes",
		(long long)len);
	at = 0;
	OK(MPI_Pack_external_c(
		"external32", mine, 2, MPI_INT, buffer, BUFFER, &at));
	CHECK(at == 8 && buffer[3] == 7 && buffer[0] == 0,
		"the last byte is the lowest one");
	at = 0;
	got[0] = got[1] = 0;
	OK(MPI_Unpack_external_c(
		"external32", buffer, 8, &at, got, 2, MPI_INT));
	CHECK(at == 8 && got[0] == 7 && got[1] == 8,
		"both items are unpacked: %d, %d", got[0], got[1]);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(2);
	if (mtest.size != 2)
		mtest_skip("needs exactly 2 processes");
	other = 1 - mtest.rank;
	set_data();
	check_sends();
	check_session_buffer();
	check_receives();
	check_exchanges();
	check_partitions();
	check_packing();
	return mtest_finish();
}
