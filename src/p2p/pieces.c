/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces: the data of a rendezvous through the fabric
 *
 * The receive posts a tagged receive for each piece and then asks for them; the
 * send answers with as many tagged sends. Both cut alike, and post in order.
 *
 * Of a peer that died the fabric gives back what it was to receive, when asked,
 * and mostly ends what it was sending. Some providers forget the latter
 * (ofi_rxm, whose receiver was to read the data): what is left after a while
 * ends without them. Nobody is there to read or write its memory then. */
#include "p2p/p2p_priv.h"

#include "base/clock.h"
#include "net/net.h"

#include <stdlib.h>

enum { PIECE_MAX = 1 << 30, GRACE_MS = 1000 };

/* libfabric needs a context each. */
struct piece {
	struct weft_op op;
	struct weft_link link; /* in lane->pieces */
	struct weft_req *req;  /* NULL: it ended without the fabric */
};

/* Pieces of a dead peer that the fabric has until due_ns to end. */
struct giving_up {
	struct weft_chore chore;
	struct weft_peer *peer;
	uint64_t due_ns;
};

static size_t piece_max(const struct weft_req *req)
{
	return weft_min(PIECE_MAX, req->lane->net->plan.max_msg_len);
}

static void one_done(struct weft_req *req, int err)
{
	if (err && !req->status.err)
		req->status.err = err;
	if (--req->n_parts > 0)
		return;
	if (req->kind == WEFT_REQ_SEND) {
		weft_send_finish(req, req->status.err);
		return;
	}
	if (req->staging)
		weft_unpack(req->type, req->count, req->buf, 0, req->staging,
			(size_t)req->status.len);
	weft_p2p_finish(req, req->status.err);
}

static void on_piece(struct weft_op *op, int err, size_t len)
{
	struct piece *piece = weft_container_of(op, struct piece, op);
	struct weft_req *req = piece->req;

	(void)len;
	weft_list_remove(&piece->link);
	free(piece);
	if (!req)
		return;
	if (err && req->peer->state == WEFT_PEER_DEAD)
		err = req->peer->err;
	one_done(req, err);
}

static int post(struct weft_req *req, char *at, size_t len)
{
	struct weft_net *net = req->lane->net;
	struct weft_peer *peer = req->peer;
	uint64_t tag = (req->kind == WEFT_REQ_SEND ? req->remote
						   : weft_obj_handle(req)) &
		       net->plan.tag_mask;
	struct piece *piece = malloc(sizeof(*piece));
	int err;

	if (!piece)
		return WEFT_ERR_NOMEM;
	piece->op.done = on_piece;
	piece->req = req;
	err = req->kind == WEFT_REQ_SEND ? weft_net_tsend(net, peer->net_addr,
						   at, len, tag, &piece->op)
					 : weft_net_trecv(net, peer->net_addr,
						   at, len, tag, &piece->op);
	if (err) {
		free(piece);
		return err;
	}
	weft_list_push_back(&req->lane->pieces, &piece->link);
	req->n_parts++;
	return 0;
}

/* Posts the pieces not posted yet; n_moved counts bytes posted, total is in
 * seq. */
static int push(struct weft_peer *peer, struct weft_out *out)
{
	struct weft_req *req = weft_container_of(out, struct weft_req, out);
	char *run = weft_send_run(req);
	size_t total = (size_t)req->seq;
	int err = peer->state == WEFT_PEER_DEAD ? peer->err : 0;

	while (!err && req->n_moved < total) {
		size_t len = weft_min(total - req->n_moved, piece_max(req));

		err = post(req, run + req->n_moved, len);
		if (err == WEFT_AGAIN)
			return err;
		if (!err)
			req->n_moved += len;
	}
	if (!err && req->kind == WEFT_REQ_RECV)
		err = weft_rndv_ask(req, req->remote, total);
	one_done(req, err);
	return 0;
}

/* n_parts holds one more for the posting itself, dropped by push. */
void weft_pieces_start(struct weft_req *req, size_t total)
{
	req->n_moved = 0;
	req->n_parts = 1;
	req->seq = total;
	req->out.push = push;
	if (!weft_peer_is_clear(req->peer) ||
		push(req->peer, &req->out) == WEFT_AGAIN)
		weft_peer_queue(req->peer, &req->out);
}

/* Calls fn for each piece of the peer; returns how many there were. */
static unsigned each(struct weft_peer *peer, void (*fn)(struct piece *piece))
{
	unsigned n = 0;

	weft_list_for_each(link, next, &peer->lane->pieces)
	{
		struct piece *piece =
			weft_container_of(link, struct piece, link);

		if (piece->req && piece->req->peer == peer) {
			fn(piece);
			n++;
		}
	}
	return n;
}

static void take_back(struct piece *piece)
{
	if (piece->req->kind == WEFT_REQ_RECV)
		weft_net_cancel(piece->req->lane->net, &piece->op);
}

static void abandon(struct piece *piece)
{
	struct weft_req *req = piece->req;

	piece->req = NULL;
	one_done(req, req->peer->err);
}

static void give_up(struct weft_chore *chore)
{
	struct giving_up *g = weft_container_of(chore, struct giving_up, chore);

	if (weft_now_ns() < g->due_ns)
		return;
	each(g->peer, abandon);
	weft_list_remove(&chore->link);
	free(g);
}

void weft_pieces_lose(struct weft_peer *peer)
{
	struct giving_up *g;

	if (!each(peer, take_back))
		return;
	g = malloc(sizeof(*g));
	if (!g)
		return; /* then only the fabric ends them */
	g->chore.run = give_up;
	g->peer = peer;
	g->due_ns = weft_now_ns() + GRACE_MS * (WEFT_NS_PER_S / 1000);
	weft_list_push_back(&peer->lane->chores, &g->chore.link);
}
