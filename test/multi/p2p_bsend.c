/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_bsend: buffered sends complete without a receiver (S128-S130)
 *
 * late=MS: rank 1 receives the last message MS milliseconds late. Meanwhile,
 * rank 0 is in MPI_Finalize and has not detached its buffer
 */
#include "mtest.h"

enum { ROOM = 1000000, LAST = 900000 };

/* The message is received before the cancel. So the cancel has no effect. */
static void cancel_received(char *data, int len)
{
	int cancelled = 1;
	MPI_Request req;
	MPI_Status status;

	if (mtest.rank == 0)
		OK(MPI_Ibsend(data, len, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &req));
	if (mtest.rank == 1)
		OK(MPI_Recv(data, len, MPI_BYTE, 0, 5, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank != 0)
		return;
	OK(MPI_Cancel(&req));
	OK(MPI_Wait(&req, &status));
	OK(MPI_Test_cancelled(&status, &cancelled));
	CHECK(!cancelled, "a received send of %d bytes is not cancelled", len);
}

int main(int argc, char **argv)
{
	char *buffer = mtest_alloc(ROOM), *data = mtest_alloc(LAST);
	void *back = NULL;
	MPI_Request req;
	int size = 0;

	mtest_init(&argc, &argv);
	mtest_need(2);
	mtest_offered(MPI_Buffer_attach(buffer, ROOM), "MPI_Buffer_attach");
	if (mtest.rank == 0) {
		for (int i = 0; i < 10; i++) {
			mtest_fill(data, 20000, i);
			OK(MPI_Bsend(
				data, 20000, MPI_BYTE, 1, i, MPI_COMM_WORLD));
		}
		mtest_fill(data, 100, 10);
		OK(MPI_Ibsend(
			data, 100, MPI_BYTE, 1, 10, MPI_COMM_WORLD, &req));
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		memset(data, 0, 20000);
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (int i = 10; i >= 0 && mtest.rank == 1; i--) {
		int len = i == 10 ? 100 : 20000;

		OK(MPI_Recv(data, len, MPI_BYTE, 0, i, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(mtest_same(data, len, i),
			"buffered message %d arrives unchanged", i);
	}
	cancel_received(data, 10);
	cancel_received(data, 20000);
	OK(MPI_Buffer_detach(&back, &size));
	CHECK(back == buffer && size == ROOM, "detach returns the buffer");
	if (mtest.rank == 0)
		FAILS(MPI_Bsend(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD),
			MPI_ERR_BUFFER);
	OK(MPI_Buffer_attach(buffer, ROOM));
	if (mtest.rank == 0) {
		mtest_fill(data, LAST, 77);
		OK(MPI_Bsend(data, LAST, MPI_BYTE, 1, 77, MPI_COMM_WORLD));
	} else if (mtest.rank == 1) {
		mtest_linger(mtest_arg(argc, argv, "late", 700));
		OK(MPI_Recv(data, LAST, MPI_BYTE, 0, 77, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(mtest_same(data, LAST, 77),
			"S128, S129, S130: the last message arrives unchanged");
	}
	OK(MPI_Finalize());
	free(buffer);
	free(data);
	return mtest_done();
}
