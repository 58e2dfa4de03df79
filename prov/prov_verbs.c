/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_verbs: InfiniBand and RoCE, through the ofi_rxm layer
 *
 * The layer registers and caches user memory itself, so that we are not asked
 * to. Messages end at 2 GiB there; callers cut at plan.max_msg_len. */
#include "prov/prov_all.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

enum { EAGER_LEN = 16384 };

static void tune(struct weft_plan *plan, const struct fi_info *info)
{
	(void)info;
	/* Up to here the layer copies; beyond, it has a rendezvous of its own
	 * which later messages overtake. */
	plan->eager_len = EAGER_LEN;
	plan->in_order_len = EAGER_LEN;
	plan->has_put_order = true; /* one reliable connection per peer */
}

const struct weft_prov weft_prov_verbs = {
	.name = "verbs",
	.note = "there is InfiniBand or RoCE hardware",
	.use = WEFT_PROV_MULTI,
	.iface_env = "FI_VERBS_IFACE",
	.forms = { "verbs;ofi_rxm" },
	.tune = tune,
};
