/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_link: the connection between two live processes breaks
 *
 * Rank 1 breaks the connections over sockets that were opened since MPI_Init.
 * Then rank 0 sends messages, and rank 1 replies to the last one. All of them
 * arrive in order. Rank 1 makes progress until the wait of rank 0 has ended.
 *
 * reset=1: the kernel aborts the connections, if this process may request that
 */
#include "link.h"

enum { N = 100, TAG = 5 };

static volatile sig_atomic_t has_ended; /* the wait of rank 0 */

static void on_signal(int number)
{
	(void)number;
	has_ended = 1;
}

static void stay(void)
{
	double began = mtest_now();
	int flag;

	while (!has_ended && mtest_now() - began < MTEST_SOON_S)
		OK(MPI_Iprobe(0, TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
	CHECK(has_ended, "the wait of rank 0 ends");
}

static void send_all(void)
{
	for (int i = 0; i < N; i++)
		OK(MPI_Send(&i, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
}

static void receive_all(void)
{
	for (int i = 0; i < N; i++) {
		int got = -1;

		OK(MPI_Recv(&got, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(got == i,
			"messages arrive in order: message %d as number %d",
			got, i);
	}
}

int main(int argc, char **argv)
{
	double began;
	int pid = getpid(), other = 0, reply = 0;

	signal(SIGUSR2, on_signal);
	mtest_init(&argc, &argv);
	link_begin();
	OK(MPI_Sendrecv(&pid, 1, MPI_INT, !mtest.rank, TAG, &other, 1, MPI_INT,
		!mtest.rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	began = mtest_now();
	if (mtest.rank == 1) {
		CHECK(link_break(0, LINK_MAX_FD,
			      mtest_arg(argc, argv, "reset", 0)
				      ? LINK_RESET
				      : LINK_SHUTDOWN),
			"a connection was found");
		receive_all();
		OK(MPI_Send(&reply, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD));
		stay();
	} else {
		send_all();
		OK(MPI_Recv(&reply, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		kill(other, SIGUSR2);
	}
	CHECK(mtest_now() - began < MTEST_SOON_S, "no wait lasts long: %.1f s",
		mtest_now() - began);
	return mtest_finish();
}
