/* SPDX-License-Identifier: BSD-3-Clause */
/* knob_test: values are read, invalid values refused, unknown names reported
 *
 * The environment is read once in a process, so each case is a child process
 * that starts with the environment it needs and reports through its standard
 * error, which the parent reads. */
#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"
#include "test/unit/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

static struct capture capture;

/* Starts a child with `name` set to `value`. The child loads the knobs and
 * prints some of them. Returns its output. */
static const char *load_with(const char *name, const char *value)
{
	char buf[32];
	int status;
	pid_t pid;

	capture_start(&capture);
	pid = fork();
	if (pid == 0) {
		clearenv();
		setenv(name, value, 1);
		weft_knob_load();
		weft_knob_load();
		for (size_t i = 0; i < weft_knob_count(); i++)
			fprintf(stderr, "%s=%s/%d\n", weft_knob_desc(i)->name,
				weft_knob_value(i, buf, sizeof(buf)),
				(int)weft_knob_desc(i)->source);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	capture_stop(&capture);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return capture.text;
}

static int count_of(const char *text, const char *what)
{
	int n = 0;

	for (text = strstr(text, what); text; text = strstr(text + 1, what))
		n++;
	return n;
}

static void defaults_stand_without_environment(void **state)
{
	const char *text = load_with("HOME", "/");

	(void)state;
	assert_null(strstr(text, "KNOB-"));
	assert_non_null(strstr(text, "SHM=on/0\n"));
	assert_non_null(strstr(text, "SHM_EAGER="));
	assert_int_equal(count_of(text, "/1\n"), 0);
}

static void numbers_take_suffixes(void **state)
{
	const char *text = load_with("WEFT_EAGER_WINDOW", "64k");

	(void)state;
	assert_non_null(strstr(text, "EAGER_WINDOW=65536/1\n"));
	text = load_with("WEFT_EAGER_WINDOW", "0x2000");
	assert_non_null(strstr(text, "EAGER_WINDOW=8192/1\n"));
	text = load_with("WEFT_EAGER_WINDOW", "3M");
	assert_non_null(strstr(text, "EAGER_WINDOW=3145728/1\n"));
}

/* Checks that `value` for EAGER_WINDOW is refused with one warning, and the
 * default is used. */
static void refused(const char *value)
{
	const char *text = load_with("WEFT_EAGER_WINDOW", value);

	if (!strstr(text, "/2\n"))
		fail_msg("\"%s\" was not refused:\n%s", value, text);
	assert_int_equal(count_of(text, "KNOB-VALUE"), 1);
	assert_non_null(strstr(text, "EAGER_WINDOW=1048576/2\n"));
}

static void bad_numbers_are_refused(void **state)
{
	(void)state;
	refused("");
	refused("many");
	refused("12x");
	refused("12kk");
	refused("-1");
	refused("4095");
	refused("99999999999999999999999");
	refused("9007199254740993g"); /* overflows in the suffix */
	refused("17179869184g");      /* 2^34 * 2^30 = 2^64: wraps to 0 */
	refused("17179869185g");      /* wraps to 1 GiB, which is allowed */
}

static void a_default_may_be_out_of_range(void **state)
{
	const char *text = load_with("WEFT_SHM_RING", "4096");

	(void)state;
	assert_non_null(strstr(text, "SHM_RING=0/2\n"));
	assert_non_null(strstr(text, "not a number from 131072 to 16777216"));
	text = load_with("WEFT_SHM_RING", "0");
	assert_non_null(strstr(text, "SHM_RING=0/1\n"));
	assert_null(strstr(text, "KNOB-VALUE"));
	text = load_with("WEFT_SHM_RING", "128k");
	assert_non_null(strstr(text, "SHM_RING=131072/1\n"));
}

static void words_are_checked(void **state)
{
	const char *text = load_with("WEFT_SHM", "off");

	(void)state;
	assert_non_null(strstr(text, "SHM=off/1\n"));
	text = load_with("WEFT_SHM", "of");
	assert_non_null(strstr(text, "SHM=on/2\n"));
	assert_non_null(strstr(text, "KNOB-VALUE"));
	text = load_with("WEFT_SHM", "on|off");
	assert_non_null(strstr(text, "SHM=on/2\n"));
	text = load_with("WEFT_PROVIDER", "anything;goes");
	assert_non_null(strstr(text, "PROVIDER=anything;goes/1\n"));
}

static void unknown_names_meet_the_nearest(void **state)
{
	const char *text = load_with("WEFT_PROVDER", "tcp");

	(void)state;
	assert_int_equal(count_of(text, "KNOB-UNKNOWN"), 1);
	assert_non_null(strstr(text, "WEFT_PROVDER is not"));
	assert_non_null(strstr(text, "WEFT_PROVIDER"));
	text = load_with("WEFT_EAGERWINDOW", "1");
	assert_non_null(strstr(text, "nearest is WEFT_EAGER_WINDOW"));
}

static void odd_unknown_names_do_no_harm(void **state)
{
	char name[300] = "WEFT_";

	(void)state;
	memset(name + 5, 'A', sizeof(name) - 6);
	assert_int_equal(count_of(load_with(name, "1"), "KNOB-UNKNOWN"), 1);
	assert_int_equal(count_of(load_with("WEFT_", "1"), "KNOB-UNKNOWN"), 1);
	/* a prefix of a knob's name, and a longer name, are unknown */
	assert_int_equal(
		count_of(load_with("WEFT_SH", "1"), "KNOB-UNKNOWN"), 1);
	assert_int_equal(
		count_of(load_with("WEFT_SHMX", "1"), "KNOB-UNKNOWN"), 1);
}

static void foreign_names_are_ignored(void **state)
{
	(void)state;
	assert_null(strstr(load_with("WEFT_TEST_DEADLINE", "5"), "KNOB-"));
	assert_null(strstr(load_with("WEFTLIKE", "5"), "KNOB-"));
}

static void log_level_takes_effect(void **state)
{
	(void)state;
	assert_non_null(strstr(load_with("WEFT_LOG", "trace"), "LOG=trace/1"));
	assert_non_null(strstr(load_with("WEFT_LOG", "blah"), "LOG=warn/2"));
}

static void every_knob_is_described(void **state)
{
	(void)state;
	for (size_t i = 0; i < weft_knob_count(); i++) {
		const struct weft_knob_desc *d = weft_knob_desc(i);

		assert_true(strlen(d->name) > 0 && strlen(d->room) > 0);
		assert_true(strlen(d->sentence) > 10);
		assert_non_null(d->values);
		assert_non_null(d->def);
	}
	assert_null(weft_knob_desc(weft_knob_count()));
	assert_string_equal(weft_knob_value(weft_knob_count(), NULL, 0), "");
}

/* Some knobs are for users, and some for debugging. */
static void knobs_are_of_two_kinds(void **state)
{
	size_t n = weft_knob_count(), n_debug = 0;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		const struct weft_knob_desc *d = weft_knob_desc(i);

		n_debug += d->is_debug;
		if (!strcmp(d->name, "LOG"))
			assert_false(d->is_debug);
		if (!strcmp(d->name, "SHM_RING"))
			assert_true(d->is_debug);
	}
	assert_true(n_debug > 0 && n_debug < n);
}

static void foreign_reads_any_name(void **state)
{
	(void)state;
	setenv("FI_TEST_ONLY", "yes", 1);
	assert_string_equal(weft_knob_getenv("FI_TEST_ONLY"), "yes");
	setenv("FI_TEST_ONLY", "", 1);
	assert_null(weft_knob_getenv("FI_TEST_ONLY"));
	unsetenv("FI_TEST_ONLY");
	assert_null(weft_knob_getenv("FI_TEST_ONLY"));
}

/* Sets a knob of this process; returns its value afterwards. */
static const char *set_to(const char *name, const char *text, int want)
{
	static char buf[32];

	for (size_t i = 0; i < weft_knob_count(); i++)
		if (!strcmp(weft_knob_desc(i)->name, name)) {
			assert_int_equal(weft_knob_set(i, text), want);
			return weft_knob_value(i, buf, sizeof(buf));
		}
	fail_msg("no knob %s", name);
	return NULL;
}

static void knobs_are_set_and_refused(void **state)
{
	const char *first = set_to("DEADLOCK", "error", 0);

	(void)state;
	assert_string_equal(first, "error");
	assert_string_equal(set_to("DEADLOCK", "never", WEFT_ERR_ARG), "error");
	assert_string_equal(set_to("DEADLOCK", "report", 0), "report");
	assert_string_equal(first, "error"); /* texts stay valid */
	assert_ptr_equal(set_to("DEADLOCK", "error", 0), first);
	set_to("DEADLOCK", "report", 0);
	assert_string_equal(set_to("STRIPE", "3", 0), "3");
	assert_string_equal(set_to("STRIPE", "9", WEFT_ERR_ARG), "3");
	assert_string_equal(set_to("STRIPE", "x", WEFT_ERR_ARG), "3");
	assert_true(weft_knob_is_set(&weft_knobs.stripe));
	set_to("STRIPE", "1", 0);
	set_to("LOG", "error", 0);
	assert_int_equal(weft_log_level, WEFT_LOG_ERROR);
	set_to("LOG", "warn", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_stand_without_environment),
		cmocka_unit_test(numbers_take_suffixes),
		cmocka_unit_test(bad_numbers_are_refused),
		cmocka_unit_test(a_default_may_be_out_of_range),
		cmocka_unit_test(words_are_checked),
		cmocka_unit_test(unknown_names_meet_the_nearest),
		cmocka_unit_test(odd_unknown_names_do_no_harm),
		cmocka_unit_test(foreign_names_are_ignored),
		cmocka_unit_test(log_level_takes_effect),
		cmocka_unit_test(every_knob_is_described),
		cmocka_unit_test(knobs_are_of_two_kinds),
		cmocka_unit_test(foreign_reads_any_name),
		cmocka_unit_test(knobs_are_set_and_refused),
	};

	return cmocka_run_group_tests_name("knob", tests, NULL, NULL);
}
