/* SPDX-License-Identifier: BSD-3-Clause */
/* session_hint: what a session was asked for, and what it got */
#ifndef WEFT_SESSION_HINT_H
#define WEFT_SESSION_HINT_H

#include "core/hint.h"
#include "session/session.h"

/* Notes what the process's first session asks of the fabric, which opens with
 * it; no effect when it is open. Called before weft_proc_get(). */
void weft_session_hint_requested(const struct weft_info *asked);

/* The VCI that a session gets which asks so: the default one, or one of its
 * own when it asks for that, or for a fabric that the default one does not run
 * on. What cannot be met is warned about. WEFT_ERR_INFO_VALUE if a key of a
 * session has an invalid value. The process-wide object must be open. */
int weft_session_hint_vci(const struct weft_info *asked,
	weft_vci_open_fn *on_open, struct weft_vci **vci_out);

/* Reads the keys of `asked` (NULL: none) into the session's level and puts
 * what is in effect into its info object. Keys that nobody knows are ignored,
 * but warned about where they begin with weft_. The process-wide object must be
 * open, for the launch's own wishes. */
int weft_session_hint_apply(
	struct weft_session *session, const struct weft_info *asked);

/* A new info object: what is in effect for the session now, whatever was asked
 * for. */
int weft_session_hint_used(
	struct weft_session *session, struct weft_info **info_out);

/* "MPI_THREAD_SINGLE" and so on. */
const char *weft_session_hint_level_name(enum weft_thread_level level);

#endif
