/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_nic: endpoints and their aliases */
#include "stand.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINGER_US = 300000 };

static struct stand_ep *ep_of(struct fid *fid)
{
	return stand_of(fid, struct stand_ep, fid.fid);
}

/* Sends the commands that the card already has, as hardware does. Commands that
 * wait for a doorbell are lost. */
static void linger(struct stand_nic *nic)
{
	uint64_t end = stand_now_us() + LINGER_US;
	struct timespec nap = { 0, 200000 };

	for (;;) {
		bool is_busy = nic->pending != NULL;

		for (struct stand_conn *c = nic->conns; c; c = c->next)
			if (!c->is_dead &&
				(c->sent.head || c->todo.head || c->out))
				is_busy = true;
		if (!is_busy || stand_now_us() > end)
			return;
		stand_wire_pump(nic);
		pthread_mutex_unlock(&nic->lock);
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&nic->lock);
	}
}

static void drop_held(struct stand_nic *nic)
{
	size_t n = nic->n_held;

	while (nic->held.head) {
		struct stand_op *op = nic->held.head;

		nic->held.head = op->next;
		stand_op_free(op);
	}
	stand_log("close ops=%lu doorbells=%lu lost=%zu", nic->n_ops,
		nic->n_doorbells, n);
}

static void unbind(struct stand_nic *nic)
{
	if (nic->tx_cq)
		stand_cq_unbind(nic->tx_cq, nic);
	if (nic->rx_cq)
		stand_cq_unbind(nic->rx_cq, nic);
	for (int i = 0; i < STAND_COUNTS; i++)
		if (nic->cntrs[i])
			stand_cntr_unbind(nic->cntrs[i], nic);
	if (nic->av)
		nic->av->n_refs--;
}

static void nic_destroy(struct stand_nic *nic)
{
	unbind(nic);
	pthread_mutex_lock(&nic->lock);
	if (nic->is_enabled)
		linger(nic);
	drop_held(nic);
	nic->is_enabled = false;
	nic->is_stopping = true;
	pthread_mutex_unlock(&nic->lock);
	if (nic->has_thread)
		pthread_join(nic->thread, NULL);
	stand_wire_close(nic);
	stand_rx_fini(nic);
	nic->dom->n_eps--;
	nic->dom->n_refs--;
	pthread_mutex_destroy(&nic->lock);
	free(nic->peers);
	free(nic);
}

static int ep_close(struct fid *fid)
{
	struct stand_ep *ep = ep_of(fid);
	struct stand_nic *nic = ep->nic;
	int n;

	pthread_mutex_lock(&nic->lock);
	n = --nic->n_handles;
	if (n && !ep->is_alias) {
		nic->n_handles++;
		pthread_mutex_unlock(&nic->lock);
		stand_log("close refused: %d aliases or registrations", n);
		return -FI_EBUSY;
	}
	pthread_mutex_unlock(&nic->lock);
	if (!ep->is_alias)
		nic_destroy(nic);
	free(ep);
	return 0;
}

static int bind_cq(struct stand_nic *nic, struct stand_cq *cq, uint64_t flags)
{
	bool is_selective = flags & FI_SELECTIVE_COMPLETION;

	if (!(flags & (FI_TRANSMIT | FI_RECV)))
		return -FI_EINVAL;
	if ((flags & FI_TRANSMIT && nic->tx_cq) ||
		(flags & FI_RECV && nic->rx_cq))
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		nic->tx_cq = cq;
		nic->tx_selective = is_selective;
	}
	if (flags & FI_RECV) {
		nic->rx_cq = cq;
		nic->rx_selective = is_selective;
	}
	stand_cq_bind(cq, nic);
	return 0;
}

static const struct {
	uint64_t flag;
	enum stand_count what;
} count_flags[] = {
	{ FI_SEND, STAND_COUNT_SEND },
	{ FI_RECV, STAND_COUNT_RECV },
	{ FI_READ, STAND_COUNT_READ },
	{ FI_WRITE, STAND_COUNT_WRITE },
	{ FI_REMOTE_READ, STAND_COUNT_REMOTE_READ },
	{ FI_REMOTE_WRITE, STAND_COUNT_REMOTE_WRITE },
};

static int bind_cntr(
	struct stand_nic *nic, struct stand_cntr *cntr, uint64_t flags)
{
	for (int i = 0; i < STAND_COUNTS; i++)
		if (flags & count_flags[i].flag &&
			nic->cntrs[count_flags[i].what])
			return -FI_EINVAL;
	for (int i = 0; i < STAND_COUNTS; i++)
		if (flags & count_flags[i].flag)
			nic->cntrs[count_flags[i].what] = cntr;
	stand_cntr_bind(cntr, nic);
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *with, uint64_t flags)
{
	struct stand_nic *nic = ep_of(fid)->nic;

	if (nic->is_enabled)
		return -FI_EOPBADSTATE;
	switch (with->fclass) {
	case FI_CLASS_AV:
		if (nic->av)
			return -FI_EINVAL;
		nic->av = stand_of(with, struct stand_av, fid.fid);
		nic->av->n_refs++;
		return 0;
	case FI_CLASS_CQ:
		return bind_cq(
			nic, stand_of(with, struct stand_cq, fid.fid), flags);
	case FI_CLASS_CNTR:
		return bind_cntr(
			nic, stand_of(with, struct stand_cntr, fid.fid), flags);
	default:
		return -FI_ENOSYS;
	}
}

static int ep_enable(struct stand_nic *nic)
{
	int rc;

	if (nic->is_enabled)
		return 0;
	if (!nic->av || (!nic->tx_cq && !nic->cntrs[STAND_COUNT_WRITE] &&
				nic->caps & (FI_SEND | FI_WRITE)))
		return -FI_ENOCQ;
	pthread_mutex_lock(&nic->lock);
	rc = stand_wire_open(nic);
	nic->is_enabled = rc == 0;
	pthread_mutex_unlock(&nic->lock);
	return rc;
}

/* An alias has flags of its own, which no function checks. */
static int set_op_flags(struct stand_ep *ep, uint64_t flags)
{
	if (!(flags & FI_TRANSMIT) || flags & FI_RECV)
		return -FI_EINVAL;
	ep->op_flags = flags & ~FI_TRANSMIT;
	if (!(flags & STAND_LEVELS))
		ep->op_flags |= FI_TRANSMIT_COMPLETE;
	return 0;
}

static int make_alias(struct stand_ep *ep, struct fi_alias *alias)
{
	struct stand_ep *twin = malloc(sizeof(*twin));
	char text[128];

	if (!twin)
		return -FI_ENOMEM;
	*twin = *ep;
	twin->is_alias = true;
	if (set_op_flags(twin, alias->flags)) {
		free(twin);
		return -FI_EINVAL;
	}
	pthread_mutex_lock(&ep->nic->lock);
	ep->nic->n_handles++;
	pthread_mutex_unlock(&ep->nic->lock);
	*alias->fid = &twin->fid.fid;
	stand_log("alias op_flags=%s",
		stand_flags(twin->op_flags, text, sizeof(text)));
	return 0;
}

static int set_value(struct stand_ep *ep, const struct fi_fid_var *var)
{
	uint64_t order;
	uint32_t tclass;

	if (var->name == WEFT_CXI_SET_TCLASS) {
		tclass = *(uint32_t *)var->val;
		if (tclass && (tclass < 0x200 || tclass > 0x204))
			return -FI_EINVAL;
		if (tclass)
			ep->tclass = tclass;
		stand_log("set tclass=%s", stand_tclass(ep->tclass));
		return 0;
	}
	if (var->name == WEFT_CXI_SET_MSG_ORDER) {
		order = *(uint64_t *)var->val;
		if (order & ~STAND_ORDER)
			return -FI_EINVAL;
		ep->order = order;
		stand_log("set msg_order=0x%llx", (unsigned long long)order);
		return 0;
	}
	return -FI_EINVAL;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct stand_ep *ep = ep_of(fid);

	switch (command) {
	case FI_ENABLE:
		return ep_enable(ep->nic);
	case FI_ALIAS:
		return make_alias(ep, arg);
	case FI_GETOPSFLAG:
		*(uint64_t *)arg = ep->op_flags;
		return 0;
	case FI_SETOPSFLAG:
		return set_op_flags(ep, *(uint64_t *)arg);
	case FI_SET_VAL:
		return set_value(ep, arg);
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(ep_fid_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = stand_no_open,
};

/* Names */

static int cm_setname(fid_t fid, void *addr, size_t len)
{
	(void)fid;
	(void)addr;
	(void)len;
	return -FI_ENOSYS;
}

static int cm_getname(fid_t fid, void *addr, size_t *len)
{
	struct stand_nic *nic = ep_of(fid)->nic;
	size_t room = *len;

	if (!nic->is_enabled)
		return -FI_EOPBADSTATE;
	*len = sizeof(nic->addr);
	if (room < sizeof(nic->addr))
		return -FI_ETOOSMALL;
	memcpy(addr, &nic->addr, sizeof(nic->addr));
	return 0;
}

static struct fi_ops_cm cm_ops = {
	.size = sizeof(cm_ops),
	.setname = cm_setname,
	.getname = cm_getname,
};

/* Options */

static ssize_t ep_cancel(fid_t fid, void *context)
{
	struct stand_nic *nic = ep_of(fid)->nic;
	ssize_t rc;

	pthread_mutex_lock(&nic->lock);
	rc = stand_rx_cancel(nic, context);
	pthread_mutex_unlock(&nic->lock);
	return rc;
}

static int ep_getopt(fid_t fid, int level, int name, void *val, size_t *len)
{
	struct stand_nic *nic = ep_of(fid)->nic;

	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (*len < sizeof(nic->min_multi))
		return -FI_ETOOSMALL;
	*(size_t *)val = nic->min_multi;
	*len = sizeof(nic->min_multi);
	return 0;
}

static int ep_setopt(
	fid_t fid, int level, int name, const void *val, size_t len)
{
	struct stand_nic *nic = ep_of(fid)->nic;

	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (len != sizeof(nic->min_multi))
		return -FI_EINVAL;
	pthread_mutex_lock(&nic->lock);
	nic->min_multi = *(const size_t *)val;
	pthread_mutex_unlock(&nic->lock);
	return 0;
}

static ssize_t size_left(struct fid_ep *ep)
{
	(void)ep;
	return -FI_ENOSYS;
}

static struct fi_ops_ep ep_ops = {
	.size = sizeof(ep_ops),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.rx_size_left = size_left,
	.tx_size_left = size_left,
};

static bool is_other_key(
	const struct stand_dom *dom, const struct fi_ep_attr *e)
{
	struct weft_cxi_auth_key key;

	if (!e->auth_key_size)
		return false;
	if (e->auth_key_size != sizeof(key))
		return true;
	memcpy(&key, e->auth_key, sizeof(key));
	return key.svc_id != dom->auth.svc_id || key.vni != dom->auth.vni;
}

static struct stand_nic *nic_new(
	struct stand_dom *dom, const struct fi_info *info)
{
	struct stand_nic *nic = calloc(1, sizeof(*nic));

	if (!nic)
		return NULL;
	pthread_mutex_init(&nic->lock, NULL);
	nic->dom = dom;
	nic->caps = info->caps;
	nic->rx_order = info->rx_attr->msg_order;
	nic->rx_op_flags = info->rx_attr->op_flags;
	nic->tx_len = info->tx_attr->size;
	nic->min_multi = 64;
	nic->listen_fd = nic->epoll_fd = -1;
	nic->n_handles = 1;
	nic->next_id = 1;
	nic->arrived_tail = &nic->arrived;
	nic->random = stand_env.seed * 2654435761u + (unsigned)dom->n_eps;
	stand_list_init(&nic->held);
	dom->n_refs++;
	dom->n_eps++;
	return nic;
}

int stand_ep_open(struct fid_domain *fid, struct fi_info *info,
	struct fid_ep **out, void *context)
{
	struct stand_dom *dom = stand_of(fid, struct stand_dom, fid);
	struct stand_ep *ep;
	char text[128];

	if (info->ep_attr->type != FI_EP_RDM ||
		info->tx_attr->op_flags & ~STAND_TX_FLAGS ||
		info->tx_attr->msg_order & ~STAND_ORDER ||
		is_other_key(dom, info->ep_attr) || dom->n_eps >= STAND_EPS_MAX)
		return -FI_EINVAL;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	ep->nic = nic_new(dom, info);
	if (!ep->nic) {
		free(ep);
		return -FI_ENOMEM;
	}
	ep->op_flags = info->tx_attr->op_flags;
	ep->order = info->tx_attr->msg_order;
	ep->tclass = info->tx_attr->tclass;
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &cm_ops;
	ep->fid.msg = &stand_msg_ops;
	ep->fid.tagged = &stand_tagged_ops;
	ep->fid.rma = &stand_rma_ops;
	ep->fid.atomic = &stand_atomic_ops;
	stand_log("endpoint caps=0x%llx op_flags=%s tx_order=0x%llx "
		  "rx_order=0x%llx tclass=%s tx_size=%zu",
		(unsigned long long)info->caps,
		stand_flags(ep->op_flags, text, sizeof(text)),
		(unsigned long long)ep->order,
		(unsigned long long)info->rx_attr->msg_order,
		stand_tclass(ep->tclass), ep->nic->tx_len);
	*out = &ep->fid;
	return 0;
}
