/* SPDX-License-Identifier: BSD-3-Clause */
/* stat: what WEFT_IO_STATS tells of a file when it is closed
 *
 * Counters of this process; NULL is accepted everywhere and counts nothing. Any
 * thread. */
#ifndef WEFT_STAT_H
#define WEFT_STAT_H

#include "base/clock.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct weft_file;

enum weft_stat_kind {
	WEFT_STAT_READS, /* calls of the program */
	WEFT_STAT_WRITES,
	WEFT_STAT_COLLECTIVE, /* of these */
	WEFT_STAT_BYTES,      /* asked for */
	WEFT_STAT_RUNS,	      /* in the file, from samples */
	WEFT_STAT_STRIDES,    /* from one to the next, in the samples */
	WEFT_STAT_STRIDE_BYTES,
	WEFT_STAT_SYSTEM, /* transfers by the kernel */
	WEFT_STAT_IO_NS,
	WEFT_STAT_EXTRA,    /* bytes read for the gaps between runs */
	WEFT_STAT_AROUND,   /* and written, around short runs */
	WEFT_STAT_BUFFERED, /* calls through aggregators */
	WEFT_STAT_WINDOWS,  /* they moved */
	WEFT_STAT_HOLES,    /* they left to the members */
	WEFT_STAT_CB_NS,    /* in such calls, waiting and kernel included */
	WEFT_STAT_CB_IO_NS, /* of these, in the kernel's transfers */
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

/* A time to be given to weft_stat_time(), or 0. */
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

/* Collective: the sums of all members, told by rank 0 on standard error. */
void weft_stat_report(struct weft_file *file);

#endif
