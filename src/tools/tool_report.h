/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_report: facts in a tree, printed as text or as JSON
 *
 * One thread builds a report and prints it once. Names and texts are copied.
 * When out of memory, functions add nothing. NULL is accepted as a parent. */
#ifndef WEFT_TOOL_REPORT_H
#define WEFT_TOOL_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct weft_tool_report;

/* Returns an empty object; NULL when out of memory. */
struct weft_tool_report *weft_tool_report_create(void);

/* Frees the report and all parts. NULL is accepted. */
void weft_tool_report_destroy(struct weft_tool_report *report);

/* weft_tool_report_object() adds an empty object to its parent, and
 * weft_tool_report_list() an empty list. They are destroyed with the parent.
 * name is NULL if the parent is a list. A list of objects is printed as a
 * table, whose columns have the names of the first object's facts. */
struct weft_tool_report *weft_tool_report_object(
	struct weft_tool_report *parent, const char *name);
struct weft_tool_report *weft_tool_report_list(
	struct weft_tool_report *parent, const char *name);

/* These three add a fact to its parent: a formatted text, a number, or a flag
 * ("yes" or "no"). The unit of a number (NULL: none) is printed in text, not in
 * JSON. */
void weft_tool_report_text(struct weft_tool_report *parent, const char *name,
	const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void weft_tool_report_number(struct weft_tool_report *parent, const char *name,
	uint64_t number, const char *unit);
void weft_tool_report_flag(
	struct weft_tool_report *parent, const char *name, bool is_set);

/* Prints the report as text. If the report has several parts, each has a
 * heading. Facts are lines, and tables have aligned columns. The last column of
 * a table is wrapped at the width of the terminal, or at 100 columns. The
 * number UINT64_MAX is printed as "no limit". */
void weft_tool_report_print(const struct weft_tool_report *report, FILE *to);

/* Prints one JSON value and a newline. */
void weft_tool_report_print_json(
	const struct weft_tool_report *report, FILE *to);

#endif
