/* SPDX-License-Identifier: BSD-3-Clause */
/* flush: credits, confirmations, and dropping what a communicator was left with
 */
#include "p2p/nic_match.h"
#include "p2p/p2p_priv.h"
#include "watchdog/query.h"
#include "watchdog/request.h"

#include <stdlib.h>

void weft_flush_return_credit(struct weft_peer *peer)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_CREDIT };

	/* Where something waits already, it will take what is owed along. */
	if (weft_list_is_empty(&peer->pending))
		weft_peer_control(peer, &head, NULL, 0);
}

static void flush_on_credit(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	/* dispatch has taken the credit of the head */
	(void)vci;
	(void)peer;
	(void)head;
	(void)payload;
	(void)len;
}

static void flush_on_ping(struct weft_vci *vci, struct weft_peer *peer,
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

static void flush_on_pong(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_fin fin;

	(void)head;
	if (!weft_wire_get_fin(&fin, payload, len) ||
		fin.req > peer->n_net_sent) {
		weft_dispatch_drop(vci, "malformed answer to a ping");
		return;
	}
	if (fin.req > peer->n_net_known)
		peer->n_net_known = fin.req;
}

/* Everything sent to this peer over the fabric is known to have arrived. */
static bool is_peer_flushed(struct weft_peer *peer)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_PING };
	struct weft_wire_fin fin = { .req = peer->n_net_sent };

	if (peer->n_net_known == peer->n_net_sent ||
		peer->state == WEFT_PEER_FAILED)
		return true;
	if (peer->n_net_asked != peer->n_net_sent) {
		peer->n_net_asked = peer->n_net_sent;
		weft_peer_control(peer, &head, &fin, sizeof(fin));
	}
	return false;
}

bool weft_p2p_is_flushed_locked(struct weft_comm *comm)
{
	uint32_t size = (uint32_t)comm->remote_size;
	bool is_flushed = comm->n_sends == 0;

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

static struct weft_link *first_receive(struct weft_match *match)
{
	if (!weft_list_is_empty(&match->wild))
		return match->wild.next;
	for (int i = 0; match->posted && i < WEFT_MATCH_BINS; i++)
		if (!weft_list_is_empty(&match->posted[i]))
			return match->posted[i].next;
	return NULL;
}

void weft_p2p_purge_locked(struct weft_comm *comm)
{
	struct weft_match *match = &comm->match;
	struct weft_link *link;

	weft_unmatched_purge(comm);
	if (comm->nic)
		weft_nic_purge(comm);
	while (!weft_list_is_empty(&match->arrived)) {
		struct weft_message *m = weft_container_of(
			match->arrived.next, struct weft_message, arrived);

		weft_match_take(match, m);
		if (!m->is_rts)
			weft_p2p_owe(m->peer, m->len);
		weft_message_free(m);
	}
	while ((link = first_receive(match)) != NULL) {
		struct weft_req *req =
			weft_container_of(link, struct weft_req, link);

		weft_match_withdraw(match, req);
		weft_p2p_finish(
			req, comm->failed ? weft_comm_failed(comm)
					  : weft_err_set(WEFT_ERR_COMM,
						    "the communicator of this "
						    "receive was closed"));
	}
}

/* Does another process's message still wait here for its receive? */
static enum weft_wire_met has_received(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t asker,
	uint32_t *owner_out)
{
	uint64_t ctx_offset = query->what % WEFT_CTX_OFFSET_END;
	const struct weft_comm *comm =
		weft_map_get(&vci->comms, query->what - ctx_offset);

	(void)owner_out;
	if (comm && !weft_p2p_has_come_locked(comm,
			    (enum weft_ctx_offset)ctx_offset,
			    weft_group_rank_of(comm->remote, asker),
			    (int32_t)query->round))
		return WEFT_WIRE_MET;
	return WEFT_WIRE_UNMET;
}

void weft_p2p_open(struct weft_vci *vci)
{
	static weft_wire_fn *const handlers[WEFT_WIRE_OP_END] = {
		[WEFT_WIRE_EAGER] = weft_recv_on_eager,
		[WEFT_WIRE_RTS] = weft_recv_on_rts,
		[WEFT_WIRE_CTS] = weft_rndv_on_cts,
		[WEFT_WIRE_FRAG] = weft_rndv_on_frag,
		[WEFT_WIRE_FIN] = weft_rndv_on_fin,
		[WEFT_WIRE_CREDIT] = flush_on_credit,
		[WEFT_WIRE_CANCEL] = weft_cancel_on_cancel,
		[WEFT_WIRE_CANCEL_ACK] = weft_cancel_on_ack,
		[WEFT_WIRE_PING] = flush_on_ping,
		[WEFT_WIRE_PONG] = flush_on_pong,
		[WEFT_WIRE_MATCH] = weft_nic_on_match,
		[WEFT_WIRE_COLL_ERROR] = weft_recv_on_coll_error,
		[WEFT_WIRE_DEPARTED] = weft_departed_on_departed,
	};

	for (int op = 0; op < WEFT_WIRE_OP_END; op++)
		if (handlers[op])
			weft_dispatch_set(
				vci, (enum weft_wire_op)op, handlers[op]);
	vci->on_failed = weft_failure_peer;
	weft_query_set(WEFT_WIRE_NEED_RECEIVE, has_received);
	weft_request_on_stuck(weft_cancel_stuck);
	vci->on_wait = weft_departed_on_wait;
}

int weft_p2p_control_locked(struct weft_vci *vci, uint64_t proc,
	enum weft_wire_op op, const void *payload, size_t len)
{
	struct weft_wire_head head = { .op = (uint8_t)op };
	struct weft_peer *peer = weft_peer_of(vci, proc);

	if (!peer)
		return WEFT_ERR_NOMEM;
	return weft_peer_control(peer, &head, payload, len);
}
