/* SPDX-License-Identifier: BSD-3-Clause */
/* typeref: reference datatypes for tests of src/dt
 *
 * A reference type is a complete type map, as the standard defines it.
 * random_type() creates a datatype together with its reference map. */
#ifndef WEFT_TEST_TYPEREF_H
#define WEFT_TEST_TYPEREF_H

#include "dt/type.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { REF_MAX = 600, DEPTH_MAX = 4 };

struct ref_elem {
	int64_t disp;
	int64_t size;
};

struct ref {
	int n;
	struct ref_elem e[REF_MAX];
	int64_t lb, ub, align;
	bool has_bounds, is_any;
};

static inline uint32_t rnd(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % n;
}

static inline void ref_place(
	struct ref *to, const struct ref *old, int64_t disp)
{
	bool wins = !to->is_any || (old->has_bounds && !to->has_bounds);
	bool ties = to->is_any && old->has_bounds == to->has_bounds;

	if (!old->is_any)
		return;
	for (int i = 0; i < old->n; i++) {
		assert_true(to->n < REF_MAX);
		to->e[to->n] = old->e[i];
		to->e[to->n++].disp += disp;
	}
	if (wins || (ties && old->lb + disp < to->lb))
		to->lb = old->lb + disp;
	if (wins || (ties && old->ub + disp > to->ub))
		to->ub = old->ub + disp;
	if (old->align > to->align)
		to->align = old->align;
	to->has_bounds |= old->has_bounds;
	to->is_any = true;
}

/* Pads the extent to a multiple of the alignment, unless the type has explicit
 * bounds. */
static inline void ref_pad(struct ref *r)
{
	int64_t rest =
		r->is_any && !r->has_bounds ? (r->ub - r->lb) % r->align : 0;

	r->ub += rest ? r->align - rest : 0;
}

static inline void ref_block(
	struct ref *to, const struct ref *old, int64_t disp, int64_t len)
{
	for (int64_t i = 0; i < len; i++)
		ref_place(to, old, disp + i * (old->ub - old->lb));
}

static inline void ref_true(const struct ref *r, int64_t *lb, int64_t *ub)
{
	*lb = r->n ? INT64_MAX : 0;
	*ub = r->n ? INT64_MIN : 0;
	for (int i = 0; i < r->n; i++) {
		if (r->e[i].disp < *lb)
			*lb = r->e[i].disp;
		if (r->e[i].disp + r->e[i].size > *ub)
			*ub = r->e[i].disp + r->e[i].size;
	}
}

static inline int64_t ref_size(const struct ref *r)
{
	int64_t size = 0;

	for (int i = 0; i < r->n; i++)
		size += r->e[i].size;
	return size;
}

/* Packs count items at buf, byte by byte. */
static inline int64_t ref_pack(
	const struct ref *r, int count, const char *buf, char *dst)
{
	char *begin = dst;

	for (int i = 0; i < count; i++)
		for (int k = 0; k < r->n; k++) {
			memcpy(dst, buf + i * (r->ub - r->lb) + r->e[k].disp,
				(size_t)r->e[k].size);
			dst += r->e[k].size;
		}
	return dst - begin;
}

/* Unpacks bytes [skip, skip + len) of the stream, byte by byte. */
static inline void ref_unpack(const struct ref *r, int count, char *buf,
	const char *src, int64_t skip, int64_t len)
{
	int64_t at = 0;

	for (int i = 0; i < count; i++)
		for (int k = 0; k < r->n; k++)
			for (int b = 0; b < r->e[k].size; b++, at++)
				if (at >= skip && at < skip + len)
					buf[i * (r->ub - r->lb) + r->e[k].disp +
						b] = src[at - skip];
}

static inline struct weft_type *random_basic(uint64_t *seed, struct ref *r)
{
	static const unsigned values[] = { 0x209, 0x214, 0x208, 0x243, 0x228,
		0x229, 0x22c, 0x220, 0x216, 0x247 };
	unsigned value = values[rnd(seed, 10)];
	struct weft_type *type = weft_type_builtin(value);
	int64_t half = type->n_elems == 2 ? type->size - 4 : 0;

	memset(r, 0, sizeof *r);
	r->is_any = true;
	if (value == 0x22c)
		half = 2;
	r->e[r->n++] = (struct ref_elem){ 0, half ? half : type->size };
	if (half)
		r->e[r->n++] = (struct ref_elem){ type->true_extent - 4, 4 };
	r->ub = type->extent;
	r->align = value == 0x243 || value == 0x247			? 1
		   : value == 0x208					? 2
		   : value == 0x209 || value == 0x228 || value == 0x22c ? 4
		   : value == 0x220					? 16
									: 8;
	return type;
}

static inline struct weft_type *random_type(
	uint64_t *seed, struct ref *r, int depth);

/* Draws the lengths and displacements of up to 4 blocks. Returns their number.
 */
static inline int random_blocks(
	uint64_t *seed, int64_t lens[4], int64_t displs[4], int spread)
{
	int n = (int)rnd(seed, 5);

	for (int i = 0; i < n; i++) {
		lens[i] = rnd(seed, 4);
		displs[i] = (int64_t)rnd(seed, (uint32_t)spread) - spread / 3;
	}
	if (n > 1 && !rnd(seed, 3)) /* blocks with a constant stride */
		for (int i = 1; i < n; i++) {
			lens[i] = lens[0];
			displs[i] = displs[i - 1] + 5;
		}
	return n;
}

static inline struct weft_type *random_struct(
	uint64_t *seed, struct ref *r, int depth)
{
	struct ref *parts = calloc(4, sizeof *parts);
	struct weft_type *types[4] = { 0 }, *type = NULL;
	int64_t lens[4] = { 0 }, displs[4] = { 0 };
	int n = random_blocks(seed, lens, displs, 90);

	r->align = 1;
	for (int i = 0; i < n; i++) {
		types[i] = random_type(seed, &parts[i], depth - 1);
		if (r->n + lens[i] * parts[i].n > REF_MAX)
			lens[i] = 0;
		ref_block(r, &parts[i], displs[i], lens[i]);
	}
	ref_pad(r);
	assert_int_equal(
		weft_type_make_struct(n, lens, displs, types, &type), 0);
	for (int i = 0; i < n; i++)
		weft_type_put(types[i]);
	free(parts);
	return type;
}

static inline struct weft_type *random_subarray(
	uint64_t *seed, struct ref *r, struct weft_type *old, struct ref *o)
{
	int64_t sizes[3], subs[3], starts[3];
	struct weft_type_subarray desc = { 1 + (int)rnd(seed, 3), sizes, subs,
		starts, rnd(seed, 2) ? WEFT_ORDER_C : WEFT_ORDER_FORTRAN };
	int64_t ext = o->ub - o->lb, whole = ext;
	int n = desc.n_dims;
	int64_t at[3] = { 0 };
	struct weft_type *type = NULL;

	for (int i = 0; i < n; i++) {
		subs[i] = 1 + rnd(seed, 3);
		starts[i] = rnd(seed, 3);
		sizes[i] = subs[i] + starts[i] + rnd(seed, 2);
		whole *= sizes[i];
	}
	for (bool done = false; !done;) {
		int64_t index = 0;

		for (int k = 0; k < n; k++) {
			int d = desc.order == WEFT_ORDER_C ? k : n - 1 - k;

			index = index * sizes[d] + starts[d] + at[d];
		}
		ref_place(r, o, index * ext);
		done = true;
		for (int k = n - 1; k >= 0 && done; k--) {
			int d = desc.order == WEFT_ORDER_C ? k : n - 1 - k;

			at[d]++;
			done = at[d] == subs[d];
			if (done)
				at[d] = 0;
		}
	}
	r->lb = 0;
	r->ub = whole;
	r->has_bounds = r->is_any = true;
	assert_int_equal(weft_type_make_subarray(&desc, old, &type), 0);
	return type;
}

static inline struct weft_type *random_darray(
	uint64_t *seed, struct ref *r, struct weft_type *old, struct ref *o)
{
	int64_t gsizes[2], ext = o->ub - o->lb;
	int distribs[2], dargs[2], psizes[2], coord[2], block[2];
	struct weft_type_darray desc = { 1, 0, 2, gsizes, distribs, dargs,
		psizes, rnd(seed, 2) ? WEFT_ORDER_C : WEFT_ORDER_FORTRAN };
	struct weft_type *type = NULL;

	for (int d = 0; d < 2; d++) {
		gsizes[d] = 1 + rnd(seed, 8);
		distribs[d] = WEFT_DISTRIBUTE_NONE + (int)rnd(seed, 3);
		psizes[d] = distribs[d] == WEFT_DISTRIBUTE_NONE
				    ? 1
				    : 1 + (int)rnd(seed, 3);
		dargs[d] = WEFT_DISTRIBUTE_DFLT_DARG;
		block[d] = distribs[d] == WEFT_DISTRIBUTE_CYCLIC
				   ? 1
				   : (int)((gsizes[d] + psizes[d] - 1) /
					     psizes[d]);
		if (distribs[d] == WEFT_DISTRIBUTE_CYCLIC && rnd(seed, 2))
			dargs[d] = block[d] = 1 + (int)rnd(seed, 3);
		desc.size *= psizes[d];
	}
	desc.rank = (int)rnd(seed, (uint32_t)desc.size);
	coord[0] = desc.rank / psizes[1];
	coord[1] = desc.rank % psizes[1];
	for (int64_t i = 0; i < gsizes[0] * gsizes[1]; i++) {
		int64_t fast = desc.order == WEFT_ORDER_C ? 1 : 0;
		int64_t in_fast = i % gsizes[fast];
		int64_t in_slow = i / gsizes[fast];

		if (in_fast / block[fast] % psizes[fast] == coord[fast] &&
			in_slow / block[1 - fast] % psizes[1 - fast] ==
				coord[1 - fast])
			ref_place(r, o, i * ext);
	}
	r->lb = 0;
	r->ub = gsizes[0] * gsizes[1] * ext;
	r->has_bounds = r->is_any = true;
	assert_int_equal(weft_type_make_darray(&desc, old, &type), 0);
	return type;
}

static inline struct weft_type *random_list(uint64_t *seed, struct ref *r,
	struct weft_type *old, const struct ref *o, int kind)
{
	int64_t lens[4], displs[4], ext = o->ub - o->lb;
	int n = random_blocks(seed, lens, displs, kind & 1 ? 70 : 12);
	struct weft_type *type = NULL;
	int64_t len = rnd(seed, 3);
	int err;

	if (kind == 0)
		err = weft_type_make_indexed(n, lens, displs, old, &type);
	else if (kind == 1)
		err = weft_type_make_hindexed(n, lens, displs, old, &type);
	else if (kind == 2)
		err = weft_type_make_indexed_block(n, len, displs, old, &type);
	else
		err = weft_type_make_hindexed_block(n, len, displs, old, &type);
	assert_int_equal(err, 0);
	for (int i = 0; i < n; i++)
		ref_block(r, o, displs[i] * (kind & 1 ? 1 : ext),
			kind < 2 ? lens[i] : len);
	return type;
}

static inline struct weft_type *random_vector(uint64_t *seed, struct ref *r,
	struct weft_type *old, const struct ref *o, bool is_bytes)
{
	int64_t count = rnd(seed, 4), len = rnd(seed, 4);
	int64_t stride =
		(int64_t)rnd(seed, is_bytes ? 80 : 9) - (is_bytes ? 20 : 2);
	struct weft_type *type = NULL;

	if (is_bytes)
		assert_int_equal(
			weft_type_make_hvector(count, len, stride, old, &type),
			0);
	else
		assert_int_equal(
			weft_type_make_vector(count, len, stride, old, &type),
			0);
	for (int64_t i = 0; i < count; i++)
		ref_block(
			r, o, i * stride * (is_bytes ? 1 : o->ub - o->lb), len);
	return type;
}

static inline struct weft_type *random_resized(
	uint64_t *seed, struct ref *r, struct weft_type *old)
{
	struct weft_type *type = NULL;

	r->lb = (int64_t)rnd(seed, 20) - 10;
	r->ub = r->lb + rnd(seed, 60);
	r->has_bounds = r->is_any = true;
	assert_int_equal(
		weft_type_make_resized(old, r->lb, r->ub - r->lb, &type), 0);
	return type;
}

/* Creates a type of at most REF_MAX elements and its map r. The caller owns one
 * reference to the type. */
static inline struct weft_type *random_type(
	uint64_t *seed, struct ref *r, int depth)
{
	struct weft_type *old, *type = NULL;
	struct ref *o;

	if (depth <= 0 || !rnd(seed, 6))
		return random_basic(seed, r);
	memset(r, 0, sizeof *r);
	if (!rnd(seed, 5))
		return random_struct(seed, r, depth);
	o = calloc(1, sizeof *o);
	old = random_type(seed, o, depth - 1);
	switch (o->n > REF_MAX / 64 ? 9 : rnd(seed, 10)) {
	case 0:
		ref_block(r, o, 0, 5);
		assert_int_equal(weft_type_make_contiguous(5, old, &type), 0);
		break;
	case 1:
	case 2:
		type = random_vector(seed, r, old, o, rnd(seed, 2));
		break;
	case 3:
	case 4:
		type = random_list(seed, r, old, o, (int)rnd(seed, 4));
		break;
	case 5:
		type = random_subarray(seed, r, old, o);
		break;
	case 6:
		type = random_darray(seed, r, old, o);
		break;
	case 7:
		*r = *o;
		assert_int_equal(weft_type_make_dup(old, &type), 0);
		break;
	default:
		*r = *o;
		type = random_resized(seed, r, old);
	}
	ref_pad(r);
	weft_type_put(old);
	free(o);
	return type;
}

#endif
