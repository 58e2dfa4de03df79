/* SPDX-License-Identifier: BSD-3-Clause */
/* progress_thread: progress while the program computes
 *
 * One thread serves all users. It makes progress on a user's VCI if no other
 * thread has done so for a millisecond. It never waits for a VCI's lock,
 * because the thread that holds the lock makes progress. */
#ifndef WEFT_PROGRESS_THREAD_H
#define WEFT_PROGRESS_THREAD_H

#include "transport/vci.h"

#include <stdatomic.h>

/* A user of the thread; zeroed except vci. */
struct weft_progress_user {
	struct weft_vci *vci;
	/* Milliseconds after which the user is removed, once no operation is
	 * queued on the VCI; 0: never. May be set again at any time. */
	_Atomic uint32_t lease;
	/* ---- private to progress_thread.c ---- */
	struct weft_progress_hook hook; /* counts rounds of progress */
	struct weft_link link;
	uint32_t n_adds;	   /* calls of weft_progress_thread_add(), minus
				      calls of weft_progress_thread_remove() */
	_Atomic uint32_t n_rounds; /* rounds of progress by other threads than
				      the progress thread */
	uint32_t last; /* n_rounds when the thread last served this user */
};

/* Adds a user. From then on, locks exclude other threads at every thread level,
 * because of the progress thread. The caller must call
 * weft_progress_thread_remove() once for each call, even after an error. No
 * VCI's lock held. 0, or a described WEFT_ERR_OTHER if the thread cannot be
 * created. */
int weft_progress_thread_add(struct weft_progress_user *user);

/* True if the user is added. VCI's lock held. */
static inline bool weft_progress_thread_has(
	const struct weft_progress_user *user)
{
	return user->n_adds != 0;
}

/* Removes a user. VCI's lock held. The thread ends some time after the last
 * user was removed, so that several short uses share one thread. */
void weft_progress_thread_remove(struct weft_progress_user *user);

/* Sets a function that the thread calls once a millisecond while it runs,
 * without any lock. NULL removes the function, and waits for a call that is
 * running. No VCI's lock held. */
void weft_progress_thread_tick(void (*tick)(void));

/* Waits for the thread's end, when the process closes. No lock held. */
void weft_progress_thread_join(void);

#endif
