/* SPDX-License-Identifier: BSD-3-Clause */
/* colors: the table of a split
 *
 * Rank 0 makes the table from the colors and keys of all members. The table has
 * one block for each color: the ranks with this color on both sides of the
 * communicator, in the order of the new communicator, as runs. So it is short
 * if the colors and keys are regular. The members send each subtree the blocks
 * of its colors only. The functions do not block and acquire no lock. */
#ifndef WEFT_COLORS_H
#define WEFT_COLORS_H

#include "core/group.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The color and the key of a member, as sent. */
struct weft_color_record {
	uint32_t color_low;
	int32_t color_high;
	int32_t key;
};

_Static_assert(sizeof(struct weft_color_record) == 12, "sent as it is");

/* The ranks first, first + stride, ... */
struct weft_color_run {
	uint32_t first;
	int32_t stride; /* never 0 */
	uint32_t n;
};

_Static_assert(sizeof(struct weft_color_run) == 12, "sent as it is");

/* The head of a block. The runs of the local group follow, then those of the
 * remote group. */
struct weft_color_head {
	uint32_t n_runs;
	uint32_t n_remote_runs;
};

_Static_assert(sizeof(struct weft_color_head) == 8, "sent as it is");

/* A block of a table. The pointers are into the table. */
struct weft_color_block {
	struct weft_color_head head;
	const char *runs; /* of struct weft_color_run, not aligned */
	const char *remote_runs;
};

/* The records of one side of a communicator, by rank. */
struct weft_color_side {
	const struct weft_color_record *records;
	uint32_t n;
};

struct weft_color_record weft_color_record(int64_t color, int32_t key);

/* The most bytes of a table. */
size_t weft_colors_len_max(uint32_t n, uint32_t n_remote);

/* Makes the table in `table`, which has space for weft_colors_len_max(). No
 * member with a color below 0 is in it. remote.n is 0 for an intracommunicator.
 * 0 or WEFT_ERR_NOMEM. */
int weft_colors_make(struct weft_color_side local,
	struct weft_color_side remote, char *table, size_t *len_out);

/* Copies the blocks with a member of the local group from rank `first` to `end`
 * - 1 to part, which has space for the whole table. NULL: only computes the
 * length. Returns the length. */
size_t weft_colors_part(const char *table, size_t len, uint32_t first,
	uint32_t end, char *part);

/* Finds the block of a rank of the local group. The table may come from another
 * process: WEFT_ERR_PROTO if the table has no such block. */
int weft_colors_find(const char *table, size_t len, uint32_t rank,
	struct weft_color_block *block_out);

/* Creates the group of the members of `from` in the runs. The runs may come
 * from another process: WEFT_ERR_PROTO if they are malformed. Or WEFT_ERR_NOMEM
 * or WEFT_ERR_RANK. The caller owns one reference. */
int weft_colors_group(const char *runs, uint32_t n_runs,
	const struct weft_group *from, struct weft_group **group_out);

/* The first rank in the runs, of which there is at least one. */
uint32_t weft_colors_first(const char *runs);

#endif
