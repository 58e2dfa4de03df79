/* SPDX-License-Identifier: BSD-3-Clause */
/* repair: agreement, and a communicator of the living members
 *
 * The calls are collective over the living members of a communicator, which may
 * have failed members. All living members get the same result, even if members
 * die during the call. Exception: a member that has no memory returns
 * WEFT_ERR_NOMEM. The functions acquire the VCI's lock. WEFT_ERR_NOT_SAME: the
 * members call different procedures. */
#ifndef WEFT_REPAIR_H
#define WEFT_REPAIR_H

#include "comm/create.h"

/* Called when a started agreement is complete, with the VCI's lock held. flag
 * and err are as *flag and the result of weft_repair_agree(). */
typedef void weft_repair_agreed_fn(void *arg, uint32_t flag, int err);

/* weft_repair_agree() sets *flag to the bitwise AND of the members' flags. On
 * an intercommunicator, this is the AND of the flags of the remote group.
 * weft_repair_agree_start() does not block, and passes the result to agreed().
 *
 * WEFT_ERR_PEER at all members, with the AND in *flag: not all members have
 * acknowledged all failed members. WEFT_ERR_PEER with an unchanged *flag:
 * another member has reported this process as failed. */
int weft_repair_agree(struct weft_comm *comm, uint32_t *flag);
int weft_repair_agree_start(struct weft_comm *comm, uint32_t flag,
	weft_repair_agreed_fn *agreed, void *arg);

/* weft_repair_shrink() creates a communicator of the living members, in the
 * order of their ranks, with comm's error handler. The communicator may include
 * a member that dies during the call. For an intercommunicator, the result is
 * an intercommunicator, or NULL at all members if all members of one group have
 * died. weft_repair_shrink_start() does not block, and passes the result to
 * made(). */
int weft_repair_shrink(struct weft_comm *comm, struct weft_comm **comm_out);
int weft_repair_shrink_start(
	struct weft_comm *comm, weft_create_done_fn *made, void *arg);

#endif
