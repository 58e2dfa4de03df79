/* SPDX-License-Identifier: BSD-3-Clause */
/* yield: gives up the core in a wait loop, and measures what that costs
 *
 * Since Linux 6.18 (and 6.12.63) a thread that yields gives up the rest of its
 * time slice. Beside a thread that computes, each yield then lasts a slice of
 * that thread, some milliseconds. A short sleep lasts a tenth of one, because
 * the scheduler lets a thread that wakes up run soon.
 *
 * Each thread times one yield in eight, and all after one that took over a
 * millisecond. After three costly ones weft_yield() refuses for 100 ms, and the
 * caller sleeps instead. Then weft_yield() tries again: the next costly yield
 * doubles that time, up to 1.6 s, and 16 cheap ones in a row end that state.
 * Fewer than three costly yields, or with 16 cheap ones in between, prove
 * nothing: other users' processes preempt any thread now and then. */
#ifndef WEFT_YIELD_H
#define WEFT_YIELD_H

#include <stdbool.h>
#include <stdint.h>

/* Yields the core and returns true; or returns false at once, where this
 * thread's yields are costly: the caller is to sleep. */
bool weft_yield(void);

/* Whether this thread's last yields were costly. */
bool weft_yield_is_costly(void);

/* How long the n-th sleep of a wait is: 31 us to 1 ms. */
uint64_t weft_yield_sleep_ns(uint64_t n);

/* Gives up the core for the n-th time in a wait that nothing wakes: yields, or
 * sleeps where yields are costly or many of them did not help, as the thread
 * that is waited for may have a lower priority. */
void weft_yield_wait(uint64_t n);

#endif
