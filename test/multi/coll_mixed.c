/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_mixed: collectives in a row, interleaved, and mixed with messages
 */
#include "mtest.h"

enum { ROUNDS = 200 };

/* Calls different collectives with changing roots, without a barrier between
 * them. */
static void back_to_back(MPI_Comm comm)
{
	int rank, size, word, sum;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	int *all = calloc(size, sizeof(int));
	for (int i = 0; i < ROUNDS; i++) {
		int root = i % size;

		word = rank == root ? i * 3 : -1;
		OK(MPI_Bcast(&word, 1, MPI_INT, root, comm));
		CHECK(word == i * 3,
			"round %d: a bcast returns the root's item, got %d", i,
			word);
		word = rank + i;
		OK(MPI_Reduce(&word, &sum, 1, MPI_INT, MPI_SUM, root, comm));
		CHECK(rank != root || sum == size * (size - 1) / 2 + i * size,
			"round %d: a reduce returns the sum, got %d", i, sum);
		OK(MPI_Gather(&word, 1, MPI_INT, all, 1, MPI_INT, root, comm));
		CHECK(rank != root || all[size - 1] == size - 1 + i,
			"round %d: a gather returns the last item", i);
		OK(MPI_Scatter(all, 1, MPI_INT, &word, 1, MPI_INT, root, comm));
		CHECK(word == rank + i,
			"round %d: a scatter returns the item of this rank, "
			"got %d",
			i, word);
		if (i % 10 == rank % 10)
			mtest_linger(1);
	}
	free(all);
}

/* A receive with wildcards matches no message of a collective on its
 * communicator. */
static void beside_messages(MPI_Comm comm)
{
	int rank, size, got = -1, word, sum = 0;
	MPI_Request req;
	MPI_Status st;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	for (int i = 0; i < 50; i++) {
		OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
			comm, &req));
		OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
		OK(MPI_Barrier(comm));
		word = rank * 1000 + i;
		OK(MPI_Send(&word, 1, MPI_INT, (rank + 1) % size, 7, comm));
		OK(MPI_Wait(&req, &st));
		CHECK(got == (rank + size - 1) % size * 1000 + i,
			"the wildcard gets the message, %d", got);
		CHECK(st.MPI_TAG == 7, "the status has the tag");
		CHECK(sum == size * (size - 1) / 2, "the sum is right");
		OK(MPI_Barrier(comm));
	}
}

/* Members call the collectives of two communicators in the same order, some of
 * them late. */
static void two_communicators(void)
{
	MPI_Comm a, b;
	int one = 1, x = 0, y = 0;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &a));
	OK(MPI_Comm_split(MPI_COMM_WORLD, mtest.rank % 2, 0, &b));
	for (int i = 0; i < ROUNDS; i++) {
		OK(MPI_Allreduce(&one, &x, 1, MPI_INT, MPI_SUM, a));
		OK(MPI_Allreduce(&one, &y, 1, MPI_INT, MPI_SUM, b));
		CHECK(x == mtest.size, "the sum over all members is right: %d",
			x);
		CHECK(y == (mtest.size + 1 - mtest.rank % 2) / 2,
			"the sum over half of the members is right: %d", y);
	}
	OK(MPI_Comm_free(&a));
	OK(MPI_Comm_free(&b));
}

/* no process returns from a barrier before the last process has entered it */
static void barrier_holds(void)
{
	double late, left;

	for (int late_rank = 0; late_rank < mtest.size && late_rank < 3;
		late_rank++) {
		OK(MPI_Barrier(MPI_COMM_WORLD));
		if (mtest.rank == late_rank)
			mtest_linger(100);
		late = mtest.rank == late_rank ? mtest_now() : 0;
		OK(MPI_Barrier(MPI_COMM_WORLD));
		left = mtest_now();
		/* one clock for all processes of a host */
		OK(MPI_Bcast(&late, 1, MPI_DOUBLE, late_rank, MPI_COMM_WORLD));
		CHECK(left >= late,
			"the barrier ended %.6f s before rank %d entered",
			late - left, late_rank);
	}
}

int main(int argc, char **argv)
{
	MPI_Comm dup;

	mtest_init(&argc, &argv);
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
	back_to_back(MPI_COMM_WORLD);
	back_to_back(dup);
	beside_messages(MPI_COMM_WORLD);
	beside_messages(dup);
	two_communicators();
	barrier_holds();
	OK(MPI_Comm_free(&dup));
	return mtest_finish();
}
