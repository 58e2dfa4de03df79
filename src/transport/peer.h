/* SPDX-License-Identifier: BSD-3-Clause */
/* peer: a remote process, or this one
 *
 * Created on first use by weft_peer_of() (a message to or from it), destroyed
 * when the VCI closes. Guarded by the VCI's lock. Its address is fetched when
 * the first message to it leaves, or arrives with its own first message over a
 * fabric. Until the address is known, and while a transport does not accept
 * messages, messages are queued on `pending` in order. */
#ifndef WEFT_PEER_H
#define WEFT_PEER_H

#include "base/list.h"
#include "transport/wire.h"
#include "shm/ring.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct weft_vci;
struct weft_vci_card;
struct weft_peer;

enum weft_peer_state {
	WEFT_PEER_NEW,	     /* never sent to */
	WEFT_PEER_RESOLVING, /* business card requested */
	WEFT_PEER_READY,
	WEFT_PEER_FAILED, /* err is the reason */
};

/* A queued operation. push sends all or a part of it. It returns 0 when the
 * operation has left the queue, freed or passed on, or WEFT_AGAIN to be called
 * again later. If the peer has failed, push completes the operation with
 * peer->err and returns 0. Embedded by its owner. */
struct weft_out {
	struct weft_link link;
	int (*push)(struct weft_peer *peer, struct weft_out *out);
};

struct weft_peer {
	uint64_t proc; /* process number */
	enum weft_peer_state state;
	bool is_self;
	bool is_shm;	   /* READY: through the ring, else the fabric */
	bool can_read;	   /* cross-memory attach works */
	bool is_queued;	   /* on the VCI's list of peers with pending work */
	bool is_next;	   /* RESOLVING: its card is requested in its turn */
	bool has_ended;	   /* an event of its end was handled */
	bool is_unreached; /* FAILED: no message could ever be sent to it */
	bool was_ready;	   /* FAILED: it was READY before */
	bool is_excluded;  /* FAILED: its messages are dropped */
	int err;
	char *why; /* FAILED: what is known of the process, or NULL; owned */
	uint32_t shm_eager;  /* longest message copied through its ring */
	int64_t credit;	     /* eager bytes that may be sent to it */
	int64_t credit_owed; /* eager bytes of credit to return to it */
	struct weft_ring_tx tx;
	struct weft_ring_rx *rx; /* that it writes; NULL before its first
				    message */
	uint64_t net_addr;
	uint64_t *rail_addrs; /* its addresses on the n_rails that both have;
				 owned; see rail.h */
	uint8_t n_rails;
	uint64_t src_addr;   /* the VCI's own, in messages to the peer */
	uint64_t addr;	     /* weft_vci_addr() of the peer's VCI */
	uint64_t cookie_out; /* proves to it that this process is of the job */
	uint64_t cookie_in;  /* that its messages must carry; inverted if it is
				excluded */
	pid_t pid;
	uint32_t wire_out;    /* number of the last message over the fabric */
	uint32_t wire_in;     /* number of the last message received from it */
	uint64_t retry_ns;    /* RESOLVING: time of the next request for its
				 business card; 0 while an answer is due. Peer of
				 another job: until then it connects first */
	uint64_t notified_ns; /* time of weft_peer_notify_failed(); 0: never */
	struct weft_vci_card *bc; /* dedicated VCIs and other jobs: its card,
				     once known; owned */
	struct weft_link pending; /* struct weft_out, oldest first */
	struct weft_link link;	  /* in VCI->flush when is_queued */
	struct weft_vci *vci;
};

/* The peer at an address whose message carried this cookie; created if new.
 * NULL if the cookie is wrong, and nothing has changed then. VCI's lock held.
 */
struct weft_peer *weft_peer_by_cookie(
	struct weft_vci *vci, uint64_t addr, uint64_t cookie);

/* True if a message may be posted to the peer now without overtaking another.
 */
static inline bool weft_peer_is_clear(const struct weft_peer *peer)
{
	return peer->state == WEFT_PEER_READY &&
	       weft_list_is_empty(&peer->pending);
}

/* Adds the credit owed to the peer to a head that leaves now. */
static inline void weft_peer_stamp(
	struct weft_peer *peer, struct weft_wire_head *head)
{
	head->credit = (uint32_t)peer->credit_owed;
	peer->credit_owed = 0;
}

/* Starts resolving a NEW peer; afterwards its state is RESOLVING, READY or
 * DEAD. VCI's lock held, here and below. */
void weft_peer_resolve(struct weft_peer *peer);

/* Sets the business card that the processes exchanged, of a peer of a dedicated
 * VCI or of another job. is_local: the peer is on this node. Only the first
 * card counts. 0 or WEFT_ERR_NOMEM. */
int weft_peer_set_bc(
	struct weft_peer *peer, const struct weft_vci_card *bc, bool is_local);

/* Appends to pending, and starts resolving a NEW peer. */
void weft_peer_queue(struct weft_peer *peer, struct weft_out *out);

/* Posts one message whose payload is copied; the peer must be clear (or the
 * caller be its flush). 0, WEFT_AGAIN, or an error. */
int weft_peer_post(struct weft_peer *peer, struct weft_wire_head *head,
	const void *payload, size_t len);

/* Posts a control message, or copies and queues it. 0 or WEFT_ERR_NOMEM. */
int weft_peer_control(struct weft_peer *peer, struct weft_wire_head *head,
	const void *payload, size_t len);

/* Frees a peer that is no longer in the VCI's map, as the VCI closes: its ring,
 * its addresses and the control messages that were never posted. */
void weft_peer_free(struct weft_peer *peer);

/* Fills the fabric's part in front of a head. */
void weft_peer_wire_net(struct weft_peer *peer, struct weft_wire_net *wire,
	const struct weft_wire_head *head);

/* Sends queued operations until one cannot leave. Returns how many have left.
 */
int weft_peer_send_pending(struct weft_peer *peer);

/* The fabric lost a message without naming its peer: probes each peer that is
 * reached over it, and fails those that it cannot reach. False if the call must
 * be repeated. */
bool weft_peer_probe_all(struct weft_vci *vci);

/* The fabric could not deliver a message to the peer. The peer fails if the
 * error means that it cannot be reached, because later messages cannot arrive
 * either. */
void weft_peer_undelivered(struct weft_peer *peer, int err);

/* Installs this file's handlers; for weft_vci_init(). */
/* A process that cannot open this one's memory calls with its business card; it
 * is reached over the fabric from now on. */
void weft_peer_on_call(
	struct weft_vci *vci, uint64_t proc, const void *data, size_t len);

void weft_peer_setup(struct weft_vci *vci);

/* Drops all later messages of the peer, which counts as failed although it may
 * live. If it lives, it is notified. The caller fails the peer. */
void weft_peer_exclude(struct weft_peer *peer);

/* Notifies the peer's process that it counts as failed here. Its operations on
 * this process then end. Once a second at most, so that two processes that
 * exclude each other do not answer each other without end. Does nothing if the
 * transport does not accept the message now. */
void weft_peer_notify_failed(struct weft_peer *peer);

/* True if the peer's process has ended although the process manager has not
 * reported it: on this node its pid does not exist, elsewhere its port refuses
 * a new connection. Writes a clause with the finding,
 * or "", to what. Blocks for 20
 * ms at most. */
bool weft_peer_has_ended(const struct weft_peer *peer, char *what, size_t len);

/* The number of peers with queued operations whose business card is missing;
 * *first_out is one of them. */
uint32_t weft_peer_unresolved(struct weft_vci *vci, uint64_t *first_out);

/* Fails the peer: all operations that wait for it complete with err. The
 * description of err becomes the peer's `why`. */
void weft_peer_fail(struct weft_peer *peer, int err);

#endif
