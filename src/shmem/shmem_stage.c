/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_stage: puts from device memory; gets and fetches to device memory;
 * collectives on the external heap
 *
 * The private buffer of a put or get may be in device memory. Its data passes
 * through host memory, in pieces of at most PIECE bytes. Each piece is complete
 * before the next one starts. So the buffer is no longer used when the call
 * returns, also if the call is non-blocking. */
#include "shmem_priv.h"

#include "base/err.h"
#include "dev/pinned.h"

#include <string.h>

enum { PIECE = 1 << 20 };

/* A transfer of blocks. On the stack of one call. */
struct stage {
	const char *fn;
	struct weft_rma_ctx *rma;
	struct weft_dev_where where;
	ptrdiff_t sym_step, dev_step; /* bytes from block to block */
	uint32_t pe;
	bool is_put;
	bool is_ext; /* the symmetric address is in the external heap */
	char *host;  /* one piece; its blocks have no gaps */
};

/* Symmetric memory is host memory, so the driver is not queried for it. */
static bool is_on_dev(const void *ptr, struct weft_dev_where *where_out)
{
	size_t in_heap = (size_t)((const char *)ptr - weft_rma.heap.base);
	size_t in_data = (size_t)((const char *)ptr - weft_rma.data.base);

	return in_heap >= weft_rma.heap.len && in_data >= weft_rma.data.len &&
	       weft_dev_find(ptr, where_out);
}

/* Puts n blocks of len bytes. */
static int put_piece(
	const struct stage *s, char *sym, const char *dev, size_t n, size_t len)
{
	const struct weft_dev_rows rows = { s->host, dev, n, len,
		(ptrdiff_t)len, s->dev_step };
	const struct weft_rma_stride how = { len, n, s->sym_step,
		(ptrdiff_t)len };
	int err = weft_dev_copy_rows(&s->where, &rows, true);

	if (err)
		return err;
	return s->is_ext ? weft_shmem_ext_iput(
				   s->fn, s->rma, sym, s->host, &how, s->pe)
			 : weft_rma_iput(s->rma, sym, s->host, &how, s->pe);
}

/* Gets n blocks of len bytes. */
static int get_piece(
	const struct stage *s, const char *sym, char *dev, size_t n, size_t len)
{
	const struct weft_dev_rows rows = { dev, s->host, n, len, s->dev_step,
		(ptrdiff_t)len };
	const struct weft_rma_stride how = { len, n, (ptrdiff_t)len,
		s->sym_step };
	int err = s->is_ext ? weft_shmem_ext_iget(
				      s->fn, s->rma, s->host, sym, &how, s->pe)
			    : weft_rma_iget(s->rma, s->host, sym, &how, s->pe);

	return err ? err : weft_dev_copy_rows(&s->where, &rows, false);
}

/* Transfers n > 0 blocks of len > 0 bytes. A piece is as many blocks as fit, or
 * a part of a long block. */
static int run_pieces(
	struct stage *s, char *sym, char *dev, size_t n, size_t len)
{
	const size_t max = weft_min(len, PIECE);
	const size_t per = weft_min(n, PIECE / max);
	int err = 0;

	s->host = weft_pinned_alloc(&s->where, per * max);
	if (!s->host)
		return weft_err_set(WEFT_ERR_NOMEM,
			"no host memory for %zu bytes of device memory",
			per * max);
	for (size_t i = 0; !err && i < n; i += per) {
		char *sym_at = sym + (ptrdiff_t)i * s->sym_step;
		char *dev_at = dev + (ptrdiff_t)i * s->dev_step;
		size_t n_now = weft_min(per, n - i);

		for (size_t at = 0; !err && at < len; at += max) {
			size_t now = weft_min(max, len - at);

			err = s->is_put ? put_piece(s, sym_at + at, dev_at + at,
						  n_now, now)
					: get_piece(s, sym_at + at, dev_at + at,
						  n_now, now);
		}
	}
	weft_pinned_free(s->host);
	return err;
}

/* Ends the job unless the range is symmetric. Sets s->is_ext. */
static void check_range(
	struct stage *s, const char *arg, const void *sym, size_t len)
{
	s->is_ext = weft_shmem_in_ext(sym);
	if (s->is_ext)
		weft_shmem_ext_check(s->fn, arg, sym, len);
	else
		weft_shmem_check_sym(s->fn, arg, sym, len);
}

bool weft_shmem_stage_put(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, const struct weft_rma_stride *how, uint32_t pe)
{
	struct stage s = { .fn = fn,
		.sym_step = how->dest,
		.dev_step = how->src,
		.pe = pe,
		.is_put = true };

	if (!is_on_dev(source, &s.where))
		return weft_shmem_ext_put(fn, ctx, dest, source, how, pe);
	check_range(&s, "dest", dest, weft_shmem_spread(how, how->dest));
	s.rma = weft_shmem_rma(fn, ctx);
	weft_shmem_ok(fn, run_pieces(&s, dest, (char *)(uintptr_t)source,
				  how->n, how->len));
	return true;
}

bool weft_shmem_stage_get(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, const struct weft_rma_stride *how, uint32_t pe)
{
	struct stage s = {
		.fn = fn, .sym_step = how->src, .dev_step = how->dest, .pe = pe
	};

	if (!is_on_dev(dest, &s.where))
		return weft_shmem_ext_get(fn, ctx, dest, source, how, pe);
	check_range(&s, "source", source, weft_shmem_spread(how, how->src));
	s.rma = weft_shmem_rma(fn, ctx);
	weft_shmem_ok(fn, run_pieces(&s, (char *)(uintptr_t)source, dest,
				  how->n, how->len));
	return true;
}

bool weft_shmem_stage_fetch(const char *fn, shmem_ctx_t ctx, const void *dest,
	const struct weft_amo *amo, void *fetched, uint32_t pe)
{
	uint64_t was = 0;
	const struct weft_dev_rows rows = { fetched, &was, 1, amo->width, 0,
		0 };
	struct weft_dev_where where;
	bool is_dev = is_on_dev(fetched, &where);

	if (!weft_shmem_ext_amo(fn, ctx, "dest", dest, amo, &was, pe)) {
		if (!is_dev)
			return false;
		weft_shmem_check_sym(fn, "dest", dest, amo->width);
		weft_shmem_ok(
			fn, weft_rma_amo_fetch(weft_shmem_rma(fn, ctx),
				    (void *)(uintptr_t)dest, amo, &was, pe));
	}
	if (is_dev)
		weft_shmem_ok(fn, weft_dev_copy_rows(&where, &rows, false));
	else
		memcpy(fetched, &was, amo->width);
	return true;
}

/* --- collectives ------------------------------------------------------------
 */

/* Finds the device of an address in the external heap, and allocates len bytes
 * of host memory. */
static void *host_of(const char *fn, const char *arg, const void *dev,
	size_t len, struct weft_dev_where *where_out)
{
	void *host;

	weft_shmem_ext_check(fn, arg, dev, len);
	if (!weft_dev_find(dev, where_out))
		weft_shmem_fatal(fn,
			"%s is %p, whose device memory was freed; call "
			"shmem_finalize first",
			arg, dev);
	host = weft_pinned_alloc(where_out, len);
	if (!host)
		weft_shmem_fatal_err(fn, WEFT_ERR_NOMEM);
	return host;
}

void weft_shmem_stage_open(const char *fn, struct weft_shmem_pair *pair)
{
	struct weft_dev_where where;

	if (pair->source_len && weft_shmem_in_ext(pair->source)) {
		struct weft_dev_rows rows = { NULL, pair->source, 1,
			pair->source_len, 0, 0 };

		rows.dst = host_of(
			fn, "source", pair->source, pair->source_len, &where);
		weft_shmem_ok(fn, weft_dev_copy_rows(&where, &rows, true));
		pair->source_host = rows.dst;
	} else {
		weft_shmem_check_sym(
			fn, "source", pair->source, pair->source_len);
	}
	if (pair->dest_len && weft_shmem_in_ext(pair->dest)) {
		pair->dest_dev = pair->dest;
		if (pair->source_host && pair->dest == pair->source &&
			pair->dest_len <= pair->source_len)
			pair->dest = pair->source_host; /* in place */
		else
			pair->dest = pair->dest_host = host_of(
				fn, "dest", pair->dest, pair->dest_len, &where);
	} else {
		weft_shmem_check_sym(fn, "dest", pair->dest, pair->dest_len);
	}
	if (pair->source_host)
		pair->source = pair->source_host;
}

void weft_shmem_stage_close(
	const char *fn, struct weft_shmem_pair *pair, bool is_written)
{
	const struct weft_dev_rows rows = { pair->dest_dev, pair->dest, pair->n,
		pair->len, pair->step, pair->step };
	struct weft_dev_where where;

	if (pair->dest_dev && is_written) {
		if (!weft_dev_find(pair->dest_dev, &where))
			weft_shmem_fatal(fn,
				"dest is %p, whose device memory was freed",
				pair->dest_dev);
		weft_shmem_ok(fn, weft_dev_copy_rows(&where, &rows, false));
	}
	weft_pinned_free(pair->dest_host);
	weft_pinned_free(pair->source_host);
}

void weft_shmem_refuse_dev(const char *fn, const char *arg, const void *ptr)
{
	struct weft_dev_where where;

	if (ptr && is_on_dev(ptr, &where))
		weft_shmem_ok(
			fn, weft_dev_refuse(ptr, arg, "pass host memory"));
}
