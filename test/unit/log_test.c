/* SPDX-License-Identifier: BSD-3-Clause */
/* log_test: levels, the line's format, lines that are too long */
#include "base/log.h"
#include "base/err.h"
#include "base/plain.h"
#include "test/unit/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct capture capture;

static void levels_have_names(void **state)
{
	static const char *const names[] = { "error", "warn", "info", "debug",
		"trace" };

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(weft_log_set_level(names[i]), 0);
		assert_int_equal(weft_log_level, i);
	}
	assert_int_equal(weft_log_set_level("loud"), WEFT_ERR_ARG);
	assert_int_equal(weft_log_level, WEFT_LOG_TRACE);
	assert_non_null(strstr(weft_err_detail_peek(WEFT_ERR_ARG), "loud"));
	assert_int_equal(weft_log_set_level(NULL), 0);
	assert_int_equal(weft_log_level, WEFT_LOG_TRACE);
}

static void quiet_levels_write_nothing(void **state)
{
	(void)state;
	weft_log_set_level("warn");
	capture_start(&capture);
	weft_log_info("TEST-INFO", "not seen");
	weft_log_trace("TEST-TRACE", "not seen");
	assert_string_equal(capture_stop(&capture), "");
}

static void a_line_names_level_process_and_id(void **state)
{
	char want[64];
	const char *line;

	(void)state;
	weft_log_set_level("warn");
	snprintf(want, sizeof(want), ":%d TEST-ONE count 3\n", (int)getpid());
	capture_start(&capture);
	weft_log_warn("TEST-ONE", "count %d", 3);
	line = capture_stop(&capture);
	assert_ptr_equal(strstr(line, "weft warn "), line);
	assert_non_null(strstr(line, want));
}

static void a_line_names_the_rank(void **state)
{
	const char *line;

	(void)state;
	weft_log_set_rank(12);
	capture_start(&capture);
	weft_log_error("TEST-RANK", "x");
	line = capture_stop(&capture);
	weft_log_set_rank(-1);
	assert_non_null(strstr(line, "[12] TEST-RANK x\n"));
}

static void a_long_line_is_cut_and_ends(void **state)
{
	char text[5000];
	const char *line;

	(void)state;
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	capture_start(&capture);
	weft_log_error("TEST-LONG", "%s", text);
	line = capture_stop(&capture);
	assert_true(strlen(line) > 900 && strlen(line) <= 1024);
	assert_int_equal(line[strlen(line) - 1], '\n');
	assert_int_equal(line[strlen(line) - 2], 'y');
}

static void control_characters_are_shown(void **state)
{
	char text[12] = "ab\033\033\033";
	const char *line;

	(void)state;
	capture_start(&capture);
	weft_log_error("TEST-PLAIN", "a\033[31m\n\177 \302\233 \237 %s",
		"\303\237 \342\202\254\t");
	line = capture_stop(&capture);
	/* UTF-8 letters with bytes from 0x80 to 0x9f are unchanged */
	assert_non_null(strstr(line, "TEST-PLAIN a\\x1b[31m\\x0a\\x7f "
				     "\302\\x9b \\x9f \303\237 "
				     "\342\202\254\\x09\n"));
	weft_err_set(WEFT_ERR_ARG, "no \"%s\"", "\a");
	assert_string_equal(weft_err_detail_peek(WEFT_ERR_ARG), "no \"\\x07\"");
	assert_int_equal(weft_plain(text, sizeof(text)), 11);
	assert_string_equal(text, "ab\\x1b\\x1b\\");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_have_names),
		cmocka_unit_test(quiet_levels_write_nothing),
		cmocka_unit_test(a_line_names_level_process_and_id),
		cmocka_unit_test(a_line_names_the_rank),
		cmocka_unit_test(a_long_line_is_cut_and_ends),
		cmocka_unit_test(control_characters_are_shown),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
