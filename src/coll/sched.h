/* SPDX-License-Identifier: BSD-3-Clause */
/* sched: a collective operation as a list of steps
 *
 * An algorithm only writes steps: sends, receives, local copies and
 * reductions, and fences. Steps between two fences are started together; a
 * fence waits for all messages before it. Each message's completion drives the
 * list on, so progress need not know of collectives, and blocking,
 * non-blocking and persistent forms are the same list.
 *
 * Writing never fails in place: an error (no memory) sticks to the list, which
 * is then given up instead of started. Once a list has an error, in whatever
 * step, its further sends are words of that error, what it was to receive is
 * dropped and nothing is copied or reduced: so every member's list ends, and
 * each has right data or an error. VCI's lock held everywhere. */
#ifndef WEFT_SCHED_H
#define WEFT_SCHED_H

#include "coll/coll.h"

#include <stddef.h>

struct weft_sched;

/* Creates an empty list with its request (one reference, the caller's), bound
 * to the next tag of the communicator's context. NULL without memory. Destroyed
 * with the request. */
struct weft_sched *weft_sched_create(struct weft_comm *comm,
	enum weft_ctx_offset ctx_offset, enum weft_coll_kind kind);
struct weft_req *weft_sched_req(struct weft_sched *sched);

/* Keeps types and the operation alive as long as the list. NULLs are fine. */
void weft_sched_hold(struct weft_sched *sched, struct weft_type *type);
void weft_sched_hold_op(struct weft_sched *sched, struct weft_redop *op);

/* Scratch memory owned by the list, for its steps. Without memory the list has
 * an error and the address is not to be used by others; never NULL. The typed
 * form has room for count items at the returned address. */
void *weft_sched_tmp(struct weft_sched *sched, size_t len);
void *weft_sched_tmp_typed(
	struct weft_sched *sched, int64_t count, const struct weft_type *type);

/* Data of one step: where, how much, of what. */
struct weft_span {
	void *buf;
	int64_t count;
	struct weft_type *type;
};

void weft_sched_send(struct weft_sched *sched, struct weft_comm *comm,
	struct weft_span span, int32_t rank);
void weft_sched_recv(struct weft_sched *sched, struct weft_comm *comm,
	struct weft_span span, int32_t rank);
void weft_sched_fence(struct weft_sched *sched);
void weft_sched_copy(
	struct weft_sched *sched, struct weft_span from, struct weft_span to);
/* inout = in op inout */
void weft_sched_reduce(struct weft_sched *sched, struct weft_redop *op,
	const void *in, struct weft_span inout);

/* The error that stuck while writing, or 0. */
int weft_sched_err(const struct weft_sched *sched);

/* Runs the list, which has no error, from its first step; the request completes
 * at its end. */
void weft_sched_start(struct weft_sched *sched);

/* Instead of a start, where it has an error: tells those who count on its
 * messages. */
void weft_sched_give_up(struct weft_sched *sched);

/* Likewise when there is no memory for a list at all; writes one nowhere. */
void weft_sched_give_up_all(struct weft_comm *comm,
	enum weft_ctx_offset ctx_offset, enum weft_coll_kind kind,
	void (*write)(struct weft_sched *sched, const struct weft_coll *args),
	const struct weft_coll *args);

#endif
