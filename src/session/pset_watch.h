/* SPDX-License-Identifier: BSD-3-Clause */
/* pset_watch: calls a program's function when process sets change
 *
 * A change is recorded when its event arrives, also under a VCI's lock. The
 * program's function is called later, without any lock. Any thread.
 *
 * The function is also called after the failure of a process of the job, with
 * the arguments of a definition of WEFT_PSET_ALIVE. Failures that were found
 * together may cause one call. An offer of the process manager is a change of
 * WEFT_PSET_JOB. */
#ifndef WEFT_PSET_WATCH_H
#define WEFT_PSET_WATCH_H

#include "session/session.h"

struct weft_boot_event;

enum weft_pset_change {
	WEFT_PSET_CHANGE_DEFINED,
	WEFT_PSET_CHANGE_DELETED,
	WEFT_PSET_CHANGE_OFFER,
};

/* The function to call. The API room provides call(), which casts fn to its
 * type.
 */
struct weft_watch_how {
	void (*call)(const struct weft_watch_how *how, const char *name,
		enum weft_pset_change change);
	void *handle; /* handle of the session, as the API passes it */
	void (*fn)(void);
	void *arg;
};

/* Replaces the session's function; *how is copied, and NULL removes the
 * function. Waits until calls of the former function have returned, unless the
 * former function itself makes this call. 0 or WEFT_ERR_NOMEM. */
int weft_pset_watch_set(
	struct weft_session *session, const struct weft_watch_how *how);

/* Records an event of the process manager for every session. */
void weft_pset_watch_event(const struct weft_boot_event *event);

/* Records that the application defined or deleted a set in the session. */
void weft_pset_watch_defined(
	struct weft_session *session, const char *name, bool is_defined);

/* Calls the functions that have pending changes. No lock held. A function is
 * not called again from within its own call, nor by two threads at a time. */
void weft_pset_watch_notify(void);

#endif
