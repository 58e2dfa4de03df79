/* SPDX-License-Identifier: BSD-3-Clause */
/* lost: a peer died; whatever waits for it ends with an error
 *
 * Who may still hold a request that the dead peer was to complete:
 *  - its queue of pending sends: core's flush gives each to its push, which
 *    sees the state and gives up;
 *  - an announced send or a matched rendezvous: found among all requests;
 *  - a receive posted for exactly that rank: likewise;
 *  - the fabric: ends sends and tagged pieces with an error completion or, for
 *    receives, when we take them back. Until then it may look at the data, so
 *    the request is not over; but see pieces.c for those it forgets.
 *  - a send asked back: the answer will not come.
 * A receive from any source goes on waiting: somebody else may send.  One
 * posted later for the dead ends at once, and so does a probe. */
#include "p2p/p2p_priv.h"

#include "net/net.h"

/* True if the receive can only be served by this peer. */
static bool waits_for(struct weft_req *req, struct weft_peer *peer)
{
	if (!req->is_posted || req->src < 0)
		return false;
	return weft_group_proc(req->comm->remote, (uint32_t)req->src) ==
	       peer->proc;
}

static void lose(struct weft_req *req, struct weft_peer *peer)
{
	if (req->kind == WEFT_REQ_RECV && waits_for(req, peer)) {
		weft_match_withdraw(&req->comm->match, req);
		weft_p2p_finish(req, peer->err);
		return;
	}
	if (req->kind == WEFT_REQ_RECV && req->comm->nic &&
		weft_nic_lose(req, peer))
		return;
	if (req->is_posted || req->peer != peer)
		return;
	if (weft_cancel_give_up(req))
		return;
	if (req->is_unanswered) {
		weft_pieces_answer(req, peer->err);
		return;
	}
	if (req->n_parts > 0 || req->in_fabric) /* the fabric tells */
		return;
	weft_list_remove(&req->out.link); /* of those that wait for a slot */
	if (req->kind == WEFT_REQ_SEND)
		weft_send_finish(req, peer->err);
	else
		weft_p2p_finish(req, peer->err);
}

void weft_lost_peer(struct weft_peer *peer)
{
	struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(peer->lane, &pos)) != NULL) {
		if (req->refs == 0 || req->is_done)
			continue;
		if (req->kind == WEFT_REQ_SEND || req->kind == WEFT_REQ_RECV)
			lose(req, peer);
	}
	weft_pieces_lose(peer);
}

int weft_lost_source(struct weft_comm *comm, int32_t rank)
{
	struct weft_peer *peer;

	if (weft_likely(!comm->lane->n_dead) || rank < 0)
		return 0;
	peer = weft_comm_peer(comm, (uint32_t)rank);
	return peer && peer->state == WEFT_PEER_DEAD ? peer->err : 0;
}

void weft_lost_check(struct weft_req *req)
{
	int err = weft_lost_source(req->comm, req->src);

	if (!err)
		return;
	weft_match_withdraw(&req->comm->match, req);
	weft_p2p_finish(req, err);
}
