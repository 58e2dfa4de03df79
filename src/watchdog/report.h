/* SPDX-License-Identifier: BSD-3-Clause */
/* report: what is said of a wait, and of a ring */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

#include "watchdog/graph.h"
#include "watchdog/wait.h"

/* Says once what a wait is for and what those it waits for are in. VCI's lock
 * held. */
void weft_report_wait(struct weft_wait *wait);

/* The wait can never end: says the ring, whose steps stand line by line in
 * text behind a first one in brief, and keeps that as the reason of the error.
 */
void weft_report_verdict(struct weft_wait *wait, char *text);

/* The steps of the rings that are marked in a graph; why nothing is done. */
void weft_report_rings(const struct weft_graph *graph, const char *step_id,
	const char *id, const char *why);

/* The first line of the above, and the steps, for a node in a ring. */
void weft_report_ring(
	const struct weft_graph *graph, uint32_t node, char *buf, size_t len);

#endif
