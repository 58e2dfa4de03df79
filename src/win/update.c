/* SPDX-License-Identifier: BSD-3-Clause */
/* update: elements of a window's memory are updated, each as one
 *
 * One kind of atomicity for each address and type. In memory that several
 * processes map, integers of 4 and 8 bytes are updated by the processor's
 * atomic instructions: counters, which many want at once. All else is updated
 * under a lock chosen by the address, a page at a time: many in a row are as
 * fast as without. So is a long row of integers where its origin has the
 * target's lock and nobody else has. Memory of one process alone is always
 * updated under that lock: others reach it through the kernel, in two steps. */
#include "win/win_priv.h"

#include "base/err.h"
#include "dt/pack.h"
#include "shm/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { PAGE = 4096 };

/* --- elements ------------------------------------------------------------- */

const struct weft_type *weft_win_basic(const struct weft_type *type)
{
	return type->class_ != WEFT_CLASS_NONE || !type->basic ? type
							       : type->basic;
}

int64_t weft_win_elems(const struct weft_type *type, int64_t count)
{
	const struct weft_type *basic = weft_win_basic(type);

	return basic->size ? type->size * count / basic->size : 0;
}

const char *weft_win_array(const struct weft_win_buf *from,
	const struct weft_type *basic, int64_t n, void **owned_out)
{
	char *array;

	*owned_out = NULL;
	if (weft_win_basic(from->type) == basic &&
		(from->type == basic ||
			(basic->size == basic->extent &&
				weft_type_is_run(from->type, from->count))))
		return (const char *)from->buf +
		       (from->type == basic ? 0 : from->type->true_lb);
	array = malloc((size_t)(n * basic->extent) + 1);
	if (array)
		weft_type_copy(
			from->type, from->count, from->buf, basic, n, array);
	*owned_out = array;
	return array;
}

/* --- by instruction ------------------------------------------------ */

/* The operations that are one instruction, for all elements. False: it is none
 * of them. */
#define UPDATE_INT(type)                                                     \
	static bool update_##type(const struct weft_win_update *u, type *at) \
	{                                                                    \
		for (int64_t i = 0; i < u->n; i++) {                         \
			type was, in = 0;                                    \
                                                                             \
			if (u->in)                                           \
				memcpy(&in, u->in + i * (int64_t)sizeof(in), \
					sizeof(in));                         \
			switch (u->op->builtin) {                            \
			case WEFT_OP_SUM:                                    \
				was = __atomic_fetch_add(                    \
					&at[i], in, __ATOMIC_SEQ_CST);       \
				break;                                       \
			case WEFT_OP_BAND:                                   \
				was = __atomic_fetch_and(                    \
					&at[i], in, __ATOMIC_SEQ_CST);       \
				break;                                       \
			case WEFT_OP_BOR:                                    \
				was = __atomic_fetch_or(                     \
					&at[i], in, __ATOMIC_SEQ_CST);       \
				break;                                       \
			case WEFT_OP_BXOR:                                   \
				was = __atomic_fetch_xor(                    \
					&at[i], in, __ATOMIC_SEQ_CST);       \
				break;                                       \
			case WEFT_OP_REPLACE:                                \
				was = __atomic_exchange_n(                   \
					&at[i], in, __ATOMIC_SEQ_CST);       \
				break;                                       \
			case WEFT_OP_NO_OP:                                  \
				was = __atomic_load_n(                       \
					&at[i], __ATOMIC_SEQ_CST);           \
				break;                                       \
			default:                                             \
				return false;                                \
			}                                                    \
			if (u->old)                                          \
				memcpy(u->old + i * (int64_t)sizeof(was),    \
					&was, sizeof(was));                  \
		}                                                            \
		return true;                                                 \
	}
UPDATE_INT(uint32_t)
UPDATE_INT(uint64_t)

/* Any operation on an element of as many bytes: tried until nobody came
 * between. */
#define UPDATE_CAS(type)                                                   \
	static void update_cas_##type(                                     \
		const struct weft_win_update *u, type *at, int64_t i)      \
	{                                                                  \
		type was = __atomic_load_n(at, __ATOMIC_RELAXED), now;     \
                                                                           \
		do {                                                       \
			now = was;                                         \
			if (u->in)                                         \
				weft_redop_apply(u->op,                    \
					u->in + i * (int64_t)sizeof(type), \
					&was, &now, 1, u->basic);          \
		} while (!__atomic_compare_exchange_n(at, &was, now, true, \
			__ATOMIC_SEQ_CST, __ATOMIC_RELAXED));              \
		if (u->old)                                                \
			memcpy(u->old + i * (int64_t)sizeof(type), &was,   \
				sizeof(type));                             \
	}
UPDATE_CAS(uint32_t)
UPDATE_CAS(uint64_t)

static bool is_integer(const struct weft_type *basic)
{
	return basic->num >= WEFT_NUM_I8 && basic->num <= WEFT_NUM_U64;
}

/* Exchange and load are the same for all types of a width. */
static bool update_words(const struct weft_win_update *u, char *place)
{
	if (u->op->builtin != WEFT_OP_REPLACE &&
		u->op->builtin != WEFT_OP_NO_OP && !is_integer(u->basic))
		return false;
	return u->basic->extent == 8 ? update_uint64_t(u, (void *)place)
				     : update_uint32_t(u, (void *)place);
}

static void update_one(const struct weft_win_update *u, char *place, int64_t i)
{
	if (u->basic->extent == 8)
		update_cas_uint64_t(u, (void *)(place + i * 8), i);
	else
		update_cas_uint32_t(u, (void *)(place + i * 4), i);
}

bool weft_win_has_instruction(const struct weft_type *basic)
{
	enum {
		CLASSES = 1 << WEFT_CLASS_CINT | 1 << WEFT_CLASS_FINT |
			  1 << WEFT_CLASS_LOGICAL | 1 << WEFT_CLASS_MULTI,
	};
	int64_t width = basic->size;

	return (width == 8 || width == 4) && basic->extent == width &&
	       CLASSES & 1 << basic->class_;
}

/* Depends on the type and the address alone, not on the operation. */
static bool has_instruction(const struct weft_type *basic, uint64_t there)
{
	return weft_win_has_instruction(basic) &&
	       !(there & (uint64_t)(basic->size - 1));
}

/* --- under a lock -------------------------------------------------- */

static void update_plain(
	const struct weft_win_update *u, char *place, int64_t first, int64_t n)
{
	size_t at = (size_t)(first * u->basic->extent);

	if (u->old && u->basic->size == u->basic->extent)
		memcpy(u->old + at, place, (size_t)(n * u->basic->extent));
	else if (u->old)
		weft_type_copy(u->basic, n, place, u->basic, n, u->old + at);
	if (u->kernel && u->in)
		u->kernel(u->in + at, place, place, n);
	else if (u->in)
		weft_redop_apply(u->op, u->in + at, place, place, n, u->basic);
}

/* How many of the elements from `first` on begin in its page. */
static int64_t n_in_page(
	const struct weft_win_update *u, uint64_t there, int64_t first)
{
	uint64_t at = there + (uint64_t)(first * u->basic->extent);
	uint64_t room = PAGE - at % PAGE;
	int64_t left = u->n - first;

	if (weft_likely((uint64_t)((left - 1) * u->basic->extent) < room))
		return left;
	return (int64_t)((room + (uint64_t)u->basic->extent - 1) /
			 (uint64_t)u->basic->extent);
}

static void hold_page(struct weft_win_hold *hold, uint64_t there)
{
	if (hold->is_held && hold->there / PAGE == there / PAGE)
		return;
	weft_win_hold_drop(hold);
	weft_win_stripe_take(hold->stripes, there);
	hold->is_held = true;
	hold->there = there;
}

void weft_win_hold_drop(struct weft_win_hold *hold)
{
	if (hold->is_held)
		weft_win_stripe_drop(hold->stripes, hold->there);
	hold->is_held = false;
}

/* All of them begin in the page that is held. */
static bool is_in_held(const struct weft_win_hold *hold,
	const struct weft_win_update *u, uint64_t there)
{
	return hold->is_held && hold->there / PAGE == there / PAGE &&
	       there % PAGE + (uint64_t)((u->n - 1) * u->basic->extent) < PAGE;
}

void weft_win_update_run(const struct weft_win_update *u, char *place,
	uint64_t there, struct weft_win_hold *hold)
{
	if (hold->is_alone) {
		update_plain(u, place, 0, u->n);
		return;
	}
	if (!hold->is_private && has_instruction(u->basic, there)) {
		if (update_words(u, place))
			return;
		for (int64_t i = 0; i < u->n; i++)
			update_one(u, place, i);
		return;
	}
	if (is_in_held(hold, u, there)) {
		update_plain(u, place, 0, u->n);
		return;
	}
	for (int64_t i = 0, n; i < u->n; i += n) {
		uint64_t at = there + (uint64_t)(i * u->basic->extent);

		n = n_in_page(u, there, i);
		hold_page(hold, at);
		update_plain(u, place + i * u->basic->extent, i, n);
	}
}

void weft_win_update_series(struct weft_win_update *u, char *place,
	uint64_t there, int64_t n_runs, int64_t stride,
	struct weft_win_hold *hold)
{
	int64_t len = u->n * u->basic->extent;
	bool is_locked =
		hold->is_private || !weft_win_has_instruction(u->basic);

	for (int64_t i = 0; i < n_runs; i++) {
		/* of one run the distance may be anything */
		char *at = place + i * stride;
		uint64_t from = there + (uint64_t)(i * stride);

		if (hold->is_alone || (is_locked && is_in_held(hold, u, from)))
			update_plain(u, at, 0, u->n);
		else
			weft_win_update_run(u, at, from, hold);
		u->in = u->in ? u->in + len : NULL;
		u->old = u->old ? u->old + len : NULL;
	}
}

void weft_win_update(const struct weft_win_update *u, char *place,
	uint64_t there, bool is_private, weft_win_stripes *stripes)
{
	struct weft_win_hold hold = { .is_private = is_private,
		.stripes = stripes };

	if (u->n == 1 && (is_private || !has_instruction(u->basic, there))) {
		weft_win_stripe_take(stripes, there);
		update_plain(u, place, 0, 1);
		weft_win_stripe_drop(stripes, there);
		return;
	}
	weft_win_update_run(u, place, there, &hold);
	weft_win_hold_drop(&hold);
}

/* --- in another process -------------------------------------------- */

static int copy_at(const struct weft_win_target *target, uint64_t there,
	void *buf, size_t len, bool is_write)
{
	struct iovec here = { buf, len };

	return weft_copy_move(target->pid, &here, 1,
		&(struct iovec){ (void *)(uintptr_t)there, len }, 1, is_write);
}

static int update_page(const struct weft_win_update *u,
	const struct weft_win_target *target, uint64_t there, int64_t first,
	int64_t n)
{
	char buf[2 * PAGE];
	/* of the last one without what is no data of it */
	size_t len =
		(size_t)((n - 1) * u->basic->extent + u->basic->true_extent);
	int err;

	weft_win_stripe_take(target->stripes, there);
	err = copy_at(target, there, buf, len, false);
	if (!err) {
		update_plain(u, buf, first, n);
		if (u->in)
			err = copy_at(target, there, buf, len, true);
	}
	weft_win_stripe_drop(target->stripes, there);
	return err;
}

int weft_win_update_copied(const struct weft_win_update *u,
	const struct weft_win_target *target, uint64_t there)
{
	int err = 0;

	for (int64_t i = 0, n; i < u->n && !err; i += n) {
		n = n_in_page(u, there, i);
		err = update_page(u, target,
			there + (uint64_t)(i * u->basic->extent), i, n);
	}
	return err;
}

/* --- compare and swap ---------------------------------------------- */

#define SWAP(type)                                                           \
	static void swap_##type(const void *compare, const void *value,      \
		void *old, void *place)                                      \
	{                                                                    \
		type was, now;                                               \
                                                                             \
		memcpy(&was, compare, sizeof(was));                          \
		memcpy(&now, value, sizeof(now));                            \
		__atomic_compare_exchange_n((type *)place, &was, now, false, \
			__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
		memcpy(old, &was, sizeof(was));                              \
	}
SWAP(uint32_t)
SWAP(uint64_t)

void weft_win_swap(const struct weft_type *type, const void *compare,
	const void *value, void *old, char *place, uint64_t there,
	bool is_private, weft_win_stripes *stripes)
{
	size_t len = (size_t)type->size;

	if (is_private || !has_instruction(type, there)) {
		weft_win_stripe_take(stripes, there);
		memcpy(old, place, len);
		if (!memcmp(old, compare, len))
			memcpy(place, value, len);
		weft_win_stripe_drop(stripes, there);
	} else if (len == 8) {
		swap_uint64_t(compare, value, old, place);
	} else {
		swap_uint32_t(compare, value, old, place);
	}
}

int weft_win_swap_copied(const struct weft_type *type, const void *compare,
	const void *value, void *old, const struct weft_win_target *target,
	uint64_t there)
{
	size_t len = (size_t)type->size;
	int err;

	weft_win_stripe_take(target->stripes, there);
	err = copy_at(target, there, old, len, false);
	if (!err && !memcmp(old, compare, len))
		err = copy_at(
			target, there, (void *)(uintptr_t)value, len, true);
	weft_win_stripe_drop(target->stripes, there);
	return err;
}
