/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_codec_test: converts the library's types to PMIx's and back */
#include "base/err.h"
#include "pmix/pmix_codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void test_vec_grows(void **state)
{
	struct weft_infovec vec = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		weft_infovec_set_u32(&vec, "k", i);
	assert_int_equal(vec.err, 0);
	assert_int_equal(vec.n, 100);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(vec.info[i].value.type, PMIX_UINT32);
		assert_int_equal(vec.info[i].value.data.uint32, i);
	}
	weft_infovec_fini(&vec);
	assert_int_equal(vec.n, 0);
	assert_null(vec.info);
}

static void test_vec_copies(void **state)
{
	struct weft_infovec vec = { 0 };
	char text[] = "before", bytes[] = { 1, 2, 3 };
	const void *data = NULL;
	const char *s = NULL;
	size_t len = 0;

	(void)state;
	weft_infovec_set_str(&vec, "s", text);
	weft_infovec_set_bytes(&vec, "b", bytes, sizeof(bytes));
	text[0] = bytes[0] = 'X';
	assert_int_equal(weft_value_peek_str(&vec.info[0].value, &s), 0);
	assert_string_equal(s, "before");
	assert_int_equal(
		weft_value_peek_bytes(&vec.info[1].value, &data, &len), 0);
	assert_int_equal(len, 3);
	assert_int_equal(((const char *)data)[0], 1);
	weft_infovec_fini(&vec);
}

static void test_nested(void **state)
{
	struct weft_infovec vec = { 0 }, sub = { 0 };
	const pmix_data_array_t *array;

	(void)state;
	weft_infovec_set_rank(&sub, PMIX_RANK, 3);
	weft_infovec_set_str(&sub, PMIX_HOSTNAME, "h");
	weft_infovec_set_vec(&vec, PMIX_PROC_INFO_ARRAY, &sub);
	weft_infovec_fini(&sub);
	assert_int_equal(vec.info[0].value.type, PMIX_DATA_ARRAY);
	array = vec.info[0].value.data.darray;
	assert_int_equal(array->type, PMIX_INFO);
	assert_int_equal(array->size, 2);
	assert_string_equal(
		((pmix_info_t *)array->array)[1].value.data.string, "h");
	weft_infovec_fini(&vec);
}

static void test_numbers_of_any_type(void **state)
{
	pmix_value_t v = { .type = PMIX_INT, .data.integer = 5 };
	uint32_t out = 9;
	int i = 9;

	(void)state;
	assert_int_equal(weft_value_get_u32(&v, &out), 0);
	assert_int_equal(out, 5);
	v = (pmix_value_t){ .type = PMIX_UINT16, .data.uint16 = 65535 };
	assert_int_equal(weft_value_get_u32(&v, &out), 0);
	assert_int_equal(out, 65535);
	v = (pmix_value_t){ .type = PMIX_PROC_RANK, .data.rank = 70000 };
	assert_int_equal(weft_value_get_u32(&v, &out), 0);
	assert_int_equal(out, 70000);
	v = (pmix_value_t){ .type = PMIX_INT, .data.integer = -1 };
	assert_int_equal(weft_value_get_u32(&v, &out), WEFT_ERR_TYPE);
	assert_int_equal(out, 70000);
	assert_int_equal(weft_value_get_int(&v, &i), 0);
	assert_int_equal(i, -1);
	v = (pmix_value_t){ .type = PMIX_SIZE, .data.size = 1ull << 40 };
	assert_int_equal(weft_value_get_u32(&v, &out), WEFT_ERR_TYPE);
	assert_int_equal(weft_value_get_int(&v, &i), WEFT_ERR_TYPE);
}

static void test_wrong_types(void **state)
{
	pmix_value_t v = { .type = PMIX_STRING, .data.string = NULL };
	const void *data = NULL;
	const char *s = "kept";
	size_t len = 4;
	uint32_t n = 4;

	(void)state;
	assert_int_equal(weft_value_peek_str(&v, &s), WEFT_ERR_TYPE);
	assert_string_equal(s, "kept");
	assert_int_equal(weft_value_get_u32(&v, &n), WEFT_ERR_TYPE);
	assert_int_equal(weft_value_peek_bytes(&v, &data, &len), WEFT_ERR_TYPE);
	assert_int_equal(len, 4);
}

static void check_ranks(const char *text, const uint32_t *expected, size_t n)
{
	uint32_t *ranks = NULL;
	size_t got = 0;

	assert_int_equal(weft_ranks_parse(text, &ranks, &got), 0);
	assert_int_equal(got, n);
	assert_memory_equal(ranks, expected, n * sizeof(*ranks));
	free(ranks);
}

static void test_ranks(void **state)
{
	static const uint32_t one[] = { 7 }, some[] = { 0, 1, 2, 3, 9 };

	(void)state;
	check_ranks("7", one, 1);
	check_ranks("0,2,1,3,9", some, 5); /* as PRRTE returns them */
	check_ranks("9,0-3,2-2", some, 5);
}

static void test_bad_ranks(void **state)
{
	static const char *const bad[] = { "", ",", "1,", "x", "1x", "-1",
		"3-1", "1--2", "1-", " 1", "4294967295", "99999999999999999999",
		"1 2" };
	uint32_t *ranks = NULL;
	size_t n = 5;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(
			weft_ranks_parse(bad[i], &ranks, &n), WEFT_ERR_ARG);
		assert_null(ranks);
		assert_int_equal(n, 5);
	}
}

/* A process of another job keeps its number, although the name of its job is
 * not known. */
static void test_procs(void **state)
{
	static const uint64_t other = UINT64_C(0x00ab12cd00000007);
	pmix_proc_t proc;
	uint64_t mine;

	(void)state;
	PMIX_LOAD_PROCID(&proc, "mine", 3);
	mine = weft_pmix_number(&proc);
	assert_int_equal((uint32_t)mine, 3);
	weft_pmix_proc_load(&proc, "mine", mine + 1);
	assert_string_equal(proc.nspace, "mine");
	assert_int_equal(proc.rank, 4);
	weft_pmix_proc_load(&proc, "mine", other);
	assert_string_not_equal(proc.nspace, "mine");
	assert_true(weft_pmix_number(&proc) == other);
}

static void test_names(void **state)
{
	char **names = NULL;
	size_t n = 0;

	(void)state;
	assert_int_equal(weft_names_split("a,bb,a,,ab,bb", &names, &n), 0);
	assert_int_equal(n, 3);
	assert_string_equal(names[0], "a");
	assert_string_equal(names[1], "bb");
	assert_string_equal(names[2], "ab");
	free(names);
	assert_int_equal(weft_names_split("", &names, &n), 0);
	assert_int_equal(n, 0);
	assert_null(names);
	assert_int_equal(weft_names_split(",", &names, &n), 0);
	assert_int_equal(n, 0);
}

static void test_status(void **state)
{
	(void)state;
	assert_int_equal(weft_pmix_err(PMIX_SUCCESS), 0);
	assert_int_equal(weft_pmix_err(PMIX_OPERATION_SUCCEEDED), 0);
	assert_int_equal(weft_pmix_err(PMIX_ERR_NOT_FOUND), WEFT_ERR_NOTFOUND);
	assert_int_equal(
		weft_pmix_err(PMIX_ERR_PARTIAL_SUCCESS), WEFT_ERR_PEER);
	assert_int_equal(weft_pmix_err(PMIX_ERR_UNREACH), WEFT_ERR_BOOT);
	assert_int_equal(weft_pmix_err(-12345), WEFT_ERR_BOOT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vec_grows),
		cmocka_unit_test(test_vec_copies),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_numbers_of_any_type),
		cmocka_unit_test(test_wrong_types),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_bad_ranks),
		cmocka_unit_test(test_procs),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
