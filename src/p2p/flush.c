/* SPDX-License-Identifier: BSD-3-Clause */
/* flush: confirmation that all messages sent on a communicator have arrived */
#include "p2p/p2p_priv.h"

void weft_flush_on_ping(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_head answer = { .op = WEFT_WIRE_PONG };
	struct weft_wire_fin fin;

	(void)head;
	if (!weft_wire_get_fin(&fin, payload, len)) {
		weft_dispatch_drop(vci, "malformed ping");
		return;
	}
	weft_peer_control(peer, &answer, &fin, sizeof(fin));
}

void weft_flush_on_pong(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_p2p_peer *p = weft_p2p_peer_of(peer);
	struct weft_wire_fin fin;

	(void)head;
	if (!weft_wire_get_fin(&fin, payload, len) || fin.req > p->n_net_sent) {
		weft_dispatch_drop(vci, "malformed answer to a ping");
		return;
	}
	if (fin.req > p->n_net_known)
		p->n_net_known = fin.req;
}

bool weft_flush_is_answered(struct weft_peer *peer)
{
	const struct weft_p2p_peer *p = weft_p2p_peer_of(peer);

	return p->n_net_known >= p->n_net_asked;
}

/* True if the peer has confirmed all messages that were sent to it over the
 * fabric, or has failed. Otherwise sends a PING, if none was sent after the
 * last message. */
static bool is_peer_flushed(struct weft_peer *peer)
{
	struct weft_p2p_peer *p = weft_p2p_peer_of(peer);
	struct weft_wire_head head = { .op = WEFT_WIRE_PING };
	struct weft_wire_fin fin = { .req = p->n_net_sent };

	if (p->n_net_known == p->n_net_sent || peer->state == WEFT_PEER_FAILED)
		return true;
	if (p->n_net_asked != p->n_net_sent) {
		p->n_net_asked = p->n_net_sent;
		weft_peer_control(peer, &head, &fin, sizeof(fin));
	}
	return false;
}

bool weft_p2p_is_flushed_locked(struct weft_comm *comm)
{
	uint32_t size = (uint32_t)comm->remote_size;
	bool is_flushed = comm->p2p.n_sends == 0;

	if (!comm->vci->net)
		return is_flushed;
	for (uint32_t at = 0; at < size; at += WEFT_COMM_PEERS) {
		struct weft_peer **chunk = comm->peers[at / WEFT_COMM_PEERS];
		uint32_t n = weft_min(size - at, (uint32_t)WEFT_COMM_PEERS);

		for (uint32_t i = 0; chunk && i < n; i++)
			if (chunk[i] && !is_peer_flushed(chunk[i]))
				is_flushed = false;
	}
	return is_flushed;
}
