/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_full: messages for which a ring has no space arrive without a call of
 * their sender
 *
 * Rank 0 starts more messages than the ring holds before rank 1 begins, and
 * computes until rank 1 has received all of them. The ranks synchronize by
 * writing a flag in each other's memory.
 */
#define _GNU_SOURCE
#include "cma.h"

#include <stdatomic.h>

enum { N = 24, LEN = 40000 };

static unsigned char data[N][LEN];
static atomic_long is_signalled;

static int len_of(int i)
{
	return i % 3 == 2 ? 100 : LEN - i;
}

static void signal_peer(const long to[2])
{
	long yes = 1;
	struct iovec local = { &yes, sizeof(yes) },
		     remote = { (void *)to[1], sizeof(yes) };

	CHECK(process_vm_writev((pid_t)to[0], &local, 1, &remote, 1, 0) ==
			(ssize_t)sizeof(yes),
		"the flag of the other process is written");
}

static void wait_for_signal(void)
{
	while (!atomic_load(&is_signalled))
		usleep(1000);
}

int main(int argc, char **argv)
{
	long mine[2] = { (long)getpid(), (long)&is_signalled }, theirs[2];
	MPI_Request reqs[N];
	int wrong = 0;

	mtest_init(&argc, &argv);
	if (!cma_is_permitted(MPI_COMM_WORLD))
		mtest_skip("the library does not read other processes' memory "
			   "here");
	OK(MPI_Sendrecv(mine, 2, MPI_LONG, 1 - mtest.rank, 0, theirs, 2,
		MPI_LONG, 1 - mtest.rank, 0, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
	if (mtest.rank == 1)
		wait_for_signal();
	for (int i = 0; i < N; i++)
		if (mtest.rank == 0) {
			memset(data[i], i + 1, LEN);
			OK(MPI_Isend(data[i], len_of(i), MPI_BYTE, 1, 0,
				MPI_COMM_WORLD, &reqs[i]));
		} else {
			OK(MPI_Irecv(data[i], LEN, MPI_BYTE, 0, 0,
				MPI_COMM_WORLD, &reqs[i]));
		}
	if (mtest.rank == 0) {
		signal_peer(theirs);
		wait_for_signal();
	}
	OK(MPI_Waitall(N, reqs, MPI_STATUSES_IGNORE));
	if (mtest.rank == 1)
		signal_peer(theirs);
	for (int i = 0; i < N; i++)
		for (int k = 0; k < len_of(i); k++)
			wrong += data[i][k] != i + 1;
	CHECK(!wrong, "all bytes arrive, %d are wrong", wrong);
	return mtest_finish();
}
