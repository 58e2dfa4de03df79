/* SPDX-License-Identifier: BSD-3-Clause */
/* ep_exchange: exchanges the VCIs of a new communicator's members
 *
 * A communicator matches on one VCI in each of its processes. That is the
 * default VCI everywhere, unless rank 0 creates it in a session with a
 * dedicated VCI. Then the members exchange the cards of their dedicated VCIs in
 * a round on the default VCI. All reach the same decision: the dedicated VCIs
 * if every member has one on the same kind of fabric, else the default one. */
#ifndef WEFT_EP_EXCHANGE_H
#define WEFT_EP_EXCHANGE_H

#include "transport/vci.h"
#include "comm/agree.h"
#include "core/session_data.h"

struct weft_ep_exchange {
	bool is_done; /* the round is over; its result is agree.err */
	/* below: only ep_exchange.c */
	struct weft_agree agree;
	struct weft_vci *vci; /* this process's */
	struct weft_vci_card mine;
	struct weft_comm *comm; /* for this round only */
	bool is_abandoned;
};

/* Starts the round on a communicator with a context id of its own. The session
 * may be NULL: then this process offers no dedicated VCI. Default VCI's lock
 * held, here and below. */
int weft_ep_exchange_start(struct weft_session *session,
	struct weft_group *group, uint64_t ctx, const char *tag,
	struct weft_ep_exchange **exchange_out);

/* The communicator of the round, for reports. */
struct weft_comm *weft_ep_exchange_comm(struct weft_ep_exchange *exchange);

/* Once done: returns the VCI that the communicator will use, and the VCI
 * numbers of its members (to be freed; NULL for the default VCI). Frees
 * exchange. Releases the default VCI's lock for a moment when it returns
 * another VCI. */
int weft_ep_exchange_end(struct weft_ep_exchange *exchange,
	struct weft_vci **vci_out, uint8_t **vcis_out);

/* The VCI numbers of a group's members that published these cards, by rank (to
 * be freed). NULL if they cannot use them: some have none, or the fabrics or
 * jobs differ. Processes with the same cards get the same answer. No lock held.
 */
int weft_ep_exchange_resolve(struct weft_vci *vci,
	const struct weft_group *group, const struct weft_vci_card *bcs,
	uint8_t **vcis_out);

/* Abandons it; it is freed when it is done. */
void weft_ep_exchange_abandon(struct weft_ep_exchange *exchange);

#endif
