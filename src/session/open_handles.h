/* SPDX-License-Identifier: BSD-3-Clause */
/* open_handles: the open objects of a session */
#ifndef WEFT_OPEN_HANDLES_H
#define WEFT_OPEN_HANDLES_H

#include "session/session.h"

/* Checks whether the session may close now. WEFT_ERR_PENDING: the session is
 * strict (weft_finalize=strict) and has open objects, which the text of the
 * error lists. Sends no message, but makes progress on communicators that close
 * in the background. */
int weft_open_handles_check(struct weft_session *session);

/* Writes the list of open objects. Objects that do not fit are left out.
 * Returns the number of open objects. */
uint32_t weft_open_handles_list(
	struct weft_session *session, char *list, size_t len);

#endif
