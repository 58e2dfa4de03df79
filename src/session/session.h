/* SPDX-License-Identifier: BSD-3-Clause */
/* session: opens and closes sessions
 *
 * A session is opened by MPI_Session_init, by MPI_Init (the World) or by
 * OpenSHMEM. It owns the communicators, windows and files derived from it. Any
 * thread may open and close sessions at any time. */
#ifndef WEFT_SESSION_H
#define WEFT_SESSION_H

#include "core/session_data.h"

struct weft_info;
struct weft_errh;

/* Opens a session. info may be NULL and is only read (core/hint.h). Acquires a
 * reference on errh. Returns 0 or an error described by weft_err_set(). */
int weft_session_open(const struct weft_info *info, struct weft_errh *errh,
	struct weft_session **session_out);

/* Closes the session's open children collectively with their other members.
 * Then destroys the session, even after an error. Blocks; local if every child
 * was disconnected before. WEFT_ERR_PEER: this process could not reach a member
 * of a child. A failed member is no error. WEFT_ERR_PENDING: this process left
 * operations pending on a child. */
int weft_session_close(struct weft_session *session);

/* Installs the message handlers in a VCI before its first message. For
 * weft_vci_acquire(). */
int weft_session_open_vci(struct weft_vci *vci);

/* weft_world_open() opens the World: a session, MPI_COMM_WORLD and
 * MPI_COMM_SELF. weft_world_close() closes it. A second call of either function
 * returns WEFT_ERR_OTHER. */
int weft_world_open(
	const struct weft_info *info, enum weft_thread_level required);
int weft_world_close(void);

/* Returns the error handler that the user chose at start-up, for the World's
 * communicators and for errors without an object. The handler is static. */
struct weft_errh *weft_session_initial_errh(void);

#endif
