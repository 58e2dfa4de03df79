/* SPDX-License-Identifier: BSD-3-Clause */
/* nic_match: where software matching meets matching on the network card
 *
 * All that the other files of this room call of it; nic_send.c and nic_recv.c
 * do it. A build without (configure --disable-nic-matching) has nic_none.c
 * instead: there comm->p2p.nic stays NULL, no message is_nic, and who asks a
 * process hears that it matches in software. VCI's lock held everywhere. */
#ifndef WEFT_NIC_MATCH_H
#define WEFT_NIC_MATCH_H

#include "p2p/p2p_priv.h"

/* Others ask who matches what they send, or are answered. */
weft_wire_fn weft_nic_on_match;

#ifndef WEFT_NO_NIC_MATCHING

/* A send over the fabric on a communicator that may be matched by the card of
 * its receiver: true when it is, and *rc_out is then as of any other way to
 * send: 0 over, 1 completion follows, WEFT_AGAIN, an error. */
bool weft_nic_send(struct weft_req *req, int *rc_out);

/* Starts a receive that found what stands for the card's messages, or one of
 * them that a probe took; the message is gone then. */
void weft_nic_recv(struct weft_req *req, struct weft_message *message);

/* The earliest message for a probe, the card's included; with is_claim it is
 * taken out if it is the card's. Otherwise lent until the next call. */
struct weft_message *weft_nic_probe(struct weft_comm *comm, int32_t rank,
	int32_t tag, bool is_blocking, bool is_claim);

/* Throws a message of the card that a probe took out away. */
void weft_nic_discard(struct weft_message *message);

/* Tries to withdraw a receive that the card may have. */
void weft_nic_cancel(struct weft_req *req);

/* A peer died: whether this receive waits for it at the card, which it then
 * does not much longer. */
bool weft_nic_lose(struct weft_req *req, struct weft_peer *peer);

/* Nobody will receive here any more: throws away what nobody wanted. */
void weft_nic_leave(struct weft_comm *comm);

/* Completes what still waits. */
void weft_nic_purge(struct weft_comm *comm);

#else

static inline bool weft_nic_send(struct weft_req *req, int *rc_out)
{
	(void)req;
	(void)rc_out;
	return false;
}

static inline void weft_nic_recv(
	struct weft_req *req, struct weft_message *message)
{
	(void)req;
	(void)message;
}

static inline struct weft_message *weft_nic_probe(struct weft_comm *comm,
	int32_t rank, int32_t tag, bool is_blocking, bool is_claim)
{
	(void)comm;
	(void)rank;
	(void)tag;
	(void)is_blocking;
	(void)is_claim;
	return NULL;
}

static inline void weft_nic_discard(struct weft_message *message)
{
	(void)message;
}

static inline void weft_nic_cancel(struct weft_req *req)
{
	(void)req;
}

static inline bool weft_nic_lose(struct weft_req *req, struct weft_peer *peer)
{
	(void)req;
	(void)peer;
	return false;
}

static inline void weft_nic_leave(struct weft_comm *comm)
{
	(void)comm;
}

static inline void weft_nic_purge(struct weft_comm *comm)
{
	(void)comm;
}

#endif

#endif
