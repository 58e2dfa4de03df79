/* SPDX-License-Identifier: BSD-3-Clause */
/* cb_cache: buffers of aggregators outlive the file they were made for
 *
 * To make and to map one costs as much as to write a file of some megabytes
 * through it. A process keeps a few, its own and those of others that it has
 * mapped, for the next file, until a session ends. Any thread. */
#ifndef WEFT_CB_CACHE_H
#define WEFT_CB_CACHE_H

#include "shm/share.h"

#include <stdint.h>
#include <sys/types.h>

/* A buffer as one process has it. */
struct weft_cb_buffer {
	uint64_t owner;	    /* who made it, as weft_share_owner(), */
	int64_t created_ns; /* and when: no two of a node have the same of both
			     */
	int64_t len;	    /* as asked for */
	struct weft_share share; /* base NULL: none; of another's fd is -1 */
};

/* One of len bytes with anything in them, of this process: kept, or new. 0, or
 * as weft_share_create(). */
int weft_cb_cache_create(int64_t len, struct weft_cb_buffer *buffer);

/* One of another process, of which all but the base is known, behind its
 * descriptor fd: kept, or mapped. 0, or as weft_share_map(). */
int weft_cb_cache_map(struct weft_cb_buffer *buffer, int fd);

/* It is not used any more, by any process; later it is gone here. */
void weft_cb_cache_put(struct weft_cb_buffer *buffer);
/* The same, but it is not to be used again. */
void weft_cb_cache_destroy(struct weft_cb_buffer *buffer);

/* Drops all. */
void weft_cb_cache_close(void);

#endif
