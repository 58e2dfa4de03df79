/* SPDX-License-Identifier: BSD-3-Clause */
/* net_conform: one suite over a provider, or over shared memory, between two
 * processes
 *
 *   net_NAME [--bench]
 *
 * Built once for each provider (NET_PROVIDER); WEFT_TEST_PROVIDER overrides it.
 *
 * The parent and a forked child each open a net on this host, exchange names
 * through a socket pair and run the same list of cases. Skipped if the provider
 * is not available. */
#include "test/conform/conform.h"
#include "test/conform/hook.h"

#include "base/knob.h"
#include "base/log.h"
#include "test/fake/cxi/stand_find.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

#ifndef CONFORM_OWN
static void limited(struct side *s, const struct hook_limits *limits)
{
	struct hook *hook = limits->n_tx ? hook_on(s->net, limits) : NULL;

	run_cases(s);
	if (!hook)
		return;
	if (s->rank == 0)
		hook_print(hook);
	claim(s, hook_most(hook) <= limits->n_tx,
		"no more operations than the limit are in flight");
	sync_sides(s);
	hook_off(hook);
}
#else
static void limited(struct side *s, const struct hook_limits *limits)
{
	(void)limits;
	run_cases(s);
}
#endif

static int run_side(
	struct side *s, const struct hook_limits *limits, bool is_bench)
{
	struct weft_net_hints hints = { .provider = s->provider,
		.is_one_host = true };
	int rc;

	alarm(DEADLINE_S * 4);
	fcntl(s->fd, F_SETFL, O_NONBLOCK);
	expect(s, SIZE_MAX);
	rc = weft_net_open(&hints, on_recv, s, &s->net);
	if (rc)
		return rc == WEFT_ERR_NOPROV ? SKIP : 1;
	if (s->rank == 0)
		printf("# %s on %s, inject %zu B, idle poll %u ns\n",
			s->net->plan.provider, s->net->plan.domain,
			s->net->plan.inject_len, s->net->plan.poll_ns);
	introduce(s);
	if (is_bench)
		bench(s);
	else
		limited(s, limits);
	sync_sides(s);
	weft_net_close(s->net);
	return n_failed ? 1 : 0;
}

struct pair {
	const char *provider;
	struct hook_limits limits;
	bool is_bench;
};

/* Runs both sides. SKIP, or 0 if both sides passed. */
static int run_pair(void *arg)
{
	const struct pair *pair = arg;
	struct side s = { .provider = pair->provider };
	int fds[2], status = 0, rc;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		return 1;
	fflush(stdout);
	pid = fork();
	s.rank = pid == 0;
	s.fd = fds[s.rank];
	close(fds[!s.rank]);
	rc = run_side(&s, &pair->limits, pair->is_bench);
	if (s.rank == 1)
		_exit(rc);
	waitpid(pid, &status, 0);
	close(s.fd);
	return rc == SKIP ? SKIP : rc || status;
}

#ifndef CONFORM_OWN
static int limits_of(void *arg)
{
	run_limits(arg);
	return 0;
}

static void run_little(const struct side *s)
{
	struct pair little = { s->provider, { .n_tx = 1, .n_mr = 2 }, false };

	claim(s, apart(run_pair, &little) == 0,
		"both sides end normally with scarce resources");
	claim(s, apart(limits_of, (void *)s->provider) == 0,
		"a process at the limits ends normally");
}
#endif

int main(int argc, char **argv)
{
	const char *asked = weft_knob_getenv("WEFT_TEST_PROVIDER");
	struct side s = { .provider = asked ? asked : NET_PROVIDER };
	bool is_bench = argc > 1 && strcmp(argv[1], "--bench") == 0;
	struct pair pair = { s.provider, { 0 }, is_bench };
	int rc;

	stand_find(s.provider);
	weft_knob_load();
	rc = apart(run_pair, &pair);
	if (rc == SKIP) {
		printf("1..0 # SKIP no provider %s here\n", s.provider);
		return 0;
	}
	if (is_bench)
		return rc;
	claim(&s, rc == 0, "both sides end normally");
#ifndef CONFORM_OWN
	run_little(&s);
#endif
	run_alone(&s);
	printf("1..%d\n", n_tests);
	return n_failed ? 1 : 0;
}
