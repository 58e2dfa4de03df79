/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_leader: the first thread of each process ends, and another thread
 * continues
 *
 * Other processes can then no longer read the memory of the process. Its
 * messages still arrive. */
#include "mtest.h"

#include <pthread.h>

enum { MOST = 4000000 };

static int argc_;
static char **argv_;
static atomic_int is_alone;

static void exchange(int len)
{
	char *out = malloc(MOST), *in = malloc(MOST);
	const int other = 1 - mtest.rank;
	MPI_Status status;
	int got = -1;

	mtest_fill(out, len, mtest.rank + len);
	OK(MPI_Sendrecv(out, len, MPI_BYTE, other, 1, in, MOST, MPI_BYTE, other,
		1, MPI_COMM_WORLD, &status));
	MPI_Get_count(&status, MPI_BYTE, &got);
	CHECK(got == len, "the length of the message is right: %d bytes of %d",
		got, len);
	CHECK(mtest_same(in, len, other + len), "%d bytes arrive unchanged",
		len);
	if (mtest.rank == 0)
		OK(MPI_Send(out, len, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
	else
		OK(MPI_Recv(in, len, MPI_BYTE, 0, 2, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	if (mtest.rank)
		CHECK(mtest_same(in, len, len),
			"the send buffer of %d bytes is unchanged", len);
	free(in);
	free(out);
}

static void *go_on(void *arg)
{
	static const int lens[] = { 8, 20000, 100000, 1000000, MOST };

	mtest_init(&argc_, &argv_);
	exchange(100); /* other processes can read the memory */
	exchange(MOST);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	atomic_store(&is_alone, 1);
	usleep(200000);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (int i = 0; i < 5; i++)
		exchange(lens[i]);
	exit(mtest_finish());
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	argc_ = argc;
	argv_ = argv;
	pthread_create(&thread, NULL, go_on, NULL);
	while (!atomic_load(&is_alone))
		usleep(1000);
	pthread_exit(NULL);
}
