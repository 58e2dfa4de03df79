/* SPDX-License-Identifier: BSD-3-Clause */
/* budget_test: above the limit, buffers of rings are returned to the kernel if
 * all their messages were read */
#include "shm/budget.h"
#include "shm/seg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum {
	WRITERS = 8,
	RING = 1 << 17,
	LEN = 16000,
	WINDOW = 4,	 /* messages to one ring before the next ring */
	LIMIT = 1 << 17, /* of the budget, in bytes */
	REST = 1 << 17, /* bytes of the header, the slots and the last buffer */
};

static struct weft_budget budget;
static struct weft_ring_tx tx[WRITERS];
static struct weft_shm *shm;
static struct weft_shm_bc bc;
static unsigned n_sent[WRITERS], n_received[WRITERS];

static unsigned char byte_of(unsigned writer, unsigned number)
{
	return (unsigned char)(writer * 31 + number + 1);
}

static void on_message(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len)
{
	unsigned writer = (unsigned)rx->ring->writer_proc;

	(void)arg;
	assert_non_null(head);
	assert_int_equal(len, LEN);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(((const unsigned char *)payload)[i],
			byte_of(writer, n_received[writer]));
	n_received[writer]++;
}

/* Returns how many bytes of the segment occupy memory. */
static long occupied(void)
{
	struct stat st;

	assert_int_equal(fstat(bc.fd, &st), 0);
	return (long)st.st_blocks * 512;
}

static int open_all(void **state)
{
	(void)state;
	memset(n_sent, 0, sizeof(n_sent));
	memset(n_received, 0, sizeof(n_received));
	weft_budget_init(&budget, LIMIT);
	assert_int_equal(weft_shm_open(WRITERS, WEFT_RING_SLOTS_MIN, RING,
				 on_message, NULL, &shm),
		0);
	weft_shm_describe(shm, &bc);
	for (unsigned i = 0; i < WRITERS; i++) {
		assert_int_equal(weft_ring_attach(&tx[i], &bc, i, i, 0), 0);
		weft_budget_join(&budget, &tx[i]);
	}
	return 0;
}

/* qemu-user accepts MADV_REMOVE and does nothing. */
static void skip_unless_returnable(void)
{
	int fd = memfd_create("budget_test", MFD_CLOEXEC);
	char *map;
	struct stat st;

	assert_int_equal(ftruncate(fd, RING), 0);
	map = mmap(NULL, RING, PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	map[0] = 1;
	assert_int_equal(madvise(map, RING, MADV_REMOVE), 0);
	assert_int_equal(fstat(fd, &st), 0);
	munmap(map, RING);
	close(fd);
	if (st.st_blocks) {
		print_message("this system does not carry out MADV_REMOVE\n");
		skip();
	}
}

static int close_all(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WRITERS; i++)
		weft_ring_detach(&tx[i]);
	assert_int_equal(budget.used, 0);
	weft_shm_close(shm);
	return 0;
}

static void send_window(unsigned writer)
{
	for (int i = 0; i < WINDOW; i++) {
		void *place = weft_ring_reserve(&tx[writer], LEN);

		assert_non_null(place);
		memset(place, byte_of(writer, n_sent[writer]++), LEN);
		memset(weft_ring_head(&tx[writer]), 0, WEFT_RING_HEAD);
		weft_ring_commit(&tx[writer], LEN);
	}
}

static void read_all(void)
{
	while (weft_shm_poll(shm))
		;
	assert_memory_equal(n_sent, n_received, sizeof(n_sent));
}

static void read_buffers_are_returned(void **state)
{
	(void)state;
	skip_unless_returnable();
	for (int round = 0; round < 50; round++)
		for (unsigned i = 0; i < WRITERS; i++) {
			send_window(i);
			read_all();
			assert_true(occupied() <= LIMIT + REST);
		}
}

static void unread_messages_stay(void **state)
{
	(void)state;
	skip_unless_returnable();
	for (int round = 0; round < 50; round++) {
		for (unsigned i = 0; i < WRITERS; i++)
			send_window(i);
		assert_true(occupied() > WRITERS * WINDOW * LEN);
		read_all();
	}
	for (unsigned i = 0; i < WRITERS; i++) {
		send_window(i);
		read_all();
	}
	assert_true(occupied() <= LIMIT + REST);
}

static void a_ring_without_budget_keeps_its_buffer(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WRITERS; i++)
		weft_budget_leave(&tx[i]);
	for (unsigned i = 0; i < WRITERS; i++) {
		send_window(i);
		read_all();
	}
	assert_true(occupied() > WRITERS * WINDOW * LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			read_buffers_are_returned, open_all, close_all),
		cmocka_unit_test_setup_teardown(
			unread_messages_stay, open_all, close_all),
		cmocka_unit_test_setup_teardown(
			a_ring_without_budget_keeps_its_buffer, open_all,
			close_all),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
