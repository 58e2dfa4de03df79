/* SPDX-License-Identifier: BSD-3-Clause */
/* progress: one round of progress, and the rounds of wait loops */
#ifndef WEFT_PROGRESS_H
#define WEFT_PROGRESS_H

struct weft_vci;

/* One round: rings, pending operations, the fabric, the process manager; or the
 * deferred calls (weft_vci_defer), which may release the lock. Returns the
 * number of events. Does not block, except in a deferred call. Returns 0 if it
 * is called from within a round. VCI's lock held. */
int weft_progress(struct weft_vci *vci);

/* One round of a wait loop. After a round without an event it releases the lock
 * for other threads and, after weft_proc.max_spin such rounds, yields the core
 * (weft_sleep). The awaited event must arrive through the VCI; the caller
 * notices other events late. VCI's lock held before and after. */
void weft_progress_wait(struct weft_vci *vci);

/* Like weft_progress_wait(), for a caller that waits for a word of memory. A
 * store does not wake the caller, so a sleep is short (weft_yield_sleep_ns). */
void weft_progress_wait_word(struct weft_vci *vci);

/* Like weft_progress_wait(), for a caller that returns to the program even
 * without an event. The thread sleeps only if its yields are costly, and only
 * briefly. */
void weft_progress_try(struct weft_vci *vci);

#endif
