/* SPDX-License-Identifier: BSD-3-Clause */
/* map: 64-bit key to pointer, open addressing
 *
 * Not thread safe: the owner's lock guards it. Keys may be any value but 0. */
#ifndef WEFT_MAP_H
#define WEFT_MAP_H

#include "base/bits.h"

#include <stddef.h>
#include <stdint.h>

struct weft_map_entry {
	uint64_t key; /* 0: empty */
	void *value;
};

struct weft_map {
	struct weft_map_entry *entries;
	size_t mask; /* capacity - 1; 0 until the first put */
	size_t n_used;
};

/* Returns the value of a key, or NULL. */
static inline void *weft_map_get(const struct weft_map *map, uint64_t key)
{
	if (!map->entries)
		return NULL;
	for (size_t i = weft_mix(key);; i++) {
		const struct weft_map_entry *e = &map->entries[i & map->mask];

		if (e->key == key)
			return e->value;
		if (!e->key)
			return NULL;
	}
}

/* Inserts or replaces; value must not be NULL. Returns 0, or WEFT_ERR_NOMEM
 * with the map unchanged. A zeroed struct is an empty map. */
int weft_map_put(struct weft_map *map, uint64_t key, void *value);

/* Removes the key and returns its value, or NULL. */
void *weft_map_remove(struct weft_map *map, uint64_t key);

/* Returns the next entry at or after *pos, which is advanced; NULL at the end.
 * Do not change the map while iterating. */
struct weft_map_entry *weft_map_next(const struct weft_map *map, size_t *pos);

void weft_map_fini(struct weft_map *map);

#endif
