/* SPDX-License-Identifier: BSD-3-Clause */
/* blocked: what this process waits for, said and asked
 *
 * The waits of finalize, disconnect and creation are registered while they
 * last. One that takes WEFT_STALL_WARN seconds asks the processes it waits for
 * what keeps them, says it once, and looks for a ring of processes that wait
 * for each other (cycle.h): then the call ends with an error. Others ask, too;
 * the answers are given from progress. All of that goes over the default lane,
 * whose lock is held throughout; a wait on another lane, with that one's lock
 * held, only says what it waits for. */
#ifndef WEFT_BLOCKED_H
#define WEFT_BLOCKED_H

#include "session/cycle.h"
#include "session/session.h"
#include "session/stall.h"

struct weft_blocked;
struct weft_blocked_answer;

/* A creation waits for one process to pass the context id on. */
struct weft_blocked_create {
	struct weft_group *group;
	const char *tag;
	uint64_t parent; /* process */
};

/* On the stack of the call that waits; everything above the line is set by
 * it, the rest zero. */
struct weft_blocked {
	enum weft_cycle_kind kind;
	struct weft_lane *lane;	      /* waited on; NULL: the default one */
	struct weft_session *session; /* FINALIZE, WORLD */
	bool is_last;		      /* also waits for what has no session */
	struct weft_comm *comm;	      /* DISCONNECT, DERIVE */
	const char *what;	      /* DERIVE: "split" */
	const struct weft_blocked_create *create; /* CREATE */
	/* CREATE: true while it must go on waiting */
	bool (*is_waiting)(const struct weft_blocked *blocked);
	/* may add a sentence to the report and to the error */
	void (*explain)(
		const struct weft_blocked *blocked, char *buf, size_t len);
	/* below: only blocked.c */
	struct weft_link link;
	uint64_t epoch;
	struct weft_stall stall;
	uint64_t report_ns; /* when the report is due; 0: not */
	bool has_reported;
	int err;
	char why[256];
	uint32_t n_answers;
	struct weft_blocked_answer *answers;
};

/* Installs the handlers; called when the lane opens. */
void weft_blocked_open(struct weft_lane *lane);

void weft_blocked_begin(struct weft_blocked *blocked);

/* One round of progress of the wait. Not 0 when it is proven that the wait can
 * never end. */
int weft_blocked_round(struct weft_lane *lane, struct weft_blocked *blocked);

void weft_blocked_end(struct weft_blocked *blocked);

/* What the wait ended with: 0, or the error, described by weft_err_set(). */
int weft_blocked_raise(const struct weft_blocked *blocked);

/* A creation's context id was passed on to, or came from, a process. Counted,
 * so that one on its way is not overlooked. */
void weft_blocked_count_out(uint64_t proc);
void weft_blocked_count_in(uint64_t proc);

#endif
