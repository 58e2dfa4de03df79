/* SPDX-License-Identifier: BSD-3-Clause */
/* slingshot_test: variables of the launcher and their effect */
#include "prov/slingshot.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void set_variables(const char *vnis, const char *devices,
	const char *services, const char *tcs)
{
	const char *const names[] = { "SLINGSHOT_VNIS", "SLINGSHOT_DEVICES",
		"SLINGSHOT_SVC_IDS", "SLINGSHOT_TCS" };
	const char *const values[] = { vnis, devices, services, tcs };

	for (int i = 0; i < 4; i++) {
		if (values[i])
			setenv(names[i], values[i], 1);
		else
			unsetenv(names[i]);
	}
}

static void expect_key(const char *device, unsigned service, unsigned vni)
{
	struct weft_cxi_auth_key key = { 0 };

	assert_true(weft_slingshot_key(device, &key));
	assert_int_equal(key.svc_id, service);
	assert_int_equal(key.vni, vni);
}

static void test_key(void **state)
{
	struct weft_cxi_auth_key key = { 7, 7 };

	(void)state;
	set_variables("234,1024", "cxi0,cxi1", "5,6", NULL);
	expect_key("cxi0", 5, 234);
	expect_key("cxi1", 6, 234);
	assert_false(weft_slingshot_is_foreign("cxi1"));
	assert_true(weft_slingshot_is_foreign("cxi2"));
	assert_true(weft_slingshot_is_foreign("cxi"));
	assert_false(weft_slingshot_key("cxi2", &key));
	assert_int_equal(key.vni, 7);
	set_variables("234", NULL, "5", NULL);
	expect_key("cxi3", 5, 234);
	assert_false(weft_slingshot_is_foreign("cxi3"));
}

static void test_nothing_said(void **state)
{
	struct weft_cxi_auth_key key;

	(void)state;
	set_variables(NULL, NULL, NULL, NULL);
	assert_false(weft_slingshot_key("cxi0", &key));
	set_variables("234", "cxi0", NULL, NULL);
	assert_false(weft_slingshot_key("cxi0", &key));
	set_variables("", "cxi0", "5", NULL);
	assert_false(weft_slingshot_key("cxi0", &key));
}

/* Values that are no number, are out of range, or are missing for the second
 * device. */
static void test_garbage(void **state)
{
	static const char *const vnis[] = { "x", "0", "65536", "-1", "12x",
		",5" };
	struct weft_cxi_auth_key key;

	(void)state;
	for (size_t i = 0; i < sizeof(vnis) / sizeof(*vnis); i++) {
		set_variables(vnis[i], "cxi0,cxi1", "5,6", NULL);
		assert_false(weft_slingshot_key("cxi0", &key));
	}
	set_variables("234", "cxi0,cxi1", "5", NULL);
	expect_key("cxi0", 5, 234);
	assert_false(weft_slingshot_key("cxi1", &key));
	set_variables("234", "cxi0", "4294967296", NULL);
	assert_false(weft_slingshot_key("cxi0", &key));
}

static void expect_class(
	const char *tcs, const char *wish, uint32_t want, bool is_met)
{
	const char *why;

	set_variables(NULL, NULL, NULL, tcs);
	assert_int_equal(weft_slingshot_tclass(wish, &why), want);
	assert_int_equal(why == NULL, is_met);
}

static void test_classes(void **state)
{
	(void)state;
	expect_class(NULL, "default", FI_TC_UNSPEC, true);
	expect_class(NULL, "low_latency", FI_TC_LOW_LATENCY, true);
	expect_class("0x0a", "low_latency", FI_TC_LOW_LATENCY, true);
	expect_class("0x0a", "bulk_data", FI_TC_BEST_EFFORT, false);
	expect_class("8", "dedicated_access", FI_TC_BEST_EFFORT, false);
	expect_class("2", "dedicated_access", FI_TC_LOW_LATENCY, false);
	expect_class("4", "default", FI_TC_BULK_DATA, true);
	expect_class("4", "bulk_data", FI_TC_BULK_DATA, true);
	expect_class("0", "bulk_data", FI_TC_BULK_DATA, true);
	expect_class("zz", "bulk_data", FI_TC_BULK_DATA, true);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(
		weft_slingshot_tclass_name(FI_TC_BULK_DATA), "bulk_data");
	assert_string_equal(
		weft_slingshot_tclass_name(FI_TC_UNSPEC), "default");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_nothing_said),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
