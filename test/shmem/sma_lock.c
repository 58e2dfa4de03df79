/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_lock: one PE at a time holds a lock, and each PE gets it */
#include "stest.h"

enum { ROUNDS = 200, LOCKS = 3 };

static long locks[LOCKS], count[LOCKS];

/* Increments a counter by a get and a put, and releases the lock. The sum is
 * right only if no other PE updates the counter at the same time. */
static void visit(long *lock, long *at)
{
	long v = shmem_g(at, 0);

	shmem_p(at, v + 1, 0);
	shmem_clear_lock(lock);
}

int main(int argc, char **argv)
{
	long *heap, n_tries = 0;

	(void)argc;
	stest_init(argv);
	heap = shmem_calloc(2, sizeof(*heap));
	for (int i = 0; i < ROUNDS; i++) {
		shmem_set_lock(&locks[i % LOCKS]);
		visit(&locks[i % LOCKS], &count[i % LOCKS]);
	}
	for (int i = 0; i < ROUNDS / 4; i++) {
		while (shmem_test_lock(heap))
			n_tries++;
		visit(heap, heap + 1);
	}
	shmem_barrier_all();
	for (int k = 0; stest.me == 0 && k < LOCKS; k++)
		CHECK(count[k] == stest.n * ((ROUNDS + LOCKS - 1 - k) / LOCKS),
			"lock %d guards its count: %ld", k, count[k]);
	if (stest.me == 0)
		CHECK(heap[1] == stest.n * (ROUNDS / 4),
			"test_lock guards the count: %ld", heap[1]);
	shmem_barrier_all();
	if (stest.me == 0)
		shmem_set_lock(heap);
	shmem_barrier_all();
	CHECK(shmem_test_lock(heap) != 0,
		"shmem_test_lock fails on a lock that is set");
	shmem_barrier_all();
	if (stest.me == 0)
		shmem_clear_lock(heap);
	shmem_barrier_all();
	if (stest.me == stest.n - 1)
		CHECK(shmem_test_lock(heap) == 0,
			"shmem_test_lock acquires a lock that is clear");
	shmem_barrier_all();
	return stest_done();
}
