/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_reqfree: messages of freed requests arrive (S121, S126) */
#include "mtest.h"

static const int lens[] = { 0, 8, 4000, 100000, 4000000 };

enum { N_LENS = sizeof(lens) / sizeof(lens[0]) };

static char *buf[N_LENS];

static void freed_sends(void)
{
	MPI_Request req;

	for (int i = 0; i < N_LENS && mtest.rank == 0; i++) {
		mtest_fill(buf[i], lens[i], i);
		OK(MPI_Isend(
			buf[i], lens[i], MPI_BYTE, 1, i, MPI_COMM_WORLD, &req));
		OK(MPI_Request_free(&req));
		CHECK(req == MPI_REQUEST_NULL, "S121: a freed request is null");
	}
	for (int i = N_LENS - 1; i >= 0 && mtest.rank == 1; i--) {
		OK(MPI_Recv(buf[i], lens[i], MPI_BYTE, 0, i, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(mtest_same(buf[i], lens[i], i),
			"S126: %d B of a freed send arrive", lens[i]);
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Receives complete after the program has freed their requests. */
static void freed_receives(void)
{
	MPI_Request req;
	int done = 0;

	for (int i = 0; i < N_LENS && mtest.rank == 1; i++) {
		memset(buf[i], 0, lens[i]);
		OK(MPI_Irecv(
			buf[i], lens[i], MPI_BYTE, 0, i, MPI_COMM_WORLD, &req));
		OK(MPI_Request_free(&req));
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (int i = 0; i < N_LENS && mtest.rank == 0; i++) {
		mtest_fill(buf[i], lens[i], 50 + i);
		OK(MPI_Ssend(buf[i], lens[i], MPI_BYTE, 1, i, MPI_COMM_WORLD));
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank != 1)
		return;
	/* each Ssend is complete, so only the delivery in this process may be
	 * pending */
	for (int i = 0; i < N_LENS; i++)
		for (double end = mtest_now() + MTEST_SOON_S;
			mtest_now() < end;) {
			if (mtest_same(buf[i], lens[i], 50 + i))
				break;
			MPI_Iprobe(0, 999, MPI_COMM_WORLD, &done,
				MPI_STATUS_IGNORE);
		}
	for (int i = 0; i < N_LENS; i++)
		CHECK(mtest_same(buf[i], lens[i], 50 + i),
			"%d B of a freed receive arrive", lens[i]);
}

static void null_is_refused(void)
{
	MPI_Request req = MPI_REQUEST_NULL;

	FAILS(MPI_Request_free(&req), MPI_ERR_REQUEST);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(2);
	for (int i = 0; i < N_LENS; i++)
		buf[i] = calloc(1, lens[i] + 1);
	freed_sends();
	freed_receives();
	null_is_refused();
	OK(MPI_Barrier(MPI_COMM_WORLD));
	/* S126 once more, with Finalize right after the barrier */
	if (mtest.rank == 0) {
		MPI_Request req;

		mtest_fill(buf[4], lens[4], 9);
		OK(MPI_Isend(
			buf[4], lens[4], MPI_BYTE, 1, 9, MPI_COMM_WORLD, &req));
		OK(MPI_Request_free(&req));
	} else if (mtest.rank == 1) {
		OK(MPI_Recv(buf[4], lens[4], MPI_BYTE, 0, 9, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(mtest_same(buf[4], lens[4], 9),
			"a freed send arrives before MPI_Finalize");
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	return mtest_finish();
}
