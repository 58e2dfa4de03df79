/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_departed: a process sends to a process that has ended, after a third
 * process has failed
 *
 * Three processes. Rank 2 fails, and rank 0 ends without receiving. At first,
 * the buffers of the fabric accept the messages of rank 1. Then the sends end
 * with an error, because no process will ever receive the messages.
 */
#include "mtest.h"

#include <errno.h>

static void wait_for_end(int pid)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	while (kill(pid, 0) == 0)
		nanosleep(&pause, NULL);
	CHECK(errno == ESRCH, "rank 0 has exited");
}

static void send_to_gone(MPI_Comm comm)
{
	long value[2] = { 1, 2 };
	MPI_Request reqs[2];
	int err = MPI_SUCCESS;

	while (err == MPI_SUCCESS) {
		for (int i = 0; i < 2; i++)
			OK(MPI_Isend(
				&value[i], 1, MPI_LONG, 0, 3, comm, &reqs[i]));
		err = MPI_Wait(&reqs[0], MPI_STATUS_IGNORE);
		if (err == MPI_SUCCESS)
			err = MPI_Wait(&reqs[1], MPI_STATUS_IGNORE);
		else
			CHECK(MPI_Wait(&reqs[1], MPI_STATUS_IGNORE) !=
					MPI_SUCCESS,
				"the later send fails, too");
	}
	CHECK(MPI_Barrier(comm) != MPI_SUCCESS, "collectives fail, too");
}

int main(int argc, char **argv)
{
	int pid = getpid(), pids[3];
	MPI_Comm comm;

	mtest_init(&argc, &argv);
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	OK(MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, comm));
	if (mtest.rank == 2) {
		/* the other ranks have received all messages of this rank */
		for (int i = 0; i < 2; i++)
			OK(MPI_Recv(&pid, 1, MPI_INT, i, 1, comm,
				MPI_STATUS_IGNORE));
		raise(SIGKILL);
	}
	OK(MPI_Send(&pid, 1, MPI_INT, 2, 1, comm));
	if (mtest.rank == 0) {
		CHECK(MPI_Barrier(comm) != MPI_SUCCESS,
			"a collective with a failed member fails");
	} else {
		wait_for_end(pids[0]);
		send_to_gone(comm);
	}
	MPI_Comm_free(&comm);
	MPI_Finalize();
	return mtest_done();
}
