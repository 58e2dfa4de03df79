/* SPDX-License-Identifier: BSD-3-Clause */
/* sched: write steps, run them */
#include "coll/shm_coll.h"

#include "transport/vci.h"
#include "dt/pack.h"
#include "p2p/p2p.h"

#include <stdlib.h>
#include <string.h>

enum step_kind { STEP_SEND, STEP_RECV, STEP_FENCE, STEP_COPY, STEP_REDUCE };

enum { SCHED_HOLDS = 4, SCHED_STEPS = 12, WATCH_ROUNDS = 64 };

struct step {
	enum step_kind kind;
	int32_t rank;
	struct weft_comm *comm; /* SEND, RECV */
	const void *in;		/* COPY, REDUCE */
	int64_t in_count;	/* COPY */
	struct weft_type *in_type;
	struct weft_span span;
	struct weft_redop *op;
};

struct tmp {
	struct tmp *next;
	_Alignas(16) char data[];
};

/* Created by weft_sched_create, destroyed with its request. */
struct weft_sched {
	struct weft_req *req;
	enum weft_ctx_offset ctx_offset;
	int32_t tag;
	int err;
	struct step *steps;
	size_t n_steps, n_room;
	size_t at;	  /* next step */
	size_t n_pending; /* messages started and not done */
	bool is_running;  /* inside sched_run(), or sched_call() to come */
	struct weft_progress_hook call;	 /* for the program's function */
	struct weft_progress_hook watch; /* for members in other collectives */
	uint32_t number;		 /* of the collective */
	uint32_t n_rounds;		 /* of watch */
	struct tmp *tmps;
	struct weft_type **types; /* held */
	size_t n_types;
	struct weft_redop *op; /* held */
	struct step first[SCHED_STEPS];
};

static void free_tmps(struct weft_sched *sched)
{
	while (sched->tmps) {
		struct tmp *tmp = sched->tmps;

		sched->tmps = tmp->next;
		free(tmp);
	}
}

static void sched_destroy(struct weft_req *req)
{
	struct weft_sched *sched = req->sched;

	free_tmps(sched);
	for (size_t i = 0; i < sched->n_types; i++)
		weft_type_put(sched->types[i]);
	free(sched->types);
	if (sched->op)
		weft_redop_put(sched->op);
	if (sched->steps != sched->first)
		free(sched->steps);
	free(sched);
}

static int restart(struct weft_req *req)
{
	weft_sched_start(req->sched);
	return 0;
}

static const struct weft_req_ops sched_ops = {
	.start = restart,
	.release = sched_destroy,
};

struct weft_sched *weft_sched_create(struct weft_comm *comm,
	enum weft_ctx_offset ctx_offset, enum weft_coll_kind kind)
{
	struct weft_sched *sched = malloc(sizeof(*sched));

	if (!sched)
		return NULL;
	memset(sched, 0, offsetof(struct weft_sched, first));
	sched->req = weft_req_new(comm->vci, WEFT_REQ_COLL);
	if (!sched->req) {
		free(sched);
		return NULL;
	}
	sched->req->ops = &sched_ops;
	sched->req->sched = sched;
	sched->req->comm = weft_comm_get(comm);
	sched->ctx_offset = ctx_offset;
	sched->number = comm->coll.seq;
	sched->tag = weft_coll_tag(comm, ctx_offset, kind);
	weft_list_init(&sched->watch.link);
	sched->req->ctx = comm->ctx + ctx_offset; /* for reports */
	sched->req->tag = sched->tag;
	sched->steps = sched->first;
	sched->n_room = SCHED_STEPS;
	return sched;
}

struct weft_req *weft_sched_req(struct weft_sched *sched)
{
	return sched->req;
}

int weft_sched_err(const struct weft_sched *sched)
{
	return sched->err;
}

void weft_sched_hold(struct weft_sched *sched, struct weft_type *type)
{
	struct weft_type **types;

	if (!type || type->is_builtin)
		return;
	types = realloc(sched->types, (sched->n_types + 1) * sizeof(*types));
	if (!types) {
		sched->err = WEFT_ERR_NOMEM;
		return;
	}
	sched->types = types;
	types[sched->n_types++] = weft_type_get(type);
}

void weft_sched_hold_op(struct weft_sched *sched, struct weft_redop *op)
{
	if (op && !op->is_builtin)
		sched->op = weft_redop_get(op);
}

void *weft_sched_tmp(struct weft_sched *sched, size_t len)
{
	struct tmp *tmp = malloc(sizeof(*tmp) + len);

	if (!tmp) {
		sched->err = WEFT_ERR_NOMEM;
		return sched->first; /* nothing is read or written there */
	}
	tmp->next = sched->tmps;
	sched->tmps = tmp;
	return tmp->data;
}

void *weft_sched_tmp_typed(
	struct weft_sched *sched, int64_t count, const struct weft_type *type)
{
	int64_t len = type->true_extent;
	int64_t low = type->true_lb;
	char *p;

	if (count > 1 && type->extent >= 0)
		len += (count - 1) * type->extent;
	if (count > 1 && type->extent < 0) {
		len -= (count - 1) * type->extent;
		low += (count - 1) * type->extent;
	}
	p = weft_sched_tmp(sched, count > 0 ? (size_t)len : 0);
	return p - low;
}

static void start_message(struct weft_sched *sched, const struct step *step);

/* A list that cannot be: those who count on its messages hear of it. */
void weft_sched_give_up(struct weft_sched *sched)
{
	for (size_t i = 0; i < sched->n_steps; i++)
		if (sched->steps[i].kind == STEP_SEND ||
			sched->steps[i].kind == STEP_RECV)
			start_message(sched, &sched->steps[i]);
	sched->n_steps = 0;
}

static struct step *sched_add(struct weft_sched *sched, enum step_kind kind)
{
	struct step *step;

	if (sched->n_steps == sched->n_room) {
		size_t room = sched->n_room * 2;
		struct step *steps =
			sched->steps == sched->first
				? malloc(room * sizeof(*steps))
				: realloc(sched->steps, room * sizeof(*steps));

		if (!steps) {
			sched->err = WEFT_ERR_NOMEM;
			weft_sched_give_up(sched); /* what there is of it */
			steps = sched->steps;
		} else {
			if (sched->steps == sched->first)
				memcpy(steps, sched->first,
					sizeof(sched->first));
			sched->n_room = room;
		}
		sched->steps = steps;
	}
	step = &sched->steps[sched->n_steps++];
	step->kind = kind;
	return step;
}

void weft_sched_send(struct weft_sched *sched, struct weft_comm *comm,
	struct weft_span span, int32_t rank)
{
	struct step *step = sched_add(sched, STEP_SEND);

	step->comm = comm;
	step->span = span;
	step->rank = rank;
}

void weft_sched_recv(struct weft_sched *sched, struct weft_comm *comm,
	struct weft_span span, int32_t rank)
{
	struct step *step = sched_add(sched, STEP_RECV);

	step->comm = comm;
	step->span = span;
	step->rank = rank;
}

void weft_sched_fence(struct weft_sched *sched)
{
	sched_add(sched, STEP_FENCE);
}

void weft_sched_copy(
	struct weft_sched *sched, struct weft_span from, struct weft_span to)
{
	struct step *step;

	if (from.count == 0 || from.type->size == 0)
		return;
	step = sched_add(sched, STEP_COPY);
	step->in = from.buf;
	step->in_count = from.count;
	step->in_type = from.type;
	step->span = to;
}

void weft_sched_reduce(struct weft_sched *sched, struct weft_redop *op,
	const void *in, struct weft_span inout)
{
	struct step *step;

	if (inout.count == 0)
		return;
	step = sched_add(sched, STEP_REDUCE);
	step->in = in;
	step->op = op;
	step->span = inout;
}

static void sched_run(struct weft_sched *sched);

static void on_message(void *arg, struct weft_req *req)
{
	struct weft_sched *sched = arg;

	if (weft_unlikely(req->status.err == WEFT_ERR_NOT_SAME) &&
		req->status.tag != sched->tag && !sched->err)
		weft_coll_met(req->comm, sched->tag, req->status.tag,
			req->status.source);
	if (req->status.err && !sched->err)
		sched->err = req->status.err;
	weft_req_put(req);
	sched->n_pending--;
	if (sched->n_pending == 0 || sched->err)
		sched_run(sched);
}

/* Nothing that this list waits for will come. */
static void sched_end_messages(struct weft_sched *sched)
{
	struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(sched->req->vci, &pos)) != NULL)
		if (req->refs && !req->is_done && req->on_done == on_message &&
			req->on_done_arg == sched)
			weft_cancel_stuck(req, sched->err);
}

/* Members that do this one through the communicator's segment send nothing. */
static void sched_watch(struct weft_progress_hook *hook)
{
	struct weft_sched *sched =
		weft_container_of(hook, struct weft_sched, watch);
	enum weft_coll_kind other,
		kind = (enum weft_coll_kind)(sched->tag >> WEFT_TAG_COLL_SHIFT);
	int32_t rank;

	if (++sched->n_rounds % WATCH_ROUNDS)
		return;
	rank = weft_shm_coll_find_other(
		sched->req->comm, sched->number, &other);
	if (rank < 0)
		return;
	weft_list_remove(&hook->link);
	weft_list_init(&hook->link);
	if (!sched->err)
		sched->err = weft_coll_differ(kind, other, rank);
	sched_end_messages(sched);
}

static void start_message(struct weft_sched *sched, const struct step *step)
{
	struct weft_msg msg = {
		.comm = step->comm,
		.buf = step->span.buf,
		.count = step->span.count,
		.type = step->span.type,
		.rank = step->rank,
		.tag = sched->tag,
		.ctx_offset = sched->ctx_offset,
	};
	struct weft_req *req;
	int32_t met;
	int err;

	if (weft_unlikely(sched->err)) {
		if (step->kind == STEP_SEND)
			weft_send_coll_error_locked(&msg, sched->err);
		else
			weft_recv_drop_locked(&msg);
		return;
	}
	if (step->kind == STEP_SEND)
		err = weft_isend_locked(&msg, &req);
	else if (weft_unlikely(msg.comm->match.n_unexpected) &&
		 weft_recv_other_locked(&msg, &met))
		err = weft_coll_met(msg.comm, sched->tag, met, step->rank);
	else
		err = weft_irecv_locked(&msg, &req);
	if (err) {
		sched->err = err;
	} else if (req->is_done) {
		if (req->status.err && !sched->err)
			sched->err = req->status.err;
		weft_req_put(req);
	} else {
		req->on_done = on_message;
		req->on_done_arg = sched;
		sched->n_pending++;
	}
}

/* The step before the next one reduces by the program's function: called
 * without the lock. Nobody else goes on with the list meanwhile, and the
 * library's reference keeps it; it may have an error after or already. */
static void sched_call(struct weft_progress_hook *hook)
{
	struct weft_sched *sched =
		weft_container_of(hook, struct weft_sched, call);
	const struct step *step = &sched->steps[sched->at - 1];
	struct weft_vci *vci = sched->req->vci;

	if (!sched->err) {
		weft_vci_unlock(vci);
		weft_redop_call(step->op, step->in, step->span.buf,
			step->span.count, step->span.type);
		weft_vci_lock(vci);
	}
	sched->is_running = false;
	sched_run(sched);
}

/* A copy or reduction. A function of the program's is left to the next round of
 * progress, as whoever is here may be in the middle of a message: true. */
static bool do_local(struct weft_sched *sched, const struct step *step)
{
	if (step->kind == STEP_COPY) {
		sched->err = weft_type_copy(step->in_type, step->in_count,
			step->in, step->span.type, step->span.count,
			step->span.buf);
	} else if (weft_likely(step->op->is_builtin)) {
		sched->err = weft_redop_apply(step->op, step->in,
			step->span.buf, step->span.count, step->span.type);
	} else {
		sched->call.run = sched_call;
		weft_vci_defer(sched->req->vci, &sched->call);
		return true;
	}
	return false;
}

/* Goes on until a fence has to wait, the program's function is to be called or
 * the list ends. Messages may complete inside, which comes back here: the outer
 * call then goes on. With an error nothing depends on anything any more: the
 * rest is told and dropped at once.
 */
static void sched_run(struct weft_sched *sched)
{
	struct weft_req *req = sched->req;

	if (sched->is_running)
		return;
	sched->is_running = true;
	while (sched->at < sched->n_steps) {
		const struct step *step = &sched->steps[sched->at];

		if (step->kind == STEP_FENCE && sched->n_pending > 0 &&
			!sched->err)
			break;
		sched->at++;
		if (step->kind == STEP_SEND || step->kind == STEP_RECV)
			start_message(sched, step);
		else if (step->kind != STEP_FENCE && !sched->err &&
			 do_local(sched, step))
			return;
	}
	sched->is_running = false;
	if (sched->at < sched->n_steps || sched->n_pending > 0)
		return;
	if (weft_unlikely(!weft_list_is_empty(&sched->watch.link)))
		weft_list_remove(&sched->watch.link);
	if (weft_unlikely(sched->err) && req->comm)
		req->comm->has_failed_coll = true;
	weft_req_complete(req, sched->err);
	weft_req_put(req);
}

void weft_sched_start(struct weft_sched *sched)
{
	sched->err = 0;
	sched->at = 0;
	weft_req_get(sched->req);
	if (sched->req->comm->coll.shm &&
		sched->ctx_offset == WEFT_CTX_OFFSET_COLL) {
		sched->watch.run = sched_watch;
		weft_list_push_back(
			&sched->req->vci->hooks, &sched->watch.link);
	}
	sched_run(sched);
}

void weft_sched_give_up_all(struct weft_comm *comm,
	enum weft_ctx_offset ctx_offset, enum weft_coll_kind kind,
	void (*write)(struct weft_sched *sched, const struct weft_coll *args),
	const struct weft_coll *args)
{
	struct weft_sched sched = {
		.ctx_offset = ctx_offset,
		.tag = weft_coll_tag(comm, ctx_offset, kind),
		.err = WEFT_ERR_NOMEM,
		.steps = sched.first,
		.n_room = SCHED_STEPS,
	};

	write(&sched, args);
	weft_sched_give_up(&sched);
	free_tmps(&sched);
}
