/* SPDX-License-Identifier: BSD-3-Clause */
/* ep_exchange: exchanges the VCIs of a new communicator's members
 *
 * In each process, a communicator matches messages on one VCI. At all members
 * this is the default VCI, unless rank 0 creates the communicator in a session
 * with a dedicated VCI. Then the members exchange the cards of their dedicated
 * VCIs in a round of comm/agree.h on the default VCI. If all members
 * belong to one job, and each has a dedicated VCI on a fabric of the same
 * provider, the communicator uses these VCIs. Otherwise it uses the default
 * VCI.
 */
#ifndef WEFT_EP_EXCHANGE_H
#define WEFT_EP_EXCHANGE_H

#include "transport/vci.h"
#include "comm/agree.h"
#include "core/session_data.h"

struct weft_ep_exchange {
	bool is_done; /* the round is complete; its result is agree.err */
	/* below: only ep_exchange.c */
	struct weft_agree agree;
	struct weft_vci *vci; /* the VCI that this process offers */
	struct weft_vci_card mine;
	struct weft_comm *comm; /* temporary communicator of this round */
	bool is_abandoned;	/* the end of the round frees the struct */
};

/* Starts the round, on a temporary communicator with this context id. If
 * session is NULL, this process offers no dedicated VCI. Default VCI's lock
 * held, here and below, except for weft_ep_exchange_resolve(). */
int weft_ep_exchange_start(struct weft_session *session,
	struct weft_group *group, uint64_t ctx, const char *tag,
	struct weft_ep_exchange **exchange_out);

/* Called instead of weft_ep_exchange_start(). Contributes an error to the
 * round, so that the round fails at all members. With WEFT_ERR_PEER, the
 * text of the error names the failed member. Returns the error. */
int weft_ep_exchange_refuse(struct weft_group *group, uint64_t ctx, int err);

/* The communicator of the round, for reports. */
struct weft_comm *weft_ep_exchange_comm(struct weft_ep_exchange *exchange);

/* Ends and frees an exchange whose is_done is set. Sets *vci_out to the VCI
 * that the communicator will use. Sets *vcis_out to the VCI numbers of the
 * members, which the caller frees (NULL for the default VCI). Releases the
 * default VCI's lock temporarily if this process offered a dedicated VCI. */
int weft_ep_exchange_end(struct weft_ep_exchange *exchange,
	struct weft_vci **vci_out, uint8_t **vcis_out);

/* Checks the cards of all members of a group, by rank. If the cards can be
 * used, creates the members' peers in vci and sets *vcis_out to the VCI numbers
 * by rank, which the caller frees. Otherwise *vcis_out is NULL: a member has no
 * dedicated VCI, or the fabrics or jobs differ. The result is the same at all
 * processes with the same cards. Without memory for a peer, returns
 * WEFT_ERR_NOMEM and sets *vcis_out, so that the caller can revoke the
 * communicator on these VCIs. No lock held. */
int weft_ep_exchange_resolve(struct weft_vci *vci,
	const struct weft_group *group, const struct weft_vci_card *bcs,
	uint8_t **vcis_out);

/* Abandons an exchange, which is freed when its round is complete. */
void weft_ep_exchange_abandon(struct weft_ep_exchange *exchange);

#endif
