/* SPDX-License-Identifier: BSD-3-Clause */
/* chase: the messages that look for a ring of waits
 *
 * What cycle.h decides, carried. A wait that takes long sends a chase along all
 * it waits for; a process that a chase comes to looks for the waits it is about
 * and sends it on. What comes over another lane than the wait's is left with
 * the wait as a note. */
#ifndef WEFT_CHASE_H
#define WEFT_CHASE_H

#include "core/dispatch.h"
#include "session/blocked.h"

/* Looks for rings that this wait is part of. Its lane's lock held, here and
 * below. */
void weft_chase_start(const struct weft_blocked *blocked);

/* Takes up what was left with this wait. */
void weft_chase_read(struct weft_blocked *blocked);

/* The wait, part of a ring, ends with an error. */
void weft_chase_condemn(struct weft_blocked *blocked);

/* The wait is over and no longer among the others. One that was marked has its
 * error. */
void weft_chase_end(struct weft_blocked *blocked);

weft_wire_fn weft_chase_on_chase;

#endif
