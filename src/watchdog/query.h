/* SPDX-License-Identifier: BSD-3-Clause */
/* query: queries the processes that a call waits for, and answers queries
 *
 * The progress of the queried process sends the answer. A query uses the VCI of
 * the communicator in the query. So the queried process holds the lock of the
 * data that it reads. The answer arrives after all earlier messages that the
 * queried process sent through that VCI. */
#ifndef WEFT_QUERY_H
#define WEFT_QUERY_H

#include "transport/dispatch.h"
#include "watchdog/wait.h"

/* Returns whether this process has met a need of another process. The room that
 * causes such needs implements it. Sets *owner_out as in weft_wire_answer. The
 * lock of the query's VCI is held. */
typedef enum weft_wire_met weft_query_fn(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t asker,
	uint32_t *owner_out);

/* Registers the function that answers queries about this kind of need. */
void weft_query_set(enum weft_wire_need need, weft_query_fn *fn);

/* Queries all processes that a wait needs. With is_again, queries only
 * processes that were not queried before. False if no process was queried. The
 * lock of the wait's VCI is held, here and below. */
bool weft_query_ask(struct weft_wait *wait, bool is_again);

/* Checks whether the processes that have not answered have ended. If a process
 * has ended, handles its end like an event of the process manager. */
void weft_query_check_silent(struct weft_wait *wait);

/* Adds passed_ns to the silence of all queried processes that have not
 * answered. A process counts as failed after a silence of WEFT_FAIL_TIMEOUT
 * seconds. */
void weft_query_add_silence(struct weft_wait *wait, uint64_t passed_ns);

/* True if the silence of a process is being added up. The wait has a view. */
bool weft_query_suspects(const struct weft_wait *wait);

/* True if all processes have answered, or half a second has passed. */
bool weft_query_is_over(const struct weft_wait *wait, uint64_t now);

/* Finds a process of a view with an equal need, or NULL. */
struct weft_wait_proc *weft_query_find(const struct weft_wait_view *view,
	uint64_t proc, const struct weft_need *need);

/* Sends a control message to a peer; drops it if the peer is unknown. */
void weft_query_send(struct weft_vci *vci, uint64_t addr, enum weft_wire_op op,
	const void *payload, size_t len);

weft_wire_fn weft_query_on_query, weft_query_on_answer;

#endif
