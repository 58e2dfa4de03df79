/* SPDX-License-Identifier: BSD-3-Clause */
/* rail: further devices of the default VCI's fabric, for long messages
 *
 * With WEFT_STRIPE above 1 the default VCI opens that many endpoints, each on a
 * device of its own if there are as many (over sockets: each with connections
 * of its own). The data of a long rendezvous is cut into as many equal
 * stretches (p2p/rndv_seg.c). Rail 0 is the VCI's net, which carries all other
 * messages; rail i of one process sends to rail i of another. Guarded by the
 * VCI's lock. */
#ifndef WEFT_RAIL_H
#define WEFT_RAIL_H

#include <stdint.h>

struct weft_bc;
struct weft_vci;
struct weft_net;
struct weft_peer;

enum { WEFT_RAILS = 8 }; /* at most, rail 0 included */

/* The rails of a VCI in addition to its net. */
struct weft_rails {
	struct weft_net *nets[WEFT_RAILS - 1];
	uint8_t n;	  /* of them open */
	uint64_t n_users; /* messages in flight on them; above 0 they are
			     polled */
};

/* Opens the rails of WEFT_STRIPE in addition to the VCI's net. A rail that does
 * not open causes a warning and is left out. */
void weft_rail_open(struct weft_vci *vci);

/* Appends their names to that of the VCI's net. Rails whose names do not fit
 * are closed, because both sides must use the same number. */
void weft_rail_describe(struct weft_vci *vci, struct weft_bc *bc);

/* Adds the peer's addresses on the rails that both have. Its net_addr is known.
 * 0, or an error, and the peer cannot be used, because it would send on the
 * rails. */
int weft_rail_connect(struct weft_peer *peer, const struct weft_bc *bc);

/* Polls the rails; returns the number of events. */
int weft_rail_poll(struct weft_vci *vci);

void weft_rail_close(struct weft_vci *vci);

#endif
