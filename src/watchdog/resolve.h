/* SPDX-License-Identifier: BSD-3-Clause */
/* resolve: gathers the graph of waits, and sends verdicts to waits that can
 * never end
 *
 * LOOK     a wait that takes long asks the processes it waits for, over the
 *          default VCI, then the processes that these wait for, and so on.
 * NODE     the answer: the wait of that process and its edges. The picture is
 *          open there until CLOSE.
 * VERDICT  each process of a ring has it before any of them goes on (TAKEN):
 *          its call ends with an error.
 * CLOSE    ends every picture, with or without a verdict. A wait with a verdict
 *          goes on until no picture is open, so that a second ring through it
 *          is proven as well.
 *
 * The proof that only stuck waits end with an error, and all of a ring, is in
 * the room's page. */
#ifndef WEFT_RESOLVE_H
#define WEFT_RESOLVE_H

#include "transport/dispatch.h"
#include "watchdog/wait.h"

/* Begins to gather. False when there is nothing to gather; then the caller
 * makes the report. The wait's VCI's lock held, here and below. */
bool weft_resolve_start(struct weft_wait *wait);

/* True if a gatherer waits for the edges of this wait. */
bool weft_resolve_is_asked(const struct weft_wait *wait);

/* Answers gatherers, goes on gathering, and takes a verdict. */
void weft_resolve_round(struct weft_wait *wait, uint64_t now);

/* Takes the wait out of the registry. Sets wait->err if it has a verdict. */
void weft_resolve_end(struct weft_wait *wait);

weft_wire_fn weft_resolve_on_graph;

#endif
