/* SPDX-License-Identifier: BSD-3-Clause */
/* report: the warnings about a wait, and about a ring */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

#include "watchdog/graph.h"
#include "watchdog/wait.h"

/* Reports once what a wait needs, and what the missing processes do. VCI's lock
 * held. */
void weft_report_wait(struct weft_wait *wait);

/* The wait can never end. Reports the ring; the first line of text is a
 * summary, which becomes the text of the error, and each further line is a
 * step. */
void weft_report_verdict(struct weft_wait *wait, char *text);

/* Reports the steps of all rings in a graph; `why` ends the last line. */
void weft_report_rings(const struct weft_graph *graph, const char *step_id,
	const char *id, const char *why);

/* The text of a verdict for a node in a ring: summary and steps. */
void weft_report_ring(
	const struct weft_graph *graph, uint32_t node, char *buf, size_t len);

#endif
