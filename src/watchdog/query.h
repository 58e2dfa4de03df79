/* SPDX-License-Identifier: BSD-3-Clause */
/* query: the processes that a call waits for are asked, and answer from
 * progress
 *
 * A question uses the VCI of the communicator it is about. So the answering
 * process holds the lock of what it reads, and the answer arrives behind all
 * that it sent there before. */
#ifndef WEFT_QUERY_H
#define WEFT_QUERY_H

#include "transport/dispatch.h"
#include "watchdog/wait.h"

/* Has this process met a need of another one? Implemented by the room that
 * knows such needs. Sets *owner_out as in weft_wire_answer. The lock of the VCI
 * of the question is held. */
typedef enum weft_wire_met weft_query_fn(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t asker,
	uint32_t *owner_out);
void weft_query_set(enum weft_wire_need need, weft_query_fn *fn);

/* Asks all processes that a wait needs; is_again: only those that were not
 * asked with the others. False when there are none. The wait's VCI's lock held,
 * here and below. */
bool weft_query_ask(struct weft_wait *wait, bool is_again);

/* Finds out whether processes that do not answer have ended. */
void weft_query_check_silent(struct weft_wait *wait);

/* True when all have answered, or half a second is over. */
bool weft_query_is_over(const struct weft_wait *wait, uint64_t now);

/* A process of a view and a need like this, or NULL. */
struct weft_wait_proc *weft_query_find(const struct weft_wait_view *view,
	uint64_t proc, const struct weft_need *need);

void weft_query_send(struct weft_vci *vci, uint64_t addr, enum weft_wire_op op,
	const void *payload, size_t len);

weft_wire_fn weft_query_on_query, weft_query_on_answer;

#endif
