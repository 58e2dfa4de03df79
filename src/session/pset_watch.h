/* SPDX-License-Identifier: BSD-3-Clause */
/* pset_watch: a program wants to be told when process sets change
 *
 * Changes are noted wherever they are heard of, also under a VCI's lock; the
 * program's function is called later, without any lock of ours. Any thread. */
#ifndef WEFT_PSET_WATCH_H
#define WEFT_PSET_WATCH_H

#include "session/session.h"

struct weft_boot_event;

/* Whom to tell. call() knows what kind of function fn is. */
struct weft_watch_how {
	void (*call)(const struct weft_watch_how *how, const char *name,
		bool is_defined);
	void *handle; /* of the session, as the API has it */
	void (*fn)(void);
	void *arg;
};

/* Tells this one of the session's changes from now on (how is copied), or
 * nobody (NULL). What was told to the one before is over when this returns,
 * unless it is called from there. WEFT_ERR_NOMEM. */
int weft_pset_watch_set(
	struct weft_session *session, const struct weft_watch_how *how);

/* The process manager's news, for every session. */
void weft_pset_watch_event(const struct weft_boot_event *event);

/* The session itself has defined or deleted a set. */
void weft_pset_watch_made(
	struct weft_session *session, const char *name, bool is_defined);

/* Calls the functions that have news. No lock held. A function that is being
 * called is not called again from within, nor by another thread. */
void weft_pset_watch_notify(void);

#endif
