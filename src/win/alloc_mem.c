/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc_mem: memory of MPI_Alloc_mem, of which windows may be created
 *
 * The memory is in files without a name, as that of MPI_Win_allocate is. Memory
 * of LONG bytes and more has its own file; shorter memory shares files, which
 * are kept when they are empty. */
#include "win/node_memory.h"

#include "base/err.h"
#include "base/interval.h"
#include "base/knob.h"
#include "rma/heap.h"
#include "shm/share.h"
#include "transport/proc.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	LONG = 1 << 20,	  /* memory of this length has its own file */
	CHUNK = 64 << 20, /* length of a file that shorter memory shares; the
			     file is sparse */
};

struct chunk {
	struct weft_link link; /* is_kept: link in mem.kept */
	struct weft_interval range;
	struct weft_share share;
	struct weft_heap heap;
	bool is_kept; /* not closed when it is empty */
};

/* `lock` guards all fields. */
static struct {
	pthread_mutex_t lock;
	struct weft_intervals chunks;
	struct weft_link kept; /* chunks of shorter memory */
} mem = { .lock = PTHREAD_MUTEX_INITIALIZER, .kept = { &mem.kept, &mem.kept } };

static void chunk_free(struct chunk *chunk)
{
	weft_interval_remove(&mem.chunks, &chunk->range);
	weft_list_remove(&chunk->link);
	weft_heap_fini(&chunk->heap);
	weft_share_destroy(&chunk->share);
	free(chunk);
}

static struct chunk *chunk_new(size_t len)
{
	struct chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk || weft_share_create(len, &chunk->share))
		goto fail;
	if (weft_heap_init(&chunk->heap, chunk->share.len))
		goto fail_share;
	weft_list_init(&chunk->link);
	chunk->range.start = (uintptr_t)chunk->share.base;
	chunk->range.end = chunk->range.start + chunk->share.len;
	if (!weft_interval_add(&mem.chunks, &chunk->range))
		return chunk;
	weft_heap_fini(&chunk->heap);
fail_share:
	weft_share_destroy(&chunk->share);
fail:
	free(chunk);
	return NULL;
}

static char *chunk_take(struct chunk *chunk, size_t len, size_t align)
{
	size_t at = weft_heap_take(&chunk->heap, len, align);

	return at == SIZE_MAX ? NULL : chunk->share.base + at;
}

/* mem.lock held, here and below. */
static void *mem_take(size_t len, size_t align)
{
	struct chunk *chunk;
	char *base = NULL;

	weft_list_for_each(link, next, &mem.kept)
	{
		if (!base && len < LONG)
			base = chunk_take(
				weft_container_of(link, struct chunk, link),
				len, align);
	}
	if (base)
		return base;
	chunk = chunk_new(len < LONG ? (size_t)CHUNK : len);
	if (!chunk)
		return NULL;
	chunk->is_kept = len < LONG;
	if (chunk->is_kept)
		weft_list_push_back(&mem.kept, &chunk->link);
	base = chunk_take(chunk, len, align);
	if (!base)
		chunk_free(chunk);
	return base;
}

/* The file that holds a byte of the range, or NULL. */
static struct chunk *chunk_of(const void *base, size_t len)
{
	uintptr_t start = (uintptr_t)base;
	struct weft_interval *range =
		weft_interval_find(&mem.chunks, start, start + len);

	return range ? weft_container_of(range, struct chunk, range) : NULL;
}

/* Counts a block that is allocated (sign 1) or freed (-1). */
static void mem_count(struct chunk *chunk, const char *base, int sign)
{
	size_t at = (size_t)(base - chunk->share.base);

	weft_counter_add(&weft_proc.counters.window_memory,
		sign * (int64_t)weft_heap_len(&chunk->heap, at));
}

void *weft_win_mem_alloc(size_t len, size_t align)
{
	void *base = NULL;

	if (weft_knob_is_on(weft_knobs.shm) && align <= weft_share_align(0)) {
		pthread_mutex_lock(&mem.lock);
		base = mem_take(weft_max(len, 1), align);
		if (base)
			mem_count(chunk_of(base, 1), base, 1);
		pthread_mutex_unlock(&mem.lock);
	}
	if (!base && posix_memalign(&base, align, weft_max(len, 1)))
		base = NULL;
	if (!base)
		weft_err_set(WEFT_ERR_NOMEM, "no memory for %zu bytes", len);
	return base;
}

void weft_win_mem_free(void *base)
{
	struct chunk *chunk;

	pthread_mutex_lock(&mem.lock);
	chunk = chunk_of(base, 1);
	if (chunk) {
		size_t at = (size_t)((char *)base - chunk->share.base);

		mem_count(chunk, base, -1);
		weft_heap_give(&chunk->heap, at);
		if (!chunk->heap.n_taken && !chunk->is_kept)
			chunk_free(chunk);
	}
	pthread_mutex_unlock(&mem.lock);
	if (!chunk)
		free(base);
}

void weft_win_mem_find(
	const void *base, size_t len, struct weft_win_record *record)
{
	const struct chunk *chunk;
	uint64_t at;

	pthread_mutex_lock(&mem.lock);
	chunk = len ? chunk_of(base, len) : NULL;
	if (chunk) {
		at = (uintptr_t)base - (uintptr_t)chunk->share.base;
		if (at < chunk->share.len && len <= chunk->share.len - at) {
			record->data_fd = chunk->share.fd;
			record->data_at = at;
			record->kept_len =
				chunk->is_kept ? chunk->share.len : 0;
		}
	}
	pthread_mutex_unlock(&mem.lock);
}
