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

/* An empty object; NULL when out of memory. */
struct weft_tool_report *weft_tool_report_create(void);

/* Frees the report and all parts. NULL is accepted. */
void weft_tool_report_destroy(struct weft_tool_report *report);

/* Adds an object or a list, which is destroyed with its parent. name is NULL in
 * a list. A list of objects with the same names is printed as a table. */
struct weft_tool_report *weft_tool_report_object(
	struct weft_tool_report *parent, const char *name);
struct weft_tool_report *weft_tool_report_list(
	struct weft_tool_report *parent, const char *name);

/* Adds a fact. The unit of a number (NULL: none) is printed in text only. */
void weft_tool_report_text(struct weft_tool_report *parent, const char *name,
	const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void weft_tool_report_number(struct weft_tool_report *parent, const char *name,
	uint64_t number, const char *unit);
void weft_tool_report_flag(
	struct weft_tool_report *parent, const char *name, bool is_set);

/* Prints the report as text. Several parts have headings. Facts are lines, and
 * tables have aligned columns. The last column of a table is wrapped at the
 * width of the terminal, or at 100 columns. UINT64_MAX prints as no limit. */
void weft_tool_report_print(const struct weft_tool_report *report, FILE *to);

/* Prints one JSON value and a newline. */
void weft_tool_report_print_json(
	const struct weft_tool_report *report, FILE *to);

#endif
