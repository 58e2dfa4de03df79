/* SPDX-License-Identifier: BSD-3-Clause */
/* place_test: binding of processes on a simulated machine */
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
	struct weft_place place = { bind, map, machine, 0 };
	cpu_set_t sets[16];

	assert_int_equal(weft_place_assign(&place, n, sets), 0);
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
	check("core", NULL, 5, cores); /* the fifth process uses the first core
					* again */
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

static void check_cores(
	const char *map, uint32_t n_cores, uint32_t n, const uint8_t *expected)
{
	struct weft_place place = { "core", map, machine, n_cores };
	cpu_set_t sets[4];

	assert_int_equal(weft_place_assign(&place, n, sets), 0);
	for (uint32_t i = 0; i < n; i++)
		for (int p = 0; p < 8; p++)
			assert_int_equal(
				!!CPU_ISSET(p, &sets[i]), expected[i] >> p & 1);
	assert_int_equal(weft_place_assign(&place, 4, sets), WEFT_ERR_NOTFOUND);
	place.bind = "socket";
	assert_int_equal(weft_place_assign(&place, n, sets), WEFT_ERR_ARG);
}

static void test_cores(void **state)
{
	static const uint8_t pairs[] = { 0x0f, 0xf0 }, three[] = { 0x3f };

	(void)state;
	check_cores(NULL, 2, 2, pairs);
	check_cores("socket", 2, 2, pairs);
	check_cores(NULL, 3, 1, three);
	check_cores("numa", 2, 1, pairs);
}

/* Claims the core whose first processor is cpu: bit cpu of *arg. False if the
 * core is claimed already. */
static bool claim(void *arg, unsigned cpu)
{
	uint8_t *claimed = arg, bit = (uint8_t)(1 << cpu);

	if (*claimed & bit)
		return false;
	*claimed |= bit;
	return true;
}

/* Places a job after other jobs, which have claimed the cores in *claimed. */
static void check_choice(const char *hw, uint32_t n, bool is_threaded,
	uint8_t *claimed, enum weft_place_choice expected, uint8_t first)
{
	enum weft_place_choice choice;
	cpu_set_t sets[16];
	uint8_t got = 0;

	assert_int_equal(weft_place_choose(hw, n, is_threaded, claim, claimed,
				 sets, &choice),
		0);
	assert_int_equal(choice, expected);
	for (int p = 0; first && p < 8; p++)
		got |= (uint8_t)(CPU_ISSET(p, &sets[0]) << p);
	assert_int_equal(got, first);
}

static void test_choice(void **state)
{
	static const char small[] = "NUMANode:1 Core:4 PU:1";
	uint8_t claimed = 0;
	cpu_set_t set;

	(void)state;
	check_choice(machine, 2, false, &claimed, WEFT_PLACE_CORES, 0x03);
	assert_int_equal(claimed, 0x05);
	/* other processes use the remaining cores, if there are enough */
	check_choice(machine, 2, false, &claimed, WEFT_PLACE_CORES, 0x30);
	check_choice(machine, 2, false, &claimed, WEFT_PLACE_CORES_CLAIMED, 0);
	claimed = 0;
	check_choice(machine, 3, false, &claimed, WEFT_PLACE_NUMA, 0x0f);
	assert_int_equal(claimed, 0x15); /* in turn: 0, 4, 2 */
	check_choice(machine, 2, false, &claimed, WEFT_PLACE_CORES_CLAIMED, 0);
	claimed = 0;
	check_choice(machine, 2, true, &claimed, WEFT_PLACE_NUMA, 0x0f);
	claimed = 0;
	check_choice(machine, 1, false, &claimed, WEFT_PLACE_ONE_PROCESS, 0);
	assert_int_equal(claimed, 0x01);
	claimed = 0;
	check_choice(machine, 5, false, &claimed, WEFT_PLACE_TOO_FEW_CORES, 0);
	assert_int_equal(claimed, 0x55);
	claimed = 0;
	check_choice(small, 3, false, &claimed, WEFT_PLACE_ONE_NUMA, 0);
	claimed = 0;
	check_choice("PU:2", 2, false, &claimed, WEFT_PLACE_CORES, 1);
	claimed = 0;
	CPU_ZERO(&set);
	CPU_SET(3, &set); /* second thread of the second core */
	assert_int_equal(
		weft_place_claim(machine, &set, 1, claim, &claimed), 0);
	assert_int_equal(claimed, 0x04);
}

static void test_errors(void **state)
{
	struct weft_place place = { "board", NULL, machine, 0 };
	cpu_set_t set;

	(void)state;
	assert_int_equal(weft_place_assign(&place, 1, &set), WEFT_ERR_ARG);
	place.bind = "core";
	place.machine = "Package:2 PU:2";
	assert_int_equal(weft_place_assign(&place, 1, &set), WEFT_ERR_NOTFOUND);
	place.machine = "nonsense";
	assert_int_equal(weft_place_assign(&place, 1, &set), WEFT_ERR_OTHER);
}

static void test_real_machine(void **state)
{
	struct weft_place place = { "hwthread", NULL, NULL, 0 };
	cpu_set_t mine, sets[2];

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
	assert_int_equal(weft_place_assign(&place, 2, sets), 0);
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
		cmocka_unit_test(test_cores),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_real_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
