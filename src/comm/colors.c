/* SPDX-License-Identifier: BSD-3-Clause */
/* colors: the table of a split
 *
 * Each run is as long as possible, so each run of a color except the last has
 * two members or more. This limits the length of a table. */
#include "comm/colors.h"

#include "base/bits.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

/* A member with a color of 0 or more. */
struct colored {
	int64_t color;
	int32_t key;
	uint32_t rank;
};

/* The members of one side, sorted. */
struct sorted {
	struct colored *members;
	uint32_t n, next;
};

struct weft_color_record weft_color_record(int64_t color, int32_t key)
{
	return (struct weft_color_record){
		.color_low = (uint32_t)color,
		.color_high = (int32_t)(color >> 32),
		.key = key,
	};
}

size_t weft_colors_len_max(uint32_t n, uint32_t n_remote)
{
	uint64_t n_colors = n, n_shared = n < n_remote ? n : n_remote;
	/* m members of a color have at most (m + 1) / 2 runs */
	uint64_t n_runs = (n + n_colors) / 2 + (n_remote + n_shared) / 2;

	return n_colors * sizeof(struct weft_color_head) +
	       n_runs * sizeof(struct weft_color_run);
}

static int colored_order(const void *a_void, const void *b_void)
{
	const struct colored *a = a_void, *b = b_void;

	if (a->color != b->color)
		return a->color < b->color ? -1 : 1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int colored_sort(struct weft_color_side side, struct sorted *sorted_out)
{
	struct sorted sorted = { 0 };

	sorted.members = malloc(side.n * sizeof(*sorted.members) + 1);
	if (!sorted.members)
		return WEFT_ERR_NOMEM;
	for (uint32_t i = 0; i < side.n; i++) {
		const struct weft_color_record *r = &side.records[i];

		if (r->color_high < 0)
			continue;
		sorted.members[sorted.n++] = (struct colored){
			.color = (int64_t)r->color_high << 32 | r->color_low,
			.key = r->key,
			.rank = i,
		};
	}
	qsort(sorted.members, sorted.n, sizeof(*sorted.members), colored_order);
	*sorted_out = sorted;
	return 0;
}

/* Appends the runs of the next members, if they have this color. Skips members
 * with lower colors. Returns the number of runs. */
static uint32_t append_color(
	struct sorted *from, int64_t color, char *table, size_t *len)
{
	struct weft_color_run run = { 0 };
	uint32_t n_runs = 0;

	while (from->next < from->n && from->members[from->next].color < color)
		from->next++;
	for (; from->next < from->n; from->next++) {
		const struct colored *m = &from->members[from->next];
		int64_t step = (int64_t)m->rank - run.first;

		if (m->color != color)
			break;
		if (run.n == 1)
			run.stride = (int32_t)step;
		if (run.n && step == (int64_t)run.stride * run.n) {
			run.n++;
		} else {
			run = (struct weft_color_run){ m->rank, 1, 1 };
			n_runs++;
			*len += sizeof(run);
		}
		memcpy(table + *len - sizeof(run), &run, sizeof(run));
	}
	return n_runs;
}

int weft_colors_make(struct weft_color_side local,
	struct weft_color_side remote, char *table, size_t *len_out)
{
	struct sorted mine, theirs;
	size_t len = 0;
	int err = colored_sort(local, &mine);

	if (err)
		return err;
	err = colored_sort(remote, &theirs);
	if (err) {
		free(mine.members);
		return err;
	}
	while (mine.next < mine.n) {
		int64_t color = mine.members[mine.next].color;
		struct weft_color_head head;
		char *at = table + len;

		len += sizeof(head);
		head.n_runs = append_color(&mine, color, table, &len);
		head.n_remote_runs = append_color(&theirs, color, table, &len);
		memcpy(at, &head, sizeof(head));
	}
	free(mine.members);
	free(theirs.members);
	*len_out = len;
	return 0;
}

/* ---- reading ---- */

static struct weft_color_run color_run(const char *runs, uint32_t i)
{
	struct weft_color_run run;

	memcpy(&run, runs + i * sizeof(run), sizeof(run));
	return run;
}

static uint64_t block_len(const struct weft_color_block *block)
{
	uint64_t n_runs =
		(uint64_t)block->head.n_runs + block->head.n_remote_runs;

	return sizeof(block->head) + n_runs * sizeof(struct weft_color_run);
}

/* Reads the block at an offset. False after the last block, and if the block is
 * malformed. */
static bool block_read(const char *table, size_t len, size_t at,
	struct weft_color_block *block)
{
	if (len - at < sizeof(block->head))
		return false;
	memcpy(&block->head, table + at, sizeof(block->head));
	if (block_len(block) > len - at)
		return false;
	block->runs = table + at + sizeof(block->head);
	block->remote_runs =
		block->runs +
		(size_t)block->head.n_runs * sizeof(struct weft_color_run);
	return true;
}

/* True if the run has a rank from first to end - 1. */
static bool run_meets(struct weft_color_run run, int64_t first, int64_t end)
{
	int64_t stride = run.stride, low = run.first, skipped = 0;

	if (!run.n || !stride)
		return false;
	if (stride < 0) {
		low += stride * ((int64_t)run.n - 1);
		stride = -stride;
	}
	if (low < first)
		skipped = (first - low + stride - 1) / stride;
	return skipped < run.n && low + skipped * stride < end;
}

static bool block_meets(
	const struct weft_color_block *block, uint32_t first, uint32_t end)
{
	for (uint32_t i = 0; i < block->head.n_runs; i++)
		if (run_meets(color_run(block->runs, i), first, end))
			return true;
	return false;
}

size_t weft_colors_part(
	const char *table, size_t len, uint32_t first, uint32_t end, char *part)
{
	struct weft_color_block block;
	size_t at = 0, part_len = 0;

	for (; block_read(table, len, at, &block); at += block_len(&block)) {
		if (!block_meets(&block, first, end))
			continue;
		if (part)
			memcpy(part + part_len, table + at, block_len(&block));
		part_len += block_len(&block);
	}
	return part_len;
}

int weft_colors_find(const char *table, size_t len, uint32_t rank,
	struct weft_color_block *block_out)
{
	struct weft_color_block block;
	size_t at = 0;

	for (; block_read(table, len, at, &block); at += block_len(&block))
		if (block_meets(&block, rank, rank + 1)) {
			*block_out = block;
			return 0;
		}
	return weft_err_set(WEFT_ERR_PROTO,
		"the table of a split from another process has no color of "
		"rank %u",
		rank);
}

/* The members of the runs, or 0 if they are malformed: there are more than
 * `size`, or a rank is not below `size`. */
static uint32_t runs_size(const char *runs, uint32_t n_runs, uint32_t size)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < n_runs; i++) {
		struct weft_color_run run = color_run(runs, i);
		int64_t last =
			run.first + (int64_t)run.stride * ((int64_t)run.n - 1);

		n += run.n;
		if (!run.n || run.first >= size || last < 0 || last >= size ||
			n > size)
			return 0;
	}
	return (uint32_t)n;
}

/* Creates the group from a list of all members, and checks that no member
 * appears twice. */
static int group_of_members(const char *runs, uint32_t n_runs, uint32_t size,
	const struct weft_group *from, struct weft_group **group_out)
{
	uint64_t *procs = malloc(size * sizeof(*procs) + 1);
	uint32_t n = 0;
	int err;

	if (!procs)
		return WEFT_ERR_NOMEM;
	for (uint32_t i = 0; i < n_runs; i++) {
		struct weft_color_run run = color_run(runs, i);

		for (uint32_t k = 0; k < run.n; k++) {
			int64_t rank = run.first + (int64_t)run.stride * k;

			procs[n++] = weft_group_proc(from, (uint32_t)rank);
		}
	}
	err = weft_group_create(procs, n, group_out);
	free(procs);
	return err;
}

/* True if each run lies after the one before, so that no rank appears twice. */
static bool runs_ascend(const char *runs, uint32_t n_runs)
{
	int64_t end = -1;

	for (uint32_t i = 0; i < n_runs; i++) {
		struct weft_color_run run = color_run(runs, i);
		int64_t first = run.first;
		int64_t last = first + (int64_t)run.stride * (run.n - 1);

		if (!run.stride || weft_min64(first, last) <= end)
			return false;
		end = first < last ? last : first;
	}
	return true;
}

/* Creates the group from the runs, whatever the number of members is. */
static int group_of_runs(const char *runs, uint32_t n_runs,
	const struct weft_group *from, struct weft_group **group_out)
{
	struct weft_rank_range *ranges = malloc(n_runs * sizeof(*ranges) + 1);
	int err;

	if (!ranges)
		return WEFT_ERR_NOMEM;
	for (uint32_t i = 0; i < n_runs; i++) {
		struct weft_color_run run = color_run(runs, i);

		ranges[i] = (struct weft_rank_range){ run.first, run.stride,
			run.n };
	}
	err = weft_group_create_ranges(from, ranges, n_runs, group_out);
	free(ranges);
	return err;
}

int weft_colors_group(const char *runs, uint32_t n_runs,
	const struct weft_group *from, struct weft_group **group_out)
{
	uint32_t size = runs_size(runs, n_runs, from->size);

	if (n_runs && !size)
		return weft_err_set(WEFT_ERR_PROTO,
			"the %u runs of a color from another process are "
			"malformed",
			n_runs);
	if (runs_ascend(runs, n_runs))
		return group_of_runs(runs, n_runs, from, group_out);
	return group_of_members(runs, n_runs, size, from, group_out);
}

uint32_t weft_colors_first(const char *runs)
{
	return color_run(runs, 0).first;
}
