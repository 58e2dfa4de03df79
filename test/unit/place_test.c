/* SPDX-License-Identifier: BSD-3-Clause */
/* place_test: dealing processes on a made-up machine */
#include "base/err.h"
#include "topo/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* two sockets of two cores of two threads: threads 0-3 and 4-7 */
static const char machine[] = "Package:2 NUMANode:1 Core:2 PU:2";

/* The processors of each process as one byte, bit p for processor p. */
static void deal(const char *bind, const char *map, uint32_t n, uint8_t *out)
{
	struct weft_place place = { bind, map, machine };
	cpu_set_t sets[16];

	assert_int_equal(weft_place_deal(&place, n, sets), 0);
	for (uint32_t i = 0; i < n; i++) {
		out[i] = 0;
		for (int p = 0; p < 8; p++)
			if (CPU_ISSET(p, &sets[i]))
				out[i] |= (uint8_t)(1 << p);
	}
}

static void check(
	const char *bind, const char *map, uint32_t n, const uint8_t *expected)
{
	uint8_t got[16];

	deal(bind, map, n, got);
	assert_memory_equal(got, expected, n);
}

static void test_bind(void **state)
{
	static const uint8_t cores[] = { 0x03, 0x0c, 0x30, 0xc0, 0x03 };
	static const uint8_t sockets[] = { 0x0f, 0xf0, 0x0f };
	static const uint8_t threads[] = { 1, 2, 4, 8, 16, 32, 64, 128, 1 };

	(void)state;
	check("core", NULL, 5, cores); /* the fifth starts over */
	check("socket", NULL, 3, sockets);
	check("numa", NULL, 3, sockets);
	check("hwthread", NULL, 9, threads);
}

static void test_map(void **state)
{
	static const uint8_t by_socket[] = { 0x03, 0x30, 0x0c, 0xc0, 0x03 };
	static const uint8_t wide[] = { 0x0f, 0x0f, 0xf0, 0xf0 };
	static const uint8_t alone[] = { 0x0f, 0xf0 };

	(void)state;
	check("core", "socket", 5, by_socket);
	check("socket", "core", 4, wide);
	check(NULL, "numa", 2, alone);
}

static void test_errors(void **state)
{
	struct weft_place place = { "board", NULL, machine };
	cpu_set_t set;

	(void)state;
	assert_int_equal(weft_place_deal(&place, 1, &set), WEFT_ERR_ARG);
	place.bind = "core";
	place.machine = "Package:2 PU:2";
	assert_int_equal(weft_place_deal(&place, 1, &set), WEFT_ERR_NOTFOUND);
	place.machine = "nonsense";
	assert_int_equal(weft_place_deal(&place, 1, &set), WEFT_ERR_OTHER);
}

static void test_real_machine(void **state)
{
	struct weft_place place = { "hwthread", NULL, NULL };
	cpu_set_t mine, sets[2];

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
	assert_int_equal(weft_place_deal(&place, 2, sets), 0);
	for (int i = 0; i < 2; i++) {
		cpu_set_t both;

		CPU_AND(&both, &sets[i], &mine);
		assert_true(CPU_EQUAL(&both, &sets[i]));
		assert_int_equal(CPU_COUNT(&sets[i]), 1);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_real_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
