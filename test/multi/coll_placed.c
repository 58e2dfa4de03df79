/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_placed: collectives of communicators with any order of ranks on nodes
 *
 * The ranks of a node are consecutive, in reverse order, dealt to the nodes in
 * turn, or in random order. Each communicator has more collectives than the
 * four after which its members agree on their nodes. */
#include "mtest.h"

enum { ROUNDS = 8, BLOCK = 50, MOST = 16 };

static int rank, size;

/* The keys of MPI_Comm_split decide the order of ranks. */
static int key_of(int order)
{
	const int rows = mtest.size < 4 ? 1 : mtest.size / 4;
	unsigned long x = (unsigned long)(mtest.rank + 1) * (unsigned)order;

	switch (order) {
	case 0:
		return mtest.rank;
	case 1:
		return -mtest.rank;
	case 2:
		return mtest.rank % rows * mtest.size + mtest.rank;
	default:
		return (int)(x * 2654435761u >> 8 & 0xffff);
	}
}

static void one_value(MPI_Comm comm)
{
	const long mine = rank + 1, sum = (long)size * (size + 1) / 2;

	for (int root = 0; root < size; root++) {
		int x = rank == root ? 7 * root : -1;
		long got = 0;

		OK(MPI_Bcast(&x, 1, MPI_INT, root, comm));
		CHECK(x == 7 * root, "a broadcast of rank %d", root);
		OK(MPI_Reduce(&mine, &got, 1, MPI_LONG, MPI_SUM, root, comm));
		CHECK(rank != root || got == sum, "a sum at rank %d", root);
		got = 0;
		OK(MPI_Allreduce(&mine, &got, 1, MPI_LONG, MPI_SUM, comm));
		CHECK(got == sum, "a sum at all ranks");
	}
	OK(MPI_Barrier(comm));
}

static void blocks(MPI_Comm comm)
{
	int out[MOST * BLOCK], in[MOST * BLOCK];

	for (int i = 0; i < size * BLOCK; i++)
		out[i] = rank * MOST * BLOCK + i;
	OK(MPI_Allgather(out, BLOCK, MPI_INT, in, BLOCK, MPI_INT, comm));
	for (int i = 0; i < size * BLOCK; i++)
		CHECK(in[i] == i / BLOCK * MOST * BLOCK + i % BLOCK,
			"an allgather, item %d", i);
	OK(MPI_Alltoall(out, BLOCK, MPI_INT, in, BLOCK, MPI_INT, comm));
	for (int i = 0; i < size * BLOCK; i++)
		CHECK(in[i] == i / BLOCK * MOST * BLOCK + rank * BLOCK +
					i % BLOCK,
			"an alltoall, item %d", i);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	if (mtest.size > MOST)
		mtest_skip("at most 16 processes");
	for (int order = 0; order < 8; order++) {
		MPI_Comm comm;

		OK(MPI_Comm_split(MPI_COMM_WORLD, 0, key_of(order), &comm));
		OK(MPI_Comm_rank(comm, &rank));
		OK(MPI_Comm_size(comm, &size));
		for (int i = 0; i < ROUNDS; i++) {
			one_value(comm);
			blocks(comm);
		}
		OK(MPI_Comm_free(&comm));
	}
	return mtest_finish();
}
