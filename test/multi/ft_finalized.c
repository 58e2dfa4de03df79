/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_finalized: a process waits for one to which it has never talked, and which
 * has finalized MPI after a failure
 *
 * Six processes. The last one is killed. Then ranks 3 and 4 finalize. Ranks 0
 * and 1 wait for messages from them. These waits end with an error, although
 * ranks 3 and 4 make no MPI call any more. They exit when ranks 0 and 1 have
 * exited; exited=1: before ranks 0 and 1 wait.
 *
 * polls=1, with exited=1: ranks 0 and 1 poll for these messages, and receive
 * messages from each other all the time. The process manager reports no exit.
 */
#define _GNU_SOURCE
#include "mtest.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/prctl.h>

enum { N = 6, HALF = 3, TAG = 3 };

static const char mark[] = "finalized";
static long polls;

/* The process manager's client library. With polls=1, its answer is that of
 * process managers that do not report exits. */
int PMIx_Query_info_nb(void *queries, size_t n, void *fn, void *arg);
int PMIx_Query_info_nb(void *queries, size_t n, void *fn, void *arg)
{
	enum { NOT_SUPPORTED = -47 };
	int (*query)(void *, size_t, void *, void *) =
		dlsym(RTLD_NEXT, "PMIx_Query_info_nb");

	return polls ? NOT_SUPPORTED : query(queries, n, fn, arg);
}

static void pause_shortly(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	nanosleep(&pause, NULL);
}

static void wait_for_end(int pid)
{
	while (kill(pid, 0) == 0)
		pause_shortly();
	CHECK(errno == ESRCH, "the process has exited");
}

/* Waits until the process has set its name to `mark`. */
static void wait_for_mark(int pid)
{
	char path[64], name[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	while (strncmp(name, mark, sizeof(mark) - 1)) {
		FILE *file = fopen(path, "r");

		CHECK(file && fgets(name, sizeof(name), file),
			"the process is there");
		if (!file)
			return;
		fclose(file);
		pause_shortly();
	}
}

static void wait_for_death(void)
{
	double began = mtest_now();
	MPI_Group group = MPI_GROUP_EMPTY;

	while (group == MPI_GROUP_EMPTY && mtest_now() - began < MTEST_SOON_S) {
		int flag;

		OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag,
			MPI_STATUS_IGNORE));
		OK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &group));
	}
	CHECK(group != MPI_GROUP_EMPTY, "the death is reported soon");
	if (group != MPI_GROUP_EMPTY)
		OK(MPI_Group_free(&group));
}

/* Polls for a message from a member that has exited, until the call fails.
 * Ranks 0 and 1 exchange messages until both have seen the failure. */
static void poll_beside_messages(int from)
{
	int value = 0, flag = 0, err = 0, is_over, other_is_over = 0;
	MPI_Request req;

	OK(MPI_Irecv(&value, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &req));
	do {
		for (int i = 0; i < 1000 && !flag; i++)
			err = MPI_Test(&req, &flag, MPI_STATUS_IGNORE);
		is_over = flag;
		OK(MPI_Sendrecv(&is_over, 1, MPI_INT, 1 - mtest.rank, 0,
			&other_is_over, 1, MPI_INT, 1 - mtest.rank, 0,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	} while (!is_over || !other_is_over);
	MPI_Error_class(err, &err);
	CHECK(err == MPIX_ERR_PROC_FAILED, "the poll fails: class %d", err);
}

int main(int argc, char **argv)
{
	int pid = getpid(), pids[N], value = 0;
	long is_exited;

	mtest_init(&argc, &argv);
	mtest_need(N);
	is_exited = mtest_arg(argc, argv, "exited", 0);
	polls = mtest_arg(argc, argv, "polls", 0);
	OK(MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD));
	/* The barrier may fail if the last rank dies after all have entered. */
	(void)MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank == N - 1)
		raise(SIGKILL);
	wait_for_death();
	if (mtest.rank + HALF < N - 1) {
		if (is_exited)
			wait_for_end(pids[mtest.rank + HALF]);
		else
			wait_for_mark(pids[mtest.rank + HALF]);
		if (polls)
			poll_beside_messages(mtest.rank + HALF);
		else
			FAILS(MPI_Recv(&value, 1, MPI_INT, mtest.rank + HALF,
				      TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
				MPIX_ERR_PROC_FAILED);
	}
	MPI_Finalize();
	prctl(PR_SET_NAME, mark);
	if (mtest.rank >= HALF && !is_exited)
		wait_for_end(pids[mtest.rank - HALF]);
	return mtest_done();
}
