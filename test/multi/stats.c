/* SPDX-License-Identifier: BSD-3-Clause */
/* stats: a program whose counts are known, for the lines of WEFT_STATS=1
 *
 * Synchronous sends of long messages use rendezvous on every path; each process
 * sends ROUNDS of them and opens three sessions. test/multi/list has the lines
 * that the processes must print. */
#include "mtest.h"

enum { ROUNDS = 5, LEN = 1 << 20 };

static void open_sessions(int n)
{
	MPI_Session sessions[2];

	for (int i = 0; i < n; i++)
		OK(MPI_Session_init(
			MPI_INFO_NULL, MPI_ERRORS_RETURN, &sessions[i]));
	for (int i = 0; i < n; i++)
		OK(MPI_Session_finalize(&sessions[i]));
}

int main(int argc, char **argv)
{
	char *out = mtest_alloc(LEN), *in = mtest_alloc(LEN);
	MPI_Request req;

	mtest_init(&argc, &argv);
	mtest_need(2);
	for (int i = 0; i < ROUNDS; i++) {
		mtest_fill(out, LEN, (unsigned)(i + mtest.rank));
		OK(MPI_Irecv(in, LEN, MPI_CHAR, !mtest.rank, 1, MPI_COMM_WORLD,
			&req));
		OK(MPI_Ssend(
			out, LEN, MPI_CHAR, !mtest.rank, 1, MPI_COMM_WORLD));
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		CHECK(mtest_same(in, LEN, (unsigned)(i + !mtest.rank)),
			"message %d arrived", i);
	}
	open_sessions(2);
	free(out);
	free(in);
	return mtest_finish();
}
