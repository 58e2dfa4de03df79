/* SPDX-License-Identifier: BSD-3-Clause */
/* report: the warnings about a wait, and about a ring */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

#include "watchdog/graph.h"
#include "watchdog/wait.h"

/* Reports the wait's needs, and the calls of the missing processes, once per
 * wait. While each missing process waits itself or makes calls, the report is
 * deferred, up to four times WEFT_STALL_WARN. VCI's lock held. */
void weft_report_wait(struct weft_wait *wait);

/* Reports the ring of a wait that can never end, and sets the error's text
 * (wait->why). Modifies text. Its first line is a summary, which becomes the
 * error's text unless ops->explain() writes a sentence. Each further line is a
 * step. */
void weft_report_verdict(struct weft_wait *wait, char *text);

/* Reports the steps of all rings in a graph, with the message id step_id. A
 * last line for each ring has the message id `id` and ends with `why`. */
void weft_report_rings(const struct weft_graph *graph, const char *step_id,
	const char *id, const char *why);

/* Prints the text of a verdict for a node in a ring: a summary and the steps.
 */
void weft_report_ring(
	const struct weft_graph *graph, uint32_t node, char *buf, size_t len);

#endif
