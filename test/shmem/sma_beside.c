/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_beside: waits for words next to threads that compute on the same core
 *
 * All PEs run on one core. Each PE has a busy thread, like an OpenMP thread
 * that spins. A word is passed around all PEs, which wait for it with
 * shmem_wait_until(). Where a yield takes as long as a time slice of the busy
 * threads, the waits of at least one PE must sleep: while one PE sleeps, a
 * yield of the next PE can take until its word arrives. The kernel counts a
 * sleep as a voluntary context switch, and a yield as an involuntary one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "stest.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

enum { ROUNDS = 150, YIELDS = 10, COSTLY_US = 1000 };

static atomic_bool must_stop;
static long word, is_costly, all_sleeps;

static void *compute(void *arg)
{
	(void)arg;
	while (!atomic_load_explicit(&must_stop, memory_order_relaxed))
		;
	return NULL;
}

/* Binds this process to the first core that it may use, which is the same core
 * at all PEs. */
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

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static double yield_us(void)
{
	double t = now_us();

	for (int i = 0; i < YIELDS; i++)
		sched_yield();
	return (now_us() - t) / YIELDS;
}

/* The number of voluntary context switches of this thread. */
static long count_sleeps(void)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	return use.ru_nvcsw;
}

static void ring(void)
{
	for (long i = 1; i <= ROUNDS; i++) {
		if (stest.me == 0)
			shmem_p(&word, i, stest_next());
		shmem_wait_until(&word, SHMEM_CMP_EQ, i);
		CHECK(word == i, "the word of round %ld arrives: %ld", i, word);
		if (stest.me != 0)
			shmem_p(&word, i, stest_next());
	}
}

int main(int argc, char **argv)
{
	long sleeps;
	double us;
	pthread_t busy;

	(void)argc;
	share_one_core();
	stest_init(argv);
	if (pthread_create(&busy, NULL, compute, NULL))
		abort();
	shmem_barrier_all();
	us = yield_us();
	if (stest.me == 0)
		for (int pe = 0; pe < stest.n; pe++)
			shmem_p(&is_costly, us > COSTLY_US, pe);
	shmem_barrier_all();
	sleeps = count_sleeps();
	ring();
	sleeps = count_sleeps() - sleeps;
	printf("# PE %d: a yield takes %.1f us, %ld sleeps in %d waits\n",
		stest.me, us, sleeps, ROUNDS);
	shmem_atomic_add(&all_sleeps, sleeps, 0);
	shmem_barrier_all();
	if (is_costly && stest.me == 0)
		CHECK(all_sleeps > 0, "waits next to busy threads sleep");
	shmem_barrier_all();
	atomic_store(&must_stop, true);
	pthread_join(busy, NULL);
	return stest_done();
}
