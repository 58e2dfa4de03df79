/* SPDX-License-Identifier: BSD-3-Clause */
/* dispatch: passes a message to the handler of its op
 *
 * weft_dispatch() receives the messages of both transports (arrival.h) and the
 * messages that a process sends to itself. The length of the head has been
 * checked; a handler checks the rest of the message. Handlers run with the
 * VCI's lock held, never block and never call progress. The payload is valid
 * until the handler returns. */
#ifndef WEFT_DISPATCH_H
#define WEFT_DISPATCH_H

#include "transport/vci.h"

/* Installs the handler of an op, before its first message arrives. */
void weft_dispatch_set(
	struct weft_vci *vci, enum weft_wire_op op, weft_wire_fn *fn);

/* weft_dispatch_queue() queues a message whose communicator this process has
 * not created yet. weft_dispatch_replay() handles all queued messages of a
 * context (without offset), in order of arrival. */
void weft_dispatch_queue(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len);
void weft_dispatch_replay(struct weft_vci *vci, uint64_t ctx);

/* Drops the first queued message of a context (without offset) for which is()
 * returns true; false if there is none. */
typedef bool weft_dispatch_is_fn(const struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len,
	const void *arg);
bool weft_dispatch_unqueue(struct weft_vci *vci, uint64_t ctx,
	weft_dispatch_is_fn *is, const void *arg);

/* Drops all queued messages, when the VCI closes. */
void weft_dispatch_forget(struct weft_vci *vci);

/* Counts an invalid message and logs the first one. */
void weft_dispatch_drop(struct weft_vci *vci, const char *why);

/* Calls the handler of a message; len is the payload's length. */
static inline void weft_dispatch(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	if (weft_unlikely(
		    head->op >= WEFT_WIRE_OP_END || !vci->handlers[head->op])) {
		weft_dispatch_drop(vci, "unknown operation");
		return;
	}
	peer->credit += head->credit;
	vci->handlers[head->op](vci, peer, head, payload, len);
}

#endif
