/* SPDX-License-Identifier: BSD-3-Clause */
/* revoke_send: sends REVOKE
 *
 * A member sends REVOKE to its neighbours (relay.c), and forwards the first
 * REVOKE that it receives. relay.c states when all living members receive it.
 *
 * A member also sends REVOKE before each message that reports the revocation:
 * an error of a collective, a refusal, its departure. So a process has received
 * REVOKE before one of its calls returns WEFT_ERR_REVOKED. */
#include "p2p/p2p_priv.h"

#include "transport/foreign.h"

#include <string.h>

void weft_revoke_post(struct weft_peer *peer, uint64_t ctx)
{
	struct weft_wire_head head = {
		.op = WEFT_WIRE_REVOKE,
		.ctx = ctx + WEFT_CTX_OFFSET_CTL,
	};
	int err = 0;

	/* a process that refused the creation may not have met all members */
	if (weft_foreign_is_met(peer->proc))
		err = weft_peer_control(peer, &head, NULL, 0);
	if (err) /* a member that receives no REVOKE may wait forever */
		weft_peer_fail(peer, err);
}

static void send_revoke(const struct weft_comm *comm, struct weft_peer *peer)
{
	weft_revoke_post(peer, comm->ctx);
}

void weft_revoke_repeat(const struct weft_comm *comm, struct weft_peer *peer)
{
	if (weft_comm_is_revoked(comm))
		send_revoke(comm, peer);
}

void weft_revoke_forward(struct weft_comm *comm)
{
	weft_relay(comm, send_revoke);
}

void weft_revoke_on_failed(struct weft_comm *comm, uint64_t proc)
{
	if (weft_comm_is_revoked(comm))
		weft_relay_replace(comm, proc, send_revoke);
}

void weft_revoke_refuse(
	const struct weft_comm *comm, struct weft_peer *peer, uint64_t sreq)
{
	weft_revoke_repeat(comm, peer);
	weft_control_fin(peer, sreq, WEFT_WIRE_REVOKED);
}

int weft_comm_revoked(const struct weft_comm *comm)
{
	const struct weft_comm *whole =
		weft_comm_whole((struct weft_comm *)(uintptr_t)comm);
	const char *label = weft_comm_label(whole ? whole : comm);

	if (comm->win || comm->file) /* the label is "of window x" */
		return weft_err_set(WEFT_ERR_REVOKED, "%s is revoked",
			label + strlen("of "));
	return weft_err_set(
		WEFT_ERR_REVOKED, "communicator \"%s\" is revoked", label);
}
