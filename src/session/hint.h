/* SPDX-License-Identifier: BSD-3-Clause */
/* hint: what a session was asked for, and what it got */
#ifndef WEFT_HINT_H
#define WEFT_HINT_H

#include "session/session.h"

#define WEFT_HINT_THREAD_LEVEL "thread_level"
#define WEFT_HINT_ALLOC_KINDS "mpi_memory_alloc_kinds"

/* Reads the keys of `asked` (NULL: none) into the session's level and puts
 * what is in effect into its info object. Keys that nobody knows are ignored; a
 * thread level that is none is WEFT_ERR_INFO_VALUE.
 * The process-wide object must be open, for the launch's own wishes. */
int weft_hint_apply(
	struct weft_session *session, const struct weft_info *asked);

/* "MPI_THREAD_SINGLE" and so on. */
const char *weft_hint_level_name(enum weft_thread_level level);

#endif
