/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_alu: arithmetic of the card's atomics: supported operations and their
 * results
 *
 * Values are widened, computed and narrowed. One card of the process computes
 * at a time. As on the hardware, atomics of the processor are not excluded. */
#include "stand.h"

#include <complex.h>
#include <string.h>

/* Types as bits over enum fi_datatype */
enum {
	INTS = 0xff,
	REALS = 0x3ff,	 /* INTS, float and double */
	NUMBERS = 0xfff, /* REALS and complex types */
};

enum { WIDE_INT128 = FI_DATATYPE_LAST, WIDE_UINT128 };

static pthread_mutex_t alu_lock = PTHREAD_MUTEX_INITIALIZER;

static const uint8_t type_lens[] = { 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16 };

size_t stand_type_len(enum fi_datatype type)
{
	if ((unsigned)type < sizeof(type_lens))
		return type_lens[type];
	if ((int)type == WIDE_INT128 || (int)type == WIDE_UINT128)
		return 16;
	return 0;
}

static bool has(unsigned types, enum fi_datatype type)
{
	return (unsigned)type <= FI_DOUBLE_COMPLEX && types >> type & 1;
}

bool stand_can_amo(enum fi_datatype type, enum fi_op op)
{
	switch (op) {
	case FI_MIN:
	case FI_MAX:
		return has(REALS, type);
	case FI_SUM:
	case FI_ATOMIC_WRITE:
		return has(NUMBERS, type);
	case FI_LOR:
	case FI_LAND:
	case FI_LXOR:
	case FI_BOR:
	case FI_BAND:
	case FI_BXOR:
		return has(INTS, type);
	default:
		return false;
	}
}

bool stand_can_fetch(enum fi_datatype type, enum fi_op op)
{
	return op == FI_ATOMIC_READ ? has(NUMBERS, type)
				    : stand_can_amo(type, op);
}

bool stand_can_compare(enum fi_datatype type, enum fi_op op)
{
	switch (op) {
	case FI_CSWAP:
		return has(NUMBERS, type) || (int)type == WIDE_INT128 ||
		       (int)type == WIDE_UINT128;
	case FI_CSWAP_NE:
		return has(NUMBERS, type);
	case FI_CSWAP_LE:
	case FI_CSWAP_LT:
	case FI_CSWAP_GE:
	case FI_CSWAP_GT:
		return has(REALS, type);
	case FI_MSWAP:
		return has(INTS, type);
	default:
		return false;
	}
}

/* Memory, stored in pieces that a polling processor reads as a whole */

static void store_piece(void *to, const void *from, size_t len)
{
	uint64_t v = 0;

	memcpy(&v, from, len);
	switch (len) {
	case 1:
		__atomic_store_n((uint8_t *)to, (uint8_t)v, __ATOMIC_RELEASE);
		break;
	case 2:
		__atomic_store_n((uint16_t *)to, (uint16_t)v, __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((uint32_t *)to, (uint32_t)v, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n((uint64_t *)to, v, __ATOMIC_RELEASE);
	}
}

void stand_store(void *to, const void *from, size_t len)
{
	char *t = to;
	const char *f = from;

	while (len) {
		size_t n = 8;

		while (n > len || ((uintptr_t)t & (n - 1)))
			n /= 2;
		store_piece(t, f, n);
		t += n;
		f += n;
		len -= n;
	}
}

static void load_piece(void *to, const void *from, size_t len)
{
	uint64_t v;

	switch (len) {
	case 1:
		v = __atomic_load_n((const uint8_t *)from, __ATOMIC_ACQUIRE);
		break;
	case 2:
		v = __atomic_load_n((const uint16_t *)from, __ATOMIC_ACQUIRE);
		break;
	case 4:
		v = __atomic_load_n((const uint32_t *)from, __ATOMIC_ACQUIRE);
		break;
	default:
		v = __atomic_load_n((const uint64_t *)from, __ATOMIC_ACQUIRE);
	}
	memcpy(to, &v, len);
}

static void load(void *to, const void *from, size_t len)
{
	for (size_t at = 0; at < len; at += 8)
		load_piece((char *)to + at, (const char *)from + at,
			len < 8 ? len : 8);
}

/* Values */

struct value {
	int64_t i;
	uint64_t u;
	double d;
	double complex c;
};

static struct value widen(enum fi_datatype type, const void *at)
{
	struct value v = { 0 };
	float f[2];

	switch (type) {
	case FI_INT8:
		v.i = *(const int8_t *)at;
		break;
	case FI_INT16:
		v.i = *(const int16_t *)at;
		break;
	case FI_INT32:
		v.i = *(const int32_t *)at;
		break;
	case FI_INT64:
		v.i = *(const int64_t *)at;
		break;
	case FI_UINT8:
	case FI_UINT16:
	case FI_UINT32:
	case FI_UINT64:
		memcpy(&v.u, at, stand_type_len(type));
		return v;
	case FI_FLOAT:
		memcpy(f, at, sizeof(*f));
		v.d = (double)f[0];
		return v;
	case FI_DOUBLE:
		memcpy(&v.d, at, sizeof(v.d));
		return v;
	case FI_FLOAT_COMPLEX:
		memcpy(f, at, sizeof(f));
		v.c = (double)f[0] + (double)f[1] * I;
		return v;
	default:
		memcpy(&v.c, at, sizeof(v.c));
		return v;
	}
	v.u = (uint64_t)v.i;
	return v;
}

static void narrow(enum fi_datatype type, void *at, struct value v)
{
	float f[2];

	switch (type) {
	case FI_FLOAT:
		f[0] = (float)v.d;
		memcpy(at, f, sizeof(*f));
		break;
	case FI_DOUBLE:
		memcpy(at, &v.d, sizeof(v.d));
		break;
	case FI_FLOAT_COMPLEX:
		f[0] = (float)creal(v.c);
		f[1] = (float)cimag(v.c);
		memcpy(at, f, sizeof(f));
		break;
	case FI_DOUBLE_COMPLEX:
		memcpy(at, &v.c, sizeof(v.c));
		break;
	default:
		memcpy(at, &v.u, stand_type_len(type));
	}
}

static bool is_signed(enum fi_datatype type)
{
	return type == FI_INT8 || type == FI_INT16 || type == FI_INT32 ||
	       type == FI_INT64;
}

static bool is_less(enum fi_datatype type, struct value a, struct value b)
{
	if (type == FI_FLOAT || type == FI_DOUBLE)
		return a.d < b.d;
	return is_signed(type) ? a.i < b.i : a.u < b.u;
}

static struct value sum(enum fi_datatype type, struct value a, struct value b)
{
	if (type == FI_FLOAT || type == FI_DOUBLE)
		a.d += b.d;
	else if (type == FI_FLOAT_COMPLEX || type == FI_DOUBLE_COMPLEX)
		a.c += b.c;
	else
		a.u += b.u;
	return a;
}

static struct value logic(enum fi_op op, struct value a, struct value b)
{
	switch (op) {
	case FI_LOR:
		a.u = a.u || b.u;
		break;
	case FI_LAND:
		a.u = a.u && b.u;
		break;
	case FI_LXOR:
		a.u = !a.u != !b.u;
		break;
	case FI_BOR:
		a.u |= b.u;
		break;
	case FI_BAND:
		a.u &= b.u;
		break;
	default:
		a.u ^= b.u;
	}
	return a;
}

/* True if a conditional swap takes place: compares the operand "compare" with
 * the memory. */
static bool swaps(enum fi_datatype type, enum fi_op op, const void *memory,
	const void *compare)
{
	bool same = memcmp(memory, compare, stand_type_len(type)) == 0;
	struct value m, c;

	if (op == FI_CSWAP)
		return same;
	if (op == FI_CSWAP_NE)
		return !same;
	m = widen(type, memory);
	c = widen(type, compare);
	switch (op) {
	case FI_CSWAP_LE:
		return !is_less(type, m, c);
	case FI_CSWAP_LT:
		return is_less(type, c, m);
	case FI_CSWAP_GE:
		return !is_less(type, c, m);
	default:
		return is_less(type, m, c);
	}
}

/* Computes the new contents of the memory from old. False: they do not
 * change. */
static bool compute(enum fi_datatype type, enum fi_op op, const void *old,
	const void *operand, const void *compare, void *fresh)
{
	struct value a, b, mask;

	switch (op) {
	case FI_ATOMIC_READ:
		return false;
	case FI_ATOMIC_WRITE:
		memcpy(fresh, operand, stand_type_len(type));
		return true;
	case FI_MIN:
	case FI_MAX:
		a = widen(type, old);
		b = widen(type, operand);
		if (op == FI_MIN ? !is_less(type, b, a) : !is_less(type, a, b))
			return false;
		narrow(type, fresh, b);
		return true;
	case FI_SUM:
		narrow(type, fresh,
			sum(type, widen(type, old), widen(type, operand)));
		return true;
	case FI_MSWAP:
		a = widen(type, old);
		b = widen(type, operand);
		mask = widen(type, compare);
		a.u = (b.u & mask.u) | (a.u & ~mask.u);
		narrow(type, fresh, a);
		return true;
	case FI_LOR:
	case FI_LAND:
	case FI_LXOR:
	case FI_BOR:
	case FI_BAND:
	case FI_BXOR:
		narrow(type, fresh,
			logic(op, widen(type, old), widen(type, operand)));
		return true;
	default:
		if (!swaps(type, op, old, compare))
			return false;
		memcpy(fresh, operand, stand_type_len(type));
		return true;
	}
}

void stand_amo(enum fi_datatype type, enum fi_op op, void *at,
	const void *operand, const void *compare, void *old)
{
	size_t len = stand_type_len(type);
	_Alignas(16) char was[16];
	_Alignas(16) char fresh[16];
	_Alignas(16) char with[16] = { 0 };
	_Alignas(16) char against[16] = { 0 };

	if (operand)
		memcpy(with, operand, len);
	if (compare)
		memcpy(against, compare, len);
	pthread_mutex_lock(&alu_lock);
	load(was, at, len);
	if (compute(type, op, was, with, against, fresh))
		stand_store(at, fresh, len);
	pthread_mutex_unlock(&alu_lock);
	memcpy(old, was, len);
}
