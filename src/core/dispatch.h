/* SPDX-License-Identifier: BSD-3-Clause */
/* dispatch: wire op to handler
 *
 * Both transports bring their arrivals here. The head has been checked for
 * length and op; a handler checks the rest. Handlers run with the lane's lock
 * held, never block and never call progress. The payload is lent. */
#ifndef WEFT_DISPATCH_H
#define WEFT_DISPATCH_H

#include "core/wire.h"

#include <stddef.h>

struct weft_lane;
struct weft_peer;

typedef void weft_wire_fn(struct weft_lane *lane, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len);

/* Installs the handler of an op; once, when the lane opens. */
void weft_dispatch_set(
	struct weft_lane *lane, enum weft_wire_op op, weft_wire_fn *fn);

/* Counts, logs once and drops a message nobody can use. */
void weft_dispatch_drop(struct weft_lane *lane, const char *why);

#endif
