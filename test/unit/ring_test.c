/* SPDX-License-Identifier: BSD-3-Clause */
/* ring_test: messages of several lengths from another process arrive as they
 * were written */
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

/* Starts the process that writes N messages. */
static void start_writer(void)
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
	start_writer();
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_arrive_as_written),
		cmocka_unit_test(few_slots_suffice),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
