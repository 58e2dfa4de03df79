/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_coll: the algorithm that the rules select for a collective */
#ifndef WEFT_TOOL_COLL_H
#define WEFT_TOOL_COLL_H

#include "tools/tool_report.h"

/* As on the command line; NULL: not given. */
struct weft_tool_coll {
	const char *operation, *size, *procs, *per_node, *fabric;
};

/* Says what is wrong with an argument on standard error: the exit code. */
int weft_tool_coll_show(struct weft_tool_report *report, const char *name,
	const struct weft_tool_coll *asked);

#endif
