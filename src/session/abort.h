/* SPDX-License-Identifier: BSD-3-Clause */
/* abort: who ends with me
 *
 * An abort ends the whole job, unless the session was opened with weft_abort:
 * "session" ends the processes this one has a communicator of the session with,
 * "group" those of the communicator the abort is about. */
#ifndef WEFT_ABORT_H
#define WEFT_ABORT_H

#include "session/session.h"

/* The value of the info key for a scope, and back (false: no scope). */
const char *weft_abort_scope_name(enum weft_abort_scope scope);
bool weft_abort_scope_of(const char *name, enum weft_abort_scope *scope_out);

/* Asks for the end of whoever is to end, and ends this process. comm may be
 * NULL, then the session is meant; session may be NULL, then the job is. Takes
 * the session's VCIs' locks; none may be held. */
void weft_abort_end(const struct weft_comm *comm, struct weft_session *session,
	int code, const char *text) __attribute__((noreturn));

#endif
