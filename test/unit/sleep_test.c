/* SPDX-License-Identifier: BSD-3-Clause */
/* sleep_test: weft_sleep() loses no message that arrives while it falls asleep
 *
 * One process is both the sleeper and the writer of its ring, so that a message
 * arrives at a chosen point: before the ring is watched, or after the poll that
 * follows. Nothing here depends on time. */
#include "transport/sleep.h"

#include "boot/boot.h"
#include "transport/progress.h"
#include "transport/proc.h"
#include "transport/vci.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { RING = 1 << 17 };

static struct weft_boot boot;
static struct weft_vci vci;
static struct weft_ring_tx tx;
static struct weft_wakeup signalled; /* the wakeup that writers signal, in place
				      * of vci.wakeup */
static int n_received;

static void on_message(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len)
{
	(void)arg;
	(void)rx;
	(void)head;
	(void)payload;
	(void)len;
	n_received++;
}

static void write_message(void)
{
	void *place = weft_ring_reserve(&tx, sizeof(long));

	assert_non_null(place);
	memset(place, 0, sizeof(long));
	memset(weft_ring_head(&tx), 0, WEFT_RING_HEAD);
	weft_ring_commit(&tx, sizeof(long));
}

static int setup(void **state)
{
	struct weft_shm_bc bc;

	(void)state;
	memset(&vci, 0, sizeof(vci));
	weft_vci_init(&vci, 0);
	vci.boot = &boot;
	weft_proc.sleeps = true;
	if (weft_shm_open(
		    1, WEFT_RING_SLOTS_MAX, RING, on_message, NULL, &vci.shm) ||
		!weft_wakeup_open(&vci.wakeup) || !weft_wakeup_open(&signalled))
		return -1;
	weft_shm_set_wakeup(vci.shm, &signalled);
	weft_shm_describe(vci.shm, &bc);
	if (weft_ring_attach(&tx, &bc, 0, 1, 2))
		return -1;
	/* after the first message, the owner watches this ring */
	n_received = 0;
	write_message();
	weft_vci_lock(&vci);
	while (!n_received)
		weft_progress(&vci);
	n_received = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	weft_vci_unlock(&vci);
	weft_ring_detach(&tx);
	weft_shm_close(vci.shm);
	weft_wakeup_close(&vci.wakeup);
	weft_wakeup_close(&signalled);
	return 0;
}

static bool was_signalled(void)
{
	struct pollfd fd = { .fd = signalled.rd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/* The writer finds the flag clear and signals nothing: only the poll after
 * weft_wakeup_fence() finds the message before the thread sleeps. */
static void a_message_before_the_watch_prevents_the_sleep(void **state)
{
	(void)state;
	write_message();
	assert_false(was_signalled());
	weft_sleep(&vci, 0, WEFT_SLEEP_MESSAGE);
	assert_int_equal(n_received, 1);
}

static void hook_writes(struct weft_progress_hook *hook)
{
	weft_list_remove(&hook->link);
	write_message();
}

/* Hooks run after the poll of the rings, so that this message is left for the
 * next poll: the writer must find the flag set. */
static void a_message_behind_the_poll_is_signalled(void **state)
{
	struct weft_progress_hook hook = { .run = hook_writes };

	(void)state;
	weft_list_push_back(&vci.hooks, &hook.link);
	weft_sleep(&vci, 0, WEFT_SLEEP_MESSAGE);
	assert_true(weft_list_is_empty(&vci.hooks));
	assert_int_equal(n_received, 0);
	assert_true(was_signalled());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_message_before_the_watch_prevents_the_sleep, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_message_behind_the_poll_is_signalled, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
