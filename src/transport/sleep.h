/* SPDX-License-Identifier: BSD-3-Clause */
/* sleep: a waiting thread releases its core until an event arrives */
#ifndef WEFT_SLEEP_H
#define WEFT_SLEEP_H

#include <stdint.h>

struct weft_vci;

/* The kind of wait decides how long the thread may sleep. */
enum weft_sleep_kind {
	/* The thread waits for messages of the VCI. */
	WEFT_SLEEP_MESSAGE,
	/* The thread waits for a word of memory that other processes store to.
	 * A store does not wake it, so its sleeps are short
	 * (weft_yield_sleep_ns). Messages end only the longer ones. */
	WEFT_SLEEP_WORD,
	/* The call returns to the program, which will call again. The thread
	 * sleeps briefly, and only where yields are costly. */
	WEFT_SLEEP_TRY,
	/* Other threads need the core. The thread does not yield, but sleeps
	 * for a short time (weft_yield_sleep_ns). */
	WEFT_SLEEP_ALWAYS,
};

/* Releases the core after the n-th empty round of progress of a wait. Every
 * wait that makes progress calls this function after an empty round. The thread
 * yields; it sleeps with WEFT_WAIT=block, where the quota of a cgroup is short
 * (weft_proc.sleeps), and where its yields are costly (base/yield.h). A sleep
 * ends when a message arrives on the VCI, or when events that wake no thread
 * must be polled. Returns immediately if a message has already arrived. The
 * VCI's lock is held before and after, and released during the sleep. */
void weft_sleep(struct weft_vci *vci, uint64_t n, enum weft_sleep_kind kind);

/* Sets the function that each weft_sleep() calls at its end, with its duration
 * and with the VCI's lock held; NULL: none. The profile uses it. */
typedef void weft_slept_fn(uint64_t ns);
void weft_sleep_on_slept(weft_slept_fn *fn);

#endif
