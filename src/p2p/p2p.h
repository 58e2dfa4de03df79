/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p: two-sided messages, as upper rooms call them
 *
 * The caller has checked the arguments: the rank is in range, WEFT_PROC_NULL or
 * (for receives) WEFT_ANY_SOURCE; the type is committed; count is not negative.
 * A function acquires the VCI's lock unless its name ends in _locked or its
 * contract says otherwise. The caller keeps the buffer of a started operation
 * valid until the request is done. If a receive fails (WEFT_ERR_TRUNCATE), the
 * error is in its status; the blocking forms return it too. */
#ifndef WEFT_P2P_H
#define WEFT_P2P_H

#include "core/comm.h"
#include "core/req.h"
#include "core/status.h"
#include "dt/type.h"

#include <stdbool.h>
#include <stdint.h>

/* One message to send, or one receive to post. */
struct weft_msg {
	struct weft_comm *comm;
	void *buf; /* a send only reads it */
	int64_t count;
	struct weft_type *type;
	int32_t rank; /* destination, or the source to match */
	int32_t tag;
	enum weft_ctx_offset ctx_offset;
	enum weft_send_mode mode;
};

/* True if a message, whose buffer is in device memory, is sent from there: the
 * message is contiguous and longer than eager messages, and its receiver is
 * another process. Such a message may have any mode but WEFT_SEND_BUFFERED,
 * which WEFT_SEND_DEVICE replaces. */
bool weft_send_is_direct(const struct weft_msg *msg) __attribute__((cold));

/* As weft_send_is_direct(), with the VCI's lock held. */
bool weft_send_is_direct_locked(const struct weft_msg *msg)
	__attribute__((cold));

/* weft_send() and weft_recv() block until the operation is complete. */
int weft_send(const struct weft_msg *msg);
int weft_recv(const struct weft_msg *msg, struct weft_status *status_out);

/* Both functions start an operation. *req_out has one reference, which the
 * caller owns. */
int weft_isend(const struct weft_msg *msg, struct weft_req **req_out);
int weft_irecv(const struct weft_msg *msg, struct weft_req **req_out);

/* As weft_isend(), with the VCI's lock held; for collectives and control
 * messages. */
int weft_isend_locked(const struct weft_msg *msg, struct weft_req **req_out);
/* Sends the message if it fits into the ring of a process of this node now.
 * Then it needs no request. Returns true if the message was sent. */
bool weft_send_try_locked(const struct weft_msg *msg);
/* As weft_irecv(), with the VCI's lock held; for collectives and control
 * messages. */
int weft_irecv_locked(const struct weft_msg *msg, struct weft_req **req_out);

/* For collectives and control messages: sends err in place of a message that
 * cannot be sent. The matching receive completes with err. Never blocks. */
void weft_send_coll_error_locked(const struct weft_msg *msg, int err);

/* Posts a receive for a message that is no longer needed. The message is
 * dropped when it arrives. */
void weft_recv_drop_locked(const struct weft_msg *msg);

/* Drops an arrived message that has the source and the collective's number of
 * this receive, but belongs to another kind of collective. Sets *tag_out to the
 * tag of the message, which names that collective. False if there is no such
 * message.
 *
 * If such a message arrives after the receive was posted, the receive completes
 * with WEFT_ERR_NOT_SAME. The status of the receive then has the tag and the
 * source of the message. */
bool weft_recv_other_locked(const struct weft_msg *msg, int32_t *tag_out);

/* Whether a rank has departed. A negative value: it has departed, and its last
 * collective returned this error. */
enum { WEFT_DEPARTED_UNKNOWN, WEFT_DEPARTED, WEFT_DEPARTED_WATCHED };

/* VCI's lock held. */
static inline int weft_p2p_departed(const struct weft_comm *comm, uint32_t rank)
{
	return (int)(intptr_t)weft_map_get(
		&comm->p2p.departed, (uint64_t)rank + 1);
}

/* True if the rank has departed from comm, and this process was notified. VCI's
 * lock held. */
static inline bool weft_p2p_has_departed(
	const struct weft_comm *comm, uint32_t rank)
{
	int value = weft_p2p_departed(comm, rank);

	return value == WEFT_DEPARTED || value < 0;
}

/* Called while this process waits for `rank`. If a member of comm has failed,
 * requests that the rank notifies this process of its departure, or that it has
 * departed already. Sends one message for each rank of comm, and repeats it
 * after ten seconds. May fail the peer of the rank. VCI's lock held. */
void weft_departed_watch(struct weft_comm *comm, int32_t rank);

/* As weft_departed_watch(), for a test that has not found req complete. May
 * complete req. */
void weft_departed_poll(const struct weft_req *req);

/* Returns 0 if more messages from `rank` may arrive on comm. Otherwise returns
 * an error that describes why not. WEFT_ANY_SOURCE: why no other member sends
 * any. VCI's lock held. */
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
 * wait for the other members. Acquires the lock of each VCI of the
 * communicator. */
void weft_revoke(struct weft_comm *comm);

/* As weft_revoke(), for a communicator on one VCI, whose lock is held. */
void weft_revoke_locked(struct weft_comm *comm);

/* Called when another member reports that the communicator is revoked. VCI's
 * lock held. */
void weft_revoke_arrive_locked(struct weft_comm *comm);

/* Returns WEFT_ERR_REVOKED and describes it. Acquires no lock. */
int weft_comm_revoked(const struct weft_comm *comm);

/* As weft_req_wait_in(), for a call that must not return with an active
 * receive. If weft_failure_is_pending() becomes true, the receive completes
 * with WEFT_ERR_PEER. VCI's lock held. */
void weft_recv_wait_more(
	struct weft_vci *vci, struct weft_req *req, const char *call);

static inline void weft_recv_wait_in(
	struct weft_vci *vci, struct weft_req *req, const char *call)
{
	if (!req->is_done)
		weft_recv_wait_more(vci, req, call);
}

/* True for an active receive from any source on a communicator with a failure,
 * or a request that waits for one, in two cases:
 * - The program has not acknowledged the failure. A wait for this receive, or a
 *   test, returns WEFT_ERR_FAILED_PENDING.
 * - All other members have failed or departed. A test returns this error. A
 *   wait has ended the receive (vci->on_wait).
 * The receive remains active. VCI's lock held. */
bool weft_failure_is_pending(const struct weft_req *req);

/* Returns WEFT_ERR_FAILED_PENDING and describes the failed member. VCI's lock
 * held. */
int weft_failure_describe_pending(const struct weft_comm *comm);

/* Ends a request that is not expected to match. A posted receive completes with
 * err immediately. An announced send is cancelled, and completes with err
 * unless the receiver has received the message. Any other request continues.
 * VCI's lock held. */
void weft_cancel_unreceivable(struct weft_req *req, int err);

/* Both functions create a persistent request, inactive at first.
 * weft_req_start() (core/req.h) starts the request, any number of times. */
int weft_send_init(const struct weft_msg *msg, struct weft_req **req_out);
int weft_recv_init(const struct weft_msg *msg, struct weft_req **req_out);

/* Starts a send and a receive as one request. The request has the status of the
 * receive. With is_replace, the function copies the data to send first, so that
 * the send and the receive may use the same buffer. */
int weft_isendrecv(const struct weft_msg *send, const struct weft_msg *recv,
	bool is_replace, struct weft_req **req_out);

/* Both functions create a partitioned request, inactive at first. Each of the
 * n_parts partitions has the count of msg. Sends and receives match in the
 * order of these calls. The rank and the tag must not be wildcards. */
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
 * error ("cancelled", "freed"). */
int weft_part_check_over(const struct weft_req *req, const char *what);

/* Tries to cancel a send or receive. The request completes in either case;
 * status.is_cancelled is the result. Returns 0. */
int weft_req_cancel(struct weft_req *req);

/* As weft_req_cancel(), with the VCI's lock held. */
void weft_req_cancel_locked(struct weft_req *req);

/* A message that weft_mprobe() has removed from matching. weft_imrecv_take()
 * receives the message. Its handle is in table weft_messages. */
struct weft_message;
extern struct weft_table weft_messages;

/* Probes for a message. Sets *found_out if a message has arrived. With
 * is_blocking, waits for a message. If no message is found, fails if the
 * communicator is revoked, or if `rank` has failed or departed. A probe from
 * any source fails if a member has failed and the program has not acknowledged
 * that. */
int weft_probe(struct weft_comm *comm, int32_t rank, int32_t tag,
	bool is_blocking, bool *found_out, struct weft_status *status_out);

/* As weft_probe(), and removes the message from matching. *message_out is NULL
 * if no message was found. The caller owns the message until it receives the
 * message. */
int weft_mprobe(struct weft_comm *comm, int32_t rank, int32_t tag,
	bool is_blocking, struct weft_message **message_out,
	struct weft_status *status_out);

/* Starts to receive a probed message, and frees it. WEFT_ERR_NOMEM: the message
 * is unchanged. */
int weft_imrecv_take(struct weft_message *message, void *buf, int64_t count,
	struct weft_type *type, struct weft_req **req_out);

/* Returns the communicator of a probed message. Acquires no lock. */
struct weft_comm *weft_message_comm(struct weft_message *message);

/* Buffers for buffered sends. A communicator, a session and the process each
 * have a pointer to their attached buffer, which is NULL while no buffer is
 * attached. The parameter `place` is the address of this pointer. When all
 * sends of a buffer have completed, the buffer is one block of memory, which
 * the owner of the pointer frees with free(). */
struct weft_bsend;

enum { WEFT_BSEND_PLACES = 3 };

/* The pointers to attached buffers that a send tries, in this order. An entry
 * may be NULL. The send uses the first attached buffer. */
struct weft_bsend_places {
	struct weft_bsend **at[WEFT_BSEND_PLACES];
};

/* Attaches a buffer, which the library uses until it is detached.
 * WEFT_ERR_BUFFER if a buffer is attached already. With is_auto, the library
 * copies messages to the heap: then it does not use addr and len, and only
 * returns them at detach. */
int weft_bsend_attach(struct weft_vci *vci, struct weft_bsend **place,
	void *addr, size_t len, bool is_auto);

/* Blocks until all messages in the buffer have been sent, then detaches the
 * buffer. WEFT_ERR_BUFFER if no buffer is attached. If the watchdog ends the
 * wait, returns an error. Then the send of one message was ended, the other
 * messages remain, and the buffer remains attached. */
int weft_bsend_detach(struct weft_vci *vci, struct weft_bsend **place,
	void **addr_out, size_t *len_out, bool *is_auto_out);

/* Blocks until all messages that are in the buffer now have been sent, for the
 * call of this name. Errors as weft_bsend_detach(). No effect without a buffer.
 */
int weft_bsend_flush(struct weft_vci *vci, struct weft_bsend *const *place,
	const char *call);

/* Creates a request that completes when all messages that are in the buffer now
 * have been sent. */
int weft_bsend_iflush(struct weft_vci *vci, struct weft_bsend *const *place,
	struct weft_req **req_out);

/* Buffered sends, which never wait for the receiver. WEFT_ERR_BUFFER if no
 * buffer is attached or the buffer has not enough free space. The request of
 * weft_ibsend() completes immediately. weft_bsend_init() creates a persistent
 * request. */
int weft_bsend(
	const struct weft_msg *msg, const struct weft_bsend_places *places);
int weft_ibsend(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out);
int weft_bsend_init(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out);

/* weft_p2p_open() creates this room's part of a VCI and installs the handlers,
 * when the VCI opens. 0 or WEFT_ERR_NOMEM. weft_p2p_close() frees the part,
 * after the VCI was closed. Neither acquires the lock. */
int weft_p2p_open(struct weft_vci *vci);
void weft_p2p_close(struct weft_vci *vci);

/* Sends a control message to a process that may not share a communicator with
 * this process yet (creation of a communicator). Copies payload; never blocks.
 * 0 or WEFT_ERR_NOMEM. VCI's lock held. */
int weft_p2p_control_locked(struct weft_vci *vci, uint64_t proc,
	enum weft_wire_op op, const void *payload, size_t len);

/* True if no message that this process sent on comm needs this process any
 * more: each rendezvous is finished, queues are empty, and the receivers have
 * confirmed the messages over the fabric. If a confirmation is missing, the
 * function sends a PING to that receiver, unless a PING after the last message
 * was sent before. VCI's lock held. */
bool weft_p2p_is_flushed_locked(struct weft_comm *comm);

/* True if a message with this source and tag has arrived and is unexpected.
 * VCI's lock held. */
bool weft_p2p_has_arrived_locked(const struct weft_comm *comm,
	enum weft_ctx_offset ctx_offset, int32_t rank, int32_t tag);

/* Called when member `rank` has departed, and all its messages have arrived. A
 * request that no remaining member can complete ends with an error:
 * - a receive of a collective ends immediately;
 * - any other request ends when the program waits for it, because the program
 *   may cancel it before. It ends immediately if a member has died.
 *
 * coll_err is the error of a collective at the departed member, or 0. Receives
 * of collectives complete with it. VCI's lock held. */
void weft_p2p_departed_locked(
	struct weft_comm *comm, int32_t rank, int coll_err);

/* weft_p2p_send_departed_locked() notifies members that this process sends no
 * more messages on comm. These are the live members that have not departed and
 * have exchanged a message with this process, or all live members that have not
 * departed (departed.c). weft_p2p_is_departed_sent_locked() returns true when
 * each of these members was notified and has answered all pings, or has failed.
 * VCI's lock held. */
void weft_p2p_send_departed_locked(struct weft_comm *comm);
bool weft_p2p_is_departed_sent_locked(struct weft_comm *comm);

/* True if the process manager may soon report the failure of the failed member
 * of comm to all members. After the report, weft_p2p_send_departed_locked()
 * notifies only members that have exchanged a message with this process. VCI's
 * lock held. */
bool weft_p2p_may_be_reported_locked(const struct weft_comm *comm);

/* Ends the sends on comm that can never match. Notifies the receivers of
 * announced sends that this process will not cancel the sends, and refuses the
 * announced messages of other members. The program makes no further call on
 * comm (is_disconnected is set). May be called again, and is fast if there is
 * no such send. VCI's lock held. */
void weft_p2p_leave_locked(struct weft_comm *comm);

/* Only refuses the announced messages of other members, as
 * weft_p2p_leave_locked() does. This suffices once all messages that this
 * process sent have arrived. VCI's lock held. */
void weft_p2p_refuse_locked(struct weft_comm *comm);

enum weft_unmatched_kind {
	WEFT_UNMATCHED_NONE,
	WEFT_UNMATCHED_RECV,	/* a receive that never matched */
	WEFT_UNMATCHED_ACTIVE,	/* a persistent or partitioned request that was
				   started and not completed */
	WEFT_UNMATCHED_MESSAGE, /* a message that was never received */
	WEFT_UNMATCHED_HANDLE,	/* a message that a probe matched and that was
				   never received */
	WEFT_UNMATCHED_PARTITION, /* a partition that was never received */
	WEFT_UNMATCHED_SEND,	  /* a send that was never received */
	WEFT_UNMATCHED_BUFFERED,  /* a buffered send that was never received */
	WEFT_UNMATCHED_COLL,	  /* a collective that did not complete */
	WEFT_UNMATCHED_COLL_DATA, /* data of a collective that this process did
				     not call */
	WEFT_UNMATCHED_DONE,	  /* a complete request that the program never
				     waited for or freed */
};

/* A message or request that is left on a communicator when it is closed. */
struct weft_unmatched {
	enum weft_unmatched_kind kind;
	bool is_send; /* ACTIVE, DONE: the request is a send */
	int32_t rank; /* source or destination; may be a wildcard */
	int32_t tag;
	uint64_t len; /* bytes of the message or of the receive buffer */
};

/* weft_p2p_unmatched_locked() calls fn for each message or request that is
 * left. VCI's lock held; fn starts no operation. */
typedef void weft_unmatched_fn(const struct weft_unmatched *left, void *arg);
void weft_p2p_unmatched_locked(
	struct weft_comm *comm, weft_unmatched_fn *fn, void *arg);

/* Frees all remaining messages, including probed messages. Posted receives
 * complete with WEFT_ERR_COMM, or with WEFT_ERR_PEER if a member has failed.
 * VCI's lock held. */
void weft_p2p_purge_locked(struct weft_comm *comm);

#endif
