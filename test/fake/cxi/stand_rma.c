/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_rma: puts and gets, and their path through the hardware
 *
 * There are three paths. The ordinary path ("unrestricted") keeps order and
 * raises events at the target. The fast path ("restricted") does neither. The
 * nearest switch answers high-rate puts ("hrp"). A request for the fast path or
 * for hrp without its conditions is no error and has no effect. Therefore the
 * record has the path that was used. */
#include "stand.h"

#include <string.h>

struct put {
	const char *call;
	const void *buf;
	size_t len;
	fi_addr_t peer;
	uint64_t addr;
	uint64_t key;
	void *context;
	uint64_t flags;
};

static bool is_restricted(const struct stand_ep *ep, const struct put *p)
{
	bool has_events = ep->nic->caps & FI_RMA_EVENT;

	return stand_key_is_optimized(ep->nic->dom, p->key) &&
	       !(ep->order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW)) &&
	       !(has_events && !(p->key >> 63)) &&
	       !(p->flags & FI_REMOTE_CQ_DATA);
}

static const char *path_of(const struct stand_ep *ep, const struct put *p)
{
	if (!is_restricted(ep, p))
		return p->flags & WEFT_CXI_HRP ? "unrestricted(hrp-dropped)"
					       : "unrestricted";
	return p->flags & WEFT_CXI_HRP ? "hrp" : "restricted";
}

static void record(const struct stand_ep *ep, const struct put *p)
{
	char text[192];

	stand_log("%s peer=%llu len=%zu key=0x%llx flags=%s tclass=%s path=%s",
		p->call, (unsigned long long)p->peer, p->len,
		(unsigned long long)p->key,
		stand_flags(p->flags, text, sizeof(text)),
		stand_tclass(ep->tclass), path_of(ep, p));
}

static ssize_t put(struct stand_ep *ep, const struct put *p)
{
	struct stand_op *op;
	const char *path = path_of(ep, p);
	int rc;

	if (!(ep->nic->caps & FI_RMA))
		return -FI_EOPNOTSUPP;
	stand_hmem_refuse(p->call, p->buf, p->len);
	if (p->len > STAND_MSG_MAX ||
		(p->flags & FI_INJECT && p->len > WEFT_CXI_INJECT_LEN))
		return -FI_EMSGSIZE;
	rc = stand_profile(ep->nic->dom, ep->tclass, path[0]);
	if (rc)
		return rc;
	op = stand_op_new(ep, p->peer, p->flags, p->context, STAND_WRITE);
	if (!op)
		return -FI_ENOMEM;
	op->cq_flags = FI_RMA | FI_WRITE;
	op->frame.addr = p->addr;
	op->frame.key = p->key;
	if (stand_op_data(op, p->buf, p->len)) {
		stand_op_free(op);
		return -FI_ENOMEM;
	}
	/* order that the caller requested is part of the request */
	if (ep->order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW))
		op->frame.flags |= FI_ORDER_WAW;
	record(ep, p);
	return stand_post(ep, op);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	struct stand_ep *ep = stand_of(fid, struct stand_ep, fid);
	struct put p = { "fi_write", buf, len, peer, addr, key, context,
		stand_call_flags(ep) };

	(void)desc;
	return put(ep, &p);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t peer, uint64_t addr, uint64_t key,
	void *context)
{
	if (count != 1)
		return -FI_EINVAL;
	return rma_write(fid, iov->iov_base, iov->iov_len, desc ? *desc : NULL,
		peer, addr, key, context);
}

static ssize_t rma_writemsg(
	struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct stand_ep *ep = stand_of(fid, struct stand_ep, fid);
	struct put p = { .call = "fi_writemsg", .flags = flags };

	if (flags & ~(STAND_WRITE_FLAGS | WEFT_CXI_HRP | WEFT_CXI_WEAK_FENCE)) {
		stand_log("fi_writemsg refused: flags");
		return -FI_EBADFLAGS;
	}
	if (msg->iov_count > 1 || msg->rma_iov_count != 1)
		return -FI_EINVAL;
	if (msg->iov_count) {
		p.buf = msg->msg_iov->iov_base;
		p.len = msg->msg_iov->iov_len;
	}
	if (p.len != msg->rma_iov->len)
		return -FI_EINVAL;
	p.peer = msg->addr;
	p.addr = msg->rma_iov->addr;
	p.key = msg->rma_iov->key;
	p.context = msg->context;
	if (flags & WEFT_CXI_WEAK_FENCE)
		p.flags |= FI_FENCE;
	if (!ep->nic->tx_selective)
		p.flags |= FI_COMPLETION;
	return put(ep, &p);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len,
	fi_addr_t peer, uint64_t addr, uint64_t key)
{
	struct put p = { "fi_inject_write", buf, len, peer, addr, key, NULL,
		FI_INJECT };

	return put(stand_of(fid, struct stand_ep, fid), &p);
}

static ssize_t get(struct stand_ep *ep, const struct put *p)
{
	struct stand_op *op;
	char text[192];

	if (!(ep->nic->caps & FI_RMA))
		return -FI_EOPNOTSUPP;
	stand_hmem_refuse(p->call, p->buf, p->len);
	if (p->len > STAND_MSG_MAX)
		return -FI_EMSGSIZE;
	op = stand_op_new(ep, p->peer, p->flags, p->context, STAND_READ);
	if (!op)
		return -FI_ENOMEM;
	op->cq_flags = FI_RMA | FI_READ;
	op->frame.addr = p->addr;
	op->frame.key = p->key;
	op->frame.want = (uint32_t)p->len;
	op->result = (void *)(uintptr_t)p->buf;
	stand_log("%s peer=%llu len=%zu key=0x%llx flags=%s tclass=%s", p->call,
		(unsigned long long)p->peer, p->len, (unsigned long long)p->key,
		stand_flags(p->flags, text, sizeof(text)),
		stand_tclass(ep->tclass));
	return stand_post(ep, op);
}

/* A get ignores the flags for injection. */
static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	struct stand_ep *ep = stand_of(fid, struct stand_ep, fid);
	struct put p = { "fi_read", buf, len, peer, addr, key, context,
		stand_call_flags(ep) & ~(FI_INJECT | WEFT_CXI_HRP) };

	(void)desc;
	return get(ep, &p);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t peer, uint64_t addr, uint64_t key,
	void *context)
{
	if (count != 1)
		return -FI_EINVAL;
	return rma_read(fid, iov->iov_base, iov->iov_len, desc ? *desc : NULL,
		peer, addr, key, context);
}

static ssize_t rma_readmsg(
	struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct stand_ep *ep = stand_of(fid, struct stand_ep, fid);
	struct put p = { .call = "fi_readmsg", .flags = flags };

	if (flags & ~(FI_COMPLETION | FI_MORE | FI_FENCE | STAND_LEVELS)) {
		stand_log("fi_readmsg refused: flags");
		return -FI_EBADFLAGS;
	}
	if (msg->iov_count != 1 || msg->rma_iov_count != 1 ||
		msg->msg_iov->iov_len != msg->rma_iov->len)
		return -FI_EINVAL;
	p.buf = msg->msg_iov->iov_base;
	p.len = msg->msg_iov->iov_len;
	p.peer = msg->addr;
	p.addr = msg->rma_iov->addr;
	p.key = msg->rma_iov->key;
	p.context = msg->context;
	if (!ep->nic->tx_selective)
		p.flags |= FI_COMPLETION;
	return get(ep, &p);
}

/* Always refused: the real provider needs an option that Weft never sets. */
static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t peer, uint64_t addr, uint64_t key,
	void *context)
{
	(void)ep;
	(void)buf;
	(void)len;
	(void)desc;
	(void)data;
	(void)peer;
	(void)addr;
	(void)key;
	(void)context;
	return -FI_ENOSYS;
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t len,
	uint64_t data, fi_addr_t peer, uint64_t addr, uint64_t key)
{
	(void)ep;
	(void)buf;
	(void)len;
	(void)data;
	(void)peer;
	(void)addr;
	(void)key;
	return -FI_ENOSYS;
}

struct fi_ops_rma stand_rma_ops = {
	.size = sizeof(stand_rma_ops),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
