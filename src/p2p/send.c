/* SPDX-License-Identifier: BSD-3-Clause */
/* send: the whole send path
 *
 * send_fast() is the hot path. It writes a short, contiguous message to a
 * process of the same node into the ring. Any other send takes the slow path
 * with a request. A send is eager if it is short and not synchronous, and the
 * peer has credit for it. Otherwise it uses rendezvous (rndv.c). A send that
 * cannot be posted now is queued at its peer, in the order of the calls. */
#include "p2p/p2p_priv.h"

#include "base/log.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "net/net.h"

#include <stdlib.h>
#include <string.h>

enum {
	SEND_STACK = 512,
	WAITS_FOR_ROOM = 16384, /* a longer message waits for ring space only
				   if prefers_rndv() is false */
};

static size_t eager_max(const struct weft_peer *peer)
{
	if (peer->is_shm)
		return peer->shm_eager;
	if (peer->is_self)
		return weft_proc.node.eager_len;
	return peer->vci->net->plan.eager_len - sizeof(struct weft_wire_net);
}

struct weft_wire_head weft_send_head(const struct weft_req *req)
{
	return (struct weft_wire_head){
		.op = WEFT_WIRE_EAGER,
		.number = weft_p2p_peer_of(req->peer)->n_eager_sent,
		.src = (uint32_t)req->comm->rank,
		.ctx = req->ctx,
		.tag = req->tag,
	};
}

/* Writes an eager message with the next number into the ring, and subtracts its
 * credit. False if the ring has no space. */
static inline __attribute__((always_inline)) bool eager_ring(
	struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_msg *msg, size_t len, bool is_run)
{
	void *place = weft_ring_reserve(&peer->tx, len);
	struct weft_wire_head *head;

	if (!place)
		return false;
	/* the space is reserved, so nothing below fails */
	if (!is_run)
		weft_pack(msg->type, msg->count, msg->buf, 0, place, len);
	else if (len) /* the buffer of an empty message may be NULL */
		weft_write(peer->tx.stores_past, place,
			(const char *)msg->buf + msg->type->true_lb, len);
	head = weft_ring_head(&peer->tx);
	*head = (struct weft_wire_head){
		.op = WEFT_WIRE_EAGER,
		.number = weft_p2p_peer_of(peer)->n_eager_sent++,
		.src = (uint32_t)msg->comm->rank,
		.ctx = msg->comm->ctx + msg->ctx_offset,
		.tag = msg->tag,
	};
	weft_peer_stamp(peer, head);
	weft_ring_commit(&peer->tx, len);
	vci->counters.shm_sent++;
	vci->counters.shm_sent_bytes += len;
	peer->credit -= (int64_t)(len + WEFT_EAGER_OVERHEAD);
	return true;
}

static int eager_ring_req(struct weft_req *req)
{
	const struct weft_msg msg = {
		.comm = req->comm,
		.buf = req->buf,
		.count = req->count,
		.type = req->type,
		.tag = req->tag,
		.ctx_offset = weft_p2p_offset_of(req->comm, req->ctx),
	};

	return eager_ring(req->vci, req->peer, &msg, req->len,
		       weft_type_is_run(req->type, req->count))
		       ? 0
		       : WEFT_AGAIN;
}

static void on_eager_sent(struct weft_op *op, int err, size_t len)
{
	struct weft_req *req = weft_container_of(op, struct weft_req, op);
	struct weft_peer *peer = req->peer;

	(void)len;
	if (weft_unlikely(err)) {
		/* fails the peer before the send completes, or will send the
		 * message again */
		weft_peer_undelivered(peer, err);
		if (err == WEFT_ERR_PEER && peer->state != WEFT_PEER_FAILED)
			err = 0;
	}
	req->send.in_fabric = false;
	if (weft_unlikely(req->send.is_cancelling)) {
		/* the answer to the CANCEL completes the request */
		req->comm->p2p.n_sends--;
		weft_req_put(req);
	} else {
		weft_send_finish(req, err);
	}
}

/* Sends an eager message through the fabric. Returns 0 if the program may reuse
 * the buffer, 1 if a completion follows, WEFT_AGAIN or an error. */
static int eager_net(struct weft_req *req)
{
	struct weft_peer *peer = req->peer;
	struct weft_net *net = peer->vci->net;
	uint8_t stack[SEND_STACK];
	struct weft_wire_head head = weft_send_head(req);
	size_t total = sizeof(struct weft_wire_net) + req->len;
	struct iovec iov[2];
	int err;

	weft_peer_stamp(peer, &head);
	if (total <= net->plan.inject_len && total <= sizeof(stack)) {
		weft_peer_wire_net(
			peer, (struct weft_wire_net *)(void *)stack, &head);
		weft_pack(req->type, req->count, req->buf, 0,
			stack + sizeof(struct weft_wire_net), req->len);
		err = weft_resend_inject(peer, stack, total);
	} else {
		weft_peer_wire_net(peer, &req->wire, &head);
		iov[0] = (struct iovec){ &req->wire, sizeof(req->wire) };
		iov[1] = (struct iovec){ weft_send_run(req), req->len };
		req->op.done = on_eager_sent;
		err = iov[1].iov_base ? weft_resend_send(peer, iov, 2, &req->op)
				      : WEFT_ERR_NOMEM;
		req->send.in_fabric = err == 0;
		err = err ? err : 1;
	}
	if (err < 0) {
		peer->credit_owed = head.credit;
		peer->wire_out--;
	} else {
		weft_p2p_peer_of(peer)->n_net_sent++;
	}
	return err;
}

/* Sends an eager message to this process itself. The message's handler copies
 * the data from the buffer, or from a packed copy of it. */
static int eager_self(struct weft_req *req)
{
	struct weft_wire_head head = weft_send_head(req);
	const void *run = weft_send_run(req);

	if (!run)
		return WEFT_ERR_NOMEM;
	return weft_peer_post(req->peer, &head, run, req->len);
}

static int eager(struct weft_req *req)
{
	struct weft_peer *peer = req->peer;
	uint16_t *n_sent = &weft_p2p_peer_of(peer)->n_eager_sent;
	int rc;

	if (peer->is_shm) {
		rc = eager_ring_req(req);
	} else {
		rc = peer->is_self ? eager_self(req) : eager_net(req);
		if (rc >= 0) {
			peer->credit -=
				(int64_t)(req->len + WEFT_EAGER_OVERHEAD);
			++*n_sent;
		}
	}
	if (rc >= 0) {
		req->send.is_eager = true;
		req->send.number = (uint16_t)(*n_sent - 1);
	}
	return rc;
}

/* True if a message that does not fit into the ring should be sent as a
 * rendezvous instead of waiting for ring space. */
static bool prefers_rndv(const struct weft_req *req)
{
	const struct weft_peer *peer = req->peer;

	return peer->is_shm && peer->can_read && req->len > WAITS_FOR_ROOM &&
	       weft_type_is_run(req->type, req->count);
}

/* Sends eagerly or by rendezvous. 0: the send is complete; 1: a completion
 * follows; or WEFT_AGAIN or an error. */
static int send_now(struct weft_req *req)
{
	struct weft_peer *peer = req->peer;

	if (req->send.mode != WEFT_SEND_SYNC &&
		req->send.mode != WEFT_SEND_DEVICE &&
		req->len <= eager_max(peer) &&
		peer->credit >= (int64_t)(req->len + WEFT_EAGER_OVERHEAD)) {
		int rc = eager(req);

		if (rc != WEFT_AGAIN || !prefers_rndv(req))
			return rc;
	}
	return weft_rndv_announce(req);
}

int weft_send_push(struct weft_peer *peer, struct weft_out *out)
{
	struct weft_req *req = weft_container_of(out, struct weft_req, out);
	int rc = peer->err;

	if (peer->state == WEFT_PEER_READY && !peer->is_shm && !peer->is_self) {
		rc = weft_batch_send(peer, req);
		if (rc != 1)
			return rc;
	}
	if (peer->state != WEFT_PEER_FAILED)
		rc = send_now(req);
	if (rc == WEFT_AGAIN)
		return rc;
	if (rc <= 0)
		weft_send_finish(req, rc);
	return 0;
}

/* Returns the error of a send that cannot start, because its peer is NULL or
 * has failed. */
static __attribute__((cold, noinline)) int send_begin_refusal(
	const struct weft_req *req)
{
	if (weft_comm_is_revoked(req->comm))
		return weft_comm_revoked(req->comm);
	return req->peer ? weft_failure_source(req->comm, req->src)
			 : WEFT_ERR_NOMEM;
}

static int send_begin(struct weft_req *req, bool is_uncancellable)
{
	struct weft_peer *peer;
	int rc = WEFT_AGAIN;

	/* the program can cancel only its own sends */
	req->send.is_uncancellable =
		is_uncancellable ||
		req->ctx % WEFT_CTX_OFFSET_END != WEFT_CTX_OFFSET_P2P;
	if (weft_unlikely(req->src == WEFT_PROC_NULL)) {
		weft_req_complete(req, 0);
		return 0;
	}
	peer = weft_comm_peer_cached(req->comm, (uint32_t)req->src);
	if (weft_unlikely(!peer) && !weft_comm_is_revoked(req->comm))
		peer = weft_comm_peer_new(req->comm, (uint32_t)req->src);
	req->peer = peer;
	if (weft_unlikely(!peer || peer->state == WEFT_PEER_FAILED)) {
		rc = send_begin_refusal(req);
		weft_req_complete(req, rc);
		return rc;
	}
	weft_req_get(req);
	req->comm->p2p.n_sends++;
	if (weft_likely(weft_peer_is_clear(peer)) && !weft_batch_holds(req))
		rc = send_now(req);
	if (rc == WEFT_AGAIN) {
		req->out.push = weft_send_push;
		weft_peer_queue(peer, &req->out);
		if (weft_batch_is_enough(peer))
			weft_peer_send_pending(peer);
		return 0;
	}
	if (rc <= 0)
		weft_send_finish(req, rc);
	return rc < 0 ? rc : 0;
}

int weft_send_start(struct weft_req *req)
{
	return send_begin(req, false);
}

/* Sends a short, contiguous message without a request. False if the receiver is
 * not on this node, its ring has no space, this process has no credit for it,
 * or other messages are queued for it. */
static inline __attribute__((always_inline)) bool send_fast(
	struct weft_vci *vci, const struct weft_msg *msg)
{
	size_t len = (size_t)(msg->count * msg->type->size);
	struct weft_comm *comm = msg->comm;
	struct weft_peer *peer;

	if (msg->rank < 0 || !msg->type->is_contig ||
		msg->mode == WEFT_SEND_SYNC)
		return false;
	peer = weft_comm_peer_cached(comm, (uint32_t)msg->rank);
	if (!peer || !peer->is_shm || len > peer->shm_eager ||
		!weft_peer_is_clear(peer) ||
		peer->credit < (int64_t)(len + WEFT_EAGER_OVERHEAD))
		return false;
	return eager_ring(vci, peer, msg, len, true);
}

/* Fills the request of a message that was sent with the fields that a cancel
 * needs. */
static inline void fill_sent(struct weft_req *req, const struct weft_msg *msg)
{
	req->comm = weft_comm_get(msg->comm);
	req->peer = weft_comm_peer(msg->comm, (uint32_t)msg->rank);
	req->ctx = msg->comm->ctx + msg->ctx_offset;
	req->src = msg->rank;
	req->tag = msg->tag;
	req->send.is_eager = true;
	req->send.number =
		(uint16_t)(weft_p2p_peer_of(req->peer)->n_eager_sent - 1);
	req->is_done = true;
}

static inline __attribute__((always_inline)) int isend(struct weft_vci *vci,
	const struct weft_msg *msg, struct weft_req **req_out)
{
	struct weft_req *req = weft_req_new(vci, WEFT_REQ_SEND);
	int err;

	if (weft_unlikely(!req))
		return WEFT_ERR_NOMEM;
	if (weft_likely(send_fast(vci, msg))) {
		fill_sent(req, msg);
		*req_out = req;
		return 0;
	}
	weft_p2p_fill(req, msg);
	req->send.mode = (uint8_t)msg->mode;
	err = weft_send_start(req);
	if (weft_unlikely(err)) {
		weft_req_put(req);
		return err;
	}
	*req_out = req;
	return 0;
}

int weft_isend_locked(const struct weft_msg *msg, struct weft_req **req_out)
{
	return isend(msg->comm->vci, msg, req_out);
}

bool weft_send_try_locked(const struct weft_msg *msg)
{
	return send_fast(msg->comm->vci, msg);
}

int weft_isend(const struct weft_msg *msg, struct weft_req **req_out)
{
	struct weft_vci *vci = msg->comm->vci;
	int err;

	weft_vci_lock(vci);
	err = isend(vci, msg, req_out);
	weft_vci_unlock(vci);
	return err;
}

/* Sends with a request, and waits for the request. The request has no handle,
 * so the program cannot cancel the send. */
static __attribute__((noinline)) int send_slow(const struct weft_msg *msg)
{
	struct weft_req *req = weft_p2p_new(msg, WEFT_REQ_SEND);
	int err;

	if (!req)
		return WEFT_ERR_NOMEM;
	err = send_begin(req, true);
	if (!err) {
		weft_req_wait(msg->comm->vci, req);
		err = req->status.err;
		if (weft_unlikely(err))
			weft_failure_explain(req);
	}
	weft_req_put(req);
	return err;
}

int weft_send(const struct weft_msg *msg)
{
	struct weft_vci *vci = msg->comm->vci;
	int err = 0;

	weft_vci_lock(vci);
	if (weft_unlikely(!send_fast(vci, msg)))
		err = send_slow(msg);
	weft_vci_unlock(vci);
	return err;
}
