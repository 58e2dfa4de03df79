/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_report: facts in a tree, printed as text or as JSON */
#include "tools/tool_report.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/plain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum report_kind {
	REPORT_OBJECT,
	REPORT_LIST,
	REPORT_TEXT,
	REPORT_NUMBER,
	REPORT_FLAG
};

enum {
	COLUMNS_MAX = 16,
	WIDTH_MAX = 40, /* largest width to which cells are padded */
	VALUE_MAX = 64, /* size of the buffer for a number and its unit */
	LINE_LEN = 100, /* columns of a line if the output is no terminal */
	CELL_MIN = 20,	/* least width of the last column */
};

struct weft_tool_report {
	struct weft_link link;
	enum report_kind kind;
	char *name; /* NULL in a list and at the root */
	struct weft_link children;
	char *text;
	uint64_t number; /* the value of a number or a flag */
	char unit[16];
};

static struct weft_tool_report *report_at(struct weft_link *link)
{
	return weft_container_of(link, struct weft_tool_report, link);
}

void weft_tool_report_destroy(struct weft_tool_report *report)
{
	if (!report)
		return;
	weft_list_for_each(link, next, &report->children)
		weft_tool_report_destroy(report_at(link));
	free(report->name);
	free(report->text);
	free(report);
}

static struct weft_tool_report *fact_add(struct weft_tool_report *parent,
	const char *name, enum report_kind kind)
{
	struct weft_tool_report *report =
		parent ? calloc(1, sizeof(*report)) : NULL;

	if (!report)
		return NULL;
	report->kind = kind;
	weft_list_init(&report->children);
	report->name = name ? strdup(name) : NULL;
	weft_list_push_back(&parent->children, &report->link);
	return report;
}

struct weft_tool_report *weft_tool_report_create(void)
{
	struct weft_tool_report *report = calloc(1, sizeof(*report));

	if (report)
		weft_list_init(&report->children);
	return report;
}

struct weft_tool_report *weft_tool_report_object(
	struct weft_tool_report *parent, const char *name)
{
	return fact_add(parent, name, REPORT_OBJECT);
}

struct weft_tool_report *weft_tool_report_list(
	struct weft_tool_report *parent, const char *name)
{
	return fact_add(parent, name, REPORT_LIST);
}

void weft_tool_report_text(
	struct weft_tool_report *parent, const char *name, const char *fmt, ...)
{
	struct weft_tool_report *report = fact_add(parent, name, REPORT_TEXT);
	va_list ap;

	if (!report)
		return;
	va_start(ap, fmt);
	if (vasprintf(&report->text, fmt, ap) < 0)
		report->text = NULL;
	va_end(ap);
}

void weft_tool_report_number(struct weft_tool_report *parent, const char *name,
	uint64_t number, const char *unit)
{
	struct weft_tool_report *report = fact_add(parent, name, REPORT_NUMBER);

	if (!report)
		return;
	report->number = number;
	if (unit)
		snprintf(report->unit, sizeof(report->unit), " %s", unit);
}

void weft_tool_report_flag(
	struct weft_tool_report *parent, const char *name, bool is_set)
{
	struct weft_tool_report *report = fact_add(parent, name, REPORT_FLAG);

	if (report)
		report->number = is_set;
}

/* ---- text ---- */

static bool is_fact(const struct weft_tool_report *report)
{
	return report->kind > REPORT_LIST;
}

/* Returns the text of a fact. buf has space for a formatted number. */
static const char *fact_text(
	const struct weft_tool_report *report, char buf[VALUE_MAX])
{
	if (report->kind == REPORT_FLAG)
		return report->number ? "yes" : "no";
	if (report->kind == REPORT_NUMBER && report->number == UINT64_MAX)
		return "no limit";
	if (report->kind == REPORT_NUMBER) {
		snprintf(buf, VALUE_MAX, "%" PRIu64 "%s", report->number,
			report->unit);
		return buf;
	}
	return report->text && *report->text ? report->text : "-";
}

static size_t name_width(const struct weft_tool_report *report)
{
	size_t width = 0;

	weft_list_for_each(link, next, &report->children)
	{
		const struct weft_tool_report *child = report_at(link);

		if (is_fact(child) && child->name)
			width = weft_max(width, strlen(child->name));
	}
	return width;
}

static void indent(FILE *to, int depth)
{
	fprintf(to, "%*s", 2 * depth, "");
}

static bool is_table(const struct weft_tool_report *report)
{
	return report->kind == REPORT_LIST &&
	       !weft_list_is_empty(&report->children) &&
	       report_at(report->children.next)->kind == REPORT_OBJECT;
}

/* The columns of a table. */
struct layout {
	size_t widths[COLUMNS_MAX];
	size_t n_columns;
	size_t indent;
	size_t line_len; /* longest line; the last column is wrapped */
};

/* Measures the columns; their names are those of the first row. */
static void measure_columns(
	const struct weft_tool_report *report, struct layout *layout)
{
	char buf[VALUE_MAX];

	weft_list_for_each(row, next_row, &report->children)
	{
		size_t i = 0;

		weft_list_for_each(cell, next_cell, &report_at(row)->children)
		{
			const struct weft_tool_report *fact = report_at(cell);

			if (i == COLUMNS_MAX)
				break;
			if (i == layout->n_columns)
				layout->widths[layout->n_columns++] =
					strlen(fact->name);
			layout->widths[i] = weft_max(layout->widths[i],
				strlen(fact_text(fact, buf)));
			i++;
		}
	}
	for (size_t i = 0; i < layout->n_columns; i++)
		layout->widths[i] =
			weft_min(layout->widths[i], (size_t)WIDTH_MAX);
}

/* Returns the length of the first line of a text that is longer than `space`.
 * The line ends at a blank or after "|", if possible. */
static size_t line_part(const char *text, size_t space)
{
	size_t len = space;

	while (len && text[len] != ' ' && text[len - 1] != '|')
		len--;
	return len ? len : strcspn(text, " ");
}

/* Prints the last cell of a row, which begins in column `begin`. Continues long
 * text in that column, with at least CELL_MIN columns. */
static void print_last_cell(
	const char *text, size_t begin, size_t line_len, FILE *to)
{
	size_t space =
		line_len > begin + CELL_MIN ? line_len - begin : CELL_MIN;

	while (strlen(text) > space) {
		size_t len = line_part(text, space);

		fprintf(to, "%.*s", (int)len, text);
		text += len + (text[len] == ' ');
		if (*text)
			fprintf(to, "\n%*s", (int)begin, "");
	}
	fprintf(to, "%s\n", text);
}

static void print_row(const struct weft_tool_report *row,
	const struct layout *layout, bool is_head, FILE *to)
{
	size_t i = 0, begin = layout->indent;
	char buf[VALUE_MAX];

	fprintf(to, "%*s", (int)layout->indent, "");
	weft_list_for_each(cell, next, &row->children)
	{
		const struct weft_tool_report *fact = report_at(cell);
		const char *text = is_head ? fact->name : fact_text(fact, buf);

		if (i == layout->n_columns)
			break;
		if (++i == layout->n_columns)
			print_last_cell(text, begin, layout->line_len, to);
		else
			begin += 2 + (size_t)fprintf(to, "%-*s",
					     (int)layout->widths[i - 1], text);
		if (i < layout->n_columns)
			fputs("  ", to);
	}
}

static void print_table(const struct weft_tool_report *report, int depth,
	size_t line_len, FILE *to)
{
	struct layout layout = { .indent = 2 * (size_t)depth,
		.line_len = line_len };

	measure_columns(report, &layout);
	print_row(report_at(report->children.next), &layout, true, to);
	weft_list_for_each(link, next, &report->children)
		print_row(report_at(link), &layout, false, to);
}

static void print_at(const struct weft_tool_report *report, int depth,
	size_t line_len, FILE *to)
{
	int width = (int)name_width(report);
	char buf[VALUE_MAX];

	if (is_table(report)) {
		print_table(report, depth, line_len, to);
		return;
	}
	weft_list_for_each(link, next, &report->children)
	{
		const struct weft_tool_report *child = report_at(link);

		indent(to, depth);
		if (is_fact(child) && child->name) {
			fprintf(to, "%-*s  %s\n", width, child->name,
				fact_text(child, buf));
		} else if (is_fact(child)) {
			fprintf(to, "%s\n", fact_text(child, buf));
		} else {
			fprintf(to, "%s:\n", child->name ? child->name : "-");
			print_at(child, depth + 1, line_len, to);
		}
	}
}

static void report_print(
	const struct weft_tool_report *report, size_t line_len, FILE *to)
{
	bool is_first = true;

	weft_list_for_each(link, next, &report->children)
	{
		bool is_only = link->next == &report->children && is_first;

		if (!is_only)
			fprintf(to, "%s== %s\n", is_first ? "" : "\n",
				report_at(link)->name);
		print_at(report_at(link), 0, line_len, to);
		is_first = false;
	}
}

/* Prints a line, with its control characters made visible. */
static void print_plain(const char *line, FILE *to)
{
	size_t size = 4 * strlen(line) + 1;
	char *plain = malloc(size);

	if (!plain)
		return;
	weft_plain(strcpy(plain, line), size);
	fputs(plain, to);
	free(plain);
}

/* Returns the width of the terminal; LINE_LEN if the output is no terminal. */
static size_t line_len_of(FILE *to)
{
	struct winsize size;
	int fd = fileno(to);

	if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col)
		return LINE_LEN;
	return size.ws_col;
}

void weft_tool_report_print(const struct weft_tool_report *report, FILE *to)
{
	char *text = NULL, *at, *line;
	size_t len = 0;
	FILE *copy = report ? open_memstream(&text, &len) : NULL;

	if (!copy)
		return;
	report_print(report, line_len_of(to), copy);
	fclose(copy);
	for (at = text; (line = strsep(&at, "\n")) != NULL;) {
		print_plain(line, to);
		if (at)
			fputc('\n', to);
	}
	free(text);
}

/* ---- JSON ---- */

static void print_string(const char *text, FILE *to)
{
	putc('"', to);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p == '"' || *p == '\\')
			fprintf(to, "\\%c", *p);
		else if (*p < 0x20)
			fprintf(to, "\\u%04x", *p);
		else
			putc(*p, to);
	putc('"', to);
}

static void print_json_at(
	const struct weft_tool_report *report, int depth, FILE *to);

static void print_children(
	const struct weft_tool_report *report, int depth, FILE *to)
{
	bool is_object = report->kind == REPORT_OBJECT, is_first = true;

	putc(is_object ? '{' : '[', to);
	weft_list_for_each(link, next, &report->children)
	{
		const struct weft_tool_report *child = report_at(link);

		fprintf(to, "%s\n", is_first ? "" : ",");
		indent(to, depth + 1);
		if (is_object) {
			print_string(child->name ? child->name : "", to);
			fputs(": ", to);
		}
		print_json_at(child, depth + 1, to);
		is_first = false;
	}
	if (!is_first) {
		putc('\n', to);
		indent(to, depth);
	}
	putc(is_object ? '}' : ']', to);
}

static void print_json_at(
	const struct weft_tool_report *report, int depth, FILE *to)
{
	switch (report->kind) {
	case REPORT_TEXT:
		print_string(report->text ? report->text : "", to);
		break;
	case REPORT_NUMBER:
		fprintf(to, "%" PRIu64, report->number);
		break;
	case REPORT_FLAG:
		fputs(report->number ? "true" : "false", to);
		break;
	default:
		print_children(report, depth, to);
	}
}

void weft_tool_report_print_json(
	const struct weft_tool_report *report, FILE *to)
{
	if (report)
		print_json_at(report, 0, to);
	putc('\n', to);
}
