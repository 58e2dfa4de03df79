/* SPDX-License-Identifier: BSD-3-Clause */
/* query: those that a call waits for are asked, and answer from progress
 *
 * A question goes over the VCI of the communicator it is about, so that who
 * answers holds the lock of what it looks at, and the answer comes behind all
 * that its process sent there before. */
#ifndef WEFT_QUERY_H
#define WEFT_QUERY_H

#include "transport/dispatch.h"
#include "watchdog/wait.h"

/* Has this process done what another one waits for? Kept by the room that knows
 * of such needs. Sets *owner_out to what weft_wire_answer says of it. The lock
 * of the VCI that it was asked over held. */
typedef enum weft_wire_met weft_query_fn(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t asker,
	uint32_t *owner_out);
void weft_query_set(enum weft_wire_need need, weft_query_fn *fn);

/* Asks all whom a wait is for; is_again: those that were not asked when the
 * others were. False: there are none. Its VCI's lock held, here and below. */
bool weft_query_ask(struct weft_wait *wait, bool is_again);

/* Has the process manager asked whether those that do not answer have ended. */
void weft_query_look(struct weft_wait *wait);

/* All have answered, or were given time to. */
bool weft_query_is_over(const struct weft_wait *wait, uint64_t now);

/* A process of a view and a need like this, or NULL. */
struct weft_other *weft_query_other(const struct weft_wait_view *view,
	uint64_t proc, const struct weft_need *need);

void weft_query_send(struct weft_vci *vci, uint64_t addr, enum weft_wire_op op,
	const void *payload, size_t len);

weft_wire_fn weft_query_on_query, weft_query_on_answer;

#endif
