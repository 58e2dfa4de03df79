/* SPDX-License-Identifier: BSD-3-Clause */
/* redop_test: every operation on every predefined type, one value at a time */
#include "dt/redop.h"
#include "base/err.h"
#include "base/quad.h"
#include "typeref.h"

#include <limits.h>
#include <math.h>

enum { BF16 = 0x24c };

/* The standard's groups of predefined types: their ABI values, then 0. */
static const unsigned c_integers[] = {
	0x243 /* MPI_CHAR, as in other implementations */, 0x208, 0x209, 0x20a,
	0x20b, 0x20c, 0x20d, 0x20e, 0x20f, 0x240, 0x241, 0x244, 0x245, 0x248,
	0x249, 0x250, 0x251, 0x258, 0x259, 0
};
static const unsigned f_integers[] = { 0x219, 0x2c1, 0x2c9, 0x2d1, 0x2d9, 0x2e1,
	0 };
static const unsigned multi[] = { 0x201, 0x202, 0x203, 0 };
static const unsigned floats[] = { 0x210, 0x214, 0x21a, 0x21c, 0x220, 0x2d2,
	0x2da, 0x2e2, BF16,
#ifdef __FLT16_MAX__
	0x24a, 0x2ca,
#endif
	0 };
static const unsigned complexes[] = { 0x212, 0x213, 0x216, 0x217, 0x21b, 0x21d,
	0x224, 0x225, 0x2db, 0x2e3, 0x2eb, 0 };
static const unsigned logicals[] = { 0x218, 0x238, 0x239, 0x2c0, 0x2c8, 0x2d0,
	0x2d8, 0x2e0, 0 };
static const unsigned bytes[] = { 0x247, 0 };
static const unsigned pairs[] = { 0x228, 0x229, 0x22a, 0x22b, 0x22c, 0x22d,
	0x230, 0x231, 0x232, 0 };
/* Half precision has arithmetic only where the compiler knows it. */
static const unsigned halves[] = { 0x24a, 0x2ca, 0x2d3, 0 };

static bool is_in(const unsigned *group, unsigned value)
{
	while (*group && *group != value)
		group++;
	return *group != 0;
}

static bool is_tested(unsigned v)
{
	return !is_in(halves, v) || is_in(floats, v);
}

static bool is_integer(unsigned v)
{
	return is_in(c_integers, v) || is_in(f_integers, v) || is_in(multi, v);
}

static bool should_fit(enum weft_redop_builtin op, unsigned v)
{
	switch (op) {
	case WEFT_OP_MIN:
	case WEFT_OP_MAX:
		return is_integer(v) || is_in(floats, v);
	case WEFT_OP_SUM:
	case WEFT_OP_PROD:
		return is_integer(v) || is_in(floats, v) || is_in(complexes, v);
	case WEFT_OP_LAND:
	case WEFT_OP_LOR:
	case WEFT_OP_LXOR:
		return is_in(c_integers, v) || is_in(multi, v) ||
		       is_in(logicals, v);
	case WEFT_OP_BAND:
	case WEFT_OP_BOR:
	case WEFT_OP_BXOR:
		return is_integer(v) || is_in(bytes, v);
	case WEFT_OP_MINLOC:
	case WEFT_OP_MAXLOC:
		return is_in(pairs, v);
	default:
		return true;
	}
}

static void test_fits(void **state)
{
	int n_ops = 0;

	(void)state;
	for (unsigned o = 0x10; o < 0x50; o++) {
		struct weft_redop *op = weft_redop_builtin(o);

		if (!op)
			continue;
		n_ops++;
		assert_int_equal(weft_obj_handle(op), o);
		assert_ptr_equal(weft_redop_lookup(o), op);
		for (unsigned v = 0x201; v <= 0x2eb; v++)
			if (weft_type_builtin(v) && is_tested(v))
				assert_int_equal(weft_redop_is_defined(op,
							 weft_type_builtin(v)),
					should_fit(op->builtin, v));
	}
	assert_int_equal(n_ops, 14);
	assert_null(weft_redop_builtin(0x20));
}

static float load_bf16(const void *at)
{
	char whole[4] = { 0 };
	float f;

	memcpy(whole + 2, at, 2);
	return memcpy(&f, whole, 4), f;
}

/* Rounds x to nearest, ties to even. */
static void store_bf16(void *at, float x)
{
	char whole[4];
	uint16_t low, high;
	float below, above;

	memcpy(whole, &x, 4);
	memcpy(&low, whole + 2, 2);
	high = (uint16_t)(low + 1);
	below = fabsf(x - load_bf16(&low));
	above = fabsf(x - load_bf16(&high));
	memcpy(at,
		below < above || (below == above && !(low & 1)) ? &low : &high,
		2);
}

/* Loads a floating-point number of type v and `size` bytes. The numbers of the
 * test are small integers. */
static long double load_float(const void *at, int64_t size, unsigned v)
{
	float f;
	double d;
	long double l;
	weft_quad q;
#ifdef __FLT16_MAX__
	_Float16 h;
#endif

	if (v == BF16)
		return load_bf16(at);
#ifdef __FLT16_MAX__
	if (size == 2)
		return memcpy(&h, at, 2), (float)h;
#endif
	if (size == 4)
		return memcpy(&f, at, 4), f;
	if (size == 8)
		return memcpy(&d, at, 8), d;
	if (v == 0x2e2 || v == 0x2eb)
		return memcpy(&q, at, 16), (long double)q;
	return memcpy(&l, at, 16), l;
}

static void store_float(void *at, int64_t size, unsigned v, long double x)
{
	float f = (float)x;
	double d = (double)x;
	weft_quad q = x;
#ifdef __FLT16_MAX__
	_Float16 h = (_Float16)f;
#endif

	if (v == BF16)
		store_bf16(at, f);
#ifdef __FLT16_MAX__
	else if (size == 2)
		memcpy(at, &h, 2);
#endif
	else if (size == 4)
		memcpy(at, &f, 4);
	else if (size == 8)
		memcpy(at, &d, 8);
	else if (v == 0x2e2 || v == 0x2eb)
		memcpy(at, &q, 16);
	else
		memcpy(at, &x, sizeof x);
}

static bool is_unsigned(unsigned v)
{
	static const unsigned all[] = { 0x20c, 0x20d, 0x20e, 0x20f, 0x238,
		0x239, 0x241, 0x245, 0x247, 0x249, 0x251, 0x259, 0 };

	/* MPI_CHAR is unsigned if char is unsigned */
	return is_in(all, v) || (v == 0x243 && CHAR_MIN == 0);
}

static __int128 load_int(const void *at, int64_t size, unsigned v)
{
	unsigned __int128 x = 0;
	int bits = (int)size * 8;

	memcpy(&x, at, (size_t)size);
	if (!is_unsigned(v) && bits < 128)
		return (__int128)(x << (128 - bits)) >> (128 - bits);
	return (__int128)x;
}

static __int128 int_op(enum weft_redop_builtin op, __int128 a, __int128 b)
{
	typedef unsigned __int128 u128;

	switch (op) {
	case WEFT_OP_SUM:
		return (__int128)((u128)a + (u128)b);
	case WEFT_OP_PROD:
		return (__int128)((u128)a * (u128)b);
	case WEFT_OP_MIN:
		return a < b ? a : b;
	case WEFT_OP_MAX:
		return a > b ? a : b;
	case WEFT_OP_BAND:
		return a & b;
	case WEFT_OP_BOR:
		return a | b;
	case WEFT_OP_BXOR:
		return a ^ b;
	case WEFT_OP_LAND:
		return a && b;
	case WEFT_OP_LOR:
		return a || b;
	case WEFT_OP_LXOR:
		return !a != !b;
	default:
		fail();
		return 0;
	}
}

static long double float_op(
	enum weft_redop_builtin op, long double a, long double b)
{
	switch (op) {
	case WEFT_OP_SUM:
		return a + b;
	case WEFT_OP_PROD:
		return a * b;
	case WEFT_OP_MIN:
		return a < b ? a : b;
	default:
		return a > b ? a : b;
	}
}

/* Fills n items: random bytes for integers, small whole numbers otherwise. */
static void fill(
	uint64_t *seed, const struct weft_type *t, unsigned v, char *buf, int n)
{
	bool is_cpx = is_in(complexes, v);
	int64_t half = is_cpx ? t->size / 2 : t->size;

	for (int64_t i = 0; i < n * t->extent; i++)
		buf[i] = (char)rnd(seed, 256);
	if (is_in(logicals, v))
		for (int i = 0; i < n; i++) {
			memset(buf + i * t->size, 0, (size_t)t->size);
			buf[i * t->size] = (char)rnd(seed, 2);
		}
	if (is_in(floats, v) || is_cpx)
		for (int64_t i = 0; i < n * t->size; i += half)
			store_float(buf + i, half, v,
				(long double)rnd(seed, 60) - 30);
}

static void check_one(enum weft_redop_builtin op, const struct weft_type *t,
	unsigned v, const char *a, const char *b, const char *got)
{
	int64_t s = t->size, h = s / 2;

	if (is_in(complexes, v)) {
		long double ar = load_float(a, h, v);
		long double ai = load_float(a + h, h, v);
		long double br = load_float(b, h, v);
		long double bi = load_float(b + h, h, v);
		bool is_sum = op == WEFT_OP_SUM;

		assert_true(load_float(got, h, v) ==
			    (is_sum ? ar + br : ar * br - ai * bi));
		assert_true(load_float(got + h, h, v) ==
			    (is_sum ? ai + bi : ar * bi + ai * br));
	} else if (is_in(floats, v)) {
		char want[16];

		store_float(want, s, v,
			float_op(op, load_float(a, s, v), load_float(b, s, v)));
		assert_true(load_float(got, s, v) == load_float(want, s, v));
	} else {
		__int128 want =
			int_op(op, load_int(a, s, v), load_int(b, s, v));

		assert_memory_equal(got, &want, s);
	}
}

static void test_all_numbers(void **state)
{
	enum { N = 37 };
	static __attribute__((aligned(16))) char in[N * 32], was[N * 32],
		out[N * 32], third[N * 32];
	uint64_t seed = 11;

	(void)state;
	for (unsigned o = WEFT_OP_SUM; o <= WEFT_OP_LXOR; o++)
		for (unsigned v = 0x201; v <= 0x2eb; v++) {
			struct weft_redop *op = weft_redop_builtin(o);
			struct weft_type *t = weft_type_builtin(v);

			if (!op || !t || !is_tested(v) ||
				!weft_redop_is_defined(op, t))
				continue;
			fill(&seed, t, v, in, N);
			fill(&seed, t, v, was, N);
			memcpy(out, was, sizeof out);
			assert_int_equal(
				weft_redop_apply(op, in, out, out, N - 1, t),
				0);
			for (int i = 0; i < N - 1; i++)
				check_one(op->builtin, t, v, in + i * t->size,
					was + i * t->size, out + i * t->size);
			/* the item after it is unchanged */
			assert_memory_equal(out + (N - 1) * t->size,
				was + (N - 1) * t->size, t->size);
			/* the same result in another buffer, and in the left
			 * operand */
			memcpy(third, was, sizeof third);
			assert_int_equal(
				weft_redop_apply(op, in, was, third, N - 1, t),
				0);
			assert_memory_equal(third, out, N * t->size);
			memcpy(third, in, sizeof third);
			assert_int_equal(weft_redop_apply(op, third, was, third,
						 N - 1, t),
				0);
			for (int i = 0; i < N - 1; i++)
				check_one(op->builtin, t, v, in + i * t->size,
					was + i * t->size, third + i * t->size);
		}
}

static int64_t pair_value(const void *at, unsigned v)
{
	short s;
	long l;
	int i;

	if (v == 0x22c)
		return memcpy(&s, at, sizeof s), s;
	if (v == 0x22a)
		return memcpy(&l, at, sizeof l), l;
	if (v == 0x22b || v == 0x232)
		return memcpy(&i, at, sizeof i), i;
	return (int64_t)load_float(at,
		v == 0x22d		   ? 16
		: v == 0x228 || v == 0x230 ? 4
					   : 8,
		v);
}

static int64_t pair_index(const char *at, unsigned v)
{
	const struct weft_type *t = weft_type_builtin(v);
	int i;

	if (v == 0x230)
		return (int64_t)load_float(at + 4, 4, v);
	if (v == 0x231)
		return (int64_t)load_float(at + 8, 8, v);
	memcpy(&i, at + t->true_extent - 4, 4);
	return i;
}

static void pair_store(char *at, unsigned v, int value, int index)
{
	const struct weft_type *t = weft_type_builtin(v);
	int64_t vsize = t->true_extent - 4;
	long l = value;

	if (v == 0x230 || v == 0x231) {
		store_float(at, t->size / 2, v, value);
		store_float(at + t->size / 2, t->size / 2, v, index);
		return;
	}
	if (v == 0x22a || v == 0x22b || v == 0x232 || v == 0x22c)
		memcpy(at, &l, v == 0x22a ? 8 : v == 0x22c ? 2 : 4);
	else
		store_float(at, vsize, v, value);
	memcpy(at + t->true_extent - 4, &index, 4);
}

/* The smaller or greater value, on a tie the lower index; padding is unchanged.
 */
static void test_pairs(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int n = 0; n < 2000; n++) {
		unsigned v = pairs[n % 9];
		struct weft_type *t = weft_type_builtin(v);
		bool is_max = rnd(&seed, 2);
		struct weft_redop *op = weft_redop_builtin(
			is_max ? WEFT_OP_MAXLOC : WEFT_OP_MINLOC);
		__attribute__((aligned(16))) char in[32], out[32], want[32];
		int av = (int)rnd(&seed, 5) - 2, bv = (int)rnd(&seed, 5) - 2;
		int ai = (int)rnd(&seed, 9), bi = (int)rnd(&seed, 9);
		bool a_wins = is_max ? av > bv : av < bv;

		memset(in, 0x11, sizeof in);
		memset(out, 0x22, sizeof out);
		pair_store(in, v, av, ai);
		pair_store(out, v, bv, bi);
		memcpy(want, out, sizeof want);
		pair_store(want, v, a_wins ? av : bv,
			a_wins	   ? ai
			: av == bv ? (ai < bi ? ai : bi)
				   : bi);
		assert_int_equal(weft_redop_apply(op, in, out, out, 1, t), 0);
		assert_int_equal(pair_value(out, v), pair_value(want, v));
		assert_int_equal(pair_index(out, v), pair_index(want, v));
		if (v != 0x22d) /* a long double has padding of its own */
			assert_memory_equal(out, want, sizeof want);
		pair_store(out, v, bv, bi);
		assert_int_equal(weft_redop_apply(op, in, out, in, 1, t), 0);
		assert_int_equal(pair_value(in, v), pair_value(want, v));
		assert_int_equal(pair_index(in, v), pair_index(want, v));
	}
}

/* Derived types of one predefined type: as accumulate uses them. */
static void test_derived(void **state)
{
	struct weft_redop *sum = weft_redop_builtin(WEFT_OP_SUM);
	struct weft_type *t = NULL, *mixed = NULL;
	struct weft_type *two[2] = { weft_type_builtin(0x209),
		weft_type_builtin(0x214) };
	const int64_t ones[2] = { 1, 1 }, displs[2] = { 0, 8 };
	int in[12], out[12], third[12];

	(void)state;
	for (int i = 0; i < 12; i++) {
		third[i] = 7;
		in[i] = i;
		out[i] = 100 * i;
	}
	assert_int_equal(weft_type_make_vector(3, 2, 4, two[0], &t), 0);
	assert_false(weft_redop_is_defined(sum, t));
	assert_ptr_equal(t->basic, two[0]);
	assert_int_equal(weft_redop_apply(sum, in, out, out, 1, t), 0);
	for (int i = 0; i < 12; i++)
		assert_int_equal(out[i], i % 4 < 2 ? 101 * i : 100 * i);
	assert_int_equal(
		weft_type_make_struct(2, ones, displs, two, &mixed), 0);
	assert_null(mixed->basic);
	assert_int_equal(
		weft_redop_apply(sum, in, out, out, 1, mixed), WEFT_ERR_OP);
	assert_int_equal(weft_redop_apply(weft_redop_builtin(WEFT_OP_BAND), in,
				 out, out, 1, two[1]),
		WEFT_ERR_OP);
	assert_non_null(strstr(
		weft_err_detail_peek(WEFT_ERR_OP), "MPI_BAND is not defined"));
	assert_int_equal(weft_redop_apply(weft_redop_builtin(WEFT_OP_REPLACE),
				 in, out, out, 1, t),
		0);
	assert_int_equal(out[4], 4);
	assert_int_equal(out[6], 600);
	assert_int_equal(weft_redop_apply(weft_redop_builtin(WEFT_OP_NO_OP), in,
				 out, out, 1, mixed),
		0);
	assert_int_equal(weft_redop_apply(sum, in, out, third, 1, t), 0);
	for (int i = 0; i < 12; i++)
		assert_int_equal(third[i], i % 4 < 2 ? in[i] + out[i] : 7);
	assert_int_equal(weft_redop_apply(weft_redop_builtin(WEFT_OP_NO_OP), in,
				 out, third, 1, t),
		0);
	assert_int_equal(third[4], 4);
	assert_int_equal(third[6], 7);
	weft_type_put(t);
	weft_type_put(mixed);
}

static void user_minus(void *in, void *inout, int *count, void **type)
{
	int *a = in, *b = inout;

	assert_int_equal((uintptr_t)*type, 0x209);
	for (int i = 0; i < *count; i++)
		b[i] = a[i] - b[i];
}

static void user_large(void *in, void *inout, int64_t *count, void **type)
{
	const struct weft_type *t = weft_type_lookup((uintptr_t)*type);

	assert_non_null(t);
	assert_int_equal(t->combiner, WEFT_COMBINER_CONTIGUOUS);
	memcpy(inout, in, (size_t)(*count * t->size));
}

static void test_user(void **state)
{
	struct weft_redop *op = weft_redop_make(user_minus, NULL, false);
	struct weft_redop *large = weft_redop_make(NULL, user_large, true);
	struct weft_type *t = NULL, *i32 = weft_type_builtin(0x209);
	int in[4] = { 5, 6, 7, 8 }, out[4] = { 1, 2, 3, 4 };
	uint64_t handle = weft_obj_handle(op);

	(void)state;
	assert_ptr_equal(weft_redop_lookup(handle), op);
	assert_true(weft_redop_is_defined(op, i32));
	weft_redop_call(op, in, out, 3, i32);
	assert_int_equal(out[0], 4);
	assert_int_equal(out[2], 4);
	assert_int_equal(out[3], 4);
	assert_int_equal(weft_type_make_contiguous(2, i32, &t), 0);
	weft_redop_call(large, in, out, 2, t);
	assert_int_equal(out[3], 8);
	weft_redop_get(op);
	weft_redop_close_handle(op);
	assert_null(weft_redop_lookup(handle));
	weft_redop_put(op);
	weft_redop_close_handle(large);
	weft_type_put(t);
	assert_int_equal(weft_table_n_live(&weft_redops), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_all_numbers),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_derived),
		cmocka_unit_test(test_user),
	};

	return cmocka_run_group_tests_name("redop", tests, NULL, NULL);
}
