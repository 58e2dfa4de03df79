/* SPDX-License-Identifier: BSD-3-Clause */
/* bell: wakes a process of my node that sleeps
 *
 * A bell is an unnamed pipe. Its owner sleeps on the reading end, together
 * with whatever else may wake it; others of the same user open it through
 * /proc/PID/fd and write a byte. An eventfd cannot be opened that way, and a
 * futex cannot be waited for together with a fabric's descriptor.
 *
 * Who is about to sleep says so in memory that the others look at after they
 * have stored something for it. They do so without a fence: the sleeper pays
 * for both sides with weft_bell_fence(), looks once more, and only then
 * sleeps. */
#ifndef WEFT_BELL_H
#define WEFT_BELL_H

#include <stdbool.h>
#include <stdint.h>

struct weft_bell {
	int rd, wr; /* -1: there is none */
};

/* Where it hangs, as others need to know; all zero: nowhere. In shared
 * memory. */
struct weft_bell_at {
	int32_t pid;
	int32_t fd;
	uint64_t ino; /* so that nothing else is written to */
};

/* Makes a bell. False, with both ends -1, where the kernel cannot order other
 * processes' memory (membarrier) or has no descriptor left: then nobody may
 * sleep for long. */
bool weft_bell_open(struct weft_bell *bell);
void weft_bell_close(struct weft_bell *bell);

/* How to find it. */
void weft_bell_describe(const struct weft_bell *bell, struct weft_bell_at *at);

/* A descriptor to ring somebody's bell with, for the caller to close; -1 when
 * there is no such bell any more. The calling process takes part in fences
 * from now on. */
int weft_bell_find(const struct weft_bell_at *at);

/* Wakes whoever sleeps there, now or the next time. fd may be -1. Any thread.
 */
void weft_bell_ring(int fd);

/* Forgets that it was rung. */
void weft_bell_quiet(const struct weft_bell *bell);

/* All that this process and those that found a bell stored before is seen by
 * each other's loads afterwards. False where it cannot be had. */
bool weft_bell_fence(void);

#endif
