/* SPDX-License-Identifier: BSD-3-Clause */
/* fakefab: a fabric made of op tables
 *
 * libfabric's calls are inline functions that call through op tables, so this
 * file only fills the tables. */
#include "test/fake/fakefab.h"

#include <rdma/fi_atomic.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define fab_of(ptr, member) weft_container_of(ptr, struct fakefab, member)

static int opening(struct fakefab *fab)
{
	if (++fab->n_calls == fab->fail_call)
		return fab->fail_code ? fab->fail_code : -FI_ENOMEM;
	return 0;
}

/* One close function for all objects: tests check only the number of closed
 * objects. */
static struct fakefab *owner_of(struct fid *fid)
{
	return fid->context;
}

static int close_object(struct fid *fid)
{
	owner_of(fid)->n_live--;
	return 0;
}

static int bind_object(struct fid *fid, struct fid *other, uint64_t flags)
{
	(void)other;
	(void)flags;
	return opening(owner_of(fid));
}

static int control_object(struct fid *fid, int command, void *arg)
{
	(void)command;
	(void)arg;
	return opening(owner_of(fid));
}

static struct fi_ops object_ops = {
	.size = sizeof(struct fi_ops),
	.close = close_object,
	.bind = bind_object,
	.control = control_object,
};

static void own(struct fakefab *fab, struct fid *fid)
{
	fid->context = fab;
	fid->ops = &object_ops;
	fab->n_live++;
}

/* Messages */

static void complete(struct fakefab *fab, void *context, uint64_t flags,
	size_t len, void *buf)
{
	assert(fab->n_done < FAKEFAB_QUEUE);
	fab->done[fab->n_done++] = (struct fi_cq_tagged_entry){
		.op_context = context, .flags = flags, .len = len, .buf = buf
	};
}

static void drop_front(struct fakefab_post *list, size_t *n, size_t at)
{
	memmove(&list[at], &list[at + 1], (*n - at - 1) * sizeof(*list));
	(*n)--;
}

/* Copies a message to the first posted buffer. The buffer stays posted while at
 * least min_multi bytes are left.
 */
static ssize_t deliver(struct fakefab *fab, const void *buf, size_t len)
{
	struct fakefab_post *to = &fab->recvs[0];
	struct fakefab_post was;
	uint64_t flags = FI_RECV | FI_MSG;

	if (fab->n_refuse_sends > 0 || fab->n_recvs == 0) {
		fab->n_refuse_sends -= fab->n_refuse_sends > 0;
		return -FI_EAGAIN;
	}
	was = *to;
	assert(len <= was.len);
	memcpy(was.buf, buf, len);
	to->buf += len;
	to->len -= len;
	if (!(was.flags & FI_MULTI_RECV)) {
		drop_front(fab->recvs, &fab->n_recvs, 0);
	} else if (to->len < fab->min_multi) {
		flags |= FI_MULTI_RECV;
		drop_front(fab->recvs, &fab->n_recvs, 0);
	}
	complete(fab, was.context, flags, len, was.buf);
	fab->n_sends++;
	return 0;
}

static ssize_t do_inject(
	struct fid_ep *ep, const void *buf, size_t len, fi_addr_t addr)
{
	(void)addr;
	return deliver(fab_of(ep, ep), buf, len);
}

static ssize_t do_send(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t addr, void *context)
{
	struct fakefab *fab = fab_of(ep, ep);
	ssize_t rc = deliver(fab, buf, len);

	(void)addr;
	if (rc)
		return rc;
	fab->last_desc = desc;
	fab->last_buf = buf;
	complete(fab, context, FI_SEND | FI_MSG, 0, NULL);
	return 0;
}

static ssize_t do_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc,
	size_t n, fi_addr_t addr, void *context)
{
	char all[65536];
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		memcpy(all + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	return do_send(ep, all, len, desc ? desc[0] : NULL, addr, context);
}

static ssize_t do_recvmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct fakefab *fab = fab_of(ep, ep);

	if (fab->n_refuse_recvs > 0) {
		fab->n_refuse_recvs--;
		return -FI_EAGAIN;
	}
	if (fab->fail_call && opening(fab))
		return fab->fail_code ? fab->fail_code : -FI_ENOMEM;
	assert(fab->n_recvs < FAKEFAB_QUEUE);
	fab->n_recv_posts++;
	fab->last_desc = msg->desc ? msg->desc[0] : NULL;
	fab->recvs[fab->n_recvs++] = (struct fakefab_post){
		.context = msg->context,
		.buf = msg->msg_iov[0].iov_base,
		.len = msg->msg_iov[0].iov_len,
		.flags = flags,
	};
	return 0;
}

static ssize_t do_sendmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct fakefab *fab = fab_of(ep, ep);
	ssize_t rc =
		deliver(fab, msg->msg_iov[0].iov_base, msg->msg_iov[0].iov_len);

	if (rc)
		return rc;
	assert(msg->iov_count == 1);
	if (flags & FI_COMPLETION)
		complete(fab, msg->context, FI_SEND | FI_MSG, 0, NULL);
	return 0;
}

static struct fi_ops_msg msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recvmsg = do_recvmsg,
	.send = do_send,
	.sendv = do_sendv,
	.sendmsg = do_sendmsg,
	.inject = do_inject,
};

static ssize_t do_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t addr, uint64_t tag, uint64_t ignore, void *context)
{
	struct fakefab *fab = fab_of(ep, ep);

	(void)addr;
	(void)ignore;
	fab->last_desc = desc;
	fab->trecvs[fab->n_trecvs++] = (struct fakefab_post){
		.context = context, .buf = buf, .len = len, .tag = tag
	};
	return 0;
}

static ssize_t do_tsend(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t addr, uint64_t tag, void *context)
{
	struct fakefab *fab = fab_of(ep, ep);

	(void)addr;
	if (fab->readonly && fab->readonly == buf)
		return -FI_EFAULT;
	for (size_t i = 0; i < fab->n_trecvs; i++) {
		struct fakefab_post to = fab->trecvs[i];

		if (to.tag != tag)
			continue;
		memcpy(to.buf, buf, len);
		drop_front(fab->trecvs, &fab->n_trecvs, i);
		complete(fab, to.context, FI_RECV | FI_TAGGED, len, to.buf);
		complete(fab, context, FI_SEND | FI_TAGGED, 0, NULL);
		fab->last_desc = desc;
		return 0;
	}
	return -FI_EAGAIN;
}

static ssize_t do_tsendmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	(void)flags;
	return do_tsend(ep, msg->msg_iov->iov_base, msg->msg_iov->iov_len,
		msg->desc ? msg->desc[0] : NULL, msg->addr, msg->tag,
		msg->context);
}

static struct fi_ops_tagged tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = do_trecv,
	.send = do_tsend,
	.sendmsg = do_tsendmsg,
};

/* The endpoint */

static ssize_t do_cancel(fid_t fid, void *context)
{
	struct fakefab *fab = owner_of(fid);

	fab->canceled = context;
	for (size_t i = 0; i < fab->n_trecvs; i++)
		if (fab->trecvs[i].context == context) {
			drop_front(fab->trecvs, &fab->n_trecvs, i);
			fakefab_break(fab, context, FI_ECANCELED,
				FI_RECV | FI_TAGGED);
			return 0;
		}
	return -FI_ENOENT;
}

static int do_setopt(
	fid_t fid, int level, int name, const void *value, size_t len)
{
	struct fakefab *fab = owner_of(fid);

	(void)level;
	(void)len;
	if (name == FI_OPT_MIN_MULTI_RECV)
		memcpy(&fab->min_multi, value, sizeof(fab->min_multi));
	return opening(fab);
}

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = do_cancel,
	.setopt = do_setopt,
};

static int do_getname(fid_t fid, void *addr, size_t *len)
{
	(void)fid;
	if (*len < FAKEFAB_ADDR_LEN) {
		*len = FAKEFAB_ADDR_LEN;
		return -FI_ETOOSMALL;
	}
	memset(addr, 0x5a, FAKEFAB_ADDR_LEN);
	*len = FAKEFAB_ADDR_LEN;
	return 0;
}

static struct fi_ops_cm cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = do_getname,
};

/* Queue and table */

static ssize_t do_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct fakefab *fab = fab_of(cq, cq);
	size_t n = weft_min(count, fab->n_done);

	if (fab->is_held || count == 0)
		return -FI_EAGAIN;
	if (n == 0)
		return fab->n_errs ? -FI_EAVAIL : -FI_EAGAIN;
	for (size_t i = 0; i < n; i++)
		memcpy((char *)buf + i * fab->entry_len, &fab->done[i],
			fab->entry_len);
	fab->n_done -= n;
	memmove(fab->done, fab->done + n, fab->n_done * sizeof(fab->done[0]));
	return (ssize_t)n;
}

static ssize_t do_readerr(
	struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct fakefab *fab = fab_of(cq, cq);

	(void)flags;
	if (fab->n_errs == 0)
		return -FI_EAGAIN;
	*entry = fab->errs[0];
	fab->n_errs--;
	memmove(fab->errs, fab->errs + 1, fab->n_errs * sizeof(fab->errs[0]));
	return 1;
}

static const char *do_strerror(struct fid_cq *cq, int prov_errno,
	const void *err_data, char *buf, size_t len)
{
	(void)cq;
	(void)prov_errno;
	(void)err_data;
	if (len)
		buf[0] = '\0';
	return "made up";
}

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = do_read,
	.readerr = do_readerr,
	.strerror = do_strerror,
};

static int do_insert(struct fid_av *av, const void *addr, size_t count,
	fi_addr_t *out, uint64_t flags, void *context)
{
	struct fakefab *fab = fab_of(av, av);

	(void)flags;
	(void)context;
	memcpy(fab->last_addr, addr, FAKEFAB_ADDR_LEN);
	*out = fab->n_addrs++;
	return (int)count;
}

static int do_remove(
	struct fid_av *av, fi_addr_t *addr, size_t count, uint64_t flags)
{
	(void)av;
	(void)addr;
	(void)count;
	(void)flags;
	return 0;
}

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = do_insert,
	.remove = do_remove,
};

/* Memory */

static int close_mr(struct fid *fid)
{
	owner_of(fid)->n_mr_live--;
	free(fid);
	return 0;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = close_mr,
	.bind = bind_object,
	.control = control_object,
};

static int do_regattr(struct fid *fid, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **mr_out)
{
	struct fakefab *fab = owner_of(fid);
	void *buf = attr->mr_iov[0].iov_base;
	struct fid_mr *mr;

	(void)flags;
	if (fab->readonly && fab->readonly == buf)
		return -FI_EFAULT;
	if (attr->iface != FI_HMEM_SYSTEM && fab->refuses_devices)
		return -FI_EOPNOTSUPP;
	if (opening(fab))
		return -FI_ENOMEM;
	mr = calloc(1, sizeof(*mr));
	mr->fid.context = fab;
	mr->fid.ops = &mr_fid_ops;
	mr->mem_desc = buf;
	mr->key = attr->requested_key;
	fab->last_key = attr->requested_key;
	fab->last_iface = attr->iface;
	fab->last_device = attr->device.cuda;
	fab->n_mr_live++;
	*mr_out = mr;
	return 0;
}

static int do_reg(struct fid *fid, const void *buf, size_t len, uint64_t access,
	uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr_out,
	void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_mr_attr attr = {
		.mr_iov = &iov,
		.iov_count = 1,
		.access = access,
		.offset = offset,
		.requested_key = key,
		.context = context,
	};

	return do_regattr(fid, &attr, flags, mr_out);
}

static struct fi_ops_mr mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = do_reg,
	.regattr = do_regattr,
};

/* One-sided */

static uint64_t load(const void *at, size_t len)
{
	uint64_t word = 0;

	memcpy(&word, at, len);
	return word;
}

static void do_atomic_op(struct fakefab_side *op)
{
	void *there = (void *)(uintptr_t)op->remote;
	uint64_t old = load(there, op->len), value = load(op->data, op->len);

	if (op->local)
		memcpy(op->local, &old, op->len);
	switch (op->op) {
	case FI_SUM:
		value += old;
		break;
	case FI_BAND:
		value &= old;
		break;
	case FI_BOR:
		value |= old;
		break;
	case FI_BXOR:
		value ^= old;
		break;
	case FI_ATOMIC_READ:
		value = old;
		break;
	case FI_CSWAP:
		value = old == load(op->cond, op->len) ? value : old;
		break;
	default:
		assert(op->op == FI_ATOMIC_WRITE);
	}
	memcpy(there, &value, op->len);
}

static void do_side(struct fakefab *fab, struct fakefab_side *op)
{
	void *there = (void *)(uintptr_t)op->remote;

	if (fab->fail_side && --fab->fail_side == 0) {
		fakefab_break(fab, op->context, FI_EIO, FI_RMA);
		return;
	}
	if (op->call[0] == 'w' && op->len && op->len <= sizeof(op->data))
		memcpy(there, op->data, op->len);
	else if (op->call[0] == 'w' && op->len)
		memcpy(there, op->local, op->len);
	else if (op->call[0] == 'r')
		memcpy(op->local, there, op->len);
	else if (op->call[0] != 'w')
		do_atomic_op(op);
	if (op->flags & FI_COMPLETION)
		complete(fab, op->context, FI_RMA, op->len, NULL);
}

static ssize_t post_side(struct fakefab *fab, const struct fakefab_side *op)
{
	if (fab->refuse_side && --fab->refuse_side == 0)
		return -FI_EAGAIN;
	assert(fab->n_side < FAKEFAB_SIDE);
	fab->side[fab->n_side++] = *op;
	if (op->flags & FI_MORE)
		return 0;
	while (fab->n_rung < fab->n_side)
		do_side(fab, &fab->side[fab->n_rung++]);
	return 0;
}

static ssize_t do_writemsg(
	struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct fakefab_side op = { .call = "write",
		.flags = flags,
		.remote = msg->rma_iov->addr,
		.len = msg->msg_iov->iov_len,
		.local = msg->msg_iov->iov_base,
		.context = msg->context };

	if (op.len && op.local == fab_of(ep, ep)->readonly)
		return -FI_EFAULT;
	if (op.len && op.len <= sizeof(op.data))
		memcpy(op.data, op.local, op.len);
	return post_side(fab_of(ep, ep), &op);
}

static ssize_t do_readmsg(
	struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct fakefab_side op = { .call = "read",
		.flags = flags,
		.remote = msg->rma_iov->addr,
		.len = msg->msg_iov->iov_len,
		.local = msg->msg_iov->iov_base,
		.context = msg->context };

	return post_side(fab_of(ep, ep), &op);
}

static struct fi_ops_rma rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.writemsg = do_writemsg,
	.readmsg = do_readmsg,
};

static struct fakefab_side amo(
	const char *call, const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct fakefab_side op = { .call = call,
		.flags = flags,
		.remote = msg->rma_iov->addr,
		.len = msg->datatype == FI_UINT64 ? 8 : 4,
		.op = msg->op,
		.context = msg->context };

	memcpy(op.data, msg->msg_iov->addr, op.len);
	return op;
}

static ssize_t do_atomicmsg(
	struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct fakefab_side op = amo("atomic", msg, flags);

	return post_side(fab_of(ep, ep), &op);
}

static ssize_t do_fetchmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
	struct fi_ioc *result, void **desc, size_t n, uint64_t flags)
{
	struct fakefab_side op = amo("fetch", msg, flags);

	(void)desc;
	(void)n;
	op.local = result->addr;
	return post_side(fab_of(ep, ep), &op);
}

static ssize_t do_comparemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
	const struct fi_ioc *cond, void **cond_desc, size_t n_cond,
	struct fi_ioc *result, void **desc, size_t n, uint64_t flags)
{
	struct fakefab_side op = amo("compare", msg, flags);

	(void)cond_desc;
	(void)n_cond;
	(void)desc;
	(void)n;
	memcpy(op.cond, cond->addr, op.len);
	op.local = result->addr;
	return post_side(fab_of(ep, ep), &op);
}

static struct fi_ops_atomic atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.writemsg = do_atomicmsg,
	.readwritemsg = do_fetchmsg,
	.compwritemsg = do_comparemsg,
};

/* Opening */

static int do_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **out, void *context)
{
	struct fakefab *fab = fab_of(domain, domain);
	int rc = opening(fab);

	(void)attr;
	(void)context;
	if (rc)
		return rc;
	own(fab, &fab->av.fid);
	fab->av.ops = &av_ops;
	*out = &fab->av;
	return 0;
}

static int do_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **out, void *context)
{
	struct fakefab *fab = fab_of(domain, domain);
	int rc = opening(fab);

	(void)context;
	fab->entry_len = attr->format == FI_CQ_FORMAT_TAGGED
				 ? sizeof(struct fi_cq_tagged_entry)
				 : sizeof(struct fi_cq_data_entry);
	if (rc)
		return rc;
	own(fab, &fab->cq.fid);
	fab->cq.ops = &cq_ops;
	*out = &fab->cq;
	return 0;
}

static int do_endpoint(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **out, void *context)
{
	struct fakefab *fab = fab_of(domain, domain);
	int rc = opening(fab);

	(void)info;
	(void)context;
	if (rc)
		return rc;
	own(fab, &fab->ep.fid);
	fab->ep.ops = &ep_ops;
	fab->ep.cm = &cm_ops;
	fab->ep.msg = &msg_ops;
	fab->ep.tagged = &tagged_ops;
	fab->ep.rma = &rma_ops;
	fab->ep.atomic = &atomic_ops;
	*out = &fab->ep;
	return 0;
}

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = do_av_open,
	.cq_open = do_cq_open,
	.endpoint = do_endpoint,
};

static int do_domain(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **out, void *context)
{
	struct fakefab *fab = fab_of(fabric, fabric);
	int rc = opening(fab);

	(void)info;
	(void)context;
	if (rc)
		return rc;
	own(fab, &fab->domain.fid);
	fab->domain.ops = &domain_ops;
	fab->domain.mr = &mr_ops;
	*out = &fab->domain;
	return 0;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = do_domain,
};

void fakefab_init(struct fakefab *fab)
{
	own(fab, &fab->fabric.fid);
	fab->fabric.ops = &fabric_ops;
}

struct fi_info *fakefab_info(void)
{
	struct fi_info *info = fi_allocinfo();

	info->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_MULTI_RECV;
	info->addr_format = FI_ADDR_STR;
	info->ep_attr->protocol = FI_PROTO_SOCK_TCP;
	info->ep_attr->max_msg_size = 1 << 20;
	info->ep_attr->mem_tag_format = UINT64_MAX >> 16;
	info->tx_attr->inject_size = 64;
	info->tx_attr->size = 64;
	info->tx_attr->iov_limit = 4;
	info->rx_attr->size = 64;
	info->domain_attr->name = strdup("fake0");
	info->fabric_attr->name = strdup("fake");
	info->fabric_attr->prov_name = strdup("fake");
	return info;
}

void fakefab_break(struct fakefab *fab, void *context, int err, uint64_t flags)
{
	fab->errs[fab->n_errs++] = (struct fi_cq_err_entry){
		.op_context = context, .flags = flags, .err = err
	};
}
