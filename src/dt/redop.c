/* SPDX-License-Identifier: BSD-3-Clause */
/* redop: reduction operations and their kernels
 *
 * A kernel is a plain loop, one for each operation and machine type, which the
 * compiler vectorises. redop.def lists the types. Each of its inclusions below
 * defines the kernels of one group, or the entries of a table. */
#include "dt/redop.h"

#include "base/bits.h"
#include "base/err.h"
#include "base/quad.h"
#include "dt/pack.h"

#include <limits.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#ifdef __clang__
/* clang does not vectorise all kernels */
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#pragma GCC optimize("O3", "unroll-loops")
#endif

struct weft_table weft_redops =
	WEFT_TABLE_INIT(struct weft_redop, WEFT_KIND_OP);

#ifdef __FLT16_MAX__
typedef _Float16 weft_half;
#endif

/* On x86-64 with gcc and glibc, kernels are compiled for AVX2 and for the base
 * architecture, and the loader selects one. Builds with a sanitizer have one
 * form, because the loader selects before the sanitizer is initialized. Fused
 * multiply-add is not used, so that all processors compute the same results. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* Iterations are independent, even if out is one of the operands. */
#ifdef __clang__
#define EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH _Pragma("GCC ivdep")
#endif

/* out[i] = expr of x (from left) and y (from right). */
#define KERNEL(name, type, expr)                                           \
	static WIDE void name(                                             \
		const void *left, const void *right, void *out, int64_t n) \
	{                                                                  \
		/* addresses in windows can be unaligned */                \
		typedef type item __attribute__((aligned(1)));             \
		const item *a = left, *b = right;                          \
		item *to = out;                                            \
		EACH for (int64_t i = 0; i < n; i++)                       \
		{                                                          \
			type x = a[i], y = b[i];                           \
			to[i] = (type)(expr);                              \
		}                                                          \
	}

static inline float bf16_value(uint16_t x)
{
	uint32_t bits = (uint32_t)x << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Rounds to nearest, ties to even; NaN stays NaN. */
static inline uint16_t bf16_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (uint16_t)((value != value ? bits | 0x400000
					  : bits + 0x7fff + (bits >> 16 & 1)) >>
			  16);
}

/* Some versions of clang do not accept the target "f16c". All processors with
 * AVX2 have F16C. */
#ifdef __clang__
#define HAS_F16C 1
#else
#define HAS_F16C __builtin_cpu_supports("f16c")
#endif

/* Half precision, eight numbers at a time if the processor has F16C. Without
 * it, the compiler converts each number to float and back, possibly by a call.
 */
#define EIGHTS(op, num, expr)                                                  \
	static __attribute__((target("avx2,f16c"))) int64_t op##_eights_##num( \
		const char *left, const char *right, char *out, int64_t n)     \
	{                                                                      \
		int64_t i;                                                     \
		for (i = 0; i + 8 <= n; i += 8) {                              \
			__m256 x = _mm256_cvtph_ps(_mm_loadu_si128(            \
				(const __m128i *)(left + 2 * i)));             \
			__m256 y = _mm256_cvtph_ps(_mm_loadu_si128(            \
				(const __m128i *)(right + 2 * i)));            \
			_mm_storeu_si128((__m128i *)(out + 2 * i),             \
				_mm256_cvtps_ph(                               \
					expr, _MM_FROUND_TO_NEAREST_INT));     \
		}                                                              \
		return i;                                                      \
	}                                                                      \
	static void op##_##num(                                                \
		const void *left, const void *right, void *out, int64_t n)     \
	{                                                                      \
		int64_t i = __builtin_cpu_supports("avx2") && HAS_F16C         \
				    ? op##_eights_##num(left, right, out, n)   \
				    : 0;                                       \
		op##_plain_##num((const char *)left + 2 * i,                   \
			(const char *)right + 2 * i, (char *)out + 2 * i,      \
			n - i);                                                \
	}

/* Sums and products of integers wrap, so they are computed as unsigned. The
 * factor 1u keeps narrow types from promotion to int. */
#define INT(num, type, utype)                         \
	KERNEL(sum_##num, utype, 1u * x + y)          \
	KERNEL(prod_##num, utype, 1u * x * y)         \
	KERNEL(min_##num, type, x < y ? x : y)        \
	KERNEL(max_##num, type, x > y ? x : y)        \
	KERNEL(band_##num, type, x &y)                \
	KERNEL(bor_##num, type, x | y)                \
	KERNEL(bxor_##num, type, x ^ y)               \
	KERNEL(land_##num, type, (x != 0) & (y != 0)) \
	KERNEL(lor_##num, type, (x != 0) | (y != 0))  \
	KERNEL(lxor_##num, type, (x != 0) ^ (y != 0))
#define FLT(num, type)                         \
	KERNEL(sum_##num, type, x + y)         \
	KERNEL(prod_##num, type, x *y)         \
	KERNEL(min_##num, type, x < y ? x : y) \
	KERNEL(max_##num, type, x > y ? x : y)
#ifdef __x86_64__
#define HALF(num, type)                        \
	FLT(plain_##num, type)                 \
	EIGHTS(sum, num, _mm256_add_ps(x, y))  \
	EIGHTS(prod, num, _mm256_mul_ps(x, y)) \
	EIGHTS(min, num, _mm256_min_ps(x, y))  \
	EIGHTS(max, num, _mm256_max_ps(x, y))
#else
#define HALF FLT
#endif
#define BRAIN(num)                                                           \
	KERNEL(sum_##num, uint16_t, bf16_of(bf16_value(x) + bf16_value(y)))  \
	KERNEL(prod_##num, uint16_t, bf16_of(bf16_value(x) * bf16_value(y))) \
	KERNEL(min_##num, uint16_t, bf16_value(x) < bf16_value(y) ? x : y)   \
	KERNEL(max_##num, uint16_t, bf16_value(x) > bf16_value(y) ? x : y)
#define CPX(num, type)
#define PAIR(value, name, vtype, itype)
#include "dt/redop.def"
#undef INT
#undef FLT
#undef HALF
#undef BRAIN
#undef CPX
#undef PAIR

/* The product of complex numbers does not treat infinities separately. */
#define CPX(num, type)                                                         \
	struct complex_##num {                                                 \
		type re, im;                                                   \
	};                                                                     \
	static WIDE void sum_##num(                                            \
		const void *left, const void *right, void *out, int64_t n)     \
	{                                                                      \
		typedef type item __attribute__((aligned(1)));                 \
		const item *a = left, *b = right;                              \
		item *to = out;                                                \
		EACH for (int64_t i = 0; i < 2 * n; i++) to[i] = a[i] + b[i];  \
	}                                                                      \
	static WIDE void prod_##num(                                           \
		const void *left, const void *right, void *out, int64_t n)     \
	{                                                                      \
		typedef struct complex_##num item __attribute__((aligned(1))); \
		const item *a = left, *b = right;                              \
		item *to = out;                                                \
		EACH for (int64_t i = 0; i < n; i++)                           \
		{                                                              \
			struct complex_##num x = a[i], y = b[i];               \
			to[i].re = x.re * y.re - x.im * y.im;                  \
			to[i].im = x.re * y.im + x.im * y.re;                  \
		}                                                              \
	}
/* Selects the smaller or greater value, and of equal values the lower index. */
#define PAIR(value, name, vtype, itype)                   \
	struct pair_##name {                              \
		vtype v;                                  \
		itype i;                                  \
	};                                                \
	PAIR_KERNEL(minloc_##name, struct pair_##name, <) \
	PAIR_KERNEL(maxloc_##name, struct pair_##name, >)
#define PAIR_KERNEL(name, type, is_better)                                     \
	static void name(                                                      \
		const void *left, const void *right, void *out, int64_t n)     \
	{                                                                      \
		typedef type item __attribute__((aligned(1)));                 \
		const item *a = left, *b = right;                              \
		item *to = out;                                                \
		for (int64_t i = 0; i < n; i++) {                              \
			type x = a[i], y = b[i];                               \
			bool is_x = x.v is_better y.v;                         \
			to[i].v = is_x ? x.v : y.v;                            \
			to[i].i =                                              \
				is_x || (x.v == y.v && x.i < y.i) ? x.i : y.i; \
		}                                                              \
	}
#define INT(num, type, utype)
#define FLT(num, type)
#define HALF(num, type)
#define BRAIN(num)
#include "dt/redop.def"
#undef INT
#undef FLT
#undef HALF
#undef BRAIN
#undef CPX
#undef PAIR

enum { N_OPS = WEFT_OP_LAST - WEFT_OP_NULL + 1 };
enum { FIRST_PAIR = 0x228, N_PAIRS = 0x232 - FIRST_PAIR + 1 };

#define AT(op) [WEFT_OP_##op - WEFT_OP_NULL]

static weft_redop_kernel_fn *const kernels[WEFT_NUM_N][N_OPS] = {
#define INT(num, type, utype)                                            \
	[WEFT_NUM_##num] = { AT(SUM) = sum_##num, AT(PROD) = prod_##num, \
		AT(MIN) = min_##num, AT(MAX) = max_##num,                \
		AT(BAND) = band_##num, AT(BOR) = bor_##num,              \
		AT(BXOR) = bxor_##num, AT(LAND) = land_##num,            \
		AT(LOR) = lor_##num, AT(LXOR) = lxor_##num },
#define FLT(num, type)                                                   \
	[WEFT_NUM_##num] = { AT(SUM) = sum_##num, AT(PROD) = prod_##num, \
		AT(MIN) = min_##num, AT(MAX) = max_##num },
#define HALF FLT
#define BRAIN(num) FLT(num, uint16_t)
#define CPX(num, type) \
	[WEFT_NUM_##num] = { AT(SUM) = sum_##num, AT(PROD) = prod_##num },
#define PAIR(value, name, vtype, itype)
#include "dt/redop.def"
#undef INT
#undef FLT
#undef HALF
#undef BRAIN
#undef CPX
#undef PAIR
};

static weft_redop_kernel_fn *const pair_kernels[N_PAIRS][2] = {
#define INT(num, type, utype)
#define FLT(num, type)
#define HALF(num, type)
#define BRAIN(num)
#define CPX(num, type)
#define PAIR(value, name, vtype, itype) \
	[(value)-FIRST_PAIR] = { minloc_##name, maxloc_##name },
#include "dt/redop.def"
#undef INT
#undef FLT
#undef HALF
#undef BRAIN
#undef CPX
#undef PAIR
};

static struct weft_redop builtin_ops[N_OPS] = {
#define OP(op)                                     \
	AT(op) = { .obj = { .low = WEFT_OP_##op }, \
		.is_builtin = true,                \
		.is_commutative = true,            \
		.builtin = WEFT_OP_##op,           \
		.name = "MPI_" #op },
	OP(SUM) OP(MIN) OP(MAX) OP(PROD) OP(BAND) OP(BOR) OP(BXOR) OP(LAND)
		OP(LOR) OP(LXOR) OP(MINLOC) OP(MAXLOC)
#undef OP
#define OP(op)                                     \
	AT(op) = { .obj = { .low = WEFT_OP_##op }, \
		.is_builtin = true,                \
		.builtin = WEFT_OP_##op,           \
		.name = "MPI_" #op },
			OP(REPLACE) OP(NO_OP)
#undef OP
};

struct weft_redop *weft_redop_builtin(unsigned abi_value)
{
	unsigned i = abi_value - WEFT_OP_NULL;

	return i < N_OPS && builtin_ops[i].is_builtin ? &builtin_ops[i] : NULL;
}

struct weft_redop *weft_redop_make(
	weft_redop_fn *fn, weft_redop_large_fn *large_fn, bool is_commutative)
{
	struct weft_redop *op = weft_table_new(&weft_redops);

	if (!op)
		return NULL;
	op->is_commutative = is_commutative;
	op->builtin = WEFT_OP_NULL;
	op->name = "an operation of the program";
	op->fn = fn;
	op->large_fn = large_fn;
	atomic_store_explicit(&op->refs, 1, memory_order_relaxed);
	return op;
}

struct weft_redop *weft_redop_get(struct weft_redop *op)
{
	if (!op->is_builtin)
		atomic_fetch_add_explicit(&op->refs, 1, memory_order_relaxed);
	return op;
}

void weft_redop_put(struct weft_redop *op)
{
	if (!op || op->is_builtin)
		return;
	/* release: the accesses of this holder happen before the free. acquire:
	 * the last holder frees after the accesses of all others. */
	if (atomic_fetch_sub_explicit(&op->refs, 1, memory_order_acq_rel) == 1)
		weft_table_free(&weft_redops, op);
}

void weft_redop_close_handle(struct weft_redop *op)
{
	if (!op->is_builtin)
		weft_obj_renew(op);
	weft_redop_put(op);
}

#define BIT(class) (1u << WEFT_CLASS_##class)

#define INTEGER (BIT(CINT) | BIT(FINT) | BIT(MULTI))
#define LOGIC (BIT(CINT) | BIT(MULTI) | BIT(LOGICAL))

/* The classes of types on which the standard defines each operation. */
static const unsigned op_classes[N_OPS] = {
	[WEFT_OP_MIN - WEFT_OP_NULL] = INTEGER | BIT(FLOAT),
	[WEFT_OP_MAX - WEFT_OP_NULL] = INTEGER | BIT(FLOAT),
	[WEFT_OP_SUM - WEFT_OP_NULL] = INTEGER | BIT(FLOAT) | BIT(COMPLEX),
	[WEFT_OP_PROD - WEFT_OP_NULL] = INTEGER | BIT(FLOAT) | BIT(COMPLEX),
	[WEFT_OP_LAND - WEFT_OP_NULL] = LOGIC,
	[WEFT_OP_LOR - WEFT_OP_NULL] = LOGIC,
	[WEFT_OP_LXOR - WEFT_OP_NULL] = LOGIC,
	[WEFT_OP_BAND - WEFT_OP_NULL] = INTEGER | BIT(BYTE),
	[WEFT_OP_BOR - WEFT_OP_NULL] = INTEGER | BIT(BYTE),
	[WEFT_OP_BXOR - WEFT_OP_NULL] = INTEGER | BIT(BYTE),
	[WEFT_OP_MINLOC - WEFT_OP_NULL] = BIT(PAIR),
	[WEFT_OP_MAXLOC - WEFT_OP_NULL] = BIT(PAIR),
};

static bool is_move(const struct weft_redop *op)
{
	return op->builtin == WEFT_OP_REPLACE || op->builtin == WEFT_OP_NO_OP;
}

/* The kernel of an operation for a predefined type. NULL if the operation has
 * no kernels or is not defined on the type, or the compiler has no arithmetic
 * for the type. */
static weft_redop_kernel_fn *kernel_for(
	const struct weft_redop *op, const struct weft_type *basic)
{
	unsigned pair =
		(unsigned)basic->builtin_index + WEFT_TYPE_FIRST - FIRST_PAIR;
	unsigned i = op->builtin - WEFT_OP_NULL;

	if (!(op_classes[i] & 1u << basic->class_))
		return NULL;
	if (basic->class_ == WEFT_CLASS_PAIR)
		return pair_kernels[pair][op->builtin == WEFT_OP_MAXLOC];
	return kernels[basic->num][i];
}

bool weft_redop_is_defined(
	const struct weft_redop *op, const struct weft_type *type)
{
	if (!op->is_builtin || is_move(op))
		return true;
	return type->class_ != WEFT_CLASS_NONE && kernel_for(op, type->basic);
}

weft_redop_kernel_fn *weft_redop_kernel(
	const struct weft_redop *op, const struct weft_type *basic)
{
	return is_move(op) ? NULL : kernel_for(op, basic);
}

/* The argument of apply_elements(). */
struct derived {
	weft_redop_kernel_fn *kernel;
	uintptr_t left, right, out;
};

static int apply_elements(
	void *arg, const struct weft_type *basic, int64_t disp, int64_t n)
{
	const struct derived *d = arg;

	(void)basic;
	d->kernel((const void *)(d->left + (uintptr_t)disp),
		(const void *)(d->right + (uintptr_t)disp),
		(void *)(d->out + (uintptr_t)disp), n);
	return 0;
}

static int apply_move(const void *from, void *out, int64_t count,
	const struct weft_type *type)
{
	if (from == out)
		return 0;
	return weft_type_copy(type, count, from, type, count, out);
}

int weft_redop_apply(const struct weft_redop *op, const void *left,
	const void *right, void *out, int64_t count,
	const struct weft_type *type)
{
	weft_redop_kernel_fn *kernel;

	if (weft_unlikely(is_move(op)))
		return apply_move(op->builtin == WEFT_OP_REPLACE ? left : right,
			out, count, type);
	if (!type->size || !count)
		return 0;
	kernel = type->basic ? kernel_for(op, type->basic) : NULL;
	if (weft_unlikely(!kernel))
		return weft_err_set(WEFT_ERR_OP, "%s is not defined on %s",
			op->name,
			type->name[0] ? type->name : "this derived datatype");
	if (type->class_ != WEFT_CLASS_NONE) {
		kernel(left, right, out, count);
	} else {
		/* an accumulate with a derived type that has one predefined
		 * type */
		struct derived d = { kernel, (uintptr_t)left, (uintptr_t)right,
			(uintptr_t)out };

		weft_type_visit(type, count, apply_elements, &d);
	}
	return 0;
}

void weft_redop_call(const struct weft_redop *op, const void *in, void *inout,
	int64_t count, const struct weft_type *type)
{
	void *handle = (void *)(uintptr_t)weft_obj_handle(type);
	const char *a = in;
	char *b = inout;

	if (op->large_fn) {
		op->large_fn((void *)(uintptr_t)in, inout, &count, &handle);
		return;
	}
	while (count > 0) {
		int n = count < INT_MAX ? (int)count : INT_MAX;

		op->fn((void *)(uintptr_t)a, b, &n, &handle);
		count -= n;
		a += (int64_t)n * type->extent;
		b += (int64_t)n * type->extent;
	}
}
