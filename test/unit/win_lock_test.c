/* SPDX-License-Identifier: BSD-3-Clause */
/* win_lock_test: a process whose lock request is queued behind others acquires
 * the lock in the round of progress in which the lock becomes free */
#include "win/win_priv.h"

#include "boot/boot.h"
#include "core/comm.h"
#include "transport/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* Actions of other processes on the lock, by the round of the waiting process.
 */
enum {
	TAKEN = 2, /* the requesting process acquires the lock */
	/* the holder releases the lock, which the waiting process has requested
	 * by then */
	FREE = 40,
	LATE = 100, /* a wait that no other process ends would begin here */
};

static struct weft_win_state state;
static struct weft_boot boot;
static struct weft_vci vci;
static struct weft_comm comm = { .vci = &vci, .size = 2 };
static struct weft_win win = { .comm = &comm, .comm_size = 2 };
static struct weft_win_target target = { .am.rank = 1, .state = &state };
static unsigned n_rounds;

static void others(struct weft_progress_hook *hook)
{
	(void)hook;
	n_rounds++;
	if (n_rounds == TAKEN)
		state.lock = WEFT_WIN_EXCLUSIVE;
	if (n_rounds == FREE)
		weft_win_drop_lock(&state, true);
}

static struct weft_progress_hook hook = { .run = others };

static int setup(void **unused)
{
	(void)unused;
	weft_vci_init(&vci, 0);
	vci.boot = &boot;
	weft_list_push_back(&vci.hooks, &hook.link);
	return 0;
}

static void a_waiter_does_not_wait_for_itself(void **unused)
{
	(void)unused;
	state.lock = WEFT_WIN_EXCLUSIVE | WEFT_WIN_WANTED;
	n_rounds = 0;
	assert_int_equal(weft_win_lock_here(&win, &target, true), 0);
	assert_in_range(n_rounds, FREE, LATE);
	assert_true(state.lock & WEFT_WIN_EXCLUSIVE);
}

static void a_later_request_waits(void **unused)
{
	(void)unused;
	state.lock = WEFT_WIN_WANTED; /* free, but earlier requests are
				       * pending */
	n_rounds = 0;
	assert_int_equal(weft_win_lock_here(&win, &target, true), 0);
	assert_true(n_rounds >= FREE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiter_does_not_wait_for_itself),
		cmocka_unit_test(a_later_request_waits),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
