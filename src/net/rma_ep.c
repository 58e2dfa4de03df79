/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_ep: one-sided access through separate endpoints */
#include "net/rma_ep.h"

#include "base/log.h"
#include "net/net_priv.h"

#include <rdma/fi_atomic.h>

#include <stdlib.h>
#include <string.h>

enum {
	BATCH = 16,
};

/* One endpoint; the first endpoint is part of its domain, further endpoints are
 * on the heap. */
struct rma_ep {
	struct weft_rma_ep pub;
	struct fid_cq *cq;
	struct fid_ep *ep;
	bool is_polling;
};

/* Memory that peers may access. Created by expose, destroyed by withdraw or
 * with its domain. */
struct weft_rma_mr {
	struct fid_mr *mr;
	uint64_t key; /* the requested key */
	size_t len;
	struct weft_rma_mr *next;
};

/* Created by weft_rma_domain_open, destroyed by weft_rma_domain_close. Fields
 * are in the order in which they are set up. pub is the first field, so that
 * both structs have the same address. */
struct domain {
	struct weft_rma_domain pub;
	struct weft_domain dom;
	struct rma_ep first;
	struct weft_rma_mr *mrs;
	uint64_t next_key; /* next key below plan.n_keys (a special key) to try
			    */
};

static struct domain *inside(struct weft_rma_domain *domain)
{
	return weft_container_of(domain, struct domain, pub);
}

static struct rma_ep *ep_inside(struct weft_rma_ep *ep)
{
	return weft_container_of(ep, struct rma_ep, pub);
}

static int rma_ep_fault(
	const struct weft_rma_domain *domain, const char *call, ssize_t rc)
{
	return weft_err_set(weft_cq_err((int)-rc), "%s on %s (%s): %s", call,
		domain->plan.provider, domain->plan.domain,
		fi_strerror((int)-rc));
}

/* --- opening and closing -------------------------------------------------- */

static void close_ep(struct rma_ep *ep)
{
	if (ep->ep)
		weft_domain_close_fid(&ep->ep->fid, "one-sided endpoint");
	if (ep->cq)
		weft_domain_close_fid(
			&ep->cq->fid, "one-sided completion queue");
	ep->ep = NULL;
	ep->cq = NULL;
	weft_counters_close(&ep->pub.counters);
}

static int open_ep(struct domain *domain, struct rma_ep *ep)
{
	struct fi_cq_attr attr = {
		.size = domain->pub.plan.cq_len,
		.format = FI_CQ_FORMAT_DATA,
		.wait_obj = FI_WAIT_NONE,
	};
	const char *call = "fi_cq_open";
	int rc = fi_cq_open(domain->dom.domain, &attr, &ep->cq, NULL);

	ep->pub.domain = &domain->pub;
	if (!rc) {
		call = "fi_endpoint";
		rc = fi_endpoint(
			domain->dom.domain, domain->dom.info, &ep->ep, NULL);
	}
	if (!rc) {
		call = "fi_enable";
		rc = fi_ep_bind(ep->ep, &domain->dom.av->fid, 0);
	}
	if (!rc)
		rc = fi_ep_bind(ep->ep, &ep->cq->fid,
			FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION);
	if (!rc)
		rc = fi_enable(ep->ep);
	if (!rc) {
		weft_counters_open_fabric(&ep->pub.counters,
			WEFT_COUNTER_PROCESS,
			weft_fabric_number(domain->pub.plan.name), 0);
		return 0;
	}
	close_ep(ep);
	return rma_ep_fault(&domain->pub, call, rc);
}

static int rma_ep_open_objects(struct domain *domain)
{
	const char *call;
	int rc = weft_domain_open(&domain->dom, &call);

	if (rc)
		return rma_ep_fault(&domain->pub, call, rc);
	return open_ep(domain, &domain->first);
}

int weft_rma_domain_open_take(struct fi_info *info, struct fid_fabric *fabric,
	const struct weft_plan *plan, struct weft_rma_domain **domain_out)
{
	struct domain *domain = calloc(1, sizeof(*domain));
	int rc;

	if (!domain) {
		fi_close(&fabric->fid);
		fi_freeinfo(info);
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a net");
	}
	domain->pub.plan = *plan;
	domain->dom.info = info;
	domain->dom.fabric = fabric;
	rc = rma_ep_open_objects(domain);
	if (rc) {
		weft_rma_domain_close(&domain->pub);
		return rc;
	}
	domain->pub.plan.poll_ns = weft_domain_poll_ns(domain->first.cq);
	*domain_out = &domain->pub;
	return 0;
}

/* Registrations that are bound to the endpoint must close before it. */
void weft_rma_domain_close(struct weft_rma_domain *pub)
{
	struct domain *domain;

	if (!pub)
		return;
	domain = inside(pub);
	while (domain->mrs)
		weft_rma_domain_withdraw(pub, domain->mrs);
	close_ep(&domain->first);
	weft_domain_close(&domain->dom);
	free(domain);
}

struct weft_rma_ep *weft_rma_domain_ep(struct weft_rma_domain *domain)
{
	return &inside(domain)->first.pub;
}

int weft_rma_ep_open(
	struct weft_rma_domain *domain, struct weft_rma_ep **ep_out)
{
	struct rma_ep *ep = calloc(1, sizeof(*ep));
	int rc;

	if (!ep)
		return weft_err_set(
			WEFT_ERR_NOMEM, "no memory for an endpoint");
	rc = open_ep(inside(domain), ep);
	if (rc) {
		free(ep);
		return rc == WEFT_ERR_NOMEM ? rc : WEFT_ERR_OTHER;
	}
	*ep_out = &ep->pub;
	return 0;
}

void weft_rma_ep_close(struct weft_rma_ep *ep)
{
	if (!ep)
		return;
	close_ep(ep_inside(ep));
	free(ep_inside(ep));
}

/* --- names and memory ---------------------------------------------------- */

static bool is_key_used(const struct domain *domain, uint64_t key)
{
	for (const struct weft_rma_mr *mr = domain->mrs; mr; mr = mr->next)
		if (mr->key == key)
			return true;
	return false;
}

/* Chooses the next free special key, or a random key if no special key is free.
 */
static int rma_ep_pick_key(struct domain *domain, uint64_t *key_out)
{
	const struct weft_plan *plan = &domain->pub.plan;
	int err = 0;

	*key_out = 0;
	if (plan->has_prov_key)
		return 0;
	for (uint64_t i = 0; i < plan->n_keys; i++) {
		*key_out = domain->next_key++ % plan->n_keys;
		if (!is_key_used(domain, *key_out))
			return 0;
	}
	do
		err = weft_mr_draw_key(plan, key_out);
	while (!err && is_key_used(domain, *key_out));
	return err;
}

static int rma_ep_enable_mr(const struct domain *domain, struct fid_mr *mr)
{
	int rc;

	if (!domain->pub.plan.has_mr_endpoint)
		return 0;
	rc = fi_mr_bind(mr, &domain->first.ep->fid, 0);
	return rc ? rc : fi_mr_enable(mr);
}

int weft_rma_domain_expose(struct weft_rma_domain *pub, void *buf, size_t len,
	struct weft_rma_ep_key *key_out, struct weft_rma_mr **mr_out)
{
	struct domain *domain = inside(pub);
	struct weft_rma_mr *mr = calloc(1, sizeof(*mr));
	int rc;

	if (!mr)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory to register");
	rc = rma_ep_pick_key(domain, &mr->key);
	if (rc) {
		free(mr);
		return rc;
	}
	rc = fi_mr_reg(domain->dom.domain, buf, len,
		FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
		mr->key, 0, &mr->mr, NULL);
	if (rc) {
		free(mr);
		return rma_ep_fault(pub, "fi_mr_reg", rc);
	}
	rc = rma_ep_enable_mr(domain, mr->mr);
	if (rc) {
		fi_close(&mr->mr->fid);
		free(mr);
		return rma_ep_fault(pub, "fi_mr_enable", rc);
	}
	mr->len = len;
	mr->next = domain->mrs;
	domain->mrs = mr;
	domain->first.pub.counters.rma_mr_memory += len;
	key_out->key = fi_mr_key(mr->mr);
	key_out->base = pub->plan.has_virt_addr ? (uintptr_t)buf : 0;
	*mr_out = mr;
	return 0;
}

void weft_rma_domain_withdraw(
	struct weft_rma_domain *pub, struct weft_rma_mr *mr)
{
	struct weft_rma_mr **at = &inside(pub)->mrs;

	while (*at != mr)
		at = &(*at)->next;
	*at = mr->next;
	inside(pub)->first.pub.counters.rma_mr_memory -= mr->len;
	weft_domain_close_fid(&mr->mr->fid, "one-sided registration");
	free(mr);
}

int weft_rma_domain_name(struct weft_rma_domain *domain, void *buf, size_t *len)
{
	const struct domain *in = inside(domain);

	return weft_av_name(&in->first.ep->fid, in->dom.info, buf, len);
}

int weft_rma_domain_peer_add(struct weft_rma_domain *domain, const void *name,
	size_t len, uint64_t *addr_out)
{
	const struct domain *in = inside(domain);

	return weft_av_add(
		in->dom.av, in->dom.info, &domain->plan, name, len, addr_out);
}

/* --- posts --------------------------------------------------------------- */

static int rma_ep_posted(
	struct weft_rma_ep *ep, const char *call, size_t len, ssize_t rc)
{
	if (weft_likely(rc == 0)) {
		ep->counters.rma_posted++;
		ep->counters.rma_posted_bytes += len;
		return 0;
	}
	if (rc == -FI_EAGAIN) {
		ep->counters.rma_refused++;
		return WEFT_AGAIN;
	}
	return rma_ep_fault(ep->domain, call, rc);
}

static inline uint64_t signal_flags(uint64_t flags, const struct weft_op *op)
{
	return op ? flags | FI_COMPLETION : flags;
}

static int write_as_is(struct weft_rma_ep *ep,
	const struct weft_rma_ep_target *to, const void *buf, size_t len,
	uint64_t flags, struct weft_op *op)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_rma_iov there = { to->remote, len, to->key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = to->addr,
		.rma_iov = &there,
		.rma_iov_count = 1,
		.context = op,
	};

	return rma_ep_posted(ep, "fi_writemsg", len,
		fi_writemsg(ep_inside(ep)->ep, &msg, signal_flags(flags, op)));
}

int weft_rma_ep_write(struct weft_rma_ep *ep,
	const struct weft_rma_ep_target *to, const void *buf, size_t len,
	uint64_t flags, struct weft_op *op)
{
	int err = write_as_is(ep, to, buf, len, flags, op);
	struct weft_copied *copied;

	if (weft_likely(err != WEFT_ERR_BUFFER))
		return err;
	copied = weft_copied_create(op, &ep->err, buf, len);
	if (!copied)
		return WEFT_ERR_NOMEM;
	err = write_as_is(ep, to, copied->data, len, flags, &copied->op);
	if (err)
		free(copied);
	return err;
}

int weft_rma_ep_read(struct weft_rma_ep *ep,
	const struct weft_rma_ep_target *from, void *buf, size_t len,
	uint64_t flags, struct weft_op *op)
{
	struct iovec iov = { buf, len };
	struct fi_rma_iov there = { from->remote, len, from->key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = from->addr,
		.rma_iov = &there,
		.rma_iov_count = 1,
		.context = op,
	};

	return rma_ep_posted(ep, "fi_readmsg", len,
		fi_readmsg(ep_inside(ep)->ep, &msg, signal_flags(flags, op)));
}

static const enum fi_op fi_ops[] = {
	[WEFT_RMA_EP_SET] = FI_ATOMIC_WRITE,
	[WEFT_RMA_EP_ADD] = FI_SUM,
	[WEFT_RMA_EP_AND] = FI_BAND,
	[WEFT_RMA_EP_OR] = FI_BOR,
	[WEFT_RMA_EP_XOR] = FI_BXOR,
	[WEFT_RMA_EP_FETCH] = FI_ATOMIC_READ,
	[WEFT_RMA_EP_CSWAP] = FI_CSWAP,
};

int weft_rma_ep_amo(struct weft_rma_ep *ep, const struct weft_rma_ep_target *to,
	const struct weft_rma_ep_amo *amo, uint64_t flags, struct weft_op *op)
{
	struct fid_ep *fid = ep_inside(ep)->ep;
	struct fi_ioc ioc = { (void *)(uintptr_t)amo->operand, 1 };
	struct fi_ioc cond = { (void *)(uintptr_t)amo->compare, 1 };
	struct fi_ioc result = { amo->result, 1 };
	struct fi_rma_ioc there = { to->remote, 1, to->key };
	struct fi_msg_atomic msg = {
		.msg_iov = &ioc,
		.iov_count = 1,
		.addr = to->addr,
		.rma_iov = &there,
		.rma_iov_count = 1,
		.datatype = amo->width == 8 ? FI_UINT64 : FI_UINT32,
		.op = fi_ops[amo->what],
		.context = op,
	};

	flags = signal_flags(flags, op);
	if (amo->compare)
		return rma_ep_posted(ep, "fi_compare_atomicmsg", amo->width,
			fi_compare_atomicmsg(fid, &msg, &cond, NULL, 1, &result,
				NULL, 1, flags));
	if (amo->result)
		return rma_ep_posted(ep, "fi_fetch_atomicmsg", amo->width,
			fi_fetch_atomicmsg(fid, &msg, &result, NULL, 1, flags));
	return rma_ep_posted(
		ep, "fi_atomicmsg", amo->width, fi_atomicmsg(fid, &msg, flags));
}

/* --- completions --------------------------------------------------------- */

static int rma_ep_on_error(struct rma_ep *ep)
{
	struct fi_cq_err_entry e;
	struct weft_op *op;
	int err;

	memset(&e, 0, sizeof(e));
	if (fi_cq_readerr(ep->cq, &e, 0) != 1)
		return 0;
	err = weft_err_set(weft_cq_err(e.err),
		"one-sided access through %s failed: %s",
		ep->pub.domain->plan.provider, fi_strerror(e.err));
	op = e.op_context;
	if (op)
		op->done(op, err, 0);
	else if (!ep->pub.err)
		ep->pub.err = err;
	return 1;
}

int weft_rma_ep_poll(struct weft_rma_ep *pub)
{
	struct rma_ep *ep = ep_inside(pub);
	struct fi_cq_data_entry entries[BATCH];
	ssize_t n;

	if (ep->is_polling)
		return 0;
	ep->is_polling = true;
	n = fi_cq_read(ep->cq, entries, BATCH);
	for (ssize_t i = 0; i < n; i++) {
		struct weft_op *op = entries[i].op_context;

		if (op)
			op->done(op, 0, entries[i].len);
	}
	if (n == -FI_EAVAIL)
		n = rma_ep_on_error(ep);
	ep->is_polling = false;
	return n > 0 ? (int)n : 0;
}
