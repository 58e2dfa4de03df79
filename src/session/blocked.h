/* SPDX-License-Identifier: BSD-3-Clause */
/* blocked: what this process waits for, said and asked
 *
 * The waits of finalize, disconnect and creation are registered while they
 * last. One that takes WEFT_STALL_WARN seconds asks the processes it waits for
 * what keeps them, says it once, and looks for a ring of processes that wait
 * for each other (cycle.h): then the call ends with an error. Others ask, too;
 * the answers are given from progress.
 *
 * A question goes over the lane of the communicator it is about, so that who
 * answers holds the lock of what it looks at; a mark or a verdict, which is
 * about a wait alone, over the default lane. What comes over another lane than
 * the wait's is left with the wait, whose own thread takes it up. The list of
 * waits has a lock of its own, taken under any lane's. */
#ifndef WEFT_BLOCKED_H
#define WEFT_BLOCKED_H

#include "session/cycle.h"
#include "session/hold.h"
#include "session/session.h"
#include "session/stall.h"
#include "watchdog/wait.h"

struct weft_agree;
struct weft_blocked;
struct weft_blocked_answer;
struct weft_blocked_note;

/* A creation waits for one process to pass the context id on. */
struct weft_blocked_create {
	struct weft_group *group;
	const char *tag;
	uint64_t parent; /* process */
};

enum { WEFT_BLOCKED_TEXT = 160 };

/* Ranks above one in a tree of any size, and one across. */
enum { WEFT_BLOCKED_ABOVE = 33 };

/* A collective creation from a communicator waits for these ranks to join. */
struct weft_blocked_join {
	enum weft_wire_need need; /* ROUND, MEET, SIDE, BRIDGE */
	uint32_t round;
	bool is_all; /* every member; else these: */
	uint32_t n;
	int32_t ranks[WEFT_BLOCKED_ABOVE]; /* a remote one is at size + rank */
};

/* On the stack of the call that waits; everything above the line is set by
 * it, the rest zero. */
struct weft_blocked {
	enum weft_cycle_kind kind;
	struct weft_lane *lane;	      /* waited on; NULL: the default one */
	const void *call;	      /* waits of one call: the same; or NULL */
	struct weft_session *session; /* FINALIZE, WORLD */
	bool is_last;		      /* also waits for what has no session */
	struct weft_comm *comm;	      /* DISCONNECT, DERIVE */
	const char *what;	      /* DERIVE: "split" */
	struct weft_blocked_join join;		  /* DERIVE */
	const struct weft_blocked_create *create; /* CREATE */
	/* CREATE: true while it must go on waiting */
	bool (*is_waiting)(const struct weft_blocked *blocked);
	/* may add a sentence to the report and to the error */
	void (*explain)(
		const struct weft_blocked *blocked, char *buf, size_t len);
	/* below: only blocked.c, ask.c and chase.c; what others see (link,
	 * epoch, text, notes) is guarded by the lock of the waits, the rest by
	 * the lane's */
	struct weft_link link;
	struct weft_wait wait;
	uint64_t epoch;
	char text[WEFT_BLOCKED_TEXT];	 /* for others: what it is */
	struct weft_blocked_note *notes; /* what came over other lanes */
	atomic_bool has_notes;
	struct weft_stall stall;
	uint64_t begun_ns;
	uint64_t report_ns; /* when the report is due; 0: not */
	bool has_reported;
	uint64_t marked_ns; /* part of a proven ring since; 0: not */
	struct weft_hold hold;
	int err;
	char why[256];
	uint32_t n_answers;
	struct weft_blocked_answer *answers;
};

/* Installs the handlers; called when a lane opens. */
void weft_blocked_open(struct weft_lane *lane);

/* The lane's lock held for all below. */

void weft_blocked_begin(struct weft_blocked *blocked);

/* One round of progress of the wait. Not 0 when it is proven that the wait can
 * never end, or a member that was never heard of is waited for too long. */
int weft_blocked_round(struct weft_lane *lane, struct weft_blocked *blocked);

/* The wait is over. One that was found to be part of a ring has its error. */
void weft_blocked_end(struct weft_blocked *blocked);

/* What the wait ended with: 0, or the error, described by weft_err_set(). */
int weft_blocked_raise(const struct weft_blocked *blocked);

/* ---- for ask.c and chase.c ---- */

/* The lock of the waits, taken under any lane's, and with it held the waits in
 * the order that they began; the first with NULL. */
void weft_blocked_lock(void);
void weft_blocked_unlock(void);
struct weft_blocked *weft_blocked_next(const struct weft_blocked *after);

/* A wait on this lane, whose lock is held, or NULL. */
struct weft_blocked *weft_blocked_at(
	const struct weft_lane *lane, uint64_t epoch);

/* All waits are of one call, and no other thread could make another. */
bool weft_blocked_is_alone(void);

#endif
