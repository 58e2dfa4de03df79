/* SPDX-License-Identifier: BSD-3-Clause */
/* clock: monotonic time in nanoseconds */
#ifndef WEFT_CLOCK_H
#define WEFT_CLOCK_H

#include <stdint.h>
#include <time.h>

#define WEFT_NS_PER_S 1000000000ull

/* Monotonic time in nanoseconds since an arbitrary start. A call takes about 20
 * ns. */
static inline uint64_t weft_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * WEFT_NS_PER_S + (uint64_t)ts.tv_nsec;
}

#endif
