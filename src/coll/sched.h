/* SPDX-License-Identifier: BSD-3-Clause */
/* sched: a collective operation as steps
 *
 * An algorithm only writes steps: sends, receives, local copies and reductions,
 * and fences. The sends and receives between two fences start together. A fence
 * waits for all earlier messages. Copies and reductions execute in the order in
 * which they are written. The executor of the schedule executes the steps. A
 * blocking call executes each step when it is written (sched_blocking.c). The
 * other forms queue the steps in a list (sched_list.c). The completion of a
 * message continues the list.
 *
 * A call that writes a step returns no error. The schedule stores its first
 * error. After that, each send is replaced by an error message, each receive is
 * dropped, and no step copies or reduces. So the schedules of all members end,
 * and each member has correct data or an error. VCI's lock held everywhere. */
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
	int32_t rank;		   /* SEND, RECV: rank in comm */
	struct weft_comm *comm;	   /* SEND, RECV */
	const void *in;		   /* COPY, REDUCE */
	int64_t in_count;	   /* COPY */
	struct weft_type *in_type; /* COPY */
	struct weft_span span;	   /* SEND, RECV: the message; COPY: the
				      destination; REDUCE: inout */
	struct weft_redop *op;	   /* REDUCE */
};

struct weft_tmp;

/* The schedule that algorithms write to: the first field of an executor. */
struct weft_sched {
	void (*add)(struct weft_sched *sched, const struct weft_step *step);
	/* Runs the part of an operation within a node in the segment. 0, also
	 * if the schedule now has an error. WEFT_AGAIN: the part must use
	 * messages. The function is NULL if there is no segment. */
	int (*within)(struct weft_sched *sched, enum weft_coll_kind kind,
		const struct weft_coll_view *view,
		const struct weft_coll *args);
	enum weft_ctx_offset ctx_offset;
	int32_t tag;
	int err;	      /* the first error */
	bool is_on_device;    /* buffers may be in device memory */
	struct weft_vci *vci; /* caches long scratch memory; NULL: no cache */
	struct weft_tmp *tmps;
	char *room; /* scratch memory on the stack, used first */
	size_t room_len;
};

/* weft_sched_tmp() returns scratch memory, which the schedule owns. If out of
 * memory, the schedule gets an error. The result is then not NULL, but must not
 * be accessed: steps no longer access it, and other code checks sched->err
 * first. weft_sched_tmp_typed() returns an address at which count items of the
 * type have space. */
void *weft_sched_tmp(struct weft_sched *sched, size_t len);
void *weft_sched_tmp_typed(
	struct weft_sched *sched, int64_t count, const struct weft_type *type);
void weft_sched_free_tmps(struct weft_sched *sched);

/* weft_sched_send() and weft_sched_recv() write the step of a message to or
 * from view rank `place`. weft_sched_copy() writes the step of a copy. */
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

/* Writes the step inout = in op inout. */
void weft_sched_reduce(struct weft_sched *sched, struct weft_redop *op,
	const void *in, struct weft_span inout);

/* ---- for the executors of steps ---- */

/* Starts the message of a step. Returns its request, which the caller owns
 * until weft_step_end(). NULL: the message is complete, or the schedule has an
 * error. If the schedule already had an error, a send becomes an error message,
 * and a receive is dropped. */
struct weft_req *weft_step_start(
	struct weft_sched *sched, const struct weft_step *step);
void weft_step_end(struct weft_sched *sched, struct weft_req *req);

/* Executes a copy, or a reduction by a predefined operation. 0 or an error. */
int weft_step_local(
	const struct weft_sched *sched, const struct weft_step *step);

/* Steps on device memory (step_dev.c). weft_step_dev_begin() prepares a message
 * whose buffer may be in device memory: sets the mode WEFT_SEND_DEVICE, or
 * replaces the buffer by a shadow. 0, or an error without a shadow.
 * weft_step_dev_end() frees the shadow of a message's buffer, after it has
 * copied the first n_received bytes to the device. Both have no effect on host
 * memory. weft_step_dev_copy() executes a copy between contiguous buffers. */
int weft_step_dev_begin(struct weft_msg *msg, bool is_send)
	__attribute__((cold));
int weft_step_dev_end(void *buf, const struct weft_type *type,
	int64_t n_received) __attribute__((cold));
int weft_step_dev_copy(const struct weft_step *step) __attribute__((cold));

/* The function `add` of a schedule that has failed: replaces each send by an
 * error message and drops each receive. */
void weft_step_send_error(
	struct weft_sched *sched, const struct weft_step *step);

/* Detects members that run this collective in the communicator's segment, and
 * so send no messages. A watch checks for such members in some rounds of
 * progress. If there is one, the watch sets the schedule's error and completes,
 * with this error, all pending messages of the schedule: those whose
 * on_done_arg is the schedule. */
struct weft_watch {
	struct weft_progress_hook hook;
	struct weft_sched *sched;
	struct weft_comm *comm;
	uint32_t number; /* sequence number of the collective */
	uint32_t n_rounds;
	struct weft_req *req; /* request of the schedule, or NULL */
};

void weft_watch_begin(struct weft_watch *watch, struct weft_sched *sched,
	struct weft_comm *comm, uint32_t number);
void weft_watch_end(struct weft_watch *watch);

/* ---- list ---- */

typedef void weft_sched_write_fn(struct weft_sched *sched,
	enum weft_coll_kind kind, const struct weft_coll *args);

/* Creates a list of the steps that write() writes, and its request. The caller
 * owns the one reference of the request. The list uses the next tag of the
 * communicator's context, with the bits `marks` set. The list holds references
 * to the types and the operation. The list is destroyed with the request. If
 * the call fails, error messages replace the messages of the list. */
int weft_sched_list_create(enum weft_coll_kind kind,
	const struct weft_coll *args, weft_sched_write_fn *write, int32_t marks,
	struct weft_req **req_out);

/* Runs the list from its first step; the request completes at its end. */
void weft_sched_list_start(struct weft_req *req);

/* The next start of the list sends error messages in place of its messages, and
 * the request completes with err. */
void weft_sched_list_fail(struct weft_req *req, int err);

/* ---- blocking ---- */

/* Executes each step when write() writes it, and waits for all messages. The
 * bits `marks` are set in the tag. 0 or the first error. */
int weft_sched_run(enum weft_coll_kind kind, const struct weft_coll *args,
	weft_sched_write_fn *write, int32_t marks);

#endif
