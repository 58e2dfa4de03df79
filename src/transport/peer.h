/* SPDX-License-Identifier: BSD-3-Clause */
/* peer: a VCI of another process, or of this process
 *
 * weft_peer_of() creates a peer with the first message to or from the process.
 * The peer is destroyed when the VCI closes, and guarded by the VCI's lock. The
 * first message to the process requests its business card, which has its
 * address; or the card arrives with the first message of the process over a
 * fabric. Until the address is known, and while the transport accepts no
 * message, messages are queued in `pending` in order. */
#ifndef WEFT_PEER_H
#define WEFT_PEER_H

#include "base/list.h"
#include "boot/boot.h"
#include "transport/resend.h"
#include "transport/wire.h"
#include "shm/ring.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct weft_vci;
struct weft_vci_card;
struct weft_peer;

/* The end of a process, as the process manager reported it. Part of the peer of
 * the default VCI, and constant once it is in the list weft_proc.first_death.
 */
struct weft_peer_death {
	struct weft_peer_death *_Atomic next; /* the next death that was
						 reported, or NULL */
	uint32_t rank;
	int code; /* code and end: see weft_boot_event */
	enum weft_boot_end end;
};

enum weft_peer_state {
	WEFT_PEER_NEW,	     /* no message was sent to it yet */
	WEFT_PEER_RESOLVING, /* business card requested */
	WEFT_PEER_READY,
	WEFT_PEER_FAILED, /* err is the reason */
};

/* A queued operation; part of a struct of its owner. push() sends all or a part
 * of the operation. It returns 0 when it has removed the operation from the
 * queue. It returns WEFT_AGAIN if it must be called again. If the peer has
 * failed, push() completes the operation with peer->err and returns 0. */
struct weft_out {
	struct weft_link link;
	int (*push)(struct weft_peer *peer, struct weft_out *out);
};

struct weft_peer {
	uint64_t proc; /* process number */
	enum weft_peer_state state;
	bool is_self;
	bool is_shm;	   /* READY: messages use the ring; if false, they use
			      the fabric */
	bool can_read;	   /* cross-memory attach works */
	bool is_queued;	   /* on the VCI's list of peers with pending work */
	bool is_next;	   /* RESOLVING: the request for its card waits for
			      VCI->asked */
	bool has_ended;	   /* the event that the process ended was handled */
	bool is_unreached; /* FAILED: no message could ever be sent to it */
	bool was_ready;	   /* FAILED: it was READY before, or was connected to
			      notify it */
	bool may_live;	   /* FAILED: no end of its process is known, so it may
			      still access memory through the fabric */
	bool is_excluded;  /* FAILED: its messages are dropped */
	bool is_bc_requested; /* FAILED: card requested, only to notify it */
	uint64_t ended_ns;    /* of another job: time at which its process was
				 first found to have ended; 0: not found */
	int err;
	char *why; /* FAILED: description of the failure, or NULL; owned */
	uint32_t shm_eager;  /* longest message copied through its ring */
	int64_t credit;	     /* eager bytes that may be sent to it */
	int64_t credit_owed; /* eager bytes of credit to return to it */
	struct weft_ring_tx tx;
	struct weft_ring_rx *rx; /* the ring that the peer writes; NULL before
				    its first message */
	uint64_t net_addr;
	uint64_t *rail_addrs; /* the peer's address on each of n_rails; owned;
				 see rail.h */
	uint8_t n_rails;      /* rails that both processes have open */
	uint64_t src_addr;    /* address of the VCI, in messages to the peer */
	uint64_t addr;	      /* weft_vci_addr() of the peer's VCI */
	uint64_t cookie_out;  /* cookie of messages to the peer; see
				 weft_wire_net */
	uint64_t cookie_in; /* cookie of messages from the peer; inverted if the
			       peer is excluded */
	pid_t pid;
	uint32_t wire_out; /* number of the last message over the fabric */
	uint32_t wire_in;  /* number of the last message from it over the fabric
			    */
	uint64_t retry_ns; /* RESOLVING: time of the next request for its
			      business card; 0 while an answer is pending. Peer
			      of another job: time until which this process
			      waits for the peer to connect. FAILED: time
			      until which EXCLUDED is posted again */
	uint64_t notified_ns; /* time of weft_peer_notify_failed(); 0: never */
	struct weft_vci_card *bc; /* peer of a dedicated VCI or of another job:
				     its card, once known; owned */
	struct weft_link pending; /* struct weft_out, oldest first */
	struct weft_link link;	  /* link in VCI->pending_peers if is_queued */
	struct weft_vci *vci;
	struct weft_resend resend;  /* messages that it has not acknowledged */
	struct weft_out resend_out; /* sends them again; only resend.c */
	struct weft_peer_death death; /* peer of the default VCI: the end of its
					 process, once reported */
};

/* Returns the peer at the address `addr` of a received message with this
 * cookie, and creates it if needed. Returns NULL if the cookie is wrong; no
 * peer is created then. VCI's lock held. */
struct weft_peer *weft_peer_by_cookie(
	struct weft_vci *vci, uint64_t addr, uint64_t cookie);

/* True if a message may be posted to the peer now without overtaking another
 * message. */
static inline bool weft_peer_is_clear(const struct weft_peer *peer)
{
	return peer->state == WEFT_PEER_READY &&
	       weft_list_is_empty(&peer->pending);
}

/* Moves the credit owed to the peer into the head of the next message. */
static inline void weft_peer_stamp(
	struct weft_peer *peer, struct weft_wire_head *head)
{
	head->credit = (uint32_t)peer->credit_owed;
	peer->credit_owed = 0;
}

/* Starts resolving a NEW peer. On return its state is RESOLVING, READY or
 * FAILED. VCI's lock held, here and below. */
void weft_peer_resolve(struct weft_peer *peer);

/* Sets the business card of a peer of a dedicated VCI or of another job. The
 * processes have exchanged their cards. is_local: the peer is on this node. A
 * second card of the same peer is ignored. 0 or WEFT_ERR_NOMEM. */
int weft_peer_set_bc(
	struct weft_peer *peer, const struct weft_vci_card *bc, bool is_local);

/* Appends an operation to the peer's queue. Starts resolving a NEW peer. */
void weft_peer_queue(struct weft_peer *peer, struct weft_out *out);

/* As weft_peer_queue(), but before all other operations of a READY peer. */
void weft_peer_queue_first(struct weft_peer *peer, struct weft_out *out);

/* Posts one message and copies its payload. weft_peer_is_clear() must be true,
 * except for a call from push(). 0, WEFT_AGAIN, or an error. */
int weft_peer_post(struct weft_peer *peer, struct weft_wire_head *head,
	const void *payload, size_t len);

/* Posts a control message, or copies and queues it. Drops it if the peer has
 * failed. 0, WEFT_ERR_NOMEM, or the error of weft_peer_post(). */
int weft_peer_control(struct weft_peer *peer, struct weft_wire_head *head,
	const void *payload, size_t len);

/* Closes the descriptors of the peer's wakeups that this process has open.
 * Called when the peer is about to exit. If it does not, the next wakeup opens
 * them again. */
void weft_peer_close_wakeups(struct weft_peer *peer);

/* Frees a peer, its ring, its addresses, and control messages that were never
 * posted. Called when the VCI closes, before its map of peers is freed. */
void weft_peer_free(struct weft_peer *peer);

/* Fills the header of a message over the fabric with a copy of the head and the
 * next message number. */
void weft_peer_wire_net(struct weft_peer *peer, struct weft_wire_net *wire,
	const struct weft_wire_head *head);

/* Sends queued operations until the transport does not accept one. Returns the
 * number of operations that left the queue. */
int weft_peer_send_pending(struct weft_peer *peer);

/* Called when the fabric lost a message and does not name the peer. Sends a
 * probe to each peer that this process reaches over the fabric, so that an
 * unreachable peer fails. False if the call must be repeated. */
bool weft_peer_probe_all(struct weft_vci *vci);

/* Called when the fabric could not deliver a message to the peer. If the error
 * means that the peer cannot be reached, fails the peer, unless the message
 * will be sent again (resend.h). */
void weft_peer_undelivered(struct weft_peer *peer, int err);

/* Fails the peer because the fabric cannot reach it. */
void weft_peer_unreached(struct weft_peer *peer);

/* Handles the business card that process `proc` sent through the process
 * manager, because it cannot open the memory of this process. Messages to that
 * process use the fabric from now on. */
void weft_peer_on_call(
	struct weft_vci *vci, uint64_t proc, const void *data, size_t len);

/* Installs the handlers of this file. Called by weft_vci_init(). */
void weft_peer_setup(struct weft_vci *vci);

/* Called when a peer counts as failed although its process may live. Drops all
 * later messages of the peer, and notifies the process. The caller fails the
 * peer. */
void weft_peer_exclude(struct weft_peer *peer);

/* Notifies the peer's process that it counts as failed at this process. Then
 * the peer ends its operations that wait for this process. At most one message
 * a second is sent, so that two processes that exclude each other do not answer
 * each other without end. Does nothing if the transport does not accept the
 * message. A FAILED peer of this job to which this process has never sent a
 * message is notified when its business card arrives. */
void weft_peer_notify_failed(struct weft_peer *peer);

/* Called when this process learns that the peer treats it as failed. The peer
 * sends no answers, so operations on the peer end with errors. */
void weft_peer_on_given_up(struct weft_peer *peer);

/* Called with a business card that arrived over the fabric with the peer's rank
 * and cookie, after the peer's first message. Returns false if it is the peer's
 * own card, which may arrive twice. Otherwise a second process has this rank:
 * operations on the peer end with errors, and the second process is notified.
 */
bool weft_peer_on_second_bc(
	struct weft_peer *peer, const void *data, size_t len);

/* True if the peer's process has ended, although the process manager has not
 * reported its end. If messages use shared memory, its pid does not exist. If
 * they use the fabric, its port refuses a new connection. Writes a clause with
 * the finding, or "", to what. Blocks for 20 ms at most. */
bool weft_peer_has_ended(const struct weft_peer *peer, char *what, size_t len);

/* Returns the number of peers with queued operations whose business card is
 * missing; *first_out is one of them. */
uint32_t weft_peer_unresolved(struct weft_vci *vci, uint64_t *first_out);

/* Fails the peer: all operations that wait for it complete with err. The
 * description of err becomes the peer's `why`. */
void weft_peer_fail(struct weft_peer *peer, int err);

#endif
