/* SPDX-License-Identifier: BSD-3-Clause */
/* yield: yields the core in a wait loop, and measures the cost of yields
 *
 * Since Linux 6.18 (and 6.12.63) a thread that yields loses the rest of its
 * time slice. If another thread computes on the core, each yield then lasts a
 * time slice of that thread, some milliseconds. A short sleep lasts a tenth of
 * a slice, because the scheduler soon runs a thread that wakes up.
 *
 * A yield that takes a millisecond or more is costly. Each thread times one
 * yield in eight, and every yield after a costly one. After three costly
 * yields, weft_yield() returns false for 100 ms, and the caller sleeps instead.
 * Then weft_yield() yields again. Each further costly yield doubles this time,
 * up to 0.4 s. After 16 consecutive cheap yields, the count of costly yields
 * restarts at 0. Fewer than three costly yields prove nothing, because other
 * users' processes preempt any thread now and then.
 *
 * If at least 32 processes of the job share each core, no yield is costly. Then
 * a yield lasts a turn of all of them, which may take milliseconds. Sleeps are
 * not faster, even beside threads that compute.
 */
#ifndef WEFT_YIELD_H
#define WEFT_YIELD_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the number of processes of the job for each core; before, it is 1. */
void weft_yield_set_sharers(unsigned long n);

/* Yields the core and returns true. Returns false immediately if this thread's
 * yields are costly: the caller must sleep instead. */
bool weft_yield(void);

/* True if this thread's last yields were costly. */
bool weft_yield_is_costly(void);

/* Returns the duration of the n-th sleep of a wait that must poll: 31 us at
 * first, later an eighth of all earlier sleeps, 8 ms at most. */
uint64_t weft_yield_sleep_ns(uint64_t n);

/* Yields or sleeps, for the n-th time in a wait that has no wakeup. Sleeps if
 * yields are costly. Also sleeps after many yields, because the awaited thread
 * may have a lower priority. */
void weft_yield_wait(uint64_t n);

#endif
