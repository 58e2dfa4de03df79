/* SPDX-License-Identifier: BSD-3-Clause */
/* blocked: the waits of finalize, disconnect and creation
 *
 * The watchdog asks this file for the needs of a wait, and for the processes on
 * which each need depends. The watchdog reports the needs and queries these
 * processes. It ends a wait with an error if it proves that the wait can never
 * succeed. This file also answers queries of other processes. */
#ifndef WEFT_BLOCKED_H
#define WEFT_BLOCKED_H

#include "core/session_data.h"
#include "watchdog/wait.h"

struct weft_blocked;

enum weft_blocked_kind {
	WEFT_BLOCKED_FINALIZE, /* MPI_Session_finalize */
	WEFT_BLOCKED_WORLD,    /* MPI_Finalize */
	WEFT_BLOCKED_DISCONNECT,
	WEFT_BLOCKED_CREATE, /* a creation from a group */
	WEFT_BLOCKED_DERIVE, /* a creation from a communicator, or an exchange
				of VCIs */
	WEFT_BLOCKED_PORT,   /* a wait for another job; queries no process */
};

/* A creation that waits for the context id. */
struct weft_blocked_create {
	struct weft_group *group;
	const char *tag;
	uint64_t parent; /* the process that sends the id */
};

/* The most ranks in a weft_blocked_join: the ancestors of a rank in a tree, and
 * one rank of the remote group. */
enum { WEFT_BLOCKED_ABOVE = 33 };

/* The ranks that must join a collective call before the wait can end. */
struct weft_blocked_join {
	enum weft_wire_need need; /* ROUND, ENDPOINTS, SIDE, INTERCOMM, AGREE */
	uint32_t round; /* number of the call, as `need` counts them */
	bool is_all; /* all members must join, and n and ranks are not used */
	uint32_t n;  /* number of ranks that must join */
	int32_t ranks[WEFT_BLOCKED_ABOVE]; /* a remote rank is size + rank */
};

/* A wait, on the stack of the call that waits. The call sets the fields of its
 * kind, which their comments name. The other fields are zero. */
struct weft_blocked {
	enum weft_blocked_kind kind;
	struct weft_vci *vci; /* NULL: the default VCI */
	const void *call;     /* a value that identifies the call, the same in
				 all its waits; NULL: the call has one wait */
	struct weft_session *session; /* FINALIZE, WORLD: the session that
					 closes */
	bool is_last; /* the call also waits for communicators without a session
		       */
	struct weft_comm *comm; /* DISCONNECT: the communicator that closes;
				   DERIVE: the communicator whose members must
				   join */
	const char *what;	/* DERIVE, PORT: the MPI procedure */
	const char *id;		/* PORT: id of the report */
	const char *awaited;	/* PORT: the awaited event, for the report: "the
				   port to accept" */
	struct weft_blocked_join join; /* DERIVE: the ranks that must join */
	const struct weft_blocked_create *create; /* CREATE: the creation */
	/* CREATE: true while the context id has not arrived, and no member is
	 * known to have failed */
	bool (*is_waiting)(const struct weft_blocked *blocked);
	/* writes a sentence to append to the report and the message text; NULL:
	 * none */
	void (*explain)(
		const struct weft_blocked *blocked, char *buf, size_t len);
	/* below: only blocked.c */
	struct weft_wait wait;
	struct weft_wait_ops ops;
	uint64_t checked_ns; /* time of the last check for silent members */
};

/* Registers the answers to queries with the watchdog; called when a VCI opens.
 */
void weft_blocked_open(struct weft_vci *vci);

/* The VCI's lock is held for all calls below. */

/* Begins the wait and registers it with the watchdog. */
void weft_blocked_begin(struct weft_blocked *blocked);

/* Makes one round of progress. Returns an error if the watchdog has proven that
 * the wait can never end. Also returns an error if a close has waited longer
 * than WEFT_REACH_LIMIT for a member from which no message has arrived. */
int weft_blocked_round(struct weft_blocked *blocked);

/* Ends the wait, and removes it from the watchdog. */
void weft_blocked_end(struct weft_blocked *blocked);

/* weft_blocked_err() returns the result of the wait: 0 or an error.
 * weft_blocked_raise() returns the same result and describes the error. */
static inline int weft_blocked_err(const struct weft_blocked *blocked)
{
	return blocked->wait.err;
}
int weft_blocked_raise(const struct weft_blocked *blocked);

/* weft_blocked_count_out() counts a creation message that was sent to proc.
 * weft_blocked_count_in() counts a creation message that arrived from proc. If
 * the counts of sender and receiver differ, a message is in flight. Default
 * VCI's lock held. */
void weft_blocked_count_out(uint64_t proc);
void weft_blocked_count_in(uint64_t proc);

#endif
