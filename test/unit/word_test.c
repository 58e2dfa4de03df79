/* SPDX-License-Identifier: BSD-3-Clause */
/* word_test: copies of every length at every offset change no other byte */
#include "base/word.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 48, LEN_MAX = 17 };

static void check(const char *to, size_t at, const char *from, size_t len)
{
	for (size_t i = 0; i < ROOM; i++)
		assert_int_equal(to[i],
			i >= at && i < at + len ? from[i - at] : (char)0xee);
}

static void copy_at(size_t at, size_t from_at, size_t len)
{
	_Alignas(8) char from[ROOM], to[ROOM];

	for (size_t i = 0; i < ROOM; i++)
		from[i] = (char)(i + 1);
	memset(to, 0xee, ROOM);
	weft_word_store(to + at, from + from_at, len, __ATOMIC_RELEASE);
	check(to, at, from + from_at, len);
	memset(to, 0xee, ROOM);
	weft_word_store(to + at, from + from_at, len, __ATOMIC_RELAXED);
	check(to, at, from + from_at, len);
	memset(to, 0xee, ROOM);
	weft_word_load(to + at, from + from_at, len);
	check(to, at, from + from_at, len);
}

static void test_places(void **state)
{
	(void)state;
	for (size_t len = 0; len <= LEN_MAX; len++)
		for (size_t at = 1; at <= 16; at++)
			for (size_t from_at = 1; from_at <= 16; from_at++)
				copy_at(at, from_at, len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
