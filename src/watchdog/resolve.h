/* SPDX-License-Identifier: BSD-3-Clause */
/* resolve: the graph of who waits for whom, gathered; who waits for ever is
 * told
 *
 * LOOK     a wait that takes long asks those it waits for, by way of the
 *          default VCI, then those that these wait for, and so on.
 * NODE     the answer: its wait and the edges of it. The picture is open there
 *          until it is closed.
 * VERDICT  each process of a ring has it before any of them goes on (TAKEN):
 *          its call ends with an error.
 * CLOSE    ends every picture, whatever came of it. A wait with a verdict stays
 *          until none is open, so that another ring it is in is proven as well.
 *
 * Why this accuses nobody who is not stuck, and misses none of a ring, stands
 * in the room's page. */
#ifndef WEFT_RESOLVE_H
#define WEFT_RESOLVE_H

#include "transport/dispatch.h"
#include "watchdog/wait.h"

/* Begins to gather; false when nothing is to be seen that way: then the report
 * is the caller's. The wait's VCI's lock held, here and below. */
bool weft_resolve_start(struct weft_wait *wait);

/* Somebody wants to know what this wait is for. */
bool weft_resolve_is_asked(const struct weft_wait *wait);

/* Carries on what is under way; takes a verdict. */
void weft_resolve_round(struct weft_wait *wait, uint64_t now);

/* Takes the wait out of the registry. One with a verdict has its error. */
void weft_resolve_end(struct weft_wait *wait);

weft_wire_fn weft_resolve_on_graph;

#endif
