/* SPDX-License-Identifier: BSD-3-Clause */
/* rndv_seg: the data of a rendezvous through the fabric
 *
 * The sender and the receiver divide the data into the same segments. The
 * receiver posts a tagged receive for each segment, and then sends CTS. The
 * sender posts a tagged send for each segment, in the same order.
 *
 * Segments are short if a side copies the data between device memory and host
 * memory, because each copy overlaps the transfer of other segments. The
 * receiver decides this, and reports it in CTS. The sender then has at most
 * STAGED_AHEAD segments for a process in host memory. All receives of short
 * segments together use at most half of the receives that the provider permits.
 * So each message can post all its receives and send CTS.
 *
 * If the transfer uses several rails (transport/rail.h), each rail carries one
 * contiguous stretch of the data. A later message on rail 0 does not imply that
 * the other rails have delivered. So the receiver sends FIN, which completes
 * the send.
 *
 * If plan.n_near_segs is not 0 (tcp), it limits the segments in flight to a
 * process of the same host. The sender posts the next segment when the receiver
 * has received one. Until then, the send is in the list rndv_waiting of the
 * VCI.
 *
 * If the provider connects again after a connection has broken (plan.resends),
 * a send of a segment completes when the receive has it. If the send fails, the
 * sender does not know whether the data has arrived. It then sends the segment
 * in fragments (FRAG), which are messages that arrive exactly once. The first
 * fragment arrives over a new connection, so no data of the failed send can
 * follow. The receiver cancels its receive of the segment, and copies the
 * fragments; or it ignores them, because it has the segment.
 *
 * If the fabric fails a segment between two live processes otherwise (a
 * transfer over several rails), the side with the error notifies the other
 * side. A receiver then cancels its posted receives.
 *
 * If the peer dies, the library cancels its receives from this peer. Most
 * providers complete the sends with an error. Some providers never complete a
 * send to a dead receiver (ofi_rxm, if the receiver should have read the data).
 * The library completes such segments itself, GRACE_MS after the failure or
 * later: only when the peer's process can no longer access their memory
 * (may_live is false). */
#include "p2p/p2p_priv.h"

#include "base/clock.h"
#include "base/knob.h"
#include "base/log.h"
#include "dev/pinned.h"
#include "net/net.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

enum {
	PAGE = 4096,
	GRACE_MS = 1000,
	FRAG_LEN = 8192,
	SHORT_MAX = 64, /* most short segments of a message */
	STAGED_AHEAD = 4,
};

/* One segment in flight; `op` is its libfabric context. */
struct piece {
	struct weft_op op;
	struct weft_link link; /* in the VCI's rndv_segs */
	struct weft_vci *vci;
	struct weft_req *req; /* NULL: completed by rndv_seg_give_up() */
	uint8_t rail;
	bool is_counted;    /* counted in n_segs of the peer */
	bool is_lost;	    /* the fabric does not use it any more: its data is
			       sent in fragments */
	bool is_withdrawn;  /* receiver: the data is not expected any more */
	bool is_shadow;	    /* `at` is in the shadow of device memory */
	char *at;	    /* the data, which the fabric reads or writes */
	void *staging;	    /* owned copy of device memory with `at`, or NULL */
	struct weft_mr *mr; /* `at` is device memory, registered; or NULL */
	size_t offset;	    /* of the segment in the data */
	size_t len;
	size_t n_moved;	     /* bytes in fragments */
	struct weft_out out; /* is_lost, sender: sends the fragments */
};

static size_t short_len(size_t total)
{
	size_t len = weft_round_up(total / SHORT_MAX + 1, PAGE);

	return weft_max(len, (size_t)WEFT_RNDV_SHORT);
}

static size_t n_short(size_t total)
{
	return total / short_len(total) + 1;
}

/* True if the data of this request is copied from or to device memory. */
static bool is_staged_here(const struct weft_req *req)
{
	return !weft_rndv_dev_is_direct(req->vci) && weft_rndv_dev_at(req, 0);
}

void weft_rndv_seg_divide(struct weft_req *req, size_t len, bool is_staged)
{
	size_t *n = &req->vci->p2p->n_short_recvs;

	req->rndv.n_rails =
		len >= (size_t)weft_knobs.stripe_min ? req->peer->n_rails : 0;
	req->rndv.is_short =
		!req->rndv.n_rails && (is_staged || is_staged_here(req)) &&
		*n + n_short(len) <= req->vci->net->plan.rx_len / 2;
	if (req->rndv.is_short)
		*n += n_short(len);
}

static struct weft_net *net_of(const struct weft_vci *vci, uint8_t rail)
{
	return rail ? vci->rails.nets[rail - 1] : vci->net;
}

/* Returns the length of the segment that begins at this offset, and sets *rail
 * to its rail. */
static size_t rndv_seg_cut(
	const struct weft_req *req, size_t offset, uint8_t *rail)
{
	size_t total = (size_t)req->rndv.total;
	size_t n = req->rndv.n_rails + 1u;
	size_t stretch = (total + n * PAGE - 1) / (n * PAGE) * PAGE;
	const struct weft_plan *plan;
	size_t end;

	*rail = (uint8_t)(offset / stretch);
	end = weft_min((*rail + 1) * stretch, total);
	if (req->rndv.is_short)
		end = weft_min(end, offset + short_len(total));
	plan = &net_of(req->vci, *rail)->plan;
	return weft_min(
		end - offset, weft_min(plan->seg_len, plan->max_msg_len));
}

static bool has_data_on_device(const struct weft_req *req)
{
	return req->kind == WEFT_REQ_SEND && req->send.mode == WEFT_SEND_DEVICE;
}

/* Returns the limit of segments in flight to the receiver of this send. 0:
 * there is no limit. */
static uint32_t segs_max(const struct weft_req *req)
{
	uint32_t n = req->vci->net->plan.n_near_segs;

	if (req->kind != WEFT_REQ_SEND || req->rndv.n_rails)
		return 0;
	if (n && weft_proc_is_local(req->peer->proc))
		return n;
	return req->rndv.is_short && has_data_on_device(req) ? STAGED_AHEAD : 0;
}

static bool rndv_seg_is_full(const struct weft_req *req)
{
	uint32_t n = segs_max(req);

	return n && weft_p2p_peer_of(req->peer)->n_segs >= n;
}

static void rndv_seg_record_err(struct weft_req *req, int err)
{
	if (err && !req->status.err)
		req->status.err = err;
}

static void rndv_seg_notify(
	struct weft_peer *peer, uint64_t remote, bool is_failed)
{
	if (peer->state != WEFT_PEER_FAILED)
		weft_control_fin(peer, remote,
			is_failed ? WEFT_WIRE_DATA_FAILED
				  : WEFT_WIRE_DELIVERED);
}

/* If a send over several rails has failed and waits only for the receiver's
 * answer, notifies the receiver that segments are lost. The receiver cancels
 * these segments and answers. The answer completes the send. */
static void notify_loss(struct weft_req *req)
{
	if (!req->rndv.is_failed || !req->rndv.is_unanswered ||
		req->rndv.n_segs > 1)
		return;
	req->rndv.is_failed = false;
	rndv_seg_notify(req->peer, req->rndv.remote, true);
}

/* Completes the request, and then notifies the other side. The order matters,
 * because sending the notice may fail the peer. */
static void rndv_seg_end(struct weft_req *req, uint64_t remote, int err)
{
	struct weft_peer *peer = req->peer;
	bool is_failed = req->rndv.is_failed;
	bool notifies =
		is_failed || (req->kind == WEFT_REQ_RECV && req->rndv.n_rails);

	rndv_seg_record_err(req, err);
	if (req->kind == WEFT_REQ_SEND)
		weft_send_finish(req, req->status.err);
	else
		weft_p2p_finish(req, req->status.err);
	if (notifies)
		rndv_seg_notify(peer, remote, is_failed);
}

/* Called when all segments of a request are complete. Copies data from a
 * staging buffer to its destination, and completes the request. */
static void over(struct weft_req *req)
{
	uint64_t remote = req->rndv.remote;
	int err = 0;

	if (req->rndv.n_rails)
		req->vci->rails.n_users--;
	if (req->kind == WEFT_REQ_RECV && req->rndv.is_short)
		req->vci->p2p->n_short_recvs -= n_short(req->rndv.total);
	if (req->kind == WEFT_REQ_RECV && weft_rndv_dev_at(req, 0))
		weft_rndv_dev_written(req);
	if (req->kind == WEFT_REQ_RECV && req->staging) {
		err = weft_rndv_copy(req, WEFT_RNDV_FROM_HERE,
			(uintptr_t)req->staging, (size_t)req->status.len,
			remote, rndv_seg_end);
		if (!err)
			return;
	}
	rndv_seg_end(req, remote, err);
}

static void one_done(struct weft_req *req, int err)
{
	rndv_seg_record_err(req, err);
	req->rndv.is_failed |= err != 0;
	if (--req->rndv.n_segs == 0)
		over(req);
	else
		notify_loss(req);
}

static void rndv_seg_resume(struct weft_vci *vci, struct weft_peer *peer);

static void rndv_seg_free(struct piece *piece)
{
	weft_list_remove(&piece->link);
	weft_pinned_free(piece->staging);
	weft_mr_put(net_of(piece->vci, piece->rail), piece->mr);
	free(piece);
}

static void piece_end(struct piece *piece, int err)
{
	struct weft_req *req = piece->req;
	struct weft_vci *vci = piece->vci;
	bool is_counted = piece->is_counted;
	struct weft_peer *peer;

	if (req && !err && piece->is_shadow)
		rndv_seg_record_err(
			req, weft_rndv_dev_write(piece->at, piece->len));
	rndv_seg_free(piece);
	if (!req)
		return;
	peer = req->peer;
	if (err && peer->state == WEFT_PEER_FAILED)
		err = peer->err;
	else if (err == WEFT_ERR_CANCELED)
		err = WEFT_ERR_PEER; /* the connection broke */
	if (err && peer->state != WEFT_PEER_FAILED && !req->status.err)
		weft_err_set(err,
			"the fabric lost data in flight between this process "
			"and process %u",
			(uint32_t)peer->proc);
	one_done(req, err);
	if (!is_counted)
		return;
	weft_p2p_peer_of(peer)->n_segs--;
	rndv_seg_resume(vci, peer);
}

/* Sends a segment in fragments, because the fabric may have lost it. */
static int push_piece(struct weft_peer *peer, struct weft_out *out)
{
	struct piece *piece = weft_container_of(out, struct piece, out);
	struct weft_req *req = piece->req;
	uint8_t buf[sizeof(struct weft_wire_frag) + FRAG_LEN];
	int err = peer->state == WEFT_PEER_FAILED ? peer->err : 0;

	while (!err && piece->n_moved < piece->len) {
		struct weft_wire_head head = { .op = WEFT_WIRE_FRAG };
		size_t offset = piece->offset + piece->n_moved;
		size_t len =
			weft_min((size_t)FRAG_LEN, piece->len - piece->n_moved);
		struct weft_wire_frag frag = { req->rndv.remote, offset };

		memcpy(buf, &frag, sizeof(frag));
		memcpy(buf + sizeof(frag), piece->at + piece->n_moved, len);
		err = weft_peer_post(peer, &head, buf, sizeof(frag) + len);
		if (err == WEFT_AGAIN)
			return err;
		piece->n_moved += len;
	}
	piece_end(piece, err);
	return 0;
}

/* True if a segment that failed with this error will be moved in fragments. */
static bool is_sent_again(const struct piece *piece, int err)
{
	const struct weft_req *req = piece->req;

	return req && (err == WEFT_ERR_PEER || err == WEFT_ERR_CANCELED) &&
	       piece->vci->net->plan.resends && !req->rndv.n_rails &&
	       req->peer->state == WEFT_PEER_READY && !piece->is_withdrawn;
}

static void on_piece(struct weft_op *op, int err, size_t len)
{
	struct piece *piece = weft_container_of(op, struct piece, op);
	struct weft_req *req = piece->req;
	struct weft_net *net = net_of(piece->vci, piece->rail);

	if (req && !err && req->kind == WEFT_REQ_RECV) {
		net->counters.net_received++;
		net->counters.net_received_bytes += len;
	}
	if (weft_likely(!err) || !is_sent_again(piece, err)) {
		piece_end(piece, err);
		return;
	}
	piece->is_lost = true;
	if (req->kind == WEFT_REQ_SEND) {
		weft_log_info("P2P-FRAGMENTS",
			"the connection to process %u broke: %zu bytes of a "
			"message are sent again",
			(uint32_t)req->peer->proc, piece->len);
		piece->out.push = push_piece;
		weft_peer_queue(req->peer, &piece->out);
		weft_resend_broken(req->peer);
	} else if (piece->n_moved == piece->len) {
		piece_end(piece, 0);
	}
}

static struct piece *piece_find(
	struct weft_peer *peer, const struct weft_wire_frag *frag, size_t len)
{
	weft_list_for_each(link, next, &peer->vci->p2p->rndv_segs)
	{
		struct piece *piece =
			weft_container_of(link, struct piece, link);
		const struct weft_req *req = piece->req;

		if (req && req->kind == WEFT_REQ_RECV && req->peer == peer &&
			weft_obj_handle(req) == frag->rreq &&
			frag->offset == piece->offset + piece->n_moved &&
			len <= piece->len - piece->n_moved)
			return piece;
	}
	return NULL;
}

void weft_rndv_seg_on_frag(struct weft_peer *peer,
	const struct weft_wire_frag *frag, const void *data, size_t len)
{
	struct piece *piece = piece_find(peer, frag, len);

	if (!piece || !peer->vci->net->plan.resends || !len ||
		piece->req->rndv.n_rails)
		return; /* the segment has arrived before */
	if (!piece->is_lost && !piece->n_moved)
		weft_net_cancel(peer->vci->net, &piece->op);
	memcpy(piece->at + piece->n_moved, data, len);
	piece->n_moved += len;
	if (piece->is_lost && piece->n_moved == piece->len)
		piece_end(piece, 0);
}

static struct piece *rndv_seg_new(struct weft_req *req)
{
	struct piece *piece = calloc(1, sizeof(*piece));

	if (!piece)
		return NULL;
	piece->op.done = on_piece;
	piece->vci = req->vci;
	piece->req = req;
	weft_list_push_back(&req->vci->p2p->rndv_segs, &piece->link);
	return piece;
}

static int post_piece(struct piece *piece)
{
	struct weft_req *req = piece->req;
	struct weft_peer *peer = req->peer;
	struct weft_net *net = net_of(piece->vci, piece->rail);
	uint64_t addr = piece->rail ? peer->rail_addrs[piece->rail - 1]
				    : peer->net_addr;
	uint64_t mask = net->plan.tag_mask;
	bool is_near = piece->is_counted && net->plan.n_near_segs;

	if (req->kind == WEFT_REQ_SEND && (net->plan.resends || is_near))
		return weft_net_tsend_delivered(net, addr, piece->at,
			piece->len, piece->mr, req->rndv.remote & mask,
			&piece->op);
	if (req->kind == WEFT_REQ_SEND)
		return weft_net_tsend(net, addr, piece->at, piece->len,
			piece->mr, req->rndv.remote & mask, &piece->op);
	return weft_net_trecv(net, addr, piece->at, piece->len, piece->mr,
		weft_obj_handle(req) & mask, &piece->op);
}

/* Finds the data of a segment. If the fabric cannot read device memory, the
 * data is copied to req->staging, which the segment owns once it is posted. 0
 * or an error. */
static int rndv_seg_data(struct piece *piece)
{
	struct weft_req *req = piece->req;
	struct weft_net *net = net_of(piece->vci, piece->rail);
	char *dev = weft_rndv_dev_at(req, piece->offset);
	int err = 0;

	/* req->staging: the segment was copied, but could not be posted */
	if (dev && !req->staging &&
		weft_rndv_dev_register(
			piece->vci, net, dev, piece->len, &piece->mr)) {
		piece->at = dev;
	} else if (has_data_on_device(req)) {
		err = weft_rndv_dev_stage(req, piece->offset, piece->len);
		piece->at = req->staging;
	} else {
		piece->at = (char *)weft_send_run(req) + piece->offset;
		piece->is_shadow = dev != NULL;
	}
	return err;
}

/* Posts the next segment, which begins at rndv.n_moved. 0, WEFT_AGAIN or an
 * error. */
static int rndv_seg_post(struct weft_req *req)
{
	struct piece *piece = rndv_seg_new(req);
	int err;

	if (!piece)
		return WEFT_ERR_NOMEM;
	piece->offset = req->rndv.n_moved;
	piece->len = rndv_seg_cut(req, piece->offset, &piece->rail);
	piece->is_counted = segs_max(req) != 0;
	err = rndv_seg_data(piece);
	if (!err)
		err = post_piece(piece);
	if (err) {
		rndv_seg_free(piece);
		return err;
	}
	if (has_data_on_device(req) && !piece->mr) {
		piece->staging = req->staging;
		req->staging = NULL;
	}
	req->rndv.n_segs++;
	if (piece->is_counted)
		weft_p2p_peer_of(req->peer)->n_segs++;
	req->rndv.n_moved += piece->len;
	return 0;
}

bool weft_rndv_seg_answer(struct weft_req *req, int err)
{
	rndv_seg_record_err(req, err);
	if (!req->rndv.is_unanswered)
		return false;
	req->rndv.is_unanswered = false;
	one_done(req, 0);
	return true;
}

/* Cancels the posted receives of a request. A receive whose data is arriving
 * completes normally. */
static void rndv_seg_take_back(struct weft_req *req)
{
	weft_list_for_each(link, next, &req->vci->p2p->rndv_segs)
	{
		struct piece *piece =
			weft_container_of(link, struct piece, link);

		if (piece->req != req)
			continue;
		piece->is_withdrawn = true;
		if (piece->is_lost)
			piece_end(piece, WEFT_ERR_CANCELED);
		else
			weft_net_cancel(
				net_of(piece->vci, piece->rail), &piece->op);
	}
}

void weft_rndv_seg_withdraw(struct weft_req *req, int err)
{
	rndv_seg_record_err(req, err);
	req->rndv.n_segs++; /* the request must not complete in the loop */
	rndv_seg_take_back(req);
	one_done(req, 0);
}

/* Posts the remaining segments; rndv.n_moved counts the posted bytes. Returns
 * WEFT_AGAIN if the fabric accepts no more. A receive sends CTS when all its
 * segments are posted. */
static int rndv_seg_push(struct weft_peer *peer, struct weft_out *out)
{
	struct weft_req *req = weft_container_of(out, struct weft_req, out);
	size_t total = (size_t)req->rndv.total;
	int err = peer->state == WEFT_PEER_FAILED ? peer->err : 0;

	while (!err && req->rndv.n_moved < total) {
		if (rndv_seg_is_full(req)) {
			weft_list_push_back(
				&req->vci->p2p->rndv_waiting, &req->link);
			return 0;
		}
		err = rndv_seg_post(req);
		if (err == WEFT_AGAIN)
			return err;
	}
	if (!err && req->kind == WEFT_REQ_RECV)
		err = weft_control_cts(req, req->rndv.remote, total);
	if (err && req->kind == WEFT_REQ_RECV)
		rndv_seg_take_back(req);
	if (!err && req->kind == WEFT_REQ_SEND && req->rndv.n_rails) {
		/* n_segs still counts the FIN of the receiver */
		req->rndv.is_unanswered = true;
		notify_loss(req);
		return 0;
	}
	one_done(req, err);
	return 0;
}

static void post_or_queue(struct weft_req *req)
{
	if (!weft_peer_is_clear(req->peer) ||
		rndv_seg_push(req->peer, &req->out) == WEFT_AGAIN)
		weft_peer_queue(req->peer, &req->out);
}

static struct weft_req *first_waiting(
	struct weft_vci *vci, const struct weft_peer *peer)
{
	weft_list_for_each(link, next, &vci->p2p->rndv_waiting)
	{
		struct weft_req *req =
			weft_container_of(link, struct weft_req, link);

		if (req->peer == peer)
			return req;
	}
	return NULL;
}

/* Continues the sends that wait for this peer, while the limit of segments in
 * flight allows it. A failed send, or a send to a failed peer, posts no more
 * segments. */
static void rndv_seg_resume(struct weft_vci *vci, struct weft_peer *peer)
{
	struct weft_req *req;

	while ((req = first_waiting(vci, peer)) != NULL &&
		(peer->state == WEFT_PEER_FAILED || !rndv_seg_is_full(req))) {
		weft_list_remove(&req->link);
		if (peer->state == WEFT_PEER_FAILED || req->rndv.is_failed)
			one_done(req, peer->err);
		else
			post_or_queue(req);
	}
}

/* While segments are being posted, n_segs includes one for the posting itself,
 * so that the request cannot complete. rndv_seg_push() removes this count, or
 * keeps it for the receiver's answer. */
void weft_rndv_seg_start(struct weft_req *req, size_t total)
{
	req->rndv.n_moved = 0;
	req->rndv.n_segs = 1;
	req->rndv.is_failed = false;
	req->rndv.total = total;
	req->out.push = rndv_seg_push;
	if (req->rndv.n_rails)
		req->vci->rails.n_users++;
	post_or_queue(req);
}

static bool is_of_failed(const struct piece *piece)
{
	return piece->req && piece->req->peer->state == WEFT_PEER_FAILED &&
	       !piece->is_lost;
}

static void abandon(struct piece *piece)
{
	struct weft_req *req = piece->req;

	piece->req = NULL;
	one_done(req, req->peer->err);
}

/* Completes the segments of failed peers after the deadline, as soon as the
 * peer's process cannot access their memory any more (may_live is false). */
static void rndv_seg_give_up(struct weft_progress_hook *hook)
{
	struct weft_vci_p2p *p2p =
		weft_container_of(hook, struct weft_vci_p2p, give_up);
	bool is_due = weft_now_ns() >= p2p->give_up_ns;
	bool is_left = false;

	weft_list_for_each(link, next, &p2p->rndv_segs)
	{
		struct piece *piece =
			weft_container_of(link, struct piece, link);

		if (!is_of_failed(piece))
			continue;
		if (is_due && !piece->req->peer->may_live)
			abandon(piece);
		else
			is_left = true;
	}
	if (!is_left)
		weft_list_remove(&hook->link);
}

void weft_rndv_seg_fail(struct weft_peer *peer)
{
	struct weft_vci_p2p *p2p = peer->vci->p2p;
	bool is_left = false;

	rndv_seg_resume(peer->vci, peer);
	weft_list_for_each(link, next, &p2p->rndv_segs)
	{
		struct piece *piece =
			weft_container_of(link, struct piece, link);

		if (piece->req && piece->req->peer == peer && piece->is_lost &&
			piece->req->kind == WEFT_REQ_RECV) {
			piece_end(piece, peer->err);
			continue;
		}
		if (!is_of_failed(piece) || piece->req->peer != peer)
			continue;
		is_left = true;
		if (piece->req->kind == WEFT_REQ_RECV)
			weft_net_cancel(
				net_of(piece->vci, piece->rail), &piece->op);
	}
	if (!is_left)
		return;
	p2p->give_up_ns = weft_now_ns() + GRACE_MS * (WEFT_NS_PER_S / 1000);
	p2p->give_up.run = rndv_seg_give_up;
	weft_list_remove(&p2p->give_up.link);
	weft_list_push_back(&peer->vci->hooks, &p2p->give_up.link);
}
