/* SPDX-License-Identifier: BSD-3-Clause */
/* child: an object that a session owns, and its teardown functions
 *
 * A communicator, window or file embeds a struct weft_child and registers it
 * with its session. The session closes its children without knowing their kind.
 * The lock of the child's VCI guards the child. */
#ifndef WEFT_CHILD_H
#define WEFT_CHILD_H

#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>

struct weft_vci;
struct weft_session;
struct weft_child;

struct weft_child_ops {
	const char *noun; /* "communicator" */
	bool is_comm;	  /* the child is embedded in a communicator */

	/* Starts the collective close of the child. Does not block. Idempotent.
	 * Returns 0, or an error after which test_close returns true. */
	int (*start_close)(struct weft_child *child);

	/* True once the child is closed. Does not block. Called between rounds
	 * of progress. */
	bool (*test_close)(struct weft_child *child);

	/* Frees the child after test_close returned true, or if no other member
	 * uses it; the handle is stale afterwards. Cannot fail. */
	void (*destroy)(struct weft_child *child);
};

struct weft_child {
	const struct weft_child_ops *ops; /* NULL: not registered */
	struct weft_session *session;
	struct weft_vci
		*vci; /* set before weft_session_add_child(); NULL: default */
	struct weft_link link; /* link in session->children[] */
	void *closing;	       /* state of start_close; owned by its room */
};

#endif
