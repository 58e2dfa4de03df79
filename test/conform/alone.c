/* SPDX-License-Identifier: BSD-3-Clause */
/* alone: many nets in one process, and peers that end */
#include "test/conform/conform.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	N_CROWD = 6,
	CROWD_EACH = 50,
	N_LONG = 4,
	LONG_TAG = 500,
};

/* Each endpoint sends to all endpoints and to itself. */

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

/* A second process, a child that dies or closes while messages are in
 * flight. */

struct meeting {
	pid_t pid;
	int fd;
};

enum end { CLOSES, KILLED, KILLED_IN_THE_MIDDLE };

static const char *const end_claims[] = {
	[CLOSES] = "a peer that closed does not affect other peers",
	[KILLED] = "a peer that was killed does not affect other peers",
	[KILLED_IN_THE_MIDDLE] =
		"a peer killed in mid-message does not affect other peers",
};

/* A receiver that receives some messages and then closes its net. */
static void die_in_the_middle(struct side *s)
{
	char *buf = malloc((size_t)N_LONG * BIG);
	struct wait_op w[N_LONG];
	uint64_t start = weft_now_ns();

	for (uint64_t i = 0; i < N_LONG; i++)
		post_trecv(s, buf + i * BIG, BIG, LONG_TAG + i, &w[i]);
	while (weft_now_ns() - start < WEFT_NS_PER_S / 20 && !w[0].n_done)
		weft_net_poll(s->net);
	kill(getpid(), SIGKILL);
}

static void doomed(const char *provider, int fd, enum end end)
{
	struct side s = { .rank = 1, .provider = provider };
	unsigned char name[WEFT_NET_NAME_MAX] = { 0 };
	size_t len = sizeof(name);

	open_alone(&s);
	weft_net_name(s.net, name, &len);
	if (write(fd, name, sizeof(name)) != sizeof(name))
		_exit(1);
	if (read(fd, name, sizeof(name)) != sizeof(name) ||
		weft_net_peer_add(s.net, name, sizeof(name), &s.peer))
		_exit(1);
	wait_got(&s, 1, "first message to the doomed");
	if (end == CLOSES)
		weft_net_close(s.net);
	else if (end == KILLED)
		kill(getpid(), SIGKILL);
	else
		die_in_the_middle(&s);
	_exit(0);
}

static struct meeting meet(const char *provider, enum end end)
{
	struct meeting m = { -1, -1 };
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		return m;
	fflush(stdout);
	m.pid = fork();
	if (m.pid == 0) {
		close(fds[0]);
		doomed(provider, fds[1], end);
	}
	close(fds[1]);
	m.fd = fds[0];
	return m;
}

/* Results of operations to a peer that has ended. */
struct fate {
	int n_posted, n_again, n_failed, n_bad;
};

static void judge(struct fate *f, const struct wait_op *w, int n)
{
	for (int i = 0; i < n; i++) {
		f->n_bad += w[i].n_done > 1;
		f->n_bad +=
			w[i].n_done && w[i].err && w[i].err != WEFT_ERR_PEER;
		f->n_failed += w[i].n_done && w[i].err;
	}
}

static void judge_post(struct fate *f, int rc)
{
	f->n_posted += rc == 0;
	f->n_again += rc == WEFT_AGAIN;
	f->n_failed += rc == WEFT_ERR_PEER;
	if (rc && rc != WEFT_AGAIN && rc != WEFT_ERR_PEER && f->n_bad++ == 0)
		printf("# post said %s\n", weft_err_detail_peek(rc));
}

/* Starts the operations that are in flight when the child ends. */
static void send_long(
	struct side *s, char *buf, struct wait_op *w, struct fate *f)
{
	for (uint64_t i = 0; i < N_LONG; i++) {
		op_init(&w[i]);
		judge_post(f, weft_net_tsend(s->net, s->peer, buf, BIG, NULL,
				      LONG_TAG + i, &w[i].op));
	}
}

static void after_the_end(struct side *s, char *buf, struct fate *f)
{
	struct wait_op w[64];
	uint64_t start = weft_now_ns();
	int n = 0;

	while (weft_now_ns() - start < WEFT_NS_PER_S) {
		struct iovec iov = { buf, 100 };
		int rc;

		if (n < 64) {
			op_init(&w[n]);
			rc = weft_net_send(s->net, s->peer, &iov, 1, &w[n].op);
			judge_post(f, rc);
			n += rc == 0;
		}
		weft_net_poll(s->net);
	}
	judge(f, w, n);
}

/* Files of a killed process would stop the next process with the same pid. */
static void tidy(const unsigned char *name)
{
	if (!strncmp((const char *)name + 8, "fi_shm://", 9))
		shm_unlink((const char *)name + 17);
}

/* Correct: no crash and no call that blocks. If the provider reports errors,
 * they state that the peer has ended. */
static void case_lost_peer(const struct side *parent, enum end end)
{
	struct meeting m = meet(parent->provider, end);
	struct side s = { .provider = parent->provider };
	unsigned char name[WEFT_NET_NAME_MAX], mine[WEFT_NET_NAME_MAX] = { 0 };
	size_t len = sizeof(mine);
	char *buf = calloc(1, BIG);
	struct wait_op w[N_LONG] = { 0 };
	struct fate fate = { 0 };
	uint64_t start;

	if (recv(m.fd, name, sizeof(name), MSG_WAITALL) != sizeof(name))
		die(parent, "no name arrived from the peer");
	open_alone(&s);
	/* names are padded with zeros: 8 + 16 covers IPv4, shm is a string */
	weft_net_name(s.net, mine, &len);
	if (write(m.fd, mine, sizeof(mine)) != sizeof(mine) ||
		weft_net_peer_add(s.net, name, sizeof(name), &s.peer))
		die(parent, "cannot exchange names");
	send_inject(&s, "go", 2);
	if (end == KILLED_IN_THE_MIDDLE)
		send_long(&s, buf, w, &fate);
	start = weft_now_ns();
	while (waitpid(m.pid, NULL, WNOHANG) == 0)
		tick(&s, start, "the doomed ends");
	after_the_end(&s, buf, &fate);
	judge(&fate, w, end == KILLED_IN_THE_MIDDLE ? N_LONG : 0);
	printf("# %d posted, %d pushed back, %d told that the peer is gone\n",
		fate.n_posted, fate.n_again, fate.n_failed);
	claim(parent, fate.n_bad == 0, end_claims[end]);
	weft_net_close(s.net);
	tidy(name);
	free(buf);
	close(m.fd);
}

struct loss {
	const struct side *side;
	enum end end;
};

static int lose_peer(void *arg)
{
	const struct loss *loss = arg;

	case_lost_peer(loss->side, loss->end);
	return 0;
}

static int alone(void *arg)
{
	const struct side *s = arg;

	case_crowd(s, true);
	case_reopen(s);
	return 0;
}

void run_alone(const struct side *s)
{
	struct side copy = *s;

	claim(s, apart(alone, &copy) == 0,
		"an endpoint without a peer closes normally");
	for (enum end end = CLOSES; end <= KILLED_IN_THE_MIDDLE; end++)
		claim(s, apart(lose_peer, &(struct loss){ s, end }) == 0,
			"an endpoint whose peer is lost closes normally");
}
