/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_quiet: which process reports a long wait, and what it reports
 *
 * Needs WEFT_STALL_WARN=1. Three processes.
 *
 * chain()  Rank 2 makes no call, rank 1 waits for rank 2, and rank 0 waits for
 *          rank 1. Only rank 1 reports its wait. Over a fabric, the progress
 *          thread of rank 2 answers. In shared memory, rank 2 does not answer.
 * moves()  Rank 0 waits for ranks that access a window all the time. It reports
 *          that wait, but not before four times WEFT_STALL_WARN.
 *
 * If the machine does not run a process for half a second, the process does not
 * answer, and its peers report that. If it does not run the thread that makes
 * the calls, the progress thread answers that the process is in no call. Such a
 * round is repeated.
 */
#include "output.h"

enum { ROUNDS = 5 };

static int number = 1, pids[3];

static void swap_pids(void)
{
	int pid = getpid();

	OK(MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD));
}

static bool chain(void)
{
	bool is_good;

	OK(MPI_Barrier(MPI_COMM_WORLD));
	output_capture();
	if (mtest.rank == 2)
		output_wait_from(pids[1], "MPI-WAIT MPI_Recv");
	else
		OK(MPI_Recv(&number, 1, MPI_INT, mtest.rank + 1, 0,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	if (mtest.rank)
		OK(MPI_Send(&number, 1, MPI_INT, mtest.rank - 1, 0,
			MPI_COMM_WORLD));
	output_restore();
	is_good = output_count("MPI-WAIT") == (mtest.rank == 1);
	if (mtest.rank == 1)
		is_good &=
			output_count("rank 2 (process 2) is not answering") +
				output_count("rank 2 (process 2) is in no MPI "
					     "call that makes progress") ==
			1;
	return is_good;
}

static bool moves(MPI_Win win)
{
	const char *at;
	unsigned waited = 0;

	OK(MPI_Barrier(MPI_COMM_WORLD));
	output_capture();
	while (mtest.rank && !output_has_from(pids[0], "MPI-WAIT MPI_Barrier"))
		for (int i = 0; i < 1000; i++) {
			OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
			OK(MPI_Put(&number, 1, MPI_INT, 0, mtest.rank, 1,
				MPI_INT, win));
			OK(MPI_Win_unlock(0, win));
		}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	output_restore();
	if (mtest.rank)
		return true;
	at = strstr(output_text, "MPI_Barrier has waited ");
	if (at)
		sscanf(at, "MPI_Barrier has waited %u", &waited);
	return waited >= 4 &&
	       output_count("is in MPI calls, none of which") >= 1;
}

/* Collective. True if rank 0 passed, or if its failure has another cause than a
 * stall of the machine. */
static int is_over(bool *good)
{
	int over =
		*good || !(output_count("is not answering") ||
				 output_count("is in no MPI call that makes"));

	OK(MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD));
	return over;
}

int main(int argc, char **argv)
{
	int *base, is_good, all = 0;
	bool good = false;
	MPI_Win win;

	mtest_init(&argc, &argv);
	if (mtest.size != 3)
		mtest_skip("three processes are needed");
	swap_pids();
	OK(MPI_Win_allocate(3 * sizeof(int), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &base, &win));
	for (int i = 0; i < ROUNDS && !all; i++) {
		is_good = chain();
		OK(MPI_Allreduce(
			&is_good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
	}
	CHECK(all, "of a chain of waits only the last one is reported");
	for (int i = 0, over = 0; i < ROUNDS && !over; i++) {
		good = moves(win);
		over = is_over(&good);
	}
	CHECK(good, "a wait for processes that make calls is reported after "
		    "four times the limit");
	OK(MPI_Win_free(&win));
	return mtest_finish();
}
