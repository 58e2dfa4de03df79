/* SPDX-License-Identifier: BSD-3-Clause */
/* sleep: a thread that waits gives up its core until something comes */
#ifndef WEFT_SLEEP_H
#define WEFT_SLEEP_H

#include <stdint.h>

struct weft_vci;

/* The kind of wait decides how long the thread may sleep. */
enum weft_sleep_kind {
	/* It waits for what comes through the VCI. */
	WEFT_SLEEP_MESSAGE,
	/* It waits for a word of memory that others just store to: nothing
	 * wakes it for that. A millisecond at most. */
	WEFT_SLEEP_WORD,
	/* It returns to the program, which will call again. A moment, and only
	 * where yields are costly. */
	WEFT_SLEEP_TRY,
	/* It must not keep the core from others: it never yields. A millisecond
	 * at most. */
	WEFT_SLEEP_ALWAYS,
};

/* Gives up the core after the n-th empty round of progress of a wait: every
 * wait of the library that may take messages meanwhile ends here, once it has
 * polled in vain. The thread yields; it sleeps with WEFT_WAIT=block, where the
 * quota of a cgroup is short (weft_proc.sleeps), and where its yields are
 * costly (base/yield.h). A sleep ends when something comes through the VCI, or
 * when it is time to poll for what wakes nobody. Returns at once when something
 * has come already. VCI's lock held before and after, given up meanwhile. */
void weft_sleep(struct weft_vci *vci, uint64_t n, enum weft_sleep_kind kind);

#endif
