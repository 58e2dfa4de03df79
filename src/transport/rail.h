/* SPDX-License-Identifier: BSD-3-Clause */
/* rail: further devices of the default VCI's fabric, for long messages
 *
 * If WEFT_STRIPE is above 1, the default VCI opens that many endpoints (rails).
 * Each rail uses a different device if the node has enough devices. Over
 * sockets, each rail has its own connections. The data of a long rendezvous is
 * divided equally among the rails (p2p/rndv_seg.c). Rail 0 is the VCI's net,
 * which carries all other messages. Rail i of a process sends to rail i of the
 * other process. Guarded by the VCI's lock. */
#ifndef WEFT_RAIL_H
#define WEFT_RAIL_H

#include <stdint.h>

struct weft_bc;
struct weft_vci;
struct weft_net;
struct weft_peer;

enum { WEFT_RAILS = 8 }; /* most rails, rail 0 included */

/* The rails of a VCI in addition to its net. */
struct weft_rails {
	struct weft_net *nets[WEFT_RAILS - 1];
	uint8_t n;	  /* open rails in nets */
	uint64_t n_users; /* messages in flight on these rails; the rails are
			     polled while it is not 0 */
};

/* Opens the rails of WEFT_STRIPE in addition to the VCI's net. If a rail cannot
 * be opened, the call warns and continues without it. */
void weft_rail_open(struct weft_vci *vci);

/* Appends the names of the rails to the name of the VCI's net in the card.
 * Closes the rails whose names do not fit, because both processes must use the
 * same number of rails. */
void weft_rail_describe(struct weft_vci *vci, struct weft_bc *bc);

/* Adds the peer's addresses on the rails that both processes have. The peer's
 * net_addr is known. After an error the peer must not be used, because the peer
 * would send on these rails. */
int weft_rail_connect(struct weft_peer *peer, const struct weft_bc *bc);

/* Polls the rails; returns the number of events. */
int weft_rail_poll(struct weft_vci *vci);

/* Closes the rails. Called when the VCI closes, before its net. */
void weft_rail_close(struct weft_vci *vci);

#endif
