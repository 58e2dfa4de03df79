/* SPDX-License-Identifier: BSD-3-Clause */
/* era_comm: agreements of the members of communicators
 *
 * Runs the machine of era.h for each communicator that needs it. The members of
 * an intercommunicator are those of both groups. Its
 * messages need nothing of the communicator but its context id and its peers,
 * so they also work when it has failed members, is revoked or is freed. The
 * VCI's lock is held in all functions. None blocks: handlers and the reports of
 * failures continue an agreement, with or without a call in progress. */
#ifndef WEFT_ERA_COMM_H
#define WEFT_ERA_COMM_H

#include "core/comm.h"
#include "era/era.h"

struct weft_era_call;

typedef void weft_era_done_fn(struct weft_era_call *call);

/* One agreement. The caller owns the struct, and keeps it until `done` is
 * called or it is abandoned. */
struct weft_era_call {
	/* set by the caller; the rest is zero */
	struct weft_comm *comm;
	uint64_t flag;
	weft_era_done_fn *done; /* may not start a call, nor free
				   the communicator */
	void *arg;		/* the caller's */

	/* result; the value is valid in `done`, if err is 0 */
	int err;
	struct weft_era_value value;

	/* below: only era_comm.c */
	struct weft_link link;
	uint32_t seq; /* 0: the previous agreement has to end first */
};

/* Installs the handlers; called when a VCI opens. 0 or WEFT_ERR_NOMEM. */
int weft_era_comm_open(struct weft_vci *vci);

/* Frees the results that are still kept, when a VCI closes. */
void weft_era_comm_close(struct weft_vci *vci);

/* Starts the next agreement of a communicator. Agreements of a communicator are
 * in order. May call `done` at once. WEFT_ERR_NOMEM: `done` is never called. */
int weft_era_comm_start(struct weft_era_call *call);

/* The communicator is about to be closed. If it is revoked or a member has
 * failed, other members may still need the results. They are kept until the VCI
 * closes. */
void weft_era_comm_forget(struct weft_comm *comm);

/* The number of agreements that this process has begun on a communicator. */
uint32_t weft_era_comm_begun(const struct weft_comm *comm);

/* Writes the ranks that a call waits for to ranks, at most max. A remote rank
 * is size + rank. Returns their number. */
uint32_t weft_era_comm_awaited(
	const struct weft_era_call *call, uint32_t *ranks, uint32_t max);

#endif
