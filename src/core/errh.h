/* SPDX-License-Identifier: BSD-3-Clause */
/* errh: error handlers
 *
 * Error handlers exist independently of sessions and before any session. The
 * user's function is untyped here; the API room that created the handler calls
 * it. Any thread. */
#ifndef WEFT_ERRH_H
#define WEFT_ERRH_H

#include "base/handle.h"

#include <stdatomic.h>

enum weft_errh_action {
	WEFT_ERRH_FATAL,
	WEFT_ERRH_ABORT,
	WEFT_ERRH_RETURN,
	WEFT_ERRH_CALL, /* a user's function */
};

typedef void weft_errh_fn(void);

/* weft_errh_create() creates a handler, the last weft_errh_put() destroys it.
 * The user's handle and each object that has the handler hold one reference.
 * Predefined handlers are static and never destroyed. */
struct weft_errh {
	struct weft_obj obj;
	enum weft_errh_action action;
	int kind; /* enum weft_kind of the objects that may have the handler;
		     0: any */
	weft_errh_fn *fn;
	atomic_uint refs;
};

extern struct weft_table weft_errhs;

/* The predefined handlers, by enum weft_errh_action. */
extern struct weft_errh weft_errh_builtin[3];

/* Creates a handler that calls fn for errors on objects of this kind, with one
 * reference; NULL when out of memory. */
struct weft_errh *weft_errh_create(int kind, weft_errh_fn *fn);

/* weft_errh_get() adds a reference and returns errh. weft_errh_put() drops a
 * reference. Both accept NULL. */
struct weft_errh *weft_errh_get(struct weft_errh *errh);
void weft_errh_put(struct weft_errh *errh);

/* Replaces the handler in *slot by a reference to errh. Any thread: the slot is
 * exchanged atomically. */
void weft_errh_set(struct weft_errh **slot, struct weft_errh *errh);

#endif
