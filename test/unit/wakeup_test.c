/* SPDX-License-Identifier: BSD-3-Clause */
/* wakeup_test: no wake-up is lost
 *
 * Two processes answer each other's messages over two rings. A process that has
 * no message sleeps without a time limit, with the steps of transport/sleep.c:
 * watch, fence, poll, sleep. If a wake-up is lost, both processes sleep until
 * the alarm. In a second case, a writer sleeps until a full ring has space. */
#include "shm/seg.h"
#include "shm/wakeup.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { RING = 1 << 17, ROUNDS = 20000, FLOOD = 20000, DEADLINE_S = 90 };

/* One of two processes; side 1 is a child. */
struct side {
	struct weft_shm *shm;
	struct weft_wakeup wakeup;
	struct weft_ring_tx tx;
	long n_heard;
	long n_sleeps;
};

static struct side sides[2];

static void on_message(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len)
{
	struct side *side = arg;

	(void)rx;
	(void)head;
	if (len != sizeof(long) ||
		memcmp(payload, &side->n_heard, sizeof(long)) != 0)
		abort();
	side->n_heard++;
}

static void open_sides(void)
{
	for (int i = 0; i < 2; i++) {
		memset(&sides[i], 0, sizeof(sides[i]));
		assert_int_equal(weft_shm_open(1, WEFT_RING_SLOTS_MAX, RING,
					 on_message, &sides[i], &sides[i].shm),
			0);
		assert_true(weft_wakeup_open(&sides[i].wakeup));
		weft_shm_set_wakeup(sides[i].shm, &sides[i].wakeup);
	}
}

static void close_sides(void)
{
	for (int i = 0; i < 2; i++) {
		weft_ring_detach(&sides[i].tx);
		weft_shm_close(sides[i].shm);
		weft_wakeup_close(&sides[i].wakeup);
	}
}

/* Attaches to the ring of the other side. `owner` is the pid of the other
 * process, whose descriptors have the same numbers, because the parent opened
 * them before the fork. */
static void attach(struct side *side, const struct side *other, pid_t owner)
{
	struct weft_wakeup_at at;
	struct weft_shm_bc bc;

	weft_shm_describe(other->shm, &bc);
	bc.pid = owner;
	if (weft_ring_attach(&side->tx, &bc, 0, 1, 2))
		abort();
	weft_wakeup_describe(&side->wakeup, &at);
	at.pid = owner;
	weft_ring_set_wakeup(&side->tx, &at);
}

/* Sleeps until a message has arrived or, if is_full, until the ring has space.
 * Returns true without a sleep if that is the case already. */
static bool sleep_until_poll(struct side *side, bool is_full)
{
	struct pollfd fd = { .fd = side->wakeup.rd, .events = POLLIN };

	weft_shm_watch(side->shm);
	if (is_full)
		weft_ring_watch(&side->tx);
	if (!weft_wakeup_fence())
		abort();
	if (weft_shm_poll(side->shm))
		return true;
	if (is_full && weft_ring_reserve(&side->tx, sizeof(long)))
		return true;
	side->n_sleeps++;
	if (poll(&fd, 1, -1) > 0)
		weft_wakeup_drain(&side->wakeup);
	return false;
}

static void send_number(struct side *side, long number)
{
	char *place;

	while (!(place = weft_ring_reserve(&side->tx, sizeof(number))))
		sleep_until_poll(side, true);
	memcpy(place, &number, sizeof(number));
	memset(weft_ring_head(&side->tx), 0, WEFT_RING_HEAD);
	weft_ring_commit(&side->tx, sizeof(number));
}

/* Waits for a time that differs in each round, so that stores and loads of both
 * sides occur in every order. */
static void dally(long round)
{
	for (long i = round * 7919 % 997; i > 0; i--)
		__asm__ volatile("" : : : "memory");
}

static void play(struct side *side, bool is_first)
{
	for (long i = 0; i < ROUNDS; i++) {
		dally(i);
		if (is_first)
			send_number(side, i);
		while (side->n_heard <= i)
			if (!weft_shm_poll(side->shm))
				sleep_until_poll(side, false);
		if (!is_first)
			send_number(side, i);
	}
}

static void flood(struct side *side, bool is_first)
{
	for (long i = 0; is_first && i < FLOOD; i++)
		send_number(side, i);
	while (!is_first && side->n_heard < FLOOD) {
		dally(side->n_heard);
		if (!weft_shm_poll(side->shm))
			sleep_until_poll(side, false);
	}
}

static void play_both(void (*part)(struct side *, bool))
{
	pid_t parent = getpid(), child;
	int status;

	open_sides();
	child = fork();
	assert_true(child >= 0);
	alarm(DEADLINE_S);
	if (child == 0) {
		attach(&sides[1], &sides[0], parent);
		part(&sides[1], false);
		_exit(0);
	}
	attach(&sides[0], &sides[1], parent);
	part(&sides[0], true);
	assert_int_equal(waitpid(child, &status, 0), child);
	alarm(0);
	assert_int_equal(status, 0);
	print_message("side 0 slept %ld times\n", sides[0].n_sleeps);
	assert_true(part != play || sides[0].n_heard == ROUNDS);
	close_sides();
}

static void messages_wake_their_reader(void **state)
{
	(void)state;
	play_both(play);
	assert_true(sides[0].n_sleeps > 0);
}

static void space_wakes_the_writer(void **state)
{
	(void)state;
	play_both(flood);
}

static bool is_signalled(const struct side *side)
{
	struct pollfd fd = { .fd = side->wakeup.rd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/* A new writer wakes the owner of the segment only if the owner sleeps. */
static void a_new_writer_wakes_the_owner(void **state)
{
	(void)state;
	open_sides();
	attach(&sides[0], &sides[1], getpid());
	assert_false(is_signalled(&sides[1]));
	assert_true(sides[0].tx.wakeup < 0);
	weft_shm_watch(sides[0].shm);
	attach(&sides[1], &sides[0], getpid());
	assert_true(is_signalled(&sides[0]));
	close_sides();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_wake_their_reader),
		cmocka_unit_test(space_wakes_the_writer),
		cmocka_unit_test(a_new_writer_wakes_the_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
