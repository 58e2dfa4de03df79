/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_self: a process can send to itself, on MPI_COMM_SELF and MPI_COMM_WORLD
 */
#include "mtest.h"

static const int lens[] = { 0, 1, 1000, 70000, 2000000 };

static void exchange(MPI_Comm comm, int me, int len, bool posted_first)
{
	char *out = mtest_alloc(len), *in = mtest_alloc(len);
	MPI_Request req[2];
	MPI_Status st[2];
	int n = -1;

	mtest_fill(out, len, len);
	if (posted_first)
		OK(MPI_Irecv(in, len, MPI_BYTE, me, 4, comm, &req[1]));
	OK(MPI_Isend(out, len, MPI_BYTE, me, 4, comm, &req[0]));
	if (!posted_first)
		OK(MPI_Irecv(
			in, len, MPI_BYTE, MPI_ANY_SOURCE, 4, comm, &req[1]));
	OK(MPI_Waitall(2, req, st));
	OK(MPI_Get_count(&st[1], MPI_BYTE, &n));
	CHECK(n == len && mtest_same(in, len, len),
		"%d B to this process itself arrive", len);
	CHECK(st[1].MPI_SOURCE == me, "the rank of this process is the source");
	free(out);
	free(in);
}

static void synchronous(MPI_Comm comm, int me)
{
	MPI_Request req;
	int v = 9, got = 0, flag = 1;

	OK(MPI_Issend(&v, 1, MPI_INT, me, 1, comm, &req));
	OK(MPI_Test(&req, &flag, MPI_STATUS_IGNORE));
	CHECK(!flag, "an unmatched synchronous send is not complete");
	OK(MPI_Recv(&got, 1, MPI_INT, me, 1, comm, MPI_STATUS_IGNORE));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	CHECK(got == 9, "the synchronous message arrives");
	OK(MPI_Sendrecv(&v, 1, MPI_INT, me, 2, &got, 1, MPI_INT, me, 2, comm,
		MPI_STATUS_IGNORE));
	OK(MPI_Sendrecv_replace(
		&v, 1, MPI_INT, me, 2, me, 2, comm, MPI_STATUS_IGNORE));
	CHECK(v == 9, "sendrecv_replace with the own rank returns the data");
}

static void truncated(MPI_Comm comm, int me)
{
	char out[64] = "", in[64];
	MPI_Request req;

	memset(in, 3, sizeof(in));
	OK(MPI_Isend(out, 64, MPI_BYTE, me, 1, comm, &req));
	FAILS(MPI_Recv(in, 10, MPI_BYTE, me, 1, comm, MPI_STATUS_IGNORE),
		MPI_ERR_TRUNCATE);
	CHECK(mtest_all(in + 10, 54, 3),
		"nothing is written beyond the buffer");
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		for (int first = 0; first < 2; first++) {
			exchange(MPI_COMM_SELF, 0, lens[i], first);
			exchange(MPI_COMM_WORLD, mtest.rank, lens[i], first);
		}
	synchronous(MPI_COMM_SELF, 0);
	synchronous(MPI_COMM_WORLD, mtest.rank);
	truncated(MPI_COMM_SELF, 0);
	truncated(MPI_COMM_WORLD, mtest.rank);
	return mtest_finish();
}
