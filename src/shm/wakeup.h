/* SPDX-License-Identifier: BSD-3-Clause */
/* wakeup: wakes a sleeping process of the node
 *
 * A wakeup is an unnamed pipe. Its owner sleeps in ppoll() on the reading end
 * of the pipe and on other descriptors. Other processes of the same user open
 * the pipe through /proc/PID/fd and write a byte. An eventfd cannot be opened
 * through /proc, and ppoll() cannot wait for a futex.
 *
 * A process that is about to sleep sets a flag in shared memory. Other
 * processes load the flag after they have stored a message, without a fence.
 * The sleeper orders both sides with weft_wakeup_fence(), polls once more, and
 * then sleeps. */
#ifndef WEFT_WAKEUP_H
#define WEFT_WAKEUP_H

#include <stdbool.h>
#include <stdint.h>

struct weft_wakeup {
	int rd, wr; /* the ends of the pipe; -1: no wakeup */
};

/* The address of a wakeup for other processes, in shared memory. All zero: no
 * wakeup. */
struct weft_wakeup_at {
	int32_t pid;
	int32_t fd;
	uint64_t ino; /* inode number of the pipe, to verify the descriptor */
};

/* Opens a wakeup. Returns false and sets both ends to -1 if the kernel does not
 * support the barrier of weft_wakeup_fence(), or no descriptor is left. The
 * process must then sleep for short times only. */
bool weft_wakeup_open(struct weft_wakeup *wakeup);
void weft_wakeup_close(struct weft_wakeup *wakeup);

/* Sets *at to the address of the wakeup, or to zero if there is no wakeup. */
void weft_wakeup_describe(
	const struct weft_wakeup *wakeup, struct weft_wakeup_at *at);

/* Opens the wakeup of another process, for weft_wakeup_signal(). The caller
 * closes the descriptor. Returns -1 if the wakeup no longer exists, or if the
 * kernel does not support the barrier of weft_wakeup_fence(). */
int weft_wakeup_find(const struct weft_wakeup_at *at);

/* Wakes the owner of the wakeup that fd refers to, now or at its next sleep. fd
 * may be -1. Any thread. */
void weft_wakeup_signal(int fd);

/* Reads all bytes of the pipe, so that the next sleep does not end immediately.
 */
void weft_wakeup_drain(const struct weft_wakeup *wakeup);

/* Executes a full memory barrier in every running thread of all processes that
 * have loaded this library. False if the kernel does not support this. */
bool weft_wakeup_fence(void);

#endif
