/* SPDX-License-Identifier: BSD-3-Clause */
/* limits: full tables of a provider, and the calls that hook.c records
 *
 * Two nets in one process, both polled. */
#include "test/conform/conform.h"
#include "test/conform/hook.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { MEM_LEN = 8192 };

struct two {
	struct side a, b;
	struct hook *hook; /* hook on the endpoint of side a */
};

static void name_to(const struct side *of, struct side *to)
{
	unsigned char name[WEFT_NET_NAME_MAX];
	size_t len = sizeof(name);

	if (weft_net_name(of->net, name, &len) ||
		weft_net_peer_add(to->net, name, len, &to->peer))
		die(to, "two nets cannot add each other's names");
}

static void open_one(struct side *s, const char *provider)
{
	struct weft_net_hints hints = { .provider = provider,
		.is_one_host = true };

	*s = (struct side){ .provider = provider };
	expect(s, SIZE_MAX);
	if (weft_net_open(&hints, on_recv, s, &s->net))
		die(s, "two nets: open");
}

static void open_two(struct two *t, const char *provider)
{
	t->hook = NULL;
	open_one(&t->a, provider);
	open_one(&t->b, provider);
	name_to(&t->b, &t->a);
	name_to(&t->a, &t->b);
}

static void close_two(struct two *t)
{
	if (t->hook)
		hook_off(t->hook);
	weft_net_close(t->a.net);
	weft_net_close(t->b.net);
}

static void turn(const struct two *t)
{
	if (weft_net_poll(t->a.net) + weft_net_poll(t->b.net) == 0)
		sched_yield();
}

static bool talks(struct two *t)
{
	uint64_t until = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;
	unsigned char buf[8];

	expect(&t->b, 8);
	for (uint64_t i = 0; i < 20; i++) {
		make_msg(buf, 8, i);
		while (weft_net_inject(t->a.net, t->a.peer, buf, 8) ==
				WEFT_AGAIN &&
			weft_now_ns() < until)
			turn(t);
	}
	while (t->b.n_got < 20 && weft_now_ns() < until)
		turn(t);
	return t->b.n_got == 20 && !t->b.n_bad;
}

static void case_full_addresses(const char *provider)
{
	struct hook_limits limits = { .n_av = 1 };
	unsigned char name[WEFT_NET_NAME_MAX];
	size_t len = sizeof(name);
	struct two t;
	struct side more;
	uint64_t addr;

	open_two(&t, provider);
	t.hook = hook_on(t.a.net, &limits);
	open_one(&more, provider);
	weft_net_name(more.net, name, &len);
	claim(&t.a, weft_net_peer_add(t.a.net, name, len, &addr) == 0,
		"the address table has space for one more address");
	weft_net_close(more.net);
	open_one(&more, provider);
	len = sizeof(name);
	weft_net_name(more.net, name, &len);
	claim(&t.a,
		weft_net_peer_add(t.a.net, name, len, &addr) == WEFT_ERR_PEER &&
			strstr(weft_err_detail_peek(WEFT_ERR_PEER), "space"),
		"a full address table is reported with the reason");
	claim(&t.a, talks(&t),
		"peers in a full address table still exchange messages");
	hook_off(t.hook);
	t.hook = NULL;
	claim(&t.a, weft_net_peer_add(t.a.net, name, len, &addr) == 0,
		"the address table accepts more entries when it has space "
		"again");
	close_two(&t);
	weft_net_close(more.net);
}

static void case_full_registrations(const char *provider)
{
	static unsigned char mem[2][MEM_LEN];
	struct hook_limits limits = { .n_mr = 1 };
	struct weft_mr *mrs[2];
	struct two t;
	int rc;

	open_two(&t, provider);
	t.hook = hook_on(t.a.net, &limits);
	rc = weft_mr_get(t.a.net, mem[0], MEM_LEN, &mrs[0]);
	if (!rc)
		claim(&t.a,
			weft_mr_get(t.a.net, mem[1], MEM_LEN, &mrs[1]) ==
				WEFT_ERR_NOMEM,
			"exhausted registrations are reported as lack of "
			"memory");
	if (!rc)
		weft_mr_put(t.a.net, mrs[0]);
	rc = rc ? rc : weft_mr_get(t.a.net, mem[1], MEM_LEN, &mrs[1]);
	claim(&t.a, rc == 0, "a released registration can be acquired again");
	if (!rc)
		weft_mr_put(t.a.net, mrs[1]);
	claim(&t.a, talks(&t), "messages still arrive");
	close_two(&t);
}

static void case_recorder(const char *provider)
{
	static unsigned char buf[100];
	struct iovec iov = { buf, sizeof(buf) };
	const struct hook_record *last;
	struct wait_op w;
	struct two t;
	uint64_t start = weft_now_ns();
	int rc;

	open_two(&t, provider);
	if (!talks(&t))
		die(&t.a, "two nets cannot exchange messages");
	t.hook = hook_on(t.a.net, NULL);
	op_init(&w);
	while ((rc = weft_net_send(t.a.net, t.a.peer, &iov, 1, &w.op)) ==
			WEFT_AGAIN &&
		weft_now_ns() - start < WEFT_NS_PER_S * DEADLINE_S)
		turn(&t);
	last = hook_last(t.hook, 0);
	claim(&t.a,
		rc == 0 && last && last->call == HOOK_SEND &&
			last->len == sizeof(buf) && last->rc == 0 &&
			hook_most(t.hook) == 1,
		"a recorder in front of the provider sees all posts");
	while (!w.n_done && weft_now_ns() - start < WEFT_NS_PER_S * DEADLINE_S)
		turn(&t);
	claim(&t.a, talks(&t) && w.n_done == 1 && !w.err,
		"the recorder changes the result of no call");
	hook_print(t.hook);
	close_two(&t);
}

void run_limits(const char *provider)
{
	case_recorder(provider);
	case_full_addresses(provider);
	case_full_registrations(provider);
}
