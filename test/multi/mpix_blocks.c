/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpix_blocks: redistribution of an array between numbers of processes
 *
 * Tests MPIX_Redistribute_block: every old and new number of processes, uneven
 * blocks, derived types, and arguments that differ between the members.
 */
#include "mtest.h"

enum { N = 1003, BYTES = 12 };

/* First item of block i, if N items are cut into n blocks. */
static long block_start(long i, long n)
{
	return i < n ? N * i / n : N;
}

/* Moves an array from n_old to n_new processes, and checks each byte. */
static void moved(int n_old, int n_new, MPI_Datatype item)
{
	long from = block_start(mtest.rank, n_old);
	long to = block_start(mtest.rank, n_new);
	long n_from = block_start(mtest.rank + 1, n_old) - from;
	long n_to = block_start(mtest.rank + 1, n_new) - to;
	unsigned char *a = mtest_alloc(N * BYTES), *b = mtest_alloc(N * BYTES);
	unsigned char *all = mtest_alloc(N * BYTES);

	mtest_fill(all, N * BYTES, 5);
	memcpy(a, all + from * BYTES, n_from * BYTES);
	memset(b, 0xee, N * BYTES);
	OK(MPIX_Redistribute_block(n_from ? a : NULL, n_from, n_to ? b : NULL,
		n_to, item, MPI_COMM_WORLD));
	CHECK(!memcmp(b, all + to * BYTES, n_to * BYTES),
		"%d to %d: the block has its items", n_old, n_new);
	CHECK(mtest_all(b + n_to * BYTES, (N - n_to) * BYTES, 0xee),
		"%d to %d: nothing is written after the block", n_old, n_new);
	free(a);
	free(b);
	free(all);
}

/* The lower ranks hold more than the higher ones; the result is reversed. */
static void uneven(void)
{
	int n = mtest.size;
	int n_from = n - mtest.rank, n_to = mtest.rank + 1;
	int *a = mtest_alloc(n_from * sizeof(int));
	int *b = mtest_alloc(n_to * sizeof(int));
	int first = 0, start = 0, is_same = 1;

	for (int i = 0; i < mtest.rank; i++) {
		first += n - i;
		start += i + 1;
	}
	for (int i = 0; i < n_from; i++)
		a[i] = first + i;
	OK(MPIX_Redistribute_block(
		a, n_from, b, n_to, MPI_INT, MPI_COMM_WORLD));
	for (int i = 0; i < n_to; i++)
		is_same &= b[i] == start + i;
	CHECK(is_same, "uneven blocks have their items");
	free(a);
	free(b);
}

/* An invalid argument of one member is an error of all members. The
 * communicator can be used afterwards. */
static void wrong(void)
{
	int last = mtest.rank == mtest.size - 1;
	int a[2] = { 0 }, b[2] = { 0 };
	MPI_Comm comm = MPI_COMM_WORLD;

	FAILS(MPIX_Redistribute_block(a, 1, b, last ? 2 : 1, MPI_INT, comm),
		MPI_ERR_COUNT);
	FAILS(MPIX_Redistribute_block(a, last ? -1 : 1, b, 1, MPI_INT, comm),
		MPI_ERR_COUNT);
	FAILS(MPIX_Redistribute_block(
		      a, 1, last ? (void *)a : b, 1, MPI_INT, comm),
		MPI_ERR_BUFFER);
	FAILS(MPIX_Redistribute_block(last ? NULL : a, 1, b, 1, MPI_INT, comm),
		MPI_ERR_BUFFER);
	if (mtest.size > 1)
		FAILS(MPIX_Redistribute_block(
			      a, 1, b, 1, last ? MPI_CHAR : MPI_INT, comm),
			MPI_ERR_NOT_SAME);
	OK(MPIX_Redistribute_block(NULL, 0, NULL, 0, MPI_INT, comm));
	FAILS(MPIX_Redistribute_block(a, 1, b, 1, MPI_INT, MPI_COMM_NULL),
		MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
	MPI_Datatype item;

	mtest_init(&argc, &argv);
	OK(MPI_Type_contiguous(BYTES, MPI_BYTE, &item));
	OK(MPI_Type_commit(&item));
	for (int n_old = 1; n_old <= mtest.size; n_old++)
		for (int n_new = 1; n_new <= mtest.size; n_new++)
			moved(n_old, n_new, item);
	uneven();
	wrong();
	OK(MPI_Type_free(&item));
	return mtest_finish();
}
