/* SPDX-License-Identifier: BSD-3-Clause */
/* sched_blocking: executes the steps of a blocking collective as they are
 * written
 *
 * A list (sched_list.c) sends the same messages with the same tags. So some
 * members may execute a collective with a list, and others with this file. */
#include "coll/coll_priv.h"
#include "collshm/shm_coll.h"

#include "p2p/p2p.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_REQS = 16, ROOM_LEN = 2048 };

struct blocking {
	struct weft_sched sched;
	struct weft_comm *comm;
	struct weft_watch watch;
	const char *call;
	struct weft_req **reqs; /* requests since the last fence */
	size_t n_reqs, n_room;
	struct weft_req *first[FIRST_REQS];
};

static void blocking_wait(struct blocking *b)
{
	for (size_t i = 0; i < b->n_reqs; i++) {
		weft_req_wait_in(b->comm->vci, b->reqs[i], b->call);
		weft_step_end(&b->sched, b->reqs[i]);
	}
	b->n_reqs = 0;
}

/* An on_done function that does nothing. The watch identifies the requests of
 * its collective by on_done_arg. */
static void nothing(void *arg, struct weft_req *req)
{
	(void)arg;
	(void)req;
}

static bool blocking_grow(struct blocking *b)
{
	size_t room = b->n_room * 2;
	bool is_first = b->reqs == b->first;
	struct weft_req **reqs =
		realloc(is_first ? NULL : b->reqs, room * sizeof(*reqs));

	if (!reqs)
		return false;
	if (is_first)
		memcpy(reqs, b->first, sizeof(b->first));
	b->reqs = reqs;
	b->n_room = room;
	return true;
}

static void blocking_message(struct blocking *b, const struct weft_step *step)
{
	struct weft_req *req = weft_step_start(&b->sched, step);

	if (!req)
		return;
	if (b->watch.sched) {
		req->on_done = nothing;
		req->on_done_arg = &b->sched;
	}
	if (weft_unlikely(b->n_reqs == b->n_room) && !blocking_grow(b)) {
		weft_cancel_unreceivable(req, WEFT_ERR_NOMEM);
		weft_req_wait_in(b->comm->vci, req, b->call);
		weft_step_end(&b->sched, req);
		return;
	}
	b->reqs[b->n_reqs++] = req;
}

static void blocking_call(struct blocking *b, const struct weft_step *step)
{
	weft_vci_unlock(b->comm->vci);
	weft_redop_call(step->op, step->in, step->span.buf, step->span.count,
		step->span.type);
	weft_vci_lock(b->comm->vci);
}

/* Executes one step. After an error, weft_step_start() sends errors in place of
 * messages, because other members may wait for these messages. Fences then do
 * not wait; weft_sched_run() waits for all messages at the end. */
static void blocking_add(struct weft_sched *sched, const struct weft_step *step)
{
	struct blocking *b = (struct blocking *)sched;

	if (step->kind == WEFT_STEP_SEND || step->kind == WEFT_STEP_RECV)
		blocking_message(b, step);
	else if (weft_unlikely(sched->err))
		return;
	else if (step->kind == WEFT_STEP_FENCE)
		blocking_wait(b);
	else if (step->kind == WEFT_STEP_COPY || step->op->is_builtin)
		sched->err = weft_step_local(sched, step);
	else
		blocking_call(b, step);
}

/* Runs the part of a collective within a node in the shared-memory segment.
 * WEFT_AGAIN: the part uses messages instead. */
static int blocking_within(struct weft_sched *sched, enum weft_coll_kind kind,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct blocking *b = (struct blocking *)sched;
	int err;

	(void)view;
	if (!sched->err)
		blocking_wait(b);
	weft_vci_unlock(b->comm->vci);
	err = weft_shm_coll_part(kind, args, sched->err);
	weft_vci_lock(b->comm->vci);
	if (err != WEFT_AGAIN)
		sched->err = err;
	return err == WEFT_AGAIN ? err : 0;
}

int weft_sched_run(enum weft_coll_kind kind, const struct weft_coll *args,
	weft_sched_write_fn *write, int32_t marks)
{
	struct weft_comm *comm = args->comm;
	_Alignas(64) char room[ROOM_LEN];
	uint32_t number = comm->coll.seq;
	struct blocking b;

	b.sched = (struct weft_sched){
		.add = blocking_add,
		.ctx_offset = args->ctx_offset,
		.tag = weft_coll_tag(comm, args->ctx_offset, kind) | marks,
		.vci = comm->vci,
		.room = room,
		.room_len = sizeof(room),
		.err = args->err,
		.is_on_device = args->is_on_device,
	};
	if (comm->coll.shm && args->ctx_offset == WEFT_CTX_OFFSET_COLL)
		b.sched.within = blocking_within;
	b.comm = comm;
	b.call = weft_coll_name(kind);
	b.reqs = b.first;
	b.n_reqs = 0;
	b.n_room = FIRST_REQS;
	b.watch.sched = NULL;
	b.watch.req = NULL;
	if (b.sched.within)
		weft_watch_begin(&b.watch, &b.sched, comm, number);
	write(&b.sched, kind, args);
	blocking_wait(&b);
	if (b.watch.sched)
		weft_watch_end(&b.watch);
	if (b.reqs != b.first)
		free(b.reqs);
	weft_sched_free_tmps(&b.sched);
	return b.sched.err;
}
