/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_dev: private buffers in device memory
 *
 * late=1: the program loads the driver after shmem_init, on a node that seems
 * to have a device. fault=KIND: one call ends the program, because an argument
 * must not be in device memory, or because the driver cannot copy. */
#include "stest.h"
#include "devdata.h"

#include <fcntl.h>
#include <sys/syscall.h>

enum {
	PIECE = 1 << 20, /* of the library */
	MAX = 3 * PIECE + 5,
	N_INTS = PIECE, /* of a strided transfer */
	SKIP = 77,
};

static const size_t lens[] = { 1, 2, 4, 8, 16, 31, 255, 256, 257, 4096, 65536,
	PIECE, MAX };
static long word, words[8];
static uint64_t sig;
static unsigned char *area; /* symmetric, MAX + GUARD bytes */
static bool is_late;

/* The library calls this function in place of libc's. */
int access(const char *path, int mode)
{
	if (is_late && !strcmp(path, device_vendor()->node))
		return 0;
	return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

/* Clears len bytes of device memory and of the symmetric area, and GUARD more.
 */
static void clear(void *dev, size_t len)
{
	memset(host, 0, len + GUARD);
	device_put(dev, host, len + GUARD);
	memset(area, 0, len + GUARD);
	shmem_barrier_all();
}

/* Puts to the next PE and gets from it. */
static void moves(shmem_ctx_t ctx, unsigned char *from, unsigned char *to,
	size_t len, bool is_nbi)
{
	clear(to, len);
	if (is_nbi) {
		shmem_ctx_putmem_nbi(ctx, area, from, len, stest_next());
		shmem_ctx_quiet(ctx);
	} else {
		shmem_ctx_putmem(ctx, area, from, len, stest_next());
		shmem_ctx_quiet(ctx);
	}
	shmem_barrier_all();
	CHECK(has(area, len, stest_before()), "%zu bytes were put%s", len,
		is_nbi ? " without blocking" : "");
	shmem_barrier_all();
	if (is_nbi) {
		shmem_ctx_getmem_nbi(ctx, to, area, len, stest_next());
		shmem_ctx_quiet(ctx);
	} else {
		shmem_ctx_getmem(ctx, to, area, len, stest_next());
	}
	CHECK(dev_has(to, len, stest.me), "%zu bytes were got%s", len,
		is_nbi ? " without blocking" : "");
	shmem_barrier_all();
}

/* A source may be written when the put has returned. */
static void reused(unsigned char *from)
{
	unsigned char *zero = calloc(1, MAX);

	memset(area, 0, MAX + GUARD);
	shmem_barrier_all();
	shmem_putmem(area, from, MAX, stest_next());
	device_put(from, zero, MAX);
	shmem_barrier_all();
	CHECK(has(area, MAX, stest_before()), "the source was reused");
	fill(host, MAX, stest.me);
	device_put(from, host, MAX);
	free(zero);
}

/* The elements of the source are 0, 1, 2, ... plus 1000 times the PE. */
static void strided(int *from, int *to)
{
	const int base = 1000 * stest_before(), me = 1000 * stest.me;
	const int next = stest_next();
	int *ints = (int *)(void *)area, *got = (int *)(void *)host;
	enum { FEW = N_INTS / 4 };
	bool is_right = true;

	for (int i = 0; i < N_INTS / 2; i++)
		got[i] = me + i;
	device_put(from, got, N_INTS / 2 * sizeof(int));
	clear(to, MAX);
	shmem_int_iput(ints, from, 2, 1, FEW, next);
	shmem_barrier_all();
	for (int i = 0; i < 2 * FEW; i++)
		is_right &= ints[i] == (i % 2 ? 0 : base + i / 2);
	CHECK(is_right, "iput to every second element");
	shmem_barrier_all();
	shmem_int_iget(to, ints, 3, 2, 100, next);
	device_get(got, to, 400 * sizeof(int));
	for (int i = 0; i < 400; i++)
		is_right &= got[i] == (i % 3 || i > 297 ? 0 : me + i / 3);
	CHECK(is_right, "iget to every third element");
	shmem_int_iput(ints, from + 99, 1, -1, 100, next);
	shmem_int_ibput(ints + 200, from, 100, 7, 5, 1000, next);
	shmem_barrier_all();
	for (int i = 0; i < 100; i++)
		is_right &= ints[i] == base + 99 - i;
	CHECK(is_right, "iput in the opposite order");
	for (int i = 0; i < 5000; i++)
		is_right &= ints[200 + 100 * (i / 5) + i % 5] ==
			    base + 7 * (i / 5) + i % 5;
	CHECK(is_right, "ibput of blocks");
	shmem_barrier_all();
	shmem_int_ibget(to, ints + 200, 5, 100, 5, 1000, next);
	device_get(got, to, 5001 * sizeof(int));
	for (int i = 0; i < 5000; i++)
		is_right &= got[i] == me + 7 * (i / 5) + i % 5;
	CHECK(is_right && !got[5000], "ibget of blocks without gaps");
	shmem_iput8(area, from, 2, 5, 0, next);
	shmem_ibget32(to, area, 9, 9, 0, 9, next);
	shmem_barrier_all();
}

/* Blocks that are longer than a piece. */
static void long_blocks(unsigned char *from, unsigned char *to)
{
	enum { LEN = PIECE + 1, STEP = PIECE + 10 };

	clear(to, MAX);
	shmem_ibput8(area, from, STEP, STEP, LEN, 2, stest_next());
	shmem_barrier_all();
	for (size_t i = 0; i < STEP + LEN; i++)
		if (area[i] !=
			(i >= LEN && i < STEP ? 0 : byte_of(i, stest_before())))
			CHECK(false, "byte %zu of long blocks", i);
	shmem_ibget8(to, area, STEP, STEP, LEN, 2, stest_next());
	device_get(host, to, STEP + LEN + GUARD);
	for (size_t i = 0; i < STEP + LEN + GUARD; i++)
		if (host[i] != ((i >= LEN && i < STEP) || i >= STEP + LEN
					       ? 0
					       : byte_of(i, stest.me)))
			CHECK(false, "byte %zu of long blocks that were got",
				i);
	shmem_barrier_all();
}

/* A PE that sees the signal sees the data. */
static void signals(unsigned char *from, size_t len, bool is_nbi)
{
	memset(area, 0, len + GUARD);
	sig = 5;
	shmem_barrier_all();
	if (is_nbi)
		shmem_putmem_signal_nbi(area, from, len, &sig, 6,
			SHMEM_SIGNAL_ADD, stest_next());
	else
		shmem_putmem_signal(area, from, len, &sig, 11, SHMEM_SIGNAL_SET,
			stest_next());
	shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 11);
	CHECK(has(area, len, stest_before()), "%zu bytes with a signal", len);
	shmem_barrier_all();
}

/* The results of non-blocking fetches. */
static void fetches(long *to)
{
	const long before = 100 + stest_next(), zeros[3] = { 0 };
	const int negative = -7;
	long got[3];

	device_put(to, zeros, sizeof(zeros));
	word = 100 + stest.me;
	words[0] = -7;
	shmem_barrier_all();
	shmem_long_atomic_fetch_add_nbi(to, &word, 5, stest_next());
	shmem_int_atomic_fetch_nbi(
		(int *)(void *)(to + 1), (int *)(void *)words, stest_next());
	shmem_long_atomic_compare_swap_nbi(
		to + 2, &word, before + 5, 1, stest_next());
	shmem_quiet();
	device_get(got, to, sizeof(got));
	CHECK(got[0] == before, "fetch_add_nbi: %ld", got[0]);
	CHECK(!memcmp(&got[1], &negative, 4) &&
			!memcmp((char *)&got[1] + 4, zeros, 4),
		"fetch_nbi writes an int: %lx", got[1]);
	CHECK(got[2] == before + 5, "compare_swap_nbi: %ld", got[2]);
	shmem_barrier_all();
	CHECK(word == 1, "the word is %ld", word);
	shmem_barrier_all();
}

/* The driver is not asked where symmetric memory and values are. */
static void questions(void)
{
	long before, local = 1;

	if (!device.queries)
		return;
	before = device.queries();
	for (int i = 0; i < 10; i++) {
		shmem_long_put(&words[0], &words[1], 1, stest_next());
		shmem_long_get(&words[2], &words[3], 1, stest_next());
		shmem_long_put_nbi(&words[4], &words[5], 1, stest_next());
		shmem_long_p(&words[6], i, stest_next());
		(void)shmem_long_g(&words[6], stest_next());
		(void)shmem_long_test(&words[7], SHMEM_CMP_EQ, 0);
	}
	shmem_long_put(&words[0], &local, 0, stest_next());
	CHECK(device.queries() == before, "%ld questions",
		device.queries() - before);
	shmem_long_put(&words[0], &local, 1, stest_next());
	CHECK(device.queries() == before + 1, "one question about a buffer");
	shmem_barrier_all();
}

/* The program allocates and frees the buffer of each put. */
static void rounds(void)
{
	enum { ROUNDS = 1000, LEN = 64 << 10 };
	const long pinned = device_pinned();

	fill(host, LEN, stest.me);
	for (int i = 0; i < ROUNDS; i++) {
		void *from = device_new(host, LEN);

		shmem_putmem(area, from, LEN, stest_next());
		device_free(from);
	}
	CHECK(device_pinned() == pinned, "%ld bytes pinned, %ld before",
		device_pinned(), pinned);
	CHECK(device_pins() <= 1, "%ld registrations in %d rounds",
		device_pins(), ROUNDS);
	shmem_barrier_all();
}

static void work(void *from, void *to, bool is_short)
{
	shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;

	fill(host, MAX, stest.me);
	device_put(from, host, MAX);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		moves(SHMEM_CTX_DEFAULT, from, to, lens[i], false);
		moves(SHMEM_CTX_DEFAULT, from, to, lens[i], true);
	}
	if (is_short)
		return;
	CHECK(!shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx), "a context");
	moves(ctx, from, to, MAX, false);
	moves(ctx, from, to, 8, true);
	shmem_ctx_destroy(ctx);
	reused(from);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		signals(from, lens[i], false);
		signals(from, lens[i], true);
	}
	signals(NULL, 0, true);
	long_blocks(from, to);
	fetches(to);
	strided(from, to);
	questions();
	rounds();
}

static void fault(const char *kind, void *dev)
{
	int next = stest_next();

	if (!strcmp(kind, "dest"))
		shmem_long_put(dev, &word, 1, next);
	if (!strcmp(kind, "both"))
		shmem_long_put(dev, dev, 1, next);
	if (!strcmp(kind, "p"))
		shmem_long_p(dev, 1, next);
	if (!strcmp(kind, "source"))
		shmem_long_get_nbi(words, dev, 1, next);
	if (!strcmp(kind, "iget"))
		shmem_long_iget(words, dev, 1, 1, 2, next);
	if (!strcmp(kind, "amo"))
		shmem_long_atomic_inc(dev, next);
	if (!strcmp(kind, "signal"))
		shmem_putmem_signal(
			&word, dev, 8, dev, 1, SHMEM_SIGNAL_SET, next);
	if (!strcmp(kind, "lock"))
		shmem_set_lock(dev);
	if (!strcmp(kind, "broadcast"))
		shmem_long_broadcast(SHMEM_TEAM_WORLD, words, dev, 1, 0);
	if (!strcmp(kind, "reduce"))
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dev, words, 1);
	if (!strcmp(kind, "wait"))
		shmem_long_wait_until(dev, SHMEM_CMP_EQ, 0);
	if (!strcmp(kind, "status"))
		shmem_long_test_all(words, 1, dev, SHMEM_CMP_EQ, 0);
	if (!strcmp(kind, "indices"))
		shmem_long_test_some(words, 1, dev, NULL, SHMEM_CMP_EQ, 0);
	if (!strcmp(kind, "free"))
		shmem_free(dev);
	if (!strcmp(kind, "length"))
		shmem_putmem(area, (char *)dev + MAX, 2 * GUARD, next);
	if (!strcmp(kind, "put"))
		device.fail_next(), shmem_putmem(area, dev, 8, next);
	if (!strcmp(kind, "get"))
		device.fail_next(), shmem_getmem(dev, area, 8, next);
	CHECK(false, "%s is an error, but the program continues", kind);
}

int main(int argc, char **argv)
{
	const char *kind = stest_arg(argc, argv, "fault");
	void *from, *to, *shared;

	is_late = stest_arg(argc, argv, "late") != NULL;
	if (!is_late)
		(void)device_library();
	stest_init(argv);
	area = shmem_malloc(MAX + GUARD);
	host = malloc(MAX + GUARD);
	shmem_long_put(&word, &words[1], 1, stest_next());
	if (!device_load()) {
		if (stest.me == 0)
			printf("# SKIP %s: there is no driver of a device\n",
				stest.name);
		shmem_finalize();
		return stest.n_failed ? 1 : SKIP;
	}
	shmem_putmem(area, host, MAX, stest_next());
	CHECK(device_pins() == 0, "registrations for host memory");
	from = device_new(NULL, MAX + GUARD);
	to = device_new(NULL, MAX + GUARD);
	if (kind)
		fault(kind, from);
	else
		work(from, to, false);
	shared = device_new_shared(MAX + GUARD);
	if (!kind)
		work(to, shared, true);
	device_free(shared);
	device_free(from);
	device_free(to);
	free(host);
	shmem_finalize();
	CHECK(device_pinned() == 0, "%ld bytes are pinned at the end",
		device_pinned());
	return stest.n_failed != 0;
}
