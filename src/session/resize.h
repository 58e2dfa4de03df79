/* SPDX-License-Identifier: BSD-3-Clause */
/* resize: jobs that grow and shrink
 *
 * A generation is a state of the job. The set weft://job/K has the members of
 * generation K, which starts with 0. The launcher defines the sets and adds or
 * removes processes. A change has two steps:
 * - The members of the current set request a change. The result is the name of
 *   the new set. Both sets exist. Joined processes have been started; no
 * process has been removed.
 * - The members of the new set report that the change is complete. The old set
 *   is deleted. Processes that are in the old set only end themselves.
 * Between the steps, the change can be cancelled.
 *
 * Rank 0 sends the messages to the launcher. All steps are rounds of
 * comm/agree.h, so their order among other collectives of the communicator's
 * control context is that of the calls. */
#ifndef WEFT_RESIZE_H
#define WEFT_RESIZE_H

#include "session/session.h"

struct weft_comm;
struct weft_info;

/* Parses a name weft://job/K. False if the name has another form. */
bool weft_resize_parse(const char *name, uint32_t *generation_out);

/* Sets *delta_out to the number of processes that the launcher offers; below 0:
 * it requests them back; 0: no offer, or the size of the job is fixed. Sets
 * *info_out to a new info object with the limits. Acquires the default VCI's
 * lock. The first call of a process may wait for the launcher. */
int weft_resize_offer(int *delta_out, struct weft_info **info_out);

/* Returns WEFT_ERR_UNSUPPORTED if the size of the job is fixed, else 0. The
 * result is the same at all processes of a job. */
int weft_resize_check(void);

/* Called when a request or a report is complete. generation is that of the new
 * set. The lock of the communicator's VCI is held. */
typedef void weft_resize_done_fn(void *arg, uint32_t generation, int err);

/* Both functions are collective over an intracommunicator and do not block.
 * They pass the result to done(), possibly before they return. failed is an
 * earlier error of this process, or 0; an error of a member fails the call at
 * all members. Acquire the lock of the communicator's VCI. WEFT_ERR_NOMEM:
 * done() is not called.
 *
 * weft_resize_start() requests a change; the members of comm are those of the
 * current set that have not failed. weft_resize_complete() reports that a
 * change is complete; the members are those of the new set. WEFT_ERR_NOT_SAME:
 * the members passed other numbers. WEFT_ERR_COMM: the members are those of
 * another set. Also the errors of weft_boot_ops.resize. */
int weft_resize_start(struct weft_comm *comm, int32_t delta, int failed,
	weft_resize_done_fn *done, void *arg);
int weft_resize_complete(struct weft_comm *comm, const char *pset, int failed,
	weft_resize_done_fn *done, void *arg);

/* Cancels a change: the new set is deleted, joined processes are ended, and the
 * old set remains current. One process calls this; waits for the launcher.
 * Acquires the default VCI's lock. WEFT_ERR_NAME: no change to this set is in
 * progress, and the set is not that of the last cancelled change.
 * WEFT_ERR_SERVICE: no answer in 60 seconds. */
int weft_resize_cancel(const char *pset);

/* Returns the hosts "a,b" to the process manager, which ends the processes that
 * still run there. Waits until the manager has accepted the request. One
 * process calls this. Acquires the default VCI's lock. WEFT_ERR_UNSUPPORTED:
 * the manager accepts no hosts. WEFT_ERR_ARG: the calling process runs on a
 * host of the list, or the manager does not use a host. WEFT_ERR_SERVICE: no
 * answer in 60 seconds. */
int weft_resize_release_hosts(const char *hosts);

#endif
