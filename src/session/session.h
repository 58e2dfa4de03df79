/* SPDX-License-Identifier: BSD-3-Clause */
/* session: open and close
 *
 * A session is opened by MPI_Session_init, by MPI_Init (the World) or by
 * OpenSHMEM. It owns the communicators, windows and files derived from it. Any
 * thread may open and close sessions at any time. */
#ifndef WEFT_SESSION_H
#define WEFT_SESSION_H

#include "core/session_data.h"

struct weft_info;
struct weft_errh;

/* Opens a session. info may be NULL; its keys are in core/hint.h, and it is not
 * retained. Takes a reference on errh. Returns 0 or an error described by
 * weft_err_set(). */
int weft_session_open(const struct weft_info *info, struct weft_errh *errh,
	struct weft_session **session_out);

/* Closes the session's open children, together with all other members, then the
 * session, which is gone on return whatever the result. Blocks; local if every
 * child was disconnected before. WEFT_ERR_PEER when a child could not be closed
 * with all members; WEFT_ERR_PENDING when the caller left operations pending on
 * one. */
int weft_session_close(struct weft_session *session);

/* Installs what must receive from the first message on, in a VCI of a session's
 * own; for weft_vci_acquire(). */
int weft_session_open_vci(struct weft_vci *vci);

/* Opens the World: a session, then the communicators of all processes and of
 * this one. A second call is WEFT_ERR_OTHER. */
int weft_world_open(
	const struct weft_info *info, enum weft_thread_level required);
int weft_world_close(void);

/* The error handler that the user chose at start-up: for the World's
 * communicators and for errors without an object. Static. */
struct weft_errh *weft_session_initial_errh(void);

#endif
