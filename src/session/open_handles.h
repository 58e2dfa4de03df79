/* SPDX-License-Identifier: BSD-3-Clause */
/* open_handles: what still hangs on a session */
#ifndef WEFT_OPEN_HANDLES_H
#define WEFT_OPEN_HANDLES_H

#include "session/session.h"

/* 0 if the session may close now. A strict one (weft_finalize=strict) may not
 * while something is tied to it: WEFT_ERR_PENDING, described with the list of
 * what that is; the session stays as it was. Talks to nobody, but carries on
 * what closes in the background. */
int weft_open_handles_check(struct weft_session *session);

/* The list alone, "" when nothing is tied; items that do not fit are left
 * out. Returns how many there are. */
uint32_t weft_open_handles_list(
	struct weft_session *session, char *list, size_t len);

#endif
