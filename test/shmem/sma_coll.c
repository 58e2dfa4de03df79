/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_coll: collectives on the world team, on a part of it, and on active sets
 */
#include "stest.h"

#include <complex.h>

enum { N = 5, MANY = 20000 };

#define NUMBERS(X)                  \
	STEST_ORDERED(X)            \
	X(complexf, float _Complex) \
	X(complexd, double _Complex)

static long double in[MANY], out[MANY];
static long sync_array[SHMEM_REDUCE_SYNC_SIZE];

/* Element i of the vector that PE `me` of the team contributes. */
#define MINE(me, i) ((me) % 3 + 1 + (i))

#define FILL(type)                                                   \
	type *a = (type *)in, *b = (type *)out;                      \
	int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team); \
                                                                     \
	for (int i = 0; i < N; i++) {                                \
		a[i] = (type)MINE(me, i);                            \
		b[i] = 99;                                           \
	}                                                            \
	shmem_team_sync(team)

#define BITWISE(name, type)                                                 \
	static void bitwise_##name(shmem_team_t team)                       \
	{                                                                   \
		int and_ = -1, or_ = 0, xor_ = 0;                           \
		FILL(type);                                                 \
		for (int p = 0; p < n; p++) {                               \
			and_ &= MINE(p, 2);                                 \
			or_ |= MINE(p, 2);                                  \
			xor_ ^= MINE(p, 2);                                 \
		}                                                           \
		CHECK(!shmem_##name##_and_reduce(team, b, a, N) &&          \
				b[2] == (type)and_,                         \
			"and of " #name);                                   \
		CHECK(!shmem_or_reduce(team, b, a, N) && b[2] == (type)or_, \
			"or of " #name);                                    \
		CHECK(!shmem_##name##_xor_reduce(team, b, a, N) &&          \
				b[2] == (type)xor_,                         \
			"xor of " #name);                                   \
		shmem_team_sync(team);                                      \
	}
STEST_INTS(BITWISE)

#define EXTREMES(name, type)                                                 \
	static void extremes_##name(shmem_team_t team)                       \
	{                                                                    \
		FILL(type);                                                  \
		int top = n > 2 ? 2 : n - 1;                                 \
                                                                             \
		CHECK(!shmem_max_reduce(team, b, a, N) &&                    \
				b[3] == (type)MINE(top, 3),                  \
			"max of " #name);                                    \
		CHECK(!shmem_##name##_min_reduce(team, b, a, N) &&           \
				b[4] == (type)MINE(0, 4) && b[0] == (type)1, \
			"min of " #name);                                    \
		shmem_team_sync(team);                                       \
	}
STEST_ORDERED(EXTREMES)

#define SUMS(name, type)                                                 \
	static void sums_##name(shmem_team_t team)                       \
	{                                                                \
		type sum = 0, prod = 1, part = 0;                        \
		FILL(type);                                              \
                                                                         \
		for (int p = 0; p < n; p++) {                            \
			if (p == me)                                     \
				part = sum;                              \
			sum = (type)(sum + (type)MINE(p, 1));            \
			prod = (type)(prod * (type)MINE(p, 0));          \
		}                                                        \
		CHECK(!shmem_##name##_sum_reduce(team, b, a, N) &&       \
				b[1] == sum,                             \
			"sum of " #name);                                \
		CHECK(!shmem_prod_reduce(team, b, a, N) && b[0] == prod, \
			"product of " #name);                            \
		CHECK(!shmem_sum_exscan(team, b, a, N) && b[1] == part,  \
			"exclusive scan of " #name);                     \
		CHECK(!shmem_##name##_sum_inscan(team, b, a, N) &&       \
				b[1] == (type)(part + a[1]),             \
			"inclusive scan of " #name);                     \
		CHECK(!shmem_##name##_sum_exscan(team, a, a, N) &&       \
				a[1] == part,                            \
			"exclusive scan of " #name " in place");         \
		a[1] = (type)MINE(me, 1);                                \
		CHECK(!shmem_sum_reduce(team, a, a, N) && a[1] == sum,   \
			"sum of " #name " in place");                    \
		shmem_team_sync(team);                                   \
	}
NUMBERS(SUMS)

#define MOVES(name, type)                                                    \
	static void moves_##name(shmem_team_t team)                          \
	{                                                                    \
		type *a = (type *)in, *b = (type *)out;                      \
		int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team); \
		int last = n - 1, at = 0;                                    \
		bool ok = true;                                              \
                                                                             \
		for (int i = 0; i < 2 * N * n; i++) {                        \
			a[i] = (type)(me * 10 + i);                          \
			b[i] = 99;                                           \
		}                                                            \
		shmem_team_sync(team);                                       \
		CHECK(!shmem_##name##_broadcast(team, b, a, N, last) &&      \
				b[N - 1] == (type)(last * 10 + N - 1) &&     \
				b[N] == 99,                                  \
			"broadcast of " #name);                              \
		shmem_team_sync(team);                                       \
		CHECK(!shmem_fcollect(team, b, a, N), "fcollect succeeds");  \
		for (int i = 0; i < n * N; i++)                              \
			ok = ok && b[i] == (type)(i / N * 10 + i % N);       \
		shmem_team_sync(team);                                       \
		CHECK(!shmem_##name##_collect(team, b, a, (size_t)me + 1),   \
			"collect succeeds");                                 \
		for (int p = 0; p < n; p++)                                  \
			for (int i = 0; i <= p; i++)                         \
				ok = ok && b[at++] == (type)(p * 10 + i);    \
		shmem_team_sync(team);                                       \
		CHECK(!shmem_alltoall(team, b, a, N), "alltoall succeeds");  \
		for (int i = 0; i < n * N; i++)                              \
			ok = ok &&                                           \
			     b[i] == (type)(i / N * 10 + me * N + i % N);    \
		shmem_team_sync(team);                                       \
		for (int i = 0; i < 2 * N * n; i++)                          \
			b[i] = 99;                                           \
		shmem_team_sync(team);                                       \
		CHECK(!shmem_##name##_alltoalls(team, b, a, 2, 1, 2),        \
			"alltoalls succeeds");                               \
		for (int i = 0; i < n * 4; i++)                              \
			ok = ok &&                                           \
			     b[i] == (i % 2 ? (type)99                       \
					    : (type)(i / 4 * 10 + me * 2 +   \
						      i % 4 / 2));           \
		CHECK(ok, "alltoalls of " #name " returns the items");       \
		shmem_team_sync(team);                                       \
	}
STEST_ORDERED(MOVES)

static void in_team(shmem_team_t team)
{
	if (team == SHMEM_TEAM_INVALID)
		return;
#define CALL_BITWISE(name, type) bitwise_##name(team);
	STEST_INTS(CALL_BITWISE)
#define CALL_EXTREMES(name, type) extremes_##name(team);
	STEST_ORDERED(CALL_EXTREMES)
#define CALL_SUMS(name, type) sums_##name(team);
	NUMBERS(CALL_SUMS)
#define CALL_MOVES(name, type) moves_##name(team);
	STEST_ORDERED(CALL_MOVES)
}

/* Reduces a long vector, and broadcasts it as bytes. */
static void large(void)
{
	long *a = shmem_malloc(MANY * sizeof(long));
	long *b = shmem_malloc(MANY * sizeof(long));
	long wrong = 0;

	for (long i = 0; i < MANY; i++)
		a[i] = i + stest.me;
	shmem_long_sum_reduce(SHMEM_TEAM_WORLD, b, a, MANY);
	for (long i = 0; i < MANY; i++)
		wrong += b[i] != i * stest.n + stest.n * (stest.n - 1) / 2;
	shmem_broadcastmem(
		SHMEM_TEAM_WORLD, b, a, MANY * sizeof(long), stest.n - 1);
	for (long i = 0; i < MANY; i++)
		wrong += b[i] != i + stest.n - 1;
	CHECK(!wrong, "%ld items of a long vector are wrong", wrong);
	shmem_barrier_all();
	shmem_free(a);
	shmem_free(b);
}

/* Calls the collectives of the active set that start, log_stride and size
 * describe. The library does not use the work arrays. */
static void active(int start, int log_stride, int size)
{
	static int src[N], dst[64 * N], work[N];
	static long src64[N], dst64[64 * N];
	static float f, g, w;
	int me = (stest.me - start) >> log_stride, sum = 0;

	for (int p = 0; p < size; p++)
		sum += start + (p << log_stride) + 1;
	for (int i = 0; i < N; i++) {
		src[i] = stest.me + 1 + i;
		src64[i] = stest.me + 1 + i;
		dst[i] = -1;
	}
	f = (float)stest.me;
	shmem_barrier(start, log_stride, size, sync_array);
	shmem_int_sum_to_all(
		dst, src, N, start, log_stride, size, work, sync_array);
	CHECK(dst[0] == sum, "sum_to_all returns %d, not %d", dst[0], sum);
	shmem_float_max_to_all(
		&g, &f, 1, start, log_stride, size, &w, sync_array);
	CHECK(g == (float)(start + ((size - 1) << log_stride)),
		"max_to_all returns the maximum");
	shmem_sync(start, log_stride, size, sync_array);
	dst[0] = -1;
	shmem_broadcast32(dst, src, N, 0, start, log_stride, size, sync_array);
	CHECK(dst[0] == (me ? start + 1 : -1),
		"broadcast32 does not change the root's dest: %d", dst[0]);
	shmem_fcollect64(dst64, src64, 2, start, log_stride, size, sync_array);
	CHECK(dst64[2 * (size - 1) + 1] ==
			start + ((size - 1) << log_stride) + 2,
		"fcollect64 returns the last item");
	shmem_sync(start, log_stride, size, sync_array);
	shmem_collect32(
		dst, src, me ? 1 : 2, start, log_stride, size, sync_array);
	CHECK(dst[1] == start + 2 &&
			(size == 1 ||
				dst[size] ==
					start + ((size - 1) << log_stride) + 1),
		"collect32 returns the items");
	shmem_sync(start, log_stride, size, sync_array);
	for (int p = 0; p < size; p++)
		dst64[64 + p] = stest.me * 100 + p;
	shmem_sync(start, log_stride, size, sync_array);
	shmem_alltoall64(
		dst64, dst64 + 64, 1, start, log_stride, size, sync_array);
	CHECK(dst64[size - 1] ==
			(start + ((size - 1) << log_stride)) * 100 + me,
		"alltoall64 returns the last item");
	shmem_barrier(start, log_stride, size, sync_array);
	CHECK(sync_array[0] == SHMEM_SYNC_VALUE, "pSync is as it was");
}

int main(int argc, char **argv)
{
	shmem_team_t part;

	(void)argc;
	stest_init(argv);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, stest.n - 1, -1,
		      (stest.n + 1) / 2, NULL, 0, &part) == 0,
		"a team with a negative stride is created");
	in_team(SHMEM_TEAM_WORLD);
	in_team(part);
	in_team(SHMEM_TEAM_SHARED);
	large();
	for (int i = 0; i < 3; i++) {
		active(0, 0, stest.n);
		if (stest.me & 1)
			active(1, 1, stest.n / 2);
		if (stest.me == 0)
			active(0, 3, 1);
		shmem_sync_all();
	}
	shmem_team_destroy(part);
	return stest_done();
}
