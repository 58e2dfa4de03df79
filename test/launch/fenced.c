/* SPDX-License-Identifier: BSD-3-Clause */
/* fenced: a job whose processes are not permitted to open each other's memory
 *
 * Short and long messages, a collective, a window. Prints one line per process
 * with the result. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { LONG = 300000 };

static int n_wrong;

static void swap_with_next(int rank, int size, int n)
{
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	int *out = malloc((size_t)n * sizeof(*out));
	int *in = calloc((size_t)n, sizeof(*in));

	for (int i = 0; i < n; i++)
		out[i] = rank + i;
	MPI_Sendrecv(out, n, MPI_INT, next, n, in, n, MPI_INT, last, n,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < n; i++)
		n_wrong += in[i] != last + i;
	free(out);
	free(in);
}

static void put_to_next(int rank, int size)
{
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	int *memory;
	MPI_Win win;

	MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &win);
	*memory = -1;
	MPI_Win_fence(0, win);
	MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	n_wrong += *memory != last;
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	int rank, size, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	swap_with_next(rank, size, 1);
	swap_with_next(rank, size, LONG);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	n_wrong += sum != size * (size - 1) / 2;
	put_to_next(rank, size);
	printf("process %d: %d wrong\n", rank, n_wrong);
	MPI_Finalize();
	return n_wrong != 0;
}
