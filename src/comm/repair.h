/* SPDX-License-Identifier: BSD-3-Clause */
/* repair: agreement, and a communicator of the members that live
 *
 * Collective over the living members of a communicator, which may have failed
 * members. All members get the same result, whichever members die
 * meanwhile; only memory can run out at one of them. The functions take the
 * VCI's lock. WEFT_ERR_NOT_SAME: the members call different procedures. */
#ifndef WEFT_REPAIR_H
#define WEFT_REPAIR_H

#include "comm/create.h"

/* Called when a started agreement is over, with the VCI's lock held. flag is
 * valid if err is 0 or WEFT_ERR_PEER; this process's own, if another member has
 * reported it as failed. */
typedef void weft_repair_agreed_fn(void *arg, uint32_t flag, int err);

/* Returns the AND of the members' flags in *flag; on an intercommunicator, of
 * those of the remote group. WEFT_ERR_PEER at all members
 * if a failed member is known to one of them and not acknowledged by all; *flag
 * is valid then, too. WEFT_ERR_PEER also if another member has reported this
 * process as failed; *flag is unchanged then. The second function does not
 * block. */
int weft_repair_agree(struct weft_comm *comm, uint32_t *flag);
int weft_repair_agree_start(struct weft_comm *comm, uint32_t flag,
	weft_repair_agreed_fn *agreed, void *arg);

/* Creates a communicator of the members that live, in the order of their ranks,
 * with comm's error handler. A member that dies during the call may be in it.
 * WEFT_ERR_COMM: comm is an intercommunicator. The second function does not
 * block. */
int weft_repair_shrink(struct weft_comm *comm, struct weft_comm **comm_out);
int weft_repair_shrink_start(
	struct weft_comm *comm, weft_create_done_fn *made, void *arg);

#endif
