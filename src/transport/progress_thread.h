/* SPDX-License-Identifier: BSD-3-Clause */
/* progress_thread: progress while the program computes
 *
 * One thread for all who ask for it. When nobody has made progress on a VCI of
 * theirs for a millisecond it does. It waits for no VCI's lock: who has it
 * makes progress. */
#ifndef WEFT_PROGRESS_THREAD_H
#define WEFT_PROGRESS_THREAD_H

#include "transport/vci.h"

#include <stdatomic.h>

/* Who wants it; zeroed but for vci. */
struct weft_progress_user {
	struct weft_vci *vci;
	/* Milliseconds after which it goes by itself, once nothing waits to
	 * leave the VCI; 0: it stays. May be set again at any time. */
	_Atomic uint32_t lease;
	/* Where rounds of progress are counted that calls make, not the thread,
	 * for others to look at; NULL: here. */
	_Atomic uint32_t *n_rounds;
	/* ---- below: only progress_thread.c ---- */
	struct weft_progress_hook hook; /* counts rounds of progress */
	struct weft_link link;
	uint32_t n_adds; /* that are to be taken back */
	_Atomic uint32_t n_own_rounds;
	uint32_t last;
	bool is_served; /* by the thread, now; VCI's lock */
};

/* From now on locks are real. Who was added twice is to be removed twice. No
 * VCI's lock held. 0, or WEFT_ERR_OTHER described when there is no thread to be
 * had: it is to be removed then too. */
int weft_progress_thread_add(struct weft_progress_user *user);

/* Is it there? VCI's lock held. */
static inline bool weft_progress_thread_has(
	const struct weft_progress_user *user)
{
	return user->n_adds != 0;
}

/* VCI's lock held. The thread ends by itself some time after the last user:
 * those who come and go find it there. */
void weft_progress_thread_remove(struct weft_progress_user *user);

/* Called once a millisecond while there are users, without any lock; NULL: no
 * more, which waits for a call under way. No VCI's lock held. */
void weft_progress_thread_tick(void (*tick)(void));

/* Waits for its end; when the process closes. No lock held. */
void weft_progress_thread_join(void);

#endif
