/* SPDX-License-Identifier: BSD-3-Clause */
/* ring_test: messages that are read while another process writes them */
#include "base/knob.h"
#include "shm/seg.h"
#include "test/unit/capture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { RING = 1 << 18, N = 400, LONG = 4, MOST = 100000 };

/* What a writer does half-way. */
enum half_way { WRITES_ON, ENDS, STOPS };

static unsigned char data[MOST], copy[MOST];
static struct weft_shm *shm;
static int n_heard, n_grown;
static pid_t writer;

static size_t len_of(int i)
{
	static const size_t about[] = { 1, 8192, 8193, 12288, 16384, MOST };

	return about[i % 6] - (size_t)(i % 5 == 4);
}

static void send_one(struct weft_ring_tx *tx, int i, enum half_way how)
{
	struct weft_ring_rx *back = (struct weft_ring_rx *)tx->back;
	size_t len = len_of(i), first;
	char *place;

	memset(data, i + 1, len);
	while (!(place = weft_ring_reserve(tx, len)))
		usleep(100);
	back->n += i % 3 != 0; /* it has sent something in between */
	first = weft_ring_first_part(tx, len);
	memcpy(place, data, first);
	memset(weft_ring_head(tx), i, WEFT_RING_HEAD);
	weft_ring_commit_part(tx, len, first);
	if (first < len && how == STOPS)
		raise(SIGSTOP);
	if (first < len && how != ENDS)
		weft_ring_write_rest(tx, place, data, first, len);
}

/* The process that writes: all messages, or a long one. */
static void start_writer(enum half_way how)
{
	struct weft_ring_rx back = { 0 };
	struct weft_ring_tx tx;
	struct weft_shm_bc bc;

	weft_shm_describe(shm, &bc);
	writer = fork();
	assert_true(writer >= 0);
	if (writer)
		return;
	if (weft_ring_attach(&tx, &bc, 0, 1, 2))
		_exit(1);
	tx.back = &back;
	tx.may_grow = true;
	for (int i = how == WRITES_ON ? 0 : LONG; i < N; i++) {
		send_one(&tx, i, how);
		if (how != WRITES_ON)
			break;
	}
	_exit(0);
}

static void hear_all(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len)
{
	size_t at = 0, ready = len;

	(void)arg;
	assert_non_null(head);
	assert_int_equal(len, len_of(n_heard));
	while (at < len) {
		if (weft_ring_grows(rx, payload))
			ready = weft_ring_await(rx, at, len);
		assert_true(ready > at && ready <= len);
		memcpy(copy + at, (const char *)payload + at, ready - at);
		n_grown += ready < len;
		at = ready;
	}
	assert_false(weft_ring_grows(rx, copy));
	for (size_t i = 0; i < len; i++)
		assert_int_equal(copy[i], (unsigned char)(n_heard + 1));
	n_heard++;
}

static void all_come_as_they_are_written(void **state)
{
	int status;

	(void)state;
	n_heard = n_grown = 0;
	assert_int_equal(weft_shm_open(1, RING, hear_all, NULL, &shm), 0);
	start_writer(WRITES_ON);
	while (n_heard < N)
		weft_shm_poll(shm);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	print_message("%d parts were read before the next\n", n_grown);
	weft_shm_close(shm);
}

static void hear_part(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len)
{
	(void)arg;
	assert_non_null(head);
	assert_true(weft_ring_grows(rx, payload));
	assert_int_equal(weft_ring_await(rx, 0, len), WEFT_RING_PART);
	/* it stays for its parent, which does not ask yet */
	assert_int_equal(weft_ring_await(rx, WEFT_RING_PART, len), 0);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
	n_heard++;
}

static void who_ends_is_not_waited_for(void **state)
{
	(void)state;
	n_heard = 0;
	assert_int_equal(weft_shm_open(1, RING, hear_part, NULL, &shm), 0);
	start_writer(ENDS);
	while (!n_heard)
		weft_shm_poll(shm);
	weft_shm_close(shm);
}

static void hear_late(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len)
{
	struct capture capture;
	size_t ready = WEFT_RING_PART;

	(void)arg;
	assert_non_null(head);
	assert_true(weft_ring_grows(rx, payload));
	assert_int_equal(waitpid(writer, NULL, WUNTRACED), writer);
	if (!fork()) {
		sleep(3);
		kill(writer, SIGCONT);
		_exit(0);
	}
	capture_start(&capture);
	while (ready < len)
		ready = weft_ring_await(rx, ready, len);
	assert_non_null(strstr(capture_stop(&capture), "SHM-GROWS"));
	assert_non_null(strstr(capture.text, "for 1 s"));
	for (size_t i = 0; i < len; i++)
		assert_int_equal(((const unsigned char *)payload)[i], LONG + 1);
	n_heard++;
}

static void who_is_stopped_is_said(void **state)
{
	(void)state;
	n_heard = 0;
	weft_knobs.stall_warn = 1;
	assert_int_equal(weft_shm_open(1, RING, hear_late, NULL, &shm), 0);
	start_writer(STOPS);
	while (!n_heard)
		weft_shm_poll(shm);
	while (wait(NULL) > 0)
		;
	weft_shm_close(shm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come_as_they_are_written),
		cmocka_unit_test(who_ends_is_not_waited_for),
		cmocka_unit_test(who_is_stopped_is_said),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
