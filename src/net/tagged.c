/* SPDX-License-Identifier: BSD-3-Clause */
/* tagged: messages that the provider matches with receives by their tags */
#include "net/tagged.h"

#include "net/net_priv.h"

bool weft_tagged_can(struct weft_net *net)
{
	return net->plan.match_flags && !net->plan.needs_local_mr &&
	       !weft_net_inside(net)->has_own_context;
}

static int send_flagged(struct weft_net *net, const struct weft_tagged *m,
	uint64_t flags, struct weft_op *op)
{
	struct iovec iov = { m->buf, m->len };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = m->addr,
		.tag = m->tag,
		.context = op,
	};
	ssize_t rc = fi_tsendmsg(net->ep, &msg, flags | FI_COMPLETION);

	if (rc)
		return weft_net_fault(net, "fi_tsendmsg", rc);
	net->n_sent++;
	return 0;
}

int weft_tagged_send(struct weft_net *net, const struct weft_tagged *msg,
	bool is_sync, struct weft_op *op)
{
	return send_flagged(net, msg, is_sync ? net->plan.match_flags : 0, op);
}

int weft_tagged_inject(
	struct weft_net *net, const struct weft_tagged *msg, struct weft_op *op)
{
	return send_flagged(net, msg, FI_INJECT, op);
}

static int recv_flagged(struct weft_net *net, const struct weft_tagged *m,
	uint64_t flags, struct weft_op *op)
{
	struct iovec iov = { m->buf, m->len };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov,
		.iov_count = flags & FI_PEEK ? 0 : 1,
		.addr = FI_ADDR_UNSPEC,
		.tag = m->tag,
		.ignore = m->ignore,
		.context = op,
	};
	ssize_t rc = fi_trecvmsg(net->ep, &msg, flags | FI_COMPLETION);

	return rc ? weft_net_fault(net, "fi_trecvmsg", rc) : 0;
}

int weft_tagged_recv(
	struct weft_net *net, const struct weft_tagged *msg, struct weft_op *op)
{
	return recv_flagged(net, msg, 0, op);
}

int weft_tagged_peek(struct weft_net *net, const struct weft_tagged *msg,
	bool is_claim, struct weft_op *op)
{
	return recv_flagged(net, msg, FI_PEEK | (is_claim ? FI_CLAIM : 0), op);
}

int weft_tagged_claim(
	struct weft_net *net, const struct weft_tagged *msg, struct weft_op *op)
{
	return recv_flagged(net, msg, FI_CLAIM, op);
}
