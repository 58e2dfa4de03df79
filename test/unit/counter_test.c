/* SPDX-License-Identifier: BSD-3-Clause */
/* counter_test: the counters of all objects of one VCI are summed, and the sum
 * stays when an object closes. The lines that WEFT_STATS prints are right. */
#include "base/counter.h"
#include "base/log.h"
#include "test/unit/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct capture capture;

static size_t find(const char *name)
{
	for (size_t i = 0; i < weft_counter_count(); i++)
		if (!strcmp(weft_counter_desc(i)->name, name))
			return i;
	fail_msg("no counter %s", name);
	return 0;
}

static void each_counter_is_described(void **state)
{
	(void)state;
	assert_true(weft_counter_count() > 0);
	for (size_t i = 0; i < weft_counter_count(); i++) {
		const struct weft_counter_desc *d = weft_counter_desc(i);

		assert_true(*d->name && *d->unit && *d->room && *d->sentence);
		assert_true(!strcmp(d->object, "VCI") ||
			    !strcmp(d->object, "process") ||
			    !strcmp(d->object, "file"));
		assert_int_equal(find(d->name), i);
	}
	assert_null(weft_counter_desc(weft_counter_count()));
}

/* src/mpit/pvar.c reads the starting value of a high watermark from the level
 * in the line before it. */
static void high_watermarks_follow_their_level(void **state)
{
	const struct weft_counter_desc *d, *last = NULL;

	(void)state;
	for (size_t i = 0; (d = weft_object_counter_desc(i)) != NULL; i++) {
		assert_true(*d->name && *d->unit && *d->room && *d->sentence);
		if (d->class == WEFT_CLASS_HIGHWATERMARK) {
			assert_int_equal(last->class, WEFT_CLASS_LEVEL);
			assert_string_equal(last->name, d->name);
			assert_string_equal(last->object, d->object);
		}
		last = d;
	}
	assert_non_null(last);
	for (size_t i = 0; i < weft_counter_count(); i++)
		assert_true(weft_counter_desc(i)->class !=
			    WEFT_CLASS_HIGHWATERMARK);
}

static void objects_of_one_owner_are_summed(void **state)
{
	struct weft_counters a = { 0 }, b = { 0 }, other = { 0 };
	size_t sent = find("net_sent"), dropped = find("dropped");

	(void)state;
	weft_counters_open(&a, 1);
	weft_counters_open(&b, 1);
	weft_counters_open(&other, 2);
	a.net_sent = 3;
	b.net_sent = 4;
	other.net_sent = 100;
	assert_int_equal(weft_counter_read(sent, 1), 7);
	assert_int_equal(weft_counter_read(sent, 2), 100);
	assert_int_equal(weft_counter_total(sent), 107);
	assert_int_equal(weft_counter_read(dropped, 1), 0);
	weft_counters_close(&a);
	weft_counters_close(&a); /* a second close has no effect */
	assert_int_equal(weft_counter_read(sent, 1), 7);
	b.net_sent++;
	assert_int_equal(weft_counter_read(sent, 1), 8);
	weft_counters_open(&a, 1);
	a.net_sent = 10;
	assert_int_equal(weft_counter_read(sent, 1), 18);
	weft_counters_close(&a);
	weft_counters_close(&b);
	weft_counters_close(&other);
	assert_int_equal(weft_counter_read(sent, 1), 18);
}

/* Provider 0 has one endpoint, provider 1 has two: rails 0 and 1. */
static void endpoints_are_summed_by_provider_and_rail(void **state)
{
	struct weft_counters own = { .net_sent = 1000 };
	struct weft_counters a = { .net_sent = 1 }, b = { .net_sent = 10 },
			     rail = { .net_sent = 100 };
	size_t sent = find("net_sent"), memory = find("net_memory");

	(void)state;
	a.net_memory = rail.net_memory = 5;
	weft_counters_open(&own, 4);
	weft_counters_open_fabric(&a, 4, 0, 0);
	weft_counters_open_fabric(&b, 4, 1, 0);
	weft_counters_open_fabric(&rail, 4, 1, 1);
	for (int is_closed = 0; is_closed < 2; is_closed++) {
		assert_int_equal(
			weft_counter_read_fabric(sent, 0, WEFT_COUNTER_ANY), 1);
		assert_int_equal(
			weft_counter_read_fabric(sent, 1, WEFT_COUNTER_ANY),
			110);
		assert_int_equal(
			weft_counter_read_fabric(sent, WEFT_COUNTER_ANY, 0),
			11);
		assert_int_equal(
			weft_counter_read_fabric(sent, WEFT_COUNTER_ANY, 1),
			100);
		assert_int_equal(weft_counter_read_fabric(sent, 0, 1), 0);
		assert_int_equal(weft_counter_read(sent, 4), 1111);
		/* the level of a closed endpoint is dropped */
		assert_int_equal(
			weft_counter_read_fabric(memory, 1, WEFT_COUNTER_ANY),
			is_closed ? 0 : 5);
		weft_counters_close(&a);
		weft_counters_close(&b);
		weft_counters_close(&rail);
	}
	weft_counters_close(&own);
}

static void counters_never_opened_may_be_closed(void **state)
{
	struct weft_counters a = { .net_sent = 5 };

	(void)state;
	weft_counters_close(&a);
	assert_int_equal(weft_counter_read(find("net_sent"), 0), 0);
}

static void nonzero_counters_are_printed(void **state)
{
	struct weft_counters vci = { 0 }, process = { 0 };
	const char *text;

	(void)state;
	weft_log_set_level("error");
	weft_counters_open(&vci, 3);
	weft_counters_open(&process, WEFT_COUNTER_PROCESS);
	vci.dropped = 2;
	vci.net_errors = UINT64_MAX;
	process.sessions = 1;
	capture_start(&capture);
	weft_counters_print();
	text = capture_stop(&capture);
	assert_non_null(strstr(text,
		" CORE-STATS VCI 3: net_errors 18446744073709551615, "
		"dropped 2\n"));
	assert_non_null(strstr(text, " CORE-STATS process: sessions 1\n"));
	assert_null(strstr(text, "VCI 0"));
	weft_counters_close(&vci);
	weft_counters_close(&process);
}

/* All counters fit into one line when each has 19 digits. */
static void a_full_line_is_not_cut(void **state)
{
	struct weft_counters all;
	size_t last = weft_counter_count() - 1;
	char want[80];

	(void)state;
	memset(&all, 0x7f, sizeof(all));
	weft_counters_open_fabric(&all, 5, 1, 1);
	capture_start(&capture);
	weft_counters_print();
	snprintf(want, sizeof(want), "%s 9187201950435737471\n",
		weft_counter_desc(last)->name);
	assert_non_null(strstr(capture_stop(&capture), want));
	weft_counters_close(&all);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_counter_is_described),
		cmocka_unit_test(high_watermarks_follow_their_level),
		cmocka_unit_test(objects_of_one_owner_are_summed),
		cmocka_unit_test(endpoints_are_summed_by_provider_and_rail),
		cmocka_unit_test(counters_never_opened_may_be_closed),
		cmocka_unit_test(nonzero_counters_are_printed),
		cmocka_unit_test(a_full_line_is_not_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
