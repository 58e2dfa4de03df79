/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_psm: Omni-Path and its heirs
 *
 * Not met by us: libfabric's own figures stand, but for the order of long
 * messages. Its third form also runs over plain Ethernet, where nobody means
 * it, so that it is taken only when named; where it has hardware of its own,
 * the verbs entry drives that too. */
#include "prov/prov_all.h"

#include <rdma/fabric.h>

enum { EAGER_LEN = 8192 };

static void prov_psm_tune(struct weft_plan *plan, const struct fi_info *info)
{
	(void)info;
	plan->eager_len = EAGER_LEN;
	plan->in_order_len = EAGER_LEN;
}

const struct weft_prov weft_prov_psm = {
	.name = "psm",
	.note = "there is Omni-Path hardware",
	.use = WEFT_PROV_MULTI,
	.forms = { "opx", "psm2" },
	.tune = prov_psm_tune,
};

const struct weft_prov weft_prov_psm3 = {
	.name = "psm3",
	.note = "the user named it",
	.use = WEFT_PROV_ON_DEMAND,
	.forms = { "psm3" },
	.tune = prov_psm_tune,
};
