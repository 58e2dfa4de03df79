/* SPDX-License-Identifier: BSD-3-Clause */
/* ep_exchange: the VCIs of a new communicator's members find each other
 *
 * A communicator matches on one VCI in each of its processes. It is on the
 * default one everywhere, unless rank 0 made it in a session with a VCI of its
 * own: then the members swap how those VCIs are reached, in a round on the
 * default VCI, and all come to the same conclusion: on their own VCIs if
 * every member has one and all run on the same kind of fabric, else on the
 * default one. */
#ifndef WEFT_EP_EXCHANGE_H
#define WEFT_EP_EXCHANGE_H

#include "transport/vci.h"
#include "comm/agree.h"
#include "core/session_data.h"

struct weft_ep_exchange {
	bool is_done; /* the round is over; err in agree.err */
	/* below: only ep_exchange.c */
	struct weft_agree agree;
	struct weft_vci *vci; /* this process's */
	struct weft_vci_card mine;
	struct weft_comm *comm; /* for the round alone */
	bool is_given_up;
};

/* Starts the round on a communicator with a context id of its own. The session
 * may be NULL: then this process has no VCI to offer. Default VCI's lock
 * held, here and below. */
int weft_ep_exchange_start(struct weft_session *session,
	struct weft_group *group, uint64_t ctx, const char *tag,
	struct weft_ep_exchange **exchange_out);

/* The communicator of the round, for reports. */
struct weft_comm *weft_ep_exchange_comm(struct weft_ep_exchange *exchange);

/* Once done: the VCI that the communicator shall be on, or the default one,
 * and where the members are reached on it (to be freed; NULL for the default
 * VCI). Frees meet. The lock of the default VCI is given up for a moment when
 * the VCI is another. */
int weft_ep_exchange_end(struct weft_ep_exchange *exchange,
	struct weft_vci **vci_out, uint8_t **vcis_out);

/* Where the members of a group, who gave these cards, by rank, are reached on
 * the VCI (to be freed), or NULL where that cannot be: not all have one, of the
 * same fabric, in one job. The answer is the same for all who have the same
 * cards. No lock held. */
int weft_ep_exchange_meet(struct weft_vci *vci, const struct weft_group *group,
	const struct weft_vci_card *bcs, uint8_t **vcis_out);

/* Nobody waits for it any more; it is freed when it is done. */
void weft_ep_exchange_give_up(struct weft_ep_exchange *exchange);

#endif
