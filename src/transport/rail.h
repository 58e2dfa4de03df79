/* SPDX-License-Identifier: BSD-3-Clause */
/* rail: further devices of the default VCI's fabric, for long messages
 *
 * With WEFT_STRIPE above 1 the default VCI opens that many endpoints, each on
 * a device of its own where there are as many (over sockets: each with
 * connections of its own), and the data of a long rendezvous is cut in as many
 * equal stretches (p2p/rndv_seg.c). Rail 0 is the VCI's net, which carries all
 * the rest; rail i of one process talks to rail i of another. Guarded by the
 * VCI's lock. */
#ifndef WEFT_RAIL_H
#define WEFT_RAIL_H

#include <stdint.h>

struct weft_bc;
struct weft_vci;
struct weft_net;
struct weft_peer;

enum { WEFT_RAILS = 8 }; /* at most, rail 0 included */

/* A VCI's rails beside the first. */
struct weft_rails {
	struct weft_net *nets[WEFT_RAILS - 1];
	uint8_t n;	  /* of them open */
	uint64_t n_users; /* messages under way on them: they are polled */
};

/* Opens what WEFT_STRIPE asks for beside the VCI's net. What does not open is
 * told in a warning and done without. */
void weft_rail_open(struct weft_vci *vci);

/* Their names, behind that of the VCI's net. Those that do not fit in are
 * closed: both sides must count alike. */
void weft_rail_describe(struct weft_vci *vci, struct weft_bc *bc);

/* Finds those that both have. The peer's net_addr is known. 0 or an error,
 * after which the peer cannot be used: it would count on them. */
int weft_rail_connect(struct weft_peer *peer, const struct weft_bc *bc);

/* Returns how many events there were. */
int weft_rail_poll(struct weft_vci *vci);

void weft_rail_close(struct weft_vci *vci);

#endif
