/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_ops: every predefined operation on every type it is defined for */
#include "mtest.h"
#include <complex.h>
#include <wchar.h>

enum { N = 37 };

/*
 * One function per C type. The operands are small, so that no product
 * overflows and no sum is rounded. The expected results are computed in the
 * same type.
 */
#define NUMBER(rank, i) (1 + ((rank)*5 + (i)*3) % 4)

static void check(MPI_Datatype type, const char *name, MPI_Op op,
	const char *op_name, const void *in, const void *want, size_t len)
{
	char *out = mtest_alloc(len);
	int rc;

	memset(out, 0, len);
	rc = MPI_Allreduce(in, out, N, type, op, MPI_COMM_WORLD);
	if (CHECK(rc == MPI_SUCCESS, "%s of %s succeeds: %s", op_name, name,
		    mtest_error(rc)))
		CHECK(memcmp(out, want, len) == 0,
			"%s of %s has the right result", op_name, name);
	free(out);
}

#define FOLD(c, fold, type, op, name)                               \
	do {                                                        \
		c in[N], want[N];                                   \
		memset(in, 0, sizeof(in));                          \
		memset(want, 0, sizeof(want));                      \
		for (int i = 0; i < N; i++) {                       \
			c x, y = 0;                                 \
			in[i] = (c)NUMBER(mtest.rank, i);           \
			for (int r = 0; r < mtest.size; r++) {      \
				x = (c)NUMBER(r, i);                \
				y = r ? (c)(fold) : x;              \
			}                                           \
			want[i] = y;                                \
		}                                                   \
		check(type, #type, op, name, in, want, sizeof(in)); \
	} while (0)

#define ARITHMETIC(c, type)                   \
	FOLD(c, y + x, type, MPI_SUM, "sum"); \
	FOLD(c, y *x, type, MPI_PROD, "product")
#define ORDERED(c, type)                                  \
	FOLD(c, y > x ? y : x, type, MPI_MAX, "maximum"); \
	FOLD(c, y < x ? y : x, type, MPI_MIN, "minimum")
#define BITS(c, type)                             \
	FOLD(c, y &x, type, MPI_BAND, "bit and"); \
	FOLD(c, y | x, type, MPI_BOR, "bit or");  \
	FOLD(c, y ^ x, type, MPI_BXOR, "bit xor")
#define LOGIC(c, type)                               \
	FOLD_LOGIC(c, y &&x, type, MPI_LAND, "and"); \
	FOLD_LOGIC(c, y || x, type, MPI_LOR, "or");  \
	FOLD_LOGIC(c, !y != !x, type, MPI_LXOR, "xor")

/* Logical operations: some operands are 0; the result is 0 or 1. */
#define FOLD_LOGIC(c, fold, type, op, name)                         \
	do {                                                        \
		c in[N], want[N];                                   \
		for (int i = 0; i < N; i++) {                       \
			c x, y = 0;                                 \
			in[i] = (c)((mtest.rank + i) % 3);          \
			for (int r = 0; r < mtest.size; r++) {      \
				x = (c)((r + i) % 3);               \
				y = r ? (c)(fold) : x;              \
			}                                           \
			want[i] = mtest.size > 1 ? (c) !!y : y;     \
		}                                                   \
		check(type, #type, op, name, in, want, sizeof(in)); \
	} while (0)

#define INTEGER(c, type)             \
	do {                         \
		ARITHMETIC(c, type); \
		ORDERED(c, type);    \
		BITS(c, type);       \
		LOGIC(c, type);      \
	} while (0)

#define REAL(c, type)                \
	do {                         \
		ARITHMETIC(c, type); \
		ORDERED(c, type);    \
	} while (0)

static void small_integers(void)
{
	INTEGER(char, MPI_CHAR); /* an extension, as in other libraries */
	INTEGER(signed char, MPI_SIGNED_CHAR);
	INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
	INTEGER(short, MPI_SHORT);
	INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
	INTEGER(int8_t, MPI_INT8_T);
	INTEGER(uint8_t, MPI_UINT8_T);
	INTEGER(int16_t, MPI_INT16_T);
	INTEGER(uint16_t, MPI_UINT16_T);
}

static void integers(void)
{
	INTEGER(int, MPI_INT);
	INTEGER(unsigned, MPI_UNSIGNED);
	INTEGER(long, MPI_LONG);
	INTEGER(unsigned long, MPI_UNSIGNED_LONG);
	INTEGER(long long, MPI_LONG_LONG);
	INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG);
	INTEGER(int32_t, MPI_INT32_T);
	INTEGER(uint32_t, MPI_UINT32_T);
	INTEGER(int64_t, MPI_INT64_T);
	INTEGER(uint64_t, MPI_UINT64_T);
}

static void others(void)
{
	REAL(MPI_Aint, MPI_AINT);
	REAL(MPI_Count, MPI_COUNT);
	REAL(MPI_Offset, MPI_OFFSET);
	REAL(float, MPI_FLOAT);
	REAL(double, MPI_DOUBLE);
#ifdef __FLT16_MAX__
	REAL(_Float16, MPIX_C_FLOAT16); /* beyond the standard */
#endif
	LOGIC(_Bool, MPI_C_BOOL);
	BITS(unsigned char, MPI_BYTE);
	ARITHMETIC(float _Complex, MPI_C_FLOAT_COMPLEX);
	ARITHMETIC(float _Complex, MPI_C_COMPLEX);
	ARITHMETIC(double _Complex, MPI_C_DOUBLE_COMPLEX);
}

/* Beyond the standard: whole numbers in the upper half of a float. */
static void bfloats(void)
{
	float x[N];
	uint16_t in[N], out[N];
	int bad = 0, sum;

	for (int i = 0; i < N; i++) {
		x[i] = (float)NUMBER(mtest.rank, i);
		memcpy(in + i, (char *)(x + i) + 2, 2);
	}
	OK(MPI_Allreduce(in, out, N, MPIX_BFLOAT16, MPI_SUM, MPI_COMM_WORLD));
	for (int i = 0; i < N; i++) {
		sum = 0;
		for (int r = 0; r < mtest.size; r++)
			sum += NUMBER(r, i);
		memcpy((char *)(x + i) + 2, out + i, 2);
		bad += x[i] != (float)sum;
	}
	CHECK(bad == 0, "bfloat16: %d results are wrong", bad);
}

/* A long double has undefined padding bytes, so the test compares the values.
 */
static void long_doubles(void)
{
	static const MPI_Op ops[2] = { MPI_SUM, MPI_MAX };
	long double in[N], out[N];
	long double _Complex z[N], sum[N];
	int bad = 0;

	for (int i = 0; i < N; i++) {
		in[i] = NUMBER(mtest.rank, i) + 0.5L;
		z[i] = in[i] + I * mtest.rank;
	}
	for (int k = 0; k < 2; k++) {
		OK(MPI_Allreduce(
			in, out, N, MPI_LONG_DOUBLE, ops[k], MPI_COMM_WORLD));
		for (int i = 0; i < N; i++) {
			long double want = 0;

			for (int r = 0; r < mtest.size; r++) {
				long double x = NUMBER(r, i) + 0.5L;

				want = k == 0 ? want + x : x > want ? x : want;
			}
			bad += out[i] != want;
		}
	}
	CHECK(bad == 0, "long double: %d results are wrong", bad);
	OK(MPI_Allreduce(
		z, sum, N, MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD));
	for (int i = 0; i < N; i++)
		bad += cimagl(sum[i]) != mtest.size * (mtest.size - 1) / 2;
	CHECK(bad == 0, "long double complex: %d results are wrong", bad);
}

/* value and index: of equal values, the smaller index wins */
#define LOCATE(c, type)                                                       \
	do {                                                                  \
		struct {                                                      \
			c value;                                              \
			int place;                                            \
		} in[N], low[N], high[N];                                     \
		int bad = 0;                                                  \
		memset(in, 0, sizeof(in));                                    \
		for (int i = 0; i < N; i++) {                                 \
			in[i].value = (c)NUMBER(mtest.rank, i);               \
			in[i].place = 100 + mtest.rank;                       \
		}                                                             \
		OK(MPI_Allreduce(                                             \
			in, low, N, type, MPI_MINLOC, MPI_COMM_WORLD));       \
		OK(MPI_Allreduce(                                             \
			in, high, N, type, MPI_MAXLOC, MPI_COMM_WORLD));      \
		for (int i = 0; i < N; i++) {                                 \
			int least = 0, most = 0;                              \
			for (int r = 1; r < mtest.size; r++) {                \
				if (NUMBER(r, i) < NUMBER(least, i))          \
					least = r;                            \
				if (NUMBER(r, i) > NUMBER(most, i))           \
					most = r;                             \
			}                                                     \
			bad += low[i].place != 100 + least;                   \
			bad += low[i].value != (c)NUMBER(least, i);           \
			bad += high[i].place != 100 + most;                   \
			bad += high[i].value != (c)NUMBER(most, i);           \
		}                                                             \
		CHECK(bad == 0, "minloc, maxloc of %s: %d results are wrong", \
			#type, bad);                                          \
	} while (0)

static void places(void)
{
	LOCATE(int, MPI_2INT);
	LOCATE(short, MPI_SHORT_INT);
	LOCATE(long, MPI_LONG_INT);
	LOCATE(float, MPI_FLOAT_INT);
	LOCATE(double, MPI_DOUBLE_INT);
	LOCATE(long double, MPI_LONG_DOUBLE_INT);
}

/* an operation on a type it is not defined for is an error */
static void refused(void)
{
	double x[4] = { 0 }, y[4];
	struct {
		double value;
		int place;
	} p = { 0 }, q;

	FAILS(MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD),
		MPI_ERR_OP);
	FAILS(MPI_Allreduce(
		      x, y, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, MPI_COMM_WORLD),
		MPI_ERR_OP);
	FAILS(MPI_Allreduce(x, y, 1, MPI_INT, MPI_MAXLOC, MPI_COMM_WORLD),
		MPI_ERR_OP);
	FAILS(MPI_Allreduce(&p, &q, 1, MPI_DOUBLE_INT, MPI_SUM, MPI_COMM_WORLD),
		MPI_ERR_OP);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	small_integers();
	integers();
	others();
	bfloats();
	long_doubles();
	places();
	refused();
	return mtest_finish();
}
