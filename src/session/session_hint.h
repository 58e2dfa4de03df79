/* SPDX-License-Identifier: BSD-3-Clause */
/* session_hint: the hints of a session, requested and in effect */
#ifndef WEFT_SESSION_HINT_H
#define WEFT_SESSION_HINT_H

#include "core/hint.h"
#include "session/session.h"

/* Records the fabric hints of the process's first session, with which the
 * fabric opens, unless the process is open (weft_proc.is_open). Records that
 * a driver of devices is open and that the session may use its memory, for all
 * fabrics that open later. Called before weft_proc_get(). */
void weft_session_hint_requested(const struct weft_info *requested);

/* Chooses the VCI of a session with these hints: the default one, or a
 * dedicated one. A session gets a dedicated VCI if it requests one, or requests
 * a fabric that the default VCI does not use. A request that cannot be met
 * causes a warning. WEFT_ERR_INFO_VALUE: a key of a session has an invalid
 * value. Called after weft_proc_get(). */
int weft_session_hint_vci(const struct weft_info *requested,
	weft_vci_open_fn *on_open, struct weft_vci **vci_out);

/* Sets the fields of the session by the keys of `requested` (NULL: none), and
 * writes the hints in effect into its info object. Unknown keys are ignored,
 * with a warning if they begin with weft_. Called after weft_proc_get(),
 * because the process manager also provides hints. */
int weft_session_hint_apply(
	struct weft_session *session, const struct weft_info *requested);

/* Creates an info object with the hints in effect now. */
int weft_session_hint_used(
	struct weft_session *session, struct weft_info **info_out);

/* Returns the name of a thread level: "MPI_THREAD_SINGLE" and so on. */
const char *weft_session_hint_level_name(enum weft_thread_level level);

#endif
