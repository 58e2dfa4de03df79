/* SPDX-License-Identifier: BSD-3-Clause */
/* sheet: facts in a tree, to be printed for people or as JSON */
#include "tools/sheet.h"

#include "base/bits.h"
#include "base/list.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum sheet_kind {
	SHEET_OBJECT,
	SHEET_LIST,
	SHEET_TEXT,
	SHEET_NUMBER,
	SHEET_FLAG
};

enum { COLUMNS_MAX = 16, WIDTH_MAX = 40, VALUE_MAX = 64 };

struct weft_sheet {
	struct weft_link link;
	enum sheet_kind kind;
	char *name; /* NULL in a list and at the root */
	struct weft_link children;
	char *text;
	uint64_t number; /* also of a flag */
	char unit[16];
};

static struct weft_sheet *sheet_at(struct weft_link *link)
{
	return weft_container_of(link, struct weft_sheet, link);
}

void weft_sheet_destroy(struct weft_sheet *sheet)
{
	if (!sheet)
		return;
	weft_list_for_each(link, next, &sheet->children)
		weft_sheet_destroy(sheet_at(link));
	free(sheet->name);
	free(sheet->text);
	free(sheet);
}

static struct weft_sheet *fact_add(
	struct weft_sheet *parent, const char *name, enum sheet_kind kind)
{
	struct weft_sheet *sheet = parent ? calloc(1, sizeof(*sheet)) : NULL;

	if (!sheet)
		return NULL;
	sheet->kind = kind;
	weft_list_init(&sheet->children);
	sheet->name = name ? strdup(name) : NULL;
	weft_list_push_back(&parent->children, &sheet->link);
	return sheet;
}

struct weft_sheet *weft_sheet_create(void)
{
	struct weft_sheet *sheet = calloc(1, sizeof(*sheet));

	if (sheet)
		weft_list_init(&sheet->children);
	return sheet;
}

struct weft_sheet *weft_sheet_object(
	struct weft_sheet *parent, const char *name)
{
	return fact_add(parent, name, SHEET_OBJECT);
}

struct weft_sheet *weft_sheet_list(struct weft_sheet *parent, const char *name)
{
	return fact_add(parent, name, SHEET_LIST);
}

void weft_sheet_text(
	struct weft_sheet *parent, const char *name, const char *fmt, ...)
{
	struct weft_sheet *sheet = fact_add(parent, name, SHEET_TEXT);
	va_list ap;

	if (!sheet)
		return;
	va_start(ap, fmt);
	if (vasprintf(&sheet->text, fmt, ap) < 0)
		sheet->text = NULL;
	va_end(ap);
}

void weft_sheet_number(struct weft_sheet *parent, const char *name,
	uint64_t number, const char *unit)
{
	struct weft_sheet *sheet = fact_add(parent, name, SHEET_NUMBER);

	if (!sheet)
		return;
	sheet->number = number;
	if (unit)
		snprintf(sheet->unit, sizeof(sheet->unit), " %s", unit);
}

void weft_sheet_flag(struct weft_sheet *parent, const char *name, bool is_set)
{
	struct weft_sheet *sheet = fact_add(parent, name, SHEET_FLAG);

	if (sheet)
		sheet->number = is_set;
}

/* ---- for people ---- */

static bool is_fact(const struct weft_sheet *sheet)
{
	return sheet->kind > SHEET_LIST;
}

/* A fact's words; buf holds those that are made up. */
static const char *fact_words(
	const struct weft_sheet *sheet, char buf[VALUE_MAX])
{
	if (sheet->kind == SHEET_FLAG)
		return sheet->number ? "yes" : "no";
	if (sheet->kind == SHEET_NUMBER && sheet->number == UINT64_MAX)
		return "no limit";
	if (sheet->kind == SHEET_NUMBER) {
		snprintf(buf, VALUE_MAX, "%" PRIu64 "%s", sheet->number,
			sheet->unit);
		return buf;
	}
	return sheet->text && *sheet->text ? sheet->text : "-";
}

static size_t name_width(const struct weft_sheet *sheet)
{
	size_t width = 0;

	weft_list_for_each(link, next, &sheet->children)
	{
		const struct weft_sheet *child = sheet_at(link);

		if (is_fact(child) && child->name)
			width = weft_max(width, strlen(child->name));
	}
	return width;
}

static void indent(FILE *to, int depth)
{
	fprintf(to, "%*s", 2 * depth, "");
}

static bool is_table(const struct weft_sheet *sheet)
{
	return sheet->kind == SHEET_LIST &&
	       !weft_list_is_empty(&sheet->children) &&
	       sheet_at(sheet->children.next)->kind == SHEET_OBJECT;
}

/* Widths of the columns, which are named by the first row. */
static size_t table_widths(const struct weft_sheet *sheet, size_t *widths)
{
	size_t n_columns = 0;
	char buf[VALUE_MAX];

	weft_list_for_each(row, next_row, &sheet->children)
	{
		size_t i = 0;

		weft_list_for_each(cell, next_cell, &sheet_at(row)->children)
		{
			const struct weft_sheet *fact = sheet_at(cell);

			if (i == COLUMNS_MAX)
				break;
			if (i == n_columns)
				widths[n_columns++] = strlen(fact->name);
			widths[i] = weft_max(
				widths[i], strlen(fact_words(fact, buf)));
			i++;
		}
	}
	for (size_t i = 0; i < n_columns; i++)
		widths[i] = weft_min(widths[i], (size_t)WIDTH_MAX);
	return n_columns;
}

/* The last column has no blanks behind it. */
static void print_row(const struct weft_sheet *row, const size_t *widths,
	size_t n_columns, bool is_head, FILE *to)
{
	char buf[VALUE_MAX];
	size_t i = 0;

	weft_list_for_each(cell, next, &row->children)
	{
		const struct weft_sheet *fact = sheet_at(cell);
		const char *text = is_head ? fact->name : fact_words(fact, buf);

		if (i == n_columns)
			break;
		if (++i == n_columns)
			fprintf(to, "%s\n", text);
		else
			fprintf(to, "%-*s  ", (int)widths[i - 1], text);
	}
}

static void print_table(const struct weft_sheet *sheet, int depth, FILE *to)
{
	size_t widths[COLUMNS_MAX] = { 0 };
	size_t n_columns = table_widths(sheet, widths);

	indent(to, depth);
	print_row(sheet_at(sheet->children.next), widths, n_columns, true, to);
	weft_list_for_each(link, next, &sheet->children)
	{
		indent(to, depth);
		print_row(sheet_at(link), widths, n_columns, false, to);
	}
}

static void print_at(const struct weft_sheet *sheet, int depth, FILE *to)
{
	int width = (int)name_width(sheet);
	char buf[VALUE_MAX];

	if (is_table(sheet)) {
		print_table(sheet, depth, to);
		return;
	}
	weft_list_for_each(link, next, &sheet->children)
	{
		const struct weft_sheet *child = sheet_at(link);

		indent(to, depth);
		if (is_fact(child) && child->name) {
			fprintf(to, "%-*s  %s\n", width, child->name,
				fact_words(child, buf));
		} else if (is_fact(child)) {
			fprintf(to, "%s\n", fact_words(child, buf));
		} else {
			fprintf(to, "%s:\n", child->name ? child->name : "-");
			print_at(child, depth + 1, to);
		}
	}
}

void weft_sheet_print(const struct weft_sheet *sheet, FILE *to)
{
	bool is_first = true;

	if (!sheet)
		return;
	weft_list_for_each(link, next, &sheet->children)
	{
		bool is_only = link->next == &sheet->children && is_first;

		if (!is_only)
			fprintf(to, "%s== %s\n", is_first ? "" : "\n",
				sheet_at(link)->name);
		print_at(sheet_at(link), 0, to);
		is_first = false;
	}
}

/* ---- as JSON ---- */

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

static void print_json_at(const struct weft_sheet *sheet, int depth, FILE *to);

static void print_children(const struct weft_sheet *sheet, int depth, FILE *to)
{
	bool is_object = sheet->kind == SHEET_OBJECT, is_first = true;

	putc(is_object ? '{' : '[', to);
	weft_list_for_each(link, next, &sheet->children)
	{
		const struct weft_sheet *child = sheet_at(link);

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

static void print_json_at(const struct weft_sheet *sheet, int depth, FILE *to)
{
	switch (sheet->kind) {
	case SHEET_TEXT:
		print_string(sheet->text ? sheet->text : "", to);
		break;
	case SHEET_NUMBER:
		fprintf(to, "%" PRIu64, sheet->number);
		break;
	case SHEET_FLAG:
		fputs(sheet->number ? "true" : "false", to);
		break;
	default:
		print_children(sheet, depth, to);
	}
}

void weft_sheet_print_json(const struct weft_sheet *sheet, FILE *to)
{
	if (sheet)
		print_json_at(sheet, 0, to);
	putc('\n', to);
}
