/* SPDX-License-Identifier: BSD-3-Clause */
/* cb_cache: aggregators' buffers, which are reused for later files
 *
 * Creating and mapping a buffer costs as much as writing some megabytes through
 * it. So a process caches a few buffers until a session ends: its own, and
 * mappings of those of other processes. Any thread. */
#ifndef WEFT_CB_CACHE_H
#define WEFT_CB_CACHE_H

#include "shm/share.h"

#include <stdint.h>
#include <sys/types.h>

/* A buffer, as a process that created or mapped it describes it. Owner and time
 * of creation identify the buffer on a node. */
struct weft_cb_buffer {
	uint64_t owner; /* process that created it: weft_share_owner() */
	int64_t created_ns;
	int64_t len;		 /* bytes, as requested */
	struct weft_share share; /* the memory; base NULL: none; fd -1: another
				    process created it */
};

/* Gets a buffer of this process from the cache, or creates it; its contents are
 * undefined. 0 or the error of weft_share_create(). */
int weft_cb_cache_create(int64_t len, struct weft_cb_buffer *buffer);

/* Gets a mapping of another process's buffer from the cache, or maps its
 * descriptor fd. The caller has set all fields but share. 0 or the error of
 * weft_share_map(). */
int weft_cb_cache_map(struct weft_cb_buffer *buffer, int fd);

/* Returns a buffer to the cache. No process uses the buffer any more. If the
 * buffer is too long for the cache, or the cache is full, destroys a buffer. */
void weft_cb_cache_put(struct weft_cb_buffer *buffer);
/* Unmaps a buffer that must not be reused. Also destroys its memory if this
 * process created it. */
void weft_cb_cache_destroy(struct weft_cb_buffer *buffer);

/* Destroys all cached buffers. */
void weft_cb_cache_close(void);

#endif
