/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_persist: persistent sends of each mode, started repeatedly */
#include "mtest.h"

enum { ROUNDS = 20 };

static const int lens[] = { 0, 8, 5000, 300000 };

static void ring(int mode, int len)
{
	int right = (mtest.rank + 1) % mtest.size, n = -1, flag = 0;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	char *out = mtest_alloc(len), *in = mtest_alloc(len);
	MPI_Request req[2];
	MPI_Status st[2];

	if (mode == 0)
		OK(MPI_Send_init(
			out, len, MPI_BYTE, right, 1, MPI_COMM_WORLD, &req[0]));
	else if (mode == 1)
		OK(MPI_Ssend_init(
			out, len, MPI_BYTE, right, 1, MPI_COMM_WORLD, &req[0]));
	else
		OK(MPI_Rsend_init(
			out, len, MPI_BYTE, right, 1, MPI_COMM_WORLD, &req[0]));
	OK(MPI_Recv_init(in, len, MPI_BYTE, mode == 1 ? MPI_ANY_SOURCE : left,
		1, MPI_COMM_WORLD, &req[1]));
	for (int i = 0; i < ROUNDS; i++) {
		mtest_fill(out, len, mtest.rank * 50 + i);
		memset(in, 0, len);
		OK(MPI_Start(&req[1]));
		if (mode == 2)
			OK(MPI_Barrier(MPI_COMM_WORLD));
		OK(MPI_Start(&req[0]));
		OK(MPI_Waitall(2, req, st));
		CHECK(req[0] != MPI_REQUEST_NULL && req[1] != MPI_REQUEST_NULL,
			"a wait keeps persistent requests");
		OK(MPI_Get_count(&st[1], MPI_BYTE, &n));
		CHECK(n == len && mtest_same(in, len, left * 50 + i),
			"mode %d: %d B arrive in round %d", mode, len, i);
		CHECK(st[1].MPI_SOURCE == left,
			"the status of round %d has the source", i);
	}
	/* a cancelled receive can be started again */
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Start(&req[1]));
	OK(MPI_Cancel(&req[1]));
	OK(MPI_Wait(&req[1], st));
	OK(MPI_Test_cancelled(st, &flag));
	CHECK(flag && req[1] != MPI_REQUEST_NULL,
		"a cancelled request is complete and kept");
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Request_free(&req[0]));
	OK(MPI_Request_free(&req[1]));
	free(out);
	free(in);
}

int main(int argc, char **argv)
{
	MPI_Request req;
	int x = 0;

	mtest_init(&argc, &argv);
	mtest_offered(MPI_Send_init(&x, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &req),
		"MPI_Send_init");
	OK(MPI_Request_free(&req));
	for (int mode = 0; mode < 3; mode++)
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
			ring(mode, lens[i]);
	return mtest_finish();
}
