/* SPDX-License-Identifier: BSD-3-Clause */
/* sheet_test: facts for people and as JSON */
#include "tools/sheet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef void print_fn(const struct weft_sheet *sheet, FILE *to);

/* What is printed is what was expected. Destroys the sheet. */
static void prints(struct weft_sheet *sheet, print_fn *print, const char *want)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	print(sheet, to);
	fclose(to);
	assert_string_equal(text, want);
	free(text);
	weft_sheet_destroy(sheet);
}

static struct weft_sheet *sample(void)
{
	struct weft_sheet *sheet = weft_sheet_create();
	struct weft_sheet *at = weft_sheet_object(sheet, "one");
	struct weft_sheet *list, *row;

	weft_sheet_text(at, "a", "%s", "x");
	weft_sheet_number(at, "longer", 7, "B");
	weft_sheet_flag(at, "set", true);
	list = weft_sheet_list(at, "rows");
	for (int i = 0; i < 2; i++) {
		row = weft_sheet_object(list, NULL);
		weft_sheet_text(row, "name", "%s", i ? "short" : "a long one");
		weft_sheet_number(row, "n", (uint64_t)i, NULL);
	}
	return sheet;
}

static void test_people(void **state)
{
	(void)state;
	prints(sample(), weft_sheet_print,
		"a       x\nlonger  7 B\nset     yes\nrows:\n"
		"  name        n\n  a long one  0\n  short       1\n");
}

static void test_json(void **state)
{
	(void)state;
	prints(sample(), weft_sheet_print_json,
		"{\n  \"one\": {\n    \"a\": \"x\",\n    \"longer\": 7,\n"
		"    \"set\": true,\n    \"rows\": [\n"
		"      {\n        \"name\": \"a long one\",\n        \"n\": 0\n"
		"      },\n"
		"      {\n        \"name\": \"short\",\n        \"n\": 1\n"
		"      }\n    ]\n  }\n}\n");
}

static void test_several_parts(void **state)
{
	struct weft_sheet *sheet = weft_sheet_create();

	(void)state;
	weft_sheet_text(weft_sheet_object(sheet, "p"), "a", "%s", "");
	weft_sheet_number(weft_sheet_object(sheet, "q"), "b", UINT64_MAX, "B");
	weft_sheet_list(sheet, "none");
	prints(sheet, weft_sheet_print,
		"== p\na  -\n\n== q\nb  no limit\n\n== none\n");
}

/* whatever stands in a variable of the environment */
static void test_escapes(void **state)
{
	struct weft_sheet *sheet = weft_sheet_create();

	(void)state;
	weft_sheet_text(sheet, "a\"b", "%s", "\\ \n\t\x01 \xc3\xa4");
	weft_sheet_list(sheet, "empty");
	weft_sheet_object(sheet, "none");
	prints(sheet, weft_sheet_print_json,
		"{\n  \"a\\\"b\": \"\\\\ \\u000a\\u0009\\u0001 \xc3\xa4\",\n"
		"  \"empty\": [],\n  \"none\": {}\n}\n");
}

static void test_no_memory(void **state)
{
	(void)state;
	assert_null(weft_sheet_object(NULL, "x"));
	weft_sheet_text(NULL, "x", "%s", "y");
	weft_sheet_number(NULL, "x", 1, NULL);
	weft_sheet_flag(NULL, "x", true);
	weft_sheet_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_people),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_several_parts),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
