/* SPDX-License-Identifier: BSD-3-Clause */
/* sleep: who waits gives up its core until something comes */
#ifndef WEFT_SLEEP_H
#define WEFT_SLEEP_H

#include <stdint.h>

struct weft_vci;

/* WEFT_WAIT=block: sleeps until something comes through the VCI, or until it is
 * time to look for what nobody can wake us for; where processes sleep without
 * that (weft_proc.sleeps), for all. Returns at once when something is there
 * already. For weft_progress_wait() after an empty round. VCI's lock held
 * before and after, given up meanwhile. */
void weft_sleep(struct weft_vci *vci);

/* The same for who waits for a word of memory that others just store to: the
 * n-th such sleep in vain is up to a millisecond long. */
void weft_sleep_briefly(struct weft_vci *vci, uint64_t n);

/* Also without WEFT_WAIT=block, for a thread of ours that makes progress where
 * the program's computes: until somebody else does, at most a millisecond when
 * it is the n-th such sleep in vain. Same lock. */
void weft_sleep_aside(struct weft_vci *vci, uint64_t n);

#endif
