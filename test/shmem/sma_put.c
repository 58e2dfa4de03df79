/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_put: every kind of transfer writes all of its data, and nothing else */
#include "stest.h"

enum { N = 40, WIDE = 64 };

/* area is the target in static memory, and heap the target in the symmetric
 * heap. */
static long double area[N];
static void *heap;

/* Defines the functions of a type. put_TYPE puts values to the next PE.
 * see_TYPE checks the elements that were put to this PE, and that the others
 * are still 99. get_TYPE reads the values back. */
#define MOVES(name, type)                                                      \
	static void put_##name(shmem_ctx_t ctx, type *dest, const type *src)   \
	{                                                                      \
		int to = stest_next();                                         \
                                                                               \
		shmem_##name##_put(dest + 4, src, 3, to);                      \
		shmem_put(ctx, dest + 8, src, 2, to);                          \
		shmem_##name##_p(dest + 11, src[0], to);                       \
		shmem_p(ctx, dest + 12, src[0], to);                           \
		shmem_ctx_##name##_put_nbi(ctx, dest + 14, src, 3, to);        \
		shmem_##name##_iput(dest + 18, src, 2, 3, 3, to);              \
		shmem_##name##_ibput(dest + 24, src, 4, 6, 2, 2, to);          \
		shmem_put_nbi(dest + 32, src, 1, to);                          \
		shmem_iput(ctx, dest + 34, src, 1, 1, 2, to);                  \
		shmem_ctx_quiet(ctx);                                          \
		shmem_barrier_all();                                           \
	}                                                                      \
	static void see_##name(const type *dest, type his)                     \
	{                                                                      \
		static const signed char want[N] = { -1, -1, -1, -1, 0, 1, 2,  \
			-1, 0, 1, -1, 0, 0, -1, 0, 1, 2, -1, 0, -1, 3, -1, 6,  \
			-1, 0, 1, -1, -1, 6, 7, -1, -1, 0, -1, 0, 1, -1, -1,   \
			-1, -1 };                                              \
                                                                               \
		for (int i = 0; i < N; i++)                                    \
			CHECK(dest[i] == (want[i] < 0 ? (type)99               \
						      : (type)(his +           \
								(type)want     \
									[i])), \
				"element %d of " #name                         \
				" is right after the puts",                    \
				i);                                            \
	}                                                                      \
	static void get_##name(                                                \
		shmem_ctx_t ctx, const type *dest, const type *src)            \
	{                                                                      \
		int to = stest_next();                                         \
		type back[N];                                                  \
                                                                               \
		for (int i = 0; i < N; i++)                                    \
			back[i] = 77;                                          \
		shmem_##name##_get(back, dest + 4, 3, to);                     \
		shmem_ctx_##name##_get_nbi(ctx, back + 4, dest + 14, 3, to);   \
		shmem_ctx_##name##_iget(                                       \
			ctx, back + 8, dest + 18, 1, 2, 3, to);                \
		shmem_ibget(back + 12, dest + 24, 3, 4, 2, 2, to);             \
		shmem_ctx_quiet(ctx);                                          \
		for (int i = 0; i < 3; i++)                                    \
			CHECK(back[i] == src[i] && back[4 + i] == src[i] &&    \
					back[8 + i] == src[3 * i],             \
				"the gets of " #name " return element %d", i); \
		CHECK(back[12] == src[0] && back[13] == src[1] &&              \
				back[15] == src[6] && back[16] == src[7],      \
			"ibget of " #name " returns the elements");            \
		CHECK(back[3] == 77 && back[7] == 77 && back[11] == 77 &&      \
				back[14] == 77 && back[17] == 77,              \
			"gets of " #name " write nothing else");               \
		CHECK(shmem_##name##_g(dest + 11, to) == src[0] &&             \
				shmem_g(ctx, dest + 12, to) == src[0],         \
			"g of " #name " returns the element");                 \
		shmem_barrier_all();                                           \
	}                                                                      \
	static void moves_##name(shmem_ctx_t ctx, type *dest)                  \
	{                                                                      \
		type src[N];                                                   \
                                                                               \
		for (int i = 0; i < N; i++) {                                  \
			src[i] = (type)((type)(stest.me + 1) + (type)i);       \
			dest[i] = 99;                                          \
		}                                                              \
		shmem_barrier_all();                                           \
		put_##name(ctx, dest, src);                                    \
		see_##name(dest, (type)(stest_before() + 1));                  \
		get_##name(ctx, dest, src);                                    \
	}
STEST_ORDERED(MOVES)

/* Tests the procedures without a type, for items of 8 to 128 bits. */
#define SIZED(bits)                                                           \
	static void sized_##bits(unsigned char *dest)                         \
	{                                                                     \
		enum { LEN = bits / 8 };                                      \
		unsigned char src[8 * LEN], back[8 * LEN];                    \
		int to = stest_next(), from = stest_before();                 \
                                                                              \
		for (int i = 0; i < 8 * LEN; i++)                             \
			src[i] = (unsigned char)(stest.me * 7 + i);           \
		memset(dest, 0xee, 8 * LEN);                                  \
		shmem_barrier_all();                                          \
		shmem_put##bits(dest, src, 2, to);                            \
		shmem_ctx_put##bits##_nbi(SHMEM_CTX_DEFAULT, dest + 2 * LEN,  \
			src + 2 * LEN, 1, to);                                \
		shmem_iput##bits(dest + 4 * LEN, src + 4 * LEN, 2, 1, 2, to); \
		shmem_barrier_all();                                          \
		for (int i = 0; i < 3 * LEN; i++)                             \
			CHECK(dest[i] == (unsigned char)(from * 7 + i),       \
				"put" #bits " writes byte %d", i);            \
		for (int i = 0; i < LEN; i++)                                 \
			CHECK(dest[6 * LEN + i] == (unsigned char)(from * 7 + \
								   5 * LEN +  \
								   i) &&      \
					dest[3 * LEN + i] == 0xee &&          \
					dest[5 * LEN + i] == 0xee,            \
				"iput" #bits " writes byte %d", i);           \
		shmem_get##bits(back, dest, 3, to);                           \
		CHECK(memcmp(back, src, 3 * LEN) == 0,                        \
			"get" #bits " returns the data");                     \
		shmem_ibget##bits(back, dest, 1, 1, 3, 1, to);                \
		CHECK(memcmp(back, src, 3 * LEN) == 0,                        \
			"ibget" #bits " returns the data");                   \
		shmem_barrier_all();                                          \
	}
SIZED(8)
SIZED(16)
SIZED(32)
SIZED(64)
SIZED(128)

static void length(unsigned char *dest, unsigned char *src, unsigned char *back,
	size_t len, bool is_nbi)
{
	int to = stest_next(), from = stest_before();
	size_t wrong = 0;

	for (size_t i = 0; i < len; i++)
		src[i] = (unsigned char)(i * 31 + (size_t)stest.me + len);
	memset(dest, 0, len + 1);
	memset(back, 0, len);
	shmem_barrier_all();
	if (is_nbi)
		shmem_putmem_nbi(dest, src, len, to);
	else
		shmem_putmem(dest, src, len, to);
	shmem_barrier_all();
	for (size_t i = 0; i < len; i++)
		wrong +=
			dest[i] != (unsigned char)(i * 31 + (size_t)from + len);
	CHECK(!wrong && !dest[len], "a put of %zu bytes arrives: %zu are wrong",
		len, wrong);
	if (is_nbi)
		shmem_getmem_nbi(back, dest, len, to);
	else
		shmem_getmem(back, dest, len, to);
	shmem_quiet();
	CHECK(memcmp(back, src, len) == 0,
		"a get of %zu bytes returns the data", len);
	shmem_barrier_all();
}

/* Lengths around all limits that a library may have, up to megabytes. */
static void lengths(void)
{
	static const size_t lens[] = { 0, 1, 3, 7, 8, 9, 15, 16, 17, 63, 64,
		255, 256, 257, 4095, 4096, 65537, 1 << 20, (3 << 20) + 5 };
	size_t max = (3 << 20) + 64;
	unsigned char *dest = shmem_malloc(max);
	unsigned char *src = malloc(max), *back = malloc(max);

	for (size_t k = 0; k < sizeof(lens) / sizeof(*lens); k++) {
		length(dest, src, back, lens[k], false);
		length(dest, src, back, lens[k], true);
	}
	shmem_free(dest);
	free(src);
	free(back);
}

/* An operation after a fence does not become visible before an operation that
 * precedes the fence. */
static void fences(void)
{
	static long data, flag;
	enum { ROUNDS = 300 };

	for (long i = 1; i <= ROUNDS; i++) {
		shmem_p(&data, i, stest_next());
		shmem_fence();
		shmem_p(&flag, i, stest_next());
		shmem_wait_until(&flag, SHMEM_CMP_GE, i);
		/* data of the next round may already have arrived */
		CHECK(__atomic_load_n(&data, __ATOMIC_RELAXED) >= i,
			"data put before flag %ld is visible", i);
	}
	shmem_barrier_all();
}

/* Writes src to dest at PE `to` in one of four ways. The callers pass n = 1:
 * way 3 is then an atomic set and an empty put. */
static void put_by(int way, long *dest, const long *src, size_t n, int to)
{
	switch (way) {
	case 0:
		shmem_put_nbi(dest, src, n, to);
		break;
	case 1:
		shmem_put(dest, src, n, to);
		break;
	case 2: /* too long to be aggregated with other puts */
		shmem_put_nbi(dest, src, WIDE, to);
		break;
	default:
		shmem_atomic_set(dest, src[n - 1], to);
		shmem_put_nbi(dest, src, n - 1, to);
	}
}

static void ways_in_order(void)
{
	enum { ROUNDS = 10, WAYS = 4 };
	long *to = shmem_calloc(2 * WIDE, sizeof(*to));
	static long from[WIDE];
	long *flag = to + WIDE, i = 0;

	for (int way = 0; way < ROUNDS * WAYS * WAYS; way++) {
		i++;
		for (int k = 0; k < WIDE; k++)
			from[k] = i;
		put_by(way % WAYS, to, from, 1, stest_next());
		shmem_fence();
		put_by(way / WAYS % WAYS, flag, from, 1, stest_next());
		if (way % 3 == 0)
			shmem_quiet();
		shmem_wait_until(flag, SHMEM_CMP_GE, i);
		CHECK(shmem_g(to, stest.me) >= i,
			"data is put before its flag: way %d, then %d, round "
			"%ld",
			way % WAYS, way / WAYS % WAYS, i);
		shmem_barrier_all(); /* the source may be written again */
	}
	shmem_free(to);
}

/* A get after a fence returns the value that was put before the fence. */
static void read_behind(void)
{
	enum { ROUNDS = 40, WAYS = 4 };
	long *to = shmem_calloc(WIDE, sizeof(*to));
	static long from[WIDE];

	for (long i = 1; i <= ROUNDS * WAYS; i++) {
		for (int k = 0; k < WIDE; k++)
			from[k] = i;
		put_by((int)i % WAYS, to, from, 1, stest_next());
		shmem_fence();
		CHECK(shmem_g(to, stest_next()) == i,
			"a get returns the value that was put by way %ld",
			i % WAYS);
		shmem_barrier_all();
	}
	shmem_free(to);
}

/* No PE calls quiet or fence after its operations. All operations arrive, those
 * of bursts too. */
static void unattended(void)
{
	enum { BURST = 8 };
	static long word, words[BURST], sum, data, heard;
	static uint64_t sig;
	long one = 1;
	int to = stest_next();

	shmem_barrier_all();
	shmem_put_nbi(&word, &one, 1, to);
	for (int i = 0; i < BURST; i++)
		shmem_p(&words[i], i + 1, to);
	for (int i = 0; i < BURST; i++)
		shmem_atomic_inc(&sum, to);
	for (int i = 0; i < BURST; i++)
		shmem_put_signal(&data, &one, 1, &sig, 1, SHMEM_SIGNAL_ADD, to);
	if (stest.me == 0) /* makes no call until PE 1 has put heard */
		while (!__atomic_load_n(&heard, __ATOMIC_ACQUIRE))
			usleep(100);
	shmem_wait_until(&word, SHMEM_CMP_EQ, 1);
	for (int i = 0; i < BURST; i++)
		shmem_wait_until(&words[i], SHMEM_CMP_EQ, i + 1);
	shmem_wait_until(&sum, SHMEM_CMP_EQ, BURST);
	shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, BURST);
	if (stest.me == 1)
		shmem_p(&heard, 1, 0);
	shmem_barrier_all();
	CHECK(word == 1 && sum == BURST && data == 1 && heard == !stest.me,
		"the burst and its flag arrived");
}

/* shmem_pe_quiet completes the operations to the PEs in its list.
 * shmem_barrier_all completes the operations to all PEs. */
static void quiet_one(void)
{
	static long here, from[64]; /* from[pe] is written by PE pe only */
	int to = stest_next(), all[2] = { to, stest.me };
	long got;

	CHECK(stest.n <= 64, "the job has at most 64 PEs");
	for (long i = 1; i <= 20; i++) {
		for (int pe = 0; pe < stest.n; pe++)
			shmem_long_put_nbi(&from[stest.me], &i, 1, pe);
		shmem_long_atomic_set(&here, i, to);
		shmem_pe_quiet(&to, i % 4 != 0);
		shmem_pe_quiet(all, i % 4 ? 0 : 2);
		got = shmem_long_g(&here, to);
		CHECK(got == i, "pe_quiet completes the puts: %ld, not %ld",
			got, i);
	}
	shmem_barrier_all();
	CHECK(here == 20 && from[stest_before()] == 20,
		"quiet completes the puts: %ld, %ld", here,
		from[stest_before()]);
	for (int pe = 0; pe < stest.n; pe++)
		CHECK(from[pe] > 0, "the word of PE %d has arrived: %ld", pe,
			from[pe]);
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	shmem_ctx_t ctx;

	(void)argc;
	stest_init(argv);
	heap = shmem_malloc(sizeof(area));
	CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0,
		"a context is created");
#define BOTH(name, type)                               \
	moves_##name(SHMEM_CTX_DEFAULT, (type *)area); \
	moves_##name(ctx, (type *)heap);
	STEST_ORDERED(BOTH)
	sized_8(heap);
	sized_16((unsigned char *)area);
	sized_32(heap);
	sized_64((unsigned char *)area);
	sized_128(heap);
	lengths();
	fences();
	ways_in_order();
	read_behind();
	if (stest.n > 1)
		unattended();
	quiet_one();
	shmem_ctx_destroy(ctx);
	shmem_free(heap);
	return stest_done();
}
