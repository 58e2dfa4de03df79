/* SPDX-License-Identifier: BSD-3-Clause */
/* hook: the suite's operation tables in front of those of a provider */
#include "test/conform/hook.h"

#include "net/net_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	N_HOOKS = 8,
	N_KEPT = 64,
	N_TX = 64, /* the highest value of limits.n_tx */
};

struct hook {
	struct weft_inside *in;
	struct hook_limits limits;
	struct fi_ops_msg *msg, msg_ours;
	struct fi_ops_tagged *tagged, tagged_ours;
	struct fi_ops_cq *cq, cq_ours;
	struct fi_ops_av *av, av_ours;
	struct fi_ops_mr *mr, mr_ours;
	void *under_way[N_TX];
	uint32_t n_tx, most_tx, n_av, n_mr;
	uint64_t n_calls[HOOK_N_CALLS], n_refused[HOOK_N_CALLS];
	struct hook_record kept[N_KEPT];
	uint64_t n_kept;
};

static struct hook *hooks[N_HOOKS];

#define FIND(what)                                                      \
	static struct hook *of_##what(const struct fid_##what *f)       \
	{                                                               \
		for (size_t i = 0; i < N_HOOKS; i++)                    \
			if (hooks[i] && hooks[i]->in->HOOK_##what == f) \
				return hooks[i];                        \
		abort();                                                \
	}
#define HOOK_ep net.ep
#define HOOK_cq cq
#define HOOK_av dom.av
#define HOOK_domain dom.domain
FIND(ep)
FIND(cq)
FIND(av)
FIND(domain)

static ssize_t note(struct hook *h, enum hook_call call, uint64_t len,
	uint64_t flags, ssize_t rc)
{
	h->n_calls[call]++;
	h->n_refused[call] += rc < 0;
	h->kept[h->n_kept++ % N_KEPT] =
		(struct hook_record){ call, len, flags, rc };
	return rc;
}

/* ---- the transmit queue ---- */

static bool is_full(const struct hook *h)
{
	return h->limits.n_tx && h->n_tx >= h->limits.n_tx;
}

/* before the post: the poll of another hook may read its completion */
static void leave(struct hook *h, void *context)
{
	if (h->n_tx < N_TX)
		h->under_way[h->n_tx] = context;
	h->n_tx++;
	h->most_tx = weft_max(h->most_tx, h->n_tx);
}

static void back(struct hook *h, const void *context)
{
	uint32_t n = weft_min(h->n_tx, (uint32_t)N_TX);

	for (uint32_t i = 0; i < n; i++)
		if (h->under_way[i] == context) {
			h->under_way[i] = h->under_way[n - 1];
			h->n_tx--;
			return;
		}
}

#define POST(h, call, len, flags, context, post)       \
	do {                                           \
		ssize_t rc_ = -FI_EAGAIN;              \
                                                       \
		if (!is_full(h)) {                     \
			leave(h, context);             \
			rc_ = (post);                  \
			if (rc_)                       \
				back(h, context);      \
		}                                      \
		return note(h, call, len, flags, rc_); \
	} while (0)

static size_t total(const struct iovec *iov, size_t n)
{
	size_t len = 0;

	while (n--)
		len += iov[n].iov_len;
	return len;
}

static ssize_t hook_send(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t to, void *context)
{
	struct hook *h = of_ep(ep);

	POST(h, HOOK_SEND, len, 0, context,
		h->msg->send(ep, buf, len, desc, to, context));
}

static ssize_t hook_sendv(struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t n, fi_addr_t to, void *context)
{
	struct hook *h = of_ep(ep);

	POST(h, HOOK_SEND, total(iov, n), 0, context,
		h->msg->sendv(ep, iov, desc, n, to, context));
}

static ssize_t hook_sendmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct hook *h = of_ep(ep);

	POST(h, HOOK_SEND, total(msg->msg_iov, msg->iov_count), flags,
		msg->context, h->msg->sendmsg(ep, msg, flags));
}

static ssize_t hook_inject(
	struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
	struct hook *h = of_ep(ep);
	ssize_t rc = is_full(h) ? -FI_EAGAIN : h->msg->inject(ep, buf, len, to);

	return note(h, HOOK_INJECT, len, 0, rc);
}

static ssize_t hook_recvmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct hook *h = of_ep(ep);

	return note(h, HOOK_RECV, total(msg->msg_iov, msg->iov_count), flags,
		h->msg->recvmsg(ep, msg, flags));
}

static ssize_t hook_tsend(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t to, uint64_t tag, void *context)
{
	struct hook *h = of_ep(ep);

	POST(h, HOOK_TSEND, len, 0, context,
		h->tagged->send(ep, buf, len, desc, to, tag, context));
}

static ssize_t hook_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
	struct hook *h = of_ep(ep);

	return note(h, HOOK_TRECV, len, 0,
		h->tagged->recv(
			ep, buf, len, desc, from, tag, ignore, context));
}

static ssize_t hook_cq_read(struct fid_cq *cq, void *buf, size_t n)
{
	struct hook *h = of_cq(cq);
	const struct fi_cq_tagged_entry *e = buf;
	ssize_t got = h->cq->read(cq, buf, n);

	for (ssize_t i = 0; i < got; i++)
		back(h, e[i].op_context);
	return got;
}

static ssize_t hook_cq_readerr(
	struct fid_cq *cq, struct fi_cq_err_entry *e, uint64_t flags)
{
	struct hook *h = of_cq(cq);
	ssize_t got = h->cq->readerr(cq, e, flags);

	if (got > 0)
		back(h, e->op_context);
	return got;
}

/* ---- tables ---- */

static int hook_insert(struct fid_av *av, const void *addr, size_t n,
	fi_addr_t *out, uint64_t flags, void *context)
{
	struct hook *h = of_av(av);
	int rc;

	if (h->limits.n_av && h->n_av >= h->limits.n_av)
		return (int)note(h, HOOK_AV, n, flags, -FI_ENOSPC);
	rc = h->av->insert(av, addr, n, out, flags, context);
	h->n_av += rc > 0 ? (uint32_t)rc : 0;
	return (int)note(h, HOOK_AV, n, flags, rc);
}

static int hook_regattr(struct fid *fid, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **mr)
{
	struct hook *h =
		of_domain(weft_container_of(fid, struct fid_domain, fid));
	const size_t len = attr->mr_iov->iov_len;
	uint32_t n = 0;

	for (struct weft_mr *m = h->in->mrs; m; m = m->next)
		n++;
	if (h->limits.n_mr && n >= h->n_mr + h->limits.n_mr)
		return (int)note(h, HOOK_MR, len, flags, -FI_ENOSPC);
	return (int)note(
		h, HOOK_MR, len, flags, h->mr->regattr(fid, attr, flags, mr));
}

/* ---- on and off ---- */

static void stand_in(struct hook *h)
{
	struct weft_inside *in = h->in;
	struct fid_ep *ep = in->net.ep;

	h->msg = ep->msg;
	h->msg_ours = *ep->msg;
	h->msg_ours.send = hook_send;
	h->msg_ours.sendv = hook_sendv;
	h->msg_ours.sendmsg = hook_sendmsg;
	h->msg_ours.inject = hook_inject;
	h->msg_ours.recvmsg = hook_recvmsg;
	ep->msg = &h->msg_ours;
	h->tagged = ep->tagged;
	h->tagged_ours = *ep->tagged;
	h->tagged_ours.send = hook_tsend;
	h->tagged_ours.recv = hook_trecv;
	ep->tagged = &h->tagged_ours;
	h->cq = in->cq->ops;
	h->cq_ours = *in->cq->ops;
	h->cq_ours.read = hook_cq_read;
	h->cq_ours.readerr = hook_cq_readerr;
	in->cq->ops = &h->cq_ours;
	h->av = in->dom.av->ops;
	h->av_ours = *in->dom.av->ops;
	h->av_ours.insert = hook_insert;
	in->dom.av->ops = &h->av_ours;
	h->mr = in->dom.domain->mr;
	h->mr_ours = *in->dom.domain->mr;
	h->mr_ours.regattr = hook_regattr;
	in->dom.domain->mr = &h->mr_ours;
}

struct hook *hook_on(struct weft_net *net, const struct hook_limits *limits)
{
	for (size_t i = 0; i < N_HOOKS; i++) {
		struct hook *h = hooks[i] ? NULL : calloc(1, sizeof(*h));

		if (!h)
			continue;
		h->in = weft_net_inside(net);
		if (limits)
			h->limits = *limits;
		for (struct weft_mr *m = h->in->mrs; m; m = m->next)
			h->n_mr++;
		stand_in(h);
		hooks[i] = h;
		return h;
	}
	return NULL;
}

void hook_off(struct hook *h)
{
	struct fid_ep *ep = h->in->net.ep;

	ep->msg = h->msg;
	ep->tagged = h->tagged;
	h->in->cq->ops = h->cq;
	h->in->dom.av->ops = h->av;
	h->in->dom.domain->mr = h->mr;
	for (size_t i = 0; i < N_HOOKS; i++)
		if (hooks[i] == h)
			hooks[i] = NULL;
	free(h);
}

/* ---- the record ---- */

uint64_t hook_count(const struct hook *h, enum hook_call call)
{
	return h->n_calls[call];
}

uint64_t hook_refused(const struct hook *h, enum hook_call call)
{
	return h->n_refused[call];
}

uint32_t hook_most(const struct hook *h)
{
	return h->most_tx;
}

const struct hook_record *hook_last(const struct hook *h, size_t i)
{
	if (i >= N_KEPT || i >= h->n_kept)
		return NULL;
	return &h->kept[(h->n_kept - 1 - i) % N_KEPT];
}

void hook_print(const struct hook *h)
{
	static const char *const names[] = { "send", "inject", "recv", "tsend",
		"trecv", "read", "write", "av", "mr" };

	printf("# calls (refused):");
	for (int i = 0; i < HOOK_N_CALLS; i++)
		printf(" %s %lu (%lu)", names[i], (unsigned long)h->n_calls[i],
			(unsigned long)h->n_refused[i]);
	printf("; at most %u under way\n", h->most_tx);
}
