/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_msg: sending and receiving, with 48-bit tags or without */
#include "stand.h"

#include <stdio.h>
#include <string.h>

#define SEND_FLAGS (STAND_TX_FLAGS)
#define RECV_FLAGS (FI_COMPLETION | FI_MORE | FI_MULTI_RECV)

struct message {
	const char *call;
	enum stand_type type;
	const void *buf;
	size_t len;
	fi_addr_t peer;
	uint64_t tag;
	uint64_t data;
	void *context;
	uint64_t flags;
	void *desc;
};

static struct stand_ep *ep_of(struct fid_ep *ep)
{
	return stand_of(ep, struct stand_ep, fid);
}

static ssize_t post(struct stand_ep *ep, const struct message *m)
{
	bool is_tagged = m->type == STAND_TAGGED;
	struct stand_op *op;
	char text[192], tag[32] = "", hmem[16] = "";
	int rc;

	if (!(ep->nic->caps & (is_tagged ? FI_TAGGED : FI_MSG)))
		return -FI_EOPNOTSUPP;
	if (m->len > STAND_MSG_MAX ||
		(m->flags & FI_INJECT && m->len > WEFT_CXI_INJECT_LEN))
		return -FI_EMSGSIZE;
	if (m->tag & ~STAND_TAG_MASK) {
		stand_log("%s refused: tag 0x%llx has more than 48 bits",
			m->call, (unsigned long long)m->tag);
		return -FI_EINVAL;
	}
	rc = stand_profile(ep->nic->dom, ep->tclass, 'd');
	if (rc)
		return rc;
	op = stand_op_new(ep, m->peer, m->flags, m->context, m->type);
	if (!op)
		return -FI_ENOMEM;
	op->mr = stand_hmem_use(
		ep->nic, m->call, m->buf, m->len, m->desc, m->flags);
	if (op->mr)
		snprintf(hmem, sizeof(hmem), " hmem=%s",
			stand_hmem_name(op->mr));
	op->cq_flags = FI_SEND | (is_tagged ? FI_TAGGED : FI_MSG);
	op->frame.addr = m->tag;
	op->frame.data = m->data;
	if (is_tagged)
		snprintf(tag, sizeof(tag), " tag=0x%llx",
			(unsigned long long)m->tag);
	if (stand_op_data(op, m->buf, m->len)) {
		stand_op_free(op);
		return -FI_ENOMEM;
	}
	stand_log("%s peer=%llu len=%zu%s flags=%s tclass=%s on=%s%s", m->call,
		(unsigned long long)m->peer, m->len, tag,
		stand_flags(m->flags, text, sizeof(text)),
		stand_tclass(ep->tclass), ep->nic->dom->device, hmem);
	return stand_post(ep, op);
}

/* The calls with a flags argument */
static ssize_t post_flags(struct stand_ep *ep, struct message *m,
	const struct iovec *iov, size_t n)
{
	if (m->flags & ~SEND_FLAGS) {
		stand_log("%s refused: flags", m->call);
		return -FI_EBADFLAGS;
	}
	if (n > 1)
		return -FI_EINVAL;
	if (n) {
		m->buf = iov->iov_base;
		m->len = iov->iov_len;
	}
	if (!ep->nic->tx_selective)
		m->flags |= FI_COMPLETION;
	return post(ep, m);
}

/* Untagged */

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t peer, void *context)
{
	struct message m = { "fi_senddata", STAND_MSG, buf, len, peer, 0, data,
		context, stand_call_flags(ep_of(ep)) | FI_REMOTE_CQ_DATA,
		desc };

	return post(ep_of(ep), &m);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t peer, void *context)
{
	struct message m = { "fi_send", STAND_MSG, buf, len, peer, 0, 0,
		context, stand_call_flags(ep_of(ep)), desc };

	return post(ep_of(ep), &m);
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t peer, void *context)
{
	if (count > 1)
		return -FI_EINVAL;
	return msg_send(ep, count ? iov->iov_base : NULL,
		count ? iov->iov_len : 0, desc ? *desc : NULL, peer, context);
}

static ssize_t msg_sendmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct message m = { "fi_sendmsg", STAND_MSG, NULL, 0, msg->addr, 0,
		msg->data, msg->context, flags, msg->desc ? *msg->desc : NULL };

	return post_flags(ep_of(ep), &m, msg->msg_iov, msg->iov_count);
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t len,
	uint64_t data, fi_addr_t peer)
{
	struct message m = { "fi_injectdata", STAND_MSG, buf, len, peer, 0,
		data, NULL, FI_INJECT | FI_REMOTE_CQ_DATA, NULL };

	return post(ep_of(ep), &m);
}

static ssize_t msg_inject(
	struct fid_ep *ep, const void *buf, size_t len, fi_addr_t peer)
{
	struct message m = { "fi_inject", STAND_MSG, buf, len, peer, 0, 0, NULL,
		FI_INJECT, NULL };

	return post(ep_of(ep), &m);
}

/* Posts a receive. The source is ignored without FI_DIRECTED_RECV. */
static ssize_t receive(
	struct stand_ep *ep, int kind, struct stand_recv *r, size_t n)
{
	const char *call = kind == STAND_KIND_TAGGED ? "fi_trecv" : "fi_recv";
	ssize_t rc;

	if (n > 1)
		return -FI_EINVAL;
	if (r->flags & ~RECV_FLAGS)
		return -FI_EBADFLAGS;
	if (r->flags & FI_MULTI_RECV && !(ep->nic->caps & FI_MULTI_RECV))
		return -FI_EINVAL;
	if (r->tag & ~STAND_TAG_MASK)
		return -FI_EINVAL;
	if (!(ep->nic->caps & FI_DIRECTED_RECV))
		r->src = FI_ADDR_UNSPEC;
	r->mr = stand_hmem_use(ep->nic, call, r->buf, r->len, r->desc, 0);
	if (r->mr)
		stand_log("%s len=%zu tag=0x%llx on=%s hmem=%s", call, r->len,
			(unsigned long long)r->tag, ep->nic->dom->device,
			stand_hmem_name(r->mr));
	rc = stand_rx_post(ep, kind, r);
	if (rc)
		stand_hmem_unuse(r->mr);
	return rc;
}

static ssize_t msg_recv(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t src, void *context)
{
	struct stand_recv r = { .buf = buf,
		.len = len,
		.context = context,
		.src = src,
		.flags = ep_of(ep)->nic->rx_op_flags,
		.desc = desc };

	return receive(ep_of(ep), STAND_KIND_MSG, &r, 1);
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t src, void *context)
{
	if (count > 1)
		return -FI_EINVAL;
	return msg_recv(ep, count ? iov->iov_base : NULL,
		count ? iov->iov_len : 0, desc ? *desc : NULL, src, context);
}

static ssize_t msg_recvmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct stand_recv r = {
		.context = msg->context,
		.src = msg->addr,
		.flags = flags,
		.desc = msg->desc ? *msg->desc : NULL,
	};

	if (msg->iov_count) {
		r.buf = msg->msg_iov->iov_base;
		r.len = msg->msg_iov->iov_len;
	}
	return receive(ep_of(ep), STAND_KIND_MSG, &r, msg->iov_count);
}

struct fi_ops_msg stand_msg_ops = {
	.size = sizeof(stand_msg_ops),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};

/* Tagged */

static ssize_t tag_senddata(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t peer, uint64_t tag, void *context)
{
	struct message m = { "fi_tsenddata", STAND_TAGGED, buf, len, peer, tag,
		data, context, stand_call_flags(ep_of(ep)) | FI_REMOTE_CQ_DATA,
		desc };

	return post(ep_of(ep), &m);
}

static ssize_t tag_send(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t peer, uint64_t tag, void *context)
{
	struct message m = { "fi_tsend", STAND_TAGGED, buf, len, peer, tag, 0,
		context, stand_call_flags(ep_of(ep)), desc };

	return post(ep_of(ep), &m);
}

static ssize_t tag_sendv(struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t peer, uint64_t tag, void *context)
{
	if (count > 1)
		return -FI_EINVAL;
	return tag_send(ep, count ? iov->iov_base : NULL,
		count ? iov->iov_len : 0, desc ? *desc : NULL, peer, tag,
		context);
}

static ssize_t tag_sendmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct message m = { "fi_tsendmsg", STAND_TAGGED, NULL, 0, msg->addr,
		msg->tag, msg->data, msg->context, flags,
		msg->desc ? *msg->desc : NULL };

	return post_flags(ep_of(ep), &m, msg->msg_iov, msg->iov_count);
}

static ssize_t tag_injectdata(struct fid_ep *ep, const void *buf, size_t len,
	uint64_t data, fi_addr_t peer, uint64_t tag)
{
	struct message m = { "fi_tinjectdata", STAND_TAGGED, buf, len, peer,
		tag, data, NULL, FI_INJECT | FI_REMOTE_CQ_DATA, NULL };

	return post(ep_of(ep), &m);
}

static ssize_t tag_inject(struct fid_ep *ep, const void *buf, size_t len,
	fi_addr_t peer, uint64_t tag)
{
	struct message m = { "fi_tinject", STAND_TAGGED, buf, len, peer, tag, 0,
		NULL, FI_INJECT, NULL };

	return post(ep_of(ep), &m);
}

static ssize_t tag_recv(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t src, uint64_t tag, uint64_t ignore, void *context)
{
	struct stand_recv r = { .buf = buf,
		.len = len,
		.context = context,
		.src = src,
		.tag = tag,
		.ignore = ignore,
		.flags = ep_of(ep)->nic->rx_op_flags & ~FI_MULTI_RECV,
		.desc = desc };

	return receive(ep_of(ep), STAND_KIND_TAGGED, &r, 1);
}

static ssize_t tag_recvv(struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t src, uint64_t tag, uint64_t ignore,
	void *context)
{
	if (count > 1)
		return -FI_EINVAL;
	return tag_recv(ep, count ? iov->iov_base : NULL,
		count ? iov->iov_len : 0, desc ? *desc : NULL, src, tag, ignore,
		context);
}

static ssize_t tag_recvmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct stand_recv r = { .context = msg->context,
		.src = msg->addr,
		.tag = msg->tag,
		.ignore = msg->ignore,
		.flags = flags,
		.desc = msg->desc ? *msg->desc : NULL };

	if (msg->iov_count) {
		r.buf = msg->msg_iov->iov_base;
		r.len = msg->msg_iov->iov_len;
	}
	return receive(ep_of(ep), STAND_KIND_TAGGED, &r, msg->iov_count);
}

struct fi_ops_tagged stand_tagged_ops = {
	.size = sizeof(stand_tagged_ops),
	.recv = tag_recv,
	.recvv = tag_recvv,
	.recvmsg = tag_recvmsg,
	.send = tag_send,
	.sendv = tag_sendv,
	.sendmsg = tag_sendmsg,
	.inject = tag_inject,
	.senddata = tag_senddata,
	.injectdata = tag_injectdata,
};
