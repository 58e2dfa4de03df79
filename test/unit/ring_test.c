/* SPDX-License-Identifier: BSD-3-Clause */
/* ring_test: messages of several lengths from another process arrive as they
 * were written, also through the rings for processes of other jobs */
#include "shm/seg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { RING = 1 << 18, N = 400, MOST = 100000 };

static unsigned char data[MOST];
static struct weft_shm *shm;
static int n_heard;
static pid_t writer;

static size_t len_of(int i)
{
	static const size_t about[] = { 1, 8192, 8193, 12288, 16384, MOST };

	return about[i % 6] - (size_t)(i % 5 == 4);
}

static void send_one(struct weft_ring_tx *tx, int i)
{
	struct weft_ring_rx *back = (struct weft_ring_rx *)tx->back;
	size_t len = len_of(i);
	char *place;

	memset(data, i + 1, len);
	while (!(place = weft_ring_reserve(tx, len)))
		usleep(100);
	back->n += i % 3 != 0; /* as if messages in the other direction had been
				* read */
	memcpy(place, data, len);
	memset(weft_ring_head(tx), i, WEFT_RING_HEAD);
	weft_ring_commit(tx, len);
}

/* Starts the process that writes N messages to the ring with that index. */
static void start_writer(uint32_t index)
{
	struct weft_ring_rx back = { 0 };
	struct weft_ring_tx tx;
	struct weft_shm_bc bc;

	weft_shm_describe(shm, &bc);
	writer = fork();
	assert_true(writer >= 0);
	if (writer)
		return;
	if (weft_ring_attach(&tx, &bc, index, 1, 2))
		_exit(1);
	tx.back = &back;
	for (int i = 0; i < N; i++)
		send_one(&tx, i);
	_exit(0);
}

static void on_message(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len)
{
	(void)arg;
	(void)rx;
	assert_non_null(head);
	assert_int_equal(len, len_of(n_heard));
	for (size_t i = 0; i < len; i++)
		assert_int_equal(((const unsigned char *)payload)[i],
			(unsigned char)(n_heard + 1));
	n_heard++;
}

static void arrive_as_written(size_t n_slots)
{
	int status;

	n_heard = 0;
	assert_int_equal(
		weft_shm_open(1, n_slots, RING, on_message, NULL, &shm), 0);
	start_writer(0);
	while (n_heard < N)
		weft_shm_poll(shm);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	weft_shm_close(shm);
}

static void messages_arrive_as_written(void **state)
{
	(void)state;
	arrive_as_written(WEFT_RING_SLOTS_MAX);
}

static void few_slots_suffice(void **state)
{
	(void)state;
	arrive_as_written(WEFT_RING_SLOTS_MIN);
}

static struct weft_ring_rx *last; /* the last ring that had a message */

static void on_extra(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len)
{
	last = rx;
	on_message(arg, rx, head, payload, len);
}

/* A process writes all messages and ends. Then its ring is freed. */
static void write_and_end(void)
{
	int status;

	n_heard = 0;
	start_writer(WEFT_SHM_ANY);
	while (n_heard < N)
		weft_shm_poll(shm);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	weft_shm_free_extra(shm, last);
}

static void extra_rings_are_reused(void **state)
{
	struct weft_ring *first;
	struct weft_ring_tx tx[3];
	struct weft_shm_bc bc;

	(void)state;
	assert_int_equal(weft_shm_open(1, WEFT_RING_SLOTS_MIN, RING, on_extra,
				 NULL, &shm),
		0);
	weft_shm_describe(shm, &bc);
	assert_int_equal(weft_ring_attach(&tx[0], &bc, WEFT_SHM_ANY, 1, 2),
		WEFT_ERR_ACCESS);
	assert_true(weft_shm_add_extra(shm));
	assert_true(weft_shm_add_extra(shm));
	for (int i = 0; i < 3; i++)
		write_and_end();
	for (int i = 0; i < 3; i++)
		assert_int_equal(weft_ring_attach(&tx[i], &bc, WEFT_SHM_ANY,
					 10 + (uint64_t)i, 2),
			0);
	first = tx[0].ring;
	assert_ptr_not_equal(first, tx[1].ring);
	for (int i = 0; i < 3; i++) {
		assert_false(tx[i].is_taken_over);
		assert_non_null(weft_ring_reserve(&tx[i], len_of(0)));
		n_heard = 0;
		memset(tx[i].ring->slots[0].inl, 1, len_of(0));
		weft_ring_commit(&tx[i], len_of(0));
		assert_int_equal(weft_shm_poll(shm), 1);
		assert_int_equal(last->ring->writer_proc, 10 + i);
		weft_shm_free_extra(shm, last);
		assert_int_equal(weft_shm_poll(shm), 0);
		weft_ring_detach(&tx[i]);
	}
	weft_shm_close(shm);
}

static void extra_rings_are_limited(void **state)
{
	static struct weft_ring_tx tx[WEFT_SHM_EXTRA + 1];
	struct weft_shm_bc bc;

	(void)state;
	assert_int_equal(weft_shm_open(1, WEFT_RING_SLOTS_MIN, RING, on_extra,
				 NULL, &shm),
		0);
	weft_shm_describe(shm, &bc);
	assert_true(weft_shm_add_extra(shm));
	for (int i = 0; i < WEFT_SHM_EXTRA; i++)
		assert_int_equal(
			weft_ring_attach(&tx[i], &bc, WEFT_SHM_ANY, 1, 2), 0);
	assert_int_equal(
		weft_ring_attach(&tx[WEFT_SHM_EXTRA], &bc, WEFT_SHM_ANY, 1, 2),
		WEFT_ERR_ACCESS);
	assert_int_equal(weft_shm_poll(shm), 0);
	for (int i = 0; i < WEFT_SHM_EXTRA; i++)
		weft_ring_detach(&tx[i]);
	weft_shm_close(shm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_arrive_as_written),
		cmocka_unit_test(few_slots_suffice),
		cmocka_unit_test(extra_rings_are_reused),
		cmocka_unit_test(extra_rings_are_limited),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
