/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_mpi: both APIs in one program, in any order of initialization and
 * finalization
 *
 * first=shmem: SHMEM is initialized first, and MPI is finalized first.
 * Otherwise MPI is initialized first, and SHMEM is finalized first and then
 * initialized again. */
#include "stest.h"

#include <mpi.h>

static long word, sum, ones;

static void both(int round)
{
	int rank, size, in, out = -1;
	MPI_Request reqs[2];

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	CHECK(rank == stest.me && size == stest.n, "ranks are PE numbers");
	in = rank + round;
	MPI_Irecv(&out, 1, MPI_INT, stest_before(), round, MPI_COMM_WORLD,
		&reqs[0]);
	MPI_Isend(
		&in, 1, MPI_INT, stest_next(), round, MPI_COMM_WORLD, &reqs[1]);
	/* a wait of one API makes progress on operations of the other */
	shmem_p(&word, (long)in, stest_next());
	shmem_wait_until(&word, SHMEM_CMP_EQ, (long)stest_before() + round);
	MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);
	CHECK(out == stest_before() + round,
		"the message of the PE before arrives: %d", out);
	ones = 1;
	shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &ones, 1);
	CHECK(sum == size, "OpenSHMEM returns the sum");
	MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	CHECK(sum == (long)size * size, "MPI returns the sum");
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	bool shmem_first = argc > 1 && !strcmp(argv[1], "first=shmem");
	MPI_Session session;

	stest_start(argv[0]);
	if (shmem_first)
		shmem_init();
	MPI_Init(&argc, &argv);
	if (!shmem_first)
		shmem_init();
	stest_set_pe();
	for (int round = 1; round <= 50; round++)
		both(round);
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	if (shmem_first) {
		MPI_Finalize();
		shmem_long_p(&word, 9, stest_next());
		shmem_barrier_all();
		CHECK(word == 9, "one API works after the other has finalized");
		shmem_finalize();
	} else {
		shmem_finalize();
		MPI_Barrier(MPI_COMM_WORLD);
		shmem_init();
		both(99);
		shmem_finalize();
		MPI_Finalize();
	}
	MPI_Session_finalize(&session);
	return stest.n_failed != 0;
}
