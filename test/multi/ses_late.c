/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_late: a process that is late in MPI_Finalize sees no failure of processes
 * that have left it and exited
 *
 * Rank 2 is stopped in MPI_Finalize, before it has forwarded the last message
 * of rank 0 to rank 3. Ranks 0 and 1 exit. Rank 3 queries them, and rank 2
 * answers that query later. Needs WEFT_STALL_WARN=1.
 */
#include "mtest.h"

#include "output.h"
#include <signal.h>

enum {
	STOP_MS = 100, /* from the last barrier to the stop */
	STOPPED_MS = 6000,
	ROOT_MS = 1000 /* rank 0 calls MPI_Finalize so late */
};

/* A child of this process stops it for some time. */
static void stop_soon(void)
{
	pid_t pid = getpid();

	if (fork())
		return;
	mtest_linger(STOP_MS);
	kill(pid, SIGSTOP);
	mtest_linger(STOPPED_MS);
	kill(pid, SIGCONT);
	_exit(0);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(4);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	output_capture();
	if (mtest.rank == 2)
		stop_soon();
	if (mtest.rank == 0)
		mtest_linger(ROOT_MS);
	OK(MPI_Finalize());
	output_restore();
	CHECK(output_count("CORE-") == 0, "no failure is reported");
	return mtest_done();
}
