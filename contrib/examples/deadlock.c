/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deadlock: a program that cannot end, for the tools that find the reason
 *
 * Each process receives from its right neighbour before it sends.
 *
 *	mpicc -g -o deadlock deadlock.c
 *	mpiexec --timeout 20 -n 3 ./deadlock
 */
#include <mpi.h>

int main(int argc, char **argv)
{
	int rank, size, number;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Recv(&number, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	MPI_Send(
		&rank, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
