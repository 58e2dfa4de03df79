/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p: two-sided messages, as upper rooms call them
 *
 * Arguments have been checked: the rank is in range, WEFT_PROC_NULL or (for
 * receives) WEFT_ANY_SOURCE; the type is committed; count is not negative.
 * All functions take the VCI's lock themselves unless their name ends in
 * _locked or their comment says so. A buffer lent to a started operation stays
 * the caller's to keep valid until the request is done. Errors of a receive
 * (WEFT_ERR_TRUNCATE) come back in its status and as the return value of the
 * blocking forms. */
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
	bool is_waited; /* a send: the caller makes progress until it is over */
};

/* Blocking. */
int weft_send(const struct weft_msg *msg);
int weft_recv(const struct weft_msg *msg, struct weft_status *status_out);

/* Non-blocking: *req_out has one reference, the caller's. */
int weft_isend(const struct weft_msg *msg, struct weft_req **req_out);
int weft_irecv(const struct weft_msg *msg, struct weft_req **req_out);

/* The same with the VCI's lock held, for collectives and control. */
int weft_isend_locked(const struct weft_msg *msg, struct weft_req **req_out);
/* A send that needs nothing to be waited for: true when the message has left.
 */
bool weft_send_try_locked(const struct weft_msg *msg);
int weft_irecv_locked(const struct weft_msg *msg, struct weft_req **req_out);

/* For collectives and control: what stands in place of a message that err keeps
 * from being sent. Its receive ends with err. Never blocks. */
void weft_send_coll_error_locked(const struct weft_msg *msg, int err);

/* Takes a message that is of no use any more, whenever it comes. */
void weft_recv_drop_locked(const struct weft_msg *msg);

/* Of a collective: drops a message that has come for this receive, but of
 * another collective; its tag says of which. False when there is none. A
 * receive that such a message meets later ends with WEFT_ERR_NOT_SAME, with
 * that one's tag and source in its status. */
bool weft_recv_other_locked(const struct weft_msg *msg, int32_t *tag_out);

/* Why this rank takes part in comm no more, described; 0: it may. VCI's lock
 * held. */
int weft_departed_source(const struct weft_comm *comm, int32_t rank);

/* As above, for a part of a collective: what one ended with at a rank that has
 * left then, as it will not take part in this one. */
int weft_departed_member(const struct weft_comm *comm, int32_t rank);

/* Describes the error of a request that ended with WEFT_ERR_PEER: the failed
 * rank that it needed, or one of its communicator. Leaves other errors as they
 * are described. VCI's lock held. */
void weft_failure_explain(const struct weft_req *req);

/* Ends a request, now or soon, that can never be completed. VCI's lock held. */
void weft_cancel_stuck(struct weft_req *req, int err);

/* Persistent: made inactive, then weft_req_start() (core/req.h) any number of
 * times. */
int weft_send_init(const struct weft_msg *msg, struct weft_req **req_out);
int weft_recv_init(const struct weft_msg *msg, struct weft_req **req_out);

/* Both at once, one request; its status is the receive's. With is_replace the
 * data to send is copied first, so that both may use one buffer. */
int weft_isendrecv(const struct weft_msg *send, const struct weft_msg *recv,
	bool is_replace, struct weft_req **req_out);

/* Partitioned: inactive requests for n_parts times msg's count items, matched
 * in the order of these calls. No wildcards. */
int weft_psend_init(
	const struct weft_msg *msg, int32_t n_parts, struct weft_req **req_out);
int weft_precv_init(
	const struct weft_msg *msg, int32_t n_parts, struct weft_req **req_out);

/* Partitions first to last of an active send may leave. WEFT_ERR_REQUEST for
 * another request, WEFT_ERR_ARG out of range or told before. */
int weft_pready(struct weft_req *req, int32_t first, int32_t last);

/* Whether partition k of a receive is there; true while it is inactive. */
int weft_parrived(struct weft_req *req, int32_t k, bool *arrived_out);

/* WEFT_ERR_REQUEST if req is partitioned, active and not complete: it cannot be
 * what the word says ("cancelled", "freed"). Takes the VCI's lock. */
int weft_part_check_over(const struct weft_req *req, const char *what);

/* Tries to withdraw a send or receive. The request completes in any case;
 * status.is_cancelled says which way. Takes the VCI's lock. */
int weft_req_cancel(struct weft_req *req);
void weft_req_cancel_locked(struct weft_req *req); /* VCI's lock held */

/* A message taken out of matching by weft_mprobe(), to be received by
 * weft_mrecv() or weft_imrecv(). In table weft_messages. */
struct weft_message;
extern struct weft_table weft_messages;

/* Looks for a message without receiving it; *found_out says whether one is
 * there. With is_blocking it waits for one. An error if only a process that
 * died could send it. */
int weft_probe(struct weft_comm *comm, int32_t rank, int32_t tag,
	bool is_blocking, bool *found_out, struct weft_status *status_out);

/* Likewise, and takes the message out: *message_out is the caller's until
 * received. */
int weft_mprobe(struct weft_comm *comm, int32_t rank, int32_t tag,
	bool is_blocking, struct weft_message **message_out,
	struct weft_status *status_out);

/* Receives a probed message; message is gone afterwards. */
int weft_imrecv_take(struct weft_message *message, void *buf, int64_t count,
	struct weft_type *type, struct weft_req **req_out);

/* Communicator a probed message belongs to. */
struct weft_comm *weft_message_comm(struct weft_message *message);

/* Buffers for buffered sends. A place is where one can be attached: a pointer
 * in a communicator, a session and the process, NULL while there is none. What
 * is there is one block of memory with no message in it once everything sent
 * has been drained, so the owner of a place just frees it. */
struct weft_bsend;

enum { WEFT_BSEND_PLACES = 3 };

/* Where a send may take its buffer from, first choice first; NULLs are fine. */
struct weft_bsend_places {
	struct weft_bsend **at[WEFT_BSEND_PLACES];
};

/* Attaches; WEFT_ERR_BUFFER when there is one. The memory stays lent until
 * detached. With is_auto messages are kept on the heap and addr and len are
 * only remembered. */
int weft_bsend_attach(struct weft_vci *vci, struct weft_bsend **place,
	void *addr, size_t len, bool is_auto);

/* Blocks until all messages in it left, then gives it back. WEFT_ERR_BUFFER
 * when there is none. */
int weft_bsend_detach(struct weft_vci *vci, struct weft_bsend **place,
	void **addr_out, size_t *len_out, bool *is_auto_out);

/* A request that is done when the messages in the buffer now have left. */
int weft_bsend_iflush(struct weft_vci *vci, struct weft_bsend *const *place,
	struct weft_req **req_out);

/* Buffered sends: never wait for the receiver. WEFT_ERR_BUFFER without room.
 * The request of the second is done at once. */
int weft_bsend(
	const struct weft_msg *msg, const struct weft_bsend_places *places);
int weft_ibsend(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out);
int weft_bsend_init(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out);

/* Installs the handlers; called when the VCI opens. 0 or WEFT_ERR_NOMEM. */
int weft_p2p_open(struct weft_vci *vci);
void weft_p2p_close(struct weft_vci *vci);

/* Sends a control message to a process that may not share a communicator with
 * us yet (creation). Copies payload; never blocks. VCI's lock held. */
int weft_p2p_control_locked(struct weft_vci *vci, uint64_t proc,
	enum weft_wire_op op, const void *payload, size_t len);

/* True when nothing this process sent on comm is still on its way as far as
 * this process must act for it (rendezvous finished, queues empty, fabric
 * confirmed). Starts the confirmations it needs. VCI's lock held. */
bool weft_p2p_is_flushed_locked(struct weft_comm *comm);

/* True if a message came for this and waits for its receive. VCI's lock held.
 */
bool weft_p2p_has_come_locked(const struct weft_comm *comm,
	enum weft_ctx_offset ctx_offset, int32_t rank, int32_t tag);

/* A member leaves and all it sent has arrived. What only it could complete, or
 * it as the last of all, ends with an error: parts of collectives now, any
 * other request when it is waited for, as it may yet be cancelled before. Where
 * a member has died all end now. coll_err: what a collective there ended with
 * at the member, or 0: parts of collectives end with that. VCI's lock held. */
void weft_p2p_departed_locked(
	struct weft_comm *comm, int32_t rank, int coll_err);

/* Tells all members that live and have not left that this process sends nothing
 * more on comm. It has left when all were told, or are not to be reached.
 * VCI's lock held. */
void weft_p2p_say_departed_locked(struct weft_comm *comm);
bool weft_p2p_has_said_locked(const struct weft_comm *comm);

/* The caller of comm's leaving will make no further call on it (its
 * is_disconnected is set): ends the sends of both sides that can never be
 * matched. May be called again; costs little when there is nothing to end.
 * VCI's lock held. */
void weft_p2p_leave_locked(struct weft_comm *comm);

/* The part of it that is about messages to this process: all there is to do
 * once nothing that its caller sent is on its way. VCI's lock held. */
void weft_p2p_refuse_locked(struct weft_comm *comm);

enum weft_unmatched_kind {
	WEFT_UNMATCHED_NONE,
	WEFT_UNMATCHED_RECV,	  /* a receive never matched */
	WEFT_UNMATCHED_ACTIVE,	  /* a persistent or partitioned request started
				     and not completed */
	WEFT_UNMATCHED_MESSAGE,	  /* a message never received */
	WEFT_UNMATCHED_HANDLE,	  /* probed, and its handle never received */
	WEFT_UNMATCHED_PARTITION, /* of a message, never received */
	WEFT_UNMATCHED_SEND,	  /* a send that its receiver left behind */
	WEFT_UNMATCHED_BUFFERED,  /* the same, buffered */
	WEFT_UNMATCHED_COLL,	  /* a collective not completed */
	WEFT_UNMATCHED_COLL_DATA, /* data of one this process did not take part
				     in */
	WEFT_UNMATCHED_DONE,	  /* a request that is done, never completed */
};

/* One thing a communicator still holds when everybody has left it. */
struct weft_unmatched {
	enum weft_unmatched_kind kind;
	bool is_send; /* ACTIVE, DONE */
	int32_t rank; /* of the other side; may be a wildcard */
	int32_t tag;
	uint64_t len; /* bytes; of a receive, the room for it */
};

/* Calls fn for each. VCI's lock held; fn starts nothing. */
typedef void weft_unmatched_fn(const struct weft_unmatched *left, void *arg);
void weft_p2p_unmatched_locked(
	struct weft_comm *comm, weft_unmatched_fn *fn, void *arg);

/* Drops what is left: frees messages, probed ones too, completes posted
 * receives with WEFT_ERR_COMM. VCI's lock held. */
void weft_p2p_purge_locked(struct weft_comm *comm);

#endif
