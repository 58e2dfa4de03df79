/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_map: the file, the mapping and the layout of a segment */
#include "collshm/shm_coll.h"

#include "base/knob.h"
#include "shm/share.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

enum {
	MEMBERS_MAX = 512,   /* most members of a segment */
	SEGMENTS_MAX = 4096, /* most segments that a process maps */
	LARGE_MAX = 8,	    /* a process with this many segments gets no further
			       segment with a large area */
	ALL_LONG = 8 << 20, /* target for the sum of all members' areas for long
			       data, in bytes */
	LARGE = 512 << 10,  /* an area of this length exceeds the private cache
			       of a core */
	FEW_SLOTS = 64,	    /* slots of a member if no processes share cores */
};

static size_t shm_areas_at(int32_t n)
{
	return weft_round_up((size_t)n * sizeof(struct weft_coll_member), 4096);
}

/* The length of a segment. After the last area, there is space for the longest
 * data, because a reader may use a wrong offset from a slot. */
static size_t shm_len(const struct weft_coll_layout *layout)
{
	const size_t areas_len = WEFT_COLL_SHORT_LEN + layout->long_len;

	return shm_areas_at(layout->n) + (size_t)layout->n * areas_len +
	       WEFT_COLL_LONG_MAX;
}

/* Rounds down to whole parts, between the limits. */
uint32_t weft_shm_coll_valid_len(uint32_t len)
{
	len = weft_min(len, (uint32_t)WEFT_COLL_LONG_MOST);
	len = weft_max(len, (uint32_t)WEFT_COLL_LONG_LEAST);
	return len & ~(uint32_t)(WEFT_COLL_PART_LEN - 1);
}

/* Memory of a large area is allocated as it is used, in each communicator. To
 * limit this memory, only the first LARGE_MAX segments of a process have a
 * large area. */
uint32_t weft_shm_coll_long_len(int32_t n)
{
	if (!weft_proc.node.has_own_cache ||
		atomic_load_explicit(&weft_proc.n_coll_segs,
			memory_order_relaxed) >= LARGE_MAX)
		return WEFT_COLL_LONG_LEAST;
	return weft_shm_coll_valid_len(ALL_LONG / (uint32_t)n);
}

/* True if this process uses segments and may create or map one more. */
static bool shm_is_wanted(const struct weft_comm *comm, int32_t n)
{
	return comm->vci->shm && n <= MEMBERS_MAX && !weft_proc.is_blocking &&
	       !strcmp(weft_knobs.coll_shm, "on") &&
	       atomic_load_explicit(&weft_proc.n_coll_segs,
		       memory_order_relaxed) < SEGMENTS_MAX;
}

struct weft_coll_offer weft_shm_coll_offer(
	const struct weft_comm *comm, const struct weft_coll_layout *layout)
{
	struct weft_coll_offer offer = { 0, -1, 0 };
	int fd;

	if (shm_is_wanted(comm, layout->n) &&
		!weft_share_file(shm_len(layout), &fd))
		offer = (struct weft_coll_offer){ weft_share_owner(), fd,
			layout->long_len };
	return offer;
}

/* Returns an empty area, as if round `last` had used all its parts. */
static struct weft_coll_area shm_area(
	uint32_t base, uint32_t len, uint32_t part_len, uint32_t last)
{
	struct weft_coll_area area = {
		.base = base,
		.part_len = part_len,
		.n_parts = len / part_len,
		.at = base,
		.before = last,
		.is_large = len >= LARGE,
	};

	for (uint32_t i = 0; i < area.n_parts; i++)
		area.used[i] = last;
	return area;
}

/* Sets the number of slots and the areas. */
static void shm_set_areas(struct weft_coll_shm *shm,
	const struct weft_coll_layout *layout, uint32_t last)
{
	shm->areas_len = WEFT_COLL_SHORT_LEN + layout->long_len;
	shm->shares_cores = layout->shares_cores;
	shm->stores_past = weft_node_plan_stores_past(
		&weft_proc.node, weft_proc.node.is_one_cache);
	if (layout->shares_cores) {
		shm->n_slots = WEFT_COLL_SLOTS;
		shm->short_max = shm->areas_len;
		shm->areas[0] =
			shm_area(0, shm->areas_len, WEFT_COLL_PART_LEN, last);
		return;
	}
	shm->n_slots = FEW_SLOTS;
	shm->areas[0] =
		shm_area(0, WEFT_COLL_SHORT_LEN, WEFT_COLL_SHORT_MAX, last);
	shm->areas[1] = shm_area(WEFT_COLL_SHORT_LEN, layout->long_len,
		WEFT_COLL_PART_LEN, last);
	shm->short_max = shm->areas[1].is_large ? WEFT_WRITE_LONG - 1
						: WEFT_COLL_SHORT_MAX;
}

bool weft_shm_coll_map(struct weft_comm *comm,
	const struct weft_coll_offer *offer,
	const struct weft_coll_layout *layout)
{
	const size_t len = shm_len(layout);
	struct weft_coll_shm *shm;
	char *map;

	if (!offer->owner || !shm_is_wanted(comm, layout->n))
		return false;
	shm = calloc(1, sizeof(*shm));
	if (!shm || weft_share_map(offer->owner, offer->fd, 0, len, &map)) {
		free(shm);
		return false;
	}
	shm->members = (struct weft_coll_member *)map;
	shm->data = (uint8_t *)map + shm_areas_at(layout->n);
	shm->n = layout->n;
	shm->me = layout->me;
	shm->mine = &shm->members[shm->me];
	shm->reached = comm->coll.seq; /* the segment's first round */
	shm->last_all = comm->coll.seq - 1;
	shm_set_areas(shm, layout, comm->coll.seq - 1);
	comm->coll.shm = shm;
	comm->coll.map = map;
	comm->coll.map_len = len;
	atomic_fetch_add_explicit(
		&weft_proc.n_coll_segs, 1, memory_order_relaxed);
	weft_counter_add(&weft_proc.counters.segment_memory, (int64_t)len);
	return true;
}

void weft_shm_coll_unmap(struct weft_comm *comm)
{
	if (!comm->coll.map)
		return;
	weft_share_unmap(comm->coll.map, comm->coll.map_len);
	free(comm->coll.shm);
	comm->coll.map = NULL;
	comm->coll.shm = NULL;
	atomic_fetch_sub_explicit(
		&weft_proc.n_coll_segs, 1, memory_order_relaxed);
	weft_counter_add(&weft_proc.counters.segment_memory,
		-(int64_t)comm->coll.map_len);
}
