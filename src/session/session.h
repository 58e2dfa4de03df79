/* SPDX-License-Identifier: BSD-3-Clause */
/* session: open and close
 *
 * A session is opened by MPI_Session_init, by MPI_Init (the World) or by the
 * other API; it owns the communicators, windows and files derived from it.
 * Any thread may open and close sessions at any time. */
#ifndef WEFT_SESSION_H
#define WEFT_SESSION_H

#include "core/session_data.h"

struct weft_info;
struct weft_errh;

/* Opens a session. info may be NULL; it is read, not kept. Recognized keys are
 * in core/hint.h. Takes a reference on errh. 0 or an error described by
 * weft_err_set(). */
int weft_session_open(const struct weft_info *info, struct weft_errh *errh,
	struct weft_session **session_out);

/* Closes what is still open in the session, with all other members, then the
 * session: it is gone afterwards, whatever is returned. Blocks; local when
 * every child was disconnected before. WEFT_ERR_PEER when a child could not be
 * left in order; WEFT_ERR_PENDING when the caller left something pending on
 * one. */
int weft_session_close(struct weft_session *session);

/* Readies a VCI of a session's own for what must listen from the first message
 * on; for weft_vci_acquire(). */
int weft_session_open_vci(struct weft_vci *vci);

/* Opens the World: a session, then the communicators of all and of myself. A
 * second call is WEFT_ERR_OTHER. */
int weft_world_open(
	const struct weft_info *info, enum weft_thread_level required);
int weft_world_close(void);

/* The error handler the user wished for at start-up: of the World's
 * communicators, and of errors without an object. Static. */
struct weft_errh *weft_session_initial_errh(void);

#endif
