/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_cxi: Slingshot
 *
 * The cheap put format needs three things at once, each of which is lost in
 * silence by asking for the wrong thing: no write-after-write order on the
 * endpoint, no remote events, and a registration key below 100. So we ask for
 * message order only and pick keys ourselves, the first hundred of which are
 * kept for heaps. */
#include "prov/prov_all.h"
#include "prov/cxi_ext.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

enum {
	EAGER_LEN = 8192, /* half the provider's own threshold */
};

/* The ways there are to ask for our own keys: not offering the provider's. */
static void hints(struct fi_info *h)
{
	h->domain_attr->mr_mode &= ~(FI_MR_PROV_KEY | FI_MR_VIRT_ADDR);
	h->tx_attr->op_flags = 0;
}

static void tune(struct weft_plan *plan, const struct fi_info *info)
{
	plan->eager_len = EAGER_LEN;
	plan->in_order_len = EAGER_LEN;
	plan->first_key = 0;
	plan->n_keys = plan->has_prov_key ? 0 : WEFT_CXI_OPTIMIZED_KEYS;
	plan->has_fabric_amo = info->caps & FI_ATOMIC;
	plan->flush_flags |= info->caps & FI_FENCE;
	plan->fence_flags = info->caps & FI_FENCE;
	plan->batch_flags = FI_MORE;
	plan->once_flags = WEFT_CXI_UNRELIABLE;
	if (info->tx_attr->msg_order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW) ||
		plan->has_prov_key)
		weft_plan_lose(plan, "high-rate puts");
	else
		plan->rate_flags = WEFT_CXI_HRP;
}

const struct weft_prov weft_prov_cxi = {
	.name = "cxi",
	.note = "there is Slingshot hardware",
	.use = WEFT_PROV_MULTI,
	.side_caps = FI_ATOMIC | FI_FENCE,
	.forms = { "cxi" },
	.hints = hints,
	.tune = tune,
};
