/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_sendrecv: rings of Sendrecv and Sendrecv_replace of every size */
#include "mtest.h"

static const int lens[] = { 0, 1, 64, 1000, 8192, 65536, 1000000 };

static void ring(int len)
{
	int right = (mtest.rank + 1) % mtest.size;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	char *out = mtest_alloc(len), *in = mtest_alloc(len + 10);
	MPI_Status st;
	int n = -1;

	mtest_fill(out, len, mtest.rank);
	OK(MPI_Sendrecv(out, len, MPI_BYTE, right, mtest.rank, in, len + 10,
		MPI_BYTE, left, left, MPI_COMM_WORLD, &st));
	OK(MPI_Get_count(&st, MPI_BYTE, &n));
	CHECK(n == len && mtest_same(in, len, left),
		"%d B are passed around the ring", len);
	CHECK(st.MPI_SOURCE == left && st.MPI_TAG == left,
		"the status has the left neighbour's source and tag");
	free(out);
	free(in);
}

static void ring_replace(int len)
{
	int right = (mtest.rank + 1) % mtest.size;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	char *buf = mtest_alloc(len);
	MPI_Status st;

	mtest_fill(buf, len, mtest.rank);
	for (int hop = 1; hop <= mtest.size; hop++) {
		int owner = (mtest.rank + mtest.size - hop) % mtest.size;

		OK(MPI_Sendrecv_replace(buf, len, MPI_BYTE, right, 9, left, 9,
			MPI_COMM_WORLD, &st));
		CHECK(mtest_same(buf, len, owner),
			"%d B of another rank arrive at hop %d", len, hop);
		CHECK(st.MPI_SOURCE == left,
			"the status has the left neighbour as source");
	}
	free(buf);
}

/* A replacement of strided data does not change the gaps. */
static void replace_strided(void)
{
	int right = (mtest.rank + 1) % mtest.size;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	int grid[20], good = 1;
	MPI_Datatype column;

	for (int i = 0; i < 20; i++)
		grid[i] = mtest.rank * 100 + i;
	OK(MPI_Type_vector(5, 1, 4, MPI_INT, &column));
	OK(MPI_Type_commit(&column));
	OK(MPI_Sendrecv_replace(grid, 1, column, right, 3, left, 3,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	for (int i = 0; i < 20; i++)
		good &= grid[i] == (i % 4 ? mtest.rank : left) * 100 + i;
	CHECK(good, "only the column is replaced");
	OK(MPI_Type_free(&column));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		ring(lens[i]);
		ring_replace(lens[i]);
	}
	replace_strided();
	return mtest_finish();
}
