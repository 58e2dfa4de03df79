/* SPDX-License-Identifier: BSD-3-Clause */
/* wakeup: wakes a process of my node that sleeps
 *
 * A wakeup is an unnamed pipe. Its owner sleeps on the reading end, together
 * with whatever else may wake it; others of the same user open it through
 * /proc/PID/fd and write a byte. An eventfd cannot be opened that way, and a
 * futex cannot be waited for together with a fabric's descriptor.
 *
 * Who is about to sleep says so in memory that the others look at after they
 * have stored something for it. They do so without a fence: the sleeper pays
 * for both sides with weft_wakeup_fence(), looks once more, and only then
 * sleeps. */
#ifndef WEFT_WAKEUP_H
#define WEFT_WAKEUP_H

#include <stdbool.h>
#include <stdint.h>

struct weft_wakeup {
	int rd, wr; /* -1: there is none */
};

/* Where it hangs, as others need to know; all zero: nowhere. In shared
 * memory. */
struct weft_wakeup_at {
	int32_t pid;
	int32_t fd;
	uint64_t ino; /* so that nothing else is written to */
};

/* Makes a wakeup. False, with both ends -1, where the kernel cannot order other
 * processes' memory (membarrier) or has no descriptor left: then nobody may
 * sleep for long. */
bool weft_wakeup_open(struct weft_wakeup *wakeup);
void weft_wakeup_close(struct weft_wakeup *wakeup);

/* How to find it. */
void weft_wakeup_describe(
	const struct weft_wakeup *wakeup, struct weft_wakeup_at *at);

/* A descriptor to signal somebody's wakeup with, for the caller to close; -1
 * when there is no such wakeup any more. The calling process takes part in
 * fences from now on. */
int weft_wakeup_find(const struct weft_wakeup_at *at);

/* Wakes whoever sleeps there, now or the next time. fd may be -1. Any thread.
 */
void weft_wakeup_signal(int fd);

/* Forgets that it was signalled. */
void weft_wakeup_drain(const struct weft_wakeup *wakeup);

/* All that this process and those that found a wakeup stored before is seen by
 * each other's loads afterwards. False where it cannot be had. */
bool weft_wakeup_fence(void);

#endif
