/* SPDX-License-Identifier: BSD-3-Clause */
/* progress: the one progress function */
#ifndef WEFT_PROGRESS_H
#define WEFT_PROGRESS_H

struct weft_vci;

/* One round: rings, pending work, the fabric, the process manager; or what was
 * deferred (weft_vci_defer), which gives the lock up. Returns the number of
 * things that happened. Never blocks. VCI's lock held. */
int weft_progress(struct weft_vci *vci);

/* One round of a wait loop: progress, then, when nothing happened, give other
 * threads the lock and, after WEFT_SPIN empty rounds, other processes the core
 * (weft_sleep). The awaited event must arrive through the VCI; the caller
 * notices other events late. VCI's lock held before and after. */
void weft_progress_wait(struct weft_vci *vci);

/* The same for a caller that waits for a word of memory: nothing but messages
 * wakes it, and a sleep lasts a millisecond at most. */
void weft_progress_wait_word(struct weft_vci *vci);

/* The same for a caller that returns when nothing came: it sleeps for a moment
 * at most, and only where a yield takes longer. */
void weft_progress_try(struct weft_vci *vci);

#endif
