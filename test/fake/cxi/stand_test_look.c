/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_test_look: messages that are looked for, and kept, before a receive */
#include "test/fake/cxi/stand_pair.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONG = 100000, DEADLINE_S = 60 };

/* What a completion said. */
struct end {
	int err;
	void *context;
	size_t len;
	uint64_t tag;
	size_t too_much;
};

static struct end next_end(struct side *s)
{
	time_t late = time(NULL) + DEADLINE_S;
	struct fi_cq_tagged_entry e = { 0 };
	struct fi_cq_err_entry bad = { 0 };
	ssize_t n;

	while ((n = fi_cq_read(s->cq, &e, 1)) == -FI_EAGAIN &&
		time(NULL) < late)
		sched_yield();
	if (n == 1)
		return (struct end){ 0, e.op_context, e.len, e.tag, 0 };
	if (n != -FI_EAVAIL || fi_cq_readerr(s->cq, &bad, 0) != 1)
		return (struct end){ .err = -1 };
	return (struct end){ bad.err, bad.op_context, bad.len, bad.tag,
		bad.olen };
}

static ssize_t look(struct pair *p, uint64_t tag, uint64_t ignore,
	uint64_t flags, void *context)
{
	struct fi_msg_tagged msg = { .addr = FI_ADDR_UNSPEC,
		.tag = tag,
		.ignore = ignore,
		.context = context };

	return fi_trecvmsg(p->b.ep, &msg, flags | FI_COMPLETION);
}

static ssize_t take(
	struct pair *p, void *buf, size_t len, uint64_t flags, void *context)
{
	struct iovec iov = { buf, len };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.tag = 5,
		.context = context };

	return fi_trecvmsg(p->b.ep, &msg, flags | FI_COMPLETION);
}

/* A message from a that is there when b looks. */
static void come(struct pair *p, uint64_t tag, const void *data, size_t len)
{
	time_t late = time(NULL) + DEADLINE_S;
	struct fi_context c;
	struct end e;

	if (fi_tsend(p->a.ep, data, len, NULL, p->to_b, tag, NULL))
		abort();
	do {
		fi_cq_read(p->a.cq, NULL, 0);
		if (look(p, tag, 0, FI_PEEK, &c))
			abort();
		e = next_end(&p->b);
	} while (e.err == FI_ENOMSG && time(NULL) < late);
	claim(!e.err && e.context == &c && e.len == len && e.tag == tag,
		"a look sees %zu bytes with tag %d", len, (int)tag);
}

static void nothing_there(struct pair *p)
{
	struct fi_context c;
	struct end e;

	claim(look(p, 5, 0, FI_PEEK, &c) == 0, "a look is accepted");
	e = next_end(&p->b);
	claim(e.err == FI_ENOMSG && e.context == &c, "and finds nothing");
	claim(look(p, 5, 0, FI_PEEK | FI_CLAIM, &c) == 0, "so does one that "
							  "would keep it");
	claim(next_end(&p->b).err == FI_ENOMSG, "nothing either");
	claim(take(p, NULL, 0, FI_CLAIM, &c) == -FI_EINVAL,
		"what was not kept cannot be taken");
	claim(look(p, 5, 0, FI_PEEK | FI_CLAIM, NULL) == -FI_EINVAL,
		"keeping needs a context");
	claim(look(p, 5, 0, FI_PEEK | FI_DISCARD, &c) == -FI_EBADFLAGS,
		"nothing can be discarded");
}

/* Kept ones are out of everybody's sight. */
static void kept(struct pair *p)
{
	char buf[16] = "";
	struct fi_context c, d, other;
	struct end e;

	come(p, 5, "first", 6);
	if (fi_tsend(p->a.ep, "second", 7, NULL, p->to_b, 5, NULL))
		abort();
	come(p, 9, "later", 6); /* so the second is there, too */
	look(p, 4, 1, FI_PEEK | FI_CLAIM, &c);
	e = next_end(&p->b);
	claim(!e.err && e.len == 6 && e.tag == 5,
		"the earliest that fits is kept, its tag is told");
	look(p, 5, 0, FI_PEEK, &d);
	claim(next_end(&p->b).len == 7, "a look sees the next one");
	take(p, buf, 16, 0, &other);
	e = next_end(&p->b);
	claim(e.context == &other && !strcmp(buf, "second"),
		"so does a receive");
	claim(take(p, buf, 16, FI_CLAIM, &c) == 0, "the kept one is taken");
	e = next_end(&p->b);
	claim(!e.err && e.context == &c && e.len == 6 && !strcmp(buf, "first"),
		"as it was sent");
	claim(take(p, buf, 16, FI_CLAIM, &c) == -FI_EINVAL, "once");
}

/* Too long for its receive; long enough for a rendezvous; never taken. */
static void kept_long(struct pair *p)
{
	char *out = calloc(1, LONG), *in = calloc(1, LONG);
	struct fi_context c;
	struct end e;

	if (!out || !in)
		abort();
	memset(out, 7, LONG);
	come(p, 5, "twelve bytes", 12);
	look(p, 5, 0, FI_PEEK | FI_CLAIM, &c);
	next_end(&p->b);
	take(p, in, 4, FI_CLAIM, &c);
	e = next_end(&p->b);
	claim(e.err == FI_ETRUNC && e.too_much == 8 && !memcmp(in, "twel", 5),
		"a kept one may be too long");
	come(p, 5, out, LONG);
	look(p, 5, 0, FI_PEEK | FI_CLAIM, &c);
	claim(next_end(&p->b).len == LONG, "a long one is kept");
	take(p, in, LONG, FI_CLAIM, &c);
	e = next_end(&p->b);
	claim(!e.err && e.len == LONG && !memcmp(in, out, LONG),
		"and taken whole");
	come(p, 5, "kept for ever", 14);
	look(p, 5, 0, FI_PEEK | FI_CLAIM, &c);
	claim(!next_end(&p->b).err, "one is never taken");
	free(out);
	free(in);
}

void case_look(void)
{
	struct pair_wish plain = { 0 };
	struct pair p;

	pair_open(&p, &plain);
	nothing_there(&p);
	kept(&p);
	kept_long(&p);
	pair_close(&p);
}
