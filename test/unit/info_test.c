/* SPDX-License-Identifier: BSD-3-Clause */
/* info_test: info objects, error classes and codes */
#include "core/info.h"

#include "base/err.h"
#include "core/errcode.h"
#include "core/errh.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void test_order(void **state)
{
	struct weft_info *info = weft_info_create();
	char key[WEFT_INFO_KEY_MAX + 1], want[16], value[16];

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "key%d", 99 - i);
		snprintf(value, sizeof(value), "%d", i);
		assert_int_equal(weft_info_set(info, key, value), 0);
	}
	assert_int_equal(weft_info_set(info, "key50", "again"), 0);
	assert_int_equal(weft_info_n_keys(info), 100);
	assert_int_equal(weft_info_delete(info, "key99"), 0);
	for (uint32_t i = 0; i < 99; i++) {
		snprintf(want, sizeof(want), "key%u", 98 - i);
		assert_int_equal(weft_info_key(info, i, key), 0);
		assert_string_equal(key, want);
	}
	assert_int_equal(weft_info_key(info, 99, key), WEFT_ERR_ARG);
	assert_int_equal(
		weft_info_value(info, "key50", value, sizeof(value)), 5);
	assert_string_equal(value, "again");
	weft_info_destroy(info);
}

static void test_values(void **state)
{
	struct weft_info *info = weft_info_create(), *copy;
	char value[8];

	(void)state;
	assert_int_equal(weft_info_set(info, "k", "  two words \t"), 0);
	assert_int_equal(weft_info_value(info, "k", value, sizeof(value)), 9);
	assert_string_equal(value, "two wor");
	assert_int_equal(weft_info_value(info, "k", value, 1), 9);
	assert_string_equal(value, "");
	assert_int_equal(weft_info_value(info, "K", value, 8), -1);
	assert_int_equal(weft_info_value(NULL, "k", value, 8), -1);
	assert_int_equal(weft_info_dup(info, &copy), 0);
	assert_int_equal(weft_info_set(info, "k", "changed"), 0);
	assert_int_equal(weft_info_value(copy, "k", NULL, 0), 9);
	weft_info_destroy(copy);
	weft_info_destroy(info);
	assert_int_equal(weft_info_dup(NULL, &copy), 0);
	assert_int_equal(weft_info_n_keys(copy), 0);
	weft_info_destroy(copy);
}

static void test_limits(void **state)
{
	struct weft_info *info = weft_info_create();
	char key[WEFT_INFO_KEY_MAX + 2], value[WEFT_INFO_VALUE_MAX + 2];

	(void)state;
	memset(key, 'k', sizeof(key));
	memset(value, 'v', sizeof(value));
	key[WEFT_INFO_KEY_MAX] = 0;
	value[WEFT_INFO_VALUE_MAX] = 0;
	assert_int_equal(weft_info_set(info, key, value), 0);
	assert_int_equal(
		weft_info_value(info, key, NULL, 0), WEFT_INFO_VALUE_MAX);
	key[WEFT_INFO_KEY_MAX] = 'k';
	key[WEFT_INFO_KEY_MAX + 1] = 0;
	value[WEFT_INFO_VALUE_MAX] = 'v';
	value[WEFT_INFO_VALUE_MAX + 1] = 0;
	assert_int_equal(weft_info_set(info, key, "v"), WEFT_ERR_INFO_KEY);
	assert_int_equal(weft_info_set(info, "", "v"), WEFT_ERR_INFO_KEY);
	assert_int_equal(weft_info_set(info, NULL, "v"), WEFT_ERR_INFO_KEY);
	assert_int_equal(weft_info_set(info, "k", value), WEFT_ERR_INFO_VALUE);
	assert_int_equal(weft_info_set(info, "k", NULL), WEFT_ERR_INFO_VALUE);
	assert_int_equal(weft_info_delete(info, "k"), WEFT_ERR_INFO_NOKEY);
	assert_int_equal(weft_info_n_keys(info), 1);
	weft_info_destroy(info);
}

static void *writer(void *arg)
{
	char key[16];

	for (int i = 0; i < 2000; i++) {
		snprintf(key, sizeof(key), "k%d", i % 50);
		if (weft_info_set(arg, key, key))
			return arg;
		if (i % 3 == 0)
			weft_info_delete(arg, key);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct weft_info *info = weft_info_create();
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, writer, info), 0);
	for (int i = 0; i < 4; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_true(weft_info_n_keys(info) <= 50);
	weft_info_destroy(info);
}

static void test_env(void **state)
{
	char value[WEFT_INFO_VALUE_MAX + 1];

	(void)state;
	assert_ptr_equal(weft_info_env(), weft_info_env());
	assert_true(weft_info_value(weft_info_env(), "command", value,
			    sizeof(value)) > 0);
	assert_non_null(strstr(value, "info_test"));
	assert_true(weft_info_value(weft_info_env(), "wdir", NULL, 0) > 0);
	assert_true(weft_info_value(weft_info_env(), "mpi_initial_errhandler",
			    value, sizeof(value)) > 0);
	assert_string_equal(value, "mpi_errors_are_fatal");
}

static void test_codes(void **state)
{
	int class_, code, second;
	char text[64];

	(void)state;
	assert_int_equal(weft_errcode_add_class(&class_), 0);
	assert_true(class_ > WEFT_ERRCODE_LAST);
	assert_int_equal(weft_errcode_add_code(class_, &code), 0);
	assert_int_equal(weft_errcode_add_code(3, &second), 0);
	assert_int_equal(weft_errcode_class(code), class_);
	assert_int_equal(weft_errcode_class(second), 3);
	assert_int_equal(*weft_errcode_last_peek(), second);
	assert_true(weft_errcode_text(code, text, sizeof(text)));
	assert_string_equal(text, "");
	assert_int_equal(weft_errcode_set_text(code, "broken"), 0);
	assert_true(weft_errcode_text(code, text, sizeof(text)));
	assert_string_equal(text, "broken");
	assert_int_equal(weft_errcode_remove_class(class_), WEFT_ERR_ARG);
	assert_int_equal(weft_errcode_remove_code(code), WEFT_ERR_ARG);
	assert_int_equal(weft_errcode_set_text(code, NULL), 0);
	assert_int_equal(weft_errcode_remove_code(code), 0);
	assert_int_equal(weft_errcode_remove_code(code), WEFT_ERR_ARG);
	assert_int_equal(weft_errcode_remove_class(class_), 0);
	assert_int_equal(weft_errcode_add_code(class_, &code), WEFT_ERR_ARG);
	assert_int_equal(weft_errcode_remove_code(second), 0);
	assert_int_equal(*weft_errcode_last_peek(), WEFT_ERRCODE_LAST);
}

static void test_handlers(void **state)
{
	struct weft_errh *errh = weft_errh_create(1, NULL), *slot = NULL;
	uint64_t handle = weft_obj_handle(errh);

	(void)state;
	weft_errh_set(&slot, errh);
	weft_errh_put(errh); /* the user frees the handle; the slot still refers
				to it */
	assert_ptr_equal(weft_table_get(&weft_errhs, handle), errh);
	weft_errh_set(&slot, &weft_errh_builtin[WEFT_ERRH_RETURN]);
	assert_null(weft_table_get(&weft_errhs, handle));
	weft_errh_set(&slot, NULL);
	assert_null(slot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_env),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_handlers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
