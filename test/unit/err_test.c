/* SPDX-License-Identifier: BSD-3-Clause */
/* err_test: texts of errors, and the last error that a thread stores */
#include "base/err.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void every_error_has_a_sentence(void **state)
{
	(void)state;
	for (int err = WEFT_ERR_FIRST_ + 1; err < WEFT_ERR_END_; err++) {
		assert_true(err < 0);
		assert_true(strlen(weft_err_str(err)) > 3);
		assert_string_not_equal(weft_err_str(err), "unknown error");
	}
}

static void foreign_numbers_are_answered(void **state)
{
	(void)state;
	assert_string_equal(weft_err_str(0), "success");
	assert_string_equal(weft_err_str(1), "unknown error");
	assert_string_equal(weft_err_str(-1), "unknown error");
	assert_string_equal(weft_err_str(WEFT_ERR_FIRST_), "unknown error");
	assert_string_equal(weft_err_str(WEFT_ERR_END_), "unknown error");
	assert_string_equal(weft_err_str(INT32_MIN), "unknown error");
}

static void detail_belongs_to_its_error(void **state)
{
	(void)state;
	assert_int_equal(weft_err_set(WEFT_ERR_RANK, "rank %d of %d", 7, 4),
		WEFT_ERR_RANK);
	assert_string_equal(weft_err_detail_peek(WEFT_ERR_RANK), "rank 7 of 4");
	assert_string_equal(weft_err_detail_peek(WEFT_ERR_TAG), "");
}

static void long_detail_is_cut(void **state)
{
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	weft_err_set(WEFT_ERR_ARG, "%s", text);
	assert_int_equal(
		strlen(weft_err_detail_peek(WEFT_ERR_ARG)), WEFT_ERR_TEXT - 1);
}

static void *other_thread(void *arg)
{
	const char **seen = arg;

	*seen = *weft_err_detail_peek(WEFT_ERR_RANK) ? "leaked" : "empty";
	weft_err_set(WEFT_ERR_RANK, "other");
	return NULL;
}

static void detail_belongs_to_its_thread(void **state)
{
	const char *seen = NULL;
	pthread_t thread;

	(void)state;
	weft_err_set(WEFT_ERR_RANK, "mine");
	assert_int_equal(pthread_create(&thread, NULL, other_thread, &seen), 0);
	pthread_join(thread, NULL);
	assert_string_equal(seen, "empty");
	assert_string_equal(weft_err_detail_peek(WEFT_ERR_RANK), "mine");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_error_has_a_sentence),
		cmocka_unit_test(foreign_numbers_are_answered),
		cmocka_unit_test(detail_belongs_to_its_error),
		cmocka_unit_test(long_detail_is_cut),
		cmocka_unit_test(detail_belongs_to_its_thread),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
