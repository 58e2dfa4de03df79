/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_amo: atomic operations: one element each
 *
 * High rate needs "unreliable" (transmitted once), which in turn forbids events
 * at the target. With a key that is not optimized, both flags are silently
 * ignored. */
#include "stand.h"

#include <string.h>

#define AMO_FLAGS                                                 \
	(STAND_WRITE_FLAGS | WEFT_CXI_HRP | WEFT_CXI_UNRELIABLE | \
		WEFT_CXI_WEAK_FENCE)
#define FETCH_FLAGS \
	(STAND_WRITE_FLAGS | WEFT_CXI_WEAK_FENCE | WEFT_CXI_PCIE_AMO)

struct amo {
	const char *call;
	enum stand_type kind;
	const void *operand;
	const void *compare;
	void *result;
	fi_addr_t peer;
	uint64_t addr;
	uint64_t key;
	enum fi_datatype type;
	enum fi_op op;
	void *context;
	uint64_t flags;
};

static struct stand_ep *ep_of(struct fid_ep *ep)
{
	return stand_of(ep, struct stand_ep, fid);
}

static bool can(const struct amo *a)
{
	if (a->kind == STAND_AMO)
		return stand_can_amo(a->type, a->op);
	if (a->kind == STAND_FETCH)
		return stand_can_fetch(a->type, a->op);
	return stand_can_compare(a->type, a->op);
}

static const char *path_of(const struct stand_ep *ep, const struct amo *a)
{
	bool has_events = ep->nic->caps & FI_RMA_EVENT;

	if (!stand_key_is_optimized(ep->nic->dom, a->key) || has_events)
		return "unrestricted";
	if (a->flags & WEFT_CXI_HRP)
		return a->type == FI_UINT32 ? "restricted(hrp-demoted)" : "hrp";
	return "restricted";
}

/* Checks the flags that are significant with an optimized key only. */
static int check_small(const struct stand_ep *ep, const struct amo *a)
{
	bool is_unreliable = a->flags & WEFT_CXI_UNRELIABLE;

	if (!stand_key_is_optimized(ep->nic->dom, a->key))
		return 0;
	if (a->flags & WEFT_CXI_HRP && !is_unreliable)
		return -FI_EINVAL;
	if (is_unreliable && ep->nic->caps & FI_RMA_EVENT)
		return -FI_EINVAL;
	return 0;
}

static int check(const struct stand_ep *ep, const struct amo *a)
{
	if (!(ep->nic->caps & FI_ATOMIC))
		return -FI_EOPNOTSUPP;
	if (!can(a))
		return -FI_EOPNOTSUPP;
	if (a->flags & WEFT_CXI_PCIE_AMO &&
		(!stand_env.pcie_amo || a->op != FI_SUM || a->type < FI_INT32 ||
			a->type > FI_UINT64))
		return -FI_EOPNOTSUPP;
	if (a->kind != STAND_AMO && a->flags & FI_DELIVERY_COMPLETE &&
		ep->nic->caps & FI_RMA_EVENT)
		return -FI_EINVAL;
	if (a->addr % stand_type_len(a->type))
		return -FI_EINVAL;
	return check_small(ep, a);
}

static void record(const struct stand_ep *ep, const struct amo *a, int rc)
{
	char op[32];
	char type[32];
	char flags[192];

	fi_tostr_r(op, sizeof(op), &a->op, FI_TYPE_ATOMIC_OP);
	fi_tostr_r(type, sizeof(type), &a->type, FI_TYPE_ATOMIC_TYPE);
	stand_log("%s peer=%llu op=%s type=%s key=0x%llx flags=%s tclass=%s "
		  "path=%s%s%s",
		a->call, (unsigned long long)a->peer, op, type,
		(unsigned long long)a->key,
		stand_flags(a->flags, flags, sizeof(flags)),
		stand_tclass(ep->tclass), path_of(ep, a), rc ? " refused " : "",
		rc ? fi_strerror(-rc) : "");
}

/* Posts an atomic operation. Its operands are small and are part of the
 * command. */
static ssize_t amo(struct stand_ep *ep, const struct amo *a)
{
	size_t len = stand_type_len(a->type);
	char data[32] = { 0 };
	struct stand_op *op;
	int rc = check(ep, a);

	record(ep, a, rc);
	if (!rc)
		rc = stand_profile(ep->nic->dom, ep->tclass, path_of(ep, a)[0]);
	if (rc)
		return rc;
	op = stand_op_new(
		ep, a->peer, a->flags | FI_INJECT, a->context, a->kind);
	if (!op)
		return -FI_ENOMEM;
	op->cq_flags = FI_ATOMIC | (a->kind == STAND_AMO ? FI_WRITE : FI_READ);
	op->frame.addr = a->addr;
	op->frame.key = a->key;
	op->frame.op = (uint8_t)a->op;
	op->frame.datatype = (uint8_t)a->type;
	op->frame.want = a->kind == STAND_AMO ? 0 : (uint32_t)len;
	op->result = a->result;
	if (a->operand)
		memcpy(data, a->operand, len);
	if (a->compare)
		memcpy(data + len, a->compare, len);
	if (stand_op_data(op, data, a->compare ? 2 * len : len)) {
		stand_op_free(op);
		return -FI_ENOMEM;
	}
	return stand_post(ep, op);
}

/* Reads the arguments of a call with flags: one element at one address. */
static int from_msg(struct stand_ep *ep, struct amo *a,
	const struct fi_msg_atomic *msg, uint64_t allowed)
{
	if (a->flags & ~allowed) {
		stand_log("%s refused: flags", a->call);
		return -FI_EBADFLAGS;
	}
	if (msg->rma_iov_count != 1 || msg->rma_iov->count != 1 ||
		msg->iov_count > 1 ||
		(msg->iov_count && msg->msg_iov->count != 1)) {
		stand_log("%s refused: more than one element", a->call);
		return -FI_EINVAL;
	}
	if (!msg->iov_count && msg->op != FI_ATOMIC_READ)
		return -FI_EINVAL;
	a->operand = msg->iov_count ? msg->msg_iov->addr : NULL;
	a->peer = msg->addr;
	a->addr = msg->rma_iov->addr;
	a->key = msg->rma_iov->key;
	a->type = msg->datatype;
	a->op = msg->op;
	a->context = msg->context;
	if (a->flags & WEFT_CXI_WEAK_FENCE)
		a->flags |= FI_FENCE;
	if (!ep->nic->tx_selective)
		a->flags |= FI_COMPLETION;
	return 0;
}

static ssize_t amo_write(struct fid_ep *ep, const void *buf, size_t count,
	void *desc, fi_addr_t peer, uint64_t addr, uint64_t key,
	enum fi_datatype type, enum fi_op op, void *context)
{
	struct amo a = { "fi_atomic", STAND_AMO, buf, NULL, NULL, peer, addr,
		key, type, op, context, stand_call_flags(ep_of(ep)) };

	(void)desc;
	return count == 1 ? amo(ep_of(ep), &a) : -FI_EINVAL;
}

static ssize_t amo_writev(struct fid_ep *ep, const struct fi_ioc *iov,
	void **desc, size_t count, fi_addr_t peer, uint64_t addr, uint64_t key,
	enum fi_datatype type, enum fi_op op, void *context)
{
	(void)desc;
	return count == 1 ? amo_write(ep, iov->addr, iov->count, NULL, peer,
				    addr, key, type, op, context)
			  : -FI_EINVAL;
}

static ssize_t amo_writemsg(
	struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct amo a = {
		.call = "fi_atomicmsg", .kind = STAND_AMO, .flags = flags
	};
	int rc = from_msg(ep_of(ep), &a, msg, AMO_FLAGS);

	return rc ? rc : amo(ep_of(ep), &a);
}

static ssize_t amo_inject(struct fid_ep *ep, const void *buf, size_t count,
	fi_addr_t peer, uint64_t addr, uint64_t key, enum fi_datatype type,
	enum fi_op op)
{
	struct amo a = { "fi_inject_atomic", STAND_AMO, buf, NULL, NULL, peer,
		addr, key, type, op, NULL, FI_INJECT };

	return count == 1 ? amo(ep_of(ep), &a) : -FI_EINVAL;
}

/* A fetch ignores the completion level of the endpoint. */
static uint64_t fetch_flags(struct fid_ep *ep)
{
	return stand_call_flags(ep_of(ep)) &
	       ~(FI_DELIVERY_COMPLETE | WEFT_CXI_HRP | WEFT_CXI_UNRELIABLE);
}

static ssize_t amo_fetch(struct fid_ep *ep, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t peer,
	uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op,
	void *context)
{
	struct amo a = { "fi_fetch_atomic", STAND_FETCH, buf, NULL, result,
		peer, addr, key, type, op, context, fetch_flags(ep) };

	(void)desc;
	(void)result_desc;
	if (op == FI_ATOMIC_READ)
		a.operand = NULL;
	return count == 1 ? amo(ep_of(ep), &a) : -FI_EINVAL;
}

static ssize_t amo_fetchv(struct fid_ep *ep, const struct fi_ioc *iov,
	void **desc, size_t count, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, fi_addr_t peer, uint64_t addr, uint64_t key,
	enum fi_datatype type, enum fi_op op, void *context)
{
	(void)desc;
	(void)result_desc;
	if (count != 1 || result_count != 1)
		return -FI_EINVAL;
	return amo_fetch(ep, iov->addr, iov->count, NULL, resultv->addr, NULL,
		peer, addr, key, type, op, context);
}

static ssize_t amo_fetchmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
	struct fi_ioc *resultv, void **result_desc, size_t result_count,
	uint64_t flags)
{
	struct amo a = { .call = "fi_fetch_atomicmsg",
		.kind = STAND_FETCH,
		.flags = flags };
	int rc = from_msg(ep_of(ep), &a, msg, FETCH_FLAGS);

	(void)result_desc;
	if (rc)
		return rc;
	if (result_count != 1 || resultv->count != 1)
		return -FI_EINVAL;
	a.result = resultv->addr;
	return amo(ep_of(ep), &a);
}

static ssize_t amo_compare(struct fid_ep *ep, const void *buf, size_t count,
	void *desc, const void *compare, void *compare_desc, void *result,
	void *result_desc, fi_addr_t peer, uint64_t addr, uint64_t key,
	enum fi_datatype type, enum fi_op op, void *context)
{
	struct amo a = { "fi_compare_atomic", STAND_COMPARE, buf, compare,
		result, peer, addr, key, type, op, context, fetch_flags(ep) };

	(void)desc;
	(void)compare_desc;
	(void)result_desc;
	return count == 1 ? amo(ep_of(ep), &a) : -FI_EINVAL;
}

static ssize_t amo_comparev(struct fid_ep *ep, const struct fi_ioc *iov,
	void **desc, size_t count, const struct fi_ioc *comparev,
	void **compare_desc, size_t compare_count, struct fi_ioc *resultv,
	void **result_desc, size_t result_count, fi_addr_t peer, uint64_t addr,
	uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	(void)desc;
	(void)compare_desc;
	(void)result_desc;
	if (count != 1 || compare_count != 1 || result_count != 1)
		return -FI_EINVAL;
	return amo_compare(ep, iov->addr, iov->count, NULL, comparev->addr,
		NULL, resultv->addr, NULL, peer, addr, key, type, op, context);
}

static ssize_t amo_comparemsg(struct fid_ep *ep,
	const struct fi_msg_atomic *msg, const struct fi_ioc *comparev,
	void **compare_desc, size_t compare_count, struct fi_ioc *resultv,
	void **result_desc, size_t result_count, uint64_t flags)
{
	struct amo a = { .call = "fi_compare_atomicmsg",
		.kind = STAND_COMPARE,
		.flags = flags };
	int rc = from_msg(ep_of(ep), &a, msg, FETCH_FLAGS);

	(void)compare_desc;
	(void)result_desc;
	if (rc)
		return rc;
	if (compare_count != 1 || result_count != 1 || comparev->count != 1 ||
		resultv->count != 1)
		return -FI_EINVAL;
	a.compare = comparev->addr;
	a.result = resultv->addr;
	return amo(ep_of(ep), &a);
}

static int valid(bool ok, size_t *count)
{
	if (ok && count)
		*count = 1;
	return ok ? 0 : -FI_EOPNOTSUPP;
}

static int amo_writevalid(
	struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	(void)ep;
	return valid(stand_can_amo(type, op), count);
}

static int amo_fetchvalid(
	struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	(void)ep;
	return valid(stand_can_fetch(type, op), count);
}

static int amo_comparevalid(
	struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	(void)ep;
	return valid(stand_can_compare(type, op), count);
}

int stand_query_atomic(struct fid_domain *dom, enum fi_datatype type,
	enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags)
{
	bool ok;

	(void)dom;
	if (flags & FI_COMPARE_ATOMIC)
		ok = stand_can_compare(type, op);
	else if (flags & FI_FETCH_ATOMIC)
		ok = stand_can_fetch(type, op);
	else
		ok = stand_can_amo(type, op);
	if (flags & WEFT_CXI_PCIE_AMO)
		ok = ok && stand_env.pcie_amo && op == FI_SUM &&
		     flags & FI_FETCH_ATOMIC && type >= FI_INT32 &&
		     type <= FI_UINT64;
	if (ok && attr) {
		attr->count = 1;
		attr->size = stand_type_len(type);
	}
	return ok ? 0 : -FI_EOPNOTSUPP;
}

struct fi_ops_atomic stand_atomic_ops = {
	.size = sizeof(stand_atomic_ops),
	.write = amo_write,
	.writev = amo_writev,
	.writemsg = amo_writemsg,
	.inject = amo_inject,
	.readwrite = amo_fetch,
	.readwritev = amo_fetchv,
	.readwritemsg = amo_fetchmsg,
	.compwrite = amo_compare,
	.compwritev = amo_comparev,
	.compwritemsg = amo_comparemsg,
	.writevalid = amo_writevalid,
	.readwritevalid = amo_fetchvalid,
	.compwritevalid = amo_comparevalid,
};
