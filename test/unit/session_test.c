/* SPDX-License-Identifier: BSD-3-Clause */
/* session_test: hints of a session, names of process sets; one process */
#include "session/abort.h"
#include "session/pset.h"
#include "session/session.h"

#include "base/err.h"
#include "boot/singleton.h"
#include "core/info.h"
#include "core/session_data.h"
#include "transport/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static int setup(void **state)
{
	(void)state;
	weft_proc.open_boot = weft_singleton_open;
	return 0;
}

/* Opens a session with one info key. Returns the result of the open. */
static int open_with(
	const char *key, const char *value, struct weft_session **session_out)
{
	struct weft_info *info = weft_info_create();
	int err;

	assert_non_null(info);
	assert_int_equal(weft_info_set(info, key, value), 0);
	err = weft_session_open(info, NULL, session_out);
	weft_info_destroy(info);
	return err;
}

static struct weft_session *opened(const char *key, const char *value)
{
	struct weft_session *session = NULL;

	assert_int_equal(open_with(key, value, &session), 0);
	return session;
}

static void hints_are_read(void **state)
{
	struct weft_session *session;

	(void)state;
	session = opened("thread_level", "MPI_THREAD_FUNNELED");
	assert_int_equal(session->level, WEFT_THREAD_FUNNELED);
	assert_false(session->is_strict);
	assert_int_equal(weft_session_close(session), 0);
	session = opened("weft_finalize", "strict");
	assert_int_equal(session->level, WEFT_THREAD_MULTIPLE);
	assert_true(session->is_strict);
	assert_int_equal(weft_session_close(session), 0);
	session = opened("weft_abort", "group");
	assert_int_equal(session->abort_scope, WEFT_ABORT_GROUP);
	assert_int_equal(weft_session_close(session), 0);
}

static void wrong_hints_are_errors(void **state)
{
	static const char *const wrong[][2] = {
		{ "thread_level", "MPI_THREAD_MANY" },
		{ "weft_finalize", "stric" },
		{ "weft_abort", "all" },
		{ "weft_vci", "own" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct weft_session *session = NULL;

		assert_int_equal(open_with(wrong[i][0], wrong[i][1], &session),
			WEFT_ERR_INFO_VALUE);
		assert_null(session);
		assert_non_null(
			strstr(weft_err_detail_peek(WEFT_ERR_INFO_VALUE),
				wrong[i][1]));
	}
}

static void memory_kinds_are_filtered(void **state)
{
	struct weft_session *session = opened(
		"mpi_memory_alloc_kinds", "rocm, System ,mpi:alloc_mem,x");
	char value[WEFT_INFO_VALUE_MAX + 1];

	(void)state;
	weft_info_value(
		session->info, "mpi_memory_alloc_kinds", value, sizeof(value));
	assert_string_equal(value, "system,mpi:alloc_mem,mpi");
	assert_int_equal(weft_session_close(session), 0);
}

static void names_of_sets_are_checked(void **state)
{
	struct weft_session *session = NULL;
	struct weft_group *world = NULL, *group = NULL;
	char name[WEFT_PSET_NAME_MAX + 2];

	(void)state;
	assert_int_equal(weft_session_open(NULL, NULL, &session), 0);
	assert_int_equal(weft_pset_group(session, "MPI://world", &world), 0);
	assert_int_equal(world->size, 1);
	assert_int_equal(weft_pset_define(session, "", world), WEFT_ERR_ARG);
	assert_int_equal(
		weft_pset_define(session, "mpi://MINE", world), WEFT_ERR_ARG);
	assert_int_equal(
		weft_pset_define(session, "HWLOC://x", world), WEFT_ERR_ARG);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = 0;
	assert_int_equal(weft_pset_define(session, name, world), WEFT_ERR_ARG);
	name[WEFT_PSET_NAME_MAX] = 0;
	assert_int_equal(weft_pset_define(session, name, world), 0);
	assert_int_equal(weft_pset_define(session, name, world), WEFT_ERR_NAME);
	assert_int_equal(weft_pset_group(session, name, &group), 0);
	assert_int_equal(group->size, 1);
	weft_group_put(group);
	assert_int_equal(weft_pset_delete(session, name), 0);
	assert_int_equal(weft_pset_delete(session, name), WEFT_ERR_NAME);
	assert_int_equal(
		weft_pset_group(session, name, &group), WEFT_ERR_NOTFOUND);
	weft_group_put(world);
	assert_int_equal(weft_session_close(session), 0);
}

static void numbers_of_sets_stay(void **state)
{
	struct weft_session *session = NULL;
	struct weft_group *world = NULL;
	const char *name = NULL;
	uint32_t n = 0, more = 0;

	(void)state;
	assert_int_equal(weft_session_open(NULL, NULL, &session), 0);
	assert_int_equal(weft_pset_count(session, &n), 0);
	assert_true(n >= 2);
	assert_int_equal(weft_pset_group(session, "mpi://SELF", &world), 0);
	assert_int_equal(weft_pset_define(session, "first", world), 0);
	assert_int_equal(weft_pset_define(session, "second", world), 0);
	assert_int_equal(weft_pset_delete(session, "first"), 0);
	assert_int_equal(weft_pset_count(session, &more), 0);
	assert_int_equal(more, n + 2);
	assert_int_equal(weft_pset_name(session, n, &name), 0);
	assert_string_equal(name, "first");
	assert_int_equal(weft_pset_name(session, n + 1, &name), 0);
	assert_string_equal(name, "second");
	assert_int_equal(weft_pset_name(session, n + 2, &name), WEFT_ERR_ARG);
	assert_int_equal(weft_pset_changes(session), 3);
	assert_int_equal(weft_pset_combine(session, weft_group_difference,
				 "second", "mpi://WORLD", "none"),
		0);
	weft_group_put(world);
	assert_int_equal(weft_pset_group(session, "none", &world), 0);
	assert_int_equal(world->size, 0);
	weft_group_put(world);
	assert_int_equal(weft_session_close(session), 0);
}

static void scopes_of_an_abort_have_names(void **state)
{
	enum weft_abort_scope scope;

	(void)state;
	for (int i = WEFT_ABORT_JOB; i <= WEFT_ABORT_GROUP; i++) {
		assert_true(weft_abort_scope_of(
			weft_abort_scope_name((enum weft_abort_scope)i),
			&scope));
		assert_int_equal(scope, i);
	}
	assert_false(weft_abort_scope_of("", &scope));
	assert_false(weft_abort_scope_of("jobs", &scope));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(hints_are_read),
		cmocka_unit_test(wrong_hints_are_errors),
		cmocka_unit_test(memory_kinds_are_filtered),
		cmocka_unit_test(names_of_sets_are_checked),
		cmocka_unit_test(numbers_of_sets_stay),
		cmocka_unit_test(scopes_of_an_abort_have_names),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
