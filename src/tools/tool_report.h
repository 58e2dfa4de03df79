/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_report: facts in a tree, to be printed for people or as JSON
 *
 * Made by one thread, printed once. Names and texts are copied. Where memory is
 * short nothing is added, and NULL as a parent is accepted. */
#ifndef WEFT_TOOL_REPORT_H
#define WEFT_TOOL_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct weft_tool_report;

/* An empty object; NULL when memory is short. */
struct weft_tool_report *weft_tool_report_create(void);

/* With everything in it. NULL is accepted. */
void weft_tool_report_destroy(struct weft_tool_report *report);

/* Something with names in it, or a list; destroyed with its parent. name is
 * NULL in a list. A list of objects that have the same names is a table. */
struct weft_tool_report *weft_tool_report_object(
	struct weft_tool_report *parent, const char *name);
struct weft_tool_report *weft_tool_report_list(
	struct weft_tool_report *parent, const char *name);

/* Facts. The unit of a number (NULL: none) is for people. */
void weft_tool_report_text(struct weft_tool_report *parent, const char *name,
	const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void weft_tool_report_number(struct weft_tool_report *parent, const char *name,
	uint64_t number, const char *unit);
void weft_tool_report_flag(
	struct weft_tool_report *parent, const char *name, bool is_set);

/* For people: what is in report, part by part, below their names if there are
 * several; facts as lines, tables with aligned columns. The largest number of
 * all means that there is no limit. */
void weft_tool_report_print(const struct weft_tool_report *report, FILE *to);

/* As one JSON value and a newline. */
void weft_tool_report_print_json(
	const struct weft_tool_report *report, FILE *to);

#endif
