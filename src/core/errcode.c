/* SPDX-License-Identifier: BSD-3-Clause */
/* errcode: error classes and codes that the application adds */
#include "core/errcode.h"

#include "base/err.h"
#include "base/lock.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CODES = 1 << 20 };

struct code {
	bool is_live;
	bool is_class;
	int class_;	  /* class of a code; a class has its own number here */
	uint32_t n_codes; /* of a class: number of its live codes */
	char *text;
};

/* The table of codes. MPI defines codes per process. */
static struct {
	struct weft_spin spin; /* guards these fields */
	struct code *codes;    /* index: number - WEFT_ERRCODE_LAST - 1 */
	int n;		       /* entries up to the last live one */
	int capacity;
	int last; /* largest live number, or WEFT_ERRCODE_LAST */
} table = { .last = WEFT_ERRCODE_LAST };

/* Returns the live entry of a number, or NULL. */
static struct code *errcode_find(int number)
{
	int i = number - WEFT_ERRCODE_LAST - 1;

	if (i < 0 || i >= table.n || !table.codes[i].is_live)
		return NULL;
	return &table.codes[i];
}

/* Allocates the lowest free number. NULL: out of memory, or all are in use. */
static struct code *errcode_add(int *number_out)
{
	int i = 0;

	while (i < table.n && table.codes[i].is_live)
		i++;
	if (i >= MAX_CODES)
		return NULL;
	if (i == table.capacity) {
		int capacity = i ? 2 * i : 16;
		struct code *codes =
			realloc(table.codes, (size_t)capacity * sizeof(*codes));

		if (!codes)
			return NULL;
		table.codes = codes;
		table.capacity = capacity;
	}
	if (i == table.n)
		table.n++;
	table.codes[i] = (struct code){ .is_live = true };
	*number_out = WEFT_ERRCODE_LAST + 1 + i;
	if (*number_out > table.last)
		table.last = *number_out;
	return &table.codes[i];
}

static void errcode_drop(struct code *code)
{
	free(code->text);
	*code = (struct code){ 0 };
	while (table.n && !table.codes[table.n - 1].is_live)
		table.n--;
	table.last = WEFT_ERRCODE_LAST + table.n;
}

int weft_errcode_add_class(int *class_out)
{
	struct code *code;
	int number = 0;

	weft_spin_acquire(&table.spin);
	code = errcode_add(&number);
	if (code) {
		code->is_class = true;
		code->class_ = number;
	}
	weft_spin_release(&table.spin);
	if (!code)
		return weft_err_set(WEFT_ERR_NOMEM,
			"no memory for another error class (limit %d)",
			MAX_CODES);
	*class_out = number;
	return 0;
}

int weft_errcode_add_code(int class_, int *code_out)
{
	struct code *code = NULL, *of;
	int number = 0;
	bool known;

	weft_spin_acquire(&table.spin);
	of = errcode_find(class_);
	known = class_ <= WEFT_ERRCODE_LAST || (of && of->is_class);
	if (known)
		code = errcode_add(&number);
	if (code) {
		code->class_ = class_;
		of = errcode_find(class_); /* the table may have moved */
		if (of)
			of->n_codes++;
	}
	weft_spin_release(&table.spin);
	if (!known)
		return weft_err_set(
			WEFT_ERR_ARG, "%d is not an error class", class_);
	if (!code)
		return weft_err_set(WEFT_ERR_NOMEM,
			"no memory for another error code (limit %d)",
			MAX_CODES);
	*code_out = number;
	return 0;
}

int weft_errcode_class(int number)
{
	struct code *code;

	weft_spin_acquire(&table.spin);
	code = errcode_find(number);
	if (code)
		number = code->class_;
	weft_spin_release(&table.spin);
	return number;
}

int weft_errcode_set_text(int number, const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	struct code *code;
	bool ok;

	if (text && !copy)
		return WEFT_ERR_NOMEM;
	weft_spin_acquire(&table.spin);
	code = errcode_find(number);
	ok = code && (text || code->text);
	if (ok) {
		char *old = code->text;

		code->text = copy;
		copy = old;
	}
	weft_spin_release(&table.spin);
	free(copy);
	return ok ? 0
		  : weft_err_set(WEFT_ERR_ARG, "%d is %s", number,
			    text ? "no added error code"
				 : "no added error code, or it has no text");
}

bool weft_errcode_text(int number, char *buf, size_t len)
{
	struct code *code;

	weft_spin_acquire(&table.spin);
	code = errcode_find(number);
	if (code)
		snprintf(buf, len, "%s", code->text ? code->text : "");
	weft_spin_release(&table.spin);
	return code;
}

int weft_errcode_remove_class(int class_)
{
	struct code *code;
	bool ok;

	weft_spin_acquire(&table.spin);
	code = errcode_find(class_);
	ok = code && code->is_class && !code->n_codes && !code->text;
	if (ok)
		errcode_drop(code);
	weft_spin_release(&table.spin);
	return ok ? 0
		  : weft_err_set(WEFT_ERR_ARG,
			    "error class %d cannot be removed: it was not "
			    "added, or it still has codes or a text",
			    class_);
}

int weft_errcode_remove_code(int number)
{
	struct code *code, *of;
	bool ok;

	weft_spin_acquire(&table.spin);
	code = errcode_find(number);
	ok = code && !code->is_class && !code->text;
	if (ok) {
		of = errcode_find(code->class_);
		if (of)
			of->n_codes--;
		errcode_drop(code);
	}
	weft_spin_release(&table.spin);
	return ok ? 0
		  : weft_err_set(WEFT_ERR_ARG,
			    "error code %d cannot be removed: it was not "
			    "added, or it still has a text",
			    number);
}

const int *weft_errcode_last_peek(void)
{
	return &table.last;
}
