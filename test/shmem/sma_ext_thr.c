/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_ext_thr: threads access the external heap
 *
 * Each thread has a part of the heap, and exchanges data with the threads of
 * its number at the next and the previous PE. The threads have no context of
 * the driver. */
#include "stest.h"
#include "devdata.h"

#include <pthread.h>

enum {
	THREADS = 3,
	ROUNDS = 60,
	LEN = 70000,
	N_WORDS = 3,
	PART = LEN + N_WORDS * (int)sizeof(uint64_t), /* bytes of a thread */
	SKIP = 77,
};

static const size_t lens[] = { 1, 8, 4096, LEN };
static unsigned char *parts;	   /* in the external heap */
static uint64_t *sum;		   /* in the external heap, after the parts */
static uint64_t arrived[THREADS];  /* symmetric: rounds of the previous PE */
static uint64_t checked[THREADS];  /* symmetric: rounds of the next PE */
static unsigned char *device_data; /* device memory with the data of this PE */

struct thread {
	int number;
	shmem_ctx_t ctx;
	unsigned char *part;
	uint64_t *words;
	unsigned char *mine, *got, *wanted; /* LEN bytes each */
};

/* The sources alternate between host memory and device memory. */
static void put(const struct thread *t, size_t len, int round)
{
	const unsigned char *from =
		round % 2 ? device_data + (ptrdiff_t)t->number * LEN : t->mine;
	uint64_t *sig = &arrived[t->number];

	if (round % 3) {
		shmem_ctx_putmem_signal(t->ctx, t->part, from, len, sig, 1,
			SHMEM_SIGNAL_ADD, stest_next());
		return;
	}
	shmem_ctx_putmem_nbi(t->ctx, t->part, from, len, stest_next());
	shmem_ctx_fence(t->ctx);
	shmem_ctx_uint64_atomic_inc(t->ctx, sig, stest_next());
}

static void update_words(const struct thread *t, uint64_t round)
{
	const int next = stest_next();
	uint64_t was = shmem_ctx_uint64_atomic_fetch_add(
		t->ctx, &t->words[0], 2, next);

	CHECK(was == 2 * (round - 1), "fetch_add: %ld in round %ld", (long)was,
		(long)round);
	was = shmem_ctx_uint64_atomic_compare_swap(
		t->ctx, &t->words[1], round - 1, round, next);
	CHECK(was == round - 1, "compare_swap: %ld in round %ld", (long)was,
		(long)round);
	shmem_ctx_uint64_atomic_add(t->ctx, sum, 1, 0);
	shmem_ctx_uint64_p(t->ctx, &t->words[2], round, next);
	while (shmem_signal_fetch(&t->words[2]) != round)
		;
}

static void run_round(const struct thread *t, int round)
{
	const int seed = round % 2 ? 0 : round;
	const size_t len = lens[(size_t)round / 2 % 4];

	fill(t->mine, len, stest.me + t->number + seed);
	fill(t->wanted, len, stest_before() + t->number + seed);
	put(t, len, round);
	shmem_signal_wait_until(
		&arrived[t->number], SHMEM_CMP_GE, (uint64_t)round);
	shmem_ctx_getmem(t->ctx, t->got, t->part, len, stest.me);
	CHECK(!memcmp(t->got, t->wanted, len), "%zu bytes in round %d", len,
		round);
	memset(t->got, 0, len);
	shmem_ctx_getmem_nbi(t->ctx, t->got, t->part, len, stest_next());
	shmem_ctx_quiet(t->ctx);
	CHECK(!memcmp(t->got, t->mine, len), "%zu bytes of the next PE", len);
	update_words(t, (uint64_t)round);
	shmem_ctx_uint64_atomic_inc(
		t->ctx, &checked[t->number], stest_before());
	shmem_uint64_wait_until(
		&checked[t->number], SHMEM_CMP_GE, (uint64_t)round);
}

static void *work(void *arg)
{
	const int number = *(int *)arg;
	unsigned char *memory = malloc((size_t)3 * LEN + GUARD);
	struct thread t = { .number = number,
		.ctx = SHMEM_CTX_DEFAULT,
		.part = parts + (ptrdiff_t)number * PART,
		.mine = memory,
		.got = memory + LEN,
		.wanted = memory + (ptrdiff_t)2 * LEN };

	t.words = (uint64_t *)(void *)(t.part + LEN);
	if (number)
		CHECK(!shmem_ctx_create(
			      number == 1 ? SHMEM_CTX_PRIVATE : 0, &t.ctx),
			"a context is created in thread %d", number);
	for (int round = 1; round <= ROUNDS; round++)
		run_round(&t, round);
	if (number)
		shmem_ctx_destroy(t.ctx);
	free(memory);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];

	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		CHECK(!pthread_create(&threads[i], NULL, work, &numbers[i]),
			"thread %d starts", i);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Zeros the parts, and fills device_data. */
static void fill_device(void)
{
	const size_t len = THREADS * PART + sizeof(*sum);
	unsigned char *zeros = calloc(1, len);

	device_put(parts, zeros, len);
	free(zeros);
	for (int i = 0; i < THREADS; i++) {
		fill(host, LEN, stest.me + i);
		device_put(device_data + (ptrdiff_t)i * LEN, host, LEN);
	}
}

int main(int argc, char **argv)
{
	const size_t size = THREADS * PART + sizeof(*sum);
	int provided = -1;
	uint64_t total;

	(void)argc;
	(void)device_library();
	stest_start(argv[0]);
	shmemx_heap_preinit_thread(SHMEM_THREAD_MULTIPLE, &provided);
	stest_set_pe();
	CHECK(provided == SHMEM_THREAD_MULTIPLE, "provided is %d", provided);
	if (!device_load()) {
		printf("# SKIP %s: there is no driver of a device\n",
			stest.name);
		return SKIP;
	}
	host = malloc(LEN);
	parts = device_new(NULL, size);
	device_data = device_new(NULL, (size_t)THREADS * LEN);
	sum = (uint64_t *)(void *)(parts + (ptrdiff_t)THREADS * PART);
	fill_device();
	shmemx_heap_create(parts, size, heap_type(), 0);
	shmemx_heap_postinit();
	shmem_barrier_all();
	run_threads();
	shmem_barrier_all();
	device_get(&total, sum, sizeof(total));
	CHECK(total == (uint64_t)(stest.me ? 0 : stest.n * THREADS * ROUNDS),
		"all updates are counted: %ld", (long)total);
	shmem_finalize();
	device_free(device_data);
	device_free(parts);
	free(host);
	return stest.n_failed != 0;
}
