/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_block: with WEFT_WAIT=block a process that waits leaves its core alone,
 * and still hears what comes
 *
 * Elsewhere, and without it, only the messages are looked at. */
#include "mtest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { WAIT_MS = 2000, ROUNDS = 200 };

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void wait_idle(void)
{
	const char *how = getenv("WEFT_WAIT");
	double cpu, wall;
	int word = 0;

	if (mtest.rank == 0) {
		mtest_linger(WAIT_MS);
		word = 17;
		for (int i = 1; i < mtest.size; i++)
			OK(MPI_Send(&word, 1, MPI_INT, i, 1, MPI_COMM_WORLD));
		return;
	}
	cpu = cpu_s();
	wall = MPI_Wtime();
	OK(MPI_Recv(
		&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	cpu = cpu_s() - cpu;
	wall = MPI_Wtime() - wall;
	CHECK(word == 17, "what was waited for came");
	if (how && !strcmp(how, "block"))
		CHECK(cpu < wall / 5, "%.3f s of the core in %.3f s of waiting",
			cpu, wall);
}

static void ping_pong(void)
{
	int n = 0;

	if (mtest.rank > 1)
		return;
	for (int i = 0; i < ROUNDS; i++) {
		if (mtest.rank == i % 2) {
			n = i;
			OK(MPI_Send(&n, 1, MPI_INT, !mtest.rank, 2,
				MPI_COMM_WORLD));
		} else {
			OK(MPI_Recv(&n, 1, MPI_INT, !mtest.rank, 2,
				MPI_COMM_WORLD, MPI_STATUS_IGNORE));
			CHECK(n == i, "round %d: got %d", i, n);
		}
	}
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	wait_idle();
	ping_pong();
	OK(MPI_Barrier(MPI_COMM_WORLD));
	return mtest_finish();
}
