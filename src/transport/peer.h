/* SPDX-License-Identifier: BSD-3-Clause */
/* peer: one remote process we talk to, or ourselves
 *
 * Created on first use by weft_peer_of() (a message to or from it), destroyed
 * when the VCI closes. Guarded by the VCI's lock. An address is fetched with
 * the first message that leaves, or comes from the peer itself with the first
 * of its messages over a fabric; until it is there, and whenever a transport
 * pushes back, what is to be sent waits on `pending` in order. */
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
	WEFT_PEER_RESOLVING, /* business card asked for */
	WEFT_PEER_READY,
	WEFT_PEER_FAILED, /* err says why */
};

/* Something to send that waits for its turn. push sends it (all or a part):
 * 0 when it is done with and gone from memory or handed on, WEFT_AGAIN to be
 * called again later. When the peer has failed push gives up: it completes what
 * it stands for with peer->err and returns 0. Embedded by its owner. */
struct weft_out {
	struct weft_link link;
	int (*push)(struct weft_peer *peer, struct weft_out *out);
};

struct weft_peer {
	uint64_t proc; /* process number */
	enum weft_peer_state state;
	bool is_self;
	bool is_shm;	/* READY: through the ring, else the fabric */
	bool can_read;	/* cross-memory attach works */
	bool is_queued; /* on the VCI's list of peers with pending work */
	bool is_next;	/* RESOLVING: to be asked for its card in its turn */
	bool has_ended; /* an event of its end was handled */
	int err;
	char *why; /* FAILED: a sentence about the process, or NULL; owned */
	uint32_t shm_eager; /* longest message copied through its ring */
	size_t shm_frags;   /* longest one in fragments, if its sender waits */
	int64_t credit;	    /* eager bytes we may still send */
	int64_t owed;	    /* eager bytes to give back to it */
	struct weft_ring_tx tx;
	struct weft_ring_rx *rx; /* it writes to; NULL before it did */
	uint64_t net_addr;
	uint64_t *rail_addrs; /* likewise on the n_rails that both have beside
				 it; owned; see rail.h */
	uint8_t n_rails;
	uint64_t src_addr;   /* the VCI's own, as it is told to the peer */
	uint64_t addr;	     /* weft_vci_addr() of the peer's VCI */
	uint64_t cookie_out; /* proves to it that we belong to the job */
	uint64_t cookie_in;  /* what its messages to us must carry; 0 unset */
	pid_t pid;
	uint32_t wire_out; /* number of the last message over the fabric */
	uint32_t wire_in;  /* likewise, that came from there */
	uint64_t retry_ns; /* RESOLVING: when to ask for the business card
			      (again); 0 while an answer is due. Of another
			      job: until then it is to connect first */
	struct weft_vci_card *bc; /* dedicated VCIs and other jobs: how to
					reach it, once known; owned */
	struct weft_link pending; /* struct weft_out, oldest first */
	struct weft_link link;	  /* in VCI->flush when is_queued */
	struct weft_vci *vci;
};

/* The peer at an address whose message carried this cookie, created when
 * new; NULL when the cookie is wrong, which leaves no trace. VCI's lock held.
 */
struct weft_peer *weft_peer_proven(
	struct weft_vci *vci, uint64_t addr, uint64_t cookie);

/* True when a message may be posted to the peer now without overtaking. */
static inline bool weft_peer_is_clear(const struct weft_peer *peer)
{
	return peer->state == WEFT_PEER_READY &&
	       weft_list_is_empty(&peer->pending);
}

/* Puts the eager bytes owed to the peer on a head that is about to leave. */
static inline void weft_peer_stamp(
	struct weft_peer *peer, struct weft_wire_head *head)
{
	head->credit = (uint32_t)peer->owed;
	peer->owed = 0;
}

/* Starts resolving a NEW peer; afterwards its state is RESOLVING, READY or
 * DEAD. VCI's lock held, here and below. */
void weft_peer_resolve(struct weft_peer *peer);

/* On a dedicated VCI, or of another job: tells how the peer is reached, by what
 * the processes swapped. is_local: it is on my node. The first such business
 * card is kept. 0 or WEFT_ERR_NOMEM. */
int weft_peer_set_bc(
	struct weft_peer *peer, const struct weft_vci_card *bc, bool is_local);

/* Appends to pending and starts resolving where that is still to do. */
void weft_peer_queue(struct weft_peer *peer, struct weft_out *out);

/* Posts one message whose payload is copied; the peer must be clear (or the
 * caller be its flush). 0, WEFT_AGAIN, or an error. */
int weft_peer_post(struct weft_peer *peer, struct weft_wire_head *head,
	const void *payload, size_t len);

/* Posts, or copies and queues: for control messages. 0 or WEFT_ERR_NOMEM. */
int weft_peer_control(struct weft_peer *peer, struct weft_wire_head *head,
	const void *payload, size_t len);

/* Frees a peer that the VCI's map no longer needs, as the VCI closes: its ring,
 * its addresses and the control messages that were never posted. */
void weft_peer_free(struct weft_peer *peer);

/* Fills what stands in front of a head on the fabric. */
void weft_peer_wire_net(struct weft_peer *peer, struct weft_wire_net *wire,
	const struct weft_wire_head *head);

/* Sends what waits, as far as it goes. Returns how much went. */
int weft_peer_send_pending(struct weft_peer *peer);

/* A message was lost, nobody knows whose: asks the fabric for every peer it was
 * used for, and those it cannot reach fail. False when that is to be tried
 * again. */
bool weft_peer_probe_all(struct weft_vci *vci);

/* The fabric could not deliver a message, which ends all hope for what was to
 * follow it: the peer fails when the error says that it cannot be reached. */
void weft_peer_undelivered(struct weft_peer *peer, int err);

/* Takes part in what arrives at a VCI: for weft_vci_init(). */
/* The process, which cannot open this one's memory, is to be reached over the
 * fabric: what it calls with is its business card. */
void weft_peer_on_call(
	struct weft_vci *vci, uint64_t proc, const void *data, size_t len);

void weft_peer_setup(struct weft_vci *vci);

/* True when the peer's process has ended without a word of the process manager:
 * on this node its pid is gone, elsewhere its port refuses a new connection.
 * *what gets a clause about what was found, or "". Blocks for 20 ms at most. */
bool weft_peer_is_gone(const struct weft_peer *peer, char *what, size_t len);

/* How many peers have something to send for which no business card has come;
 * *first_out is one of them. */
uint32_t weft_peer_unresolved(struct weft_vci *vci, uint64_t *first_out);

/* The peer has failed: everything that waits for it ends with err. The text
 * that weft_err_set() has for err becomes the peer's `why`. */
void weft_peer_fail(struct weft_peer *peer, int err);

#endif
