/* SPDX-License-Identifier: BSD-3-Clause */
/* wait: a call that waits, registered, asked about, and ended when it is proven
 * that it waits for ever
 *
 * The owner says what it waits for (needs) and calls weft_wait_round() instead
 * of weft_progress_wait(). A wait that takes WEFT_STALL_WARN seconds asks the
 * processes it waits for what they are in (query.h), says it once (report.h)
 * and has the graph of who waits for whom gathered (resolve.h). */
#ifndef WEFT_WAIT_H
#define WEFT_WAIT_H

#include "base/list.h"
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

/* One thing that a wait cannot end without, of every process that it is
 * about. */
struct weft_need {
	enum weft_wire_need kind;
	uint64_t what;
	uint32_t round;
	uint16_t any;	 /* not 0: any one process of all needs with this number
			    will do */
	bool is_soft;	 /* a ring through it is reported, not an error */
	bool is_flushed; /* see weft_wire_query */
	uint32_t size;	 /* members of what it is about */
	char label[WEFT_WIRE_LABEL];   /* the name of that */
	char phrase[WEFT_WAIT_PHRASE]; /* "a message from rank 3": what is
					  waited for, in the report */
	const char *if_met;	       /* said when nobody asked is missing */
	uint32_t n_all;		       /* processes it is about, asked or not */
};

struct weft_wait_ops {
	const char *id;	  /* of the report */
	const char *noun; /* what many needs are for: "communicators" */
	bool is_message;  /* of the program: so is a ring through it */
	/* Names the call: "MPI_Finalize". */
	void (*name)(const struct weft_wait *wait, char *buf, size_t len);
	/* Describes the call to other processes: "in MPI_Finalize, closing
	 * "x"". */
	void (*describe)(const struct weft_wait *wait, char *buf, size_t len);
	/* Tells each need by weft_wait_add_need() and weft_wait_add_proc().
	 * NULL: none.
	 */
	void (*needs)(struct weft_wait *wait);
	/* A number that changes when something of it moves. NULL: nothing
	 * can be seen. */
	uint64_t (*pulse)(const struct weft_wait *wait);
	/* One has answered: what is known of it may lead to others. NULL:
	 * never. */
	void (*on_answer)(struct weft_wait *wait, struct weft_wait_proc *other);
	/* May add a sentence to the report and the error. NULL: nothing. */
	void (*explain)(const struct weft_wait *wait, char *buf, size_t len);
};

/* Zeroed; the owner sets what is above the line. Guarded by the VCI's lock,
 * but what other waits' threads and handlers snapshot at (marked) by the
 * registry's. */
struct weft_wait {
	const struct weft_wait_ops *ops;
	struct weft_vci *vci; /* waited on */
	const void *call;     /* waits of one call: the same; or NULL */
	uint64_t begun_ns;    /* 0: now */
	int fault;	      /* what it ends with when it is stuck for ever */
	bool is_poll;	      /* not in one call, but in one after the other */
	/* ---- below: only this room ---- */
	struct weft_link link;	      /* marked */
	uint64_t epoch;		      /* marked; waits of one call share it */
	char text[WEFT_WAIT_TEXT];    /* marked */
	atomic_bool is_notified;      /* something came for it */
	struct weft_wire_edge *edges; /* marked: what others are told of it;
					 WEFT_WIRE_EDGES, or NULL */
	uint32_t n_edges;	      /* marked */
	uint64_t settled_ns;	      /* marked: of the edges; 0: never */
	bool is_sure;		      /* marked */
	char *verdict;		      /* marked: owned; NULL: none */
	struct weft_gather *gather;   /* marked */
	uint16_t n_gathers;
	uint64_t checked_ns; /* marked */
	uint32_t n_rounds;
	uint64_t due_ns;	  /* of the next word */
	uint64_t pulse, pulse_ns; /* the last one, and when it was felt */
	uint64_t asked_ns;	  /* the last time */
	bool is_asking;		  /* answers are due, */
	bool has_asked_again;	  /* also of those that answers led to */
	bool has_come_due;	  /* when they are here: report, gather */
	bool has_reported, has_reported_ring;
	bool has_unasked;    /* work that something else may go on with */
	uint64_t verdict_ns; /* when it was taken */
	struct weft_wait_view *view;
	int err;
	char why[256];
};

/* ---- for the owners; the wait's VCI's lock held ---- */

void weft_wait_begin(struct weft_wait *wait);

/* One round of progress, and what is due. Not 0 when the wait is to end with
 * that error. */
int weft_wait_round(struct weft_wait *wait);

/* The same after a round of progress that the owner made. */
int weft_wait_after_round(struct weft_wait *wait);

void weft_wait_end(struct weft_wait *wait);

/* What the wait ended with: 0, or the error, described by weft_err_set(). */
int weft_wait_raise(const struct weft_wait *wait);

/* In ops->needs: a new need, zeroed, or NULL when there are too many; and a
 * process it is about, where it is reached and its rank there, or -1. */
struct weft_need *weft_wait_add_need(struct weft_wait *wait);
void weft_wait_add_proc(struct weft_wait *wait, struct weft_need *need,
	uint64_t proc, uint64_t addr, int32_t rank);

/* In ops->needs: something else in this process may go on without a call, so
 * that nothing is proven by what it waits for. */
void weft_wait_unsure(struct weft_wait *wait);

/* For a loop that waits for a word of memory, now and then: what it is in,
 * since when. Holds for a second. Any thread. */
void weft_wait_note(const char *text, uint64_t since_ns);

static inline unsigned weft_wait_seconds(
	const struct weft_wait *w, uint64_t now)
{
	return (unsigned)((now - w->begun_ns) / 1000000000);
}

/* ---- within the room ---- */

enum { WEFT_VIEW_NEEDS = 64, WEFT_VIEW_PROCS = 512 };

/* A process that is waited for. */
struct weft_wait_proc {
	uint16_t need; /* index */
	bool is_asked, has_answered;
	bool moves; /* makes calls, and none of them waits */
	enum weft_wire_met met;
	uint64_t proc, addr;
	int32_t rank;
	uint64_t epoch; /* of its wait, as it told */
	uint32_t owner;
	char text[WEFT_WAIT_TEXT];
};

struct weft_wait_view {
	uint32_t n_needs, n_procs;
	uint32_t n_all; /* needs, those that there is no room for included */
	struct weft_need needs[WEFT_VIEW_NEEDS];
	struct weft_wait_proc procs[WEFT_VIEW_PROCS];
};

/* The registry's lock, taken under any VCI's and held for moments; with it
 * held the waits in the order that they began, the first with NULL, and the one
 * this process is said to be in, or NULL. */
void weft_wait_lock(void);
void weft_wait_unlock(void);
struct weft_wait *weft_wait_next(const struct weft_wait *after);
struct weft_wait *weft_wait_first(void);

/* The last note while it holds, or NULL. Registry's lock held. */
const char *weft_wait_noted(uint64_t now, uint64_t *since_ns_out);

/* Lists anew what is waited for; what was told about it stays. */
void weft_wait_refresh(struct weft_wait *wait);

/* Sends a control message to a process over the default VCI; the lock of
 * `held` is held. */
void weft_wait_send(struct weft_vci *held, uint64_t proc, enum weft_wire_op op,
	const void *payload, size_t len);

#endif
