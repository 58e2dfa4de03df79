/* SPDX-License-Identifier: BSD-3-Clause */
/* sched_list: a list of steps, driven by the completions of its messages */
#include "coll/coll_priv.h"
#include "collshm/shm_coll.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_STEPS = 12 };

/* Created by weft_sched_list_create, destroyed with its request. */
struct list {
	struct weft_sched sched;
	struct weft_req *req;
	struct weft_step *steps;
	size_t n_steps, n_room;
	size_t at;	  /* next step */
	size_t n_pending; /* messages started and not complete */
	bool is_running;  /* a thread is in list_run() or list_call(), or
			     list_call() is deferred */
	int start_err;	  /* error with which the next start begins; or 0 */
	struct weft_progress_hook call; /* deferred list_call() */
	struct weft_watch watch;
	struct weft_type **types; /* the list has a reference to each */
	size_t n_types;
	struct weft_redop *op; /* the list has a reference; or NULL */
	struct weft_step first[LIST_STEPS];
};

static struct list *list_of(struct weft_sched *sched)
{
	return (struct list *)sched;
}

/* ---- create, write, destroy ---- */

static void list_destroy(struct weft_req *req)
{
	struct list *list = list_of(req->sched);

	weft_sched_free_tmps(&list->sched);
	for (size_t i = 0; i < list->n_types; i++)
		weft_type_put(list->types[i]);
	free(list->types);
	if (list->op)
		weft_redop_put(list->op);
	if (list->steps != list->first)
		free(list->steps);
	free(list);
}

static int list_restart(struct weft_req *req)
{
	weft_sched_list_start(req);
	return 0;
}

static const struct weft_req_ops list_ops = {
	.start = list_restart,
	.release = list_destroy,
};

static void hold_type(struct list *list, struct weft_type *type)
{
	struct weft_type **types;

	if (!type || type->is_builtin)
		return;
	types = realloc(list->types, (list->n_types + 1) * sizeof(*types));
	if (!types) {
		list->sched.err = WEFT_ERR_NOMEM;
		return;
	}
	list->types = types;
	types[list->n_types++] = weft_type_get(type);
}

static void hold_types(
	struct list *list, const struct weft_blocks *blocks, int32_t n)
{
	hold_type(list, blocks->type);
	for (int32_t i = 0; blocks->types && i < n; i++)
		hold_type(list, blocks->types[i]);
}

static int32_t n_blocks(const struct weft_coll *args, int32_t n_neighbors)
{
	return args->sources || args->dests ? n_neighbors
					    : args->comm->remote_size;
}

static void list_hold(struct list *list, const struct weft_coll *args)
{
	hold_types(list, &args->send, n_blocks(args, args->n_dests));
	hold_types(list, &args->recv, n_blocks(args, args->n_sources));
	if (args->op && !args->op->is_builtin)
		list->op = weft_redop_get(args->op);
}

/* Sends error messages in place of the messages of a list that failed. */
static void fail_list(struct list *list)
{
	for (size_t i = 0; i < list->n_steps; i++)
		weft_step_send_error(&list->sched, &list->steps[i]);
	list->n_steps = 0;
	list->sched.add = weft_step_send_error; /* for further steps */
}

static void list_write(struct weft_sched *sched, const struct weft_step *step)
{
	struct list *list = list_of(sched);

	if (list->n_steps == list->n_room) {
		size_t room = list->n_room * 2;
		bool is_first = list->steps == list->first;
		struct weft_step *steps = realloc(
			is_first ? NULL : list->steps, room * sizeof(*steps));

		if (!steps) {
			sched->err = WEFT_ERR_NOMEM;
			fail_list(list);
			weft_step_send_error(sched, step);
			return;
		}
		if (is_first)
			memcpy(steps, list->first, sizeof(list->first));
		list->n_room = room;
		list->steps = steps;
	}
	list->steps[list->n_steps++] = *step;
}

static struct list *list_alloc(struct weft_comm *comm)
{
	struct list *list = malloc(sizeof(*list));

	if (!list)
		return NULL;
	memset(list, 0, offsetof(struct list, first));
	list->req = weft_req_new(comm->vci, WEFT_REQ_COLL);
	if (!list->req) {
		free(list);
		return NULL;
	}
	list->sched.add = list_write;
	list->sched.vci = comm->vci;
	list->req->ops = &list_ops;
	list->req->sched = &list->sched;
	list->req->comm = weft_comm_get(comm);
	weft_list_init(&list->watch.hook.link);
	list->watch.req = list->req;
	list->steps = list->first;
	list->n_room = LIST_STEPS;
	return list;
}

/* Called if there is no memory for a list. Sends error messages in place of the
 * messages of the list. */
static int send_error_to_all(enum weft_coll_kind kind,
	const struct weft_coll *args, weft_sched_write_fn *write, int32_t marks)
{
	struct weft_sched sched = {
		.add = weft_step_send_error,
		.ctx_offset = args->ctx_offset,
		.tag = weft_coll_tag(args->comm, args->ctx_offset, kind) |
		       marks,
		.err = args->err ? args->err : WEFT_ERR_NOMEM,
	};

	write(&sched, kind, args);
	weft_sched_free_tmps(&sched);
	return sched.err;
}

int weft_sched_list_create(enum weft_coll_kind kind,
	const struct weft_coll *args, weft_sched_write_fn *write, int32_t marks,
	struct weft_req **req_out)
{
	struct weft_comm *comm = args->comm;
	struct list *list = list_alloc(comm);
	int err;

	if (!list)
		return send_error_to_all(kind, args, write, marks);
	list->sched.err = args->err;
	list->sched.is_on_device = args->is_on_device;
	list->watch.number = comm->coll.seq;
	list->sched.ctx_offset = args->ctx_offset;
	list->sched.tag = weft_coll_tag(comm, args->ctx_offset, kind) | marks;
	/* reports of waits print ctx and tag */
	list->req->ctx = comm->ctx + args->ctx_offset;
	list->req->tag = list->sched.tag;
	list_hold(list, args);
	write(&list->sched, kind, args);
	err = list->sched.err;
	if (err) {
		fail_list(list);
		weft_req_put(list->req);
		return err;
	}
	*req_out = list->req;
	return 0;
}

/* ---- run ---- */

static void list_run(struct list *list);

static void on_message(void *arg, struct weft_req *req)
{
	struct list *list = arg;

	weft_step_end(&list->sched, req);
	list->n_pending--;
	if (list->n_pending == 0 || list->sched.err)
		list_run(list);
}

static void list_message(struct list *list, const struct weft_step *step)
{
	struct weft_req *req = weft_step_start(&list->sched, step);

	if (!req)
		return;
	req->on_done = on_message;
	req->on_done_arg = list;
	list->n_pending++;
}

/* Calls the user-defined function of the step before `at`, without the VCI's
 * lock. Meanwhile is_running keeps other threads from continuing the list. The
 * list is not freed, because weft_sched_list_start() has acquired a reference.
 */
static void list_call(struct weft_progress_hook *hook)
{
	struct list *list = weft_container_of(hook, struct list, call);
	const struct weft_step *step = &list->steps[list->at - 1];
	struct weft_vci *vci = list->req->vci;

	if (!list->sched.err) {
		weft_vci_unlock(vci);
		weft_redop_call(step->op, step->in, step->span.buf,
			step->span.count, step->span.type);
		weft_vci_lock(vci);
	}
	list->is_running = false;
	list_run(list);
}

/* Executes a copy or reduction. Returns true if a user-defined function is
 * deferred to the next round of progress, because the caller may be a message
 * handler. */
static bool list_local(struct list *list, const struct weft_step *step)
{
	if (step->kind == WEFT_STEP_COPY || step->op->is_builtin) {
		list->sched.err = weft_step_local(&list->sched, step);
		return false;
	}
	list->call.run = list_call;
	weft_vci_defer(list->req->vci, &list->call);
	return true;
}

/* Runs the list until a fence has to wait, a user-defined function is deferred,
 * or the list ends. A message that completes during the call calls this
 * function again. Such an inner call returns immediately, and the outer call
 * continues the list. After an error, fences do not wait. */
static void list_run(struct list *list)
{
	struct weft_req *req = list->req;

	if (list->is_running)
		return;
	list->is_running = true;
	while (list->at < list->n_steps) {
		const struct weft_step *step = &list->steps[list->at];
		const int err = list->sched.err;

		if (step->kind == WEFT_STEP_FENCE && list->n_pending > 0 &&
			!err)
			break;
		list->at++;
		if (step->kind == WEFT_STEP_SEND ||
			step->kind == WEFT_STEP_RECV)
			list_message(list, step);
		else if (step->kind != WEFT_STEP_FENCE && !err &&
			 list_local(list, step))
			return;
	}
	list->is_running = false;
	if (list->at < list->n_steps || list->n_pending > 0)
		return;
	weft_watch_end(&list->watch);
	if (weft_unlikely(list->sched.err))
		req->comm->coll_err = list->sched.err;
	weft_req_complete(req, list->sched.err);
	weft_req_put(req);
}

void weft_sched_list_fail(struct weft_req *req, int err)
{
	list_of(req->sched)->start_err = err;
}

void weft_sched_list_start(struct weft_req *req)
{
	struct list *list = list_of(req->sched);

	list->sched.err = list->start_err;
	list->start_err = 0;
	list->at = 0;
	weft_req_get(req);
	if (req->comm->coll.shm &&
		list->sched.ctx_offset == WEFT_CTX_OFFSET_COLL)
		weft_watch_begin(&list->watch, &list->sched, req->comm,
			list->watch.number);
	list_run(list);
}
