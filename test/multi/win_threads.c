/* SPDX-License-Identifier: BSD-3-Clause */
/* win_threads: several threads on one window, and a window for each thread
 *
 * A flush of one thread ends although another thread continues to put. */
#include "mtest.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 300 };

static int right;
static MPI_Win common;
static MPI_Comm comms[THREADS];
static _Atomic int n_flushing;

/* Increments two counters in the common window, and flushes each time. */
static void count(int number)
{
	const long one = 1;
	long out = -1, last = -1;
	MPI_Request r;

	for (int i = 0; i < ROUNDS; i++) {
		OK(MPI_Fetch_and_op(
			&one, &out, MPI_LONG, right, number, MPI_SUM, common));
		OK(MPI_Win_flush(right, common));
		CHECK(out > last,
			"thread %d fetches increasing values: %ld after %ld",
			number, out, last);
		last = out;
		OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, THREADS, 1, MPI_LONG,
			MPI_SUM, common));
		if (i % 16)
			continue;
		OK(MPI_Rget(&out, 1, MPI_LONG, right, number, 1, MPI_LONG,
			common, &r));
		OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
		CHECK(out >= last,
			"a get of thread %d returns a later value: %ld, not "
			"before %ld",
			number, out, last);
	}
}

/* Puts until the other threads have completed their flushes. */
static void put_on(int number)
{
	long values[64];

	for (int i = 0; n_flushing > 0; i = (i + 1) % 64) {
		values[i] = i;
		OK(MPI_Put(&values[i], 1, MPI_LONG, right, THREADS + 1 + number,
			1, MPI_LONG, common));
		if (i == 63)
			OK(MPI_Win_flush_local(right, common));
	}
	OK(MPI_Win_flush_local(right, common));
}

/* A window of this thread only, with fences and locks. */
static void alone(int number)
{
	long *memory, value;
	MPI_Win win;

	OK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL,
		comms[number], &memory, &win));
	for (int i = 0; i < 20; i++) {
		value = 10 * i + mtest.rank;
		OK(MPI_Win_fence(0, win));
		OK(MPI_Put(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
		OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
		CHECK(*memory == 10 * i + (mtest.rank + mtest.size - 1) %
						  mtest.size,
			"thread %d: the put of the left neighbour arrives: %ld",
			number, *memory);
		OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
		OK(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
		OK(MPI_Win_unlock(0, win));
	}
	OK(MPI_Win_free(&win));
}

static void *run(void *arg)
{
	int number = (int)(intptr_t)arg;

	if (number == THREADS - 1) {
		put_on(number);
	} else {
		count(number);
		n_flushing--;
	}
	return NULL;
}

static void *run_alone(void *arg)
{
	alone((int)(intptr_t)arg);
	return NULL;
}

static void together(void *(*fn)(void *))
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(
			      &threads[i], NULL, fn, (void *)(intptr_t)i) == 0,
			"thread %d starts", i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	int provided = 0;
	long *memory;

	mtest_start(argv[0]);
	OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
	OK(MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank));
	OK(MPI_Comm_size(MPI_COMM_WORLD, &mtest.size));
	if (provided != MPI_THREAD_MULTIPLE)
		mtest_skip("MPI_THREAD_MULTIPLE is not provided");
	right = (mtest.rank + 1) % mtest.size;
	OK(MPI_Win_allocate((2 * THREADS + 1) * sizeof(long), sizeof(long),
		MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &common));
	memset(memory, 0, (2 * THREADS + 1) * sizeof(long));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	n_flushing = THREADS - 1;
	OK(MPI_Win_lock_all(0, common));
	together(run);
	OK(MPI_Win_unlock_all(common));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (int i = 0; i < THREADS - 1; i++)
		CHECK(memory[i] == ROUNDS,
			"no update of thread %d is lost: %ld of %d", i,
			memory[i], ROUNDS);
	CHECK(mtest.rank || memory[THREADS] ==
				    (long)ROUNDS * mtest.size * (THREADS - 1),
		"no update of any thread is lost: %ld", memory[THREADS]);
	for (int i = 0; i < THREADS; i++)
		OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
	together(run_alone);
	for (int i = 0; i < THREADS; i++)
		OK(MPI_Comm_free(&comms[i]));
	OK(MPI_Win_free(&common));
	return mtest_finish();
}
