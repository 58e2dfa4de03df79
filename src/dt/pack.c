/* SPDX-License-Identifier: BSD-3-Clause */
/* pack: copies between typed buffers and streams of bytes
 *
 * One walk over the flat tree packs, unpacks or lists runs, depending on the
 * cursor's mode. The walk copies single runs, loops over one run, and loops
 * over a list of runs. */
#include "dt/pack.h"

#include "base/bits.h"
#include "base/err.h"
#include "dt/flat.h"

#include <string.h>

enum walk_mode { WALK_PACK, WALK_UNPACK, WALK_IOV };

struct cursor {
	enum walk_mode mode;
	int64_t skip; /* bytes of the stream before the first byte to move */
	int64_t left; /* bytes to move; 0 ends the walk */
	char *packed;
	struct iovec *iov;
	size_t n_iov, max_iov;
	int64_t covered; /* bytes in iov */
};

static void iov_add(struct cursor *c, uintptr_t at, int64_t len)
{
	struct iovec *last = c->n_iov ? &c->iov[c->n_iov - 1] : NULL;

	if (last && (uintptr_t)last->iov_base + last->iov_len == at) {
		last->iov_len += (size_t)len;
	} else if (c->n_iov < c->max_iov) {
		c->iov[c->n_iov].iov_base = (void *)at;
		c->iov[c->n_iov++].iov_len = (size_t)len;
	} else {
		c->left = 0;
		return;
	}
	c->covered += len;
	c->left -= len;
}

/* Moves at most c->left bytes of a run. The caller has already applied c->skip
 * to `at` and len. */
static void walk_run(struct cursor *c, uintptr_t at, int64_t len)
{
	if (len > c->left)
		len = c->left;
	if (c->mode == WALK_IOV) {
		iov_add(c, at, len);
		return;
	}
	if (c->mode == WALK_PACK)
		memcpy(c->packed, (const void *)at, (size_t)len);
	else
		memcpy((void *)at, c->packed, (size_t)len);
	c->packed += len;
	c->left -= len;
}

/* Copies n blocks at a constant stride in both buffers. */
static inline __attribute__((always_inline)) void pack_gather(char *dst,
	int64_t step, uintptr_t at, int64_t n, int64_t stride, size_t block)
{
	for (int64_t i = 0; i < n; i++) {
		memcpy(dst, (const void *)at, block);
		dst += step;
		at += (uintptr_t)stride;
	}
}

static inline __attribute__((always_inline)) void scatter(const char *src,
	int64_t step, uintptr_t at, int64_t n, int64_t stride, size_t block)
{
	for (int64_t i = 0; i < n; i++) {
		memcpy((void *)at, src, block);
		src += step;
		at += (uintptr_t)stride;
	}
}

/* Copies blocks of a constant length. The packed side usually has no gaps. This
 * case has a separate loop, which the compiler unrolls. */
static inline __attribute__((always_inline)) void gather_fixed(char *dst,
	int64_t step, uintptr_t at, int64_t n, int64_t stride, size_t block)
{
	if (step != (int64_t)block) {
		pack_gather(dst, step, at, n, stride, block);
		return;
	}
#pragma GCC unroll 4
	for (int64_t i = 0; i < n; i++) {
		memcpy(dst, (const void *)at, block);
		dst += block;
		at += (uintptr_t)stride;
	}
}

static inline __attribute__((always_inline)) void scatter_fixed(const char *src,
	int64_t step, uintptr_t at, int64_t n, int64_t stride, size_t block)
{
	if (step != (int64_t)block) {
		scatter(src, step, at, n, stride, block);
		return;
	}
#pragma GCC unroll 4
	for (int64_t i = 0; i < n; i++) {
		memcpy((void *)at, src, block);
		src += block;
		at += (uintptr_t)stride;
	}
}

/* The compiler replaces memcpy by loads and stores if the block length is
 * constant. */
static void pack_blocks(char *dst, int64_t step, uintptr_t at, int64_t n,
	int64_t stride, size_t block)
{
	switch (block) {
	case 1:
		gather_fixed(dst, step, at, n, stride, 1);
		break;
	case 2:
		gather_fixed(dst, step, at, n, stride, 2);
		break;
	case 4:
		gather_fixed(dst, step, at, n, stride, 4);
		break;
	case 8:
		gather_fixed(dst, step, at, n, stride, 8);
		break;
	case 12:
		gather_fixed(dst, step, at, n, stride, 12);
		break;
	case 16:
		gather_fixed(dst, step, at, n, stride, 16);
		break;
	case 24:
		gather_fixed(dst, step, at, n, stride, 24);
		break;
	case 32:
		gather_fixed(dst, step, at, n, stride, 32);
		break;
	default:
		pack_gather(dst, step, at, n, stride, block);
	}
}

static void unpack_blocks(const char *src, int64_t step, uintptr_t at,
	int64_t n, int64_t stride, size_t block)
{
	switch (block) {
	case 1:
		scatter_fixed(src, step, at, n, stride, 1);
		break;
	case 2:
		scatter_fixed(src, step, at, n, stride, 2);
		break;
	case 4:
		scatter_fixed(src, step, at, n, stride, 4);
		break;
	case 8:
		scatter_fixed(src, step, at, n, stride, 8);
		break;
	case 12:
		scatter_fixed(src, step, at, n, stride, 12);
		break;
	case 16:
		scatter_fixed(src, step, at, n, stride, 16);
		break;
	case 24:
		scatter_fixed(src, step, at, n, stride, 24);
		break;
	case 32:
		scatter_fixed(src, step, at, n, stride, 32);
		break;
	default:
		scatter(src, step, at, n, stride, block);
	}
}

/* Moves n whole blocks at a constant stride. c->left is at least their length.
 */
static void walk_blocks(struct cursor *c, uintptr_t at, int64_t n,
	int64_t stride, int64_t block)
{
	if (c->mode == WALK_IOV) {
		for (int64_t i = 0; i < n && c->left; i++)
			iov_add(c, at + (uintptr_t)(i * stride), block);
		return;
	}
	if (c->mode == WALK_PACK)
		pack_blocks(c->packed, block, at, n, stride, (size_t)block);
	else
		unpack_blocks(c->packed, block, at, n, stride, (size_t)block);
	c->packed += n * block;
	c->left -= n * block;
}

/* Moves n copies of a list of runs that do not overlap, at a constant stride.
 * c->left is at least their length. For AT_A_TIME copies at a time, which fit
 * into the cache, moves the first part of each copy, then the second part of
 * each, and so on. */
static void walk_lists(struct cursor *c, const struct weft_flat *list,
	int64_t n, int64_t stride, uintptr_t at)
{
	enum { AT_A_TIME = 64 };

	for (int64_t i = 0; i < n; i += AT_A_TIME) {
		int64_t some = n - i < AT_A_TIME ? n - i : AT_A_TIME;
		int64_t begin = 0;

		for (int64_t k = 0; k < list->n_parts; k++) {
			const struct weft_flat_part *p = &list->part[k];
			uintptr_t to = at + (uintptr_t)p->disp;
			size_t len = (size_t)(p->end - begin);

			if (c->mode == WALK_PACK)
				pack_blocks(c->packed + begin, list->size, to,
					some, stride, len);
			else
				unpack_blocks(c->packed + begin, list->size, to,
					some, stride, len);
			begin = p->end;
		}
		c->packed += some * list->size;
		c->left -= some * list->size;
		at += (uintptr_t)(some * stride);
	}
}

static void pack_walk(
	struct cursor *c, const struct weft_flat *flat, uintptr_t at);

/* True if walk_lists() can move a loop over child. */
static bool is_transposed(
	const struct cursor *c, const struct weft_flat *child, int64_t stride)
{
	return child->kind == WEFT_FLAT_LIST && c->mode != WALK_IOV &&
	       child->span && child->n_parts <= 32 && stride >= child->span;
}

static void walk_loop(struct cursor *c, const struct weft_flat *child,
	int64_t count, int64_t stride, uintptr_t at)
{
	int64_t i = 0;

	if (c->skip) {
		i = c->skip / child->size;
		c->skip -= i * child->size;
		at += (uintptr_t)(i * stride);
		if (c->skip) {
			pack_walk(c, child, at);
			at += (uintptr_t)stride;
			i++;
		}
	}
	if (child->kind == WEFT_FLAT_RUN || is_transposed(c, child, stride)) {
		int64_t n = c->left / child->size;

		if (n > count - i)
			n = count - i;
		if (child->kind == WEFT_FLAT_RUN)
			walk_blocks(c, at, n, stride, child->size);
		else
			walk_lists(c, child, n, stride, at);
		at += (uintptr_t)(n * stride);
		i += n;
	}
	for (; i < count && c->left; i++) {
		pack_walk(c, child, at);
		at += (uintptr_t)stride;
	}
}

/* The first part that ends after byte `skip`. */
static int64_t list_find(const struct weft_flat *flat, int64_t skip)
{
	int64_t low = 0;
	int64_t high = flat->n_parts - 1;

	while (low < high) {
		int64_t mid = low + (high - low) / 2;

		if (flat->part[mid].end > skip)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Copies the usual short lengths without a call. */
static inline void copy_short(char *to, const char *from, size_t len)
{
	if (len == 8)
		memcpy(to, from, 8);
	else if (len == 4)
		memcpy(to, from, 4);
	else if (len == 16)
		memcpy(to, from, 16);
	else if (len == 1)
		*to = *from;
	else
		memcpy(to, from, len);
}

/* Copies the parts from i on that are runs, until a part has a child or exceeds
 * c->left. c->skip is 0. Returns the first part that was not copied. */
static int64_t list_whole_runs(
	struct cursor *c, const struct weft_flat *flat, int64_t i, uintptr_t at)
{
	const struct weft_flat_part *part = flat->part;
	int64_t begin = i ? part[i - 1].end : 0;
	int64_t last = begin + c->left; /* end of the bytes to move */
	bool is_pack = c->mode == WALK_PACK;
	char *packed;

	if (c->mode == WALK_IOV)
		return i;
	packed = c->packed - begin;
	for (; i < flat->n_parts && !part[i].child; i++) {
		char *here = (char *)(at + (uintptr_t)part[i].disp);
		size_t len = (size_t)(part[i].end - begin);

		if (part[i].end > last)
			break;
		if (is_pack)
			copy_short(packed + begin, here, len);
		else
			copy_short(here, packed + begin, len);
		begin = part[i].end;
	}
	c->packed = packed + begin;
	c->left = last - begin;
	return i;
}

static void walk_list(
	struct cursor *c, const struct weft_flat *flat, uintptr_t at)
{
	int64_t i = c->skip ? list_find(flat, c->skip) : 0;
	int64_t begin = i ? flat->part[i - 1].end : 0;

	if (c->skip)
		c->skip -= begin;
	else
		i = list_whole_runs(c, flat, 0, at);
	begin = i ? flat->part[i - 1].end : 0;
	while (i < flat->n_parts && c->left) {
		const struct weft_flat_part *p = &flat->part[i++];
		uintptr_t to = at + (uintptr_t)p->disp;

		if (p->child) {
			pack_walk(c, p->child, to);
		} else {
			walk_run(c, to + (uintptr_t)c->skip,
				p->end - begin - c->skip);
			c->skip = 0;
		}
		i = list_whole_runs(c, flat, i, at);
		begin = flat->part[i - 1].end;
	}
}

/* Walks over one tree at address `at`, from its byte c->skip on. Ends at the
 * end of the tree, or when c->left is 0. Sets c->skip to 0. */
static void pack_walk(
	struct cursor *c, const struct weft_flat *flat, uintptr_t at)
{
	switch (flat->kind) {
	case WEFT_FLAT_RUN:
		walk_run(c, at + (uintptr_t)c->skip, flat->size - c->skip);
		c->skip = 0;
		break;
	case WEFT_FLAT_LOOP:
		walk_loop(c, flat->child, flat->count, flat->stride, at);
		break;
	case WEFT_FLAT_LIST:
		walk_list(c, flat, at);
		break;
	}
}

static void walk_items(struct cursor *c, const struct weft_type *type,
	int64_t count, const void *buf)
{
	uintptr_t at = (uintptr_t)buf + (uintptr_t)type->flat_disp;

	walk_loop(c, type->flat, count, type->extent, at);
}

/* The number of bytes of [skip, skip + len) that the stream has. */
static inline size_t clamp(
	const struct weft_type *type, int64_t count, size_t skip, size_t len)
{
	size_t total = (size_t)(type->size * count);

	return skip >= total ? 0 : weft_min(len, total - skip);
}

size_t weft_pack(const struct weft_type *type, int64_t count, const void *buf,
	size_t skip, void *dst, size_t len)
{
	struct cursor c = { .mode = WALK_PACK, .packed = dst };

	len = clamp(type, count, skip, len);
	if (!len)
		return 0;
	if (weft_type_is_run(type, count)) {
		uintptr_t at = (uintptr_t)buf + (uintptr_t)type->true_lb + skip;

		memcpy(dst, (const void *)at, len);
		return len;
	}
	c.skip = (int64_t)skip;
	c.left = (int64_t)len;
	walk_items(&c, type, count, buf);
	return len;
}

size_t weft_unpack(const struct weft_type *type, int64_t count, void *buf,
	size_t skip, const void *src, size_t len)
{
	struct cursor c = { .mode = WALK_UNPACK, .packed = (char *)src };

	len = clamp(type, count, skip, len);
	if (!len)
		return 0;
	if (weft_type_is_run(type, count)) {
		uintptr_t at = (uintptr_t)buf + (uintptr_t)type->true_lb + skip;

		memcpy((void *)at, src, len);
		return len;
	}
	c.skip = (int64_t)skip;
	c.left = (int64_t)len;
	walk_items(&c, type, count, buf);
	return len;
}

void weft_type_iov(const struct weft_type *type, int64_t count, const void *buf,
	size_t skip, struct iovec *iov, size_t n_iov, size_t *n_out,
	size_t *bytes_out)
{
	struct cursor c = { .mode = WALK_IOV, .iov = iov, .max_iov = n_iov };

	c.skip = (int64_t)skip;
	c.left = (int64_t)clamp(type, count, skip, SIZE_MAX);
	if (c.left && weft_type_is_run(type, count)) {
		uintptr_t at = (uintptr_t)buf + (uintptr_t)type->true_lb + skip;

		iov[0] = (struct iovec){ (void *)at, (size_t)c.left };
		c.n_iov = 1;
		c.covered = c.left;
	} else if (c.left) {
		walk_items(&c, type, count, buf);
	}
	*n_out = c.n_iov;
	*bytes_out = (size_t)c.covered;
}

bool weft_type_series(const struct weft_type *type, int64_t count,
	struct weft_series *series_out)
{
	const struct weft_flat *flat = type->flat;

	if (!flat)
		return false;
	if (flat->kind == WEFT_FLAT_RUN)
		*series_out = (struct weft_series){
			.n = count, .len = flat->size, .stride = type->extent
		};
	else if (count == 1 && flat->kind == WEFT_FLAT_LOOP &&
		 flat->child->kind == WEFT_FLAT_RUN)
		*series_out = (struct weft_series){ .n = flat->count,
			.len = flat->child->size,
			.stride = flat->stride };
	else
		return false;
	series_out->at = type->flat_disp;
	return true;
}

static void copy_by_chunks(const struct weft_type *stype, int64_t scount,
	const void *sbuf, const struct weft_type *rtype, int64_t rcount,
	void *rbuf)
{
	size_t len = weft_min(
		(size_t)(stype->size * scount), (size_t)(rtype->size * rcount));
	char chunk[8192];

	for (size_t at = 0; at < len;) {
		size_t n = weft_min(sizeof chunk, len - at);

		weft_pack(stype, scount, sbuf, at, chunk, n);
		weft_unpack(rtype, rcount, rbuf, at, chunk, n);
		at += n;
	}
}

int weft_type_copy(const struct weft_type *stype, int64_t scount,
	const void *sbuf, const struct weft_type *rtype, int64_t rcount,
	void *rbuf)
{
	size_t slen = (size_t)(stype->size * scount);
	size_t rlen = (size_t)(rtype->size * rcount);
	size_t len = weft_min(slen, rlen);

	if (len && weft_type_is_run(rtype, rcount)) {
		uintptr_t to = (uintptr_t)rbuf + (uintptr_t)rtype->true_lb;
		uintptr_t from = (uintptr_t)sbuf + (uintptr_t)stype->true_lb;

		if (weft_type_is_run(stype, scount))
			memmove((void *)to, (const void *)from, len);
		else
			weft_pack(stype, scount, sbuf, 0, (void *)to, len);
	} else if (len && weft_type_is_run(stype, scount)) {
		uintptr_t from = (uintptr_t)sbuf + (uintptr_t)stype->true_lb;

		weft_unpack(rtype, rcount, rbuf, 0, (const void *)from, len);
	} else if (len) {
		copy_by_chunks(stype, scount, sbuf, rtype, rcount, rbuf);
	}
	if (slen > rlen)
		return weft_err_set(WEFT_ERR_TRUNCATE,
			"%zu bytes sent, space for %zu", slen, rlen);
	return 0;
}
