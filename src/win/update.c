/* SPDX-License-Identifier: BSD-3-Clause */
/* update: atomic updates of elements of a window's memory
 *
 * Each update holds a lock of the process that owns the memory: the stripe of
 * the page in which the element begins. Consecutive elements that begin in one
 * page are updated together by a reduction kernel, under one acquisition of the
 * stripe. */
#include "win/win_priv.h"

#include "base/err.h"
#include "dt/pack.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

/* --- elements ------------------------------------------------------------- */

static const struct weft_type *basic_of(const struct weft_type *type)
{
	return type->class_ != WEFT_CLASS_NONE || !type->basic ? type
							       : type->basic;
}

static int64_t elements_in_items(const struct weft_type *type, int64_t count)
{
	const struct weft_type *basic = basic_of(type);

	return basic->size ? type->size * count / basic->size : 0;
}

/* Sets e->in to the origin's elements as an array, or to a copy of them. False:
 * out of memory. */
static bool elements_in(
	struct weft_win_elements *e, const struct weft_win_buf *from)
{
	const struct weft_type *basic = e->basic;

	if (from->type == basic ||
		(basic_of(from->type) == basic &&
			basic->size == basic->extent &&
			weft_type_is_run(from->type, from->count))) {
		e->in = (const char *)from->buf +
			(from->type == basic ? 0 : from->type->true_lb);
		return true;
	}
	e->in = e->owned = malloc((size_t)(e->n * basic->extent) + 1);
	if (e->in)
		weft_type_copy(from->type, from->count, from->buf, basic, e->n,
			e->owned);
	return e->in;
}

int weft_win_elements_make(
	struct weft_win_elements *e, const struct weft_win_access *access)
{
	const struct weft_win_buf *from = &access->origin;
	bool has_all = true;

	e->basic = basic_of(access->type);
	e->n = elements_in_items(access->type, access->count);
	if (access->op->builtin != WEFT_OP_NO_OP) {
		e->n = weft_min64(
			e->n, elements_in_items(from->type, from->count));
		has_all = !e->n || elements_in(e, from);
	}
	if (access->result.type && has_all) {
		e->old = calloc((size_t)(e->n * e->basic->extent) + 1, 1);
		has_all = e->old;
	}
	return has_all ? 0 : weft_win_no_memory();
}

void weft_win_elements_free(struct weft_win_elements *e)
{
	free(e->owned);
	free(e->old);
}

int weft_win_elements_return(
	const struct weft_win_elements *e, const struct weft_win_buf *result)
{
	return e->old ? weft_type_copy(e->basic, e->n, e->old, result->type,
				result->count, result->buf)
		      : 0;
}

/* --- under a stripe ------------------------------------------------ */

/* Updates one integer, or replaces or reads one element of the same size.
 * Returns false for other operations. */
#define UPDATE_WORD(type)                                     \
	static bool update_##type(                            \
		const struct weft_win_update *u, char *place) \
	{                                                     \
		type was, in = 0;                             \
                                                              \
		memcpy(&was, place, sizeof(was));             \
		if (u->in)                                    \
			memcpy(&in, u->in, sizeof(in));       \
		switch (u->op->builtin) {                     \
		case WEFT_OP_SUM:                             \
			in += was;                            \
			break;                                \
		case WEFT_OP_BAND:                            \
			in &= was;                            \
			break;                                \
		case WEFT_OP_BOR:                             \
			in |= was;                            \
			break;                                \
		case WEFT_OP_BXOR:                            \
			in ^= was;                            \
			break;                                \
		case WEFT_OP_REPLACE:                         \
			break;                                \
		case WEFT_OP_NO_OP:                           \
			in = was;                             \
			break;                                \
		default:                                      \
			return false;                         \
		}                                             \
		if (u->in)                                    \
			memcpy(place, &in, sizeof(in));       \
		if (u->old)                                   \
			memcpy(u->old, &was, sizeof(was));    \
		return true;                                  \
	}
UPDATE_WORD(uint32_t)
UPDATE_WORD(uint64_t)

static bool update_word(const struct weft_win_update *u, char *place)
{
	const struct weft_type *basic = u->basic;

	if (basic->size != basic->extent ||
		((basic->num < WEFT_NUM_I32 || basic->num > WEFT_NUM_U64) &&
			u->op->builtin != WEFT_OP_REPLACE &&
			u->op->builtin != WEFT_OP_NO_OP))
		return false;
	return basic->size == 8	  ? update_uint64_t(u, place)
	       : basic->size == 4 ? update_uint32_t(u, place)
				  : false;
}

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

/* Returns the number of elements, from element `first` on, that begin in the
 * page in which element `first` begins. */
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

/* True if all elements begin in the page whose stripe is held. */
static bool is_in_held(const struct weft_win_hold *hold,
	const struct weft_win_update *u, uint64_t there)
{
	return hold->is_held && hold->there / PAGE == there / PAGE &&
	       there % PAGE + (uint64_t)((u->n - 1) * u->basic->extent) < PAGE;
}

static void update_run(const struct weft_win_update *u, char *place,
	uint64_t there, struct weft_win_hold *hold)
{
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

void weft_win_update_series(const struct weft_win_update *update, char *place,
	uint64_t there, int64_t n_runs, int64_t stride,
	struct weft_win_hold *hold)
{
	struct weft_win_update u = *update;
	int64_t len = u.n * u.basic->extent;

	for (int64_t i = 0; i < n_runs; i++) {
		/* not place += stride, because the stride of a single run may
		 * have any value */
		update_run(&u, place + i * stride,
			there + (uint64_t)(i * stride), hold);
		u.in = u.in ? u.in + len : NULL;
		u.old = u.old ? u.old + len : NULL;
	}
}

void weft_win_update(const struct weft_win_update *u, char *place,
	uint64_t there, weft_win_stripes *stripes)
{
	weft_win_stripe_take(stripes, there);
	if (!update_word(u, place))
		update_plain(u, place, 0, 1);
	weft_win_stripe_drop(stripes, there);
}

/* --- compare and swap ---------------------------------------------- */

static inline __attribute__((always_inline)) void swap_bytes(
	const void *compare, const void *value, void *old, char *place,
	size_t len)
{
	memcpy(old, place, len);
	if (!memcmp(old, compare, len))
		memcpy(place, value, len);
}

void weft_win_swap(const struct weft_type *type, const void *compare,
	const void *value, void *old, char *place, uint64_t there,
	weft_win_stripes *stripes)
{
	weft_win_stripe_take(stripes, there);
	if (type->size == 8)
		swap_bytes(compare, value, old, place, 8);
	else if (type->size == 4)
		swap_bytes(compare, value, old, place, 4);
	else
		swap_bytes(compare, value, old, place, (size_t)type->size);
	weft_win_stripe_drop(stripes, there);
}
