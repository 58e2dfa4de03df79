/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waiter: ranks that wait in a barrier or for a message
 *
 * usage: waiter [ANY]
 * Rank 1 receives from the last rank, and the other ranks wait in a barrier.
 * The last rank is outside MPI until it receives SIGUSR1. With an argument, it
 * has no handler for SIGUSR1, and never calls MPI again.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t is_signalled;

static void on_usr1(int sig)
{
	(void)sig;
	is_signalled = 1;
}

int main(int argc, char **argv)
{
	int rank, size, word = 7;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank == size - 1 && argc == 1)
		signal(SIGUSR1, on_usr1);
	printf("up %d\n", rank);
	fflush(stdout);
	while (rank == size - 1 && !is_signalled)
		usleep(10000);
	if (rank == size - 1)
		MPI_Send(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
	else if (rank == 1)
		MPI_Recv(&word, 1, MPI_INT, size - 1, 5, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return word != 7;
}
