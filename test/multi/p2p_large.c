/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_large: messages of at most mib= MiB, with MPI_Count arguments */
#include "mtest.h"

static void blocking(MPI_Count n)
{
	int peer = mtest.rank ^ 1;
	short *buf = mtest_alloc(n * sizeof(short));
	MPI_Count got = -1;
	MPI_Status st;

	if (mtest.rank == 0) {
		mtest_fill(buf, n * sizeof(short), 3);
		OK(MPI_Send_c(buf, n, MPI_SHORT, peer, 1, MPI_COMM_WORLD));
		OK(MPI_Ssend_c(buf, n, MPI_SHORT, peer, 2, MPI_COMM_WORLD));
	} else if (mtest.rank == 1) {
		for (int tag = 1; tag <= 2; tag++) {
			memset(buf, 0, n * sizeof(short));
			OK(MPI_Recv_c(buf, n, MPI_SHORT, peer, tag,
				MPI_COMM_WORLD, &st));
			OK(MPI_Get_count_c(&st, MPI_SHORT, &got));
			CHECK(got == n,
				"the status counts %lld shorts, got %lld",
				(long long)n, (long long)got);
			CHECK(mtest_same(buf, n * sizeof(short), 3),
				"%lld shorts arrive unchanged", (long long)n);
		}
	}
	free(buf);
}

static void nonblocking(MPI_Count n)
{
	int right = (mtest.rank + 1) % mtest.size;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	char *out = mtest_alloc(n), *in = mtest_alloc(n);
	MPI_Request req[2];

	mtest_fill(out, n, mtest.rank);
	OK(MPI_Irecv_c(in, n, MPI_BYTE, left, 1, MPI_COMM_WORLD, &req[0]));
	OK(MPI_Isend_c(out, n, MPI_BYTE, right, 1, MPI_COMM_WORLD, &req[1]));
	OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
	CHECK(mtest_same(in, n, left),
		"a message of isend_c and irecv_c arrives");
	memset(in, 0, n);
	OK(MPI_Sendrecv_c(out, n, MPI_BYTE, right, 2, in, n, MPI_BYTE, left, 2,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(mtest_same(in, n, left), "a message of sendrecv_c arrives");
	free(out);
	free(in);
}

/* Queries sizes that do not fit into an int. No such memory is used. */
static void beyond_int(void)
{
	const MPI_Count huge = (MPI_Count)3 << 30;
	MPI_Count size = 0, lb = -1, extent = 0;
	MPI_Datatype type;
	int small = 0;

	OK(MPI_Type_contiguous_c(huge, MPI_INT, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Type_size_c(type, &size));
	CHECK(size == huge * 4, "the size of the type is 12 GiB, got %lld",
		(long long)size);
	OK(MPI_Type_get_extent_c(type, &lb, &extent));
	CHECK(lb == 0 && extent == huge * 4,
		"the extent is above the maximum of an int");
	OK(MPI_Type_size(type, &small));
	CHECK(small == MPI_UNDEFINED, "no int holds the size, got %d", small);
	OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
	long mib;

	mtest_init(&argc, &argv);
	mtest_need(2);
	mib = mtest_arg(argc, argv, "mib", 64);
	for (MPI_Count n = 0; n <= (MPI_Count)mib << 19; n = n * 5 + 1)
		blocking(n);
	blocking((MPI_Count)mib << 19);
	nonblocking(100003);
	beyond_int();
	return mtest_finish();
}
