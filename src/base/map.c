/* SPDX-License-Identifier: BSD-3-Clause */
/* map: linear probing; a removal shifts later entries back and leaves no
 * tombstone */
#include "base/map.h"
#include "base/err.h"

#include <stdlib.h>

static void map_place(struct weft_map *map, uint64_t key, void *value)
{
	size_t i = weft_mix(key) & map->mask;

	while (map->entries[i].key && map->entries[i].key != key)
		i = (i + 1) & map->mask;
	if (!map->entries[i].key)
		map->n_used++;
	map->entries[i] = (struct weft_map_entry){ key, value };
}

static int map_grow(struct weft_map *map)
{
	size_t n = map->entries ? (map->mask + 1) * 2 : 16;
	struct weft_map bigger = { .mask = n - 1 };

	bigger.entries = calloc(n, sizeof(*bigger.entries));
	if (!bigger.entries)
		return WEFT_ERR_NOMEM;
	for (size_t i = 0; map->entries && i <= map->mask; i++)
		if (map->entries[i].key)
			map_place(&bigger, map->entries[i].key,
				map->entries[i].value);
	free(map->entries);
	*map = bigger;
	return 0;
}

int weft_map_put(struct weft_map *map, uint64_t key, void *value)
{
	if (!map->entries || (map->n_used + 1) * 2 > map->mask + 1) {
		int err = map_grow(map);

		if (err)
			return err;
	}
	map_place(map, key, value);
	return 0;
}

void *weft_map_remove(struct weft_map *map, uint64_t key)
{
	void *value;
	size_t i, hole;

	if (!map->entries)
		return NULL;
	i = weft_mix(key) & map->mask;
	while (map->entries[i].key != key) {
		if (!map->entries[i].key)
			return NULL;
		i = (i + 1) & map->mask;
	}
	value = map->entries[i].value;
	hole = i;
	for (;;) {
		size_t home;

		i = (i + 1) & map->mask;
		if (!map->entries[i].key)
			break;
		home = weft_mix(map->entries[i].key) & map->mask;
		if (((i - home) & map->mask) >= ((i - hole) & map->mask)) {
			map->entries[hole] = map->entries[i];
			hole = i;
		}
	}
	map->entries[hole] = (struct weft_map_entry){ 0, NULL };
	map->n_used--;
	return value;
}

struct weft_map_entry *weft_map_next(const struct weft_map *map, size_t *pos)
{
	while (map->entries && *pos <= map->mask) {
		struct weft_map_entry *e = &map->entries[(*pos)++];

		if (e->key)
			return e;
	}
	return NULL;
}

void weft_map_fini(struct weft_map *map)
{
	free(map->entries);
	*map = (struct weft_map){ 0 };
}
