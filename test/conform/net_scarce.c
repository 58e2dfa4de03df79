/* SPDX-License-Identifier: BSD-3-Clause */
/* net_scarce: behaviour of a provider when a resource is exhausted
 *
 *   net_scarce [PROVIDER...]
 *
 * Each provider and case has a process of its own with two connected endpoints:
 * no free descriptors, a receiver that does not poll, a close during traffic,
 * many addresses. Correct: the call is refused or pushed back, no message is
 * lost, no endpoint fails, and afterwards all calls work again. */
#include "base/clock.h"
#include "base/knob.h"
#include "net/net.h"
#include "test/fake/cxi/stand_find.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	DEADLINE_S = 60,
	SKIP = 77,
	N_FLOOD = 20000,
	N_FLYING = 64,
	N_MANY = 1000,
};

struct end {
	struct weft_net *net;
	uint64_t peer;
	uint64_t n_got, n_bad;
};

static uint64_t deadline_ns;

static void on_recv(void *arg, const void *data, size_t len)
{
	struct end *end = arg;
	uint64_t number = 0;

	if (len == sizeof(number))
		memcpy(&number, data, len);
	end->n_bad += len != sizeof(number) || number != end->n_got;
	end->n_got++;
}

static int open_end(struct end *end, const char *provider)
{
	struct weft_net_hints hints = { .provider = provider,
		.is_one_host = true };

	end->n_got = end->n_bad = 0;
	return weft_net_open(&hints, on_recv, end, &end->net);
}

static int know(struct end *end, struct end *other)
{
	unsigned char name[WEFT_NET_NAME_MAX];
	size_t len = sizeof(name);
	int rc = weft_net_name(other->net, name, &len);

	return rc ? rc : weft_net_peer_add(end->net, name, len, &end->peer);
}

static int open_both(struct end ends[2], const char *provider)
{
	int rc = open_end(&ends[0], provider);

	rc = rc ? rc : open_end(&ends[1], provider);
	rc = rc ? rc : know(&ends[0], &ends[1]);
	return rc ? rc : know(&ends[1], &ends[0]);
}

static int is_late(void)
{
	return weft_now_ns() > deadline_ns;
}

static void poll_both(struct end ends[2])
{
	if (weft_net_poll(ends[0].net) + weft_net_poll(ends[1].net) == 0)
		sched_yield();
}

/* Sends n numbers from one endpoint to the other while both are polled; 0 if
 * all arrive in order. */
static int talk(struct end ends[2], uint64_t n)
{
	ends[1].n_got = ends[1].n_bad = 0;
	for (uint64_t i = 0; i < n; i++)
		while (weft_net_inject(ends[0].net, ends[0].peer, &i,
			       sizeof(i)) == WEFT_AGAIN &&
			!is_late())
			poll_both(ends);
	while (ends[1].n_got < n && !is_late())
		poll_both(ends);
	return ends[1].n_got != n || ends[1].n_bad;
}

static void close_both(struct end ends[2])
{
	weft_net_close(ends[0].net);
	weft_net_close(ends[1].net);
}

/* ---- cases: each returns 0 if the behaviour is correct ---- */

static int no_descriptors(const char *provider)
{
	struct rlimit was, now;
	struct end ends[2];
	int fd = dup(0), n_refused = 0;

	getrlimit(RLIMIT_NOFILE, &was);
	now = was;
	for (int room = 0; room < 24; room++) {
		now.rlim_cur = (rlim_t)(fd + room);
		setrlimit(RLIMIT_NOFILE, &now);
		if (open_end(&ends[0], provider))
			n_refused++;
		else
			weft_net_close(ends[0].net);
	}
	setrlimit(RLIMIT_NOFILE, &was);
	close(fd);
	printf("# %s: refused %d times of 24\n", provider, n_refused);
	if (open_both(ends, provider) || talk(ends, 10))
		return 1;
	close_both(ends);
	return 0;
}

static int receiver_does_not_poll(const char *provider)
{
	struct end ends[2];
	uint64_t n = 0;
	int rc = 0;

	if (open_both(ends, provider) || talk(ends, 10))
		return 1;
	ends[1].n_got = 0;
	while (n < N_FLOOD && !rc) {
		rc = weft_net_inject(ends[0].net, ends[0].peer, &n, sizeof(n));
		n += rc == 0;
	}
	printf("# %s: %llu messages before the first was pushed back\n",
		provider, (unsigned long long)n);
	if (rc && rc != WEFT_AGAIN)
		return 1;
	while (ends[1].n_got < n && !is_late())
		poll_both(ends);
	rc = ends[1].n_got != n || ends[1].n_bad || talk(ends, 10);
	close_both(ends);
	return rc;
}

static void op_done(struct weft_op *op, int err, size_t len)
{
	(void)op;
	(void)err;
	(void)len;
}

static int close_in_flight(const char *provider)
{
	static struct weft_op ops[2 * N_FLYING];
	static char out[65536], in[N_FLYING][1024];
	struct end ends[2];

	for (int first = 0; first < 2; first++) {
		if (open_both(ends, provider) || talk(ends, 10))
			return 1;
		for (size_t i = 0; i < N_FLYING; i++) {
			ops[i].done = ops[N_FLYING + i].done = op_done;
			weft_net_trecv(ends[1].net, ends[1].peer, in[i],
				sizeof(in[i]), NULL, i, &ops[i]);
			weft_net_tsend(ends[0].net, ends[0].peer, out,
				sizeof(in[i]), NULL, i + 5, &ops[N_FLYING + i]);
		}
		weft_net_close(ends[first].net);
		for (int i = 0; i < 1000; i++)
			weft_net_poll(ends[!first].net);
		weft_net_close(ends[!first].net);
	}
	return 0;
}

static int many_addresses(const char *provider)
{
	struct end ends[2];
	int n = 0, rc;

	if (open_both(ends, provider))
		return 1;
	while (n < N_MANY && !know(&ends[0], &ends[1]))
		n++;
	printf("# %s: one address given %d times\n", provider, n);
	rc = n == 0 || talk(ends, 10);
	close_both(ends);
	return rc;
}

/* ---- running them ---- */

static const struct {
	const char *claim;
	int (*run)(const char *provider);
	const char *not_for; /* provider that does not support the case, or
			      * NULL */
	uint32_t since;	     /* first version of libfabric that supports it */
	const char *why;
} cases[] = {
	{ "opens again after there were no descriptors", no_descriptors,
		"sockets", 1, "it frees twice what it could not open" },
	{ "loses nothing when the receiver does not look",
		receiver_does_not_poll, NULL, 0, NULL },
	{ "may be closed in the middle of traffic", close_in_flight, "shm", 2,
		"libfabric 2.1 crashes when the other has closed" },
	{ "takes or refuses many addresses", many_addresses, NULL, 0, NULL },
};

static int run_child(size_t i, const char *provider)
{
	struct end end;
	int rc;

	deadline_ns = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;
	alarm(2 * DEADLINE_S);
	if (open_end(&end, provider))
		return SKIP;
	weft_net_close(end.net);
	rc = cases[i].run(provider);
	fflush(stdout);
	return rc;
}

static int run(size_t i, const char *provider, int number)
{
	int status = 0;
	pid_t pid;

	if (cases[i].not_for && !strcmp(cases[i].not_for, provider) &&
		FI_MAJOR(fi_version()) >= cases[i].since) {
		printf("ok %d - %s: %s # SKIP %s\n", number, provider,
			cases[i].claim, cases[i].why);
		return 0;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(run_child(i, provider));
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP) {
		printf("ok %d - %s # SKIP not to be had here\n", number,
			provider);
		return 0;
	}
	printf("%s %d - %s: %s (status 0x%x)\n", status ? "not ok" : "ok",
		number, provider, cases[i].claim, (unsigned)status);
	return status != 0;
}

int main(int argc, char **argv)
{
	static const char *const providers[] = { "tcp", "tcp;ofi_rxm",
		"sockets", "shm", "cxi" };
	int n = 0, failed = 0;

	setenv("FI_TCP_IFACE", "lo", 0);
	setenv("FI_SOCKETS_IFACE", "lo", 0);
	stand_find("cxi");
	weft_knob_load();
	for (size_t k = 0;
		k < (argc > 1 ? (size_t)argc - 1
			      : sizeof(providers) / sizeof(*providers));
		k++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
			failed += run(
				i, argc > 1 ? argv[k + 1] : providers[k], ++n);
	printf("1..%d\n", n);
	return failed != 0;
}
