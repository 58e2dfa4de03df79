/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p: what the files of this room share
 *
 * A send or receive is a struct weft_req that weft_p2p_fill() filled, then
 * started. While it is active the library holds one reference of its own,
 * dropped by weft_p2p_finish(). VCI's lock held everywhere. */
#ifndef WEFT_P2P_PRIV_H
#define WEFT_P2P_PRIV_H

#include "base/clock.h"
#include "base/knob.h"
#include "transport/dispatch.h"
#include "dt/pack.h"
#include "p2p/early.h"
#include "p2p/match_priv.h"
#include "p2p/p2p.h"

#include <stdlib.h>

enum {
	WEFT_EAGER_OVERHEAD = 64, /* what a message costs the receiver besides
				     its payload, for flow control; the most of
				     WEFT_EAGER_WINDOW by it is fewer messages
				     than a head's number can tell apart */
};

/* What this room has in a VCI: made when that opens, freed when it closes. */
struct weft_vci_p2p {
	struct weft_link rndv_segs;    /* in the fabric; only rndv_seg.c */
	struct weft_link rndv_waiting; /* sends, for room; likewise */
	struct weft_link copies; /* that senders may help; only rndv_copy.c */
	struct weft_batch_thread *batch_thread; /* only batch.c */
	struct weft_early early;		/* only message.c */
	struct weft_message *spare_messages;	/* likewise */
};

/* A peer, and what this room knows of it. */
struct weft_p2p_peer {
	struct weft_peer peer; /* first: transport makes and frees both */
	uint64_t n_net_sent;   /* user messages over the fabric so far */
	uint64_t n_net_asked;  /* of these, covered by a PING on its way */
	uint64_t n_net_known;  /* of these, known to have arrived (PONG) */
	uint16_t n_eager_sent; /* numbers eager messages, for cancelling */
	uint32_t last_round;   /* of the VCI's, in which a short one left */
	uint32_t n_at_once;    /* in that round */
	uint32_t n_held;       /* messages queued so far: see batch.c */
	uint32_t n_offered;    /* announced to it on this node, and not taken */
	uint32_t n_segs;       /* under way to it and counted; rndv_seg.c */
	uint32_t n_copies;     /* from it that it may help; rndv_copy.c */
	bool has_open_copy;    /* likewise: pieces can be claimed of one */
	bool cannot_write;     /* its memory, as was seen */
};

static inline struct weft_p2p_peer *weft_p2p_peer_of(struct weft_peer *peer)
{
	return weft_container_of(peer, struct weft_p2p_peer, peer);
}

/* Describes msg in a new request, which holds its communicator and type. */
static inline void weft_p2p_fill(
	struct weft_req *req, const struct weft_msg *msg)
{
	struct weft_type *type = msg->type;

	req->comm = weft_comm_get(msg->comm);
	req->type = type;
	if (weft_unlikely(!type->is_builtin))
		weft_type_get(type);
	req->buf = msg->buf;
	req->count = msg->count;
	req->len = (size_t)(msg->count * type->size);
	req->ctx = msg->comm->ctx + msg->ctx_offset;
	req->src = msg->rank;
	req->tag = msg->tag;
	req->peer = NULL;
}

/* A request for msg with one reference, not started; NULL without memory. */
static inline struct weft_req *weft_p2p_new(
	const struct weft_msg *msg, enum weft_req_kind kind)
{
	struct weft_req *req = weft_req_new(msg->comm->vci, kind);

	if (weft_unlikely(!req))
		return NULL;
	weft_p2p_fill(req, msg);
	if (kind == WEFT_REQ_SEND) {
		req->send.mode = (uint8_t)msg->mode;
		req->send.is_waited = msg->is_waited;
	}
	return req;
}

/* Completes a started request and drops the library's reference. */
static inline void weft_p2p_finish(struct weft_req *req, int err)
{
	if (weft_unlikely(req->staging)) {
		free(req->staging);
		req->staging = NULL;
	}
	weft_req_complete(req, err);
	weft_req_put(req);
}

/* Which of a communicator's contexts this is. */
static inline enum weft_ctx_offset weft_p2p_offset_of(
	const struct weft_comm *comm, uint64_t ctx)
{
	return (enum weft_ctx_offset)(ctx - comm->ctx);
}

/* ---- send_req.c ---- */

/* A send is over inside too: one less for the communicator to wait for. */
void weft_send_finish(struct weft_req *req, int err);

/* The data of a send as one run: its buffer, or a packed copy made now. NULL
 * without memory. */
void *weft_send_run(struct weft_req *req);

/* ---- send.c ---- */

/* What stands in front of an eager message that leaves now. */
struct weft_wire_head weft_send_head(const struct weft_req *req);

/* The peer's queue reached this send. */
int weft_send_push(struct weft_peer *peer, struct weft_out *out);

/* ---- batch.c ---- */

/* Shall this send, to a peer that is clear, wait for others? */
bool weft_batch_holds(struct weft_req *req);

/* One more waits: are they enough to leave now? */
bool weft_batch_is_enough(struct weft_peer *peer);

/* Sends req, which its peer's queue just reached, with what follows there. 0:
 * they are gone; 1: nothing can go with it; or WEFT_AGAIN. */
int weft_batch_send(struct weft_peer *peer, struct weft_req *req);

void weft_batch_close(struct weft_vci *vci);

/* ---- message.c ---- */

/* Keeps a message that just came, with its data, until it is received; NULL
 * without memory. */
struct weft_message *weft_message_keep(struct weft_comm *comm,
	struct weft_peer *peer, const struct weft_wire_head *head,
	const void *data, size_t len);

/* Frees a message that is in no queue. VCI's lock held. */
void weft_message_free(struct weft_message *message);

/* Gives back what is kept to make further ones. */
void weft_message_close(struct weft_vci *vci);

/* ---- control.c ---- */

/* Gives a peer the credit back that it is owed. */
void weft_control_credit(struct weft_peer *peer);

/* Tells the sender where its announced data is to go. 0 or WEFT_ERR_NOMEM. */
int weft_control_cts(struct weft_req *req, uint64_t sreq, size_t len);

/* Tells the sender that its data is here, or the other side of a rendezvous,
 * by its request, that the message is lost. */
void weft_control_fin(struct weft_peer *peer, uint64_t handle, uint64_t how);

/* Eager bytes of a peer were consumed: give them back, unasked when half the
 * window is owed. */
static inline void weft_p2p_owe(struct weft_peer *peer, size_t len)
{
	peer->owed += (int64_t)(len + WEFT_EAGER_OVERHEAD);
	if (weft_unlikely(2 * peer->owed >= weft_knobs.eager_window))
		weft_control_credit(peer);
}

/* ---- failure_check.c ---- */

/* Can a peer say of this process that it died? Its number + 1; 0: of none. */
bool weft_failure_is_known(const struct weft_vci *vci, uint64_t failed);

/* Why nobody can send as this rank any more; 0: that may be. */
int weft_failure_source(struct weft_comm *comm, int32_t rank);

/* Ends a receive just posted if nobody but one who died can serve it. */
void weft_failure_check(struct weft_req *req);

/* Likewise why it will never ask for what is announced to it: it left without a
 * barrier, as a member died. */
int weft_departed_receiver(const struct weft_comm *comm, int32_t rank);

/* What comes for a collective of a communicator that lost a member, and finds
 * no receive, finds none later. */
static inline bool weft_failure_is_vain(
	const struct weft_comm *comm, uint64_t ctx, int32_t tag)
{
	uint64_t ctx_offset = ctx % WEFT_CTX_OFFSET_END;

	return comm->failed &&
	       (ctx_offset == WEFT_CTX_OFFSET_COLL ||
		       (ctx_offset == WEFT_CTX_OFFSET_CTL &&
			       !(tag >= WEFT_TAG_PAIR &&
				       tag < WEFT_TAG_PAIR_END)));
}

/* ---- coll_error.c ---- */

/* Ends a receive with the error that came for it. */
void weft_coll_error_end(
	struct weft_req *req, int err, const char *text, size_t len);

/* Likewise with one that was kept; message is gone afterwards. */
void weft_coll_error_deliver_take(
	struct weft_req *req, struct weft_message *message);

/* Reads the word of an error: only what weft_send_coll_error_locked() can have
 * sent. */
bool weft_coll_error_read(const struct weft_vci *vci,
	const struct weft_wire_head *head, const void *payload, size_t len,
	struct weft_wire_failed *word);

/* ---- rndv_copy.c ---- */

/* Where data is: in the memory of the request's peer, or in this process's. */
enum weft_rndv_from { WEFT_RNDV_FROM_PEER, WEFT_RNDV_FROM_HERE };

/* Told that all is in the receive's buffer, or what kept it from that. */
typedef void weft_rndv_copied_fn(struct weft_req *req, uint64_t sreq, int err);

/* Copies the data of a receive, of len bytes at addr, into its buffer, now or
 * soon; sreq is for copied(). 0, or WEFT_ERR_NOMEM and copied() is not called.
 */
int weft_rndv_copy(struct weft_req *req, enum weft_rndv_from from,
	uint64_t addr, size_t len, uint64_t sreq, weft_rndv_copied_fn *copied);

/* The receiver has all that this send, which is_copying, was to help with. */
void weft_rndv_drop_help(struct weft_req *req);

/* Ends the copies that a peer, which died, still had pieces of. */
void weft_rndv_copy_fail(struct weft_peer *peer);

/* ---- rndv_seg.c ---- */

/* How many rails beside the first a receive of so many bytes uses. */
uint8_t weft_rndv_seg_rails(const struct weft_req *req, size_t len);

/* The receiver has what came over several rails, or could not take it; false
 * if none did. */
bool weft_rndv_seg_answer(struct weft_req *req, int err);

/* The sender has failed: what this receive still expects will not come. */
void weft_rndv_seg_withdraw(struct weft_req *req, int err);

/* Moves the first total bytes of an announced send, or of the receive it
 * matched, through the fabric; the receive asks for them, and either ends. */
void weft_rndv_seg_start(struct weft_req *req, size_t total);

/* What is under way to or from a peer that died ends, now or soon. */
void weft_rndv_seg_fail(struct weft_peer *peer);

/* ---- unmatched.c ---- */

/* Refuses an announced message in the queue if nobody can ask for it any
 * more; it may be gone afterwards. */
void weft_unmatched_judge(struct weft_message *message);

/* Says of a send that waits for its receive that it will not be taken back. */
void weft_unmatched_say_last(struct weft_req *req);

/* The sender of an announced message will not take it back. */
void weft_unmatched_on_last(struct weft_comm *comm, struct weft_peer *peer,
	uint64_t ctx, uint64_t sreq);

/* The receiver of this send is leaving and will never receive it; coll_err: a
 * collective of its own ended with that, or 0. */
void weft_unmatched_on_refused(struct weft_req *req, int coll_err);

/* ---- cancel.c ---- */

/* Takes a send back: here and now if it has not left, and is_cancelled then; or
 * is_asked until its receiver has answered; or it is too late. */
void weft_cancel_send(struct weft_req *req);

/* A send whose peer failed does not wait for the answer to a cancel any more.
 * True when that ends nothing: the fabric has yet to complete it. */
bool weft_cancel_give_up(struct weft_req *req);

/* ---- failure.c, departed.c ---- */

/* Ends everything that waits for a peer that died; peer->err says why. */
void weft_failure_peer(struct weft_peer *peer);

/* Asks an announced message of a collective back whose receiver may not take it
 * any more, or never could. */
void weft_failure_ask_back(struct weft_req *req);

/* Another member says that a process died (its number + 1; 0: none): one of
 * comm or of the intercommunicator that it is the local one of. */
void weft_failure_note(struct weft_comm *comm, uint64_t failed);

/* A request that is waited for: ends it if only a process that left could
 * complete it, or has it refused. */
void weft_departed_on_wait(struct weft_req *req);

/* ---- rndv.c ---- */

/* Counts milliseconds; only differences mean something. */
static inline uint32_t weft_rndv_now_ms(void)
{
	return (uint32_t)(weft_now_ns() / (WEFT_NS_PER_S / 1000));
}

/* The live request a message names, if it is of this kind and this peer's,
 * does not still wait in its queue and was announced, if it is a send; or NULL.
 */
struct weft_req *weft_rndv_find(
	struct weft_peer *peer, uint64_t handle, enum weft_req_kind kind);

/* Announces a send whose data stays here until it is asked for. */
int weft_rndv_offer(struct weft_req *req);

/* What was announced. */
struct weft_rndv_offered {
	uint64_t sreq, addr;
	size_t len;
	bool is_waited; /* may come in fragments though addr is known */
};

/* Starts moving the data of a rendezvous into a matched receive. */
void weft_rndv_pull(struct weft_req *req, struct weft_peer *peer,
	const struct weft_rndv_offered *offered);

/* ---- send.c, recv.c ---- */

/* Start a filled request. 0, or an error after which it has completed with
 * that error. */
int weft_send_start(struct weft_req *req);
int weft_recv_start(struct weft_req *req);

/* Delivers a kept message into a receive; message is gone afterwards. The
 * library's reference of req is already taken. */
void weft_recv_deliver_take(struct weft_req *req, struct weft_message *message);

/* ---- handlers, which p2p.c installs ---- */

weft_wire_fn weft_batch_on_batch;
weft_wire_fn weft_recv_on_eager, weft_recv_on_rts, weft_recv_on_coll_error;
weft_wire_fn weft_rndv_on_cts, weft_rndv_on_frag, weft_rndv_on_fin;
weft_wire_fn weft_rndv_on_help, weft_rndv_on_helped;
weft_wire_fn weft_cancel_on_cancel, weft_cancel_on_ack;
weft_wire_fn weft_flush_on_ping, weft_flush_on_pong;
weft_wire_fn weft_departed_on_departed;

#endif
