/* SPDX-License-Identifier: BSD-3-Clause */
/* request: calls that wait for requests or for a message */
#include "watchdog/request.h"

#include "base/clock.h"
#include "base/err.h"
#include "core/comm.h"
#include "transport/vci.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "core/req.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ROUNDS_PER_CHECK = 64,	 /* rounds between readings of the clock */
	REGISTER_NS = 100000000, /* shorter waits are not registered */
	ASK_MAX = 128,		 /* queried members of a communicator */
};

/* The state of a wait for requests. Allocated late, because few waits are long.
 */
struct weft_request_waiting {
	struct weft_wait wait;
	uint64_t begun_ns;
	bool is_begun;
	const char *caller; /* the OpenSHMEM procedure, or NULL */
	const struct weft_request_loop *loop;
	struct weft_vci *vci; /* VCI of a poll */
	uint32_t idle_polls;  /* vci->idle_polls at the last poll */
	bool was_asking;      /* answers were pending at the last poll */
};

static void (*on_stuck)(struct weft_req *req, int err);
static _Thread_local const char *caller;

void weft_request_set_caller(const char *fn)
{
	caller = fn;
}

const char *weft_request_caller(void)
{
	return caller;
}

void weft_request_on_stuck(void (*fn)(struct weft_req *req, int err))
{
	if (on_stuck != fn)
		on_stuck = fn;
}

/* ---- text ---- */

struct envelope {
	char rank[24], tag[24];
};

static struct envelope envelope_of(int32_t rank, int32_t tag)
{
	struct envelope e = { "any source", "any tag" };

	if (rank >= 0)
		snprintf(e.rank, sizeof(e.rank), "rank %d", (int)rank);
	if (tag >= 0)
		snprintf(e.tag, sizeof(e.tag), "tag %d", (int)tag);
	return e;
}

static enum weft_ctx_offset request_plane_of(const struct weft_req *req)
{
	return (enum weft_ctx_offset)(req->ctx % WEFT_CTX_OFFSET_END);
}

static bool is_message(const struct weft_req *req)
{
	return req->kind == WEFT_REQ_SEND || req->kind == WEFT_REQ_RECV;
}

/* True for a part of a collective. Its tag contains the collective's number. */
static bool is_collective(const struct weft_req *req)
{
	return req->kind == WEFT_REQ_COLL ||
	       (is_message(req) &&
		       request_plane_of(req) == WEFT_CTX_OFFSET_COLL);
}

/* Returns the number of a collective on its communicator. */
static int number_of(int32_t tag)
{
	return (int)(tag & WEFT_TAG_COLL_NUMBER);
}

static void describe_req(const struct weft_req *req, char *buf, size_t len)
{
	struct envelope e = envelope_of(req->src, req->tag);

	if (is_message(req) && request_plane_of(req) == WEFT_CTX_OFFSET_P2P)
		snprintf(buf, len, "%s %s, %s, of communicator \"%.40s\"",
			req->kind == WEFT_REQ_RECV ? "from" : "to", e.rank,
			e.tag, weft_comm_label(req->comm));
	else if (is_collective(req))
		snprintf(buf, len, "(number %d) of communicator \"%.40s\"",
			number_of(req->tag), weft_comm_label(req->comm));
	else if (req->comm)
		snprintf(buf, len, "of communicator \"%.40s\"",
			weft_comm_label(req->comm));
	else
		snprintf(buf, len, "for a request");
}

/* Returns the name of the call, for loops without a name. */
static const char *call_of(const struct weft_req *req)
{
	if (req->kind == WEFT_REQ_COLL ||
		(is_message(req) &&
			request_plane_of(req) != WEFT_CTX_OFFSET_P2P))
		return "a collective";
	if (req->kind == WEFT_REQ_RECV)
		return "MPI_Recv";
	if (req->kind == WEFT_REQ_SEND)
		return req->send.mode == WEFT_SEND_SYNC ? "MPI_Ssend"
							: "MPI_Send";
	return "MPI_Wait";
}

static const struct weft_request_loop *loop_of(const struct weft_wait *wait)
{
	return weft_container_of(wait, struct weft_request_waiting, wait)->loop;
}

/* Returns the request of the loop if the loop waits for exactly one request;
 * else NULL. */
static const struct weft_req *only_of(const struct weft_request_loop *loop)
{
	return loop->at && loop->n == 1 ? loop->at(loop->arg, 0) : NULL;
}

static void request_name(const struct weft_wait *wait, char *buf, size_t len)
{
	const struct weft_request_loop *loop = loop_of(wait);
	const struct weft_req *req = only_of(loop);

	const char *fn =
		weft_container_of(wait, struct weft_request_waiting, wait)
			->caller;

	snprintf(buf, len, "%s",
		fn	     ? fn
		: loop->call ? loop->call
		: req	     ? call_of(req)
			     : "MPI_Wait");
}

static void request_describe(
	const struct weft_wait *wait, char *buf, size_t len)
{
	const struct weft_request_loop *loop = loop_of(wait);
	const struct weft_req *req = only_of(loop);
	char call[64], what[160];

	request_name(wait, call, sizeof(call));
	if (req) {
		describe_req(req, what, sizeof(what));
	} else if (loop->is_missing) {
		snprintf(what, sizeof(what),
			"(number %d) of communicator \"%.40s\"",
			number_of(loop->tag), weft_comm_label(loop->comm));
	} else if (loop->comm) {
		struct envelope e = envelope_of(loop->rank, loop->tag);

		snprintf(what, sizeof(what),
			"from %s, %s, of communicator \"%.40s\"", e.rank, e.tag,
			weft_comm_label(loop->comm));
	} else if (loop->what) {
		snprintf(what, sizeof(what), "for %s", loop->what);
	} else {
		snprintf(what, sizeof(what), "for any of %d requests", loop->n);
	}
	snprintf(buf, len, "in %.60s %.90s", call, what);
}

static void request_locate(
	const struct weft_wait *wait, struct weft_wait_facts *facts)
{
	const struct weft_request_loop *loop = loop_of(wait);
	const struct weft_req *req = only_of(loop);
	const struct weft_comm *comm = req ? req->comm : loop->comm;

	if (comm)
		snprintf(facts->object, sizeof(facts->object), "%.31s",
			weft_comm_label(comm));
	if (req && !(is_message(req) &&
			   request_plane_of(req) == WEFT_CTX_OFFSET_P2P))
		return;
	if (!req && (!loop->comm || loop->is_missing))
		return;
	facts->peer = req ? req->src : loop->rank;
	facts->tag = req ? req->tag : loop->tag;
	facts->peer = facts->peer < 0 ? WEFT_WAIT_ANY : facts->peer;
	facts->tag = facts->tag < 0 ? WEFT_WAIT_ANY : facts->tag;
}

/* ---- needs ---- */

/* The arguments of the functions that add the needs of a wait. */
struct asking {
	struct weft_wait *wait;
	uint16_t any; /* clause in which one met need suffices; 0: each need
			 must be met */
	bool is_one;  /* list only the first message of each request */
};

static struct weft_need *need_like(const struct asking *a,
	enum weft_wire_need kind, const struct weft_comm *comm, uint64_t ctx,
	int32_t tag)
{
	struct weft_wait_view *view = a->wait->view;
	struct weft_need *need;

	for (uint32_t i = 0; i < view->n_needs; i++) {
		need = &view->needs[i];
		if (need->kind == kind && need->what == ctx &&
			need->round == (uint32_t)tag && need->any == a->any)
			return need;
	}
	need = weft_wait_add_need(a->wait);
	if (!need)
		return NULL;
	need->kind = kind;
	need->what = ctx;
	need->round = (uint32_t)tag;
	need->any = a->any;
	need->is_soft = true;
	need->size = (uint32_t)comm->remote_size;
	snprintf(need->label, sizeof(need->label), "%.31s",
		weft_comm_label(comm));
	return need;
}

static void on_rank(const struct asking *a, struct weft_need *need,
	const struct weft_comm *comm, uint32_t rank)
{
	uint64_t proc = weft_group_proc(comm->remote, rank);

	if (!need || proc == weft_proc.proc)
		return;
	need->n_all++;
	weft_wait_add_proc(a->wait, need, proc,
		weft_vci_addr(proc, comm->vcis ? comm->vcis[rank] : 0),
		(int32_t)rank);
}

static void on_ranks(const struct asking *a, struct weft_need *need,
	const struct weft_comm *comm, int32_t rank)
{
	uint32_t n = (uint32_t)comm->remote_size;
	uint32_t first = weft_wait_first_member(a->wait, n, ASK_MAX);

	if (rank >= 0) {
		on_rank(a, need, comm, (uint32_t)rank);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		if (i < ASK_MAX)
			on_rank(a, need, comm, (first + i) % n);
		else if (need)
			need->n_all++;
}

static void phrase_others(
	struct weft_need *need, const struct weft_comm *comm, int32_t tag)
{
	snprintf(need->phrase, sizeof(need->phrase),
		"other members to call collective number %d on communicator "
		"\"%.60s\" (%d processes)",
		number_of(tag), weft_comm_label(comm), (int)comm->remote_size);
}

/* Adds the need of a message that another process must send. */
static void need_message(const struct asking *a, const struct weft_comm *comm,
	uint64_t ctx, int32_t rank, int32_t tag)
{
	struct asking from = *a;
	struct weft_need *need;
	struct envelope e = envelope_of(rank, tag);

	if (rank < 0 && !a->any)
		from.any = (uint16_t)(1 + a->wait->view->n_needs);
	need = need_like(&from, WEFT_WIRE_NEED_MESSAGE, comm, ctx, tag);
	if (!need)
		return;
	if (ctx % WEFT_CTX_OFFSET_END == WEFT_CTX_OFFSET_P2P)
		snprintf(need->phrase, sizeof(need->phrase),
			"a message from %s with %s on communicator \"%.60s\" "
			"(%d processes)",
			e.rank, e.tag, weft_comm_label(comm),
			(int)comm->remote_size);
	else
		phrase_others(need, comm, tag);
	if (rank == comm->rank && !comm->is_inter)
		need->if_met = "only this process itself can send it";
	on_ranks(&from, need, comm, rank);
}

/* Adds the need of a collective in shared memory: each missing member counts as
 * if it had to send a message. */
static void need_members(
	const struct asking *a, const struct weft_request_loop *loop)
{
	const struct weft_comm *comm = loop->comm;
	struct weft_need *need = need_like(a, WEFT_WIRE_NEED_MESSAGE, comm,
		comm->ctx + WEFT_CTX_OFFSET_COLL, loop->tag);

	if (!need)
		return;
	phrase_others(need, comm, loop->tag);
	for (int32_t i = 0; i < comm->size; i++)
		if (loop->is_missing(loop->arg, i))
			on_rank(a, need, comm, (uint32_t)i);
}

static void need_receive(const struct asking *a, const struct weft_req *req)
{
	const struct weft_comm *comm = req->comm;
	struct weft_need *need =
		need_like(a, WEFT_WIRE_NEED_RECEIVE, comm, req->ctx, req->tag);

	if (!need)
		return;
	if (request_plane_of(req) == WEFT_CTX_OFFSET_P2P)
		snprintf(need->phrase, sizeof(need->phrase),
			"rank %d to receive %zu bytes with tag %d on "
			"communicator \"%.60s\" (%d processes)",
			(int)req->src, req->len, (int)req->tag,
			weft_comm_label(comm), (int)comm->remote_size);
	else
		snprintf(need->phrase, sizeof(need->phrase),
			"other members to receive data of collective number %d "
			"on communicator \"%.60s\" (%d processes)",
			number_of(req->tag), weft_comm_label(comm),
			(int)comm->remote_size);
	need->if_met = "it has been received by now, or is about to be";
	on_ranks(a, need, comm, req->src);
}

/* Adds a need about which no process can be queried. */
static void need_other(const struct asking *a, const char *what)
{
	struct weft_need *need = weft_wait_add_need(a->wait);

	weft_wait_set_unsure(a->wait);
	if (!need)
		return;
	need->kind = WEFT_WIRE_NEED_NONE;
	need->is_soft = true;
	need->any = a->any;
	need->n_all = 1; /* one process, which is not queried */
	snprintf(need->phrase, sizeof(need->phrase), "%s", what);
	need->if_met = NULL;
}

/* Adds the need of the data of a message. The peer transfers the data without
 * a call of its program, so the query only finds out whether the peer answers.
 * False if no process can be queried. */
static bool need_data(const struct asking *a, const struct weft_req *req)
{
	bool is_recv = req->kind == WEFT_REQ_RECV;
	const char *what = is_recv ? "the data of a message to arrive"
				   : "the data of a message to be sent";
	const struct weft_comm *comm = req->comm;
	struct weft_need *need;

	if (!req->peer || req->peer->is_self) {
		need_other(a, what);
		return false;
	}
	weft_wait_set_unsure(a->wait);
	need = need_like(a, WEFT_WIRE_NEED_NONE, comm, req->ctx, req->tag);
	if (!need)
		return true;
	snprintf(need->phrase, sizeof(need->phrase), "%s", what);
	need->if_met = "the other process answers";
	need->n_all++;
	weft_wait_add_proc(a->wait, need, req->peer->proc, req->peer->addr,
		weft_group_rank_of(comm->remote, req->peer->proc));
	return true;
}

static bool need_req(const struct asking *a, const struct weft_req *req);

/* True if req is a pending message of a collective's steps, or one half of a
 * combined request. */
static bool is_part(const struct weft_req *req, const struct weft_req *whole)
{
	const void *arg = req->on_done_arg;

	return req->refs && !req->is_done && req->on_done && arg &&
	       (arg == whole || arg == whole->attached) && is_message(req);
}

static const char *describe_other(const struct weft_req *req)
{
	if (req->kind == WEFT_REQ_GENERAL)
		return "MPI_Grequest_complete of this program";
	return req->kind == WEFT_REQ_COLL
		       ? "data to be sent"
		       : "an operation that needs other processes";
}

/* Adds the needs of the pending messages that a request consists of. */
static void need_parts(const struct asking *a, const struct weft_req *whole)
{
	struct weft_req *req;
	uint32_t pos = 0;
	bool has_any = false;

	while ((req = weft_req_next(whole->vci, &pos)) != NULL)
		if (is_part(req, whole) && !(a->is_one && has_any))
			has_any = need_req(a, req) || has_any;
	if (!has_any)
		need_other(a, describe_other(whole));
}

/* Adds the needs of a request. False if the request is a message whose data is
 * being transferred, and no process can be queried about the transfer. */
static bool need_req(const struct asking *a, const struct weft_req *req)
{
	if (req->kind == WEFT_REQ_RECV && req->recv.is_posted) {
		need_message(a, req->comm, req->ctx, req->src, req->tag);
	} else if (weft_req_is_announced(req)) {
		need_receive(a, req);
	} else if (is_message(req)) {
		return need_data(a, req);
	} else {
		need_parts(a, req);
	}
	return true;
}

static bool request_is_active(const struct weft_req *req)
{
	return req && !req->is_done && (!req->is_persistent || req->is_active);
}

/* True if another operation of this process may send without a call. */
static bool has_background(const struct weft_wait *wait)
{
	const struct weft_request_loop *loop = loop_of(wait);
	const struct weft_req *req, *only = only_of(loop);
	uint32_t pos = 0;

	while ((req = weft_req_next(wait->vci, &pos)) != NULL)
		if (req->refs && !req->is_done && req != only &&
			!is_message(req) && req->is_active)
			return true;
	return false;
}

static void request_needs(struct weft_wait *wait)
{
	const struct weft_request_loop *loop = loop_of(wait);
	struct asking a = { .wait = wait };

	if (has_background(wait))
		weft_wait_set_unsure(wait);
	if (loop->at && loop->n > 1) {
		a.any = 1;
		a.is_one = true;
	}
	for (int i = 0; loop->at && i < loop->n; i++) {
		const struct weft_req *req = loop->at(loop->arg, i);

		if (request_is_active(req) && req->vci == wait->vci)
			(void)need_req(&a, req);
		else if (request_is_active(req))
			need_other(&a, "a request on another VCI");
	}
	if (loop->is_missing)
		need_members(&a, loop);
	else if (loop->comm)
		need_message(&a, loop->comm,
			loop->comm->ctx + WEFT_CTX_OFFSET_P2P, loop->rank,
			loop->tag);
	if (loop->what && !only_of(loop))
		need_other(&a, loop->what);
}

/* Returns a number that changes when data of the request is transferred. */
static uint64_t pulse_of(const struct weft_req *whole)
{
	const struct weft_req *req;
	uint64_t sum = weft_obj_handle(whole) + whole->rndv.n_moved +
		       whole->rndv.n_segs + whole->rndv.remote;
	uint32_t pos = 0;

	if (is_message(whole))
		return sum;
	while ((req = weft_req_next(whole->vci, &pos)) != NULL)
		if (is_part(req, whole))
			sum += pulse_of(req);
	return sum;
}

static uint64_t pulse(const struct weft_wait *wait)
{
	const struct weft_req *req = only_of(loop_of(wait));

	return req && req->vci == wait->vci ? pulse_of(req) : 0;
}

static const struct weft_wait_ops ops = {
	.id = "MPI-WAIT",
	.noun = "messages",
	.is_message = true,
	.name = request_name,
	.describe = request_describe,
	.locate = request_locate,
	.needs = request_needs,
	.pulse = pulse,
};

static const struct weft_wait_ops shmem_ops = {
	.id = "SHMEM-STALL",
	.noun = "messages",
	.is_message = true,
	.name = request_name,
	.describe = request_describe,
	.locate = request_locate,
	.needs = request_needs,
	.pulse = pulse,
};

static const struct weft_wait_ops poll_ops = {
	.id = "MPI-POLL",
	.noun = "messages",
	.is_message = true,
	.name = request_name,
	.describe = request_describe,
	.locate = request_locate,
	.needs = request_needs,
};

/* ---- loops ---- */

static struct weft_request_waiting *request_start(
	const struct weft_request_loop *loop)
{
	struct weft_request_waiting *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->loop = loop;
	w->caller = caller;
	w->begun_ns = weft_now_ns();
	return w;
}

static void request_begin(struct weft_vci *vci, struct weft_request_waiting *w)
{
	w->wait.ops = w->wait.is_poll ? &poll_ops
		      : w->caller     ? &shmem_ops
				      : &ops;
	w->wait.vci = vci;
	w->wait.begun_ns = w->begun_ns;
	w->wait.fault = WEFT_ERR_OTHER;
	weft_wait_begin(&w->wait);
	w->is_begun = true;
}

static void end_req(struct weft_req *whole, int err)
{
	struct weft_req *req;
	uint32_t pos = 0;

	if (is_message(whole)) {
		on_stuck(whole, err);
		return;
	}
	while ((req = weft_req_next(whole->vci, &pos)) != NULL)
		if (is_part(req, whole))
			on_stuck(req, err);
}

/* Ends the first active request of a loop with an error, because the wait can
 * never end. */
static void request_fail(const struct weft_request_waiting *w)
{
	const struct weft_request_loop *loop = w->loop;

	for (int i = 0; on_stuck && loop->at && i < loop->n; i++) {
		const struct weft_req *req = loop->at(loop->arg, i);

		if (request_is_active(req) && req->vci == w->wait.vci) {
			end_req((struct weft_req *)req,
				weft_wait_raise(&w->wait));
			return;
		}
	}
}

int weft_request_round(struct weft_vci *vci, struct weft_request_loop *loop)
{
	struct weft_request_waiting *w = loop->waiting;

	if (w && w->is_begun) {
		if (w->wait.vci != vci || !weft_wait_after_round(&w->wait))
			return 0;
		request_fail(w);
		return w->wait.err;
	}
	if (++loop->n_rounds % ROUNDS_PER_CHECK)
		return 0;
	if (!w)
		loop->waiting = request_start(loop);
	else if (weft_now_ns() - w->begun_ns > REGISTER_NS)
		request_begin(vci, w);
	return 0;
}

void weft_request_close(struct weft_request_loop *loop)
{
	if (loop->waiting->is_begun)
		weft_wait_end(&loop->waiting->wait);
	free(loop->waiting);
	loop->waiting = NULL;
}

int weft_request_raise(const struct weft_request_loop *loop)
{
	return loop->waiting ? weft_wait_raise(&loop->waiting->wait) : 0;
}

static const struct weft_req *itself(const void *arg, int i)
{
	(void)i;
	return arg;
}

void weft_request_wait(
	struct weft_vci *vci, struct weft_req *req, const char *call)
{
	struct weft_request_loop loop = {
		.call = call,
		.at = itself,
		.arg = req,
		.n = 1,
	};

	while (!req->is_done) {
		if (weft_unlikely(vci->n_failed) && vci->on_wait &&
			vci->on_wait(req))
			break;
		weft_progress_wait(vci);
		if (!req->is_done)
			(void)weft_request_round(vci, &loop);
	}
	weft_request_end(&loop);
}

/* ---- polls ---- */

/* The state of this thread's polling calls. The state remains between calls,
 * until a message of the program arrives through the VCI. Polling calls are in
 * no graph of waits. */
static _Thread_local struct weft_request_waiting *polls;
static pthread_key_t polls_key; /* frees `polls` at the end of the thread */
static pthread_once_t polls_once = PTHREAD_ONCE_INIT;

static void polls_end(void *arg)
{
	struct weft_request_waiting *w = arg;

	if (w->is_begun) {
		weft_vci_lock(w->vci);
		weft_wait_end(&w->wait);
		weft_vci_unlock(w->vci);
	}
	free(w);
}

static void polls_init(void)
{
	(void)pthread_key_create(&polls_key, polls_end);
}

void weft_request_polled(
	struct weft_vci *vci, const struct weft_request_loop *loop)
{
	struct weft_request_loop now = *loop;

	if (polls && polls->vci != vci)
		return;
	now.n_rounds = ROUNDS_PER_CHECK - 1; /* this round reads the clock */
	now.waiting = polls;
	if (polls && vci->idle_polls < polls->idle_polls && !polls->was_asking)
		weft_request_end(&now);
	if (now.waiting)
		now.waiting->loop = &now;
	(void)weft_request_round(vci, &now);
	if (polls != now.waiting) {
		(void)pthread_once(&polls_once, polls_init);
		(void)pthread_setspecific(polls_key, now.waiting);
	}
	polls = now.waiting;
	if (!polls)
		return;
	polls->vci = vci;
	polls->wait.is_poll = true;
	polls->idle_polls = vci->idle_polls;
	polls->was_asking = polls->wait.is_asking;
	polls->loop = NULL; /* not read before the next call */
}
