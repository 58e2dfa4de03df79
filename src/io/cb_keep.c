/* SPDX-License-Identifier: BSD-3-Clause */
/* cb_keep: a short list */
#include "io/cb_keep.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

enum {
	KEPT = 8,
	LEN_MAX = 4 << 20, /* a longer one is not kept */
};

static struct {
	pthread_mutex_t lock;
	struct weft_cb_buffer kept[KEPT];
	unsigned next; /* makes room when there is none */
} keep = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* One like this; where born is 0, of whatever age. */
static bool keep_find(struct weft_cb_buffer *buffer)
{
	bool is_found = false;

	pthread_mutex_lock(&keep.lock);
	for (int i = 0; i < KEPT && !is_found; i++) {
		struct weft_cb_buffer *at = &keep.kept[i];

		if (!at->share.base || at->owner != buffer->owner ||
			at->len != buffer->len ||
			(buffer->born && at->born != buffer->born))
			continue;
		*buffer = *at;
		at->share.base = NULL;
		is_found = true;
	}
	pthread_mutex_unlock(&keep.lock);
	return is_found;
}

int weft_cb_keep_make(int64_t len, struct weft_cb_buffer *buffer)
{
	*buffer = (struct weft_cb_buffer){ .owner = weft_share_owner(),
		.len = len };
	if (keep_find(buffer))
		return 0;
	buffer->born = (int64_t)weft_now_ns();
	return weft_share_create((size_t)len, &buffer->share);
}

int weft_cb_keep_map(struct weft_cb_buffer *buffer, int fd)
{
	if (keep_find(buffer))
		return 0;
	buffer->share =
		(struct weft_share){ .len = (size_t)buffer->len, .fd = -1 };
	return weft_share_map(
		buffer->owner, fd, 0, buffer->share.len, &buffer->share.base);
}

void weft_cb_keep_drop(struct weft_cb_buffer *buffer)
{
	struct weft_share *share = &buffer->share;

	if (share->fd >= 0)
		weft_share_destroy(share);
	else
		weft_share_unmap(share->base, share->len);
	share->base = NULL;
}

void weft_cb_keep_give(struct weft_cb_buffer *buffer)
{
	struct weft_cb_buffer out = *buffer;
	unsigned i = 0;

	buffer->share.base = NULL;
	if (!out.share.base)
		return;
	if (out.len <= LEN_MAX) {
		struct weft_cb_buffer in = out;

		pthread_mutex_lock(&keep.lock);
		while (i < KEPT && keep.kept[i].share.base)
			i++;
		if (i == KEPT)
			i = keep.next++ % KEPT;
		out = keep.kept[i];
		keep.kept[i] = in;
		pthread_mutex_unlock(&keep.lock);
	}
	if (out.share.base)
		weft_cb_keep_drop(&out);
}

void weft_cb_keep_close(void)
{
	pthread_mutex_lock(&keep.lock);
	for (int i = 0; i < KEPT; i++)
		if (keep.kept[i].share.base)
			weft_cb_keep_drop(&keep.kept[i]);
	pthread_mutex_unlock(&keep.lock);
}
