/* SPDX-License-Identifier: BSD-3-Clause */
/* side: two synchronized sides, their messages and their waits */
#include "test/conform/conform.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int n_tests;
int n_failed;

void claim(const struct side *s, bool ok, const char *sentence)
{
	n_tests++;
	n_failed += !ok;
	if (s->rank == 0)
		printf("%s %d - %s\n", ok ? "ok" : "not ok", n_tests, sentence);
	else if (!ok)
		printf("# other side: not ok - %s\n", sentence);
	fflush(stdout);
}

void claim_not(const struct side *s, const char *sentence, const char *why)
{
	n_tests++;
	if (s->rank == 0)
		printf("ok %d - %s # SKIP %s\n", n_tests, sentence, why);
}

void die(const struct side *s, const char *what)
{
	printf("Bail out! side %d: %s\n", s->rank, what);
	fflush(stdout);
	_exit(1);
}

/* Checks the deadline of one wait, and ends the process if it has passed. */
void tick(const struct side *s, uint64_t start, const char *what)
{
	if (weft_now_ns() - start > DEADLINE_S * WEFT_NS_PER_S)
		die(s, what);
	if (weft_net_poll(s->net) == 0)
		sched_yield();
}

static void op_done(struct weft_op *op, int err, size_t len)
{
	struct wait_op *w = weft_container_of(op, struct wait_op, op);

	w->n_done++;
	w->err = err;
	w->len = len;
}

void op_init(struct wait_op *w)
{
	memset(w, 0, sizeof(*w));
	w->op.done = op_done;
}

int op_wait(const struct side *s, struct wait_op *w, const char *what)
{
	uint64_t start = weft_now_ns();

	while (!w->n_done)
		tick(s, start, what);
	return w->err;
}

void wait_got(const struct side *s, uint64_t n, const char *what)
{
	uint64_t start = weft_now_ns();

	while (s->n_got < n)
		tick(s, start, what);
}

/* Barrier of both sides. Makes progress on the fabric while it waits. */
void sync_sides(const struct side *s)
{
	uint64_t start = weft_now_ns();
	char c = 'x';
	ssize_t n;

	if (write(s->fd, &c, 1) != 1)
		die(s, "the other side has ended");
	while ((n = read(s->fd, &c, 1)) != 1) {
		if (n == 0 || errno != EAGAIN)
			die(s, "the other side ended early");
		tick(s, start, "sync");
	}
}

void swap_bytes(
	const struct side *s, const void *mine, void *theirs, size_t len)
{
	uint64_t start = weft_now_ns();
	size_t got = 0;

	if (write(s->fd, mine, len) != (ssize_t)len)
		die(s, "swap: write");
	while (got < len) {
		ssize_t n = read(s->fd, (char *)theirs + got, len - got);

		if (n > 0)
			got += (size_t)n;
		else if (n == 0 || errno != EAGAIN)
			die(s, "swap: the other side ended early");
		else
			tick(s, start, "swap");
	}
}

unsigned char pattern(size_t i, uint64_t seed)
{
	return (unsigned char)(i * 31 + seed * 7 + (i >> 8));
}

void fill(unsigned char *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = pattern(i, seed);
}

bool is_filled(const unsigned char *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		if (buf[i] != pattern(i, seed))
			return false;
	return true;
}

/* A message has any length. From 8 bytes on, it starts with a sequence number,
 * which is also the seed of the remaining bytes. */
void on_recv(void *arg, const void *data, size_t len)
{
	struct side *s = arg;
	uint64_t seq = s->next_seq;

	s->n_got++;
	s->last_len = len;
	if (s->want_len != SIZE_MAX && len != s->want_len)
		s->n_bad++;
	if (len >= 8) {
		memcpy(&seq, data, 8);
		if (seq != s->next_seq)
			s->n_bad++;
		if (!is_filled((const unsigned char *)data + 8, len - 8, seq))
			s->n_bad++;
	}
	s->next_seq = seq + 1;
}

void expect(struct side *s, size_t len)
{
	s->n_got = 0;
	s->n_bad = 0;
	s->want_len = len;
	s->next_seq = 0;
}

/* Starts a case. No message may be sent before the other side has reset its
 * counters. A side may still receive messages while it leaves a barrier, so one
 * barrier is not enough. */
void begin(struct side *s, size_t len)
{
	expect(s, len);
	sync_sides(s);
}

void make_msg(unsigned char *buf, size_t len, uint64_t seq)
{
	if (len < 8)
		return;
	memcpy(buf, &seq, 8);
	fill(buf + 8, len - 8, seq);
}

void send_inject(const struct side *s, const void *buf, size_t len)
{
	uint64_t start = weft_now_ns();
	int rc;

	while ((rc = weft_net_inject(s->net, s->peer, buf, len)) == WEFT_AGAIN)
		tick(s, start, "inject");
	if (rc)
		die(s, weft_err_detail_peek(rc));
}

int post_send(const struct side *s, const void *buf, size_t len, size_t cut,
	struct wait_op *w)
{
	struct iovec iov[2] = { { (void *)buf, cut ? cut : len },
		{ (char *)buf + cut, len - cut } };
	uint64_t start = weft_now_ns();
	int rc;

	op_init(w);
	while ((rc = weft_net_send(s->net, s->peer, iov, cut ? 2 : 1,
			&w->op)) == WEFT_AGAIN)
		tick(s, start, "send");
	return rc;
}

int post_tsend(const struct side *s, const void *buf, size_t len, uint64_t tag,
	struct wait_op *w)
{
	uint64_t start = weft_now_ns();
	int rc;

	op_init(w);
	while ((rc = weft_net_tsend(s->net, s->peer, buf, len, NULL, tag,
			&w->op)) == WEFT_AGAIN)
		tick(s, start, "tsend");
	return rc;
}

int post_trecv(const struct side *s, void *buf, size_t len, uint64_t tag,
	struct wait_op *w)
{
	uint64_t start = weft_now_ns();
	int rc;

	op_init(w);
	while ((rc = weft_net_trecv(s->net, s->peer, buf, len, NULL, tag,
			&w->op)) == WEFT_AGAIN)
		tick(s, start, "trecv");
	return rc;
}

struct outcome {
	int n_tests, n_failed, rc;
};

int apart(int (*fn)(void *arg), void *arg)
{
	struct outcome out = { .rc = 1 };
	int fds[2], status;
	pid_t pid;

	fflush(stdout);
	if (pipe(fds))
		return 1;
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		out.rc = fn(arg);
		out.n_tests = n_tests;
		out.n_failed = n_failed;
		if (write(fds[1], &out, sizeof(out)) != sizeof(out))
			exit(1);
		exit(0);
	}
	close(fds[1]);
	if (read(fds[0], &out, sizeof(out)) == sizeof(out)) {
		n_tests = out.n_tests;
		n_failed = out.n_failed;
	}
	close(fds[0]);
	/* LeakSanitizer reports leaks in the child's exit status */
	if (waitpid(pid, &status, 0) != pid || (status && !out.rc))
		return 1;
	return out.rc;
}
