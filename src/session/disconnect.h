/* SPDX-License-Identifier: BSD-3-Clause */
/* disconnect: communicators cease to be
 *
 * Leaving is a barrier on the control plane once everything this process sent
 * on the communicator is gone, as far as this process has to act for it. */
#ifndef WEFT_DISCONNECT_H
#define WEFT_DISCONNECT_H

#include "core/child.h"
#include "core/comm.h"

/* A communicator as a session's child. */
extern const struct weft_child_ops weft_disconnect_ops;

/* Gives up the handle: the communicator closes in the background when its last
 * request is gone. Does not block. */
void weft_disconnect_free(struct weft_comm *comm);

/* Leaves with all other members; blocks. The communicator is gone afterwards,
 * whatever is returned. */
int weft_disconnect_wait(struct weft_comm *comm);

/* Told when a started disconnect is over, the communicator being gone; with
 * the lane's lock held, at the latest when its session ends. */
typedef void weft_disconnect_left_fn(void *arg, int err);

/* Gives up the handle and starts to leave with all other members; does not
 * block. The members meet those that block in weft_disconnect_wait(). */
int weft_disconnect_start(
	struct weft_comm *comm, weft_disconnect_left_fn *left, void *arg);

/* Carries on what closes in the background. Lane's lock held. */
void weft_disconnect_tend(struct weft_lane *lane);

#endif
