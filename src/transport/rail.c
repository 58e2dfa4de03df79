/* SPDX-License-Identifier: BSD-3-Clause */
/* rail: opens, connects, polls and closes the endpoints of further devices */
#include "transport/rail.h"

#include "base/knob.h"
#include "base/log.h"
#include "transport/arrival.h"
#include "transport/bc.h"
#include "transport/vci.h"
#include "transport/proc.h"
#include "net/net.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static_assert(
	(int)WEFT_RAILS == (int)WEFT_COUNTER_RAILS, "each rail has counters");

static struct weft_net *rail_open_one(
	struct weft_vci *vci, const char *used, uint8_t number)
{
	struct weft_net_hints hints;
	struct weft_net *net = NULL;

	weft_proc_net_hints(&hints);
	hints.provider = vci->net->plan.provider;
	hints.fabric = vci->net->plan.fabric;
	hints.used = used;
	hints.rail = number;
	hints.vci = vci->number;
	return weft_net_open(&hints, weft_arrival_net, vci, &net) ? NULL : net;
}

void weft_rail_open(struct weft_vci *vci)
{
	struct weft_rails *rails = &vci->rails;
	uint32_t wanted = (uint32_t)weft_knobs.stripe;
	char used[WEFT_RAILS * 64];
	size_t len;

	if (wanted < 2 || !vci->net)
		return;
	len = (size_t)snprintf(used, sizeof(used), "%s", vci->net->plan.domain);
	while (rails->n + 1u < wanted) {
		struct weft_net *net =
			rail_open_one(vci, used, (uint8_t)(rails->n + 1));

		if (!net)
			break;
		rails->nets[rails->n++] = net;
		len += (size_t)snprintf(used + len, sizeof(used) - len, ",%s",
			net->plan.domain);
	}
	if (rails->n + 1u < wanted)
		weft_log_warn("CORE-RAILS",
			"WEFT_STRIPE is %u, but there is no device beside %s; "
			"long messages use %u of %s",
			wanted, used, rails->n + 1u, vci->net->plan.provider);
	else
		weft_log_info("CORE-RAILS",
			"messages of %lld B and more use %u of %s: %s",
			(long long)weft_knobs.stripe_min, rails->n + 1u,
			vci->net->plan.provider, used);
}

void weft_rail_describe(struct weft_vci *vci, struct weft_bc *bc)
{
	uint8_t *at = bc->name + bc->name_len;

	for (uint8_t i = 0; i < vci->rails.n; i++) {
		size_t len = sizeof(bc->name) - (size_t)(at - bc->name);

		if (weft_net_name(vci->rails.nets[i], at, &len) ||
			len != bc->name_len)
			break;
		at += len;
		bc->n_rails++;
	}
	if (bc->n_rails == vci->rails.n)
		return;
	weft_log_warn("CORE-RAILS",
		"the addresses of %u of the devices of WEFT_STRIPE are not of "
		"the first one's kind; done without them (WEFT_IFACE)",
		vci->rails.n - bc->n_rails);
	while (vci->rails.n > bc->n_rails)
		weft_net_close(vci->rails.nets[--vci->rails.n]);
}

int weft_rail_connect(struct weft_peer *peer, const struct weft_bc *bc)
{
	const struct weft_rails *rails = &peer->vci->rails;
	uint32_t n = weft_min(bc->n_rails, (uint32_t)rails->n);

	if (!n)
		return 0;
	peer->rail_addrs = calloc(n, sizeof(*peer->rail_addrs));
	if (!peer->rail_addrs)
		return WEFT_ERR_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		int err = weft_net_peer_add(rails->nets[i],
			bc->name + (i + 1) * bc->name_len, bc->name_len,
			&peer->rail_addrs[i]);

		if (err)
			return err;
	}
	peer->n_rails = (uint8_t)n;
	return 0;
}

int weft_rail_poll(struct weft_vci *vci)
{
	int n = 0;

	for (uint8_t i = 0; i < vci->rails.n; i++)
		n += weft_net_poll(vci->rails.nets[i]);
	return n;
}

void weft_rail_close(struct weft_vci *vci)
{
	while (vci->rails.n)
		weft_net_close(vci->rails.nets[--vci->rails.n]);
}
