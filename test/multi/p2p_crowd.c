/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_crowd: all processes send to rank 0 at the same time, up to 128 KiB each
 *
 * The messages exceed the receive buffers of rank 0, so that the provider stops
 * reading connections until a buffer is free. If the provider does not resume
 * reading a connection, the program hangs.
 */
#include "mtest.h"

#include <string.h>

enum { LEN = 1 << 17, MAX = 16, ROUNDS = 100, TAG = 6 };

static char data[MAX][LEN];

static void receive_all(int len, char mark)
{
	MPI_Request reqs[MAX];

	for (int from = 1; from < mtest.size; from++)
		OK(MPI_Irecv(data[from], len, MPI_BYTE, from, TAG,
			MPI_COMM_WORLD, &reqs[from]));
	OK(MPI_Waitall(mtest.size - 1, reqs + 1, MPI_STATUSES_IGNORE));
	for (int from = 1; from < mtest.size; from++)
		CHECK(data[from][0] == mark + from &&
				data[from][len - 1] == mark + from,
			"%d bytes from rank %d arrive", len, from);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(2);
	for (int round = 0; round < ROUNDS; round++) {
		for (int len = 4; len <= LEN; len *= 2) {
			memset(data[0], round + mtest.rank, (size_t)len);
			if (mtest.rank)
				OK(MPI_Send(data[0], len, MPI_BYTE, 0, TAG,
					MPI_COMM_WORLD));
			else
				receive_all(len, (char)round);
		}
		OK(MPI_Barrier(MPI_COMM_WORLD));
	}
	return mtest_finish();
}
