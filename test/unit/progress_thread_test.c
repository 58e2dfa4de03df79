/* SPDX-License-Identifier: BSD-3-Clause */
/* progress_thread_test: users of the progress thread that are added several
 * times, that are added for a limited time, or that are still added when the
 * thread is joined */
#include "transport/progress_thread.h"

#include "boot/boot.h"
#include "transport/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

enum { PATIENCE_S = 60 };

static struct weft_boot boot;
static struct weft_vci vci;
static struct weft_progress_user user;
static _Atomic uint32_t n_made; /* rounds of progress by any thread */

static void count_made(struct weft_progress_hook *hook)
{
	(void)hook;
	atomic_fetch_add(&n_made, 1);
}

static struct weft_progress_hook made = { .run = count_made };

static int setup(void **state)
{
	(void)state;
	memset(&vci, 0, sizeof(vci));
	weft_vci_init(&vci, 0);
	vci.boot = &boot;
	user = (struct weft_progress_user){ .vci = &vci };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	weft_progress_thread_join();
	return 0;
}

static int n_hooks(void)
{
	int n = 0;

	weft_list_for_each(link, next, &vci.hooks) n++;
	return n;
}

static void take_back(void)
{
	weft_vci_lock(&vci);
	weft_progress_thread_remove(&user);
	weft_vci_unlock(&vci);
}

static uint32_t rounds_now(void)
{
	return atomic_load_explicit(&user.n_rounds, memory_order_relaxed);
}

/* A user that is added several times has one hook. */
static void many_are_counted_once(void **state)
{
	uint32_t before;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(weft_progress_thread_add(&user), 0);
	weft_vci_lock(&vci);
	assert_int_equal(n_hooks(), 1);
	before = rounds_now();
	weft_progress(&vci);
	assert_int_equal(rounds_now(), before + 1);
	weft_vci_unlock(&vci);
	for (int i = 0; i < 99; i++)
		take_back();
	assert_true(weft_progress_thread_has(&user));
	take_back();
	assert_false(weft_progress_thread_has(&user));
	assert_int_equal(n_hooks(), 0);
}

static bool wait_until(bool (*is_true)(void))
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	time_t end = time(NULL) + PATIENCE_S;

	while (!is_true() && time(NULL) < end)
		nanosleep(&pause, NULL);
	return is_true();
}

static bool has_moved(void)
{
	return atomic_load(&n_made) >= 3;
}

static void watch(void)
{
	atomic_store(&n_made, 0);
	weft_vci_lock(&vci);
	weft_list_push_back(&vci.hooks, &made.link);
	weft_vci_unlock(&vci);
}

/* Rounds of the progress thread do not increment user.n_rounds. An increase of
 * n_rounds shows that another thread of the process is in a call. */
static void makes_progress_uncounted(void **state)
{
	(void)state;
	assert_int_equal(weft_progress_thread_add(&user), 0);
	watch();
	assert_true(wait_until(has_moved));
	assert_int_equal(rounds_now(), 0);
	take_back();
}

static bool is_off(void)
{
	bool has;

	weft_vci_lock(&vci);
	has = weft_progress_thread_has(&user);
	weft_vci_unlock(&vci);
	return !has;
}

static void goes_by_itself(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		atomic_store(&user.lease, 3);
		assert_int_equal(weft_progress_thread_add(&user), 0);
		assert_true(wait_until(is_off));
		take_back(); /* the user was removed already */
	}
	atomic_store(&user.lease, 0);
	assert_int_equal(weft_progress_thread_add(&user), 0);
	watch();
	assert_true(wait_until(has_moved));
	take_back();
	assert_true(is_off());
}

/* The progress thread is joined while the user is still added. The user can be
 * added again after that. */
static void left_behind(void **state)
{
	(void)state;
	assert_int_equal(weft_progress_thread_add(&user), 0);
	weft_progress_thread_join();
	weft_list_init(&vci.hooks); /* represents a new VCI */
	assert_int_equal(weft_progress_thread_add(&user), 0);
	assert_int_equal(n_hooks(), 1);
	take_back();
	take_back();
	assert_int_equal(n_hooks(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			many_are_counted_once, setup, teardown),
		cmocka_unit_test_setup_teardown(
			makes_progress_uncounted, setup, teardown),
		cmocka_unit_test_setup_teardown(
			goes_by_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(left_behind, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
