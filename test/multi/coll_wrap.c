/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_wrap: a persistent collective keeps its sequence number until the
 * numbers of the other collectives wrap around. Another collective with the
 * same number does not disturb it. */
#include "coll.h"

enum { NUMBERS = 1 << 25, AFTER = 2 * NUMBERS, LEN = 1000 };

static void empty_ones(long n)
{
	char none = 0;

	for (long i = 0; i < n; i++)
		OK(MPI_Bcast(&none, 0, MPI_BYTE, 0, MPI_COMM_WORLD));
}

static void beside_others(MPI_Request *request, char *kept)
{
	char other[LEN];
	MPI_Request req;
	int bad = 0;

	for (int round = 0; round < 6; round++) {
		memset(kept, mtest.rank ? 0 : 5 + round, LEN);
		memset(other, mtest.rank ? 0 : 99, LEN);
		if (mtest.rank ==
			0) /* the two collectives may start in any order */
			OK(MPI_Start(request));
		OK(MPI_Ibcast(other, LEN, MPI_BYTE, 0, MPI_COMM_WORLD, &req));
		if (mtest.rank)
			OK(MPI_Start(request));
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		OK(MPI_Wait(request, MPI_STATUS_IGNORE));
		bad += !mtest_all(kept, LEN, 5 + round) ||
		       !mtest_all(other, LEN, 99);
	}
	CHECK(bad == 0, "%d of 6 rounds have wrong data", bad);
}

int main(int argc, char **argv)
{
	char kept[LEN];
	MPI_Request request;
	int rc;

	mtest_init(&argc, &argv);
	mtest_need(2);
	empty_ones(10);
	rc = MPI_Bcast_init(kept, LEN, MPI_BYTE, 0, MPI_COMM_WORLD,
		MPI_INFO_NULL, &request);
	mtest_offered(rc, "MPI_Bcast_init");
	beside_others(&request, kept);
	empty_ones(NUMBERS - 9);
	beside_others(&request, kept);
	empty_ones(AFTER - NUMBERS - 9);
	beside_others(&request, kept);
	OK(MPI_Request_free(&request));
	return mtest_finish();
}
