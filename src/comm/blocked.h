/* SPDX-License-Identifier: BSD-3-Clause */
/* blocked: the waits of finalize, disconnect and creation
 *
 * What each needs, process by process, for src/watchdog, which says it, asks,
 * and ends those that wait for each other for ever with an error. Who is asked
 * whether it has done what another one needs looks here, too. */
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
	WEFT_BLOCKED_DERIVE, /* from a communicator, or its VCIs agreed upon */
	WEFT_BLOCKED_PORT,   /* for another job; asks nobody */
};

/* A creation waits for one process to pass the context id on. */
struct weft_blocked_create {
	struct weft_group *group;
	const char *tag;
	uint64_t parent; /* process */
};

/* Ranks above one in a tree of any size, and one across. */
enum { WEFT_BLOCKED_ABOVE = 33 };

/* A collective creation from a communicator waits for these ranks to join. */
struct weft_blocked_join {
	enum weft_wire_need need; /* ROUND, ENDPOINTS, SIDE, INTERCOMM */
	uint32_t round;
	bool is_all; /* every member; else these: */
	uint32_t n;
	int32_t ranks[WEFT_BLOCKED_ABOVE]; /* a remote one is at size + rank */
};

/* On the stack of the call that waits; everything above the line is set by
 * it, the rest zero. */
struct weft_blocked {
	enum weft_blocked_kind kind;
	struct weft_vci *vci;	      /* waited on; NULL: the default one */
	const void *call;	      /* waits of one call: the same; or NULL */
	struct weft_session *session; /* FINALIZE, WORLD */
	bool is_last;		      /* also waits for what has no session */
	struct weft_comm *comm;	      /* DISCONNECT, DERIVE */
	const char *what;	      /* DERIVE: "split"; PORT: the call */
	const char *id;		      /* PORT: of the report */
	const char *whom;	      /* PORT: "somebody to connect" */
	struct weft_blocked_join join;		  /* DERIVE */
	const struct weft_blocked_create *create; /* CREATE */
	/* CREATE: true while it must go on waiting */
	bool (*is_waiting)(const struct weft_blocked *blocked);
	/* may add a sentence to the report and to the error */
	void (*explain)(
		const struct weft_blocked *blocked, char *buf, size_t len);
	/* below: only blocked.c */
	struct weft_wait wait;
	struct weft_wait_ops ops;
	uint64_t looked_ns; /* for those never heard of */
};

/* Tells the watchdog who answers; called when a VCI opens. */
void weft_blocked_open(struct weft_vci *vci);

/* The VCI's lock held for all below. */

void weft_blocked_begin(struct weft_blocked *blocked);

/* One round of progress of the wait. Not 0 when it is proven that the wait can
 * never end, or a member that was never heard of is waited for too long. */
int weft_blocked_round(struct weft_blocked *blocked);

/* The wait is over. One that was found to be part of a ring has its error. */
void weft_blocked_end(struct weft_blocked *blocked);

/* What the wait ended with: 0, or an error; and described by weft_err_set(). */
static inline int weft_blocked_err(const struct weft_blocked *blocked)
{
	return blocked->wait.err;
}
int weft_blocked_raise(const struct weft_blocked *blocked);

/* A creation's context id was passed on to, or came from, a process. Counted,
 * so that one on its way is not overlooked. Default VCI's lock held. */
void weft_blocked_count_out(uint64_t proc);
void weft_blocked_count_in(uint64_t proc);

#endif
