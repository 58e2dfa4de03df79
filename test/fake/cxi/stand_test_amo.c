/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_test_amo: every atomic of every type, against plain C */
#include "test/fake/cxi/stand_pair.h"

#include <complex.h>
#include <stdio.h>
#include <string.h>

enum { AT = 64 }; /* index in the memory */

/* The types of an operation as bits; the same for all three kinds of call by
 * default. */
enum { NONE = 0, INTS = 0xff, REALS = 0x3ff, NUMBERS = 0xfff };

static const struct {
	enum fi_op op;
	unsigned amo, fetch, compare;
} table[] = {
	{ FI_MIN, REALS, REALS, NONE },
	{ FI_MAX, REALS, REALS, NONE },
	{ FI_SUM, NUMBERS, NUMBERS, NONE },
	{ FI_PROD, NONE, NONE, NONE },
	{ FI_LOR, INTS, INTS, NONE },
	{ FI_LAND, INTS, INTS, NONE },
	{ FI_BOR, INTS, INTS, NONE },
	{ FI_BAND, INTS, INTS, NONE },
	{ FI_LXOR, INTS, INTS, NONE },
	{ FI_BXOR, INTS, INTS, NONE },
	{ FI_ATOMIC_READ, NONE, NUMBERS, NONE },
	{ FI_ATOMIC_WRITE, NUMBERS, NUMBERS, NONE },
	{ FI_CSWAP, NONE, NONE, NUMBERS },
	{ FI_CSWAP_NE, NONE, NONE, NUMBERS },
	{ FI_CSWAP_LE, NONE, NONE, REALS },
	{ FI_CSWAP_LT, NONE, NONE, REALS },
	{ FI_CSWAP_GE, NONE, NONE, REALS },
	{ FI_CSWAP_GT, NONE, NONE, REALS },
	{ FI_MSWAP, NONE, NONE, INTS },
};

enum { N_OPS = sizeof(table) / sizeof(*table) };

/* a 16-byte integer; libfabric has no constant for it before 2.0 */
static const enum fi_datatype WIDE_INT128 = (enum fi_datatype)FI_DATATYPE_LAST;

static bool has(struct fid_domain *d, enum fi_datatype type, enum fi_op op,
	uint64_t kind)
{
	struct fi_atomic_attr attr = { 0 };

	return !fi_query_atomic(d, type, op, &attr, kind) && attr.count == 1;
}

void case_atomic_tables(void)
{
	static const struct pair_wish plain;
	struct fid_domain *d;
	struct pair p;

	pair_open(&p, &plain);
	d = p.a.domain;
	for (int i = 0; i < N_OPS; i++) {
		enum fi_op op = table[i].op;
		int n_wrong_here = 0;

		for (int t = 0; t <= FI_LONG_DOUBLE_COMPLEX; t++) {
			n_wrong_here +=
				has(d, t, op, 0) != (table[i].amo >> t & 1);
			n_wrong_here += has(d, t, op, FI_FETCH_ATOMIC) !=
					(table[i].fetch >> t & 1);
			n_wrong_here += has(d, t, op, FI_COMPARE_ATOMIC) !=
					(table[i].compare >> t & 1);
		}
		claim(!n_wrong_here, "%s supports its types",
			fi_tostr(&op, FI_TYPE_ATOMIC_OP));
	}
	claim(has(d, WIDE_INT128, FI_CSWAP, FI_COMPARE_ATOMIC) &&
			!has(d, WIDE_INT128, FI_SUM, 0),
		"128 bits can be compared and swapped, and nothing else");
	claim(!has(d, FI_INT64, FI_SUM, FI_FETCH_ATOMIC | WEFT_CXI_PCIE_AMO),
		"no atomic uses PCIe unless PCIe atomics are enabled");
	pair_close(&p);
}

/* One operation: its operands, and the memory before and after it. */
struct trial {
	enum fi_datatype type;
	enum fi_op op;
	size_t len;
	const void *start, *operand, *compare;
	const void *want;
};

static bool post(struct pair *p, const struct trial *t, bool fetches, void *old)
{
	struct fi_ioc io = { (void *)(uintptr_t)t->operand, 1 };
	struct fi_ioc cmp = { (void *)(uintptr_t)t->compare, 1 };
	struct fi_ioc result = { old, 1 };
	struct fi_rma_ioc there = { AT, 1, PAIR_KEY };
	struct fi_msg_atomic msg = {
		.msg_iov = &io,
		.iov_count = t->op == FI_ATOMIC_READ ? 0 : 1,
		.addr = p->to_b,
		.rma_iov = &there,
		.rma_iov_count = 1,
		.datatype = t->type,
		.op = t->op,
		.context = old,
	};

	if (t->compare)
		return !fi_compare_atomicmsg(p->a.ep, &msg, &cmp, NULL, 1,
			&result, NULL, 1, FI_COMPLETION);
	if (fetches)
		return !fi_fetch_atomicmsg(
			p->a.ep, &msg, &result, NULL, 1, FI_COMPLETION);
	return !fi_atomicmsg(
		p->a.ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

static bool run(struct pair *p, const struct trial *t, bool fetches)
{
	_Alignas(16) char old[16] = { 0 };
	void *context = NULL;

	memset(p->mem + AT - 16, 0x5a, 48);
	memcpy(p->mem + AT, t->start, t->len);
	if (!post(p, t, fetches, old) || pair_next(&p->a, &context) ||
		context != old)
		return false;
	if ((fetches || t->compare) && memcmp(old, t->start, t->len) != 0)
		return false;
	return memcmp(p->mem + AT, t->want, t->len) == 0 &&
	       p->mem[AT - 1] == 0x5a && p->mem[AT + t->len] == 0x5a;
}

static int n_runs, n_bad_runs;

static void check(struct pair *p, const struct trial *t, bool fetches)
{
	bool ok = run(p, t, fetches);

	n_runs++;
	n_bad_runs += !ok;
	if (!ok)
		printf("# wrong: %s of type %d%s\n",
			fi_tostr(&t->op, FI_TYPE_ATOMIC_OP), (int)t->type,
			fetches ? ", fetching" : "");
}

static void both(struct pair *p, struct trial *t)
{
	if (t->op != FI_ATOMIC_READ)
		check(p, t, false);
	check(p, t, true);
}

/* T: the C type. The values exceed its range. */
#define TRIAL(code, T, what, expr)                                       \
	do {                                                             \
		T want_ = (T)(expr);                                     \
		struct trial t_ = { code, what, sizeof(T), &a, &b, NULL, \
			&want_ };                                        \
		both(p, &t_);                                            \
	} while (0)

#define SWAP(code, T, what, cond)                                      \
	do {                                                           \
		T want_ = (T)((cond) ? b : a);                         \
		struct trial t_ = { code, what, sizeof(T), &a, &b, &c, \
			&want_ };                                      \
		check(p, &t_, true);                                   \
	} while (0)

#define ANY_TYPE(code, T)                   \
	TRIAL(code, T, FI_SUM, a + b);      \
	TRIAL(code, T, FI_ATOMIC_WRITE, b); \
	TRIAL(code, T, FI_ATOMIC_READ, a);  \
	SWAP(code, T, FI_CSWAP, c == a);    \
	SWAP(code, T, FI_CSWAP_NE, c != a)

#define REAL_TYPE(code, T)                     \
	ANY_TYPE(code, T);                     \
	TRIAL(code, T, FI_MIN, a < b ? a : b); \
	TRIAL(code, T, FI_MAX, a > b ? a : b); \
	SWAP(code, T, FI_CSWAP_LE, c <= a);    \
	SWAP(code, T, FI_CSWAP_LT, c < a);     \
	SWAP(code, T, FI_CSWAP_GE, c >= a);    \
	SWAP(code, T, FI_CSWAP_GT, c > a)

#define INT_TYPE(name, code, T)                                           \
	static void name(struct pair *p, T a, T b, T c)                   \
	{                                                                 \
		T mixed = (T)((b & c) | (a & (T)~c));                     \
		struct trial t = { code, FI_MSWAP, sizeof(T), &a, &b, &c, \
			&mixed };                                         \
                                                                          \
		check(p, &t, true);                                       \
		REAL_TYPE(code, T);                                       \
		TRIAL(code, T, FI_LOR, a || b);                           \
		TRIAL(code, T, FI_LAND, a &&b);                           \
		TRIAL(code, T, FI_LXOR, !a != !b);                        \
		TRIAL(code, T, FI_BOR, a | b);                            \
		TRIAL(code, T, FI_BAND, a &b);                            \
		TRIAL(code, T, FI_BXOR, a ^ b);                           \
	}

#define FLOAT_TYPE(name, code, T)                       \
	static void name(struct pair *p, T a, T b, T c) \
	{                                               \
		REAL_TYPE(code, T);                     \
	}

#define COMPLEX_TYPE(name, code, T)                     \
	static void name(struct pair *p, T a, T b, T c) \
	{                                               \
		ANY_TYPE(code, T);                      \
	}

INT_TYPE(int8, FI_INT8, int8_t)
INT_TYPE(uint8, FI_UINT8, uint8_t)
INT_TYPE(int16, FI_INT16, int16_t)
INT_TYPE(uint16, FI_UINT16, uint16_t)
INT_TYPE(int32, FI_INT32, int32_t)
INT_TYPE(uint32, FI_UINT32, uint32_t)
INT_TYPE(int64, FI_INT64, int64_t)
INT_TYPE(uint64, FI_UINT64, uint64_t)
FLOAT_TYPE(single, FI_FLOAT, float)
FLOAT_TYPE(twice, FI_DOUBLE, double)
COMPLEX_TYPE(complex_single, FI_FLOAT_COMPLEX, float complex)
COMPLEX_TYPE(complex_double, FI_DOUBLE_COMPLEX, double complex)

static void wide(struct pair *p)
{
	unsigned __int128 a = (unsigned __int128)1 << 100 | 7;
	unsigned __int128 b = (unsigned __int128)3 << 90 | 9;
	struct trial t = { WIDE_INT128, FI_CSWAP, 16, &a, &b, &a, &b };

	check(p, &t, true);
	t.compare = &b;
	t.want = &a;
	check(p, &t, true);
}

/* Small enough that no signed sum leaves its type in C. */
static void try_all(struct pair *p, int a, int b, int c)
{
	int8(p, (int8_t)a, (int8_t)b, (int8_t)c);
	uint8(p, (uint8_t)a, (uint8_t)b, (uint8_t)c);
	int16(p, (int16_t)(a * 200), (int16_t)(b * 200), (int16_t)(c * 200));
	uint16(p, (uint16_t)(a * 500), (uint16_t)(b * 500),
		(uint16_t)(c * 500));
	int32(p, a * 70000, b * 70000, c * 70000);
	uint32(p, (uint32_t)a * 70000, (uint32_t)b * 70000,
		(uint32_t)c * 70000);
	int64(p, a * 1000000007ll, b * 1000000007ll, c * 1000000007ll);
	uint64(p, (uint64_t)a * 1000000007, (uint64_t)b * 1000000007,
		(uint64_t)c * 1000000007);
	single(p, (float)a / 3, (float)b / 7, (float)c / 3);
	twice(p, a / 3.0, b / 7.0, c / 3.0);
	complex_single(p, (float)a / 3 + (float)b * I, (float)b / 7 + 1.5f * I,
		(float)c / 3 + (float)b * I);
	complex_double(p, a / 3.0 + b * I, b / 7.0 + 1.5 * I, c / 3.0 + b * I);
}

void case_atomics(void)
{
	static const struct pair_wish plain;
	static const int values[][3] = { { 6, 3, 6 }, { -5, 60, 4 },
		{ 0, -1, -1 }, { 63, -64, 63 }, { 0, 0, 1 } };
	struct pair p;

	pair_open(&p, &plain);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		try_all(&p, values[i][0], values[i][1], values[i][2]);
	wide(&p);
	claim(!n_bad_runs, "%d atomics have the results of C", n_runs);
	pair_close(&p);
}
