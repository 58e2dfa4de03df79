/* SPDX-License-Identifier: BSD-3-Clause */
/* disconnect: closes communicators
 *
 * All members close a communicator by a barrier on its control context. A
 * member enters the barrier after all messages that it sent on the communicator
 * have arrived. */
#ifndef WEFT_DISCONNECT_H
#define WEFT_DISCONNECT_H

#include "boot/boot.h"
#include "core/child.h"
#include "core/comm.h"

/* weft_disconnect_open() allocates the state of a VCI for communicators that
 * close in the background. 0 or WEFT_ERR_NOMEM. weft_disconnect_close() frees
 * the state. */
int weft_disconnect_open(struct weft_vci *vci);
void weft_disconnect_close(struct weft_vci *vci);

/* The teardown functions of a communicator as a session's child. */
extern const struct weft_child_ops weft_disconnect_ops;

/* Makes the handle stale. The communicator closes in the background when no
 * request refers to it, and there is memory for the close. Does not block. */
void weft_disconnect_free(struct weft_comm *comm);

/* As weft_disconnect_free(). VCI's lock held. */
void weft_disconnect_free_locked(struct weft_comm *comm);

/* Closes the communicator with all other members and destroys it, also after an
 * error. Blocks. If the watchdog ends the wait with an error, the close
 * continues in the background. */
int weft_disconnect_wait(struct weft_comm *comm);

/* Called once, when a started disconnect is complete and the communicator is
 * destroyed, or when its session ends. VCI's lock held. */
typedef void weft_disconnect_done_fn(void *arg, int err);

/* Makes the handle stale and starts to close with all other members. Does not
 * block. Other members may call weft_disconnect_wait(). */
int weft_disconnect_start(
	struct weft_comm *comm, weft_disconnect_done_fn *done, void *arg);

/* VCI's lock held for all below. */

/* Returns the communicator of this link in a session's list of children. NULL
 * if the child is not a communicator. */
struct weft_comm *weft_disconnect_comm_of(struct weft_link *link);

/* True if the communicator is closing or freed, its close is not complete, and
 * no member has failed. */
bool weft_disconnect_is_open(const struct weft_comm *comm);

/* Returns and describes the result of the close. 0 while the close is not
 * complete. */
int weft_disconnect_result(const struct weft_comm *comm);

/* True if this process has started to close the communicator, or will start
 * without a further call of the program. */
bool weft_disconnect_has_begun(const struct weft_comm *comm);

/* True if the barrier of the close uses, or will use, the number of this round.
 * Then this process never joins the round, for which another member waits. */
bool weft_disconnect_replaces_round(
	const struct weft_comm *comm, uint32_t round);

/* True if all messages of this process have arrived, and this process has
 * entered the barrier. */
bool weft_disconnect_is_flushed(const struct weft_comm *comm);

/* Called when the watchdog has ended a wait for the close. Makes the handle
 * stale, and removes the communicator from its session. The close continues in
 * the background. */
void weft_disconnect_cancel(struct weft_comm *comm);

/* Returns the first communicator of a VCI that was cancelled and is not closed
 * yet, or the next one after `after` if that is not NULL. NULL at the end. */
struct weft_comm *weft_disconnect_next_cancelled(
	struct weft_vci *vci, const struct weft_comm *after);

/* Handles events of the process manager, for weft_proc.on_event. Records a
 * failed process, and then tests all communicators that close in the background
 * on the default VCI. */
void weft_disconnect_event(const struct weft_boot_event *event);

/* The most communicators that one step tests, so that the cost of a step does
 * not grow with the number of communicators. */
enum { WEFT_DISCONNECT_SOME = 32 };

/* Both functions test communicators that close in the background, and destroy
 * those that are closed. weft_disconnect_progress() tests up to
 * WEFT_DISCONNECT_SOME of them, in turn. weft_disconnect_progress_all() tests
 * all. VCI's lock held. */
void weft_disconnect_progress(struct weft_vci *vci);
void weft_disconnect_progress_all(struct weft_vci *vci);

#endif
