/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_shm: libfabric's shared memory
 *
 * The library's own path within a node is faster. This entry serves tests of
 * the fabric path on one machine, so it is used only by name. */
#include "prov/prov_all.h"

#include <rdma/fabric.h>

enum { EAGER_LEN = 4096 };

/* libfabric 1.17 also offers a slower variant of the provider, without
 * injection. */
static const char *prov_shm_refuse(const struct fi_info *info)
{
	if (!(info->caps & FI_MSG))
		return "an empty one-sided write does not complete there";
	return info->tx_attr->inject_size ? NULL : "variant without injection";
}

/* In 1.17 a target that refuses a key sends no answer, and a refused read
 * completes at the initiator without an error. */
static void prov_shm_tune(struct weft_plan *plan, const struct fi_info *info)
{
	(void)info;
	weft_plan_add_lost(plan, "errors of one-sided access");
	plan->eager_len = EAGER_LEN;
	plan->in_order_len = EAGER_LEN;
}

const struct weft_prov weft_prov_shm = {
	.name = "shm",
	.note = "only by name (WEFT_PROVIDER), to test on one machine",
	.use = WEFT_PROV_ON_DEMAND,
	.is_one_host = true,
	.forms = { "shm" },
	.refuse = prov_shm_refuse,
	.tune = prov_shm_tune,
};
