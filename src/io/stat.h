/* SPDX-License-Identifier: BSD-3-Clause */
/* stat: the counters that WEFT_IO_STATS prints when a file is closed
 *
 * They count for one file in this process. All functions accept NULL, which
 * counts nothing. Any thread. */
#ifndef WEFT_STAT_H
#define WEFT_STAT_H

#include "base/clock.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct weft_file;

enum weft_stat_kind {
	WEFT_STAT_READS, /* accesses of the program */
	WEFT_STAT_WRITES,
	WEFT_STAT_COLLECTIVE,	/* collective ones among these */
	WEFT_STAT_BYTES,	/* bytes of these */
	WEFT_STAT_RUNS,		/* runs of these, estimated from samples */
	WEFT_STAT_STRIDES,	/* distances between runs, in the samples */
	WEFT_STAT_STRIDE_BYTES, /* sum of these distances */
	WEFT_STAT_SYSTEM,	/* system calls that move data */
	WEFT_STAT_IO_NS,	/* time in these calls */
	WEFT_STAT_EXTRA,	/* bytes of gaps read with data sieving */
	WEFT_STAT_AROUND,	/* bytes of gaps read and written back */
	WEFT_STAT_BUFFERED,	/* accesses through aggregators */
	WEFT_STAT_WINDOWS,	/* windows that aggregators moved */
	WEFT_STAT_HOLES,	/* windows that they left to the members */
	WEFT_STAT_CB_NS,	/* time in buffered accesses */
	WEFT_STAT_CB_IO_NS,	/* time of these in system calls */
	WEFT_STAT_N,
};

struct weft_stat {
	_Atomic int64_t n[WEFT_STAT_N];
};

static inline void weft_stat_add(
	struct weft_stat *stat, enum weft_stat_kind kind, int64_t n)
{
	if (stat)
		atomic_fetch_add_explicit(
			&stat->n[kind], n, memory_order_relaxed);
}

static inline int64_t weft_stat_of(
	const struct weft_stat *stat, enum weft_stat_kind kind)
{
	return stat ? atomic_load_explicit(&stat->n[kind], memory_order_relaxed)
		    : 0;
}

/* The time now, for weft_stat_time(); 0 if stat is NULL. */
static inline uint64_t weft_stat_now(const struct weft_stat *stat)
{
	return stat ? weft_now_ns() : 0;
}

static inline void weft_stat_time(
	struct weft_stat *stat, enum weft_stat_kind kind, uint64_t since)
{
	if (stat)
		weft_stat_add(stat, kind, (int64_t)(weft_now_ns() - since));
}

/* Collective: rank 0 prints the sums of all members to standard error. */
void weft_stat_report(struct weft_file *file);

#endif
