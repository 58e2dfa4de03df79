/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_efa: Elastic Fabric Adapter, the network of Amazon's instances
 *
 * Not met by us: libfabric's own figures stand, but for the order of long
 * messages, which its datagrams do not keep. */
#include "prov/prov_all.h"

#include <rdma/fabric.h>

enum { EAGER_LEN = 8192 };

static void prov_efa_tune(struct weft_plan *plan, const struct fi_info *info)
{
	(void)info;
	plan->eager_len = EAGER_LEN;
	plan->in_order_len = EAGER_LEN;
}

const struct weft_prov weft_prov_efa = {
	.name = "efa",
	.note = "there is an Elastic Fabric Adapter",
	.use = WEFT_PROV_MULTI,
	.forms = { "efa" },
	.tune = prov_efa_tune,
};
