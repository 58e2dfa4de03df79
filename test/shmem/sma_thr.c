/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_thr: threads put, get and add on the default context or on their own */
#include "stest.h"

#include <pthread.h>

enum { THREADS = 4, OPS = 300 };

static long slots[THREADS * OPS], total;
static long turns[THREADS];

static void *work(void *arg)
{
	long t = (long)(intptr_t)arg;
	shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
	long back;

	if (t % 2)
		CHECK(!shmem_ctx_create(t == 1 ? SHMEM_CTX_PRIVATE : 0, &ctx),
			"a context is created in thread %ld", t);
	for (long i = 0; i < OPS; i++) {
		shmem_p(ctx, &slots[t * OPS + i], t * 1000 + i + stest.me,
			stest_next());
		shmem_atomic_inc(ctx, &total, 0);
		if (i % 50 == 0) {
			shmem_ctx_quiet(ctx);
			shmem_get(ctx, &back, &slots[t * OPS + i], 1,
				stest_next());
			CHECK(back == t * 1000 + i + stest.me,
				"a get returns the data that was put");
		}
	}
	shmem_ctx_quiet(ctx);
	/* each thread waits for the thread with its number on the neighbour */
	shmem_atomic_set(&turns[t], t + 1, stest_next());
	shmem_wait_until(&turns[t], SHMEM_CMP_EQ, t + 1);
	if (ctx != SHMEM_CTX_DEFAULT)
		shmem_ctx_destroy(ctx);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int provided;
	long wrong = 0;

	(void)argc;
	stest_start(argv[0]);
	CHECK(!shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) &&
			provided == SHMEM_THREAD_MULTIPLE,
		"threads are supported");
	stest_set_pe();
	for (long t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, work, (void *)(intptr_t)t);
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	shmem_barrier_all();
	for (long t = 0; t < THREADS; t++)
		for (long i = 0; i < OPS; i++)
			wrong += slots[t * OPS + i] !=
				 t * 1000 + i + stest_before();
	CHECK(!wrong, "%ld puts of threads are wrong", wrong);
	if (stest.me == 0)
		CHECK(total == (long)stest.n * THREADS * OPS,
			"all updates are counted: %ld", total);
	shmem_barrier_all();
	return stest_done();
}
