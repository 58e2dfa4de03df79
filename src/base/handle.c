/* SPDX-License-Identifier: BSD-3-Clause */
/* handle: a table allocates objects in chunks, and lists the free objects */
#include "base/handle.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_ALIGN = 64 };

/* A free object: its header, then the index of the next free object. */
struct free_obj {
	struct weft_obj obj;
	uint32_t next; /* index + 1, 0: none */
};

static struct weft_obj *slot_at(struct weft_table *table, uint32_t index)
{
	char *chunk = atomic_load_explicit(
		&table->chunk[index / WEFT_TABLE_CHUNK], memory_order_relaxed);

	return (struct weft_obj *)(void *)(chunk + (index % WEFT_TABLE_CHUNK) *
							   table->size);
}

/* Returns the object at the first index that was never used. Allocates the
 * chunk of the index if necessary. NULL if memory or indices are exhausted. */
static struct weft_obj *handle_grow(struct weft_table *table)
{
	uint32_t index = table->n_used;
	struct weft_obj *obj;

	if (index / WEFT_TABLE_CHUNK >= WEFT_TABLE_CHUNKS)
		return NULL;
	if (index % WEFT_TABLE_CHUNK == 0) {
		/* Zero, because a lookup may read the header of an object that
		 * was never used. calloc() touches no page of new memory. */
		char *chunk =
			calloc(1, WEFT_TABLE_CHUNK * table->size + CHUNK_ALIGN);

		if (!chunk)
			return NULL;
		chunk += -(uintptr_t)chunk % CHUNK_ALIGN;
		/* release: publishes the initialised chunk before its address;
		 * pairs with the load in weft_table_slot_() */
		atomic_store_explicit(&table->chunk[index / WEFT_TABLE_CHUNK],
			chunk, memory_order_release);
	}
	table->n_used = index + 1;
	obj = slot_at(table, index);
	obj->low = (uint32_t)table->kind << WEFT_HANDLE_INDEX_BITS | index;
	return obj;
}

void *weft_table_new(struct weft_table *table)
{
	struct weft_obj *obj;

	weft_spin_acquire(&table->spin);
	if (table->free_head) {
		obj = slot_at(table, table->free_head - 1);
		table->free_head = ((struct free_obj *)(void *)obj)->next;
	} else {
		obj = handle_grow(table);
	}
	if (obj) {
		memset(obj + 1, 0, table->size - sizeof(*obj));
		weft_obj_toggle(obj);
		table->n_live++;
	}
	weft_spin_release(&table->spin);
	return obj;
}

void weft_table_free(struct weft_table *table, void *obj_void)
{
	struct weft_obj *obj = obj_void;

	if (!obj)
		return;
	weft_spin_acquire(&table->spin);
	weft_obj_toggle(obj);
	((struct free_obj *)obj_void)->next = table->free_head;
	table->free_head =
		(obj->low & ((1u << WEFT_HANDLE_INDEX_BITS) - 1)) + 1;
	table->n_live--;
	weft_spin_release(&table->spin);
}

uint32_t weft_table_n_live(struct weft_table *table)
{
	uint32_t n;

	weft_spin_acquire(&table->spin);
	n = table->n_live;
	weft_spin_release(&table->spin);
	return n;
}

void *weft_table_at(struct weft_table *table, uint32_t i)
{
	void *obj = NULL;

	weft_spin_acquire(&table->spin);
	if (i < table->n_used)
		obj = slot_at(table, i);
	weft_spin_release(&table->spin);
	return obj;
}

void *weft_table_next(struct weft_table *table, uint32_t *pos)
{
	struct weft_obj *obj, *found = NULL;

	weft_spin_acquire(&table->spin);
	while (!found && *pos < table->n_used) {
		obj = slot_at(table, (*pos)++);
		if (obj->gen & 1)
			found = obj;
	}
	weft_spin_release(&table->spin);
	return found;
}
