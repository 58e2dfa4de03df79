/* SPDX-License-Identifier: BSD-3-Clause */
/* stat: counts and times of the accesses to a file, reported when it is closed
 *
 * Several threads may access a file, so its counters (base/counter.def) are
 * incremented by weft_counter_add(). Times are counted only if all members have
 * WEFT_STATS=1: reading the clock twice costs a tenth of a short access. */
#ifndef WEFT_STAT_H
#define WEFT_STAT_H

#include "base/clock.h"
#include "io/file.h"

/* The time now in ns, for weft_stat_time(); 0 if times are not counted. */
static inline uint64_t weft_stat_now(const struct weft_file *file)
{
	return file->reports_stats ? weft_now_ns() : 0;
}

/* Adds the time since `since` to a counter, in ns. */
static inline void weft_stat_time(
	const struct weft_file *file, uint64_t *counter, uint64_t since)
{
	if (file->reports_stats)
		weft_counter_add(counter, (int64_t)(weft_now_ns() - since));
}

/* Counts a system call that moved data. */
static inline void weft_stat_call(struct weft_file *file, uint64_t since)
{
	weft_stat_time(file, &file->counters.file_call_ns, since);
	weft_counter_add(&file->counters.file_calls, 1);
}

/* The time in system calls so far, in ns. */
static inline int64_t weft_stat_call_ns(const struct weft_file *file)
{
	return (int64_t)__atomic_load_n(
		&file->counters.file_call_ns, __ATOMIC_RELAXED);
}

/* Collective. Rank 0 prints the sums of all members' counters to standard
 * error. */
void weft_stat_report(struct weft_file *file);

#endif
