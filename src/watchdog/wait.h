/* SPDX-License-Identifier: BSD-3-Clause */
/* wait: the registry of waits, and the rounds of a wait
 *
 * The owner of a wait lists its needs, and calls weft_wait_round() instead of
 * weft_progress_wait(). After WEFT_STALL_WARN seconds, a wait queries the
 * processes that it needs (query.h), reports once (report.h), and gathers the
 * graph of waits (resolve.h). A wait that can never end ends with an error. */
#ifndef WEFT_WAIT_H
#define WEFT_WAIT_H

#include "base/list.h"
#include "base/lock.h"
#include "transport/wire.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct weft_gather;
struct weft_wait_proc;
struct weft_vci;
struct weft_wait;
struct weft_wait_view;

enum { WEFT_WAIT_TEXT = 160, WEFT_WAIT_PHRASE = 224 };

/* A condition that must be met before a wait can end. Each process of the need
 * must meet it, unless `any` is set. */
struct weft_need {
	enum weft_wire_need kind;
	uint64_t what; /* as in weft_wire_query, and so is round */
	uint32_t round;
	uint16_t any;	 /* not 0: among all needs with this number, one process
			    that meets its need suffices */
	bool is_soft;	 /* a ring through it ends with errors only under
			    WEFT_DEADLOCK=error */
	bool is_flushed; /* as in weft_wire_query */
	uint32_t size;	 /* members of the communicator or window */
	char label[WEFT_WIRE_LABEL];   /* name of the communicator or window */
	char phrase[WEFT_WAIT_PHRASE]; /* text for the report: "a message from
					  rank 3" */
	const char *if_met; /* clause of the report if all queried processes
			       have met the need; or NULL */
	uint32_t n_all;	    /* processes of the need, also those not queried */
};

/* Values of a rank or tag that is a wildcard, or that the wait does not have.
 */
enum { WEFT_WAIT_ANY = -1, WEFT_WAIT_NONE = -2 };

/* The call of a wait, for weft-top. */
struct weft_wait_facts {
	char call[64];		      /* "MPI_Recv" */
	char object[WEFT_WIRE_LABEL]; /* communicator or window, or "" */
	int32_t peer;		      /* rank in `object` */
	int32_t tag;
	/* At the time edges_ns: the number of processes that had not met their
	 * need and did not wait, and the first such process. */
	uint32_t n_missing;
	uint64_t missing;
};

struct weft_wait_ops {
	const char *id;	  /* id of the report: "MPI-WAIT" */
	const char *noun; /* plural of the objects of needs: "communicators" */
	bool is_message;  /* waits for messages of the program: selects the ids
			     of reports */
	/* Names the call: "MPI_Finalize". */
	void (*name)(const struct weft_wait *wait, char *buf, size_t len);
	/* Describes the call to other processes: "in MPI_Finalize, closing
	 * "x"". */
	void (*describe)(const struct weft_wait *wait, char *buf, size_t len);
	/* Sets the object, the rank and the tag that the call waits for. NULL:
	 * only the object is known, from the first need. */
	void (*locate)(
		const struct weft_wait *wait, struct weft_wait_facts *facts);
	/* Adds each need by weft_wait_add_need() and weft_wait_add_proc().
	 * NULL: none. */
	void (*needs)(struct weft_wait *wait);
	/* Returns a number that changes when data of the wait is transferred.
	 * NULL: unknown. */
	uint64_t (*pulse)(const struct weft_wait *wait);
	/* Called after an answer. The function may add further processes to the
	 * need. NULL: none. */
	void (*on_answer)(struct weft_wait *wait, struct weft_wait_proc *other);
	/* May add a sentence to the report and the error. NULL: no sentence. */
	void (*explain)(const struct weft_wait *wait, char *buf, size_t len);
};

/* Zeroed by the owner, which sets the fields above the line. Guarded by the
 * VCI's lock. The registry's lock guards the marked fields, which other threads
 * and handlers read. */
struct weft_wait {
	const struct weft_wait_ops *ops;
	struct weft_vci *vci; /* makes progress for the wait */
	const void *call;     /* equal for all waits of one call; or NULL */
	uint64_t begun_ns;    /* start of the wait; 0: weft_wait_begin() sets
				 it */
	int fault;	      /* error of the wait if it can never end */
	bool is_poll;	      /* a series of calls that do not wait */
	/* ---- below: only this room ---- */
	struct weft_link link;	      /* marked */
	uint64_t epoch;		      /* marked; waits of one call share it */
	char text[WEFT_WAIT_TEXT];    /* marked */
	struct weft_wait_facts facts; /* marked */
	atomic_bool is_notified;      /* the next round must check the wait */
	struct weft_wire_edge *edges; /* marked: published edges, an array of
					 WEFT_WIRE_EDGES; or NULL */
	uint32_t n_edges;	      /* marked */
	uint64_t edges_ns;	      /* marked: time of the edges; 0: never */
	bool is_sure;		      /* marked; see weft_wire_graph */
	char *verdict;		      /* marked: owned; NULL: none */
	struct weft_gather *gather;   /* marked */
	uint16_t n_gathers;
	uint64_t checked_ns; /* marked */
	uint32_t n_rounds;
	uint64_t due_ns;	  /* time of the next queries */
	uint64_t pulse, pulse_ns; /* last result of ops->pulse, and its time */
	uint64_t asked_ns;	  /* time of the last queries */
	uint32_t turn;		  /* see weft_wait_first_member() */
	uint64_t silence_counted_ns; /* time up to which silent_ns is counted */
	bool is_asking;		     /* answers are pending */
	bool is_asking_for_monitor; /* answers are pending that only weft-top or
				       WEFT_FAIL_TIMEOUT needs */
	bool has_asked_again;	    /* processes that answers named were
				       queried, too */
	bool must_report; /* when the answers have arrived, the wait is
			     reported, or its graph gathered */
	bool has_reported, has_reported_ring;
	bool is_unsure;	     /* weft_wait_set_unsure() was called */
	uint64_t verdict_ns; /* time of the verdict's report */
	struct weft_wait_view *view;
	int err;
	char why[256];
};

/* ---- for the owners; the lock of the wait's VCI is held ---- */

/* Returns the time after which a wait tests whether the processes that it needs
 * have ended: WEFT_STALL_WARN. A minute if that is 0; then nothing is reported.
 */
uint64_t weft_wait_patience_ns(void);

/* Registers the wait. */
void weft_wait_begin(struct weft_wait *wait);

/* Runs one round of progress, with queries, reports and verdicts. If the result
 * is not 0, the wait must end with that error. */
int weft_wait_round(struct weft_wait *wait);

/* As weft_wait_round(), after a round of progress that the owner has run. */
int weft_wait_after_round(struct weft_wait *wait);

/* Removes the wait from the registry, and frees its memory. */
void weft_wait_end(struct weft_wait *wait);

/* Returns the error of the wait, described by weft_err_set(), or 0. */
int weft_wait_raise(const struct weft_wait *wait);

/* Called by ops->needs. weft_wait_add_need() adds a zeroed need, and returns
 * NULL if the wait has too many needs. weft_wait_add_proc() adds a process to
 * the need (NULL: ignored), with its VCI address and its rank, or -1. Returns
 * NULL if the process was not added. */
struct weft_need *weft_wait_add_need(struct weft_wait *wait);
struct weft_wait_proc *weft_wait_add_proc(struct weft_wait *wait,
	struct weft_need *need, uint64_t proc, uint64_t addr, int32_t rank);

/* Called by ops->needs, which adds at most `max` of the n members of a
 * communicator. Returns the first member to add. Member 0 follows the last
 * member. With WEFT_FAIL_TIMEOUT, later queries begin at later members, so that
 * a silent member is found in any communicator. */
uint32_t weft_wait_first_member(
	const struct weft_wait *wait, uint32_t n, uint32_t max);

/* Called by ops->needs if the wait can end without a call of another process,
 * or if no answer can prove that a need stays unmet. Then this wait is no part
 * of a proof. */
void weft_wait_set_unsure(struct weft_wait *wait);

/* Publishes the call and the start time of a loop that polls a word of memory.
 * The loop calls this function repeatedly, because the note is valid for a
 * second. Any thread. */
void weft_wait_note(const char *text, uint64_t since_ns);

static inline unsigned weft_wait_seconds(
	const struct weft_wait *w, uint64_t now)
{
	return (unsigned)((now - w->begun_ns) / 1000000000);
}

/* ---- within the room ---- */

enum { WEFT_VIEW_NEEDS = 64, WEFT_VIEW_PROCS = 512 };

/* A process that a need concerns. */
struct weft_wait_proc {
	uint16_t need; /* index of the need in the view */
	bool is_asked, has_answered;
	bool moves;    /* it makes calls, of which none waits */
	bool may_exit; /* neither its exit nor its silence is a failure */
	enum weft_wire_met met;
	uint64_t proc, addr;
	int32_t rank;
	uint64_t epoch; /* number of the process's wait, from its answer; 0: it
			   does not wait */
	uint64_t silent_ns; /* silence since the first unanswered query */
	uint32_t wire_in;   /* the peer's wire_in when the silence began */
	uint32_t owner;	    /* as in weft_wire_answer */
	char text[WEFT_WAIT_TEXT];
};

struct weft_wait_view {
	uint32_t n_needs, n_procs;
	uint32_t n_all; /* number of needs, including those that did not fit */
	struct weft_need needs[WEFT_VIEW_NEEDS];
	struct weft_wait_proc procs[WEFT_VIEW_PROCS];
};

/* The waits of this process. weft-top reads it from outside: if `changes` was
 * the same even number before and after a read, no thread held the lock. */
struct weft_wait_registry {
	struct weft_spin spin;
	_Atomic uint32_t changes; /* odd while the lock is held */
	struct weft_link waits;
	uint64_t epoch;
	char note[WEFT_WAIT_TEXT];
	uint64_t note_since_ns, noted_ns;
};
const struct weft_wait_registry *weft_wait_registry(void);

/* weft_wait_lock() acquires the registry's lock, also while a VCI's lock is
 * held. The registry's lock is held briefly. The caller holds it when it calls
 * weft_wait_next() or weft_wait_first(). weft_wait_next() returns the wait
 * after `after` in the list (NULL: the first wait), or NULL at the end.
 * weft_wait_first() returns the first wait without is_poll, or NULL. */
void weft_wait_lock(void);
void weft_wait_unlock(void);
struct weft_wait *weft_wait_next(const struct weft_wait *after);
struct weft_wait *weft_wait_first(void);

/* Returns the last note if it is valid, or NULL. Registry's lock held. */
const char *weft_wait_noted(uint64_t now, uint64_t *since_ns_out);

/* Lists the needs again, and keeps the answers about them. */
void weft_wait_refresh(struct weft_wait *wait);

/* Sends a control message to a process over the default VCI; the lock of
 * `held` is held. */
void weft_wait_send(struct weft_vci *held, uint64_t proc, enum weft_wire_op op,
	const void *payload, size_t len);

#endif
