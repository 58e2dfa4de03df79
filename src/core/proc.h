/* SPDX-License-Identifier: BSD-3-Clause */
/* proc: the one process-wide object
 *
 * The first session opens the process manager, shared memory and the fabric;
 * they outlive the last session, so that opening the next one costs nothing,
 * and are closed when the process exits. */
#ifndef WEFT_PROC_H
#define WEFT_PROC_H

#include "boot/boot.h"
#include "core/lane.h"

#include <pthread.h>
#include <stdbool.h>

struct weft_group;
struct weft_topo;

/* What the session room wants to hear of. */
typedef void weft_proc_event_fn(const struct weft_boot_event *event);

struct weft_proc {
	pthread_mutex_t lock; /* opening and closing; lock order 1 */
	bool is_open;
	bool was_open_failed;
	int n_sessions;		/* live, the World included */
	uint64_t proc;		/* my process number */
	struct weft_boot *boot; /* guarded by lane.lock */
	struct weft_boot_facts facts;
	struct weft_topo *topo; /* NULL until asked for; weft_proc_topo() */
	struct weft_lane lane;
	uint64_t next_ctx;	      /* guarded by lane.lock */
	int64_t max_spin;	      /* empty polls before yielding */
	weft_proc_event_fn *on_event; /* set by the session room */
};

extern struct weft_proc weft_proc;

/* A session begins: opens everything if it is the first. Any thread, at any
 * time. 0 or an error described by weft_err_set(). */
int weft_proc_get(void);

/* A session ended. What was opened stays open. */
void weft_proc_put(void);

/* Hardware topology, loaded on first use; NULL when hwloc fails. */
struct weft_topo *weft_proc_topo(void);

/* A context id no other process of the job hands out: n ids in a row, each
 * WEFT_PLANE_END apart. Lane's lock held. */
uint64_t weft_proc_new_ctx(uint32_t n);

/* Asks the process manager to end the job and ends this process. */
void weft_proc_abort(int code, const char *text) __attribute__((noreturn));

/* True if the process with this number runs on my node. */
bool weft_proc_is_near(uint64_t proc);

#endif
