/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_wait: waits for values in the caller's memory, or tests them
 *
 * Each procedure tests a set of variables. All variables are compared with one
 * value, or each variable with a value of its own. */
#include "shmem_priv.h"

#include "base/log.h"

#include <stdatomic.h>
#include <stdio.h>

struct wait_set {
	const void *ivars;
	size_t n;
	const int *status; /* status[i] not 0: variable i is ignored; NULL: no
			      variable is ignored */
	int cmp;
	const void *values;
	size_t step; /* bytes from value to value; 0: one value for all */
	size_t size;
	bool is_signed;
};

enum { HELD_PER_PROGRESS = 32 }; /* satisfied tests per round of progress */

/* State of this thread's tests. next_search: the variable at which the next
 * search in a set begins, so that repeated searches find every variable.
 * n_empty: consecutive tests that were not satisfied. n_held: satisfied tests.
 */
static _Thread_local size_t next_search;
static _Thread_local uint32_t n_empty, n_held;

/* Called if the library is closed, or if buffers may be in device memory. */
__attribute__((noinline, cold)) static void check_buffers(
	const char *fn, const struct wait_set *s, const size_t *indices)
{
	weft_shmem_check_open(fn);
	weft_shmem_refuse_dev(fn, "the variable", s->ivars);
	weft_shmem_refuse_dev(fn, "status", s->status);
	weft_shmem_refuse_dev(fn, "indices", indices);
	if (s->step)
		weft_shmem_refuse_dev(fn, "cmp_values", s->values);
}

static void shmem_wait_check(
	const char *fn, const struct wait_set *s, const size_t *indices)
{
	if (weft_unlikely(s->cmp < SHMEM_CMP_EQ || s->cmp > SHMEM_CMP_LE))
		weft_shmem_fatal(
			fn, "cmp is %d, which is no SHMEM_CMP_...", s->cmp);
	if (weft_unlikely(!weft_shmem.inline_max))
		check_buffers(fn, s, indices);
}

/* Loads a value, and converts it to an unsigned number with the same order. The
 * fence in acquire_stores() orders the load. The load is an acquire only
 * because the thread sanitizer does not support fences. */
static inline uint64_t shmem_wait_load(
	const void *at, size_t size, bool is_signed)
{
	uint64_t v;

	if (size == 8) {
		v = __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
	} else if (size == 4) {
		v = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
		v = is_signed ? (uint64_t)(int32_t)v : v;
	} else {
		v = __atomic_load_n((const uint16_t *)at, __ATOMIC_ACQUIRE);
		v = is_signed ? (uint64_t)(int16_t)v : v;
	}
	return is_signed ? v ^ (UINT64_C(1) << 63) : v;
}

static inline bool shmem_wait_compare(uint64_t a, int cmp, uint64_t b)
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

	return shmem_wait_compare(shmem_wait_load(ivar, s->size, s->is_signed),
		s->cmp, shmem_wait_load(value, s->size, s->is_signed));
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

/* Makes the stores visible that preceded the value that satisfied the test: the
 * fence follows the loads in shmem_wait_load(). */
static void acquire_stores(void)
{
	n_empty = 0;
	atomic_thread_fence(memory_order_acquire);
}

/* Called after a satisfied test. A program may test until the value changes, so
 * some of these calls make progress, to receive puts from other nodes. */
static void on_satisfied(void)
{
	acquire_stores();
	if (++n_held % HELD_PER_PROGRESS == 0)
		weft_rma_relax(0);
}

/* True if all variables from *from on satisfy the test. Otherwise *from is the
 * first variable that does not. The variables before *from have satisfied the
 * test. */
static bool all_hold(const struct wait_set *s, size_t *from)
{
	for (; *from < s->n; ++*from)
		if (!is_out(s, *from) && !holds(s, *from))
			return false;
	return true;
}

/* Returns the index of a variable that satisfies the test, or SIZE_MAX. */
static size_t shmem_wait_find(const struct wait_set *s)
{
	size_t first = next_search;

	for (size_t k = 0; k < s->n; k++) {
		size_t i = (first + k) % s->n;

		if (!is_out(s, i) && holds(s, i)) {
			next_search = i + 1;
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

static const char *const signs[] = {
	[SHMEM_CMP_EQ] = "==",
	[SHMEM_CMP_NE] = "!=",
	[SHMEM_CMP_GT] = ">",
	[SHMEM_CMP_GE] = ">=",
	[SHMEM_CMP_LT] = "<",
	[SHMEM_CMP_LE] = "<=",
};

/* Describes the first variable that does not satisfy the test. */
static void shmem_wait_describe(
	const struct wait_set *s, char *text, size_t len, const char *more)
{
	uint64_t flip = s->is_signed ? UINT64_C(1) << 63 : 0;
	char failed[80];
	size_t i = 0;

	while (i + 1 < s->n && (is_out(s, i) || holds(s, i)))
		i++;
	weft_rma_pe_failed(failed, sizeof(failed));
	snprintf(text, len,
		"%s%zu bytes at %p to become %s %lld, from %lld%s%s", more,
		s->size, (const void *)((const char *)s->ivars + i * s->size),
		signs[s->cmp],
		(long long)(shmem_wait_load(
				    (const char *)s->values + i * s->step,
				    s->size, s->is_signed) ^
			    flip),
		(long long)(shmem_wait_load(
				    (const char *)s->ivars + i * s->size,
				    s->size, s->is_signed) ^
			    flip),
		*failed ? "; failed: " : "", failed);
}

/* Runs one round of a wait. */
static void shmem_wait_relax(
	const char *fn, const struct wait_set *s, struct weft_rma_wait *wait)
{
	char text[256];
	int news;

	wait->watched = s->ivars;
	wait->len = s->n * s->size;
	news = weft_rma_wait_round(wait);
	if (weft_likely(!news))
		return;
	shmem_wait_describe(
		s, text, sizeof(text), s->n > 1 ? "several, first " : "");
	if (news < 0)
		weft_shmem_fatal(fn, "waits for %s", text);
	weft_log_warn("SHMEM-STALL", "%s: waiting for %s (WEFT_STALL_WARN)", fn,
		text);
}

static void shmem_wait_for_all(const char *fn, const struct wait_set *s)
{
	struct weft_rma_wait wait = { .fn = fn };
	size_t from = 0;

	shmem_wait_check(fn, s, NULL);
	while (!all_hold(s, &from))
		shmem_wait_relax(fn, s, &wait);
	acquire_stores();
}

static size_t wait_any(const char *fn, const struct wait_set *s)
{
	struct weft_rma_wait wait = { .fn = fn };
	size_t i;

	shmem_wait_check(fn, s, NULL);
	if (is_empty(s))
		return SIZE_MAX;
	for (i = shmem_wait_find(s); i == SIZE_MAX; i = shmem_wait_find(s))
		shmem_wait_relax(fn, s, &wait);
	acquire_stores();
	return i;
}

static size_t wait_some(
	const char *fn, const struct wait_set *s, size_t *indices)
{
	struct weft_rma_wait wait = { .fn = fn };
	size_t n;

	shmem_wait_check(fn, s, indices);
	if (is_empty(s))
		return 0;
	for (n = find_all(s, indices); !n; n = find_all(s, indices))
		shmem_wait_relax(fn, s, &wait);
	acquire_stores();
	return n;
}

static int test_all(const char *fn, const struct wait_set *s)
{
	size_t from = 0;

	shmem_wait_check(fn, s, NULL);
	if (!all_hold(s, &from)) {
		weft_rma_relax(n_empty++);
		if (!all_hold(s, &from))
			return 0;
	}
	on_satisfied();
	return 1;
}

static size_t test_any(const char *fn, const struct wait_set *s)
{
	size_t i;

	shmem_wait_check(fn, s, NULL);
	i = shmem_wait_find(s);
	if (i == SIZE_MAX) {
		weft_rma_relax(n_empty++);
		i = shmem_wait_find(s);
	}
	if (i != SIZE_MAX)
		on_satisfied();
	return i;
}

static size_t test_some(
	const char *fn, const struct wait_set *s, size_t *indices)
{
	size_t n;

	shmem_wait_check(fn, s, indices);
	n = find_all(s, indices);
	if (!n) {
		weft_rma_relax(n_empty++);
		n = find_all(s, indices);
	}
	if (n)
		on_satisfied();
	return n;
}

uint64_t pshmem_signal_wait_until(
	uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
	static const char fn[] = "shmem_signal_wait_until";
	const struct wait_set set = { .ivars = sig_addr,
		.n = 1,
		.cmp = cmp,
		.values = &cmp_value,
		.size = sizeof(*sig_addr) };
	struct weft_rma_wait wait = { .fn = fn };
	uint64_t v;

	shmem_wait_check(fn, &set, NULL);
	v = shmem_wait_load(sig_addr, sizeof(v), false);
	while (!shmem_wait_compare(v, cmp, cmp_value)) {
		shmem_wait_relax(fn, &set, &wait);
		v = shmem_wait_load(sig_addr, sizeof(v), false);
	}
	acquire_stores();
	return v;
}

#include "api_shmem_wait.h"
