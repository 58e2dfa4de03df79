/* SPDX-License-Identifier: BSD-3-Clause */
/* session_hint: the hints of a session, requested and in effect */
#ifndef WEFT_SESSION_HINT_H
#define WEFT_SESSION_HINT_H

#include "core/hint.h"
#include "session/session.h"

/* Records what the process's first session requests of the fabric, which opens
 * with it; no effect once it is open. Called before weft_proc_get(). */
void weft_session_hint_requested(const struct weft_info *requested);

/* The VCI of a session with these hints: the default one, or a dedicated one if
 * the session requests that, or a fabric that the default one does not use. A
 * request that cannot be met causes a warning. WEFT_ERR_INFO_VALUE if a key of
 * a session has an invalid value. The process-wide object must be open. */
int weft_session_hint_vci(const struct weft_info *requested,
	weft_vci_open_fn *on_open, struct weft_vci **vci_out);

/* Reads the keys of `asked` (NULL: none) into the session's thread level, and
 * writes the hints in effect into its info object. Unknown keys are ignored,
 * with a warning if they begin with weft_. The process-wide object must be
 * open, because the launch has hints too. */
int weft_session_hint_apply(
	struct weft_session *session, const struct weft_info *requested);

/* A new info object with the hints in effect now. */
int weft_session_hint_used(
	struct weft_session *session, struct weft_info **info_out);

/* "MPI_THREAD_SINGLE" and so on. */
const char *weft_session_hint_level_name(enum weft_thread_level level);

#endif
