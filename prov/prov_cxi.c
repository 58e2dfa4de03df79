/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_cxi: Slingshot
 *
 * The fast put format has three conditions: no write-after-write order on the
 * endpoint, no remote events, and a registration key below 100. If a condition
 * is not met, the provider falls back without a report. So the library requests
 * message order only. It chooses the keys itself, and uses the first hundred
 * for memory that peers access. */
#include "prov/prov_all.h"
#include "prov/cxi_ext.h"
#include "prov/slingshot.h"

#include "base/err.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	EAGER_LEN = 8192, /* half the provider's own threshold */
};

/* Requests client keys: the request does not offer FI_MR_PROV_KEY. */
static void prov_cxi_hints(struct fi_info *h)
{
	h->domain_attr->mr_mode &= ~(FI_MR_PROV_KEY | FI_MR_VIRT_ADDR);
	h->tx_attr->op_flags = 0;
}

static const char *prov_cxi_refuse(const struct fi_info *info)
{
	if (info->domain_attr->name &&
		weft_slingshot_is_foreign(info->domain_attr->name))
		return "SLINGSHOT_DEVICES of the launcher does not name "
		       "this device";
	return NULL;
}

/* Sets the key in the fi_info, so that a wrong key fails here and not at the
 * first message. The provider could also read the variables itself. */
static int put_key(struct fi_info *info, const struct weft_cxi_auth_key *key)
{
	struct fi_domain_attr *attr = info->domain_attr;
	void *copy = malloc(sizeof(*key));

	if (!copy)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a key");
	memcpy(copy, key, sizeof(*key));
	free(attr->auth_key);
	attr->auth_key = copy;
	attr->auth_key_size = sizeof(*key);
	return 0;
}

static void record_network(struct weft_plan *plan, const struct fi_info *info)
{
	const struct fi_domain_attr *attr = info->domain_attr;
	struct weft_cxi_auth_key key = { 0 };
	const char *class = weft_slingshot_tclass_name(info->tx_attr->tclass);

	if (attr->auth_key && attr->auth_key_size == sizeof(key))
		memcpy(&key, attr->auth_key, sizeof(key));
	plan->network_id = key.vni;
	plan->network_id_at = WEFT_CXI_ADDR_VNI_AT;
	snprintf(plan->tclass, sizeof(plan->tclass), "%s", class);
	if (key.vni)
		snprintf(plan->network, sizeof(plan->network),
			"VNI %u, service %u, traffic class %s", key.vni,
			key.svc_id, class);
	else
		snprintf(plan->network, sizeof(plan->network),
			"VNI of the provider's choice, traffic class %s",
			class);
}

static int prepare(
	struct weft_plan *plan, struct fi_info *info, const char *tclass)
{
	struct weft_cxi_auth_key key;
	const char *lost;
	int err;

	info->tx_attr->tclass = weft_slingshot_tclass(tclass, &lost);
	if (lost)
		weft_plan_add_lost(plan, lost);
	if (weft_slingshot_key(info->domain_attr->name, &key)) {
		err = put_key(info, &key);
		if (err)
			return err;
	}
	record_network(plan, info);
	return 0;
}

static void prov_cxi_tune(struct weft_plan *plan, const struct fi_info *info)
{
	plan->eager_len = EAGER_LEN;
	plan->in_order_len = EAGER_LEN;
	plan->n_keys = plan->has_prov_key ? 0 : WEFT_CXI_OPTIMIZED_KEYS;
	plan->has_rdma = true;
	plan->has_fabric_amo = info->caps & FI_ATOMIC;
	plan->flush_flags |= info->caps & FI_FENCE;
	plan->fence_flags = info->caps & FI_FENCE;
	plan->batch_flags = FI_MORE;
	plan->once_flags = WEFT_CXI_UNRELIABLE;
	if (info->tx_attr->msg_order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW) ||
		plan->has_prov_key)
		weft_plan_add_lost(plan, "high-rate puts");
	else
		plan->rate_flags = WEFT_CXI_HRP;
}

const struct weft_prov weft_prov_cxi = {
	.name = "cxi",
	.note = "there is Slingshot hardware",
	.use = WEFT_PROV_MULTI,
	.wants_hmem = true,
	.rma_caps = FI_ATOMIC | FI_FENCE,
	.forms = { "cxi" },
	.hints = prov_cxi_hints,
	.refuse = prov_cxi_refuse,
	.prepare = prepare,
	.tune = prov_cxi_tune,
};
