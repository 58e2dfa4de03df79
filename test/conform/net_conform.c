/* SPDX-License-Identifier: BSD-3-Clause */
/* net_conform: one suite over a real provider, between two processes
 *
 *   net_NAME [--bench]
 *
 * Built once for each provider (NET_PROVIDER); WEFT_TEST_PROVIDER overrules it.
 *
 * The parent and a forked child each open a net on this host, exchange names
 * through a socket pair and run the same list of cases in step. Skipped
 * when the provider is not to be had here. */
#include "base/clock.h"
#include "base/knob.h"
#include "base/log.h"
#include "net/net.h"
#include "test/fake/cxi/stand_find.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	DEADLINE_S = 90,
	SKIP = 77,
	BIG = 4 << 20,
	N_CROWD = 6,
	CROWD_EACH = 50,
};

/* What arrived untagged is judged by the case that runs. */
struct side {
	int rank;
	int fd; /* to the other side */
	struct weft_net *net;
	uint64_t peer;
	const char *provider;
	uint64_t n_got;
	uint64_t n_pings; /* of these, waited for by the bench */
	uint64_t n_bad;
	size_t want_len;
	size_t last_len;
	uint64_t next_seq;
};

struct wait_op {
	struct weft_op op;
	int n_done;
	int err;
	size_t len;
};

static int n_tests;
static int n_failed;

static void claim(const struct side *s, bool ok, const char *sentence)
{
	n_tests++;
	n_failed += !ok;
	if (s->rank == 0)
		printf("%s %d - %s\n", ok ? "ok" : "not ok", n_tests, sentence);
	else if (!ok)
		printf("# other side: not ok - %s\n", sentence);
	fflush(stdout);
}

static void die(const struct side *s, const char *what)
{
	printf("Bail out! side %d: %s\n", s->rank, what);
	fflush(stdout);
	_exit(1);
}

/* Deadline of one wait; dies when it passes. */
static void tick(const struct side *s, uint64_t start, const char *what)
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

static void op_init(struct wait_op *w)
{
	memset(w, 0, sizeof(*w));
	w->op.done = op_done;
}

static int op_wait(const struct side *s, struct wait_op *w, const char *what)
{
	uint64_t start = weft_now_ns();

	while (!w->n_done)
		tick(s, start, what);
	return w->err;
}

static void wait_got(const struct side *s, uint64_t n, const char *what)
{
	uint64_t start = weft_now_ns();

	while (s->n_got < n)
		tick(s, start, what);
}

/* Both sides reach the same point; the fabric is served meanwhile. */
static void sync_sides(const struct side *s)
{
	uint64_t start = weft_now_ns();
	char c = 'x';
	ssize_t n;

	if (write(s->fd, &c, 1) != 1)
		die(s, "the other side is gone");
	while ((n = read(s->fd, &c, 1)) != 1) {
		if (n == 0 || errno != EAGAIN)
			die(s, "the other side ended early");
		tick(s, start, "sync");
	}
}

static void swap_bytes(
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

static unsigned char pattern(size_t i, uint64_t seed)
{
	return (unsigned char)(i * 31 + seed * 7 + (i >> 8));
}

static void fill(unsigned char *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = pattern(i, seed);
}

static bool is_filled(const unsigned char *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		if (buf[i] != pattern(i, seed))
			return false;
	return true;
}

/* A message is any length; from 8 bytes on it starts with a sequence number
 * that also seeds the rest. */
static void on_recv(void *arg, const void *data, size_t len)
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

static void expect(struct side *s, size_t len)
{
	s->n_got = 0;
	s->n_bad = 0;
	s->want_len = len;
	s->next_seq = 0;
}

/* Of a case: nothing may be sent before the other side counts from zero. The
 * way out of a meeting of both sides still serves the fabric, so the meeting
 * before a case is not enough. */
static void begin(struct side *s, size_t len)
{
	expect(s, len);
	sync_sides(s);
}

static void make_msg(unsigned char *buf, size_t len, uint64_t seq)
{
	if (len < 8)
		return;
	memcpy(buf, &seq, 8);
	fill(buf + 8, len - 8, seq);
}

static void send_inject(const struct side *s, const void *buf, size_t len)
{
	uint64_t start = weft_now_ns();
	int rc;

	while ((rc = weft_net_inject(s->net, s->peer, buf, len)) == WEFT_AGAIN)
		tick(s, start, "inject");
	if (rc)
		die(s, weft_err_detail_peek(rc));
}

static int post_send(const struct side *s, const void *buf, size_t len,
	size_t cut, struct wait_op *w)
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

static int post_tsend(const struct side *s, const void *buf, size_t len,
	uint64_t tag, struct wait_op *w)
{
	uint64_t start = weft_now_ns();
	int rc;

	op_init(w);
	while ((rc = weft_net_tsend(s->net, s->peer, buf, len, tag, &w->op)) ==
		WEFT_AGAIN)
		tick(s, start, "tsend");
	return rc;
}

static int post_trecv(const struct side *s, void *buf, size_t len, uint64_t tag,
	struct wait_op *w)
{
	uint64_t start = weft_now_ns();
	int rc;

	op_init(w);
	while ((rc = weft_net_trecv(s->net, s->peer, buf, len, tag, &w->op)) ==
		WEFT_AGAIN)
		tick(s, start, "trecv");
	return rc;
}

/* Cases: rank 0 sends, rank 1 receives, unless both do. */

static void case_inject_sizes(struct side *s)
{
	unsigned char buf[65536];
	size_t limit = weft_min(s->net->plan.inject_len, sizeof(buf));
	uint64_t n = 0;

	begin(s, SIZE_MAX);
	for (size_t len = 0; len <= limit; len += len < 300 ? 1 : 997, n++) {
		make_msg(buf, len, n);
		if (s->rank == 0)
			send_inject(s, buf, len);
	}
	make_msg(buf, limit, n++);
	if (s->rank == 0)
		send_inject(s, buf, limit);
	else
		wait_got(s, n, "injected messages");
	claim(s, s->n_bad == 0 && (s->rank == 0 || s->last_len == limit),
		"every length up to the inject limit arrives, in order");
	sync_sides(s);
}

static void case_send_sizes(struct side *s, bool in_two)
{
	size_t limit = s->net->plan.recv_len;
	unsigned char *buf = malloc(limit);
	uint64_t n = 0;
	int bad = 0;

	begin(s, SIZE_MAX);
	for (size_t base = 1; base <= limit; base *= 2) {
		for (size_t len = base - 1; len <= base + 1; len++) {
			struct wait_op w;

			if (len > limit)
				continue;
			make_msg(buf, len, n);
			n++;
			if (s->rank)
				continue;
			bad += post_send(s, buf, len, in_two ? len / 3 : 0,
				       &w) != 0;
			bad += op_wait(s, &w, "send of one size") != 0;
			bad += w.n_done != 1;
		}
	}
	if (s->rank == 1)
		wait_got(s, n, "sent messages");
	claim(s, bad == 0 && s->n_bad == 0,
		in_two ? "sizes to the receive limit in two pieces"
		       : "sizes to the receive limit in one piece");
	free(buf);
	sync_sides(s);
}

static void case_flood(struct side *s)
{
	unsigned char buf[8];
	uint64_t n = 20000;

	begin(s, 8);
	if (s->rank == 0) {
		for (uint64_t i = 0; i < n; i++) {
			make_msg(buf, 8, i);
			send_inject(s, buf, 8);
		}
	} else {
		usleep(200000); /* let the sender meet back-pressure */
		wait_got(s, n, "flood");
	}
	claim(s, s->n_bad == 0, "20000 small messages keep their order");
	sync_sides(s);
}

static void case_flood_eager(struct side *s)
{
	enum { WINDOW = 32, ROUNDS = 20 };
	size_t len = s->net->plan.eager_len;
	unsigned char *buf = malloc(len * WINDOW);
	struct wait_op w[WINDOW];
	uint64_t seq = 0;
	int bad = 0;

	begin(s, len);
	for (int r = 0; r < ROUNDS && s->rank == 0; r++) {
		for (size_t i = 0; i < WINDOW; i++) {
			make_msg(buf + i * len, len, seq++);
			bad += post_send(s, buf + i * len, len, 40, &w[i]) != 0;
		}
		for (size_t i = 0; i < WINDOW; i++)
			bad += op_wait(s, &w[i], "eager flood") != 0;
	}
	if (s->rank == 1)
		wait_got(s, WINDOW * ROUNDS, "eager flood arrives");
	claim(s, bad == 0 && s->n_bad == 0,
		"windows of eager messages keep order and content");
	free(buf);
	sync_sides(s);
}

/* Long ones must not be overtaken by the short ones behind them. */
static void case_mixed_sizes(struct side *s)
{
	enum { WINDOW = 16, ROUNDS = 12 };
	size_t limit = s->net->plan.recv_len;
	unsigned char *buf = malloc(limit * WINDOW);
	struct wait_op w[WINDOW];
	uint64_t seq = 0;
	int bad = 0;

	begin(s, SIZE_MAX);
	for (int r = 0; r < ROUNDS && s->rank == 0; r++) {
		for (size_t i = 0; i < WINDOW; i++) {
			size_t len = i % 4 == 0	  ? limit
				     : i % 4 == 1 ? 8
				     : i % 4 == 2 ? limit / 2 + i
						  : 1000;

			make_msg(buf + i * limit, len, seq++);
			bad += post_send(s, buf + i * limit, len, 0, &w[i]) !=
			       0;
		}
		for (size_t i = 0; i < WINDOW; i++)
			bad += op_wait(s, &w[i], "mixed sizes") != 0;
	}
	if (s->rank == 1)
		wait_got(s, WINDOW * ROUNDS, "mixed sizes arrive");
	claim(s, bad == 0 && s->n_bad == 0,
		"long and short messages in one window keep their order");
	free(buf);
	sync_sides(s);
}

static void case_both_ways(struct side *s)
{
	size_t len = weft_min(s->net->plan.inject_len, 64);
	unsigned char buf[64];
	uint64_t start = weft_now_ns();

	begin(s, len);
	for (uint64_t i = 0; i < 5000; i++) {
		make_msg(buf, len, i);
		send_inject(s, buf, len);
	}
	while (s->n_got < 5000)
		tick(s, start, "both ways");
	claim(s, s->n_bad == 0, "both sides flood at once");
	sync_sides(s);
}

static void case_tagged(struct side *s, bool is_late)
{
	unsigned char *buf = malloc(BIG + 1);
	int bad = 0;

	for (size_t len = 0; len <= BIG; len = len ? len * 4 : 1) {
		struct wait_op w;
		uint64_t tag = 1000 + len;
		size_t real = len > 3 ? len - 1 : len;

		if (s->rank == 0) {
			fill(buf, real, len);
			if (!is_late)
				sync_sides(s);
			bad += post_tsend(s, buf, real, tag, &w) != 0;
			if (is_late)
				sync_sides(s);
			bad += op_wait(s, &w, "tagged send") != 0;
		} else {
			memset(buf, 0, real);
			if (is_late)
				sync_sides(s);
			bad += post_trecv(s, buf, len, tag, &w) != 0;
			if (!is_late)
				sync_sides(s);
			bad += op_wait(s, &w, "tagged receive") != 0;
			bad += w.len != real || !is_filled(buf, real, len);
		}
		bad += w.n_done != 1;
	}
	claim(s, bad == 0,
		is_late ? "tagged 0 B to 4 MiB, receive posted late"
			: "tagged 0 B to 4 MiB, receive posted first");
	free(buf);
	sync_sides(s);
}

static void case_tagged_swap(struct side *s)
{
	enum { N = 8, LEN = 1 << 20 };
	unsigned char *out = malloc((size_t)N * LEN);
	unsigned char *in = malloc((size_t)N * LEN);
	struct wait_op tx[N];
	struct wait_op rx[N];
	int bad = 0;

	/* Receives in the opposite order: tags decide, not time. */
	for (size_t i = N; i-- > 0;)
		bad += post_trecv(s, in + i * LEN, LEN, 50 + i, &rx[i]) != 0;
	for (size_t i = 0; i < N; i++) {
		fill(out + i * LEN, LEN, i + (size_t)s->rank);
		bad += post_tsend(s, out + i * LEN, LEN, 50 + i, &tx[i]) != 0;
	}
	for (size_t i = 0; i < N; i++) {
		bad += op_wait(s, &tx[i], "swap out") != 0;
		bad += op_wait(s, &rx[i], "swap in") != 0;
		bad += !is_filled(in + i * LEN, LEN, i + !s->rank);
	}
	claim(s, bad == 0, "8 x 1 MiB both ways, tags decide");
	free(out);
	free(in);
	sync_sides(s);
}

static void case_truncate(struct side *s)
{
	unsigned char buf[1000] = { 0 };
	struct wait_op w;
	int rc;

	if (s->rank == 0) {
		sync_sides(s);
		rc = post_tsend(s, buf, sizeof(buf), 77, &w);
		rc = rc ? rc : op_wait(s, &w, "long send");
		claim(s, rc == 0 || rc == WEFT_ERR_TRUNCATE,
			"a receive too short does not hurt the sender");
	} else {
		post_trecv(s, buf, 10, 77, &w);
		sync_sides(s);
		rc = op_wait(s, &w, "short receive");
		claim(s, rc == WEFT_ERR_TRUNCATE, "short receive says so");
	}
	sync_sides(s);
}

static void case_cancel(struct side *s)
{
	unsigned char buf[64];
	struct wait_op w;
	int rc;

	post_trecv(s, buf, sizeof(buf), 99, &w);
	rc = weft_net_cancel(s->net, &w.op);
	claim(s, rc == 0, "a posted receive may be cancelled");
	claim(s, op_wait(s, &w, "cancel") == WEFT_ERR_CANCELED,
		"and completes once, as cancelled");
	sync_sides(s);
}

struct window {
	uint64_t key;
	uint64_t base;
};

static void case_rma(struct side *s)
{
	enum { LEN = 1 << 20 };
	unsigned char *mine = calloc(1, LEN);
	unsigned char *local = malloc(LEN);
	struct window w;
	struct window theirs;
	struct weft_mr *mr = NULL;
	struct wait_op op;
	int bad = 0;

	if (weft_mr_get(s->net, mine, LEN, WEFT_MR_LOCAL | WEFT_MR_REMOTE,
		    UINT64_MAX, &mr))
		die(s, "register");
	w.key = mr->key;
	w.base = mr->base;
	swap_bytes(s, &w, &theirs, sizeof(w));
	fill(local, LEN, 5 + (uint64_t)s->rank);
	for (size_t len = 1; len <= LEN; len *= 32) {
		op_init(&op);
		while ((bad = weft_net_write(s->net, s->peer, local, len,
				theirs.base, theirs.key, &op.op)) == WEFT_AGAIN)
			weft_net_poll(s->net);
		bad = bad || op_wait(s, &op, "write");
		claim(s, !bad, "one-sided write is accepted");
	}
	sync_sides(s);
	claim(s, is_filled(mine, LEN, 5 + (uint64_t)!s->rank),
		"what was written is in memory when its writer knows");
	memset(local, 0, LEN);
	op_init(&op);
	while ((bad = weft_net_read(s->net, s->peer, local + 100, LEN - 100,
			theirs.base + 100, theirs.key, &op.op)) == WEFT_AGAIN)
		weft_net_poll(s->net);
	bad = bad || op_wait(s, &op, "read");
	claim(s,
		!bad && memcmp(local, "\0\0\0\0", 4) == 0 &&
			local[100] == pattern(100, 5 + (uint64_t)s->rank),
		"one-sided read returns what is there");
	sync_sides(s);
	weft_mr_put(s->net, mr);
	free(mine);
	free(local);
}

static void case_names(struct side *s)
{
	unsigned char name[WEFT_NET_NAME_MAX];
	size_t len = sizeof(name);
	size_t small = 4;
	uint64_t addr;
	int rc = weft_net_name(s->net, name, &len);

	claim(s, rc == 0 && len > 8, "a net has a name");
	claim(s, weft_net_name(s->net, name, &small) == WEFT_ERR_ARG,
		"a name needs room");
	name[0] ^= 0x55;
	claim(s, weft_net_peer_add(s->net, name, len, &addr) == WEFT_ERR_PEER,
		"a name of another fabric is refused");
	claim(s, weft_net_peer_add(s->net, name, 3, &addr) == WEFT_ERR_PEER,
		"half a name is refused");
	sync_sides(s);
}

/* Alone: many nets in one process, everybody to everybody and to itself. */

static struct weft_net *open_alone(struct side *s)
{
	struct weft_net_hints hints = { .provider = s->provider,
		.is_one_host = true };

	expect(s, SIZE_MAX);
	if (weft_net_open(&hints, on_recv, s, &s->net))
		die(s, "open again");
	return s->net;
}

static void crowd_send(struct side *crowd, uint64_t addr[][N_CROWD], size_t n)
{
	uint64_t start = weft_now_ns();

	for (size_t k = 0; k < CROWD_EACH; k++)
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++)
				while (weft_net_inject(crowd[i].net, addr[i][j],
					       "abc", 3) == WEFT_AGAIN)
					for (size_t p = 0; p < n; p++)
						tick(&crowd[p], start, "crowd");
}

static void case_crowd(const struct side *s, bool has_self)
{
	static struct side crowd[N_CROWD];
	static uint64_t addr[N_CROWD][N_CROWD];
	uint64_t start = weft_now_ns();
	bool ok = true;

	for (size_t i = 0; i < N_CROWD; i++) {
		crowd[i] = (struct side){ .rank = 0, .provider = s->provider };
		open_alone(&crowd[i]);
	}
	for (size_t i = 0; i < N_CROWD; i++) {
		unsigned char name[WEFT_NET_NAME_MAX];
		size_t len = sizeof(name);

		weft_net_name(crowd[i].net, name, &len);
		for (size_t j = 0; j < N_CROWD; j++)
			ok &= weft_net_peer_add(crowd[j].net, name, len,
				      &addr[j][i]) == 0;
	}
	if (!has_self)
		for (size_t i = 0; i < N_CROWD; i++)
			addr[i][i] = addr[i][(i + 1) % N_CROWD];
	crowd_send(crowd, addr, N_CROWD);
	for (size_t i = 0; i < N_CROWD; i++)
		while (crowd[i].n_got < CROWD_EACH * N_CROWD)
			for (size_t p = 0; p < N_CROWD; p++)
				tick(&crowd[p], start, "crowd receives");
	for (size_t i = 0; i < N_CROWD; i++) {
		ok &= crowd[i].n_got == CROWD_EACH * N_CROWD;
		weft_net_close(crowd[i].net);
	}
	claim(s, ok, "six endpoints in one process, all to all");
}

static void case_reopen(const struct side *s)
{
	struct side one = { .provider = s->provider };

	for (int i = 0; i < 20; i++) {
		open_alone(&one);
		weft_net_close(one.net);
	}
	claim(s, true, "opening and closing 20 times");
}

/* A second child that dies, or closes, in the middle of traffic. */

struct meeting {
	pid_t pid;
	int fd;
};

static void doomed(const char *provider, int fd, bool is_clean)
{
	struct side s = { .rank = 1, .provider = provider };
	unsigned char name[WEFT_NET_NAME_MAX] = { 0 };
	size_t len = sizeof(name);

	open_alone(&s);
	weft_net_name(s.net, name, &len);
	if (write(fd, name, sizeof(name)) != sizeof(name))
		_exit(1);
	wait_got(&s, 1, "first message to the doomed");
	if (is_clean)
		weft_net_close(s.net);
	else
		kill(getpid(), SIGKILL);
	_exit(0);
}

static struct meeting meet(const char *provider, bool is_clean)
{
	struct meeting m = { -1, -1 };
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		return m;
	fflush(stdout);
	m.pid = fork();
	if (m.pid == 0) {
		close(fds[0]);
		doomed(provider, fds[1], is_clean);
	}
	close(fds[1]);
	m.fd = fds[0];
	return m;
}

/* What is right: no crash, no call that blocks; errors, if the provider tells
 * at all, say that the peer is gone. */
static void case_lost_peer(const struct side *parent, bool is_clean)
{
	struct meeting m = meet(parent->provider, is_clean);
	struct side s = { .provider = parent->provider };
	unsigned char name[WEFT_NET_NAME_MAX];
	struct wait_op w[64];
	uint64_t start;
	int n_posted = 0;
	int n_again = 0;
	int bad = 0;
	int n_err = 0;

	if (recv(m.fd, name, sizeof(name), MSG_WAITALL) != sizeof(name))
		die(parent, "the doomed gave no name");
	open_alone(&s);
	/* names are padded with zeros: 8 + 16 covers IPv4, shm is a string */
	if (weft_net_peer_add(s.net, name, sizeof(name), &s.peer))
		die(parent, "the doomed's name");
	send_inject(&s, "go", 2);
	start = weft_now_ns();
	while (waitpid(m.pid, NULL, WNOHANG) == 0)
		tick(&s, start, "the doomed ends");
	for (start = weft_now_ns(); weft_now_ns() - start < WEFT_NS_PER_S;) {
		int rc = WEFT_AGAIN;

		if (n_posted < 64) {
			struct iovec iov = { name, 100 };

			op_init(&w[n_posted]);
			rc = weft_net_send(
				s.net, s.peer, &iov, 1, &w[n_posted].op);
		}
		n_posted += rc == 0;
		n_again += rc == WEFT_AGAIN;
		if (rc && rc != WEFT_AGAIN && rc != WEFT_ERR_PEER && bad++ == 0)
			printf("# post said %s\n", weft_err_detail_peek(rc));
		n_err += rc == WEFT_ERR_PEER;
		weft_net_poll(s.net);
	}
	for (int i = 0; i < n_posted; i++) {
		bad += w[i].n_done > 1;
		bad += w[i].n_done && w[i].err && w[i].err != WEFT_ERR_PEER;
		n_err += w[i].n_done && w[i].err;
	}
	printf("# %d posted, %d pushed back, %d told that the peer is gone\n",
		n_posted, n_again, n_err);
	claim(parent, bad == 0,
		is_clean ? "a peer that closed hurts nobody"
			 : "a peer that was killed hurts nobody");
	weft_net_close(s.net);
	/* what a killed process leaves would stop the next one that is given
	 * its number */
	if (!strncmp((char *)name + 8, "fi_shm://", 9))
		shm_unlink((char *)name + 17);
	close(m.fd);
}

/* Figures */

static double median(double *v, int n)
{
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && v[j - 1] > v[j]; j--) {
			double t = v[j];

			v[j] = v[j - 1];
			v[j - 1] = t;
		}
	return v[n / 2];
}

static void one_untagged(struct side *s, unsigned char *buf, size_t len)
{
	struct wait_op w;

	if (len <= s->net->plan.inject_len) {
		send_inject(s, buf, len);
		return;
	}
	post_send(s, buf, len, 0, &w);
	op_wait(s, &w, "bench send");
}

static double ping_untagged(
	struct side *s, unsigned char *buf, size_t len, int n)
{
	uint64_t start = weft_now_ns();

	for (int i = 0; i < n; i++) {
		if (s->rank == 0)
			one_untagged(s, buf, len);
		s->n_pings++; /* the next may already be here */
		while (s->n_got < s->n_pings)
			weft_net_poll(s->net);
		if (s->rank == 1)
			one_untagged(s, buf, len);
	}
	return (double)(weft_now_ns() - start) / n / 2000;
}

static double ping_tagged(struct side *s, unsigned char *buf, size_t len, int n)
{
	uint64_t start = weft_now_ns();
	struct wait_op tx;
	struct wait_op rx;

	for (int i = 0; i < n; i++) {
		post_trecv(s, buf, len, 7, &rx);
		if (s->rank == 0)
			post_tsend(s, buf, len, 7, &tx);
		op_wait(s, &rx, "bench tagged");
		if (s->rank == 1)
			post_tsend(s, buf, len, 7, &tx);
		op_wait(s, &tx, "bench tagged send");
	}
	return (double)(weft_now_ns() - start) / n / 2000;
}

static double bandwidth(struct side *s, unsigned char *buf, size_t len)
{
	enum { WINDOW = 16, ROUNDS = 6 };
	uint64_t start = weft_now_ns();
	struct wait_op w[WINDOW];

	for (int r = 0; r < ROUNDS; r++) {
		for (uint64_t i = 0; i < WINDOW; i++)
			if (s->rank == 0)
				post_tsend(s, buf, len, i, &w[i]);
			else
				post_trecv(s, buf, len, i, &w[i]);
		for (int i = 0; i < WINDOW; i++)
			op_wait(s, &w[i], "bandwidth");
	}
	sync_sides(s);
	return (double)len * WINDOW * ROUNDS / (double)(weft_now_ns() - start) *
	       1000;
}

/* One side per core, so that the scheduler is not what is measured. */
static void pin(const struct side *s)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)s->rank, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		printf("# not pinned\n");
}

static void bench(struct side *s)
{
	static const size_t sizes[] = { 8, 64, 256, 1024, 4096, 8192, 16384,
		32768, 65536 };
	unsigned char *buf = calloc(1, BIG);
	double v[9];

	pin(s);
	expect(s, SIZE_MAX);
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		size_t len = sizes[k];
		int n = len > 16384 ? 60 : 300;
		double u = -1;

		ping_tagged(s, buf, len, 50);
		for (int r = 0; r < 9; r++)
			v[r] = ping_tagged(s, buf, len, n);
		sync_sides(s);
		if (len <= s->net->plan.recv_len) {
			double x[9];

			for (int r = 0; r < 9; r++)
				x[r] = ping_untagged(s, buf, len, n);
			u = median(x, 9);
		}
		if (s->rank == 0)
			printf("# %6zu B half round trip us: untagged %.2f "
			       "tagged %.2f\n",
				len, u, median(v, 9));
		sync_sides(s);
	}
	for (int r = 0; r < 5; r++)
		v[r] = bandwidth(s, buf, 1 << 20);
	if (s->rank == 0)
		printf("# 1 MiB tagged MB/s %.0f; idle poll %u ns\n",
			median(v, 5), s->net->plan.poll_ns);
	free(buf);
}

/* Start and end */

static void run_cases(struct side *s)
{
	case_names(s);
	case_inject_sizes(s);
	case_send_sizes(s, false);
	case_send_sizes(s, true);
	case_flood(s);
	case_flood_eager(s);
	case_mixed_sizes(s);
	case_both_ways(s);
	case_tagged(s, false);
	case_tagged(s, true);
	case_tagged_swap(s);
	case_cancel(s);
	if (s->net->plan.has_rma)
		case_rma(s);
	case_truncate(s); /* last: it may cost the connection */
}

static void introduce(struct side *s)
{
	unsigned char mine[WEFT_NET_NAME_MAX] = { 0 };
	unsigned char theirs[WEFT_NET_NAME_MAX];
	size_t len = sizeof(mine);
	int rc = weft_net_name(s->net, mine, &len);

	if (rc)
		die(s, weft_err_detail_peek(rc));
	swap_bytes(s, mine, theirs, sizeof(mine));
	rc = weft_net_peer_add(s->net, theirs, len, &s->peer);
	if (rc)
		die(s, weft_err_detail_peek(rc));
}

static int run_side(struct side *s, bool is_bench)
{
	struct weft_net_hints hints = { .provider = s->provider,
		.is_one_host = true };
	char plan[2048];
	int rc;

	alarm(DEADLINE_S * 4);
	fcntl(s->fd, F_SETFL, O_NONBLOCK);
	expect(s, SIZE_MAX);
	rc = weft_net_open(&hints, on_recv, s, &s->net);
	if (rc)
		return rc == WEFT_ERR_NOPROV ? SKIP : 1;
	weft_plan_print(&s->net->plan, plan, sizeof(plan));
	if (s->rank == 0)
		printf("# %s on %s, inject %zu B, idle poll %u ns\n",
			s->net->plan.provider, s->net->plan.domain,
			s->net->plan.inject_len, s->net->plan.poll_ns);
	introduce(s);
	if (is_bench)
		bench(s);
	else
		run_cases(s);
	sync_sides(s);
	weft_net_close(s->net);
	return n_failed ? 1 : 0;
}

static int run_alone(struct side *s)
{
	case_crowd(s, true);
	case_reopen(s);
	case_lost_peer(s, true);
	case_lost_peer(s, false);
	printf("1..%d\n", n_tests);
	return n_failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *asked = weft_knob_foreign("WEFT_TEST_PROVIDER");
	struct side s = { .provider = asked ? asked : NET_PROVIDER };
	bool is_bench = argc > 1 && strcmp(argv[1], "--bench") == 0;
	int fds[2];
	int status = 0;
	pid_t pid;
	int rc;

	stand_find(s.provider);
	weft_knob_load();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		return 1;
	pid = fork();
	s.rank = pid == 0;
	s.fd = fds[s.rank];
	close(fds[!s.rank]);
	rc = run_side(&s, is_bench);
	if (s.rank == 1)
		_exit(rc);
	waitpid(pid, &status, 0);
	if (rc == SKIP) {
		printf("1..0 # SKIP no provider %s here\n", s.provider);
		return 0;
	}
	if (is_bench)
		return rc;
	claim(&s, rc == 0 && status == 0, "both sides end well");
	return run_alone(&s);
}
