/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p: declarations that the files of this room share
 *
 * A send or receive is a struct weft_req. weft_p2p_fill() fills the request
 * before it is started. While the request is active, the library holds a
 * reference, which weft_p2p_finish() drops. VCI's lock held everywhere. */
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
	WEFT_RNDV_SHORT = 1 << 19, /* length of the segments in which device
				      memory is copied to or from host memory;
				      over a fabric, their least length */
	WEFT_EAGER_OVERHEAD =
		64, /* bytes of credit that a message uses in addition to its
		       payload. So fewer than 2^16 eager messages wait at a
		       peer, and the 16 bits of weft_wire_head.number identify
		       each of them */
};

/* This room's part of a VCI: created when the VCI opens, freed when it closes.
 * "Only X.c" names the one file that uses a field. */
struct weft_vci_p2p {
	struct weft_link rndv_segs;    /* segments posted to the fabric; only
					  rndv_seg.c */
	struct weft_link rndv_waiting; /* sends that wait until fewer segments
					  are in flight; only rndv_seg.c */
	struct weft_progress_hook give_up; /* runs while segments to or from
					      failed peers are not complete;
					      completes them after give_up_ns;
					      only rndv_seg.c */
	uint64_t give_up_ns;	 /* deadline of give_up; only rndv_seg.c */
	size_t n_short_recvs;	 /* posted receives of short segments; only
				    rndv_seg.c */
	uint8_t n_refused;	 /* registrations of device memory that the
				    provider has refused in succession; only
				    rndv_dev.c */
	struct weft_link copies; /* copies of which the sender may write
				    pieces (HELP); only rndv_copy.c */
	struct weft_batch_thread *batch_thread; /* only batch.c */
	struct weft_early early;		/* only message.c */
	struct weft_message *spare_messages;	/* only message.c */
};

/* A peer with this room's part. */
struct weft_p2p_peer {
	struct weft_peer peer; /* first, because transport allocates and
				  frees the whole struct */
	uint64_t n_net_sent; /* eager messages and RTS over the fabric so far */
	uint64_t n_net_asked;  /* n_net_sent at the last PING */
	uint64_t n_net_known;  /* messages that the last PONG has confirmed */
	uint16_t n_eager_sent; /* number of the next eager message */
	uint32_t last_round;   /* vci->n_net_rounds at the last short send that
				  batch.c could have queued */
	uint32_t n_at_once; /* short sends posted immediately in that round */
	uint32_t n_held;    /* sends queued so far; see batch.c */
	uint32_t n_offered; /* sends to this peer that were announced by RTS and
			       are not complete; 0 for a peer on another node
			       */
	uint32_t n_segs;    /* segments in flight to this peer; counted if
			       rndv_seg.c limits their number */
	uint32_t n_copies;  /* copies with help from this peer so far; the
			       number of a copy contains it; rndv_copy.c */
	bool has_open_copy; /* the peer may claim pieces of a copy */
	bool cannot_write;  /* a write to the peer's memory has failed */
	bool is_unmappable; /* one of both processes cannot map device memory of
			       the other one; rndv_dev.c */
};

static inline struct weft_p2p_peer *weft_p2p_peer_of(struct weft_peer *peer)
{
	return weft_container_of(peer, struct weft_p2p_peer, peer);
}

/* Fills a new request from msg. The request acquires references of the
 * communicator and the type. */
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

/* Returns a request for msg with one reference, not started; NULL if out of
 * memory. */
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

/* Returns the offset of a context id of this communicator. */
static inline enum weft_ctx_offset weft_p2p_offset_of(
	const struct weft_comm *comm, uint64_t ctx)
{
	return (enum weft_ctx_offset)(ctx - comm->ctx);
}

/* ---- send_req.c ---- */

/* Completes a started send. From then on, the communicator does not count the
 * send (n_sends). */
void weft_send_finish(struct weft_req *req, int err);

/* Returns the data of a send as one contiguous run: its buffer, or a packed
 * copy that the first call makes. NULL if out of memory. */
void *weft_send_run(struct weft_req *req);

/* ---- send.c ---- */

/* Returns the header of the next eager message to the request's peer. */
struct weft_wire_head weft_send_head(const struct weft_req *req);

/* Sends a request that was queued at the peer. This is the push function of its
 * weft_out. */
int weft_send_push(struct weft_peer *peer, struct weft_out *out);

/* ---- batch.c ---- */

/* True if this send should be queued, so that it can share a message with later
 * sends. The queue of its peer is empty. */
bool weft_batch_holds(struct weft_req *req);

/* Counts one more queued send. True if the queue should be sent now. */
bool weft_batch_is_enough(struct weft_peer *peer);

/* Sends req, which was the first in its peer's queue, and the short sends after
 * it as one message. 0: the sends have completed, perhaps with an error; 1: no
 * other send can share the message, and req was not sent; or WEFT_AGAIN. */
int weft_batch_send(struct weft_peer *peer, struct weft_req *req);

/* Frees the part of the VCI that batch.c uses. Called when the VCI closes. */
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

/* Returns the owed credit to a peer in a message of its own, unless a queued
 * message will carry the credit. */
void weft_control_credit(struct weft_peer *peer);

/* Sends CTS for an announced send. 0 or WEFT_ERR_NOMEM. */
int weft_control_cts(struct weft_req *req, uint64_t sreq, size_t len);

/* Sends FIN for the peer's request `handle` of a rendezvous. how: a status of a
 * FIN (enum weft_wire_end). If out of memory, the peer fails. */
void weft_control_fin(struct weft_peer *peer, uint64_t handle, uint64_t how);

/* Returns credit for len eager bytes that were received from a peer. If half of
 * the window is owed, sends the credit immediately. */
static inline void weft_p2p_return_credit(struct weft_peer *peer, size_t len)
{
	peer->credit_owed += (int64_t)(len + WEFT_EAGER_OVERHEAD);
	if (weft_unlikely(2 * peer->credit_owed >= weft_knobs.eager_window))
		weft_control_credit(peer);
}

/* ---- failure_check.c ---- */

/* True if a peer may report this process as failed: the process is in this job,
 * or is a peer. `failed` is the process number + 1; 0, for no process, is valid
 * too. */
bool weft_failure_is_known(const struct weft_vci *vci, uint64_t failed);

/* Returns 0 if messages from this rank may arrive. Otherwise returns an error
 * that describes why not. */
int weft_failure_source(struct weft_comm *comm, int32_t rank);

/* Called after a receive was posted. If the receive can no longer complete
 * normally, it completes with an error. */
void weft_failure_check(struct weft_req *req);

/* If weft_failure_is_pending() is true for a request, completes it with
 * WEFT_ERR_PEER. For a call that must not return with an active receive. */
void weft_failure_end_pending(struct weft_req *req);

/* Called while the program waits for a request. Completes the request with an
 * error if only a departed process could complete it. Returns true if the wait
 * must end although the request remains active. */
bool weft_failure_on_wait(struct weft_req *req);

/* Returns 0, or an error that describes why this rank will never answer an RTS:
 * the rank has departed, and a member has died. */
int weft_departed_receiver(const struct weft_comm *comm, int32_t rank);

/* True if no receive will be posted for such a message: the communicator has a
 * failed member, and the message belongs to a collective or to the control
 * context. Messages between two members (WEFT_TAG_PAIR) are still received. */
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

/* Completes a receive with an error from the unexpected queue. Frees the
 * message of the error. */
void weft_coll_error_deliver_take(
	struct weft_req *req, struct weft_message *message);

/* Reads an error message of weft_send_coll_error_locked(). Returns false if it
 * is malformed. */
bool weft_coll_error_read(const struct weft_vci *vci,
	const struct weft_wire_head *head, const void *payload, size_t len,
	struct weft_wire_failed *word);

/* ---- rndv_copy.c ---- */

/* The process whose memory holds the data: the request's peer, or this process.
 */
enum weft_rndv_from { WEFT_RNDV_FROM_PEER, WEFT_RNDV_FROM_HERE };

/* Called when all data is in the receive's buffer, or with an error. */
typedef void weft_rndv_copied_fn(struct weft_req *req, uint64_t sreq, int err);

/* Returns the error of a receive that has copied all data from memory of the
 * peer. The peer may have treated this process as failed meanwhile, and may
 * have changed or freed the data. */
int weft_rndv_copied_err(struct weft_peer *peer);

/* Copies len bytes of data at addr into the buffer of a receive, immediately or
 * soon after. Then calls copied() with sreq. On WEFT_ERR_NOMEM, copied() is not
 * called. */
int weft_rndv_copy(struct weft_req *req, enum weft_rndv_from from,
	uint64_t addr, size_t len, uint64_t sreq, weft_rndv_copied_fn *copied);

/* Called at the sender when the receiver has all data. If this process has
 * queued a call that writes pieces for HELP (is_copying), cancels the call. */
void weft_rndv_drop_help(struct weft_req *req);

/* Called when a peer has died. The copies that wait for pieces of this peer
 * complete soon after. */
void weft_rndv_copy_fail(struct weft_peer *peer);

/* ---- rndv_seg.c ---- */

/* Decides how a receive divides len bytes: sets rndv.n_rails and
 * rndv.is_short. is_staged: the sender copies the data from device
 * memory. */
void weft_rndv_seg_divide(struct weft_req *req, size_t len, bool is_staged);

/* Called when the FIN of a send arrives, or its receiver has failed. err is not
 * 0 if the receiver could not receive the data. Returns false if the send does
 * not wait for a FIN. */
bool weft_rndv_seg_answer(struct weft_req *req, int err);

/* Called when the sender could not send the data. Cancels the segments that
 * this receive expects; the receive completes with err. */
void weft_rndv_seg_withdraw(struct weft_req *req, int err);

/* Transfers the first `total` bytes of a rendezvous over the fabric. req is the
 * announced send or the matched receive; a receive sends CTS. The request
 * completes after the last segment. */
void weft_rndv_seg_start(struct weft_req *req, size_t total);

/* Completes the segments in flight to or from a peer that died, immediately or
 * soon after. */
void weft_rndv_seg_fail(struct weft_peer *peer);

/* Handles a fragment that arrived over the fabric, with len bytes of data: a
 * part of a segment that may be lost. */
void weft_rndv_seg_on_frag(struct weft_peer *peer,
	const struct weft_wire_frag *frag, const void *data, size_t len);

/* ---- unmatched.c ---- */

/* Refuses and frees an unexpected announced message, if no receive can match it
 * any more. */
void weft_unmatched_check(struct weft_message *message);

/* Notifies the receiver of a pending send that the sender will not cancel it.
 */
void weft_unmatched_send_last(struct weft_req *req);

/* Called when the sender of an announced message reports that it will not
 * cancel the send. */
void weft_unmatched_on_last(struct weft_comm *comm, struct weft_peer *peer,
	uint64_t ctx, uint64_t sreq);

/* Called when the receiver of an announced send is in disconnect and has
 * refused the message. Completes the send with an error. coll_err is the error
 * of a collective at the receiver, or 0. */
void weft_unmatched_on_refused(struct weft_req *req, int coll_err);

/* ---- cancel.c ---- */

/* Tries to cancel a send:
 * - A queued send is cancelled immediately.
 * - For an eager or announced send, sends CANCEL. is_cancelling is set until
 *   the receiver has answered.
 * - A send whose data is being transferred, or that has failed, is not
 *   cancelled. */
void weft_cancel_send(struct weft_req *req);

/* Stops waiting for the answer to a CANCEL, because the peer has failed.
 * Returns true if the caller must not complete the send, because the fabric
 * will complete it. */
bool weft_cancel_give_up(struct weft_req *req);

/* ---- relay.c ---- */

/* Sends a notice about the communicator to the peer. */
typedef void weft_relay_fn(
	const struct weft_comm *comm, struct weft_peer *peer);

/* Calls fn for each neighbour of this process in comm; for some neighbours
 * twice. comm has been created completely. */
void weft_relay(struct weft_comm *comm, weft_relay_fn *fn);

/* Called when process proc has failed. Calls fn for each member that replaces
 * the process as a neighbour. */
void weft_relay_replace(
	struct weft_comm *comm, uint64_t proc, weft_relay_fn *fn);

/* ---- revoke_send.c ---- */

/* Sends REVOKE to the members that this member must notify. */
void weft_revoke_forward(struct weft_comm *comm);

/* Sends REVOKE to the peer, for the communicator with this context id. */
void weft_revoke_post(struct weft_peer *peer, uint64_t ctx);

/* If the communicator is revoked, sends REVOKE to the peer again. So REVOKE
 * arrives before the next message that this process sends to the peer. */
void weft_revoke_repeat(const struct weft_comm *comm, struct weft_peer *peer);

/* Refuses an announced message on a revoked communicator. */
void weft_revoke_refuse(
	const struct weft_comm *comm, struct weft_peer *peer, uint64_t sreq);

/* Called when a process has failed. If the communicator is revoked and the
 * process is a neighbour (relay.c), sends REVOKE to the neighbours that replace
 * the process, because it may have failed before it forwarded REVOKE. */
void weft_revoke_on_failed(struct weft_comm *comm, uint64_t proc);

/* ---- failure.c, departed.c ---- */

/* Ends all requests that wait for a peer that died, with peer->err. */
void weft_failure_peer(struct weft_peer *peer);

/* True if the peer is a member of a communicator that is not closing. */
bool weft_failure_needs_peer(const struct weft_peer *peer);

/* Cancels an announced send of a collective or of a control message, if its
 * receiver will not receive it because a member has failed. */
void weft_failure_cancel(struct weft_req *req);

/* Called when another member reports that a process has died; `failed` is its
 * number + 1, or 0 for none. The process is a member of comm, or of the
 * intercommunicator whose local communicator is comm. */
void weft_failure_record(struct weft_comm *comm, uint64_t failed);

/* Called when the program waits for a request. Ends a request that only a
 * departed process could complete: a receive completes with an error. An
 * announced send completes when the departed process has refused the message,
 * or immediately if a member has died. */
void weft_departed_on_wait(struct weft_req *req);

/* ---- departed_send.c ---- */

/* Sets the value that weft_p2p_departed() returns. False: out of memory. */
bool weft_departed_set(struct weft_comm *comm, int32_t rank, int value);

/* Answers a query of the watchdog of a process that waits for this one. Repeats
 * the notice if this process has departed: DEPARTED or the WATCH may be lost.
 */
enum weft_wire_met weft_departed_on_query(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t asker,
	uint32_t *owner_out);

/* Called when the peer has sent a message on a communicator, or requests
 * DEPARTED for it. If this process has departed from the communicator, notifies
 * the peer: sends DEPARTED, or REVOKE if the communicator was revoked. ctx has
 * no offset. */
void weft_departed_answer(
	struct weft_vci *vci, struct weft_peer *peer, uint64_t ctx);

/* ---- rndv.c ---- */

/* Returns the milliseconds since a fixed time. */
static inline uint32_t weft_rndv_now_ms(void)
{
	return (uint32_t)(weft_now_ns() / (WEFT_NS_PER_S / 1000));
}

/* Returns the active request that a message of the peer names, or NULL. The
 * request must have this kind and this peer, and must not be in the queue of
 * the peer. A send must have been announced. */
struct weft_req *weft_rndv_find(
	struct weft_peer *peer, uint64_t handle, enum weft_req_kind kind);

/* Sends RTS. The data stays here until the receiver reads it or sends CTS. 1:
 * the send was announced, and completes later or has completed; or WEFT_AGAIN
 * or an error. */
int weft_rndv_announce(struct weft_req *req);

/* The content of an RTS. */
struct weft_rndv_announced {
	uint64_t sreq, addr;
	size_t len;
	const struct weft_wire_device *device; /* NULL: data in host memory */
};

/* Starts the transfer of the data of a rendezvous into a matched receive. */
void weft_rndv_pull(struct weft_req *req, struct weft_peer *peer,
	const struct weft_rndv_announced *announced);

/* ---- rndv_dev.c ---- */

/* Fills the part of an RTS that describes device memory. False if the data of
 * this send must be copied to host memory: its receiver cannot map it. */
bool weft_rndv_dev_export(
	const struct weft_req *req, struct weft_wire_device *device_out);

/* Copies len bytes of the data of a send in device memory, from `offset` on, to
 * host memory (req->staging). No effect if there is a copy. 0 or a described
 * error. */
int weft_rndv_dev_stage(struct weft_req *req, size_t offset, size_t len);

/* Frees this copy, if there is one. */
void weft_rndv_dev_unstage(struct weft_req *req);

/* Returns the device memory of the data of a request, from `offset` on. NULL:
 * the data is in host memory, or a receive must copy it as a whole. The buffer
 * of a receive is the shadow of this memory. */
char *weft_rndv_dev_at(const struct weft_req *req, size_t offset);

/* True if the fabric reads and writes device memory, so no segment passes
 * through host memory. */
bool weft_rndv_dev_is_direct(const struct weft_vci *vci);

/* Registers device memory for such a fabric. False: the data must pass through
 * host memory. The caller owns *mr_out (weft_mr_put). */
bool weft_rndv_dev_register(struct weft_vci *vci, struct weft_net *net,
	char *at, size_t len, struct weft_mr **mr_out);

/* Copies len bytes of a shadow to its device memory. 0 or a described error. */
int weft_rndv_dev_write(const void *at, size_t len);

/* Called when a receive with such memory completes with status.err. If this is
 * no error but WEFT_ERR_TRUNCATE, all data is in device memory, and the shadow
 * is not copied any more. */
void weft_rndv_dev_written(const struct weft_req *req);

/* True if the data that an RTS announces is within its allocation. */
bool weft_rndv_dev_is_valid(
	const struct weft_wire_device *device, const struct weft_wire_rts *rts);

/* Copies the first len bytes of the announced device memory into the buffer of
 * a receive, soon after. Then calls copied(). Its error is WEFT_ERR_ACCESS if
 * the data must be requested through host memory. On WEFT_ERR_NOMEM, copied()
 * is not called. */
int weft_rndv_dev_pull(struct weft_req *req,
	const struct weft_rndv_announced *announced, size_t len,
	weft_rndv_copied_fn *copied);

/* ---- send.c, recv.c ---- */

/* Both functions start a filled request. On an error, the request has completed
 * with it. */
int weft_send_start(struct weft_req *req);
int weft_recv_start(struct weft_req *req);

/* Delivers an unexpected message to a receive and frees the message. The caller
 * has acquired the library's reference of req. */
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
weft_wire_fn weft_departed_on_departed, weft_departed_on_watch;
weft_wire_fn weft_revoke_on_revoke;

#endif
