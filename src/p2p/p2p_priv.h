/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p: declarations that the files of this room share
 *
 * A send or receive is a struct weft_req that weft_p2p_fill() has filled and
 * that was then started. While it is active the library holds a reference,
 * which weft_p2p_finish() drops. VCI's lock held everywhere. */
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
	WEFT_EAGER_OVERHEAD =
		64, /* bytes of credit that a message uses in addition to its
		       payload; the maximum of WEFT_EAGER_WINDOW divided by it
		       is below 2^16, the range of a head's number */
};

/* This room's part of a VCI: created when it opens, freed when it closes. */
struct weft_vci_p2p {
	struct weft_link rndv_segs;    /* in the fabric; only rndv_seg.c */
	struct weft_link rndv_waiting; /* sends that wait for a segment; only
					  rndv_seg.c */
	struct weft_link copies; /* that senders may help; only rndv_copy.c */
	struct weft_batch_thread *batch_thread; /* only batch.c */
	struct weft_early early;		/* only message.c */
	struct weft_message *spare_messages;	/* likewise */
};

/* A peer with this room's part. */
struct weft_p2p_peer {
	struct weft_peer peer; /* first: transport makes and frees both */
	uint64_t n_net_sent;   /* user messages over the fabric so far */
	uint64_t n_net_asked;  /* of these, covered by a PING on its way */
	uint64_t n_net_known;  /* of these, known to have arrived (PONG) */
	uint16_t n_eager_sent; /* numbers eager messages, for cancelling */
	uint32_t last_round;   /* VCI's round in which a short message left */
	uint32_t n_at_once;    /* short messages that left in that round */
	uint32_t n_held;       /* messages queued so far: see batch.c */
	uint32_t n_offered;    /* RTS to it on this node without an answer */
	uint32_t n_segs;       /* in flight to it and counted; rndv_seg.c */
	uint32_t n_copies;     /* from it with its help so far; rndv_copy.c */
	bool has_open_copy;    /* pieces of such a copy can be claimed */
	bool cannot_write;     /* a write to its memory has failed */
};

static inline struct weft_p2p_peer *weft_p2p_peer_of(struct weft_peer *peer)
{
	return weft_container_of(peer, struct weft_p2p_peer, peer);
}

/* Fills a new request from msg; it takes references of communicator and type.
 */
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

/* A request for msg with one reference, not started; NULL if out of memory. */
static inline struct weft_req *weft_p2p_new(
	const struct weft_msg *msg, enum weft_req_kind kind)
{
	struct weft_req *req = weft_req_new(msg->comm->vci, kind);

	if (weft_unlikely(!req))
		return NULL;
	weft_p2p_fill(req, msg);
	if (kind == WEFT_REQ_SEND)
		req->send.mode = (uint8_t)msg->mode;
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

/* Completes a send inside the library: the communicator no longer waits for it.
 */
void weft_send_finish(struct weft_req *req, int err);

/* The data of a send as one run: its buffer, or a packed copy that this call
 * makes. NULL if out of memory. */
void *weft_send_run(struct weft_req *req);

/* ---- send.c ---- */

/* The head of an eager message that leaves now. */
struct weft_wire_head weft_send_head(const struct weft_req *req);

/* Sends a request that was queued at the peer; the push function of weft_out.
 */
int weft_send_push(struct weft_peer *peer, struct weft_out *out);

/* ---- batch.c ---- */

/* True if this send, to a peer with an empty queue, should be queued to share a
 * message with others. */
bool weft_batch_holds(struct weft_req *req);

/* Counts one more queued send; true if the queue should be sent now. */
bool weft_batch_is_enough(struct weft_peer *peer);

/* Sends req, the first in its peer's queue, together with the short sends after
 * it. 0: they have left; 1: no send can share the message; or WEFT_AGAIN. */
int weft_batch_send(struct weft_peer *peer, struct weft_req *req);

void weft_batch_close(struct weft_vci *vci);

/* ---- message.c ---- */

/* Queues an arrived message as unexpected, with a copy of its data; NULL if out
 * of memory. */
struct weft_message *weft_message_queue(struct weft_comm *comm,
	struct weft_peer *peer, const struct weft_wire_head *head,
	const void *data, size_t len);

/* Frees a message that is in no queue. VCI's lock held. */
void weft_message_free(struct weft_message *message);

/* Frees the spare messages and memory of the VCI. */
void weft_message_close(struct weft_vci *vci);

/* ---- control.c ---- */

/* Sends a peer the credit that is owed to it. */
void weft_control_credit(struct weft_peer *peer);

/* Sends CTS for an announced send. 0 or WEFT_ERR_NOMEM. */
int weft_control_cts(struct weft_req *req, uint64_t sreq, size_t len);

/* Sends FIN to the request of the other side of a rendezvous: its data has
 * arrived, or the message is lost. */
void weft_control_fin(struct weft_peer *peer, uint64_t handle, uint64_t how);

/* Returns credit for len eager bytes that were received from a peer. Sends it
 * immediately if half of the window is owed. */
static inline void weft_p2p_return_credit(struct weft_peer *peer, size_t len)
{
	peer->credit_owed += (int64_t)(len + WEFT_EAGER_OVERHEAD);
	if (weft_unlikely(2 * peer->credit_owed >= weft_knobs.eager_window))
		weft_control_credit(peer);
}

/* ---- failure_check.c ---- */

/* True if a peer may report that this process has died. `failed` is its number
 * + 1; 0: no process. */
bool weft_failure_is_known(const struct weft_vci *vci, uint64_t failed);

/* 0, or the described reason why no message can arrive from this rank. */
int weft_failure_source(struct weft_comm *comm, int32_t rank);

/* Completes a receive just posted with an error if only a failed process could
 * send its message. */
void weft_failure_check(struct weft_req *req);

/* Completes a receive from any source that is pending because of a failure, for
 * a call that does not leave it active. */
void weft_failure_end_pending(struct weft_req *req);

/* Ends a request that is waited for, if only a departed process could complete
 * it. True if the wait must end although the request remains active. */
bool weft_failure_on_wait(struct weft_req *req);

/* 0, or the described reason why this rank will never answer an RTS: it
 * departed without a barrier, because a member died. */
int weft_departed_receiver(const struct weft_comm *comm, int32_t rank);

/* True if a message in this context will never be received unless its receive
 * is posted already: it belongs to a collective, or to control, of a
 * communicator with a failed member. */
static inline bool weft_failure_prevents(
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

/* Completes a receive with the error that arrived in place of its message. */
void weft_coll_error_end(
	struct weft_req *req, int err, const char *text, size_t len);

/* The same with an error in the unexpected queue; frees message. */
void weft_coll_error_deliver_take(
	struct weft_req *req, struct weft_message *message);

/* Reads and checks an error message: true only for what
 * weft_send_coll_error_locked() sends. */
bool weft_coll_error_read(const struct weft_vci *vci,
	const struct weft_wire_head *head, const void *payload, size_t len,
	struct weft_wire_failed *word);

/* ---- rndv_copy.c ---- */

/* Whose memory holds the data: that of the request's peer, or this process's.
 */
enum weft_rndv_from { WEFT_RNDV_FROM_PEER, WEFT_RNDV_FROM_HERE };

/* Called when all data is in the receive's buffer, or with an error. */
typedef void weft_rndv_copied_fn(struct weft_req *req, uint64_t sreq, int err);

/* Copies the data of a receive, of len bytes at addr, into its buffer, now or
 * soon; sreq is for copied(). 0, or WEFT_ERR_NOMEM and copied() is not called.
 */
int weft_rndv_copy(struct weft_req *req, enum weft_rndv_from from,
	uint64_t addr, size_t len, uint64_t sreq, weft_rndv_copied_fn *copied);

/* The receiver has all data of this send, for which this process writes pieces
 * (is_copying). Cancels the remaining pieces.
 */
void weft_rndv_drop_help(struct weft_req *req);

/* Completes the copies of which a peer that died had claimed pieces. */
void weft_rndv_copy_fail(struct weft_peer *peer);

/* ---- rndv_seg.c ---- */

/* The number of rails in addition to the first that a receive of len bytes
 * uses. */
uint8_t weft_rndv_seg_rails(const struct weft_req *req, size_t len);

/* The receiver has answered a send that used several rails, with err if it
 * could not receive. False if the send used one. */
bool weft_rndv_seg_answer(struct weft_req *req, int err);

/* The sender could not send: cancels the segments that this receive expects. */
void weft_rndv_seg_withdraw(struct weft_req *req, int err);

/* Moves the first total bytes of an announced send, or of the receive that it
 * matched, through the fabric. The receive sends CTS. Completes the request. */
void weft_rndv_seg_start(struct weft_req *req, size_t total);

/* Completes the segments in flight to or from a peer that died, now or soon. */
void weft_rndv_seg_fail(struct weft_peer *peer);

/* ---- unmatched.c ---- */

/* Refuses an announced message in the queue if no receive can match it any
 * more; this frees it. */
void weft_unmatched_check(struct weft_message *message);

/* Notifies the receiver of a pending send that the sender will not cancel it.
 */
void weft_unmatched_send_last(struct weft_req *req);

/* The sender of an announced message will not cancel it. */
void weft_unmatched_on_last(struct weft_comm *comm, struct weft_peer *peer,
	uint64_t ctx, uint64_t sreq);

/* The receiver of this send is leaving and will never receive it; coll_err: a
 * collective of its own ended with that, or 0. */
void weft_unmatched_on_refused(struct weft_req *req, int coll_err);

/* ---- cancel.c ---- */

/* Tries to cancel a send. A send that was not sent yet is cancelled at once.
 * Another one is_cancelling until its receiver has answered the cancel. It is
 * too late once the receiver has answered the RTS. */
void weft_cancel_send(struct weft_req *req);

/* Stops waiting for the answer to a cancel from a peer that failed. True if the
 * send does not complete by this: the fabric has yet to complete it. */
bool weft_cancel_give_up(struct weft_req *req);

/* ---- revoke_send.c ---- */

/* Sends REVOKE to the members that this one has to notify. */
void weft_revoke_forward(struct weft_comm *comm);

/* Sends REVOKE to a member again, if the communicator is revoked, so that a
 * message after it does not arrive first. */
void weft_revoke_repeat(const struct weft_comm *comm, struct weft_peer *peer);

/* Refuses an announced message on a revoked communicator. */
void weft_revoke_refuse(
	const struct weft_comm *comm, struct weft_peer *peer, uint64_t sreq);

/* A process has failed: if the communicator is revoked and the process was to
 * forward that, sends REVOKE to all members. */
void weft_revoke_on_failed(struct weft_comm *comm, uint64_t proc);

/* ---- failure.c, departed.c ---- */

/* Completes all requests that wait for a peer that died, with peer->err. */
void weft_failure_peer(struct weft_peer *peer);

/* Cancels an announced message of a collective that its receiver may not
 * receive any more, or never could. */
void weft_failure_cancel(struct weft_req *req);

/* Another member reports that a process (its number + 1; 0: none) has died. The
 * process is a member of comm, or of the intercommunicator whose local
 * communicator comm is. */
void weft_failure_record(struct weft_comm *comm, uint64_t failed);

/* Called when a request is waited for: completes it with an error if only a
 * departed process could complete it, or asks that process to refuse it. */
void weft_departed_on_wait(struct weft_req *req);

/* ---- rndv.c ---- */

/* Milliseconds since an arbitrary time. */
static inline uint32_t weft_rndv_now_ms(void)
{
	return (uint32_t)(weft_now_ns() / (WEFT_NS_PER_S / 1000));
}

/* The live request that a message names, or NULL. It must be of this kind and
 * belong to this peer; it must not be queued; a send must have been announced.
 */
struct weft_req *weft_rndv_find(
	struct weft_peer *peer, uint64_t handle, enum weft_req_kind kind);

/* Sends RTS; the data stays here until the receiver reads it or sends CTS. */
int weft_rndv_announce(struct weft_req *req);

/* The content of an RTS. */
struct weft_rndv_announced {
	uint64_t sreq, addr;
	size_t len;
};

/* Starts moving the data of a rendezvous into a matched receive. */
void weft_rndv_pull(struct weft_req *req, struct weft_peer *peer,
	const struct weft_rndv_announced *announced);

/* ---- send.c, recv.c ---- */

/* Starts a filled request. 0, or an error with which it has completed. */
int weft_send_start(struct weft_req *req);
int weft_recv_start(struct weft_req *req);

/* Delivers an unexpected message into a receive and frees the message. The
 * library's reference of req has been taken. */
void weft_recv_deliver_take(struct weft_req *req, struct weft_message *message);

/* True if the peer has answered all pings that were sent to it. */
bool weft_flush_is_answered(struct weft_peer *peer);

/* ---- handlers that p2p.c installs ---- */

weft_wire_fn weft_batch_on_batch;
weft_wire_fn weft_recv_on_eager, weft_recv_on_rts, weft_recv_on_coll_error;
weft_wire_fn weft_rndv_on_cts, weft_rndv_on_frag, weft_rndv_on_fin;
weft_wire_fn weft_rndv_on_help, weft_rndv_on_helped;
weft_wire_fn weft_cancel_on_cancel, weft_cancel_on_ack;
weft_wire_fn weft_flush_on_ping, weft_flush_on_pong;
weft_wire_fn weft_departed_on_departed, weft_revoke_on_revoke;

#endif
