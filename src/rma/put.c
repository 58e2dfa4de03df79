/* SPDX-License-Identifier: BSD-3-Clause */
/* put: put and get, local ones by copying
 *
 * What is as long as a basic type is moved by one load and one store: peers
 * wait for such words with plain loads. */
#include "rma/rma_priv.h"

#include <string.h>

/* A word is never seen half written; anything else is copied as it comes. */
static inline void rma_put_copy(void *to, const void *from, size_t len)
{
	switch (len) {
	case 1:
		memcpy(to, from, 1);
		break;
	case 2:
		memcpy(to, from, 2);
		break;
	case 4:
		memcpy(to, from, 4);
		break;
	case 8:
		memcpy(to, from, 8);
		break;
	default:
		memcpy(to, from, len);
	}
}

int weft_rma_put(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe)
{
	void *there = weft_rma_local(dest, pe);

	if (weft_unlikely(!there))
		return weft_remote_put(ctx, dest, src, len, pe, false);
	rma_put_copy(there, src, len);
	return 0;
}

int weft_rma_get(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe)
{
	const void *there = weft_rma_local(src, pe);

	if (weft_unlikely(!there))
		return weft_remote_get(ctx, dest, src, len, pe, false);
	rma_put_copy(dest, there, len);
	return 0;
}

int weft_rma_put_nbi(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe)
{
	void *there = weft_rma_local(dest, pe);

	if (weft_unlikely(!there))
		return weft_remote_put(ctx, dest, src, len, pe, true);
	rma_put_copy(there, src, len);
	return 0;
}

int weft_rma_get_nbi(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe)
{
	const void *there = weft_rma_local(src, pe);

	if (weft_unlikely(!there))
		return weft_remote_get(ctx, dest, src, len, pe, true);
	rma_put_copy(dest, there, len);
	return 0;
}

/* One compare and one loop per width, so that elements move as words. */
static void copy_strided(
	char *to, const char *from, const struct weft_rma_stride *how)
{
	for (size_t i = 0; i < how->n; i++) {
		rma_put_copy(to, from, how->len);
		to += how->dest;
		from += how->src;
	}
}

int weft_rma_iput(struct weft_rma_ctx *ctx, void *dest, const void *src,
	const struct weft_rma_stride *how, uint32_t pe)
{
	void *there = weft_rma_local(dest, pe);
	int err = 0;

	if (weft_likely(there)) {
		copy_strided(there, src, how);
		return 0;
	}
	for (size_t i = 0; i < how->n && !err; i++)
		err = weft_remote_put(ctx,
			(char *)dest + (ptrdiff_t)i * how->dest,
			(const char *)src + (ptrdiff_t)i * how->src, how->len,
			pe, false);
	return err;
}

int weft_rma_iget(struct weft_rma_ctx *ctx, void *dest, const void *src,
	const struct weft_rma_stride *how, uint32_t pe)
{
	const void *there = weft_rma_local(src, pe);
	int err = 0;

	if (weft_likely(there)) {
		copy_strided(dest, there, how);
		return 0;
	}
	for (size_t i = 0; i < how->n && !err; i++)
		err = weft_remote_get(ctx,
			(char *)dest + (ptrdiff_t)i * how->dest,
			(const char *)src + (ptrdiff_t)i * how->src, how->len,
			pe, false);
	return err;
}

int weft_rma_put_signal(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint64_t *sig, enum weft_amo_op op, uint64_t value,
	uint32_t pe, bool is_nbi)
{
	struct weft_amo amo = { .op = op, .width = 8, .value = value };
	void *there = weft_rma_local(dest, pe);

	if (weft_unlikely(weft_rma_own.has_fabric_amo || !there))
		return weft_remote_put_signal(
			ctx, dest, src, len, sig, &amo, pe, is_nbi);
	rma_put_copy(there, src, len);
	/* the update releases what was copied; pairs with the waiter's load */
	return weft_rma_amo(ctx, sig, &amo, pe);
}
