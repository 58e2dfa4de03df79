/* SPDX-License-Identifier: BSD-3-Clause */
/* dispatch: wire op to handler
 *
 * Arrivals of both transports come here (arrival.h), and what a process sends
 * to itself. The head has been checked for length; a handler checks the rest.
 * Handlers run with the VCI's lock held, never block and never call progress.
 * The payload is lent. */
#ifndef WEFT_DISPATCH_H
#define WEFT_DISPATCH_H

#include "transport/vci.h"

/* Installs the handler of an op; once, when the VCI opens. */
void weft_dispatch_set(
	struct weft_vci *vci, enum weft_wire_op op, weft_wire_fn *fn);

/* Keeps a message whose communicator does not exist here yet, and replays all
 * that were kept for a context (without offset) in order of arrival. */
void weft_dispatch_keep(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len);
void weft_dispatch_replay(struct weft_vci *vci, uint64_t ctx);

/* Drops the first message kept for a context (without offset) of which is() is
 * true; false when there is none. */
typedef bool weft_dispatch_is_fn(const struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len,
	const void *arg);
bool weft_dispatch_unkeep(struct weft_vci *vci, uint64_t ctx,
	weft_dispatch_is_fn *is, const void *arg);

/* Drops everything that was kept; when the VCI closes. */
void weft_dispatch_forget(struct weft_vci *vci);

/* Counts, logs once and drops a message nobody can use. */
void weft_dispatch_drop(struct weft_vci *vci, const char *why);

/* Brings one arrival to its handler. len is that of the payload. */
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
