/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_rma: put and get
 *
 * This file copies the data of short transfers within the node. src/rma carries
 * out all other transfers. If private buffers may be in device memory,
 * put_staged() and get_staged() test each, and this file copies none. */
#include "shmem_priv.h"

#include <string.h>

/* Counts a transfer that this file copies. */
static inline void note_local(size_t len)
{
	weft_counter_note(&weft_shmem.counters.rma_mapped,
		&weft_shmem.counters.rma_mapped_bytes, len);
}

/* Copies data of the length of a basic type with one store, because other PEs
 * poll it with plain loads. */
static inline void shmem_rma_copy(void *to, const void *from, size_t len)
{
	note_local(len);
	if (__builtin_constant_p(len) || len > 8) {
		memcpy(to, from, len);
		return;
	}
	switch (len) {
	case 8:
		memcpy(to, from, 8);
		return;
	case 4:
		memcpy(to, from, 4);
		return;
	case 2:
		memcpy(to, from, 2);
		return;
	default:
		memcpy(to, from, len);
	}
}

/* WORD_STORE stores one item of a program's type, and WORD_LOAD loads one. A
 * word needs a single store or load, because other PEs may poll or store it. */
#define WORD_STORE(at, from)                                         \
	(note_local(sizeof(*(at))),                                  \
		sizeof(*(at)) <= 8                                   \
			? __atomic_store(at, from, __ATOMIC_RELAXED) \
			: (void)(*(at) = *(from)))
#define WORD_LOAD(at, to)                                                    \
	(note_local(sizeof(*(at))),                                          \
		sizeof(*(at)) <= 8 ? __atomic_load(at, to, __ATOMIC_RELAXED) \
				   : (void)(*(to) = *(at)))

/* Returns the address of a PE's memory in this process. NULL if this process
 * cannot access the memory directly. The order of the arguments keeps those of
 * shmem_p() in their registers. */
static inline void *local_address(
	const void *sym, shmem_ctx_t ctx, int pe, size_t len, const char *fn)
{
	return weft_shmem_local(sym, len, weft_shmem_pe(fn, ctx, pe));
}

/* put_staged() and get_staged() are called if there is no data, or if private
 * buffers may be in device memory. Without such buffers there is no external
 * heap. True if the transfer is complete. */
__attribute__((noinline, cold)) static bool put_staged(const char *fn,
	shmem_ctx_t ctx, void *dest, const void *source,
	const struct weft_rma_stride *how, uint32_t to)
{
	return !how->n || !how->len ||
	       weft_shmem_stage_put(fn, ctx, dest, source, how, to);
}

__attribute__((noinline, cold)) static bool get_staged(const char *fn,
	shmem_ctx_t ctx, void *dest, const void *source,
	const struct weft_rma_stride *how, uint32_t from)
{
	return !how->n || !how->len ||
	       weft_shmem_stage_get(fn, ctx, dest, source, how, from);
}

/* The private buffer is in host memory. */
static inline void put_host(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, size_t len, uint32_t to)
{
	weft_shmem_check_sym(fn, "dest", dest, len);
	weft_shmem_ok(fn,
		weft_rma_put(weft_shmem_rma(fn, ctx), dest, source, len, to));
}

static inline void get_host(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, size_t len, uint32_t from)
{
	weft_shmem_check_sym(fn, "source", source, len);
	weft_shmem_ok(fn,
		weft_rma_get(weft_shmem_rma(fn, ctx), dest, source, len, from));
}

/* put_remote() and get_remote() move a value of shmem_p() or shmem_g(), which
 * is in host memory. put_buffer() and get_buffer() move the program's buffers.
 */
__attribute__((noinline)) static void put_remote(const char *fn,
	shmem_ctx_t ctx, void *dest, const void *value, size_t len, int pe)
{
	uint32_t to = weft_shmem_pe(fn, ctx, pe);

	if (weft_unlikely(len <= weft_shmem.tested_max) &&
		weft_shmem_ext_put(fn, ctx, dest, value,
			&(struct weft_rma_stride){ len, 1, 0, 0 }, to))
		return;
	put_host(fn, ctx, dest, value, len, to);
}

__attribute__((noinline)) static void get_remote(const char *fn,
	shmem_ctx_t ctx, void *value, const void *source, size_t len, int pe)
{
	uint32_t from = weft_shmem_pe(fn, ctx, pe);

	if (weft_unlikely(len <= weft_shmem.tested_max) &&
		weft_shmem_ext_get(fn, ctx, value, source,
			&(struct weft_rma_stride){ len, 1, 0, 0 }, from))
		return;
	get_host(fn, ctx, value, source, len, from);
}

__attribute__((noinline)) static void put_buffer(const char *fn,
	shmem_ctx_t ctx, void *dest, const void *source, size_t len, int pe)
{
	uint32_t to = weft_shmem_pe(fn, ctx, pe);

	if (weft_unlikely(len <= weft_shmem.tested_max) &&
		put_staged(fn, ctx, dest, source,
			&(struct weft_rma_stride){ len, 1, 0, 0 }, to))
		return;
	put_host(fn, ctx, dest, source, len, to);
}

__attribute__((noinline)) static void get_buffer(const char *fn,
	shmem_ctx_t ctx, void *dest, const void *source, size_t len, int pe)
{
	uint32_t from = weft_shmem_pe(fn, ctx, pe);

	if (weft_unlikely(len <= weft_shmem.tested_max) &&
		get_staged(fn, ctx, dest, source,
			&(struct weft_rma_stride){ len, 1, 0, 0 }, from))
		return;
	get_host(fn, ctx, dest, source, len, from);
}

static inline void shmem_rma_put(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, size_t len, int pe)
{
	void *local = local_address(dest, ctx, pe, len, fn);

	if (weft_likely(local && len <= weft_shmem.inline_max))
		shmem_rma_copy(local, source, len);
	else
		put_buffer(fn, ctx, dest, source, len, pe);
}

static inline void shmem_rma_get(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, size_t len, int pe)
{
	void *local = local_address(source, ctx, pe, len, fn);

	if (weft_likely(local && len <= weft_shmem.inline_max))
		shmem_rma_copy(dest, local, len);
	else
		get_buffer(fn, ctx, dest, source, len, pe);
}

static void put_nbi(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, size_t len, int pe)
{
	uint32_t to = weft_shmem_pe(fn, ctx, pe);

	if (weft_unlikely(len <= weft_shmem.tested_max) &&
		put_staged(fn, ctx, dest, source,
			&(struct weft_rma_stride){ len, 1, 0, 0 }, to))
		return;
	if (!weft_shmem_local(dest, len, to))
		weft_shmem_check_sym(fn, "dest", dest, len);
	weft_shmem_ok(fn, weft_rma_put_nbi(weft_shmem_rma(fn, ctx), dest,
				  source, len, to));
}

static void get_nbi(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, size_t len, int pe)
{
	uint32_t from = weft_shmem_pe(fn, ctx, pe);

	if (weft_unlikely(len <= weft_shmem.tested_max) &&
		get_staged(fn, ctx, dest, source,
			&(struct weft_rma_stride){ len, 1, 0, 0 }, from))
		return;
	if (!weft_shmem_local(source, len, from))
		weft_shmem_check_sym(fn, "source", source, len);
	weft_shmem_ok(fn, weft_rma_get_nbi(weft_shmem_rma(fn, ctx), dest,
				  source, len, from));
}

static void iput(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, const struct weft_rma_stride *how, int pe)
{
	uint32_t to = weft_shmem_pe(fn, ctx, pe);

	if (weft_unlikely(how->n <= weft_shmem.tested_max) &&
		put_staged(fn, ctx, dest, source, how, to))
		return;
	if (!how->len)
		return;
	weft_shmem_check_sym(
		fn, "dest", dest, weft_shmem_spread(how, how->dest));
	weft_shmem_ok(fn,
		weft_rma_iput(weft_shmem_rma(fn, ctx), dest, source, how, to));
}

static void iget(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, const struct weft_rma_stride *how, int pe)
{
	uint32_t from = weft_shmem_pe(fn, ctx, pe);

	if (weft_unlikely(how->n <= weft_shmem.tested_max) &&
		get_staged(fn, ctx, dest, source, how, from))
		return;
	if (!how->len)
		return;
	weft_shmem_check_sym(
		fn, "source", source, weft_shmem_spread(how, how->src));
	weft_shmem_ok(fn, weft_rma_iget(weft_shmem_rma(fn, ctx), dest, source,
				  how, from));
}

#include "api_shmem_rma.h"
