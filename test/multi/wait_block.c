/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_block: with WEFT_WAIT=block a waiting process sleeps, and a message
 * wakes it
 *
 * The program replaces ppoll(), in which the library sleeps, and counts the
 * sleeps. No claim depends on how fast the machine is. Without WEFT_WAIT=block,
 * only the messages are checked. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "mtest.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	WAIT_MS = 500,
	SHORTEST_MS =
		5,   /* of the sleeps that nothing ends, without the first */
	SPARE = 500, /* first sleeps, and wake-ups by other events */
	PAUSE_MS = 15,
	WAKES = 20,
	DEADLINE_S = 60,
	ROUNDS = 200,
	WOKEN_NS = 10000000, /* a sleep of the library that all events end */
};

/* The sleeps of the main thread. */
static struct {
	bool is_endless; /* a sleep that all events end lasts a minute */
	long n;
	long n_woken;	/* endless sleeps that an event has ended */
	long n_expired; /* endless sleeps that none has ended */
} sleeps;

static int sleep_in_poll(struct pollfd *fds, nfds_t n,
	const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec ts = timeout ? *timeout : (struct timespec){ 0 };
	bool is_main = syscall(SYS_gettid) == getpid();
	bool is_endless = is_main && sleeps.is_endless && timeout &&
			  ts.tv_sec == 0 && ts.tv_nsec == WOKEN_NS;
	int n_ready;

	if (is_endless)
		ts = (struct timespec){ .tv_sec = DEADLINE_S };
	n_ready = (int)syscall(SYS_ppoll, fds, n, timeout ? &ts : NULL, mask,
		(size_t)_NSIG / 8);
	if (is_main) {
		sleeps.n++;
		sleeps.n_woken += is_endless && n_ready > 0;
		sleeps.n_expired += is_endless && n_ready == 0;
	}
	return n_ready;
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	const sigset_t *mask)
{
	return sleep_in_poll(fds, n, timeout, mask);
}

/* A library that was built with _FORTIFY_SOURCE calls this function. */
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	const sigset_t *mask, size_t len);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	const sigset_t *mask, size_t len)
{
	(void)len;
	return sleep_in_poll(fds, n, timeout, mask);
}

static bool is_block(void)
{
	const char *how = getenv("WEFT_WAIT");

	return how && !strcmp(how, "block");
}

/* False over the stand-in for Slingshot: its messages end no sleep. */
static bool has_descriptor(void)
{
	const char *provider = getenv("FI_PROVIDER");

	if (!provider || strcmp(provider, "cxi") != 0)
		return true;
	printf("# messages over cxi end no sleep: the provider has no "
	       "descriptor\n");
	return false;
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Rank 0 sends late. True if this process has slept meanwhile. A stall of the
 * machine makes the wait longer, and adds no sleeps. */
static bool wait_once(void)
{
	const long before = sleeps.n;
	double cpu = cpu_s(), wall = MPI_Wtime();
	int word = 17;
	long n;

	if (mtest.rank == 0) {
		mtest_linger(WAIT_MS);
		for (int i = 1; i < mtest.size; i++)
			OK(MPI_Send(&word, 1, MPI_INT, i, 1, MPI_COMM_WORLD));
		return true;
	}
	word = 0;
	OK(MPI_Recv(
		&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(word == 17, "the awaited message arrived");
	wall = MPI_Wtime() - wall;
	n = sleeps.n - before;
	if (is_block()) {
		printf("# rank %d: %ld sleeps in %.0f ms, %.4f of the core\n",
			mtest.rank, n, wall * 1e3, (cpu_s() - cpu) / wall);
		CHECK(n < SPARE + wall * 1e3 / SHORTEST_MS,
			"the sleeps are long: %ld in %.0f ms", n, wall * 1e3);
	}
	return n > 0;
}

/* Repeats the wait until all processes have slept, because a process might not
 * run while it waits. */
static void wait_idle(void)
{
	const double end = MPI_Wtime() + DEADLINE_S;
	int has_slept = 0, is_late = 0;

	do {
		has_slept |= wait_once() || !is_block();
		OK(MPI_Allreduce(MPI_IN_PLACE, &has_slept, 1, MPI_INT, MPI_MIN,
			MPI_COMM_WORLD));
		is_late = MPI_Wtime() > end;
		OK(MPI_Bcast(&is_late, 1, MPI_INT, 0, MPI_COMM_WORLD));
	} while (!has_slept && !is_late);
	CHECK(has_slept, "each waiting process sleeps");
}

/* Ranks 0 and 1 exchange messages with pauses, until messages have ended WAKES
 * sleeps of rank 1. These sleeps would last a minute. */
static void wake(void)
{
	const double end = MPI_Wtime() + DEADLINE_S;
	double t[2] = { 0, 0 }, took, best = 1;

	sleeps.is_endless = true;
	while (mtest.rank < 2 && t[1] < WAKES) {
		if (mtest.rank == 0) {
			mtest_linger(PAUSE_MS);
			t[0] = MPI_Wtime();
			OK(MPI_Send(t, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD));
			OK(MPI_Recv(t, 2, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
			continue;
		}
		OK(MPI_Recv(t, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		took = MPI_Wtime() - t[0];
		best = took < best ? took : best;
		t[1] = (double)sleeps.n_woken;
		if (sleeps.n_expired || MPI_Wtime() > end)
			t[1] = WAKES; /* gives up */
		OK(MPI_Send(t, 2, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD));
	}
	sleeps.is_endless = false;
	CHECK(!sleeps.n_expired, "a message ends each sleep, but not %ld",
		sleeps.n_expired);
	if (mtest.rank != 1)
		return;
	printf("# messages ended %ld sleeps, in %.1f us at best\n",
		sleeps.n_woken, best * 1e6);
	CHECK(sleeps.n_woken >= WAKES, "messages ended only %ld sleeps",
		sleeps.n_woken);
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
	mtest_init(&argc, &argv);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	wait_idle();
	if (is_block() && has_descriptor())
		wake();
	ping_pong();
	OK(MPI_Barrier(MPI_COMM_WORLD));
	return mtest_finish();
}
