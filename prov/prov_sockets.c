/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_sockets: libfabric's old socket provider without layers
 *
 * The provider is slow and no longer developed upstream. A process that
 * receives invalid bytes crashes in it (libfabric 1.17), so it is used only if
 * the user names it. */
#include "prov/prov_all.h"

#include <rdma/fabric.h>

enum { EAGER_LEN = 65536 + 512 };

/* The eager length is that of tcp: the round trip of a rendezvous takes longer
 * than a copy. */
static void prov_sockets_tune(
	struct weft_plan *plan, const struct fi_info *info)
{
	(void)info;
	plan->eager_len = EAGER_LEN;
	plan->in_order_len = SIZE_MAX; /* one stream keeps the order */
	plan->counts_injects = true;
	plan->has_costly_posts = true;
}

const struct weft_prov weft_prov_sockets = {
	.name = "sockets",
	.note = "only by name (WEFT_PROVIDER): invalid bytes crash it",
	.use = WEFT_PROV_ON_DEMAND,
	.has_iface = true,
	.iface_env = "FI_SOCKETS_IFACE",
	.forms = { "sockets" },
	.tune = prov_sockets_tune,
};
