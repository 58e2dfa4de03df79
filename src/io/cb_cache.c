/* SPDX-License-Identifier: BSD-3-Clause */
/* cb_cache: aggregators' buffers, which are reused for later files */
#include "io/cb_cache.h"

#include "base/clock.h"
#include "transport/proc.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

enum {
	CACHED_MAX = 8,
	LEN_MAX = 4 << 20, /* bytes; longer buffers are not cached */
};

static struct {
	pthread_mutex_t lock;
	struct weft_cb_buffer buffers[CACHED_MAX];
	unsigned next; /* entry to replace if all are used */
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Removes a buffer with the same owner and length from the cache. The time of
 * creation must also be equal, unless that of *buffer is 0. */
static bool cb_cache_find(struct weft_cb_buffer *buffer)
{
	bool is_found = false;

	pthread_mutex_lock(&cache.lock);
	for (int i = 0; i < CACHED_MAX && !is_found; i++) {
		struct weft_cb_buffer *at = &cache.buffers[i];

		if (!at->share.base || at->owner != buffer->owner ||
			at->len != buffer->len ||
			(buffer->created_ns &&
				at->created_ns != buffer->created_ns))
			continue;
		*buffer = *at;
		at->share.base = NULL;
		is_found = true;
	}
	pthread_mutex_unlock(&cache.lock);
	return is_found;
}

int weft_cb_cache_create(int64_t len, struct weft_cb_buffer *buffer)
{
	int err;

	*buffer = (struct weft_cb_buffer){ .owner = weft_share_owner(),
		.len = len };
	if (cb_cache_find(buffer))
		return 0;
	buffer->created_ns = (int64_t)weft_now_ns();
	err = weft_share_create((size_t)len, &buffer->share);
	weft_counter_add(&weft_proc.counters.aggregator_memory,
		(int64_t)buffer->share.len);
	return err;
}

int weft_cb_cache_map(struct weft_cb_buffer *buffer, int fd)
{
	if (cb_cache_find(buffer))
		return 0;
	buffer->share =
		(struct weft_share){ .len = (size_t)buffer->len, .fd = -1 };
	return weft_share_map(
		buffer->owner, fd, 0, buffer->share.len, &buffer->share.base);
}

void weft_cb_cache_destroy(struct weft_cb_buffer *buffer)
{
	struct weft_share *share = &buffer->share;

	if (share->fd >= 0) {
		weft_counter_add(&weft_proc.counters.aggregator_memory,
			-(int64_t)share->len);
		weft_share_destroy(share);
	} else {
		weft_share_unmap(share->base, share->len);
	}
	share->base = NULL;
}

void weft_cb_cache_put(struct weft_cb_buffer *buffer)
{
	struct weft_cb_buffer out = *buffer;
	unsigned i = 0;

	buffer->share.base = NULL;
	if (!out.share.base)
		return;
	if (out.len <= LEN_MAX) {
		struct weft_cb_buffer in = out;

		pthread_mutex_lock(&cache.lock);
		while (i < CACHED_MAX && cache.buffers[i].share.base)
			i++;
		if (i == CACHED_MAX)
			i = cache.next++ % CACHED_MAX;
		out = cache.buffers[i];
		cache.buffers[i] = in;
		pthread_mutex_unlock(&cache.lock);
	}
	if (out.share.base)
		weft_cb_cache_destroy(&out);
}

void weft_cb_cache_close(void)
{
	pthread_mutex_lock(&cache.lock);
	for (int i = 0; i < CACHED_MAX; i++)
		if (cache.buffers[i].share.base)
			weft_cb_cache_destroy(&cache.buffers[i]);
	pthread_mutex_unlock(&cache.lock);
}
