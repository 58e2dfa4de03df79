/* SPDX-License-Identifier: BSD-3-Clause */
/* file_hint_test: info keys of files become numbers; files of hints are read */
#include "io/file_hint.h"

#include "core/hint.h"
#include "core/info.h"
#include "io/file.h"
#include "test/unit/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct capture capture;

static void without_keys_hints_are_the_defaults(void **state)
{
	struct weft_file_hints hints;

	(void)state;
	weft_file_hint_parse(NULL, &hints);
	assert_int_equal(hints.read_sieve, WEFT_FILE_AUTOMATIC);
	assert_int_equal(hints.write_sieve, WEFT_FILE_AUTOMATIC);
	assert_int_equal(hints.read_sieve_max, 512 << 10);
	assert_int_equal(hints.write_sieve_max, 512 << 10);
	assert_int_equal(hints.permissions, 0666);
	assert_int_equal(hints.cb_read, WEFT_FILE_AUTOMATIC);
	assert_int_equal(hints.cb_write, WEFT_FILE_AUTOMATIC);
	assert_int_equal(hints.cb_nodes, 0);
	assert_int_equal(hints.cb_per_node, 0);
	assert_int_equal(hints.cb_buffer_size, 0);
	assert_int_equal(hints.striping_unit, 0);
	assert_int_equal(hints.striping_factor, 0);
}

static struct weft_file_hints parse(enum weft_hint key, const char *value,
	enum weft_hint key2, const char *value2)
{
	struct weft_info *info = weft_info_create();
	struct weft_file_hints hints;

	weft_hint_set(info, key, value);
	if (value2)
		weft_hint_set(info, key2, value2);
	weft_file_hint_parse(info, &hints);
	weft_info_destroy(info);
	return hints;
}

static void keys_set_their_numbers(void **state)
{
	(void)state;
	assert_int_equal(
		parse(WEFT_HINT_FILE_PERM, "640", 0, NULL).permissions, 0640);
	assert_int_equal(
		parse(WEFT_HINT_DS_READ_SIZE, "100", 0, NULL).read_sieve_max,
		100);
	assert_int_equal(parse(WEFT_HINT_CB_NODES, "3", 0, NULL).cb_nodes, 3);
	assert_int_equal(
		parse(WEFT_HINT_CB_CONFIG_LIST, "*:2", 0, NULL).cb_per_node, 2);
	assert_int_equal(
		parse(WEFT_HINT_CB_CONFIG_LIST, "*:*", 0, NULL).cb_per_node,
		INT32_MAX);
	assert_int_equal(
		parse(WEFT_HINT_DS_WRITE, "disable", 0, NULL).write_sieve,
		WEFT_FILE_DISABLE);
}

static void keys_for_aggregators_have_an_order(void **state)
{
	struct weft_file_hints hints = parse(
		WEFT_HINT_NO_INDEP_RW, "true", WEFT_HINT_CB_READ, "disable");

	(void)state;
	assert_int_equal(hints.cb_read, WEFT_FILE_ENABLE);
	assert_int_equal(hints.cb_write, WEFT_FILE_ENABLE);
	hints = parse(WEFT_HINT_COLL_BUFFERING, "false", WEFT_HINT_NO_INDEP_RW,
		"true");
	assert_int_equal(hints.cb_read, WEFT_FILE_DISABLE);
	assert_int_equal(hints.cb_write, WEFT_FILE_DISABLE);
}

static void a_file_of_hints_is_read(void **state)
{
	char path[] = "/tmp/weft_file_hint_XXXXXX";
	struct weft_info *info = weft_info_create();
	FILE *file = fdopen(mkstemp(path), "w");

	(void)state;
	fputs("# cb_nodes 9\ncb_nodes 2\ncb_nodes 3\nromio_ds_read wrong\n"
	      "unknown 1\ncb_buffer_size\n",
		file);
	fclose(file);
	assert_int_equal(weft_info_set(info, "cb_nodes", "7"), 0);
	assert_int_equal(weft_file_hint_read(path, info), 0);
	unlink(path);
	assert_true(weft_hint_is(info, WEFT_HINT_CB_NODES, "2"));
	assert_int_equal(weft_info_n_keys(info), 1);
	capture_start(&capture);
	assert_int_equal(weft_file_hint_read(path, info), 0);
	assert_non_null(strstr(capture_stop(&capture), "FILE-HINTS"));
	assert_true(weft_hint_is(info, WEFT_HINT_CB_NODES, "2"));
	weft_info_destroy(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_keys_hints_are_the_defaults),
		cmocka_unit_test(keys_set_their_numbers),
		cmocka_unit_test(keys_for_aggregators_have_an_order),
		cmocka_unit_test(a_file_of_hints_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
