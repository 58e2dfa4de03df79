/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_verbs: InfiniBand and RoCE, through the ofi_rxm layer
 *
 * The layer registers and caches user memory itself. Its messages have at most
 * 2 GiB; callers split longer data into segments. */
#include "prov/prov_all.h"

#include "base/knob.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <stdio.h>
#include <stdlib.h>

enum {
	BUFFER_LEN = 16384, /* the layer's own default */
	LEAST_BUFFER = 1024,
	NODE_RNIC = 4, /* the kernel's node type of an iWARP card */
};

/* Up to this length, the layer copies messages and keeps their order. The layer
 * splits longer messages, or uses a rendezvous of its own, which later messages
 * overtake. */
static size_t layer_buffer(void)
{
	const char *text = weft_knob_getenv("FI_OFI_RXM_BUFFER_SIZE");
	unsigned long len = text ? strtoul(text, NULL, 0) : 0;

	return len >= LEAST_BUFFER ? len : BUFFER_LEN;
}

/* True for an iWARP card. A write over iWARP completes when the data has left
 * the card. No event reports its arrival. An error of the target is reported
 * later, as the end of the connection. */
static bool is_iwarp(const struct fi_info *info)
{
	const char *name = info->domain_attr->name;
	char path[128];
	int type = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/node_type",
		name ? name : "");
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%d", &type) != 1)
		type = 0;
	fclose(f);
	return type == NODE_RNIC;
}

static const char *prov_verbs_refuse(const struct fi_info *info)
{
	if (!(info->caps & FI_TAGGED) && is_iwarp(info))
		return "iWARP does not report when a write has arrived";
	return NULL;
}

static void prov_verbs_tune(struct weft_plan *plan, const struct fi_info *info)
{
	plan->eager_len = layer_buffer();
	plan->in_order_len = plan->eager_len;
	plan->drops_unread = true; /* contrib/notes/008-closing-verbs.md */
	plan->has_rdma = true;
	plan->has_put_order = true; /* one reliable connection per peer */
	/* FI_INJECT, because the layer would crash if it registered an empty
	 * put */
	plan->flush_flags |= FI_INJECT;
	if (is_iwarp(info))
		weft_plan_add_lost(plan, "errors of one-sided access");
}

const struct weft_prov weft_prov_verbs = {
	.name = "verbs",
	.note = "there is InfiniBand or RoCE hardware",
	.use = WEFT_PROV_MULTI,
	.wants_hmem = true,
	.devices = "/sys/class/infiniband",
	.remedy = "FI_UNIVERSE_SIZE below 256 asks for shorter queues",
	.forms = { "verbs;ofi_rxm" },
	.refuse = prov_verbs_refuse,
	.tune = prov_verbs_tune,
};
