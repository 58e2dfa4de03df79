/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_wait: waits and tests return when other PEs have stored the values;
 * signals arrive after their data */
#include "stest.h"

enum { N = 8 };

static long long area[N];

/* All six comparisons, with values whose order depends on the sign. */
#define COMPARES(name, type)                                                 \
	static void compares_##name(void)                                    \
	{                                                                    \
		type v = 5, minus = (type)-1;                                \
		bool has_sign = (type)-1 < (type)1;                          \
                                                                             \
		CHECK(shmem_##name##_test(&v, SHMEM_CMP_EQ, 5) &&            \
				!shmem_test(&v, SHMEM_CMP_NE, (type)5) &&    \
				shmem_##name##_test(&v, SHMEM_CMP_GT, 4) &&  \
				!shmem_##name##_test(&v, SHMEM_CMP_GT, 5) && \
				shmem_##name##_test(&v, SHMEM_CMP_GE, 5) &&  \
				shmem_##name##_test(&v, SHMEM_CMP_LT, 6) &&  \
				!shmem_##name##_test(&v, SHMEM_CMP_LT, 5) && \
				shmem_##name##_test(&v, SHMEM_CMP_LE, 5),    \
			"comparisons of " #name " are right");               \
		CHECK(!!shmem_##name##_test(&minus, SHMEM_CMP_LT, 1) ==      \
				has_sign,                                    \
			"-1 is below 1 only if " #name " has a sign");       \
		shmem_##name##_wait(&v, 4);                                  \
		shmem_##name##_wait_until(&v, SHMEM_CMP_LE, 5);              \
	}
STEST_WAIT(COMPARES)

/* The PE before this one stores into all variables of this PE except the one
 * that status excludes. */
#define SETS(name, type)                                                       \
	static void sets_##name(type *ivars)                                   \
	{                                                                      \
		static const int status[N] = { 0, 0, 0, 1, 0, 0, 0, 0 };       \
		type values[N], wrong[N];                                      \
		size_t indices[N], i, n = 0;                                   \
		int n_seen[N] = { 0 };                                         \
                                                                               \
		for (i = 0; i < N; i++) {                                      \
			ivars[i] = 0;                                          \
			values[i] = (type)(i + 1);                             \
			wrong[i] = (type)(i + 50);                             \
		}                                                              \
		shmem_barrier_all();                                           \
		CHECK(shmem_test_any(ivars, N, NULL, SHMEM_CMP_GT, (type)0) == \
				SIZE_MAX,                                      \
			"no variable of " #name " is set yet");                \
		shmem_barrier_all();                                           \
		for (i = N; i-- > 0;)                                          \
			if (i != 3)                                            \
				shmem_p(&ivars[i], (type)(i + 1),              \
					stest_next());                         \
		shmem_quiet();                                                 \
		i = shmem_##name##_wait_until_any(                             \
			ivars, N, status, SHMEM_CMP_GT, 0);                    \
		CHECK(i < N && i != 3 && ivars[i] == (type)(i + 1),            \
			"wait_until_any returns a set element, not 3");        \
		n = shmem_wait_until_some(                                     \
			ivars, N, indices, status, SHMEM_CMP_NE, (type)0);     \
		CHECK(n >= 1 && n <= N - 1, "wait_until_some returns %zu", n); \
		shmem_##name##_wait_until_all(                                 \
			ivars, N, status, SHMEM_CMP_GE, 1);                    \
		shmem_wait_until_all_vector(                                   \
			ivars, N, status, SHMEM_CMP_EQ, values);               \
		CHECK(shmem_test_all_vector(                                   \
			      ivars, N, status, SHMEM_CMP_EQ, values) == 1,    \
			"all of " #name " have their values");                 \
		CHECK(!shmem_##name##_test_all(                                \
			      ivars, N, NULL, SHMEM_CMP_NE, 0),                \
			"the excluded element is 0");                          \
		CHECK(shmem_##name##_test_some_vector(ivars, N, indices, NULL, \
			      SHMEM_CMP_EQ, wrong) == 0,                       \
			"no element has another value");                       \
		CHECK(shmem_test_any_vector(ivars, N, NULL, SHMEM_CMP_EQ,      \
			      wrong) == SIZE_MAX,                              \
			"no element has another value");                       \
		CHECK(shmem_##name##_test_some(                                \
			      ivars, N, indices, NULL, SHMEM_CMP_GT, 4) == 4,  \
			"four variables are above 4");                         \
		for (i = 0; i < 3 * N; i++)                                    \
			n_seen[shmem_wait_until_any_vector(                    \
				ivars, N, status, SHMEM_CMP_EQ, values)]++;    \
		for (i = 0; i < N; i++)                                        \
			CHECK(i == 3 ? !n_seen[i] : n_seen[i] > 0,             \
				"wait_until_any_vector returns each element "  \
				"except 3: %zu was returned %d times",         \
				i, n_seen[i]);                                 \
		CHECK(shmem_##name##_wait_until_some_vector(ivars, N, indices, \
			      status, SHMEM_CMP_EQ, values) == N - 1,          \
			"wait_until_some_vector returns all elements");        \
		shmem_barrier_all();                                           \
	}
STEST_WAIT(SETS)

static void empty_sets(void)
{
	static const int all_out[2] = { 1, 7 };
	int v[2] = { 0, 0 };
	size_t indices[2];

	CHECK(shmem_int_wait_until_any(v, 0, NULL, SHMEM_CMP_NE, 0) ==
				SIZE_MAX &&
			shmem_int_wait_until_any(
				v, 2, all_out, SHMEM_CMP_NE, 0) == SIZE_MAX,
		"wait_until_any of no element");
	CHECK(shmem_int_wait_until_some(
		      v, 2, indices, all_out, SHMEM_CMP_NE, 0) == 0,
		"wait_until_some of no element");
	shmem_int_wait_until_all(v, 2, all_out, SHMEM_CMP_NE, 0);
	CHECK(shmem_int_test_all(v, 0, NULL, SHMEM_CMP_NE, 0) == 1 &&
			shmem_int_test_any(v, 2, all_out, SHMEM_CMP_EQ, 0) ==
				SIZE_MAX,
		"tests of no element return their defaults");
}

/* When a wait for a signal returns, the data of the signal has arrived. The
 * data may be short or long. */
static void signals(size_t len, bool is_nbi)
{
	static uint64_t sig;
	unsigned char *data = shmem_calloc(1, len);
	unsigned char *src = malloc(len);
	shmem_ctx_t ctx;
	uint64_t got;
	size_t wrong = 0;

	CHECK(shmem_ctx_create(0, &ctx) == 0, "a context is created");
	memset(src, stest.me + 1, len);
	sig = 0;
	shmem_barrier_all();
	if (is_nbi)
		shmem_putmem_signal_nbi(data, src, len, &sig, 5,
			SHMEM_SIGNAL_SET, stest_next());
	else
		shmem_put_signal(ctx, data, src, len, &sig, 5, SHMEM_SIGNAL_SET,
			stest_next());
	got = shmem_signal_wait_until(&sig, SHMEM_CMP_NE, 0);
	for (size_t i = 0; i < len; i++)
		wrong += data[i] != stest_before() + 1;
	CHECK(got == 5 && !wrong, "signal %lu, %zu of %zu bytes wrong",
		(unsigned long)got, wrong, len);
	CHECK(shmem_signal_fetch(&sig) == 5, "signal_fetch returns the signal");
	shmem_quiet();
	shmem_barrier_all();
	shmem_uchar_put_signal(data, src, len < 9 ? len : 9, &sig, 10,
		SHMEM_SIGNAL_ADD, stest_next());
	shmem_signal_wait_until(&sig, SHMEM_CMP_GE, 15);
	shmem_barrier_all();
	shmem_signal_add(ctx, &sig, 100, stest_next());
	shmem_ctx_quiet(ctx);
	shmem_signal_add(&sig, 1000, stest_next());
	CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_GE, 1115) == 1115,
		"added signals arrive");
	shmem_barrier_all();
	shmem_signal_set(&sig, 3, stest_next());
	CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_LT, 10) == 3,
		"a signal that is set arrives");
	shmem_barrier_all();
	shmem_ctx_destroy(ctx);
	shmem_free(data);
	free(src);
}

/* PEs 2i and 2i + 1 store into each other's word, alternately. The odd PE waits
 * in shmem_wait_until(); the even PE polls shmem_test(). */
static void pingpong(void)
{
	static int ball;
	int other = stest.me ^ 1;

	if (other < stest.n)
		for (int i = 1; i <= 1000; i++) {
			if (stest.me & 1)
				shmem_wait_until(&ball, SHMEM_CMP_EQ, i);
			shmem_p(&ball, i, other);
			if (!(stest.me & 1))
				while (!shmem_test(&ball, SHMEM_CMP_EQ, i))
					;
		}
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	void *heap;

	(void)argc;
	stest_init(argv);
	heap = shmem_malloc(sizeof(area));
#define ALL(name, type)            \
	compares_##name();         \
	sets_##name((type *)area); \
	sets_##name((type *)heap);
	STEST_WAIT(ALL)
	empty_sets();
	signals(8, false);
	signals(1, true);
	signals(300000, false);
	signals(5000, true);
	pingpong();
	shmem_free(heap);
	return stest_done();
}
