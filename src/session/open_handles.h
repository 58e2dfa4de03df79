/* SPDX-License-Identifier: BSD-3-Clause */
/* open_handles: the open objects of a session */
#ifndef WEFT_OPEN_HANDLES_H
#define WEFT_OPEN_HANDLES_H

#include "session/session.h"

/* 0 if the session may close now. A strict session (weft_finalize=strict) may
 * not close while it has open objects: WEFT_ERR_PENDING, described with their
 * list, and the session is unchanged. Sends nothing, but progresses what closes
 * in the background. */
int weft_open_handles_check(struct weft_session *session);

/* The list alone, "" when it is empty; items that do not fit are left out.
 * Returns how many there are. */
uint32_t weft_open_handles_list(
	struct weft_session *session, char *list, size_t len);

#endif
