/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_coll: the algorithm that a collective uses, and the rule that chose it
 */
#ifndef WEFT_TOOL_COLL_H
#define WEFT_TOOL_COLL_H

#include "tools/tool_report.h"

/* Options of the command line; NULL: not given. */
struct weft_tool_coll {
	const char *operation, *size, *procs, *per_node, *fabric, *network;
};

/* Adds an object of this name to the report: the algorithm that the collective
 * uses, the rule that selects it, and the other candidates. Returns 0, or the
 * exit status 2 after a message about an invalid argument. */
int weft_tool_coll_show(struct weft_tool_report *report, const char *name,
	const struct weft_tool_coll *asked);

#endif
