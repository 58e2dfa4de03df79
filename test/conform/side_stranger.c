/* SPDX-License-Identifier: BSD-3-Clause */
/* side_stranger: registered memory and a process that has no key to it
 *
 *   side_stranger [PROVIDER...]
 *
 * On each provider the owner registers memory for its peers. A process of
 * another user (65534, where this program runs as root) knows the owner's
 * address, connects, and reads and writes with the keys that it can guess. It
 * must access nothing. A peer that has the key continues. */
#include "net/rma_ep.h"

#include "base/clock.h"
#include "base/knob.h"
#include "test/fake/cxi/stand_find.h"

#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MEM_LEN = 65536,
	NOBODY = 65534,
	DEADLINE_S = 100,
	CASE_SKIP = 77,
};

#define SECRET 0x7365637265740a21u

/* The facts that the stranger knows: all but the keys. */
struct known {
	uint64_t base[2];
	uint64_t n_keys;
	uint32_t name_len;
	char name[WEFT_NET_NAME_MAX];
};

struct wait {
	struct weft_op op;
	int n_done;
	int err;
};

static void on_done(struct weft_op *op, int err, size_t len)
{
	struct wait *w = weft_container_of(op, struct wait, op);

	(void)len;
	w->n_done++;
	w->err = err;
}

static int open_side(const char *provider, struct weft_rma_domain **out)
{
	struct weft_net_hints hints = { .provider = provider,
		.is_one_host = true };

	return weft_rma_domain_open(&hints, out);
}

/* ---- the stranger ---- */

/* One access with one key. It uses a new endpoint, because a refusal may close
 * the connection. True if all checks passed. */
static bool try_key(const char *provider, const struct known *known, int span,
	uint64_t key, bool is_write)
{
	struct weft_rma_ep_target to = { .remote = known->base[span],
		.key = key };
	uint64_t end = weft_now_ns() + WEFT_NS_PER_S / 20;
	struct wait w = { .op = { .done = on_done } };
	struct weft_rma_domain *domain;
	uint64_t word = is_write ? 0xbad : 0;
	int rc = WEFT_AGAIN;

	if (open_side(provider, &domain))
		exit(CASE_SKIP);
	if (weft_rma_domain_peer_add(
		    domain, known->name, known->name_len, &to.addr))
		exit(1);
	while (!w.n_done && weft_now_ns() < end) {
		struct weft_rma_ep *ep = weft_rma_domain_ep(domain);

		if (rc == WEFT_AGAIN && is_write)
			rc = weft_rma_ep_write(ep, &to, &word, sizeof(word),
				domain->plan.deliver_flags, &w.op);
		else if (rc == WEFT_AGAIN)
			rc = weft_rma_ep_read(
				ep, &to, &word, sizeof(word), 0, &w.op);
		if (rc && rc != WEFT_AGAIN)
			break;
		weft_rma_ep_poll(ep);
	}
	weft_rma_domain_close(domain);
	if (!w.n_done || w.err || (!is_write && word != SECRET))
		return false;
	printf("# %s: uid %u %s memory %d with key %llu\n", provider, geteuid(),
		is_write ? "wrote" : "read", span, (unsigned long long)key);
	return true;
}

static int be_stranger(const char *provider, int fd)
{
	static const uint64_t guesses[] = { 0, 1, 2, 3, 100, 101, UINT64_MAX };
	struct known known;
	int n_in = 0;

	if (!geteuid() &&
		(setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		return 1;
	if (read(fd, &known, sizeof(known)) != sizeof(known))
		return 1;
	for (size_t i = 0; i < sizeof(guesses) / sizeof(*guesses); i++) {
		if (guesses[i] < known.n_keys)
			continue;
		n_in += try_key(provider, &known, 0, guesses[i], false);
		n_in += try_key(provider, &known, 1, guesses[i], true);
	}
	return n_in != 0;
}

/* ---- the owner, and a peer that has the key ---- */

static struct weft_rma_domain *owner, *friend;
static uint64_t *mem[2];
static struct weft_rma_ep_key keys[2];
static char *cheap; /* memory that is registered under keys that are not
		     * random */

static int own_memory(const char *provider, struct known *known)
{
	struct weft_rma_ep_key key;
	struct weft_rma_mr *mr;
	size_t len = sizeof(known->name);

	if (open_side(provider, &owner) || open_side(provider, &friend))
		return CASE_SKIP;
	memset(known, 0, sizeof(*known));
	known->n_keys = owner->plan.n_keys;
	cheap = aligned_alloc(4096, MEM_LEN);
	for (uint64_t i = 0; i < known->n_keys; i++)
		if (weft_rma_domain_expose(owner, cheap, MEM_LEN, &key, &mr))
			return 1;
	for (int i = 0; i < 2; i++) {
		mem[i] = aligned_alloc(4096, MEM_LEN);
		for (size_t k = 0; k < MEM_LEN / 8; k++)
			mem[i][k] = SECRET;
		if (weft_rma_domain_expose(
			    owner, mem[i], MEM_LEN, &keys[i], &mr))
			return 1;
		known->base[i] = keys[i].base;
	}
	if (weft_rma_domain_name(owner, known->name, &len))
		return 1;
	known->name_len = (uint32_t)len;
	return 0;
}

static void turn(void)
{
	weft_rma_ep_poll(weft_rma_domain_ep(owner));
	weft_rma_ep_poll(weft_rma_domain_ep(friend));
}

/* A write with the key arrives. */
static bool friend_writes(const struct known *known)
{
	struct weft_rma_ep_target to = { .remote = keys[1].base,
		.key = keys[1].key };
	struct wait w = { .op = { .done = on_done } };
	uint64_t word = 1;
	int rc;

	if (weft_rma_domain_peer_add(
		    friend, known->name, known->name_len, &to.addr))
		return false;
	do {
		rc = weft_rma_ep_write(weft_rma_domain_ep(friend), &to, &word,
			sizeof(word), friend->plan.deliver_flags, &w.op);
		turn();
	} while (rc == WEFT_AGAIN);
	while (!rc && !w.n_done)
		turn();
	return !rc && !w.err && mem[1][0] == 1;
}

static int run_case(const char *provider)
{
	struct known known;
	struct pollfd at;
	int ends[2], status, rc;
	pid_t pid;

	alarm(DEADLINE_S);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	pid = fork(); /* before this process opens a provider */
	if (!pid) {
		close(ends[0]);
		alarm(DEADLINE_S);
		exit(be_stranger(provider, ends[1]));
	}
	close(ends[1]);
	rc = own_memory(provider, &known);
	if (!rc && write(ends[0], &known, sizeof(known)) != sizeof(known))
		rc = 1;
	at = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	while (!rc && !poll(&at, 1, 0))
		turn();
	close(ends[0]);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	if (rc)
		return rc;
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < MEM_LEN / 8; k++)
			rc |= mem[i][k] != SECRET;
	if (rc)
		printf("# %s: the owner's memory has changed\n", provider);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CASE_SKIP)
		printf("# %s: another user cannot open it\n", provider);
	else if (!WIFEXITED(status) || WEXITSTATUS(status))
		rc = 1;
	if (!friend_writes(&known)) {
		printf("# %s: the peer's write has not arrived\n", provider);
		rc = 1;
	}
	if (known.n_keys)
		printf("# %s: keys below %llu are not random and can be "
		       "guessed\n",
			provider, (unsigned long long)known.n_keys);
	return rc;
}

/* Runs the case in a new process, because the state of a provider does not
 * survive a fork. */
static int apart(const char *provider)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		int rc = run_case(provider);

		fflush(stdout);
		_exit(rc); /* nothing was closed, so leaks are not checked */
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	static const char *const providers[] = { "cxi", "tcp", "tcp;ofi_rxm",
		"sockets", "shm", "verbs;ofi_rxm" };
	int n = argc > 1 ? argc - 1
			 : (int)(sizeof(providers) / sizeof(*providers));
	int n_failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	stand_find("cxi");
	weft_knob_load();
	if (geteuid())
		printf("# not root: the stranger is of the same user\n");
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		const char *provider = argc > 1 ? argv[i + 1] : providers[i];
		int rc = apart(provider);

		if (rc == CASE_SKIP) {
			printf("ok %d - %s # SKIP not offered here\n", i + 1,
				provider);
			continue;
		}
		n_failed += rc != 0;
		printf("%s %d - %s: without the key nothing is read or "
		       "written\n",
			rc ? "not ok" : "ok", i + 1, provider);
	}
	return n_failed != 0;
}
