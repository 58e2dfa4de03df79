/* SPDX-License-Identifier: BSD-3-Clause */
/* handle: tables of fixed-size objects named by generational handles
 *
 * A handle is a number of 64 bits: generation (31) | kind (4) | index (27).
 * Objects are stored in chunks that are never freed, and freeing an object
 * raises its generation. So the lookup of a stale or invalid handle is always
 * safe and yields NULL. Numbers below WEFT_HANDLE_PREDEFINED_END are never
 * allocated; API rooms use them for predefined objects. The low 32 bits alone
 * also name a live object (weft_table_from_int), for integer handles as in
 * Fortran. */
#ifndef WEFT_HANDLE_H
#define WEFT_HANDLE_H

#include "base/lock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum weft_kind {
	WEFT_KIND_COMM = 1,
	WEFT_KIND_GROUP,
	WEFT_KIND_TYPE,
	WEFT_KIND_OP,
	WEFT_KIND_REQ,
	WEFT_KIND_MESSAGE,
	WEFT_KIND_SESSION,
	WEFT_KIND_INFO,
	WEFT_KIND_ERRH,
	WEFT_KIND_WIN,
	WEFT_KIND_FILE,
	WEFT_KIND_SHMEM_CTX,
	WEFT_KIND_SHMEM_TEAM,
	WEFT_KIND_TOOL, /* all handles of the tool interface */
};

enum {
	WEFT_HANDLE_PREDEFINED_END = 0x1000,
	WEFT_HANDLE_INDEX_BITS = 27,
	WEFT_TABLE_CHUNK = 256,	   /* objects per chunk */
	WEFT_TABLE_CHUNKS = 16384, /* chunks; so a kind has at most 4 M live
				      objects */
};

/* The first member of every object in a table. */
struct weft_obj {
	uint32_t low; /* kind and index: the low half of the handle */
	uint32_t gen; /* odd while live; only this header and handle.c write
			 it */
};

struct weft_table {
	size_t size; /* bytes per object, a multiple of 64 */
	enum weft_kind kind;
	/* private to handle.c and the inline look-up */
	_Atomic(char *) chunk[WEFT_TABLE_CHUNKS];
	struct weft_spin spin; /* guards the fields below */
	uint32_t n_used;       /* indices that were ever allocated */
	uint32_t n_live;
	uint32_t free_head; /* index + 1 of the first free object, 0: none */
};

#define WEFT_TABLE_INIT(type, kind_)                                       \
	{                                                                  \
		.size = (sizeof(type) + 63) & ~(size_t)63, .kind = (kind_) \
	}

/* Allocates an object, zeroed except its weft_obj. NULL if memory or indices
 * are exhausted. Any thread. */
void *weft_table_new(struct weft_table *table);

/* Frees the object. Every handle to it is stale from now on. NULL is accepted.
 * Any thread. */
void weft_table_free(struct weft_table *table, void *obj);

/* Makes every handle to a live object stale while the object stays live. For
 * owners that keep a list of spare objects. */
static inline void weft_obj_renew(void *obj)
{
	uint64_t handle;

	/* one store for both halves, so that the store buffer can forward it to
	 * a read of the handle right afterwards */
	memcpy(&handle, obj, sizeof(handle));
	handle = (handle + ((uint64_t)2 << 32)) & ~((uint64_t)1 << 63);
	memcpy(obj, &handle, sizeof(handle));
}

/* Hides a live object, so that no handle names it, or makes a hidden object
 * live with a new handle. For owners whose spare objects other threads may look
 * up. A hidden object must be made live before it is freed. */
static inline void weft_obj_toggle(void *obj)
{
	struct weft_obj *o = (struct weft_obj *)obj;

	o->gen = (o->gen + 1) & 0x7fffffffu;
}

/* Returns the number of live objects, for leak reports. */
uint32_t weft_table_n_live(struct weft_table *table);

/* Returns the next live object, from index *pos on, and advances *pos past it;
 * NULL at the end. Start with 0. Any thread. The caller holds the lock that
 * guards these objects against changes and frees. Other threads may create
 * objects concurrently; such an object is zeroed before it is live. */
void *weft_table_next(struct weft_table *table, uint32_t *pos);

/* Returns the object with index i, live or not; NULL from the first index that
 * was never used. Any thread. */
void *weft_table_at(struct weft_table *table, uint32_t i);

static inline uint64_t weft_obj_handle(const void *obj)
{
	const struct weft_obj *o = (const struct weft_obj *)obj;

	return (uint64_t)o->gen << 32 | o->low;
}

static inline struct weft_obj *weft_table_slot_(
	const struct weft_table *table, uint32_t low)
{
	uint32_t index = low & ((1u << WEFT_HANDLE_INDEX_BITS) - 1);
	char *chunk;

	if (low >> WEFT_HANDLE_INDEX_BITS != (uint32_t)table->kind ||
		index / WEFT_TABLE_CHUNK >= WEFT_TABLE_CHUNKS)
		return NULL;
	/* acquire: pairs with the store in handle_grow(), which publishes an
	 * initialised chunk */
	chunk = atomic_load_explicit(
		&table->chunk[index / WEFT_TABLE_CHUNK], memory_order_acquire);
	if (!chunk)
		return NULL;
	return (struct weft_obj *)(void *)(chunk + (index % WEFT_TABLE_CHUNK) *
							   table->size);
}

/* Returns the live object of this table that a handle names; NULL if the handle
 * is stale or invalid. */
static inline void *weft_table_get(
	const struct weft_table *table, uint64_t handle)
{
	struct weft_obj *o = weft_table_slot_(table, (uint32_t)handle);

	return o && o->gen == (uint32_t)(handle >> 32) && (o->gen & 1) ? o
								       : NULL;
}

/* Returns the live object whose handle has these low 32 bits; NULL if there is
 * none. */
static inline void *weft_table_from_int(
	const struct weft_table *table, uint32_t low)
{
	struct weft_obj *o = weft_table_slot_(table, low);

	return o && (o->gen & 1) ? o : NULL;
}

#endif
