/* SPDX-License-Identifier: BSD-3-Clause */
/* abort: selects the processes that an abort of this process ends
 *
 * An abort ends the whole job unless the session was opened with the info key
 * weft_abort. "session" ends the processes that share a communicator of the
 * session with this one, "group" the members of the communicator that the abort
 * names. */
#ifndef WEFT_ABORT_H
#define WEFT_ABORT_H

#include "session/session.h"

/* The value of the info key that selects a scope. */
const char *weft_abort_scope_name(enum weft_abort_scope scope);

/* Stores the scope that a value of the info key selects. Returns false if the
 * value selects no scope. */
bool weft_abort_scope_of(const char *name, enum weft_abort_scope *scope_out);

/* Requests that the process manager end the processes in the scope of the
 * session, and ends this process. If comm is NULL, scope "group" has the effect
 * of "session". If session is NULL, the whole job ends. Acquires the locks of
 * the default VCI and of the session's own VCI. No VCI's lock held. */
void weft_abort_end(const struct weft_comm *comm, struct weft_session *session,
	int code, const char *text) __attribute__((noreturn));

#endif
