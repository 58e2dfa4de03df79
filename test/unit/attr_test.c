/* SPDX-License-Identifier: BSD-3-Clause */
/* attr_test: attributes, and the effect of a failing function of the user */
#include "core/attr.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { KIND = 1, OTHER = 2, N = 10 };

/* Arguments that the user's functions received, and whether they fail. */
static struct {
	int n_deleted;
	intptr_t deleted[32];
	int fail_delete;
	int fail_copy;
	int n_copied;
} seen;

static int on_delete(void *handle, int keyval, void *value, void *extra)
{
	(void)handle;
	(void)keyval;
	(void)extra;
	if (seen.fail_delete)
		return seen.fail_delete;
	seen.deleted[seen.n_deleted++ % 32] = (intptr_t)value;
	return 0;
}

/* Copies even values only, and doubles them. */
static int on_copy(void *handle, int keyval, void *extra, void *value,
	void *value_out, int *flag_out)
{
	(void)handle;
	(void)keyval;
	(void)extra;
	seen.n_copied++;
	if (seen.fail_copy && seen.n_copied == seen.fail_copy)
		return 77;
	*flag_out = (intptr_t)value % 2 == 0;
	*(void **)value_out = (void *)(2 * (intptr_t)value);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	seen.n_deleted = 0;
	seen.fail_delete = 0;
	seen.fail_copy = 0;
	seen.n_copied = 0;
	return 0;
}

static intptr_t get(struct weft_attrs *const *attrs, int keyval)
{
	intptr_t value;
	bool found;

	assert_int_equal(
		weft_attr_get(attrs, KIND, keyval, WEFT_ATTR_C, &value, &found),
		0);
	return found ? value : -1;
}

static int set(struct weft_attrs **attrs, int kind, int keyval, intptr_t value)
{
	return weft_attr_set(attrs, kind, NULL, keyval, WEFT_ATTR_C, value);
}

static void make_keys(int *keys, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(weft_keyval_create(KIND, WEFT_ATTR_C, on_copy,
					 on_delete, NULL, &keys[i]),
			0);
}

static void free_keys(int *keys, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(weft_keyval_free(KIND, keys[i]), 0);
}

static void test_set_get(void **state)
{
	struct weft_attrs *attrs = NULL;
	int keys[N];

	(void)state;
	make_keys(keys, N);
	for (int i = 0; i < N; i++) {
		assert_int_equal(get(&attrs, keys[i]), -1);
		assert_int_equal(set(&attrs, KIND, keys[i], i), 0);
	}
	for (int i = 0; i < N; i++)
		assert_int_equal(get(&attrs, keys[i]), i);
	/* replacing deletes the old value */
	assert_int_equal(set(&attrs, KIND, keys[3], 33), 0);
	assert_int_equal(seen.n_deleted, 1);
	assert_int_equal(seen.deleted[0], 3);
	assert_int_equal(weft_attr_delete(&attrs, KIND, NULL, keys[3]), 0);
	assert_int_equal(seen.deleted[1], 33);
	assert_int_equal(
		weft_attr_delete(&attrs, KIND, NULL, keys[3]), WEFT_ERR_KEYVAL);
	/* the other attributes are deleted newest first */
	assert_int_equal(weft_attr_delete_all(&attrs, NULL), 0);
	assert_int_equal(seen.n_deleted, N + 1);
	for (int i = 0; i < 6; i++)
		assert_int_equal(seen.deleted[2 + i], N - 1 - i);
	weft_attrs_destroy(attrs);
	free_keys(keys, N);
}

static void test_wrong_key(void **state)
{
	struct weft_attrs *attrs = NULL;
	int key;
	intptr_t value;
	bool found;

	(void)state;
	make_keys(&key, 1);
	assert_int_equal(set(&attrs, OTHER, key, 0), WEFT_ERR_KEYVAL);
	assert_int_equal(set(&attrs, KIND, 0, 0), WEFT_ERR_KEYVAL);
	assert_int_equal(
		weft_attr_get(&attrs, KIND, -5, WEFT_ATTR_C, &value, &found),
		WEFT_ERR_KEYVAL);
	assert_int_equal(weft_keyval_free(OTHER, key), WEFT_ERR_KEYVAL);
	free_keys(&key, 1);
	assert_int_equal(weft_keyval_free(KIND, key), WEFT_ERR_KEYVAL);
	assert_null(attrs);
}

/* A freed key exists until no attribute uses it. */
static void test_freed_key(void **state)
{
	struct weft_attrs *attrs = NULL;
	intptr_t value;
	bool found;
	int key;

	(void)state;
	make_keys(&key, 1);
	assert_int_equal(set(&attrs, KIND, key, 8), 0);
	free_keys(&key, 1);
	free_keys(&key, 1);
	assert_int_equal(get(&attrs, key), 8);
	assert_int_equal(weft_attr_delete_all(&attrs, NULL), 0);
	assert_int_equal(seen.deleted[0], 8);
	assert_int_equal(
		weft_attr_get(&attrs, KIND, key, WEFT_ATTR_C, &value, &found),
		WEFT_ERR_KEYVAL);
	weft_attrs_destroy(attrs);
}

static void test_failing_delete(void **state)
{
	struct weft_attrs *attrs = NULL;
	int key;

	(void)state;
	make_keys(&key, 1);
	assert_int_equal(set(&attrs, KIND, key, 1), 0);
	seen.fail_delete = 55;
	assert_int_equal(set(&attrs, KIND, key, 2), 55);
	assert_int_equal(weft_attr_delete(&attrs, KIND, NULL, key), 55);
	assert_int_equal(weft_attr_delete_all(&attrs, NULL), 55);
	assert_int_equal(get(&attrs, key), 1);
	seen.fail_delete = 0;
	assert_int_equal(weft_attr_delete_all(&attrs, NULL), 0);
	assert_int_equal(seen.n_deleted, 1);
	weft_attrs_destroy(attrs);
	free_keys(&key, 1);
}

static void test_copy(void **state)
{
	struct weft_attrs *attrs = NULL, *copy = NULL;
	int keys[N], dup, never;

	(void)state;
	make_keys(keys, N);
	assert_int_equal(weft_keyval_create(KIND, WEFT_ATTR_C, WEFT_ATTR_DUP,
				 NULL, NULL, &dup),
		0);
	assert_int_equal(
		weft_keyval_create(KIND, WEFT_ATTR_C, NULL, NULL, NULL, &never),
		0);
	for (int i = 0; i < N; i++)
		set(&attrs, KIND, keys[i], i);
	set(&attrs, KIND, dup, 41);
	set(&attrs, KIND, never, 42);
	assert_int_equal(weft_attr_copy_all(&attrs, NULL, &copy), 0);
	for (int i = 0; i < N; i++)
		assert_int_equal(get(&copy, keys[i]), i % 2 ? -1 : 2 * i);
	assert_int_equal(get(&copy, dup), 41);
	assert_int_equal(get(&copy, never), -1);
	weft_attrs_destroy(copy);
	/* the fourth copy function fails: three functions were called before,
	 * two of them copied */
	copy = NULL;
	seen.n_copied = 0;
	seen.fail_copy = 4;
	assert_int_equal(weft_attr_copy_all(&attrs, NULL, &copy), 77);
	assert_int_equal(get(&copy, keys[2]), 4);
	assert_int_equal(get(&copy, keys[4]), -1);
	weft_attrs_destroy(copy);
	weft_attrs_destroy(attrs);
	free_keys(keys, N);
	free_keys(&dup, 1);
	free_keys(&never, 1);
}

static intptr_t read_in(
	enum weft_attr_lang lang, struct weft_attrs *const *attrs, int keyval)
{
	intptr_t value = 0;
	bool found;

	assert_int_equal(
		weft_attr_get(attrs, KIND, keyval, lang, &value, &found), 0);
	assert_true(found);
	return value;
}

/* C reads the address of a value that Fortran set; Fortran reads a value that C
 * set as an integer. A copy has an address of its own. */
static void test_languages(void **state)
{
	struct weft_attrs *attrs = NULL, *copy = NULL;
	intptr_t place, again;
	int dup, key, f_key;

	(void)state;
	make_keys(&key, 1);
	assert_int_equal(weft_keyval_create(KIND, WEFT_ATTR_C, WEFT_ATTR_DUP,
				 on_delete, NULL, &dup),
		0);
	assert_int_equal(weft_keyval_create(KIND, WEFT_ATTR_FORTRAN, on_copy,
				 on_delete, NULL, &f_key),
		0);
	assert_int_equal(
		weft_attr_set(&attrs, KIND, NULL, dup, WEFT_ATTR_FORTRAN, -12),
		0);
	assert_int_equal(
		weft_attr_set(&attrs, KIND, NULL, f_key, WEFT_ATTR_FORTRAN, 6),
		0);
	set(&attrs, KIND, key, (intptr_t)&place);
	place = read_in(WEFT_ATTR_C, &attrs, dup);
	assert_int_equal(*(intptr_t *)place, -12);
	assert_int_equal(*(int *)place, -12);
	assert_int_equal(read_in(WEFT_ATTR_FORTRAN, &attrs, dup), -12);
	assert_int_equal(
		read_in(WEFT_ATTR_FORTRAN, &attrs, key), (intptr_t)&place);
	assert_int_equal(weft_attr_copy_all(&attrs, NULL, &copy), 0);
	again = read_in(WEFT_ATTR_C, &copy, dup);
	assert_int_not_equal(again, place);
	assert_int_equal(*(intptr_t *)again, -12);
	assert_int_equal(read_in(WEFT_ATTR_FORTRAN, &copy, f_key), 12);
	/* a function of Fortran receives the integer, a function of C its
	 * address */
	seen.n_deleted = 0;
	assert_int_equal(weft_attr_delete(&attrs, KIND, NULL, f_key), 0);
	assert_int_equal(seen.deleted[0], 6);
	assert_int_equal(weft_attr_delete(&attrs, KIND, NULL, dup), 0);
	assert_int_equal(seen.deleted[1], place);
	assert_int_equal(*(intptr_t *)again, -12);
	weft_attrs_destroy(attrs);
	weft_attrs_destroy(copy);
	free_keys(&dup, 1);
	free_keys(&key, 1);
	free_keys(&f_key, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_set_get, setup),
		cmocka_unit_test_setup(test_wrong_key, setup),
		cmocka_unit_test_setup(test_freed_key, setup),
		cmocka_unit_test_setup(test_failing_delete, setup),
		cmocka_unit_test_setup(test_copy, setup),
		cmocka_unit_test_setup(test_languages, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
