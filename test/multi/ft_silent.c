/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_silent: WEFT_FAIL_TIMEOUT, and a process that answers no query
 *
 * The other processes wait for a message of the last rank. No process manager
 * reports what happens to it.
 *
 * how=0  the last rank stops itself. Each wait ends with an error, and so does
 *        a collective. The survivors exchange messages. Then the last rank is
 *        killed.
 * how=1  the same, but the last rank is continued: its calls end with errors
 * how=2  the last rank computes for longer than WEFT_FAIL_TIMEOUT. It is on the
 *        node of the others, so no wait ends.
 * how=3  as how=1, but the last rank stops during long messages to and from it,
 *        which end with errors
 * how=4  as how=0, but the last rank stops during such messages
 * how=5  as how=1, but rank 0 sends a message to the stopped process. The
 *        receive fails, because rank 0 has changed the buffer after the send
 *        has failed.
 */
#include "mtest.h"

#include <mpi-ext.h>

enum { SIZE = 4, LAST = SIZE - 1, TAG = 3, COMPUTE_S = 4 };
enum { LEN = 50000000, TESTS = 5, PART = 100000 };

static int pids[SIZE], word = 7;
static char *data;

/* Exchanges messages between the survivors, in a ring. */
static void exchange(void)
{
	int n = LAST, got = -1;

	OK(MPI_Sendrecv(&mtest.rank, 1, MPI_INT, (mtest.rank + 1) % n, TAG,
		&got, 1, MPI_INT, (mtest.rank + n - 1) % n, TAG, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
	CHECK(got == (mtest.rank + n - 1) % n,
		"messages between the survivors arrive");
}

/* Waits for a message of the last rank; at rank 2, with any source. */
static void wait_for_last(void)
{
	int src = mtest.rank == 2 ? MPI_ANY_SOURCE : LAST;
	int rc = MPI_Recv(&word, 1, MPI_INT, src, TAG + 1, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);

	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"the wait for a stopped process fails, got %s",
		mtest_error(rc));
}

/* Rank 0 sends long messages to the last rank, and the other ranks receive such
 * messages, until one fails. On a busy machine the last rank may complete some
 * of them before it stops. */
static void transfer(void)
{
	int rc;

	do {
		rc = mtest.rank == 0
			     ? MPI_Send(data, LEN, MPI_CHAR, LAST, TAG,
				       MPI_COMM_WORLD)
			     : MPI_Recv(data, LEN, MPI_CHAR, LAST, TAG,
				       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} while (rc == MPI_SUCCESS);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"the transfer to or from a stopped process fails, got %s",
		mtest_error(rc));
}

/* The state of the last rank's process; '-' if there is none. */
static char state_of_last(void)
{
	char path[32], state = '-';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pids[LAST]);
	file = fopen(path, "r");
	if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '-';
	if (file)
		fclose(file);
	return state;
}

/* Waits until the state of the last rank is one of `states`. */
static void await_last(const char *states)
{
	double began = mtest_now();

	while (!strchr(states, state_of_last()) &&
		mtest_now() - began < MTEST_SOON_S)
		continue;
	CHECK(strchr(states, state_of_last()),
		"the last rank's state is one of \"%s\", got %c", states,
		state_of_last());
}

static void send_to_stopped(void)
{
	int rc;

	if (mtest.rank != 0) {
		wait_for_last();
		return;
	}
	await_last("T");
	rc = MPI_Ssend(data, PART, MPI_CHAR, LAST, TAG, MPI_COMM_WORLD);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"the send to a stopped process fails, got %s", mtest_error(rc));
	memset(data, 1, PART);
}

/* Waits, and exchanges messages between the survivors. Then rank 0 sends the
 * signal to the last rank, and keeps its memory until the last rank has ended.
 */
static void survive(void (*wait)(void), int sig)
{
	double began = mtest_now();

	wait();
	CHECK(mtest_now() - began < MTEST_SOON_S,
		"the wait ends soon, after %.1f s", mtest_now() - began);
	FAILS(MPI_Barrier(MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED);
	exchange();
	exchange(); /* the second one begins after all waits have ended */
	if (mtest.rank == 0) {
		kill(pids[LAST], sig);
		await_last("ZX-");
	}
}

/* Stops. After the process is continued, its receives from the others fail. */
static void stop(void)
{
	raise(SIGSTOP);
	for (int i = 0; i < LAST; i++)
		FAILS(MPI_Recv(&word, 1, MPI_INT, i, TAG, MPI_COMM_WORLD,
			      MPI_STATUS_IGNORE),
			MPIX_ERR_PROC_FAILED);
}

/* Starts a long message from rank 0, or to another rank. */
static void start(int rank, MPI_Request *req)
{
	if (rank == 0)
		OK(MPI_Irecv(
			data, LEN, MPI_CHAR, rank, TAG, MPI_COMM_WORLD, req));
	else
		OK(MPI_Isend(data + LEN, LEN, MPI_CHAR, rank, TAG,
			MPI_COMM_WORLD, req));
}

/* Stops during its transfers. After the process is continued, they fail. */
static void stop_in_transfer(void)
{
	MPI_Request reqs[LAST];
	int flag;

	for (int i = 0; i < LAST; i++)
		start(i, &reqs[i]);
	for (int i = 0; i < TESTS * LAST; i++) {
		OK(MPI_Test(&reqs[i % LAST], &flag, MPI_STATUS_IGNORE));
		if (flag)
			start(i % LAST, &reqs[i % LAST]);
	}
	raise(SIGSTOP);
	for (int i = 0; i < LAST; i++)
		FAILS(MPI_Wait(&reqs[i], MPI_STATUS_IGNORE),
			MPIX_ERR_PROC_FAILED);
}

/* Stops after it has posted a receive. After the process is continued, the
 * receive fails. */
static void stop_before_message(void)
{
	MPI_Request req;

	OK(MPI_Irecv(data, PART, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &req));
	raise(SIGSTOP);
	FAILS(MPI_Wait(&req, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
}

static void compute(void)
{
	double began = mtest_now();

	while (mtest_now() - began < COMPUTE_S)
		continue;
	for (int i = 0; i < LAST; i++)
		OK(MPI_Send(&word, 1, MPI_INT, i, TAG, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
	int how = (int)mtest_arg(argc, argv, "how", 0), pid = getpid();

	mtest_init(&argc, &argv);
	OK(MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	data = calloc(2, LEN);
	if (how == 2 && mtest.rank == LAST)
		compute();
	else if (how == 2)
		OK(MPI_Recv(&word, 1, MPI_INT, LAST, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	else if (mtest.rank == LAST)
		how == 5  ? stop_before_message()
		: how > 2 ? stop_in_transfer()
			  : stop();
	else
		survive(how == 5  ? send_to_stopped
			: how > 2 ? transfer
				  : wait_for_last,
			how % 2 ? SIGCONT : SIGKILL);
	free(data);
	return mtest_finish();
}
