/* SPDX-License-Identifier: BSD-3-Clause */
/* hint_test: the table of info keys, and the keys that objects accept */
#include "core/hint.h"

#include "base/err.h"
#include "core/info.h"
#include "test/unit/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct capture capture;

static bool is_valid(enum weft_hint hint, const char *value)
{
	const struct weft_hint_desc *desc = weft_hint_desc(hint);

	return desc->is_valid(desc, value);
}

static void keys_are_unique_and_defaults_valid(void **state)
{
	(void)state;
	for (int i = 0; i < WEFT_HINT_N; i++) {
		const struct weft_hint_desc *desc =
			weft_hint_desc((enum weft_hint)i);

		assert_true(desc->objects != 0);
		assert_true(desc->effect[strlen(desc->effect) - 1] == '.');
		if (desc->initial)
			assert_true(is_valid((enum weft_hint)i, desc->initial));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(desc->key,
				weft_hint_desc((enum weft_hint)k)->key);
	}
}

struct value_case {
	enum weft_hint hint;
	const char *good[4], *bad[6];
};

static void values_are_checked(void **state)
{
	static const struct value_case cases[] = {
		{ WEFT_HINT_DS_READ, { "enable", "disable", "automatic" },
			{ "enabl", "enabled", "", "enable|disable" } },
		{ WEFT_HINT_CB_NODES, { "1", "2147483647" },
			{ "0", "-1", "2147483648", "1k", "", "one" } },
		{ WEFT_HINT_CB_BUFFER_SIZE, { "4096", "1073741824" },
			{ "4095", "1073741825", "1e6" } },
		{ WEFT_HINT_CB_CONFIG_LIST, { "*:*", "*:3" },
			{ "*", "*:0", "*:", "host:1", "3" } },
		{ WEFT_HINT_FILE_PERM, { "0", "0644", "777" },
			{ "1000", "8", "-1", "rw" } },
		{ WEFT_HINT_ALIGNMENT, { "1", "64", "4096" },
			{ "0", "48", "-64", "" } },
		{ WEFT_HINT_ACC_GRANULARITY, { "0", "8" }, { "-1", "x" } },
		{ WEFT_HINT_ACC_ORDERING, { "none", "rar", "rar, war" },
			{ "rar,none", "rax" } },
		{ WEFT_HINT_ASSERT_KINDS,
			{ "system", "mpi:alloc_mem,SYSTEM", "" },
			{ "level_zero", "mpi:cuda", "system,", "mp" } },
		{ WEFT_HINT_TIMEOUT, { "1" }, { "0", "soon" } },
		{ WEFT_HINT_ACCESS_STYLE, { "anything" }, { NULL } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct value_case *c = &cases[i];

		for (int k = 0; k < 4 && c->good[k]; k++)
			assert_true(is_valid(c->hint, c->good[k]));
		for (int k = 0; k < 6 && c->bad[k]; k++)
			assert_false(is_valid(c->hint, c->bad[k]));
	}
}

static struct weft_info *info_with(const char *key, const char *value)
{
	struct weft_info *info = weft_info_create();

	assert_int_equal(weft_info_set(info, key, value), 0);
	return info;
}

/* Returns the number of keys that an object accepts of an info object with this
 * key. */
static uint32_t accepted(enum weft_hint_object object, bool is_new,
	const char *key, const char *value)
{
	struct weft_info *asked = info_with(key, value);
	struct weft_info *info = weft_info_create();
	uint32_t n;

	assert_int_equal(weft_hint_accept(object, is_new, asked, info), 0);
	n = weft_info_n_keys(info);
	weft_info_destroy(asked);
	weft_info_destroy(info);
	return n;
}

static void objects_accept_their_keys(void **state)
{
	(void)state;
	assert_int_equal(accepted(WEFT_HINT_OF_FILE, true, "cb_nodes", "2"), 1);
	assert_int_equal(accepted(WEFT_HINT_OF_FILE, true, "cb_nodes", "x"), 0);
	assert_int_equal(accepted(WEFT_HINT_OF_COMM, true, "cb_nodes", "2"), 0);
	assert_int_equal(
		accepted(WEFT_HINT_OF_FILE, true, "file_perm", "600"), 1);
	assert_int_equal(
		accepted(WEFT_HINT_OF_FILE, false, "file_perm", "600"), 0);
	/* a key that is only returned */
	assert_int_equal(accepted(WEFT_HINT_OF_FILE, true, "filename", "x"), 0);
	/* a key of one flavor of windows */
	assert_int_equal(accepted(WEFT_HINT_OF_WIN_SHARED, true,
				 "alloc_shared_noncontig", "true"),
		1);
	assert_int_equal(accepted(WEFT_HINT_OF_WIN_CREATE, true,
				 "alloc_shared_noncontig", "true"),
		0);
	assert_true(weft_hint_is_accepted(WEFT_HINT_OF_SPAWN, "soft"));
	assert_false(weft_hint_is_accepted(WEFT_HINT_OF_SPAWN, "arch"));
	assert_false(weft_hint_is_accepted(WEFT_HINT_OF_SPAWN, "no_locks"));
}

static void defaults_are_in_effect(void **state)
{
	struct weft_info *set = info_with("romio_ds_read", "disable"), *info;
	char value[32];

	(void)state;
	assert_int_equal(
		weft_hint_in_effect(WEFT_HINT_OF_FILE, set, NULL, &info), 0);
	assert_true(weft_hint_is(info, WEFT_HINT_DS_READ, "disable"));
	assert_true(weft_hint_is(info, WEFT_HINT_DS_WRITE, "automatic"));
	assert_int_equal(
		weft_hint_value(info, WEFT_HINT_CB_NODES, value, sizeof(value)),
		-1);
	assert_int_equal(
		weft_hint_number(info, WEFT_HINT_DS_READ_SIZE, 7), 524288);
	assert_int_equal(weft_hint_number(info, WEFT_HINT_CB_NODES, 7), 7);
	weft_info_destroy(info);
	weft_info_destroy(set);
}

/* Every key that the library knows is known to the warning, too. */
static void only_unknown_keys_are_warned_about(void **state)
{
	struct weft_info *all = weft_info_create(), *wrong;

	(void)state;
	for (int i = 0; i < WEFT_HINT_N; i++)
		assert_int_equal(weft_hint_set(all, (enum weft_hint)i, "x"), 0);
	capture_start(&capture);
	weft_hint_warn_unknown(all);
	weft_hint_warn_unknown(NULL);
	assert_string_equal(capture_stop(&capture), "");
	wrong = info_with("weft_psat", "x");
	capture_start(&capture);
	weft_hint_warn_unknown(wrong);
	assert_non_null(strstr(capture_stop(&capture),
		"there is no info key weft_psat; the nearest is weft_pset"));
	weft_info_destroy(all);
	weft_info_destroy(wrong);
}

static void a_bad_value_is_an_error_where_asked(void **state)
{
	struct weft_info *info = info_with("weft_abort", "all");

	(void)state;
	assert_int_equal(weft_hint_check_values(WEFT_HINT_OF_SESSION, NULL), 0);
	assert_int_equal(weft_hint_check_values(WEFT_HINT_OF_FILE, info), 0);
	assert_int_equal(weft_hint_check_values(WEFT_HINT_OF_SESSION, info),
		WEFT_ERR_INFO_VALUE);
	assert_string_equal(weft_err_detail_peek(WEFT_ERR_INFO_VALUE),
		"info key weft_abort: \"all\" is not valid; the values are "
		"job|session|group");
	weft_info_destroy(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_unique_and_defaults_valid),
		cmocka_unit_test(values_are_checked),
		cmocka_unit_test(objects_accept_their_keys),
		cmocka_unit_test(defaults_are_in_effect),
		cmocka_unit_test(only_unknown_keys_are_warned_about),
		cmocka_unit_test(a_bad_value_is_an_error_where_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
