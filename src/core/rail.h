/* SPDX-License-Identifier: BSD-3-Clause */
/* rail: further devices of the default lane's fabric, for long messages
 *
 * With WEFT_STRIPE above 1 the default lane opens that many endpoints, each on
 * a device of its own where there are as many (over sockets: each with
 * connections of its own), and the data of a long rendezvous is cut in as many
 * equal stretches (p2p/pieces.c). Rail 0 is the lane's net, which carries all
 * the rest; rail i of one process talks to rail i of another. Guarded by the
 * lane's lock. */
#ifndef WEFT_RAIL_H
#define WEFT_RAIL_H

#include <stdint.h>

struct weft_card;
struct weft_lane;
struct weft_net;
struct weft_peer;

enum { WEFT_RAILS = 8 }; /* at most, rail 0 included */

/* A lane's rails beside the first. */
struct weft_rails {
	struct weft_net *nets[WEFT_RAILS - 1];
	uint8_t n;	  /* of them open */
	uint64_t n_users; /* messages under way on them: they are polled */
};

/* Opens what WEFT_STRIPE asks for beside the lane's net. What does not open is
 * told in a warning and done without. */
void weft_rail_open(struct weft_lane *lane);

/* Their names, behind that of the lane's net. Those that do not fit in are
 * closed: both sides must count alike. */
void weft_rail_describe(struct weft_lane *lane, struct weft_card *card);

/* Finds those that both have. The peer's net_addr is known. 0 or an error,
 * after which the peer cannot be used: it would count on them. */
int weft_rail_meet(struct weft_peer *peer, const struct weft_card *card);

/* Returns how many events there were. */
int weft_rail_poll(struct weft_lane *lane);

void weft_rail_close(struct weft_lane *lane);

#endif
