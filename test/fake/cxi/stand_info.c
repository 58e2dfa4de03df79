/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_info: the attributes that the provider offers and refuses */
#include "stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPS                                                              \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV |    \
		FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE |   \
		FI_DIRECTED_RECV | FI_NAMED_RX_CTX | FI_SOURCE |          \
		FI_SOURCE_ERR | FI_RMA_EVENT | FI_MULTI_RECV | FI_FENCE | \
		FI_TRIGGER | FI_LOCAL_COMM | FI_REMOTE_COMM)

/* Capabilities that are added to those of a request. */
#define SECONDARY (FI_LOCAL_COMM | FI_REMOTE_COMM)

/* The variable part of one answer. */
struct shape {
	unsigned device;
	bool has_prov_key;
	bool is_rnr; /* receiver-not-ready protocol, which has neither ordering
		      * nor injection */
};

static struct {
	struct fi_provider prov;
} self;

static const char *wrong_domain(const struct fi_domain_attr *d)
{
	/* libfabric reads 1 as the old "basic" registration */
	if (d->mr_mode == 1 || d->mr_mode == 2 ||
		!(d->mr_mode & FI_MR_ENDPOINT))
		return "mr_mode lacks FI_MR_ENDPOINT";
	if (!(d->mr_mode & FI_MR_ALLOCATED))
		return "mr_mode lacks FI_MR_ALLOCATED";
	if (d->data_progress == FI_PROGRESS_AUTO)
		return "data_progress AUTO";
	if (d->control_progress == FI_PROGRESS_AUTO)
		return "control_progress AUTO";
	if (d->name && strncmp(d->name, "cxi", 3) != 0)
		return "domain name";
	if (d->max_ep_stx_ctx || d->max_ep_srx_ctx)
		return "shared contexts";
	if (d->cntr_cnt > STAND_CNTRS_MAX)
		return "cntr_cnt";
	return NULL;
}

static const char *wrong_queues(const struct fi_info *h)
{
	if (h->tx_attr) {
		if (h->tx_attr->inject_size > WEFT_CXI_INJECT_LEN)
			return "inject_size";
		if (h->tx_attr->op_flags & ~STAND_TX_FLAGS)
			return "tx op_flags";
		if (h->tx_attr->msg_order & ~STAND_ORDER)
			return "tx msg_order";
		if (h->tx_attr->size > STAND_TX_LEN_MAX)
			return "tx size";
		if (h->tx_attr->iov_limit > 1 || h->tx_attr->rma_iov_limit > 1)
			return "iov_limit";
	}
	if (h->rx_attr) {
		if (h->rx_attr->msg_order & ~STAND_ORDER)
			return "rx msg_order";
		if (h->rx_attr->size > STAND_RX_LEN_MAX)
			return "rx size";
		if (h->rx_attr->iov_limit > 1)
			return "iov_limit";
		if (h->rx_attr->op_flags & ~(FI_COMPLETION | FI_MULTI_RECV))
			return "rx op_flags";
	}
	return NULL;
}

static const char *wrong(const struct fi_info *h)
{
	const struct fi_ep_attr *e = h->ep_attr;
	const char *why = NULL;

	if (h->addr_format && h->addr_format != FI_ADDR_CXI)
		return "addr_format";
	if (h->caps & ~(CAPS | (stand_env.hmem ? FI_HMEM : 0)))
		return "caps";
	if (e && e->type && e->type != FI_EP_RDM)
		return "endpoint type";
	if (e && e->protocol && e->protocol != WEFT_CXI_PROTO &&
		e->protocol != WEFT_CXI_PROTO_RNR)
		return "protocol";
	if (e && e->max_msg_size > STAND_MSG_MAX)
		return "max_msg_size";
	if (e && (e->tx_ctx_cnt > 1 || e->rx_ctx_cnt > 1))
		return "scalable endpoint";
	if (h->fabric_attr && h->fabric_attr->name &&
		strcmp(h->fabric_attr->name, "cxi") != 0)
		return "fabric name";
	if (h->domain_attr)
		why = wrong_domain(h->domain_attr);
	return why ? why : wrong_queues(h);
}

/* True if an answer of this shape meets the request. */
static bool fits(const struct fi_info *h, const struct shape *s)
{
	if (!h)
		return true;
	if (h->ep_attr && h->ep_attr->protocol &&
		(h->ep_attr->protocol == WEFT_CXI_PROTO_RNR) != s->is_rnr)
		return false;
	if (s->has_prov_key && h->domain_attr &&
		!(h->domain_attr->mr_mode & FI_MR_PROV_KEY))
		return false;
	if (!s->is_rnr || !h->tx_attr)
		return true;
	return !h->tx_attr->inject_size &&
	       !(h->tx_attr->msg_order & FI_ORDER_SAS);
}

/* The description of a device is a libfabric object that its user closes. */

static int nic_close(struct fid *fid)
{
	struct fid_nic *nic = stand_of(fid, struct fid_nic, fid);

	free(nic->device_attr->name);
	free(nic->device_attr);
	free(nic->link_attr);
	free(nic->bus_attr);
	free(nic->prov_attr);
	free(nic);
	return 0;
}

static struct fid_nic *nic_new(const char *device, uint16_t vni);

/* Contents of prov_attr: version, address, resource group, identifier. */
struct nic_attr {
	uint32_t version;
	uint32_t addr;
	uint32_t default_rgroup_id;
	uint16_t default_vni;
};

static int nic_control(struct fid *fid, int command, void *arg)
{
	struct fid_nic *nic = stand_of(fid, struct fid_nic, fid);
	const struct nic_attr *attr = nic->prov_attr;

	if (command != FI_DUP)
		return -FI_ENOSYS;
	*(struct fid_nic **)arg =
		nic_new(nic->device_attr->name, attr->default_vni);
	return *(struct fid_nic **)arg ? 0 : -FI_ENOMEM;
}

static struct fi_ops nic_ops = {
	.size = sizeof(nic_ops),
	.close = nic_close,
	.bind = stand_no_bind,
	.control = nic_control,
	.ops_open = stand_no_open,
};

static struct fid_nic *nic_new(const char *device, uint16_t vni)
{
	struct fid_nic *nic = calloc(1, sizeof(*nic));
	struct nic_attr *attr = calloc(1, sizeof(*attr));

	if (!nic || !attr) {
		free(nic);
		free(attr);
		return NULL;
	}
	*attr = (struct nic_attr){ 1, 0, 1, vni };
	nic->fid.fclass = FI_CLASS_NIC;
	nic->fid.ops = &nic_ops;
	nic->device_attr = calloc(1, sizeof(*nic->device_attr));
	nic->device_attr->name = strdup(device);
	nic->bus_attr = calloc(1, sizeof(*nic->bus_attr));
	nic->bus_attr->bus_type = FI_BUS_UNKNOWN;
	nic->link_attr = calloc(1, sizeof(*nic->link_attr));
	nic->link_attr->state = FI_LINK_UP;
	nic->link_attr->mtu = 2048;
	nic->link_attr->speed = 200000000000;
	nic->prov_attr = attr;
	return nic;
}

/* One answer */

static uint64_t caps_for(const struct fi_info *h)
{
	uint64_t caps = h && h->caps ? h->caps | SECONDARY : CAPS;

	if (caps & (FI_MSG | FI_TAGGED) && !(caps & (FI_SEND | FI_RECV)))
		caps |= FI_SEND | FI_RECV;
	if (caps & (FI_RMA | FI_ATOMIC) &&
		!(caps & (FI_READ | FI_WRITE | FI_REMOTE_READ |
				 FI_REMOTE_WRITE)))
		caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	return caps;
}

static void fill_domain(struct fi_domain_attr *d, const struct shape *s,
	const struct fi_info *h)
{
	d->threading = FI_THREAD_SAFE;
	if (h && h->domain_attr && h->domain_attr->threading)
		d->threading = h->domain_attr->threading;
	d->control_progress = FI_PROGRESS_MANUAL;
	d->data_progress = FI_PROGRESS_MANUAL;
	d->resource_mgmt = FI_RM_ENABLED;
	d->av_type = FI_AV_TABLE;
	d->mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED |
		     (s->has_prov_key ? FI_MR_PROV_KEY : 0);
	d->mr_key_size = s->has_prov_key ? 8 : 4;
	d->cq_data_size = 8;
	d->cq_cnt = STAND_CQS_MAX;
	d->ep_cnt = STAND_EPS_MAX;
	d->tx_ctx_cnt = d->rx_ctx_cnt = 1;
	d->max_ep_tx_ctx = d->max_ep_rx_ctx = 1;
	d->cntr_cnt = STAND_CNTRS_MAX;
	d->mr_iov_limit = 1;
	d->mr_cnt = WEFT_CXI_OPTIMIZED_KEYS;
	d->caps = SECONDARY;
	d->tclass = h && h->domain_attr ? h->domain_attr->tclass : 0;
}

static void fill_queues(
	struct fi_info *i, const struct shape *s, const struct fi_info *h)
{
	uint64_t order =
		s->is_rnr ? STAND_ORDER & ~(uint64_t)FI_ORDER_SAS : STAND_ORDER;
	struct fi_tx_attr *tx = i->tx_attr;
	struct fi_rx_attr *rx = i->rx_attr;
	const struct fi_tx_attr *htx = h ? h->tx_attr : NULL;
	const struct fi_rx_attr *hrx = h ? h->rx_attr : NULL;

	tx->caps = i->caps & ~(FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |
				     FI_MULTI_RECV | FI_DIRECTED_RECV |
				     FI_SOURCE | FI_SOURCE_ERR);
	tx->op_flags = htx ? htx->op_flags : 0;
	tx->msg_order = htx ? htx->msg_order : order;
	tx->inject_size = s->is_rnr ? 0 : WEFT_CXI_INJECT_LEN;
	tx->size = htx && htx->size ? htx->size : STAND_TX_LEN;
	tx->iov_limit = tx->rma_iov_limit = 1;
	tx->tclass = htx ? htx->tclass : 0;
	if (!tx->tclass && h && h->domain_attr)
		tx->tclass = h->domain_attr->tclass;
	rx->caps = i->caps & ~(FI_SEND | FI_READ | FI_WRITE | FI_FENCE);
	rx->op_flags = hrx ? hrx->op_flags : 0;
	rx->msg_order = hrx ? hrx->msg_order : order;
	rx->size = hrx && hrx->size ? hrx->size : STAND_TX_LEN;
	rx->iov_limit = 1;
}

static void fill_ep(struct fi_ep_attr *e, const struct shape *s)
{
	e->type = FI_EP_RDM;
	e->protocol = s->is_rnr ? WEFT_CXI_PROTO_RNR : WEFT_CXI_PROTO;
	e->protocol_version = 1;
	e->max_msg_size = STAND_MSG_MAX;
	e->max_order_waw_size = SIZE_MAX;
	e->mem_tag_format = 0xaaaaaaaaaaaaull;
	e->tx_ctx_cnt = e->rx_ctx_cnt = 1;
}

static struct fi_info *info_new(const struct shape *s, const struct fi_info *h,
	const struct weft_cxi_auth_key *auth)
{
	struct fi_info *i = fi_allocinfo();
	struct stand_addr *addr = calloc(1, sizeof(*addr));
	char device[16];

	if (!i || !addr) {
		fi_freeinfo(i);
		free(addr);
		return NULL;
	}
	snprintf(device, sizeof(device), "cxi%u", s->device);
	i->caps = caps_for(h);
	i->addr_format = FI_ADDR_CXI;
	addr->pid = 0xfff;
	addr->vni = auth->vni;
	i->src_addr = addr;
	i->src_addrlen = sizeof(*addr);
	i->fabric_attr->name = strdup("cxi");
	i->domain_attr->name = strdup(device);
	i->fabric_attr->prov_version = FI_VERSION(0, 1);
	fill_domain(i->domain_attr, s, h);
	fill_ep(i->ep_attr, s);
	fill_queues(i, s, h);
	i->nic = nic_new(device, auth->vni);
	if (auth->vni) {
		i->domain_attr->auth_key = malloc(sizeof(*auth));
		memcpy(i->domain_attr->auth_key, auth, sizeof(*auth));
		i->domain_attr->auth_key_size = sizeof(*auth);
	}
	return i;
}

/* All answers for one device, appended at the end. */
static int offer_device(
	unsigned device, const struct fi_info *h, struct fi_info ***tail)
{
	const struct fi_domain_attr *d = h ? h->domain_attr : NULL;
	struct weft_cxi_auth_key auth;
	char name[16];
	int rc;

	snprintf(name, sizeof(name), "cxi%u", device);
	if (!stand_has_device(name) ||
		(d && d->name && strcmp(d->name, name) != 0))
		return 0;
	rc = stand_auth(
		name, d ? d->auth_key : NULL, d ? d->auth_key_size : 0, &auth);
	if (rc)
		return 0;
	for (int i = 0; i < 4; i++) {
		struct shape s = { device, !(i & 1), i & 2 };

		if (!fits(h, &s))
			continue;
		**tail = info_new(&s, h, &auth);
		if (!**tail)
			return -FI_ENOMEM;
		*tail = &(**tail)->next;
	}
	return 0;
}

int stand_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info_out)
{
	struct fi_info *list = NULL;
	struct fi_info **tail = &list;
	const char *why = hints ? wrong(hints) : NULL;
	int rc = 0;

	(void)version;
	(void)node;
	(void)service;
	(void)flags;
	*info_out = NULL;
	if (why) {
		stand_log("getinfo refused: %s", why);
		return -FI_ENODATA;
	}
	for (unsigned d = 0; d < stand_env.devices && !rc; d++)
		rc = offer_device(d, hints, &tail);
	if (rc) {
		fi_freeinfo(list);
		return rc;
	}
	*info_out = list;
	return list ? 0 : -FI_ENODATA;
}

static void cleanup(void)
{
}

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void);

struct fi_provider *fi_prov_ini(void)
{
	stand_env_init();
	self.prov = (struct fi_provider){
		.version = FI_VERSION(0, 1),
		.fi_version = fi_version(),
		.name = "cxi",
		.getinfo = stand_getinfo,
		.fabric = stand_fabric,
		.cleanup = cleanup,
	};
	return &self.prov;
}
