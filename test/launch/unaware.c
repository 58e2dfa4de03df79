/* SPDX-License-Identifier: BSD-3-Clause */
/* unaware: two processes that exchange 100 messages of 8 bytes; for tool.test
 */
#include <mpi.h>

int main(int argc, char **argv)
{
	long word = 0;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 100; i++)
		MPI_Sendrecv_replace(&word, 1, MPI_LONG, !rank, 1, !rank, 1,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return MPI_Finalize();
}
