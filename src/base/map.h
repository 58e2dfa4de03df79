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
	size_t mask; /* capacity - 1; 0 while nothing was ever put */
	size_t n_used;
};

/* Value for key, or NULL. */
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

/* Puts or replaces; value must not be NULL. 0 or WEFT_ERR_NOMEM, after which
 * the map is as before. A zeroed struct is an empty map. */
int weft_map_put(struct weft_map *map, uint64_t key, void *value);

/* Takes the key out and returns its value, or NULL. */
void *weft_map_remove(struct weft_map *map, uint64_t key);

/* Next entry at or after *pos, advancing it; NULL at the end. The map must not
 * be changed during the walk. */
struct weft_map_entry *weft_map_next(const struct weft_map *map, size_t *pos);

void weft_map_fini(struct weft_map *map);

#endif
