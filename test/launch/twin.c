/* SPDX-License-Identifier: BSD-3-Clause */
/* twin: a process that starts a second process of its own rank
 *
 * usage: twin [COMMAND]
 * Each process runs COMMAND in a shell between MPI_Init and a collective.
 * COMMAND inherits the environment, which has the rank of the process. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc > 1)
		printf("rank %d: command ended %s\n", rank,
			system(argv[1]) ? "badly" : "well");
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("rank %d sum %d\n", rank, sum);
	MPI_Finalize();
	return 0;
}
