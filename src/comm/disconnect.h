/* SPDX-License-Identifier: BSD-3-Clause */
/* disconnect: closing of communicators
 *
 * Closing is a barrier on the control context, after all messages that this
 * process sent on the communicator have left. */
#ifndef WEFT_DISCONNECT_H
#define WEFT_DISCONNECT_H

#include "boot/boot.h"
#include "core/child.h"
#include "core/comm.h"

/* Prepares a VCI for communicators that close in the background. 0 or
 * WEFT_ERR_NOMEM. */
int weft_disconnect_open(struct weft_vci *vci);
void weft_disconnect_close(struct weft_vci *vci);

/* A communicator as a session's child. */
extern const struct weft_child_ops weft_disconnect_ops;

/* Frees the handle. The communicator closes in the background when its last
 * request is gone. Does not block. */
void weft_disconnect_free(struct weft_comm *comm);

void weft_disconnect_free_locked(struct weft_comm *comm); /* VCI's lock held */

/* Closes with all other members; blocks. The communicator is gone on return,
 * whatever the result. */
int weft_disconnect_wait(struct weft_comm *comm);

/* Called when a started disconnect is over and the communicator is gone; with
 * the VCI's lock held, at the latest when its session ends. */
typedef void weft_disconnect_done_fn(void *arg, int err);

/* Frees the handle and starts to close with all other members; does not block.
 * Matches weft_disconnect_wait() at other members. */
int weft_disconnect_start(
	struct weft_comm *comm, weft_disconnect_done_fn *done, void *arg);

/* VCI's lock held for all below. */

/* The communicator of a link in a session's list of children; NULL when the
 * child is something else. */
struct weft_comm *weft_disconnect_comm_of(struct weft_link *link);

/* True while a started close waits for other members. */
bool weft_disconnect_is_open(const struct weft_comm *comm);

/* The result of the close, described by weft_err_set(); 0 while it is not over.
 */
int weft_disconnect_result(const struct weft_comm *comm);

/* True once this process has started to close, or will do so without a further
 * call. */
bool weft_disconnect_has_begun(const struct weft_comm *comm);

/* True if this process closes the communicator in place of this round, which
 * other members wait for: its barrier has that number. */
bool weft_disconnect_replaces_round(
	const struct weft_comm *comm, uint32_t round);

/* True when no message of this process delays the close. */
bool weft_disconnect_is_flushed(const struct weft_comm *comm);

/* The session ends before the communicator could be closed: its handle is
 * stale, and it continues to close in the background. */
void weft_disconnect_cancel(struct weft_comm *comm);

/* The cancelled communicator of a VCI after this one (NULL: the first) that is
 * not closed yet, or NULL. */
struct weft_comm *weft_disconnect_next_cancelled(
	struct weft_vci *vci, const struct weft_comm *after);

/* Handles events of the process manager; weft_proc.on_event. A failed process
 * ends the waits for it in the background. */
void weft_disconnect_event(const struct weft_boot_event *event);

/* communicators that one step tests, so that a step's cost does not grow with
 * their number */
enum { WEFT_DISCONNECT_SOME = 32 };

/* Progresses communicators that close in the background: some of them, in turn,
 * or all. VCI's lock held. */
void weft_disconnect_progress(struct weft_vci *vci);
void weft_disconnect_progress_all(struct weft_vci *vci);

#endif
