/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_beside: waits next to threads that compute on the same core
 *
 * All processes run on one core. Each process has a busy thread, like an OpenMP
 * thread that spins. Each kind of wait is repeated and must have the right
 * result. On some kernels a yield lasts a time slice of the busy threads. The
 * test prints the time of a yield and of a round of messages, to compare. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "mtest.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum {
	ROUNDS = 150,
	BATCHES = 10,
	YIELDS = 10,
	FLOOD = 4000,
	FLOOD_LEN = 500,
	LOCKS = 50,
};

static atomic_bool must_stop;

static void *compute(void *arg)
{
	(void)arg;
	while (!atomic_load_explicit(&must_stop, memory_order_relaxed))
		;
	return NULL;
}

/* Binds this process to the first processor that it may use, which is the same
 * for all processes. */
static void share_one_core(void)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (int c = 0; c < CPU_SETSIZE && !CPU_COUNT(&one); c++)
		if (CPU_ISSET(c, &all))
			CPU_SET(c, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

static int right(void)
{
	return (mtest.rank + 1) % mtest.size;
}

static int left(void)
{
	return (mtest.rank + mtest.size - 1) % mtest.size;
}

/* Passes a word around all processes, `rounds` times. Returns the duration in
 * seconds. */
static double ring(int rounds, bool tests)
{
	double t = MPI_Wtime();

	for (int i = 0; i < rounds; i++) {
		MPI_Request req;
		int word = -1, flag = 0;

		OK(MPI_Irecv(
			&word, 1, MPI_INT, left(), 0, MPI_COMM_WORLD, &req));
		if (mtest.rank == 0)
			OK(MPI_Send(
				&i, 1, MPI_INT, right(), 0, MPI_COMM_WORLD));
		while (tests && !flag)
			OK(MPI_Test(&req, &flag, MPI_STATUS_IGNORE));
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		CHECK(word == i, "the word of round %d arrives, got %d", i,
			word);
		if (mtest.rank != 0)
			OK(MPI_Send(
				&word, 1, MPI_INT, right(), 0, MPI_COMM_WORLD));
	}
	return MPI_Wtime() - t;
}

static double yield_us(void)
{
	double t = MPI_Wtime();

	for (int i = 0; i < YIELDS; i++)
		sched_yield();
	return (MPI_Wtime() - t) / YIELDS * 1e6;
}

/* Prints the time of the best of several batches, because other jobs use this
 * machine, too. */
static void compare_with_yields(void)
{
	double best = 1, us = 0, t;

	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 0)
		us = yield_us();
	OK(MPI_Bcast(&us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
	for (int i = 0; i < BATCHES; i++) {
		t = ring(ROUNDS / BATCHES, false) / (ROUNDS / BATCHES);
		best = t < best ? t : best;
	}
	if (mtest.rank == 0)
		printf("# a yield takes %.1f us, a round %.1f us at best\n", us,
			best * 1e6);
}

static void probe(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		int word = i, got = -1;
		MPI_Request req;
		MPI_Status status;

		OK(MPI_Isend(
			&word, 1, MPI_INT, right(), 1, MPI_COMM_WORLD, &req));
		OK(MPI_Probe(left(), 1, MPI_COMM_WORLD, &status));
		OK(MPI_Recv(&got, 1, MPI_INT, left(), 1, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(got == i, "the probed message %d arrives, got %d", i,
			got);
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	}
}

/* Fills the rings, so that their writers sleep until there is space. */
static void flood(void)
{
	int words[FLOOD_LEN] = { 0 };

	for (int i = 0; i < FLOOD; i++) {
		if (mtest.rank == 0) {
			words[0] = i;
			OK(MPI_Send(words, FLOOD_LEN, MPI_INT, 1, 2,
				MPI_COMM_WORLD));
		} else if (mtest.rank == 1) {
			OK(MPI_Recv(words, FLOOD_LEN, MPI_INT, 0, 2,
				MPI_COMM_WORLD, MPI_STATUS_IGNORE));
			CHECK(words[0] == i, "message %d arrives, got %d", i,
				words[0]);
		}
	}
}

static void collectives(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		int sum = -1, word = mtest.rank == i % mtest.size ? i : -1;
		MPI_Request req;

		OK(MPI_Allreduce(
			&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
		CHECK(sum == i * mtest.size, "sum %d is right: %d", i, sum);
		OK(MPI_Ibcast(&word, 1, MPI_INT, i % mtest.size, MPI_COMM_WORLD,
			&req));
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		CHECK(word == i, "broadcast %d arrives: %d", i, word);
		OK(MPI_Barrier(MPI_COMM_WORLD));
	}
}

static void windows(void)
{
	MPI_Group world, near;
	int peers[2] = { left(), right() }, n_peers = 2;
	long *mem, got = 0, one = 1;
	MPI_Win win;

	if (left() == right())
		n_peers = left() == mtest.rank ? 0 : 1;
	OK(MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL,
		MPI_COMM_WORLD, &mem, &win));
	mem[0] = mem[1] = 0;
	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (int i = 0; i < LOCKS; i++) {
		OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
		OK(MPI_Get(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
		OK(MPI_Win_flush(0, win));
		got++;
		OK(MPI_Put(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
		OK(MPI_Win_unlock(0, win));
	}
	for (int i = 0; i < LOCKS; i++) {
		OK(MPI_Win_fence(0, win));
		OK(MPI_Accumulate(&one, 1, MPI_LONG, right(), 1, 1, MPI_LONG,
			MPI_SUM, win));
		OK(MPI_Win_fence(0, win));
		CHECK(mem[1] == i + 1, "fence %d completes the put: %ld", i,
			mem[1]);
	}
	if (mtest.rank == 0)
		CHECK(mem[0] == (long)LOCKS * mtest.size,
			"the lock guards %d increments, got %ld",
			LOCKS * mtest.size, mem[0]);
	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_incl(world, n_peers, peers, &near));
	for (int i = 0; i < LOCKS; i++) {
		OK(MPI_Win_post(near, 0, win));
		OK(MPI_Win_start(near, 0, win));
		OK(MPI_Put(&one, 1, MPI_LONG, right(), 1, 1, MPI_LONG, win));
		OK(MPI_Win_complete(win));
		OK(MPI_Win_wait(win));
	}
	OK(MPI_Group_free(&near));
	OK(MPI_Group_free(&world));
	OK(MPI_Win_free(&win));
}

static void *second_thread(void *arg)
{
	int from = -1;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		OK(MPI_Sendrecv(&i, 1, MPI_INT, right(), 3, &from, 1, MPI_INT,
			left(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		CHECK(from == i,
			"second thread: the word of round %d arrives, got %d",
			i, from);
	}
	return NULL;
}

/* Two threads wait at the same time. One of them reads the wakeup for both. */
static void threads(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, second_thread, NULL))
		abort();
	ring(ROUNDS, false);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	bool is_mt = mtest_arg(argc, argv, "threads", 0);
	int level = 0;
	pthread_t busy;

	share_one_core();
	mtest_start(argv[0]);
	OK(MPI_Init_thread(&argc, &argv,
		is_mt ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level));
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mtest.size);
	if (pthread_create(&busy, NULL, compute, NULL))
		abort();
	compare_with_yields();
	ring(ROUNDS, true);
	probe();
	if (mtest.size > 1)
		flood();
	collectives();
	windows();
	if (is_mt)
		threads();
	OK(MPI_Barrier(MPI_COMM_WORLD));
	/* all others wait in MPI_Finalize while the thread of the last process
	 * computes */
	if (mtest.rank != mtest.size - 1) {
		atomic_store(&must_stop, true);
		pthread_join(busy, NULL);
	}
	return mtest_finish();
}
