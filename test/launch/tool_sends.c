/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_sends: a tool on PMPI that prints how often MPI_Send was called */
#include <mpi.h>

#include <stdio.h>

static int n_sends;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest,
	int tag, MPI_Comm comm)
{
	n_sends++;
	return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Finalize(void)
{
	printf("tool: %d sends\n", n_sends);
	return PMPI_Finalize();
}
