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
 * threads the lock and, after enough empty rounds, other processes the core:
 * with WEFT_WAIT=block the thread then sleeps until something comes through the
 * VCI. What the caller waits for must come that way, or it is late. Where a
 * cgroup's quota is too short for all to spin it sleeps for a millisecond at
 * most. VCI's lock held before and after. */
void weft_progress_wait(struct weft_vci *vci);

/* The same for a caller that returns when nothing came: never sleeps. */
void weft_progress_try(struct weft_vci *vci);

#endif
