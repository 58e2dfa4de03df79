/* SPDX-License-Identifier: BSD-3-Clause */
/* report: the warnings about a wait, and about a ring */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

#include "watchdog/graph.h"
#include "watchdog/wait.h"

/* Reports, once per wait, its needs and the calls of the missing processes.
 * VCI's lock held. */
void weft_report_wait(struct weft_wait *wait);

/* Reports the ring of a wait that can never end. The first line of text is a
 * summary, which becomes the text of the error. Each further line is a step. */
void weft_report_verdict(struct weft_wait *wait, char *text);

/* Reports the steps of all rings in a graph; `why` is appended to the last line
 * of each. */
void weft_report_rings(const struct weft_graph *graph, const char *step_id,
	const char *id, const char *why);

/* Prints the text of a verdict for a node in a ring: a summary and the steps.
 */
void weft_report_ring(
	const struct weft_graph *graph, uint32_t node, char *buf, size_t len);

#endif
