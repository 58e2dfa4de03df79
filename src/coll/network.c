/* SPDX-License-Identifier: BSD-3-Clause */
/* network: published parameters of networks and topologies */
#include "coll/network.h"

#include <string.h>

static const struct weft_network networks[] = {
	{ "slingshot11", { 1300, 250, 80, 0.0417 } },
	{ "hdr", { 600, 200, 70, 0.0408 } },
	{ "ndr", { 600, 200, 50, 0.0206 } },
};

/* A message of a few bytes takes 0.4 us. Then the part of an allreduce within a
 * node of 96 or 128 processes takes as long as in published figures
 * (contrib/scale.md). */
const struct weft_loggp weft_network_within = { 300, 50, 20, 0.1 };

/* fat-tree: a leaf switch of Frontera has 44 nodes with 100 Gbit/s each, and 18
 * up-links with 200 Gbit/s each (user guide of Frontera).
 * dragonfly: a group of Frontier has 32 switches with 16 interfaces each, and
 * four links of the same bandwidth to each of 73 other groups. */
static const struct weft_topology topologies[] = {
	{ "fat-tree", 44, 36 },
	{ "dragonfly", 512, 292 },
};

const struct weft_network *weft_network_find(const char *name)
{
	for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
		if (!strcmp(networks[i].name, name))
			return &networks[i];
	return NULL;
}

const struct weft_topology *weft_topology_find(const char *name)
{
	for (size_t i = 0; i < sizeof(topologies) / sizeof(topologies[0]); i++)
		if (!strcmp(topologies[i].name, name))
			return &topologies[i];
	return NULL;
}
