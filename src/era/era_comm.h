/* SPDX-License-Identifier: BSD-3-Clause */
/* era_comm: agreements of the members of communicators
 *
 * Each communicator with agreements has a state machine (era.h). The members of
 * an intercommunicator are those of both groups. Messages of agreements use
 * only the context id and the peers of the communicator. So agreements also
 * work if the communicator has failed members, is revoked or is freed.
 *
 * The VCI's lock is held in all functions, and no function blocks. Message
 * handlers and reports of failures continue an agreement, even if no call is in
 * progress. */
#ifndef WEFT_ERA_COMM_H
#define WEFT_ERA_COMM_H

#include "core/comm.h"
#include "era/era.h"

struct weft_era_call;

typedef void weft_era_done_fn(struct weft_era_call *call);

/* One call of an agreement. The caller owns the struct, and keeps it until
 * `done` is called. */
struct weft_era_call {
	/* the caller sets these fields, and zeroes the rest */
	struct weft_comm *comm;
	uint64_t flag;
	uint32_t kinds;		/* the bit of the procedure */
	weft_era_done_fn *done; /* must neither start a call nor free the
				   communicator */
	void *arg;		/* for the caller's use */

	/* result; the value is valid during `done`, if err is 0 */
	int err;
	struct weft_era_value value;

	/* below: only era_comm.c */
	struct weft_link link;
	uint32_t seq; /* number of the agreement; 0: the call waits until the
			 previous agreement has ended */
};

/* Installs the handlers; called when a VCI opens. 0 or WEFT_ERR_NOMEM. */
int weft_era_comm_open(struct weft_vci *vci);

/* Frees all states, also those of closed communicators. Called when a VCI
 * closes. */
void weft_era_comm_close(struct weft_vci *vci);

/* Starts the next agreement of a communicator, or queues the call until the
 * previous agreement has ended. May call `done` before it returns.
 * WEFT_ERR_NOMEM: `done` is never called. */
int weft_era_comm_start(struct weft_era_call *call);

/* Called before a communicator is closed. If the communicator is revoked or has
 * failed members, other members may still need the results of its agreements.
 * The VCI keeps these results until it closes. */
void weft_era_comm_forget(struct weft_comm *comm);

/* The number of agreements that this process has begun on a communicator. */
uint32_t weft_era_comm_begun(const struct weft_comm *comm);

/* Writes the ranks of the members that a call waits for to ranks, at most max
 * of them. A rank of the remote group is written as size + rank. Returns the
 * number of ranks written. */
uint32_t weft_era_comm_awaited(
	const struct weft_era_call *call, uint32_t *ranks, uint32_t max);

#endif
