/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_test: SipHash-2-4 against its authors' published vectors */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* The key is 00..0f, the message 00..(len-1). */
static const struct {
	size_t len;
	uint64_t hash;
} vectors[] = {
	{ 0, 0x726fdb47dd0e0e31ull },
	{ 1, 0x74f839c593dc67fdull },
	{ 7, 0xab0200f58b01d137ull },
	{ 8, 0x93f5f5799a932462ull },
	{ 15, 0xa129ca6149be45e5ull },
	{ 63, 0x958a324ceb064572ull },
};

static void test_vectors(void **state)
{
	uint8_t key[16], data[64];

	(void)state;
	for (int i = 0; i < 16; i++)
		key[i] = (uint8_t)i;
	for (int i = 0; i < 64; i++)
		data[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		assert_int_equal(
			weft_hash(key, data, vectors[i].len), vectors[i].hash);
}

static void test_key_matters(void **state)
{
	uint8_t key[16] = { 0 };
	uint64_t before = weft_hash(key, "abc", 3);

	(void)state;
	for (int i = 0; i < 16; i++) {
		key[i] = 1;
		assert_int_not_equal(weft_hash(key, "abc", 3), before);
		key[i] = 0;
	}
	assert_int_equal(weft_hash(key, "abc", 3), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_key_matters),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
