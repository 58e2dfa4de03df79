/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p: two-sided messages, as upper rooms call them
 *
 * The caller has checked the arguments: the rank is in range, WEFT_PROC_NULL or
 * (for receives) WEFT_ANY_SOURCE; the type is committed; count is not negative.
 * A function takes the VCI's lock unless its name ends in _locked or its
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
	WEFT_SEND_BUFFERED, /* buffer already owned by the library */
};

/* One message to send, or one receive to post. */
struct weft_msg {
	struct weft_comm *comm;
	void *buf; /* const for sends */
	int64_t count;
	struct weft_type *type;
	int32_t rank; /* destination, or source to match */
	int32_t tag;
	enum weft_ctx_offset ctx_offset;
	enum weft_send_mode mode;
};

/* Blocking. */
int weft_send(const struct weft_msg *msg);
int weft_recv(const struct weft_msg *msg, struct weft_status *status_out);

/* Non-blocking: *req_out has one reference, the caller's. */
int weft_isend(const struct weft_msg *msg, struct weft_req **req_out);
int weft_irecv(const struct weft_msg *msg, struct weft_req **req_out);

/* The same with the VCI's lock held, for collectives and control. */
int weft_isend_locked(const struct weft_msg *msg, struct weft_req **req_out);
/* Sends the message if that needs no request: true if it has left. */
bool weft_send_try_locked(const struct weft_msg *msg);
int weft_irecv_locked(const struct weft_msg *msg, struct weft_req **req_out);

/* For collectives and control: sends err in place of a message that cannot be
 * sent. The matching receive completes with err. Never blocks. */
void weft_send_coll_error_locked(const struct weft_msg *msg, int err);

/* Receives and drops a message that is no longer needed, when it arrives. */
void weft_recv_drop_locked(const struct weft_msg *msg);

/* Drops an arrived message of another collective with the source and number of
 * this receive; *tag_out is its tag, which names that collective. False if
 * there is none. A posted receive that such a message finds completes with
 * WEFT_ERR_NOT_SAME, and the message's tag and source in its status. */
bool weft_recv_other_locked(const struct weft_msg *msg, int32_t *tag_out);

/* 0, or the described reason why this rank sends nothing more on comm. VCI's
 * lock held. */
int weft_departed_source(const struct weft_comm *comm, int32_t rank);

/* The same for a part of a collective: if the rank left comm after a collective
 * had failed there, that collective's error. */
int weft_departed_member(const struct weft_comm *comm, int32_t rank);

/* Describes the error of a request that completed with WEFT_ERR_PEER: the
 * failed rank that it needed, or a failed member of its communicator. Keeps the
 * description of other errors. VCI's lock held. */
void weft_failure_explain(const struct weft_req *req);

/* Revokes a communicator at all its members that live: operations that have not
 * matched end with WEFT_ERR_REVOKED, and later ones fail with it. Does not
 * wait. Takes the lock of each VCI of the communicator. */
void weft_revoke(struct weft_comm *comm);

/* Another member reports that the communicator is revoked. VCI's lock held. */
void weft_revoke_arrive_locked(struct weft_comm *comm);

/* Returns WEFT_ERR_REVOKED and describes it. */
int weft_comm_revoked(const struct weft_comm *comm);

/* weft_req_wait_in() for a call that leaves no receive active: a receive from
 * any source ends, too. VCI's lock held. */
void weft_recv_wait_more(
	struct weft_vci *vci, struct weft_req *req, const char *call);

static inline void weft_recv_wait_in(
	struct weft_vci *vci, struct weft_req *req, const char *call)
{
	if (!req->is_done)
		weft_recv_wait_more(vci, req, call);
}

/* True for a receive from any source that waits although the failure of a
 * member is not acknowledged. Waiting for it returns WEFT_ERR_FAILED_PENDING,
 * and it remains active. VCI's lock held, here and below. */
bool weft_failure_is_pending(const struct weft_req *req);

/* Returns WEFT_ERR_FAILED_PENDING and describes the failed member. */
int weft_failure_describe_pending(const struct weft_comm *comm);

/* Completes a request that can never complete otherwise with err, now or soon.
 * VCI's lock held. */
void weft_cancel_unreceivable(struct weft_req *req, int err);

/* Persistent requests, inactive at first; weft_req_start() (core/req.h) starts
 * them any number of times. */
int weft_send_init(const struct weft_msg *msg, struct weft_req **req_out);
int weft_recv_init(const struct weft_msg *msg, struct weft_req **req_out);

/* A send and a receive as one request; its status is the receive's. With
 * is_replace the data to send is copied first, so that both may use one buffer.
 */
int weft_isendrecv(const struct weft_msg *send, const struct weft_msg *recv,
	bool is_replace, struct weft_req **req_out);

/* Partitioned: inactive requests for n_parts times msg's count items, matched
 * in the order of these calls. No wildcards. */
int weft_psend_init(
	const struct weft_msg *msg, int32_t n_parts, struct weft_req **req_out);
int weft_precv_init(
	const struct weft_msg *msg, int32_t n_parts, struct weft_req **req_out);

/* Marks partitions first to last of an active send as ready. WEFT_ERR_REQUEST
 * for another kind of request; WEFT_ERR_ARG if a partition is out of range or
 * was marked before. */
int weft_pready(struct weft_req *req, int32_t first, int32_t last);

/* Whether partition k of a receive has arrived; true while it is inactive. */
int weft_parrived(struct weft_req *req, int32_t k, bool *arrived_out);

/* WEFT_ERR_REQUEST if req is partitioned, active and not complete: it cannot be
 * `what` ("cancelled", "freed"). Takes the VCI's lock. */
int weft_part_check_over(const struct weft_req *req, const char *what);

/* Tries to cancel a send or receive. The request completes in either case;
 * status.is_cancelled is the result. Takes the VCI's lock. */
int weft_req_cancel(struct weft_req *req);
void weft_req_cancel_locked(struct weft_req *req); /* VCI's lock held */

/* A message taken out of matching by weft_mprobe(), to be received by
 * weft_mrecv() or weft_imrecv(). In table weft_messages. */
struct weft_message;
extern struct weft_table weft_messages;

/* Probes for a message; *found_out is true if one has arrived. With is_blocking
 * it waits for one. An error if only a failed process could send it. */
int weft_probe(struct weft_comm *comm, int32_t rank, int32_t tag,
	bool is_blocking, bool *found_out, struct weft_status *status_out);

/* The same, and takes the message out of matching: the caller owns *message_out
 * until it is received. */
int weft_mprobe(struct weft_comm *comm, int32_t rank, int32_t tag,
	bool is_blocking, struct weft_message **message_out,
	struct weft_status *status_out);

/* Receives a probed message and frees it. */
int weft_imrecv_take(struct weft_message *message, void *buf, int64_t count,
	struct weft_type *type, struct weft_req **req_out);

/* The communicator of a probed message. */
struct weft_comm *weft_message_comm(struct weft_message *message);

/* Buffers for buffered sends. A place is a pointer to which a buffer is
 * attached, in a communicator, a session or the process; NULL while there is
 * none. A buffer is one block of memory, without messages once all sends have
 * been drained, so the owner of a place frees it with free(). */
struct weft_bsend;

enum { WEFT_BSEND_PLACES = 3 };

/* The places that a send tries, in this order; some may be NULL. */
struct weft_bsend_places {
	struct weft_bsend **at[WEFT_BSEND_PLACES];
};

/* Attaches a buffer, which the library uses until it is detached.
 * WEFT_ERR_BUFFER if one is attached already. With is_auto the library copies
 * messages to the heap, and addr and len are only returned by detach. */
int weft_bsend_attach(struct weft_vci *vci, struct weft_bsend **place,
	void *addr, size_t len, bool is_auto);

/* Blocks until all messages in the buffer have left, then detaches it.
 * WEFT_ERR_BUFFER if there is none. */
int weft_bsend_detach(struct weft_vci *vci, struct weft_bsend **place,
	void **addr_out, size_t *len_out, bool *is_auto_out);

/* A request that completes when all messages now in the buffer have left. */
int weft_bsend_iflush(struct weft_vci *vci, struct weft_bsend *const *place,
	struct weft_req **req_out);

/* Buffered sends never wait for the receiver. WEFT_ERR_BUFFER if the buffer has
 * no room. The request of weft_ibsend() is done immediately. */
int weft_bsend(
	const struct weft_msg *msg, const struct weft_bsend_places *places);
int weft_ibsend(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out);
int weft_bsend_init(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out);

/* Installs the handlers; called when the VCI opens. 0 or WEFT_ERR_NOMEM. */
int weft_p2p_open(struct weft_vci *vci);
void weft_p2p_close(struct weft_vci *vci);

/* Sends a control message to a process that may have no communicator with this
 * one yet (creation). Copies payload; never blocks. VCI's lock held. */
int weft_p2p_control_locked(struct weft_vci *vci, uint64_t proc,
	enum weft_wire_op op, const void *payload, size_t len);

/* True if no message that this process sent on comm needs it any more: each
 * rendezvous is finished, queues are empty, the fabric has confirmed delivery.
 * Starts the confirmations that are missing. VCI's lock held. */
bool weft_p2p_is_flushed_locked(struct weft_comm *comm);

/* True if such a message has arrived and is unexpected. VCI's lock held. */
bool weft_p2p_has_arrived_locked(const struct weft_comm *comm,
	enum weft_ctx_offset ctx_offset, int32_t rank, int32_t tag);

/* A member has departed, and all messages that it sent have arrived. Requests
 * that only it could complete, or it as the last member, complete with an
 * error: parts of collectives now, other requests when they are waited for,
 * because they may be cancelled before. If a member has died, all complete now.
 * coll_err is the error of a collective at that member, or 0; parts of
 * collectives complete with it. VCI's lock held. */
void weft_p2p_departed_locked(
	struct weft_comm *comm, int32_t rank, int coll_err);

/* Notifies all live members that have not departed that this process sends
 * nothing more on comm. The second function is true when each has been notified
 * and has answered all pings, or cannot be reached. VCI's lock held. */
void weft_p2p_send_departed_locked(struct weft_comm *comm);
bool weft_p2p_is_departed_sent_locked(const struct weft_comm *comm);

/* Ends the sends of both sides that can never be matched. The program makes no
 * further call on comm (is_disconnected is set). May be called again; costs
 * little if there is nothing to end. VCI's lock held. */
void weft_p2p_leave_locked(struct weft_comm *comm);

/* Does the part of weft_p2p_leave_locked() that concerns messages to this
 * process. It suffices once all messages that this process sent have arrived.
 * VCI's lock held. */
void weft_p2p_refuse_locked(struct weft_comm *comm);

enum weft_unmatched_kind {
	WEFT_UNMATCHED_NONE,
	WEFT_UNMATCHED_RECV,	  /* a receive never matched */
	WEFT_UNMATCHED_ACTIVE,	  /* a persistent or partitioned request started
				     and not completed */
	WEFT_UNMATCHED_MESSAGE,	  /* a message never received */
	WEFT_UNMATCHED_HANDLE,	  /* probed, and its handle never received */
	WEFT_UNMATCHED_PARTITION, /* of a message, never received */
	WEFT_UNMATCHED_SEND,	  /* a send never received */
	WEFT_UNMATCHED_BUFFERED,  /* the same, buffered */
	WEFT_UNMATCHED_COLL,	  /* a collective not completed */
	WEFT_UNMATCHED_COLL_DATA, /* data of a collective that this process did
				     not call */
	WEFT_UNMATCHED_DONE,	  /* a request done, whose handle was never
				     completed */
};

/* A message or request that is left on a communicator after all members have
 * departed. */
struct weft_unmatched {
	enum weft_unmatched_kind kind;
	bool is_send; /* ACTIVE, DONE */
	int32_t rank; /* of the other side; may be a wildcard */
	int32_t tag;
	uint64_t len; /* bytes; of a receive, the length of its buffer */
};

/* Calls fn for each of them. VCI's lock held; fn starts no operation. */
typedef void weft_unmatched_fn(const struct weft_unmatched *left, void *arg);
void weft_p2p_unmatched_locked(
	struct weft_comm *comm, weft_unmatched_fn *fn, void *arg);

/* Frees the messages that are left, probed ones too, and completes posted
 * receives with WEFT_ERR_COMM. VCI's lock held. */
void weft_p2p_purge_locked(struct weft_comm *comm);

#endif
