/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_report_test: facts as text and as JSON */
#include "tools/tool_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef void print_fn(const struct weft_tool_report *report, FILE *to);

/* Checks that the printed text is the expected one. Destroys the report. */
static void prints(
	struct weft_tool_report *report, print_fn *print, const char *want)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	print(report, to);
	fclose(to);
	assert_string_equal(text, want);
	free(text);
	weft_tool_report_destroy(report);
}

static struct weft_tool_report *sample(void)
{
	struct weft_tool_report *report = weft_tool_report_create();
	struct weft_tool_report *at = weft_tool_report_object(report, "one");
	struct weft_tool_report *list, *row;

	weft_tool_report_text(at, "a", "%s", "x");
	weft_tool_report_number(at, "longer", 7, "B");
	weft_tool_report_flag(at, "set", true);
	list = weft_tool_report_list(at, "rows");
	for (int i = 0; i < 2; i++) {
		row = weft_tool_report_object(list, NULL);
		weft_tool_report_text(
			row, "name", "%s", i ? "short" : "a long one");
		weft_tool_report_number(row, "n", (uint64_t)i, NULL);
	}
	return report;
}

static void test_people(void **state)
{
	(void)state;
	prints(sample(), weft_tool_report_print,
		"a       x\nlonger  7 B\nset     yes\nrows:\n"
		"  name        n\n  a long one  0\n  short       1\n");
}

/* A description of more than 100 columns continues in its own column. */
static void test_wrap(void **state)
{
	struct weft_tool_report *report = weft_tool_report_create();
	struct weft_tool_report *list = weft_tool_report_list(report, "rows");
	struct weft_tool_report *row = weft_tool_report_object(list, NULL);

	(void)state;
	weft_tool_report_text(row, "name", "%s", "x");
	weft_tool_report_text(row, "meaning", "%s",
		"one two three four five six seven eight nine ten eleven "
		"twelve thirteen fourteen fifteen sixteen "
		"[one_very_long_value_of_many|and_another_value_of_the_same_"
		"list|"
		"the_third_value_of_this_long_list|last]");
	prints(report, weft_tool_report_print,
		"name  meaning\n"
		"x     one two three four five six seven eight nine ten eleven "
		"twelve thirteen fourteen fifteen\n"
		"      sixteen [one_very_long_value_of_many|"
		"and_another_value_of_the_same_list|\n"
		"      the_third_value_of_this_long_list|last]\n");
}

static void test_plain(void **state)
{
	struct weft_tool_report *report = weft_tool_report_create();
	struct weft_tool_report *at = weft_tool_report_object(report, "one");

	(void)state;
	weft_tool_report_text(at, "red", "%s", "\033[31m");
	prints(report, weft_tool_report_print, "red  \\x1b[31m\n");
}

static void test_json(void **state)
{
	(void)state;
	prints(sample(), weft_tool_report_print_json,
		"{\n  \"one\": {\n    \"a\": \"x\",\n    \"longer\": 7,\n"
		"    \"set\": true,\n    \"rows\": [\n"
		"      {\n        \"name\": \"a long one\",\n        \"n\": 0\n"
		"      },\n"
		"      {\n        \"name\": \"short\",\n        \"n\": 1\n"
		"      }\n    ]\n  }\n}\n");
}

static void test_several_parts(void **state)
{
	struct weft_tool_report *report = weft_tool_report_create();

	(void)state;
	weft_tool_report_text(
		weft_tool_report_object(report, "p"), "a", "%s", "");
	weft_tool_report_number(
		weft_tool_report_object(report, "q"), "b", UINT64_MAX, "B");
	weft_tool_report_list(report, "none");
	prints(report, weft_tool_report_print,
		"== p\na  -\n\n== q\nb  no limit\n\n== none\n");
}

/* arbitrary text of a variable of the environment */
static void test_escapes(void **state)
{
	struct weft_tool_report *report = weft_tool_report_create();

	(void)state;
	weft_tool_report_text(report, "a\"b", "%s", "\\ \n\t\x01 \xc3\xa4");
	weft_tool_report_list(report, "empty");
	weft_tool_report_object(report, "none");
	prints(report, weft_tool_report_print_json,
		"{\n  \"a\\\"b\": \"\\\\ \\u000a\\u0009\\u0001 \xc3\xa4\",\n"
		"  \"empty\": [],\n  \"none\": {}\n}\n");
}

static void test_no_memory(void **state)
{
	(void)state;
	assert_null(weft_tool_report_object(NULL, "x"));
	weft_tool_report_text(NULL, "x", "%s", "y");
	weft_tool_report_number(NULL, "x", 1, NULL);
	weft_tool_report_flag(NULL, "x", true);
	weft_tool_report_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_people),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_several_parts),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
