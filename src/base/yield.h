/* SPDX-License-Identifier: BSD-3-Clause */
/* yield: gives up the core in a wait loop, and measures what that costs
 *
 * Since Linux 6.18 (and 6.12.63) a thread that yields gives up the rest of its
 * time slice. If another thread computes on the core, each yield then lasts a
 * time slice of that thread, some milliseconds. A short sleep lasts a tenth of
 * a slice, because the scheduler soon runs a thread that wakes up.
 *
 * Each thread times one yield in eight, and every yield after one that took
 * over a millisecond. After three costly ones weft_yield() refuses for 100 ms,
 * and the caller sleeps instead. Then weft_yield() tries again: the next costly
 * yield doubles that time, up to 1.6 s, and 16 cheap ones in a row end that
 * state. Fewer than three costly yields prove nothing, because other users'
 * processes preempt any thread now and then. */
#ifndef WEFT_YIELD_H
#define WEFT_YIELD_H

#include <stdbool.h>
#include <stdint.h>

/* Yields the core and returns true. Returns false immediately if this thread's
 * yields are costly: the caller must sleep instead. */
bool weft_yield(void);

/* True if this thread's last yields were costly. */
bool weft_yield_is_costly(void);

/* Duration of the n-th sleep of a wait: 31 us to 1 ms. */
uint64_t weft_yield_sleep_ns(uint64_t n);

/* Gives up the core for the n-th time in a wait that has no wakeup. The
 * function yields. It sleeps if yields are costly, or after many yields,
 * because the awaited thread may have a lower priority. */
void weft_yield_wait(uint64_t n);

#endif
