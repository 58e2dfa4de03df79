/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_wait: wait for, or test, values in my own memory
 *
 * All forms are questions about a set of variables, each compared with one
 * value or with its own. */
#include "shmem_priv.h"

#include <stdatomic.h>

struct wait_set {
	const void *ivars;
	size_t n;
	const int *status; /* not 0: left out; NULL: none is */
	int cmp;
	const void *values;
	size_t step; /* from value to value; 0: there is only one */
	size_t size;
	bool is_signed;
};

/* Where this thread's next look for any of a set begins, so that none is
 * passed over for ever; and its tests in a row that were not satisfied. */
static _Thread_local size_t turn;
static _Thread_local uint32_t n_empty;

static void check(const char *fn, int cmp)
{
	if (weft_unlikely(cmp < SHMEM_CMP_EQ || cmp > SHMEM_CMP_LE))
		weft_shmem_die(fn, "cmp is %d, which is no SHMEM_CMP_...", cmp);
	if (weft_unlikely(!weft_rma.n_pes))
		weft_shmem_check_open(fn);
}

/* As an unsigned number that orders as the type does. */
static inline uint64_t load(const void *at, size_t size, bool is_signed)
{
	uint64_t v;

	if (size == 8) {
		v = __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
	} else if (size == 4) {
		v = __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
		v = is_signed ? (uint64_t)(int32_t)v : v;
	} else {
		v = __atomic_load_n((const uint16_t *)at, __ATOMIC_RELAXED);
		v = is_signed ? (uint64_t)(int16_t)v : v;
	}
	return is_signed ? v ^ (UINT64_C(1) << 63) : v;
}

static inline bool compare(uint64_t a, int cmp, uint64_t b)
{
	switch (cmp) {
	case SHMEM_CMP_EQ:
		return a == b;
	case SHMEM_CMP_NE:
		return a != b;
	case SHMEM_CMP_GT:
		return a > b;
	case SHMEM_CMP_GE:
		return a >= b;
	case SHMEM_CMP_LT:
		return a < b;
	default:
		return a <= b;
	}
}

static inline bool holds(const struct wait_set *s, size_t i)
{
	const char *ivar = (const char *)s->ivars + i * s->size;
	const char *value = (const char *)s->values + i * s->step;

	return compare(load(ivar, s->size, s->is_signed), s->cmp,
		load(value, s->size, s->is_signed));
}

static inline bool is_out(const struct wait_set *s, size_t i)
{
	return s->status && s->status[i];
}

static bool is_empty(const struct wait_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!is_out(s, i))
			return false;
	return true;
}

/* What was stored before a value that satisfied is seen from here on. */
static void seen(void)
{
	n_empty = 0;
	atomic_thread_fence(memory_order_acquire);
}

/* True when all from *from on hold; otherwise *from is the first that does
 * not. Those before held once. */
static bool all_hold(const struct wait_set *s, size_t *from)
{
	for (; *from < s->n; ++*from)
		if (!is_out(s, *from) && !holds(s, *from))
			return false;
	return true;
}

/* One that holds, or SIZE_MAX. */
static size_t find(const struct wait_set *s)
{
	size_t first = turn;

	for (size_t k = 0; k < s->n; k++) {
		size_t i = (first + k) % s->n;

		if (!is_out(s, i) && holds(s, i)) {
			turn = i + 1;
			return i;
		}
	}
	return SIZE_MAX;
}

static size_t find_all(const struct wait_set *s, size_t *indices)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!is_out(s, i) && holds(s, i))
			indices[n++] = i;
	return n;
}

static void wait_all(const char *fn, const struct wait_set *s)
{
	size_t from = 0;

	check(fn, s->cmp);
	for (uint32_t round = 0; !all_hold(s, &from); round++)
		weft_rma_relax(round);
	seen();
}

static size_t wait_any(const char *fn, const struct wait_set *s)
{
	size_t i;

	check(fn, s->cmp);
	if (is_empty(s))
		return SIZE_MAX;
	i = find(s);
	for (uint32_t round = 0; i == SIZE_MAX; i = find(s))
		weft_rma_relax(round++);
	seen();
	return i;
}

static size_t wait_some(
	const char *fn, const struct wait_set *s, size_t *indices)
{
	size_t n;

	check(fn, s->cmp);
	if (is_empty(s))
		return 0;
	n = find_all(s, indices);
	for (uint32_t round = 0; !n; n = find_all(s, indices))
		weft_rma_relax(round++);
	seen();
	return n;
}

static int test_all(const char *fn, const struct wait_set *s)
{
	size_t from = 0;

	check(fn, s->cmp);
	if (!all_hold(s, &from)) {
		weft_rma_relax(n_empty++);
		if (!all_hold(s, &from))
			return 0;
	}
	seen();
	return 1;
}

static size_t test_any(const char *fn, const struct wait_set *s)
{
	size_t i;

	check(fn, s->cmp);
	i = find(s);
	if (i == SIZE_MAX) {
		weft_rma_relax(n_empty++);
		i = find(s);
	}
	if (i != SIZE_MAX)
		seen();
	return i;
}

static size_t test_some(
	const char *fn, const struct wait_set *s, size_t *indices)
{
	size_t n;

	check(fn, s->cmp);
	n = find_all(s, indices);
	if (!n) {
		weft_rma_relax(n_empty++);
		n = find_all(s, indices);
	}
	if (n)
		seen();
	return n;
}

uint64_t pshmem_signal_wait_until(
	uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
	uint64_t v;

	check("shmem_signal_wait_until", cmp);
	v = load(sig_addr, sizeof(v), false);
	for (uint32_t round = 0; !compare(v, cmp, cmp_value); round++) {
		weft_rma_relax(round);
		v = load(sig_addr, sizeof(v), false);
	}
	seen();
	return v;
}

#include "api_shmem_wait.h"
