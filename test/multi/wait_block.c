/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_block: with WEFT_WAIT=block a waiting process uses no processor time,
 * and still receives messages
 *
 * Without WEFT_WAIT=block, only the messages are checked. */
#include "mtest.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { WAITS = 4, WAIT_MS = 500, ROUNDS = 200, WAKES = 40, PAUSE_MS = 15 };

static bool is_block(void)
{
	const char *how = getenv("WEFT_WAIT");

	return how && !strcmp(how, "block");
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static long n_sleeps(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw;
}

/* The cost of a wait: processor time and number of sleeps, per second. */
struct waited {
	double cpu, sleeps;
};

static struct waited wait_once(void)
{
	double cpu, wall;
	long n;
	int word = 0;

	if (mtest.rank == 0) {
		mtest_linger(WAIT_MS);
		word = 17;
		for (int i = 1; i < mtest.size; i++)
			OK(MPI_Send(&word, 1, MPI_INT, i, 1, MPI_COMM_WORLD));
		return (struct waited){ 0 };
	}
	cpu = cpu_s();
	n = n_sleeps();
	wall = MPI_Wtime();
	OK(MPI_Recv(
		&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	wall = MPI_Wtime() - wall;
	CHECK(word == 17, "the awaited message arrived");
	return (struct waited){ (cpu_s() - cpu) / wall,
		(double)(n_sleeps() - n) / wall };
}

/* A sleeping process polls a hundred times a second, and more often on a fabric
 * whose descriptor wakes it without a message. Uses the best of several
 * measurements, because a stall of the machine counts as processor time. */
static void wait_idle(bool is_local)
{
	struct waited best = wait_once();

	for (int i = 1; i < WAITS; i++) {
		struct waited one = wait_once();

		if (one.cpu < best.cpu)
			best = one;
	}
	if (!mtest.rank || !is_block())
		return;
	printf("# rank %d: %.4f of the core, %.0f sleeps a second\n",
		mtest.rank, best.cpu, best.sleeps);
	CHECK(best.cpu < (is_local ? 0.04 : 0.1),
		"a waiting process uses little of its core: %.3f", best.cpu);
	if (is_local)
		CHECK(best.sleeps < 250,
			"a waiting process sleeps less than 250 times a "
			"second: %.0f",
			best.sleeps);
}

/* A message wakes a sleeping process. If the process only polled, a message
 * would take five milliseconds on average. */
static void wake(void)
{
	double t, took, best = 1;

	if (mtest.rank > 1)
		return;
	for (int i = 0; i < WAKES; i++) {
		if (mtest.rank == 0) {
			mtest_linger(PAUSE_MS);
			t = MPI_Wtime();
			OK(MPI_Send(&t, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD));
			continue;
		}
		OK(MPI_Recv(&t, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		took = MPI_Wtime() - t;
		best = took < best ? took : best;
	}
	if (mtest.rank == 0 || !is_block())
		return;
	printf("# woken in %.1f us at best\n", best * 1e6);
	CHECK(best < 1e-3,
		"a message wakes the process in less than 1 ms: %.1f us",
		best * 1e6);
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
			CHECK(n == i, "the word of round %d arrives, got %d", i,
				n);
		}
	}
}

int main(int argc, char **argv)
{
	const char *shm = getenv("WEFT_SHM");

	mtest_init(&argc, &argv);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	wait_idle((!shm || strcmp(shm, "off") != 0) && !getenv("WEFT_NODES"));
	wake();
	ping_pong();
	OK(MPI_Barrier(MPI_COMM_WORLD));
	return mtest_finish();
}
