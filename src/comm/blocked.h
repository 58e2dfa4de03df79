/* SPDX-License-Identifier: BSD-3-Clause */
/* blocked: the waits of finalize, disconnect and creation
 *
 * Lists for the watchdog what each wait needs of which process. The watchdog
 * reports that, queries those processes, and ends waits that can never succeed
 * with an error. Queries of other processes about this one are answered here,
 * too. */
#ifndef WEFT_BLOCKED_H
#define WEFT_BLOCKED_H

#include "core/session_data.h"
#include "watchdog/wait.h"

struct weft_blocked;

enum weft_blocked_kind {
	WEFT_BLOCKED_FINALIZE, /* of a session */
	WEFT_BLOCKED_WORLD,    /* MPI_Finalize */
	WEFT_BLOCKED_DISCONNECT,
	WEFT_BLOCKED_CREATE, /* from a group */
	WEFT_BLOCKED_DERIVE, /* from a communicator, or while VCIs are exchanged
			      */
	WEFT_BLOCKED_PORT,   /* for another job; queries no process */
};

/* A creation that waits for one process to pass the context id on. */
struct weft_blocked_create {
	struct weft_group *group;
	const char *tag;
	uint64_t parent; /* process */
};

/* ranks above one in a tree of any size, and one of the other side */
enum { WEFT_BLOCKED_ABOVE = 33 };

/* A collective creation from a communicator, which waits for these ranks to
 * join. */
struct weft_blocked_join {
	enum weft_wire_need need; /* ROUND, ENDPOINTS, SIDE, INTERCOMM */
	uint32_t round;
	bool is_all; /* every member; otherwise these: */
	uint32_t n;
	int32_t ranks[WEFT_BLOCKED_ABOVE]; /* a remote rank is size + rank */
};

/* On the stack of the call that waits. The call sets the fields above the line;
 * the rest is zero. */
struct weft_blocked {
	enum weft_blocked_kind kind;
	struct weft_vci *vci; /* waited on; NULL: the default one */
	const void *call;     /* the same for all waits of one call; or NULL */
	struct weft_session *session; /* FINALIZE, WORLD */
	bool is_last; /* also waits for communicators without a session */
	struct weft_comm *comm; /* DISCONNECT, DERIVE */
	const char *what;	/* DERIVE: "split"; PORT: the call */
	const char *id;		/* PORT: of the report */
	const char *awaited; /* PORT: for example "a process that connects" */
	struct weft_blocked_join join;		  /* DERIVE */
	const struct weft_blocked_create *create; /* CREATE */
	/* CREATE: true while it must continue to wait */
	bool (*is_waiting)(const struct weft_blocked *blocked);
	/* may add a sentence to the report and to the error */
	void (*explain)(
		const struct weft_blocked *blocked, char *buf, size_t len);
	/* below: only blocked.c */
	struct weft_wait wait;
	struct weft_wait_ops ops;
	uint64_t checked_ns; /* of the last check for silent members */
};

/* Registers the answers to queries with the watchdog; called when a VCI opens.
 */
void weft_blocked_open(struct weft_vci *vci);

/* The VCI's lock held for all below. */

void weft_blocked_begin(struct weft_blocked *blocked);

/* One round of progress of the wait. Not 0 when the wait is proven to never
 * end, or when a silent member was waited for too long (WEFT_REACH_LIMIT). */
int weft_blocked_round(struct weft_blocked *blocked);

/* The wait is over. If it was part of a cycle, it has that error. */
void weft_blocked_end(struct weft_blocked *blocked);

/* The result of the wait: 0, or an error described by weft_err_set(). */
static inline int weft_blocked_err(const struct weft_blocked *blocked)
{
	return blocked->wait.err;
}
int weft_blocked_raise(const struct weft_blocked *blocked);

/* Counts context ids that were passed on to, or arrived from, a process, so
 * that one in flight is not overlooked. Default VCI's lock held. */
void weft_blocked_count_out(uint64_t proc);
void weft_blocked_count_in(uint64_t proc);

#endif
