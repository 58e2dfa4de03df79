/* SPDX-License-Identifier: BSD-3-Clause */
/* sched: a collective operation as steps
 *
 * An algorithm only writes steps: sends, receives, local copies and
 * reductions, and fences. Steps between two fences are started together; a
 * fence waits for all messages before it. What becomes of a step is the
 * schedule's: a blocking call does it at once (sched_blocking.c), the others
 * keep a list that is driven by the completions of its messages (sched_list.c).
 *
 * Writing never fails in place: an error sticks to the schedule. Once it has
 * one, in whatever step, its further sends are words of that error, what it was
 * to receive is dropped and nothing is copied or reduced: so every member's
 * schedule ends, and each has right data or an error. VCI's lock held
 * everywhere. */
#ifndef WEFT_SCHED_H
#define WEFT_SCHED_H

#include "coll/coll.h"
#include "coll/coll_view.h"
#include "p2p/p2p.h"
#include "transport/vci.h"

#include <stddef.h>
#include <stdlib.h>

enum weft_step_kind {
	WEFT_STEP_SEND,
	WEFT_STEP_RECV,
	WEFT_STEP_FENCE,
	WEFT_STEP_COPY,
	WEFT_STEP_REDUCE,
};

struct weft_step {
	enum weft_step_kind kind;
	int32_t rank;
	struct weft_comm *comm; /* SEND, RECV */
	const void *in;		/* COPY, REDUCE */
	int64_t in_count;	/* COPY */
	struct weft_type *in_type;
	struct weft_span span;
	struct weft_redop *op;
};

struct weft_tmp;

/* What algorithms write to; the first member of whatever does the steps. */
struct weft_sched {
	void (*add)(struct weft_sched *sched, const struct weft_step *step);
	/* One of a node's operations in another way than by messages, or NULL:
	 * WEFT_AGAIN where that cannot be. */
	int (*within)(struct weft_sched *sched, enum weft_coll_kind kind,
		const struct weft_coll_view *view,
		const struct weft_coll *args);
	enum weft_ctx_offset ctx_offset;
	enum weft_send_mode send_mode; /* SYNC: all are announced */
	bool is_blocking;
	int32_t tag;
	int err;	      /* the first */
	struct weft_vci *vci; /* keeps long scratch memory; NULL: nobody does */
	struct weft_tmp *tmps;
	char *room; /* scratch that is there already */
	size_t room_len;
};

/* Scratch memory that the schedule owns, for its steps. Without memory it has
 * an error and the address is not to be used by others; never NULL. The typed
 * form has room for count items at the returned address. */
void *weft_sched_tmp(struct weft_sched *sched, size_t len);
void *weft_sched_tmp_typed(
	struct weft_sched *sched, int64_t count, const struct weft_type *type);
void weft_sched_free_tmps(struct weft_sched *sched);

static inline void weft_sched_send(struct weft_sched *sched,
	const struct weft_coll_view *view, struct weft_span span, int32_t place)
{
	sched->add(sched, &(struct weft_step){ .kind = WEFT_STEP_SEND,
				  .comm = view->comm,
				  .span = span,
				  .rank = weft_coll_view_rank(view, place) });
}

static inline void weft_sched_recv(struct weft_sched *sched,
	const struct weft_coll_view *view, struct weft_span span, int32_t place)
{
	sched->add(sched, &(struct weft_step){ .kind = WEFT_STEP_RECV,
				  .comm = view->comm,
				  .span = span,
				  .rank = weft_coll_view_rank(view, place) });
}

static inline void weft_sched_fence(struct weft_sched *sched)
{
	sched->add(sched, &(struct weft_step){ .kind = WEFT_STEP_FENCE });
}

void weft_sched_copy(
	struct weft_sched *sched, struct weft_span from, struct weft_span to);

/* inout = in op inout */
void weft_sched_reduce(struct weft_sched *sched, struct weft_redop *op,
	const void *in, struct weft_span inout);

/* ---- for those who do steps ---- */

/* Starts a message. Its request is the caller's, until weft_step_end(); NULL
 * when it is done. With an error of the schedule the others are told and what
 * was to come is dropped. */
struct weft_req *weft_step_start(
	struct weft_sched *sched, const struct weft_step *step);
void weft_step_end(struct weft_sched *sched, struct weft_req *req);

/* A copy, or a reduction by a predefined operation. */
int weft_step_local(const struct weft_step *step);

/* As add: what becomes of a step whose schedule will not be done. */
void weft_step_send_error(
	struct weft_sched *sched, const struct weft_step *step);

/* Members that do this one through the communicator's segment send nothing:
 * looks for such from time to time, and ends all messages then whose
 * on_done_arg is the schedule. */
struct weft_watch {
	struct weft_progress_hook hook;
	struct weft_sched *sched;
	struct weft_comm *comm;
	uint32_t number; /* of the collective */
	uint32_t n_rounds;
	struct weft_req *req; /* that the schedule goes with, or NULL */
};

void weft_watch_begin(struct weft_watch *watch, struct weft_sched *sched,
	struct weft_comm *comm, uint32_t number);
void weft_watch_end(struct weft_watch *watch);

/* ---- as a list ---- */

typedef void weft_sched_write_fn(struct weft_sched *sched,
	enum weft_coll_kind kind, const struct weft_coll *args);

/* A list of what write() writes, with its request (one reference, the
 * caller's), bound to the next tag of the communicator's context, with further
 * bits as marks. It holds types and operation. On an error all who count on its
 * messages hear it. Destroyed with the request. */
int weft_sched_list_create(enum weft_coll_kind kind,
	const struct weft_coll *args, weft_sched_write_fn *write, int32_t marks,
	struct weft_req **req_out);

/* Runs it from its first step; the request completes at its end. */
void weft_sched_list_start(struct weft_req *req);

/* ---- at once ---- */

/* Does what write() writes while it does; marks are further bits of its tag. */
int weft_sched_run(enum weft_coll_kind kind, const struct weft_coll *args,
	weft_sched_write_fn *write, int32_t marks);

#endif
