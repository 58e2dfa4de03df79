/* SPDX-License-Identifier: BSD-3-Clause */
/* net_memory: providers that register memory, and memory that changes
 *
 *   net_memory [--bench]
 *
 * Two endpoints in one process. A cache of registrations must detect that an
 * address has other pages: after munmap() and mmap(), after malloc() returned
 * memory to the system and got it back, and after fork(), when the first writer
 * gets a copy. --bench measures a registration and a connection. Built for
 * NET_PROVIDER; WEFT_TEST_PROVIDER overrides it. */
#include "base/clock.h"
#include "base/knob.h"
#include "net/net.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum {
	LEN = 512 << 10, /* uses a rendezvous, and a registration if the
			  * provider needs one */
	N_TURNS = 20,
	DEADLINE_S = 60,
};

struct end {
	struct weft_net *net;
	uint64_t peer;
};

struct wait {
	struct weft_op op;
	int n_done;
	int err;
};

static struct end ends[2];
static const char *provider;

static void on_recv(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
}

static void on_done(struct weft_op *op, int err, size_t len)
{
	struct wait *w = weft_container_of(op, struct wait, op);

	(void)len;
	w->n_done++;
	w->err = err;
}

static void know(struct end *end, struct end *other)
{
	unsigned char name[WEFT_NET_NAME_MAX];
	size_t len = sizeof(name);

	assert_int_equal(weft_net_name(other->net, name, &len), 0);
	assert_int_equal(weft_net_peer_add(end->net, name, len, &end->peer), 0);
}

static int setup(void **state)
{
	struct weft_net_hints hints = { .provider = provider,
		.is_one_host = true };

	(void)state;
	weft_knob_load();
	if (weft_net_open(&hints, on_recv, &ends[0], &ends[0].net))
		return 0; /* each test reports that it is skipped */
	assert_int_equal(
		weft_net_open(&hints, on_recv, &ends[1], &ends[1].net), 0);
	know(&ends[0], &ends[1]);
	know(&ends[1], &ends[0]);
	return 0;
}

static int cleanup(void **state)
{
	(void)state;
	weft_net_close(ends[0].net);
	weft_net_close(ends[1].net);
	return 0;
}

static void need_provider(void)
{
	if (!ends[0].net) {
		print_message("# %s is not offered here\n", provider);
		skip();
	}
}

static void turn(void)
{
	if (weft_net_poll(ends[0].net) + weft_net_poll(ends[1].net) == 0)
		sched_yield();
}

static void finish(struct wait *w)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	while (!w->n_done && weft_now_ns() < end)
		turn();
	assert_int_equal(w->n_done, 1);
	assert_int_equal(w->err, 0);
}

/* Sends from the first endpoint to the second. */
static void move(const void *from, void *to, size_t len, uint64_t tag)
{
	struct wait tx = { .op = { .done = on_done } };
	struct wait rx = { .op = { .done = on_done } };
	int rc;

	while ((rc = weft_net_trecv(ends[1].net, ends[1].peer, to, len, NULL,
			tag, &rx.op)) == WEFT_AGAIN)
		turn();
	assert_int_equal(rc, 0);
	while ((rc = weft_net_tsend(ends[0].net, ends[0].peer, from, len, NULL,
			tag, &tx.op)) == WEFT_AGAIN)
		turn();
	assert_int_equal(rc, 0);
	finish(&tx);
	finish(&rx);
}

static void fill(unsigned char *buf, unsigned salt)
{
	for (size_t i = 0; i < LEN; i++)
		buf[i] = (unsigned char)(i * 31 + (i >> 9) + salt * 101);
}

static int is_filled(const unsigned char *buf, unsigned salt)
{
	for (size_t i = 0; i < LEN; i++)
		if (buf[i] != (unsigned char)(i * 31 + (i >> 9) + salt * 101))
			return 0;
	return 1;
}

static unsigned char *map(void *at)
{
	void *mem = mmap(at, LEN, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	return mem;
}

static void addresses_with_new_pages(void **state)
{
	unsigned char *from, *to;

	(void)state;
	need_provider();
	from = map(NULL);
	to = map(NULL);
	for (unsigned i = 0; i < N_TURNS; i++) {
		fill(from, i);
		move(from, to, LEN, i);
		assert_true(is_filled(to, i));
		assert_int_equal(munmap(from, LEN), 0);
		assert_int_equal(munmap(to, LEN), 0);
		assert_ptr_equal(map(from), from);
		assert_ptr_equal(map(to), to);
	}
	munmap(from, LEN);
	munmap(to, LEN);
}

/* MAP_FIXED over memory that is in use has the effect of munmap() without a
 * call. */
static void addresses_mapped_over(void **state)
{
	unsigned char *from, *to;

	(void)state;
	need_provider();
	from = map(NULL);
	to = map(NULL);
	for (unsigned i = 0; i < N_TURNS; i++) {
		fill(from, i);
		move(from, to, LEN, i);
		assert_true(is_filled(to, i));
		map(from);
		map(to);
	}
	munmap(from, LEN);
	munmap(to, LEN);
}

static void memory_of_malloc(void **state)
{
	(void)state;
	need_provider();
	for (unsigned i = 0; i < N_TURNS; i++) {
		unsigned char *from = malloc(LEN), *to = malloc(LEN);

		fill(from, i);
		move(from, to, LEN, i);
		assert_true(is_filled(to, i));
		free(from);
		free(to);
	}
}

/* The child lives while the parent writes, so the parent writes to a new page.
 * A registration that still refers to the old page would send old data. */
static pid_t child_with_a_pipe(int *fd_out)
{
	int fds[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[1]);
		_exit(read(fds[0], &c, 1) == 0 ? 0 : 1);
	}
	close(fds[0]);
	*fd_out = fds[1];
	return pid;
}

static void a_child_in_between(void **state)
{
	unsigned char *from, *to;
	int fd, status = -1;

	(void)state;
	need_provider();
	from = map(NULL);
	to = map(NULL);
	for (unsigned i = 0; i < 4; i++) {
		pid_t pid;

		fill(from, i);
		move(from, to, LEN, i);
		pid = child_with_a_pipe(&fd);
		assert_true(pid > 0);
		fill(from, 100 + i);
		memset(to, 0, LEN);
		move(from, to, LEN, i);
		assert_true(is_filled(to, 100 + i));
		close(fd);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	munmap(from, LEN);
	munmap(to, LEN);
}

/* Forked while a message is posted and not yet moved. */
static void a_child_while_it_moves(void **state)
{
	struct wait tx = { .op = { .done = on_done } };
	struct wait rx = { .op = { .done = on_done } };
	unsigned char *from, *to;
	int fd, status = -1, rc;
	pid_t pid;

	(void)state;
	need_provider();
	from = map(NULL);
	to = map(NULL);
	fill(from, 7);
	while ((rc = weft_net_trecv(ends[1].net, ends[1].peer, to, LEN, NULL, 9,
			&rx.op)) == WEFT_AGAIN)
		turn();
	assert_int_equal(rc, 0);
	pid = child_with_a_pipe(&fd);
	assert_true(pid > 0);
	memset(to, 1, LEN);
	while ((rc = weft_net_tsend(ends[0].net, ends[0].peer, from, LEN, NULL,
			9, &tx.op)) == WEFT_AGAIN)
		turn();
	assert_int_equal(rc, 0);
	finish(&tx);
	finish(&rx);
	assert_true(is_filled(to, 7));
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	munmap(from, LEN);
	munmap(to, LEN);
}

/* One round of N_TURNS messages, each from and to the same memory or to memory
 * that was just mapped. Microseconds a message. */
static double round_us(bool is_fresh, size_t len)
{
	unsigned char *from = map(NULL), *to = map(NULL);
	uint64_t ns = 0;

	memset(from, 1, LEN);
	memset(to, 1, LEN);
	for (unsigned i = 0; i < N_TURNS; i++) {
		uint64_t start = weft_now_ns();

		move(from, to, len, i);
		if (is_fresh) {
			munmap(from, LEN);
			munmap(to, LEN);
			map(from);
			map(to);
			memset(from, 1, len);
			memset(to, 1, len);
		}
		ns += weft_now_ns() - start;
	}
	munmap(from, LEN);
	munmap(to, LEN);
	return (double)ns / 1000 / N_TURNS;
}

static int bench(void)
{
	unsigned char a[8] = { 1 }, b[8];
	uint64_t start;

	setup(NULL);
	if (!ends[0].net) {
		printf("1..0 # SKIP no provider %s here\n", provider);
		return 0;
	}
	start = weft_now_ns();
	move(a, b, sizeof(a), 1);
	printf("# first message, with its connection: %.0f us\n",
		(double)(weft_now_ns() - start) / 1000);
	start = weft_now_ns();
	move(a, b, sizeof(a), 1);
	printf("# the next: %.0f us\n", (double)(weft_now_ns() - start) / 1000);
	for (size_t len = 4096; len <= LEN; len *= 8)
		for (int i = 0; i < 3; i++)
			printf("# %zu B: same memory %.0f us, other memory "
			       "every time %.0f us\n",
				len, round_us(false, len), round_us(true, len));
	cleanup(NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_with_new_pages),
		cmocka_unit_test(addresses_mapped_over),
		cmocka_unit_test(memory_of_malloc),
		cmocka_unit_test(a_child_in_between),
		cmocka_unit_test(a_child_while_it_moves),
	};

	provider = weft_knob_getenv("WEFT_TEST_PROVIDER");
	if (!provider)
		provider = NET_PROVIDER;
	if (argc > 1 && strcmp(argv[1], "--bench") == 0)
		return bench();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, cleanup);
}
