/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_amo: atomics of every type, by one PE and by all at the same time */
#include "stest.h"

static long long words[8]; /* static memory is symmetric, like the heap */

static int to;

/* Checks the returned value of a call. */
#define SAW(call, want) CHECK((call) == (want), #call " returns " #want)

/* Only one PE updates each word, its neighbour's, so every value is known. */
#define ALONE(name, type)                                                     \
	static void alone_##name(shmem_ctx_t ctx, type *at)                   \
	{                                                                     \
		SAW(shmem_##name##_atomic_fetch(at, to), 5);                  \
		shmem_atomic_set(at, (type)7, to);                            \
		shmem_quiet();                                                \
		SAW(shmem_ctx_##name##_atomic_swap(ctx, at, 9, to), 7);       \
		SAW(shmem_atomic_compare_swap(ctx, at, (type)1, (type)2, to), \
			9);                                                   \
		SAW(shmem_##name##_atomic_compare_swap(at, 9, 20, to), 9);    \
		shmem_##name##_atomic_add(at, 3, to);                         \
		shmem_ctx_##name##_atomic_inc(ctx, at, to);                   \
		shmem_ctx_quiet(ctx);                                         \
		shmem_quiet();                                                \
		SAW(shmem_atomic_fetch_add(at, (type)-1, to), 24);            \
		SAW(shmem_ctx_##name##_atomic_fetch_inc(ctx, at, to), 23);    \
		SAW(shmem_##name##_fadd(at, 1, to), 24);                      \
		SAW(shmem_##name##_finc(at, to), 25);                         \
		SAW(shmem_##name##_cswap(at, 26, 30, to), 26);                \
		SAW(shmem_swap(at, (type)31, to), 30);                        \
		SAW(shmem_##name##_fetch(at, to), 31);                        \
		shmem_##name##_set(at, 27, to);                               \
		shmem_quiet();                                                \
		shmem_add(at, (type)3, to);                                   \
		shmem_##name##_inc(at, to);                                   \
		shmem_quiet();                                                \
	}                                                                     \
	static void later_##name(shmem_ctx_t ctx, type *at)                   \
	{                                                                     \
		type was[5];                                                  \
                                                                              \
		shmem_##name##_atomic_fetch_nbi(&was[0], at, to);             \
		shmem_quiet();                                                \
		shmem_ctx_##name##_atomic_fetch_add_nbi(                      \
			ctx, &was[1], at, 2, to);                             \
		shmem_ctx_quiet(ctx);                                         \
		shmem_atomic_compare_swap_nbi(                                \
			&was[2], at, (type)33, (type)40, to);                 \
		shmem_quiet();                                                \
		shmem_##name##_atomic_swap_nbi(&was[3], at, 41, to);          \
		shmem_quiet();                                                \
		shmem_##name##_atomic_fetch_inc_nbi(&was[4], at, to);         \
		shmem_barrier_all();                                          \
		CHECK(was[0] == 31 && was[1] == 31 && was[2] == 33 &&         \
				was[3] == 40 && was[4] == 41 && *at == 42,    \
			"atomics of " #name                                   \
			" that do not wait return the values");               \
		shmem_barrier_all();                                          \
	}                                                                     \
	static void one_##name(shmem_ctx_t ctx, type *at)                     \
	{                                                                     \
		*at = 5;                                                      \
		shmem_barrier_all();                                          \
		alone_##name(ctx, at);                                        \
		later_##name(ctx, at);                                        \
	}
STEST_AMO(ALONE)

#define BITWISE(name, type)                                                 \
	static void bitwise_##name(shmem_ctx_t ctx, type *at)               \
	{                                                                   \
		type was[3];                                                \
                                                                            \
		*at = 0x0f;                                                 \
		shmem_barrier_all();                                        \
		shmem_atomic_or(ctx, at, (type)0x30, to);                   \
		shmem_ctx_quiet(ctx);                                       \
		SAW(shmem_##name##_atomic_fetch_and(at, 0x3c, to), 0x3f);   \
		shmem_ctx_##name##_atomic_xor(ctx, at, 0x11, to);           \
		shmem_ctx_quiet(ctx);                                       \
		SAW(shmem_atomic_fetch_xor(at, (type)0x01, to), 0x2d);      \
		shmem_##name##_atomic_and(at, 0x0f, to);                    \
		shmem_quiet();                                              \
		SAW(shmem_##name##_atomic_fetch_or(at, 0x40, to), 0x0c);    \
		shmem_##name##_atomic_fetch_or_nbi(&was[0], at, 1, to);     \
		shmem_quiet();                                              \
		shmem_##name##_atomic_fetch_and_nbi(&was[1], at, 0xd, to);  \
		shmem_quiet();                                              \
		shmem_ctx_##name##_atomic_fetch_xor_nbi(                    \
			ctx, &was[2], at, 0x0f, to);                        \
		shmem_ctx_quiet(ctx);                                       \
		shmem_barrier_all();                                        \
		CHECK(was[0] == 0x4c && was[1] == 0x4d && was[2] == 0x0d && \
				*at == 0x02,                                \
			"bitwise on " #name);                               \
		shmem_barrier_all();                                        \
	}
STEST_BITS(BITWISE)

#define REAL(name, type)                                                 \
	static void real_##name(type *at)                                \
	{                                                                \
		type was = 0;                                            \
                                                                         \
		*at = (type)1.5;                                         \
		shmem_barrier_all();                                     \
		SAW(shmem_atomic_fetch(at, to), (type)1.5);              \
		shmem_##name##_atomic_set(at, (type)-2.25, to);          \
		shmem_quiet();                                           \
		SAW(shmem_##name##_atomic_swap(at, 8, to), (type)-2.25); \
		shmem_atomic_swap_nbi(&was, at, (type)9, to);            \
		shmem_quiet();                                           \
		CHECK(was == 8, "swap_nbi of " #name);                   \
		shmem_barrier_all();                                     \
	}
REAL(float, float)
REAL(double, double)

enum { ROUNDS = 1000 };

/* No update is lost when all PEs update one word; each fetched value occurs
 * once. */
static void together(void)
{
	static long sum, ticket;
	static int count;
	long n = (long)stest.n * ROUNDS, last = -1, missed = 0;
	char *all = shmem_calloc(1, (size_t)n);

	for (int i = 0; i < ROUNDS; i++) {
		long mine = shmem_atomic_fetch_inc(&ticket, 0);

		CHECK(mine > last && mine < n,
			"the tickets rise: %ld after %ld", mine, last);
		last = mine;
		shmem_char_p(&all[mine], 1, 0);
		shmem_atomic_add(&sum, mine, stest.n - 1);
		shmem_int_atomic_inc(&count, 0);
	}
	shmem_barrier_all();
	if (stest.me == stest.n - 1)
		CHECK(sum == n * (n - 1) / 2,
			"each ticket is drawn once: sum %ld", sum);
	for (long i = 0; stest.me == 0 && i < n; i++)
		missed += !all[i];
	CHECK(!missed, "%ld tickets were drawn by no PE", missed);
	if (stest.me == 0)
		CHECK(count == n, "each addition is counted: %d", count);
	shmem_barrier_all();
	shmem_free(all);
}

/* A put after a fence waits for the atomics before the fence, while a
 * fetch-and-add at a third PE is still queued. */
static void beside_a_queue(void)
{
	static long added, fetched, put;
	static char big[16384];
	static const char data[sizeof(big)] = "data";
	int third = (stest.me + 2) % stest.n;
	long was = -1;

	shmem_barrier_all();
	shmem_putmem_nbi(big, data, sizeof(big), to);
	shmem_atomic_add(&added, 1L, to);
	shmem_fence();
	shmem_atomic_fetch_add_nbi(&was, &fetched, 1L, third);
	shmem_long_p(&put, 5, to);
	shmem_barrier_all();
	CHECK(added == 1 && fetched == 1 && put == 5 && was == 0 &&
			!memcmp(big, data, sizeof(big)),
		"atomics and puts are carried out beside a queue: %ld %ld %ld "
		"%ld",
		added, fetched, put, was);
}

int main(int argc, char **argv)
{
	shmem_ctx_t ctx;
	long *heap;

	(void)argc;
	stest_init(argv);
	to = stest_next();
	heap = shmem_calloc(8, sizeof(*heap));
	CHECK(shmem_ctx_create(0, &ctx) == 0, "a context is created");
#define BOTH(name, type)                                  \
	one_##name(SHMEM_CTX_DEFAULT, (type *)&words[1]); \
	one_##name(ctx, (type *)&heap[1]);
	STEST_AMO(BOTH)
#define BITS_TOO(name, type) bitwise_##name(ctx, (type *)&heap[2]);
	STEST_BITS(BITS_TOO)
	real_float((float *)&heap[3]);
	real_double((double *)&words[3]);
	CHECK(!words[0] && !words[2] && !heap[0] && !heap[4],
		"memory beside the words is unchanged");
	together();
	beside_a_queue();
	shmem_ctx_destroy(ctx);
	shmem_free(heap);
	return stest_done();
}
