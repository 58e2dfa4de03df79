/* SPDX-License-Identifier: BSD-3-Clause */
/* resolve: gathers the graph of waits, and sends verdicts to waits that can
 * never end
 *
 * QUERY    A long wait (the gatherer) queries the processes that it waits for,
 *          over the default VCI, then the processes that these wait for, and so
 *          on.
 * NODE     The answer: the wait of that process and its edges. The snapshot is
 *          open there until CLOSE.
 * VERDICT  The call of a process in a ring ends with an error. Each process
 *          acknowledges the verdict (ACK). Each process of the ring has
 *          received the verdict before one of them continues.
 * CLOSE    Closes a snapshot, with or without a verdict. While a snapshot is
 *          open at a wait with a verdict, the wait does not end (for two
 *          seconds at most). So a second ring through this wait is proven as
 *          well.
 *
 * README.md proves that only stuck waits end with an error, and that every wait
 * of a ring ends with an error. */
#ifndef WEFT_RESOLVE_H
#define WEFT_RESOLVE_H

#include "transport/dispatch.h"
#include "watchdog/wait.h"

/* Starts to gather the graph for a wait. Returns false if no graph is gathered;
 * the caller then reports the wait. The lock of the wait's VCI is held, here
 * and below. */
bool weft_resolve_start(struct weft_wait *wait);

/* True if a gatherer waits for the edges of this wait. */
bool weft_resolve_is_asked(const struct weft_wait *wait);

/* One round: answers gatherers, continues to gather, and handles a verdict. */
void weft_resolve_round(struct weft_wait *wait, uint64_t now);

/* Removes the wait from the registry. Sets wait->err if it has a verdict. Tells
 * the gatherers that wait for its edges that it has ended. */
void weft_resolve_end(struct weft_wait *wait);

weft_wire_fn weft_resolve_on_graph;

#endif
