/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_truncate: a message longer than its buffer is an error and corrupts
 * nothing */
#include "mtest.h"

static const int lens[] = { 8, 100, 5000, 70000, 3000000 };

enum { N_LENS = sizeof(lens) / sizeof(lens[0]) };

static void send_all(const char *buf)
{
	for (int i = 0; i < N_LENS; i++) {
		OK(MPI_Send(buf, lens[i], MPI_BYTE, 1, i, MPI_COMM_WORLD));
		OK(MPI_Send(buf, lens[i], MPI_BYTE, 1, i, MPI_COMM_WORLD));
		OK(MPI_Send(buf, lens[i], MPI_BYTE, 1, i, MPI_COMM_WORLD));
		OK(MPI_Ssend(buf, 1, MPI_BYTE, 1, i, MPI_COMM_WORLD));
	}
}

static void receive_short(char *buf, int i)
{
	int room = lens[i] / 2;
	MPI_Request req[2];
	MPI_Status st[2];

	memset(buf, 0x11, lens[i]);
	FAILS(MPI_Recv(buf, room, MPI_BYTE, 0, i, MPI_COMM_WORLD, st),
		MPI_ERR_TRUNCATE);
	CHECK(mtest_all(buf + room, lens[i] - room, 0x11),
		"%d B: nothing is written past the buffer", lens[i]);

	OK(MPI_Irecv(buf, room, MPI_BYTE, 0, i, MPI_COMM_WORLD, req));
	FAILS(MPI_Wait(req, st), MPI_ERR_TRUNCATE);
	CHECK(req[0] == MPI_REQUEST_NULL, "the failed request is null");
	CHECK(mtest_all(buf + room, lens[i] - room, 0x11),
		"%d B: nothing is written past the posted buffer", lens[i]);

	/* in a list, only the failed request has the error */
	OK(MPI_Irecv(buf, room, MPI_BYTE, 0, i, MPI_COMM_WORLD, &req[0]));
	OK(MPI_Irecv(buf, 1, MPI_BYTE, 0, i, MPI_COMM_WORLD, &req[1]));
	FAILS(MPI_Waitall(2, req, st), MPI_ERR_IN_STATUS);
	CHECK(mtest_class(st[0].MPI_ERROR) == MPI_ERR_TRUNCATE,
		"%d B: the status of the truncated message has the error",
		lens[i]);
	/* the other request is complete, or reported as pending */
	if (st[1].MPI_ERROR == MPI_ERR_PENDING)
		OK(MPI_Wait(&req[1], MPI_STATUS_IGNORE));
	else
		CHECK(st[1].MPI_ERROR == MPI_SUCCESS,
			"the status of the other message has no error");
}

int main(int argc, char **argv)
{
	char *buf = calloc(1, lens[N_LENS - 1]);
	int sum = 0;

	mtest_init(&argc, &argv);
	mtest_need(2);
	if (mtest.rank == 0)
		send_all(buf);
	for (int i = 0; i < N_LENS && mtest.rank == 1; i++)
		receive_short(buf, i);
	OK(MPI_Allreduce(
		&mtest.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	CHECK(sum == mtest.size * (mtest.size - 1) / 2,
		"communication continues after truncation");
	free(buf);
	return mtest_finish();
}
