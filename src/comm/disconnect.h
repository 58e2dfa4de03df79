/* SPDX-License-Identifier: BSD-3-Clause */
/* disconnect: communicators cease to be
 *
 * Leaving is a barrier on the control context once everything this process sent
 * on the communicator is gone, as far as this process has to act for it. */
#ifndef WEFT_DISCONNECT_H
#define WEFT_DISCONNECT_H

#include "boot/boot.h"
#include "core/child.h"
#include "core/comm.h"

/* Readies a VCI for communicators that close in the background. 0 or
 * WEFT_ERR_NOMEM. */
int weft_disconnect_open(struct weft_vci *vci);
void weft_disconnect_close(struct weft_vci *vci);

/* A communicator as a session's child. */
extern const struct weft_child_ops weft_disconnect_ops;

/* Gives up the handle: the communicator closes in the background when its last
 * request is gone. Does not block. */
void weft_disconnect_free(struct weft_comm *comm);

void weft_disconnect_free_locked(struct weft_comm *comm); /* VCI's lock held */

/* Leaves with all other members; blocks. The communicator is gone afterwards,
 * whatever is returned. */
int weft_disconnect_wait(struct weft_comm *comm);

/* Told when a started disconnect is over, the communicator being gone; with
 * the VCI's lock held, at the latest when its session ends. */
typedef void weft_disconnect_unmatched_fn(void *arg, int err);

/* Gives up the handle and starts to leave with all other members; does not
 * block. The members meet those that block in weft_disconnect_wait(). */
int weft_disconnect_start(
	struct weft_comm *comm, weft_disconnect_unmatched_fn *left, void *arg);

/* VCI's lock held for all below. */

/* The communicator a link in a session's list of children is in; NULL when the
 * child is something else. */
struct weft_comm *weft_disconnect_comm_of(struct weft_link *link);

/* True while a started leaving goes on: other members are waited for. */
bool weft_disconnect_is_open(const struct weft_comm *comm);

/* What leaving it ended with, described by weft_err_set(): 0 while it goes on.
 */
int weft_disconnect_result(const struct weft_comm *comm);

/* True once this process has begun to leave, or need make no call to begin. */
bool weft_disconnect_has_begun(const struct weft_comm *comm);

/* Instead of taking part in this round of the communicator, which others wait
 * for, this process leaves it: true when its leaving takes that number. */
bool weft_disconnect_is_instead(const struct weft_comm *comm, uint32_t round);

/* True when no message of this process keeps it from leaving. */
bool weft_disconnect_is_flushed(const struct weft_comm *comm);

/* The session ends, the communicator could not be left: its handle is stale, it
 * goes on closing in the background. */
void weft_disconnect_cancel(struct weft_comm *comm);

/* The cancelled communicator of a VCI after this one (NULL: the first) that is
 * not yet closed, or NULL. */
struct weft_comm *weft_disconnect_detach(
	struct weft_vci *vci, const struct weft_comm *after);

/* Takes events of the process manager; weft_proc.on_event. Who fails ends the
 * wait of what closes in the background. */
void weft_disconnect_event(const struct weft_boot_event *event);

/* So many are looked at in one step: many cost no more in each than few. */
enum { WEFT_DISCONNECT_SOME = 32 };

/* Carries on what closes in the background: some, by turns, or all. VCI's lock
 * held. */
void weft_disconnect_tend(struct weft_vci *vci);
void weft_disconnect_tend_all(struct weft_vci *vci);

#endif
