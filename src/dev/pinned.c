/* SPDX-License-Identifier: BSD-3-Clause */
/* pinned: a bounded pool of pinned host memory
 *
 * The pool consists of regions, which the driver pins as a whole. A region has
 * the length of all earlier regions together, or more, so the pool pins memory
 * at most MAX_REGIONS times. The pages are the library's own. They remain
 * accessible if the program destroys the context in which they were pinned,
 * and any process may copy them. */
#include "dev/pinned.h"

#include "base/bits.h"
#include "base/log.h"
#include "dev/dev_priv.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	FIRST = 4 << 20,       /* length of the first region */
	MAX = 128 << 20,       /* length of the pool */
	REGION_UNIT = 2 << 20, /* divides the length of a region */
	BLOCK_UNIT = 4096,
	MAX_REGIONS = 8,
};

/* Memory in use. Created by pinned_alloc() and freed by weft_pinned_free(). */
struct pinned_block {
	struct pinned_block *next;
	char *at;
	size_t len;
};

struct pinned_region {
	struct weft_dev_where where; /* the vendor's driver has pinned it */
	char *base;
	size_t len;
	struct pinned_block *first; /* in the order of their addresses */
};

static struct {
	pthread_mutex_t lock;
	struct pinned_region regions[MAX_REGIONS];
	int n;
	size_t len;	 /* of all regions */
	bool is_growing; /* a thread adds a region */
	bool has_failed; /* the pool does not grow any more */
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static char *map_pinned(const struct weft_dev_where *where, size_t len)
{
	char *base = mmap(NULL, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		return NULL;
	/* After a fork, the pages that the driver has pinned must remain those
	 * of this process. */
	if (!madvise(base, len, MADV_DONTFORK) &&
		weft_dev_pin(where, base, len)) {
		weft_log_debug(
			"DEV-PIN", "pinned %zu bytes of host memory", len);
		return base;
	}
	weft_log_debug("DEV-NOPIN",
		"%zu bytes of host memory cannot be pinned; copies of device "
		"memory use pageable memory",
		len);
	munmap(base, len);
	return NULL;
}

/* Returns the length of a new region with at least len bytes. 0: the pool
 * cannot grow, or another thread enlarges it. Lock held. */
static size_t region_len(size_t len)
{
	const size_t left = MAX - pool.len;

	if (pool.has_failed || pool.is_growing || len > left ||
		pool.n == MAX_REGIONS)
		return 0;
	len = weft_max(len, weft_max((size_t)FIRST, pool.len));
	return weft_min(weft_round_up(len, REGION_UNIT), left);
}

/* Adds a region with at least len bytes. Lock held; released while the driver
 * pins the region, because the driver may wait for kernels of the program. */
static bool grow_pool(const struct weft_dev_where *where, size_t len)
{
	char *base;

	len = region_len(len);
	if (!len)
		return false;
	pool.is_growing = true;
	pthread_mutex_unlock(&pool.lock);
	base = map_pinned(where, len);
	pthread_mutex_lock(&pool.lock);
	pool.is_growing = false;
	pool.has_failed = !base;
	if (!base)
		return false;
	pool.regions[pool.n++] =
		(struct pinned_region){ *where, base, len, NULL };
	pool.len += len;
	return true;
}

/* Finds the first gap of block->len bytes, and inserts the block. Lock held. */
static bool insert_block(
	struct pinned_region *region, struct pinned_block *block)
{
	struct pinned_block **link = &region->first;
	char *at = region->base;

	while (*link && (size_t)((*link)->at - at) < block->len) {
		at = (*link)->at + (*link)->len;
		link = &(*link)->next;
	}
	if (!*link && (size_t)(region->base + region->len - at) < block->len)
		return false;
	block->at = at;
	block->next = *link;
	*link = block;
	return true;
}

/* Lock held. */
static bool insert_anywhere(
	const struct weft_dev_where *where, struct pinned_block *block)
{
	bool is_done = false;

	for (int i = 0; !is_done && i < pool.n; i++)
		is_done = pool.regions[i].where.vendor == where->vendor &&
			  insert_block(&pool.regions[i], block);
	return is_done;
}

static void *alloc_block(const struct weft_dev_where *where, size_t len)
{
	struct pinned_block *block = malloc(sizeof(*block));
	bool is_done;

	if (!block)
		return NULL;
	block->len = weft_round_up(len, BLOCK_UNIT);
	pthread_mutex_lock(&pool.lock);
	is_done =
		insert_anywhere(where, block) ||
		(grow_pool(where, block->len) && insert_anywhere(where, block));
	pthread_mutex_unlock(&pool.lock);
	if (is_done)
		return block->at;
	free(block);
	return NULL;
}

void *weft_pinned_alloc(const struct weft_dev_where *where, size_t len)
{
	void *memory = len >= where->vendor->pin_min && len <= MAX
			       ? alloc_block(where, len)
			       : NULL;

	return memory ? memory : malloc(len);
}

/* Removes the block at this address. NULL: not in the region. Lock held. */
static struct pinned_block *remove_block(
	struct pinned_region *region, const void *at)
{
	struct pinned_block **link = &region->first;
	struct pinned_block *block;

	while (*link && (*link)->at != at)
		link = &(*link)->next;
	block = *link;
	if (block)
		*link = block->next;
	return block;
}

void weft_pinned_free(void *memory)
{
	struct pinned_block *block = NULL;

	if (!memory)
		return;
	pthread_mutex_lock(&pool.lock);
	for (int i = 0; !block && i < pool.n; i++)
		block = remove_block(&pool.regions[i], memory);
	pthread_mutex_unlock(&pool.lock);
	free(block ? block : memory);
}

void weft_pinned_close(void)
{
	pthread_mutex_lock(&pool.lock);
	for (int i = pool.n - 1; i >= 0; i--) {
		struct pinned_region *region = &pool.regions[i];

		/* a range that is unmapped while it is pinned would make later
		 * copies at its address access the wrong pages */
		if (region->first ||
			!weft_dev_unpin(&region->where, region->base))
			continue;
		munmap(region->base, region->len);
		pool.len -= region->len;
		*region = pool.regions[--pool.n];
	}
	pool.has_failed = false;
	pthread_mutex_unlock(&pool.lock);
}
