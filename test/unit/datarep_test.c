/* SPDX-License-Identifier: BSD-3-Clause */
/* datarep_test: sizes, layouts and conversion of data representations */
#include "io/datarep.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { TYPE_LONG = 0x20a, TYPE_DOUBLE = 0x214 };

/* Returns a type of a long, which has 4 bytes in external32, and two doubles.
 */
static struct weft_type *long_and_doubles(void)
{
	const int64_t lens[] = { 1, 2 }, displs[] = { 0, 8 };
	struct weft_type *types[] = { weft_type_builtin(TYPE_LONG),
		weft_type_builtin(TYPE_DOUBLE) };
	struct weft_type *type;

	assert_int_equal(
		weft_type_make_struct(2, lens, displs, types, &type), 0);
	return type;
}

static void names_are_found(void **state)
{
	struct weft_datarep rep = { .kind = WEFT_DATAREP_USER, .name = "test" };

	(void)state;
	assert_int_equal(
		weft_datarep_find("internal")->kind, WEFT_DATAREP_NATIVE);
	assert_int_equal(
		weft_datarep_find("external32")->kind, WEFT_DATAREP_EXTERNAL);
	assert_null(weft_datarep_find("test"));
	assert_int_equal(weft_datarep_register(&rep), 0);
	assert_string_equal(weft_datarep_find("test")->name, "test");
	assert_int_equal(weft_datarep_register(&rep), WEFT_ERR_DUP_DATAREP);
	strcpy(rep.name, "native");
	assert_int_equal(weft_datarep_register(&rep), WEFT_ERR_DUP_DATAREP);
}

static void sizes_follow_the_representation(void **state)
{
	const struct weft_datarep *native = weft_datarep_find("native");
	const struct weft_datarep *external = weft_datarep_find("external32");
	struct weft_type *type = long_and_doubles(), *layout;
	int64_t size, memory;

	(void)state;
	assert_int_equal(weft_datarep_size(native, type, &size), 0);
	assert_int_equal(size, 24);
	assert_int_equal(weft_datarep_size(external, type, &size), 0);
	assert_int_equal(size, 20);
	/* only complete elements count */
	for (int64_t len = 0; len <= 2 * 20; len++) {
		int64_t rest = len % 20;

		assert_int_equal(
			weft_datarep_in_memory(external, type, len, &memory),
			0);
		assert_int_equal(memory, len / 20 * 24 + (rest >= 4 ? 8 : 0) +
						 (rest >= 12 ? 8 : 0));
	}
	assert_int_equal(weft_datarep_layout(external, type, &layout), 0);
	assert_int_equal(layout->size, 20);
	weft_type_put(layout);
	weft_type_put(type);
}

/* Items that were written are read back. Of the last item, only the elements
 * that the data has are changed. */
static void external_data_is_converted_and_back(void **state)
{
	struct item {
		long number;
		double values[2];
	} out[3] = { { 1, { 1.5, -2 } }, { -2, { 3, 4 } },
		{ 77, { 5.25, 6 } } },
	  in[3];
	const struct weft_datarep *external = weft_datarep_find("external32");
	struct weft_type *type = long_and_doubles();
	unsigned char data[3 * 20];
	struct weft_datarep_move move = {
		.type = type, .buf = out, .count = 3, .data = data
	};

	(void)state;
	assert_int_equal(weft_datarep_write(external, &move), 0);
	assert_memory_equal(data, "\0\0\0\1\x3f\xf8\0\0\0\0\0\0", 12);
	memset(in, 0x55, sizeof(in));
	move.buf = in;
	assert_int_equal(weft_datarep_read(external, &move, 2 * 20 + 13), 0);
	assert_memory_equal(in, out, 2 * sizeof(in[0]));
	assert_int_equal(in[2].number, 77);
	assert_true(in[2].values[0] == 5.25);
	assert_memory_equal(&in[2].values[1], "UUUUUUUU", 8);
	/* a read that begins at the second item */
	memset(in, 0x55, sizeof(in));
	move.first = 1;
	move.count = 2;
	move.data = data + 20;
	assert_int_equal(weft_datarep_read(external, &move, 2 * 20), 0);
	assert_memory_equal(&in[1], &out[1], 2 * sizeof(in[0]));
	assert_memory_equal(&in[0], "UUUUUUUU", 8);
	weft_type_put(type);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found),
		cmocka_unit_test(sizes_follow_the_representation),
		cmocka_unit_test(external_data_is_converted_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
