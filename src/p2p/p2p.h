/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p: two-sided messages, as upper rooms call them
 *
 * The caller has checked the arguments: the rank is in range, WEFT_PROC_NULL or
 * (for receives) WEFT_ANY_SOURCE; the type is committed; count is not negative.
 * A function acquires the VCI's lock unless its name ends in _locked or its
 * comment says otherwise. The caller keeps the buffer of a started operation
 * valid until the request is done. The error of a receive (WEFT_ERR_TRUNCATE)
 * is in its status, and the blocking forms return it too. */
#ifndef WEFT_P2P_H
#define WEFT_P2P_H

#include "core/comm.h"
#include "core/req.h"
#include "core/status.h"
#include "dt/type.h"

#include <stdbool.h>
#include <stdint.h>

enum weft_send_mode {
	WEFT_SEND_STANDARD,
	WEFT_SEND_SYNC,
	WEFT_SEND_READY,
	WEFT_SEND_BUFFERED, /* the data is in an attached buffer already */
};

/* One message to send, or one receive to post. */
struct weft_msg {
	struct weft_comm *comm;
	void *buf; /* a send only reads it */
	int64_t count;
	struct weft_type *type;
	int32_t rank; /* destination, or source to match */
	int32_t tag;
	enum weft_ctx_offset ctx_offset;
	enum weft_send_mode mode;
};

/* weft_send() and weft_recv() block until the operation is complete. */
int weft_send(const struct weft_msg *msg);
int weft_recv(const struct weft_msg *msg, struct weft_status *status_out);

/* Non-blocking: *req_out has one reference, the caller's. */
int weft_isend(const struct weft_msg *msg, struct weft_req **req_out);
int weft_irecv(const struct weft_msg *msg, struct weft_req **req_out);

/* As weft_isend(), with the VCI's lock held; for collectives and control. */
int weft_isend_locked(const struct weft_msg *msg, struct weft_req **req_out);
/* Sends the message if no request is needed. Returns true if it was sent. */
bool weft_send_try_locked(const struct weft_msg *msg);
/* As weft_irecv(), with the VCI's lock held; for collectives and control. */
int weft_irecv_locked(const struct weft_msg *msg, struct weft_req **req_out);

/* For collectives and control: sends err in place of a message that cannot be
 * sent. The matching receive completes with err. Never blocks. */
void weft_send_coll_error_locked(const struct weft_msg *msg, int err);

/* Posts a receive for a message that is no longer needed. The message is
 * dropped when it arrives. */
void weft_recv_drop_locked(const struct weft_msg *msg);

/* Drops an arrived message of another collective with the source and number of
 * this receive. Sets *tag_out to the tag of the message, which names that
 * collective. False if there is no such message. If such a message arrives
 * after the receive was posted, the receive completes with WEFT_ERR_NOT_SAME.
 * Its status has the tag and the source of the message. */
bool weft_recv_other_locked(const struct weft_msg *msg, int32_t *tag_out);

/* Returns 0, or an error that describes why `rank` sends no more messages on
 * comm. WEFT_ANY_SOURCE: why no other member sends. VCI's lock held. */
int weft_departed_source(const struct weft_comm *comm, int32_t rank);

/* As weft_departed_source(), for a send or receive of a collective. If the rank
 * departed from comm after a collective had failed at that rank, returns the
 * error of that collective. */
int weft_departed_member(const struct weft_comm *comm, int32_t rank);

/* If a request completed with WEFT_ERR_PEER, describes the error again: the
 * description names the failed rank that the request needed, or a failed member
 * of its communicator. Other errors keep their descriptions. VCI's lock held.
 */
void weft_failure_explain(const struct weft_req *req);

/* Revokes a communicator at all live members. Operations that have not matched
 * complete with WEFT_ERR_REVOKED, and later operations fail with it. Does not
 * wait. Takes the lock of each VCI of the communicator. */
void weft_revoke(struct weft_comm *comm);

/* Called when another member reports that the communicator is revoked. VCI's
 * lock held. */
void weft_revoke_arrive_locked(struct weft_comm *comm);

/* Returns WEFT_ERR_REVOKED and describes it. */
int weft_comm_revoked(const struct weft_comm *comm);

/* As weft_req_wait_in(), for a call that must not return with an active
 * receive. A receive from any source also completes if a member has failed.
 * VCI's lock held. */
void weft_recv_wait_more(
	struct weft_vci *vci, struct weft_req *req, const char *call);

static inline void weft_recv_wait_in(
	struct weft_vci *vci, struct weft_req *req, const char *call)
{
	if (!req->is_done)
		weft_recv_wait_more(vci, req, call);
}

/* True for an active receive from any source on a communicator with a failure
 * that the program has not acknowledged. A wait for this receive returns
 * WEFT_ERR_FAILED_PENDING, and the receive remains active. VCI's lock held,
 * here and below. */
bool weft_failure_is_pending(const struct weft_req *req);

/* Returns WEFT_ERR_FAILED_PENDING and describes the failed member. */
int weft_failure_describe_pending(const struct weft_comm *comm);

/* Completes a request with err, immediately or soon after. The request can
 * never complete otherwise. VCI's lock held. */
void weft_cancel_unreceivable(struct weft_req *req, int err);

/* Both functions create a persistent request, inactive at first.
 * weft_req_start() (core/req.h) starts the request any number of times. */
int weft_send_init(const struct weft_msg *msg, struct weft_req **req_out);
int weft_recv_init(const struct weft_msg *msg, struct weft_req **req_out);

/* Starts a send and a receive as one request. The request has the status of the
 * receive. With is_replace, the data to send is copied first, so that the send
 * and the receive may use the same buffer. */
int weft_isendrecv(const struct weft_msg *send, const struct weft_msg *recv,
	bool is_replace, struct weft_req **req_out);

/* Both functions create a partitioned request, inactive at first. Each of the
 * n_parts partitions has the count of msg. Sends and receives match in the
 * order of these calls. No wildcards. */
int weft_psend_init(
	const struct weft_msg *msg, int32_t n_parts, struct weft_req **req_out);
int weft_precv_init(
	const struct weft_msg *msg, int32_t n_parts, struct weft_req **req_out);

/* Marks partitions first to last of an active send as ready. WEFT_ERR_REQUEST
 * for another kind of request; WEFT_ERR_ARG if a partition is out of range or
 * was marked before. */
int weft_pready(struct weft_req *req, int32_t first, int32_t last);

/* Sets *arrived_out to true if partition k of a receive has arrived, or if the
 * receive is inactive. */
int weft_parrived(struct weft_req *req, int32_t k, bool *arrived_out);

/* Returns WEFT_ERR_REQUEST if req is partitioned, active and not complete. Such
 * a request cannot be cancelled or freed; `what` names the operation in the
 * error ("cancelled", "freed"). Acquires the VCI's lock. */
int weft_part_check_over(const struct weft_req *req, const char *what);

/* Tries to cancel a send or receive. The request completes in either case;
 * status.is_cancelled is the result. Acquires the VCI's lock. */
int weft_req_cancel(struct weft_req *req);

/* As weft_req_cancel(), with the VCI's lock held. */
void weft_req_cancel_locked(struct weft_req *req);

/* A message that weft_mprobe() has removed from matching. weft_imrecv_take()
 * receives it. Its handle is in table weft_messages. */
struct weft_message;
extern struct weft_table weft_messages;

/* Probes for a message. Sets *found_out if a message has arrived. With
 * is_blocking, waits for a message. Fails if only a failed process could send a
 * matching message. */
int weft_probe(struct weft_comm *comm, int32_t rank, int32_t tag,
	bool is_blocking, bool *found_out, struct weft_status *status_out);

/* As weft_probe(), and removes the message from matching. The caller owns
 * *message_out until it receives the message. */
int weft_mprobe(struct weft_comm *comm, int32_t rank, int32_t tag,
	bool is_blocking, struct weft_message **message_out,
	struct weft_status *status_out);

/* Starts to receive a probed message, and frees it. WEFT_ERR_NOMEM: the message
 * is unchanged. */
int weft_imrecv_take(struct weft_message *message, void *buf, int64_t count,
	struct weft_type *type, struct weft_req **req_out);

/* The communicator of a probed message. */
struct weft_comm *weft_message_comm(struct weft_message *message);

/* Buffers for buffered sends. A place is a pointer to the attached buffer, in a
 * communicator, a session or the process. It is NULL while no buffer is
 * attached. When all sends of a buffer have completed, the buffer is one block
 * of memory, and the owner of the place frees it with free(). */
struct weft_bsend;

enum { WEFT_BSEND_PLACES = 3 };

/* The places that a send tries, in this order; some may be NULL. */
struct weft_bsend_places {
	struct weft_bsend **at[WEFT_BSEND_PLACES];
};

/* Attaches a buffer, which the library uses until it is detached.
 * WEFT_ERR_BUFFER if a buffer is attached already. With is_auto, the library
 * copies messages to the heap. Then addr and len are not used, and detach
 * returns them. */
int weft_bsend_attach(struct weft_vci *vci, struct weft_bsend **place,
	void *addr, size_t len, bool is_auto);

/* Blocks until all messages in the buffer were sent, then detaches it.
 * WEFT_ERR_BUFFER if no buffer is attached. */
int weft_bsend_detach(struct weft_vci *vci, struct weft_bsend **place,
	void **addr_out, size_t *len_out, bool *is_auto_out);

/* Creates a request that completes when all messages that are in the buffer now
 * were sent. */
int weft_bsend_iflush(struct weft_vci *vci, struct weft_bsend *const *place,
	struct weft_req **req_out);

/* Buffered sends, which never wait for the receiver. WEFT_ERR_BUFFER if the
 * buffer has not enough space. The request of weft_ibsend() completes
 * immediately. weft_bsend_init() creates a persistent request. */
int weft_bsend(
	const struct weft_msg *msg, const struct weft_bsend_places *places);
int weft_ibsend(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out);
int weft_bsend_init(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out);

/* weft_p2p_open() creates this room's part of a VCI and installs the handlers;
 * called when the VCI opens. 0 or WEFT_ERR_NOMEM. weft_p2p_close() frees the
 * part. */
int weft_p2p_open(struct weft_vci *vci);
void weft_p2p_close(struct weft_vci *vci);

/* Sends a control message to a process that may not share a communicator with
 * this process yet (creation). Copies payload; never blocks. VCI's lock held.
 */
int weft_p2p_control_locked(struct weft_vci *vci, uint64_t proc,
	enum weft_wire_op op, const void *payload, size_t len);

/* True if no message that this process sent on comm needs this process any
 * more: each rendezvous is finished, queues are empty, and the receivers have
 * confirmed the messages over the fabric. If a confirmation is missing, the
 * function sends a PING to that receiver. VCI's lock held. */
bool weft_p2p_is_flushed_locked(struct weft_comm *comm);

/* True if a message with this source and tag has arrived and is unexpected.
 * VCI's lock held. */
bool weft_p2p_has_arrived_locked(const struct weft_comm *comm,
	enum weft_ctx_offset ctx_offset, int32_t rank, int32_t tag);

/* Called when member `rank` has departed, and all its messages have arrived.
 * A request that no remaining member can complete ends with an error:
 * - parts of collectives immediately,
 * - other requests when the program waits for them, because it may cancel them
 *   before; immediately if a member has died.
 *
 * coll_err is the error of a collective at the departed member, or 0. Parts of
 * collectives complete with it. VCI's lock held. */
void weft_p2p_departed_locked(
	struct weft_comm *comm, int32_t rank, int coll_err);

/* weft_p2p_send_departed_locked() notifies all live members that have not
 * departed: this process sends no more messages on comm.
 * weft_p2p_is_departed_sent_locked() returns true when each of these members
 * was notified and has answered all pings, or has failed. VCI's lock held. */
void weft_p2p_send_departed_locked(struct weft_comm *comm);
bool weft_p2p_is_departed_sent_locked(const struct weft_comm *comm);

/* Completes the sends of this process and of other members that can never be
 * matched. The program makes no further call on comm (is_disconnected is set).
 * May be called again, and is fast if there is no such send. VCI's lock held.
 */
void weft_p2p_leave_locked(struct weft_comm *comm);

/* Completes only the sends of other members, as weft_p2p_leave_locked() does.
 * This suffices once all messages that this process sent have arrived. VCI's
 * lock held. */
void weft_p2p_refuse_locked(struct weft_comm *comm);

enum weft_unmatched_kind {
	WEFT_UNMATCHED_NONE,
	WEFT_UNMATCHED_RECV,	  /* a receive never matched */
	WEFT_UNMATCHED_ACTIVE,	  /* a persistent or partitioned request started
				     and not completed */
	WEFT_UNMATCHED_MESSAGE,	  /* a message never received */
	WEFT_UNMATCHED_HANDLE,	  /* a message matched by a probe and never
				     received */
	WEFT_UNMATCHED_PARTITION, /* a partition of a message, never received */
	WEFT_UNMATCHED_SEND,	  /* a send never received */
	WEFT_UNMATCHED_BUFFERED,  /* a buffered send never received */
	WEFT_UNMATCHED_COLL,	  /* a collective not completed */
	WEFT_UNMATCHED_COLL_DATA, /* data of a collective that this process did
				     not call */
	WEFT_UNMATCHED_DONE,	  /* a complete request that the program never
				     waited for or freed */
};

/* A message or request that is left on a communicator after all members have
 * departed. */
struct weft_unmatched {
	enum weft_unmatched_kind kind;
	bool is_send; /* ACTIVE, DONE: the request is a send */
	int32_t rank; /* source or destination; may be a wildcard */
	int32_t tag;
	uint64_t len; /* bytes; of a receive, the length of its buffer */
};

/* Calls fn for each message or request that is left. VCI's lock held; fn starts
 * no operation. */
typedef void weft_unmatched_fn(const struct weft_unmatched *left, void *arg);
void weft_p2p_unmatched_locked(
	struct weft_comm *comm, weft_unmatched_fn *fn, void *arg);

/* Frees all remaining messages, including probed messages. Completes posted
 * receives with WEFT_ERR_COMM. VCI's lock held. */
void weft_p2p_purge_locked(struct weft_comm *comm);

#endif
