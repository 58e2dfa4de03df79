/* SPDX-License-Identifier: BSD-3-Clause */
/* topo_test: objects by type on simulated machines and on this machine */
#include "base/err.h"
#include "base/log.h"
#include "topo/topo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char two_packages[] =
	"NUMANode:2 Package:1 L3Cache:1 L2Cache:4 L1dCache:1 Core:1 PU:2";

static struct weft_topo *open_two(const char *cpuset)
{
	struct weft_topo *topo = NULL;

	assert_int_equal(
		weft_topo_open_synthetic(two_packages, cpuset, &topo), 0);
	return topo;
}

static void expect_id(struct weft_topo *topo, const char *cpuset,
	const char *type, const char *want)
{
	char id[WEFT_TOPO_ID_MAX] = "";

	assert_int_equal(
		weft_topo_obj_of(topo, cpuset, type, id, sizeof(id)), 0);
	assert_string_equal(id, want);
}

static void objects_contain_the_binding(void **state)
{
	struct weft_topo *topo = open_two("8-9");

	(void)state;
	expect_id(topo, NULL, "Package", "Package:1");
	expect_id(topo, NULL, "Core", "Core:4");
	expect_id(topo, NULL, "Machine", "Machine:0");
	expect_id(topo, NULL, "NUMANode", "NUMANode:1");
	expect_id(topo, "0-1", "Core", "Core:0");
	expect_id(topo, "3", "PU", "PU:3");
	weft_topo_close(topo);
}

static void names_are_forgiving(void **state)
{
	struct weft_topo *topo = open_two("0-7");

	(void)state;
	expect_id(topo, NULL, "hwloc://Package", "Package:0");
	expect_id(topo, NULL, "package", "Package:0");
	expect_id(topo, NULL, "L3", "L3Cache:0");
	expect_id(topo, NULL, "L3Cache", "L3Cache:0");
	expect_id(topo, NULL, "numanode", "NUMANode:0");
	weft_topo_close(topo);
}

static void a_spread_binding_has_no_object(void **state)
{
	struct weft_topo *topo = open_two("0-15");
	char id[WEFT_TOPO_ID_MAX] = "old";

	(void)state;
	assert_int_equal(
		weft_topo_obj_of(topo, NULL, "Package", id, sizeof(id)),
		WEFT_ERR_NOTFOUND);
	assert_int_equal(
		weft_topo_obj_of(topo, "7-8", "NUMANode", id, sizeof(id)),
		WEFT_ERR_NOTFOUND);
	assert_string_equal(id, "old");
	expect_id(topo, NULL, "Machine", "Machine:0");
	weft_topo_close(topo);
}

static void bad_questions_are_refused(void **state)
{
	struct weft_topo *topo = open_two("0");
	char id[WEFT_TOPO_ID_MAX];

	(void)state;
	assert_int_equal(
		weft_topo_obj_of(topo, NULL, "Toaster", id, sizeof(id)),
		WEFT_ERR_NAME);
	assert_int_equal(
		weft_topo_obj_of(topo, NULL, "L4Cache", id, sizeof(id)),
		WEFT_ERR_NAME);
	assert_int_equal(
		weft_topo_obj_of(topo, "no list", "Core", id, sizeof(id)),
		WEFT_ERR_ARG);
	assert_int_equal(weft_topo_obj_of(topo, "4000", "Core", id, sizeof(id)),
		WEFT_ERR_ARG);
	assert_int_equal(
		weft_topo_obj_of(topo, NULL, "Core", id, 3), WEFT_ERR_ARG);
	assert_int_equal(weft_topo_n_objs(topo, "Toaster"), 0);
	weft_topo_close(topo);
}

static void types_come_largest_first(void **state)
{
	static const char *const want[] = { "Machine", "NUMANode", "Package",
		"L3Cache", "L2Cache", "L1dCache", "Core", "PU" };
	struct weft_topo *topo = open_two("0");
	const char *names[WEFT_TOPO_TYPES_MAX];
	size_t n = weft_topo_types(topo, names, WEFT_TOPO_TYPES_MAX);
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < n; i++)
		if (at < 8 && strcmp(names[i], want[at]) == 0)
			at++;
	assert_int_equal(n, 8);
	/* package and node have the same size here: either order will do */
	assert_true(at >= 7);
	assert_string_equal(names[0], "Machine");
	assert_string_equal(names[n - 1], "PU");
	assert_int_equal(weft_topo_n_objs(topo, "Core"), 8);
	assert_int_equal(weft_topo_n_objs(topo, "hwloc://Package"), 2);
	weft_topo_close(topo);
}

static void the_binding_is_detected(void **state)
{
	struct weft_topo *topo = open_two("0-3,8");

	(void)state;
	assert_string_equal(weft_topo_cpuset(topo), "0-3,8");
	assert_int_equal(weft_topo_n_cpus(topo), 5);
	weft_topo_close(topo);
}

static void malformed_machines_are_refused(void **state)
{
	struct weft_topo *topo = NULL;

	(void)state;
	assert_int_equal(weft_topo_open_synthetic("not a machine", "0", &topo),
		WEFT_ERR_ARG);
	assert_null(topo);
	weft_topo_close(NULL);
}

static void this_machine_is_readable(void **state)
{
	struct weft_topo *topo = NULL;
	const char *names[WEFT_TOPO_TYPES_MAX];

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(weft_topo_open(&topo), 0);
		assert_true(weft_topo_n_cpus(topo) >= 1);
		assert_true(weft_topo_cpuset(topo)[0] != '\0');
		assert_true(weft_topo_types(topo, names, 1) >= 2);
		assert_string_equal(names[0], "Machine");
		expect_id(topo, NULL, "Machine", "Machine:0");
		weft_topo_close(topo);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_contain_the_binding),
		cmocka_unit_test(names_are_forgiving),
		cmocka_unit_test(a_spread_binding_has_no_object),
		cmocka_unit_test(bad_questions_are_refused),
		cmocka_unit_test(types_come_largest_first),
		cmocka_unit_test(the_binding_is_detected),
		cmocka_unit_test(malformed_machines_are_refused),
		cmocka_unit_test(this_machine_is_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
