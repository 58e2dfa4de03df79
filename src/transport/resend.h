/* SPDX-License-Identifier: BSD-3-Clause */
/* resend: messages of a broken connection are sent again
 *
 * Only if the provider connects again after a connection has broken
 * (plan.resends). Messages then arrive exactly once and in order, as long as
 * both processes live. The VCI's lock is held everywhere. */
#ifndef WEFT_RESEND_H
#define WEFT_RESEND_H

#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;
struct weft_op;
struct weft_peer;
struct weft_vci;
struct weft_wire_net;

/* Part of struct weft_peer. All 0 and an initialised link: nothing was sent. */
struct weft_resend {
	uint8_t *log; /* owned: copies of the messages that the peer has not
			 acknowledged, in the bytes [begin, end), oldest first;
			 NULL: none yet */
	size_t size;
	size_t begin;
	size_t end;
	size_t at; /* copies from here on are sent again; end: none */
	struct weft_link link; /* in VCI->unacked while there are copies */
	uint64_t due_ns;       /* time of the next probe; 0: not set */
	uint32_t n_probes;  /* probes since the peer's last acknowledgement */
	uint32_t n_in;	    /* messages received since the last one to it */
	size_t in_len;	    /* bytes of these messages */
	uint32_t requested; /* the peer's message after this number was
			       requested again; valid if has_requested */
	bool has_requested;
	bool is_broken; /* the fabric reported an error, and no acknowledgement
			   has arrived since */
};

/* Posts a message that begins with struct weft_wire_net, of at most
 * plan.inject_len bytes, and keeps a copy if necessary. Otherwise as
 * weft_net_inject(). */
int weft_resend_inject(struct weft_peer *peer, const void *buf, size_t len);

/* As weft_resend_inject(), for a message of n_iov (1 or 2) parts, as
 * weft_net_send(). */
int weft_resend_send(struct weft_peer *peer, const struct iovec *iov,
	size_t n_iov, struct weft_op *op);

/* Called when the fabric has reported a lost message to the peer. Returns false
 * if messages to the peer are not sent again; then the peer must fail. A peer
 * whose port refuses connections fails soon after the call. */
bool weft_resend_broken(struct weft_peer *peer);

/* Calls weft_resend_broken() for all peers with unacknowledged messages,
 * because the fabric did not name the peer of a lost message. */
void weft_resend_broken_any(struct weft_vci *vci);

/* Handles an ACK. Only if plan.resends is true, as are the next two. */
void weft_resend_on_ack(
	struct weft_peer *peer, const struct weft_wire_net *wire);

/* Called after a message of len bytes from the peer was handled. Acknowledges
 * it if enough messages are unacknowledged. */
void weft_resend_received(struct weft_peer *peer, size_t len);

/* Called when messages before the message that arrived are missing: requests
 * them again. */
void weft_resend_request(struct weft_peer *peer);

/* Frees the copies. Called when the peer fails or is freed. */
void weft_resend_fini(struct weft_peer *peer);

#endif
