/* SPDX-License-Identifier: BSD-3-Clause */
/* rail: open, swap names, poll, close */
#include "core/rail.h"

#include "base/knob.h"
#include "base/log.h"
#include "core/card.h"
#include "core/lane.h"
#include "core/proc.h"
#include "net/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct weft_net *rail_open_one(
	struct weft_lane *lane, const char *used, uint8_t number)
{
	struct weft_net_hints hints;
	struct weft_net *net = NULL;

	weft_proc_net_hints(&hints);
	hints.provider = lane->net->plan.provider;
	hints.fabric = lane->net->plan.fabric;
	hints.used = used;
	hints.rail = number;
	return weft_net_open(&hints, weft_dispatch_net, lane, &net) ? NULL
								    : net;
}

void weft_rail_open(struct weft_lane *lane)
{
	struct weft_rails *rails = &lane->rails;
	uint32_t wanted = (uint32_t)weft_knobs.stripe;
	char used[WEFT_RAILS * 64];
	size_t len;

	if (wanted < 2 || !lane->net)
		return;
	len = (size_t)snprintf(
		used, sizeof(used), "%s", lane->net->plan.domain);
	while (rails->n + 1u < wanted) {
		struct weft_net *net =
			rail_open_one(lane, used, (uint8_t)(rails->n + 1));

		if (!net)
			break;
		rails->nets[rails->n++] = net;
		len += (size_t)snprintf(used + len, sizeof(used) - len, ",%s",
			net->plan.domain);
	}
	if (rails->n + 1u < wanted)
		weft_log_warn("CORE-RAILS",
			"WEFT_STRIPE is %u, but there is nothing beside %s to "
			"open; long messages go through %u of %s",
			wanted, used, rails->n + 1u, lane->net->plan.provider);
	else
		weft_log_info("CORE-RAILS",
			"messages of %lld B and more go through %u of %s: %s",
			(long long)weft_knobs.stripe_min, rails->n + 1u,
			lane->net->plan.provider, used);
}

void weft_rail_describe(struct weft_lane *lane, struct weft_card *card)
{
	uint8_t *at = card->name + card->name_len;

	for (uint8_t i = 0; i < lane->rails.n; i++) {
		size_t len = sizeof(card->name) - (size_t)(at - card->name);

		if (weft_net_name(lane->rails.nets[i], at, &len) ||
			len != card->name_len)
			break;
		at += len;
		card->n_rails++;
	}
	if (card->n_rails == lane->rails.n)
		return;
	weft_log_warn("CORE-RAILS",
		"the addresses of %u of the devices of WEFT_STRIPE are not of "
		"the first one's kind; done without them (WEFT_IFACE)",
		lane->rails.n - card->n_rails);
	while (lane->rails.n > card->n_rails)
		weft_net_close(lane->rails.nets[--lane->rails.n]);
}

int weft_rail_meet(struct weft_peer *peer, const struct weft_card *card)
{
	const struct weft_rails *rails = &peer->lane->rails;
	uint32_t n = weft_min(card->n_rails, (uint32_t)rails->n);

	if (!n)
		return 0;
	peer->rail_addrs = calloc(n, sizeof(*peer->rail_addrs));
	if (!peer->rail_addrs)
		return WEFT_ERR_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		int err = weft_net_peer_add(rails->nets[i],
			card->name + (i + 1) * card->name_len, card->name_len,
			&peer->rail_addrs[i]);

		if (err)
			return err;
	}
	peer->n_rails = (uint8_t)n;
	return 0;
}

int weft_rail_poll(struct weft_lane *lane)
{
	int n = 0;

	for (uint8_t i = 0; i < lane->rails.n; i++)
		n += weft_net_poll(lane->rails.nets[i]);
	return n;
}

void weft_rail_close(struct weft_lane *lane)
{
	while (lane->rails.n)
		weft_net_close(lane->rails.nets[--lane->rails.n]);
}
