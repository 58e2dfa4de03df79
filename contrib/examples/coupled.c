/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coupled: two models in one job, each on a process set of the launcher
 *
 * The argument is the name of the set. Each model has a communicator of its own
 * set, in a session that contains nothing else. A second session couples the
 * models: the first process of the job gets the sum of the last one.
 *
 *	mpicc -o coupled coupled.c
 *	mpiexec --pset ocean -n 2 ./coupled ocean : \
 *		--pset air -n 3 ./coupled air
 */
#include <mpi.h>
#include <stdio.h>

/* A communicator of the members of a process set. */
static MPI_Comm comm_of_set(MPI_Session session, const char *set)
{
	MPI_Group group;
	MPI_Comm comm;

	MPI_Group_from_session_pset(session, set, &group);
	MPI_Comm_create_from_group(
		group, set, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Group_free(&group);
	return comm;
}

/* The model: a sum over its own processes. */
static int compute(const char *set)
{
	MPI_Session session;
	MPI_Comm comm;
	int rank, size, sum;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	comm = comm_of_set(session, set);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
	if (rank == 0)
		printf("%s: %d processes, sum of ranks %d\n", set, size, sum);
	MPI_Comm_disconnect(&comm);
	MPI_Session_finalize(&session);
	return sum;
}

/* The coupler: all processes of both models. */
static void couple(const char *set, int sum)
{
	enum { MAX_SIZE = 1024 };
	MPI_Session session;
	MPI_Comm all;
	int rank, size, sums[MAX_SIZE];

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	all = comm_of_set(session, "mpi://WORLD");
	MPI_Comm_rank(all, &rank);
	MPI_Comm_size(all, &size);
	if (size <= MAX_SIZE) {
		MPI_Gather(&sum, 1, MPI_INT, sums, 1, MPI_INT, 0, all);
		if (rank == 0)
			printf("%s received the sum %d of the other model\n",
				set, sums[size - 1]);
	}
	MPI_Comm_disconnect(&all);
	MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: coupled SET\n");
		return 2;
	}
	couple(argv[1], compute(argv[1]));
	return 0;
}
