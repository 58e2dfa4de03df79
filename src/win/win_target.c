/* SPDX-License-Identifier: BSD-3-Clause */
/* win_target: accesses as active messages, as the target carries them out
 *
 * The records of a message are carried out in their order. Each record is
 * checked against this process's own window. A record that addresses memory
 * outside of the window is refused: the origin receives an error with a text,
 * and nothing is written. */
#include "win/win_priv.h"

#include "base/err.h"
#include "base/word.h"
#include "core/comm.h"
#include "core/req.h"
#include "core/vci_core.h"
#include "p2p/p2p.h"
#include "transport/dispatch.h"
#include "watchdog/query.h"

#include <stdlib.h>
#include <string.h>

enum { TAGS = 1 << 30 };

/* A record of an origin, while it is carried out. */
struct incoming {
	struct weft_win *win;
	struct weft_win_target *from; /* the origin */
	struct weft_wire_am rec;
	const uint8_t *data;
	size_t len;
	struct weft_am_replies *replies; /* answers to the record's message;
					 NULL: the answer is a message of its
					 own */
};

static void carry_out_all(struct incoming *in, const uint8_t *at, size_t len);

/* --- answers ------------------------------------------------------- */

static void answer_id(const struct incoming *in, uint32_t id, int err,
	const void *data, size_t len)
{
	struct weft_am_replies alone;

	if (in->replies) {
		weft_am_reply(in->replies, id, in->rec.pos, err, data, len);
		return;
	}
	weft_am_replies_init(
		&alone, in->win->comm, in->from->am.rank, WEFT_WIRE_WIN_REPLY);
	weft_am_reply(&alone, id, in->rec.pos, err, data, len);
	weft_am_replies_send(&alone);
}

static void answer(const struct incoming *in, const void *data, size_t len)
{
	answer_id(in, in->rec.id, 0, data, len);
}

/* Sends the described error to the origin. */
static void refuse(const struct incoming *in, uint32_t id, int err)
{
	answer_id(in, id, err, NULL, 0);
}

/* --- the memory of a record ---------------------------------------- */

/* The address of the k-th run of len bytes. NULL with an error described. */
static char *place_of_run(const struct weft_win *win,
	const struct weft_wire_am *rec, uint64_t k, uint64_t len)
{
	int64_t at;

	if (!__builtin_mul_overflow(rec->stride, (int64_t)k, &at) &&
		!__builtin_add_overflow(at, rec->at, &at))
		return weft_win_place(win, rec->disp, at, len);
	weft_err_set(WEFT_ERR_RMA_RANGE,
		"%llu runs of memory, %lld bytes apart, exceed the address "
		"space",
		(unsigned long long)rec->n_runs, (long long)rec->stride);
	return NULL;
}

/* True if run k is device memory and the first run is not, or conversely. */
static bool is_other_memory(const struct weft_win *win,
	const struct weft_wire_am *rec, const char *first, uint64_t k)
{
	bool is_dev;

	if (!weft_win_may_be_device(win))
		return false;
	is_dev = weft_win_is_device(win, first);
	if (weft_win_is_device(win, first + (int64_t)k * rec->stride) == is_dev)
		return false;
	weft_err_set(WEFT_ERR_RMA_RANGE,
		"an access has memory at %p, which is %s, and also %s",
		(const void *)first, is_dev ? "device memory" : "host memory",
		is_dev ? "host memory" : "device memory");
	return true;
}

/* Returns the address of the first run, if all runs of len bytes lie in the
 * window, and either none or all of them in device memory. Otherwise NULL with
 * an error described. */
static char *runs_place(const struct weft_win *win,
	const struct weft_wire_am *rec, uint64_t len)
{
	char *first = place_of_run(win, rec, 0, len);
	/* every run of a dynamic window is checked, because memory between the
	 * first and the last run might not be attached */
	uint64_t step = win->flavor == WEFT_WIN_DYNAMIC
				? 1
				: weft_max(rec->n_runs - 1, (uint64_t)1);

	for (uint64_t k = step; first && k < rec->n_runs; k += step)
		if (!place_of_run(win, rec, k, len) ||
			is_other_memory(win, rec, first, k))
			return NULL;
	return first;
}

/* --- put, get, accumulate ------------------------------------------ */

/* The access that a record describes: a put or an accumulate brings data, a get
 * or a fetching accumulate returns the former content. */
struct work {
	const struct weft_redop *op; /* NULL: bytes are stored or read */
	const struct weft_type *basic;
	bool brings, returns;
	uint64_t len; /* bytes of data in all runs */
	char *place;  /* address of the first run; NULL: the record is refused,
			 with an error described */
	bool is_dev;  /* place is device memory */
};

/* True if the type is predefined, and the operation is valid for it. */
static bool is_sound_op(const struct weft_wire_am *rec, struct work *w)
{
	unsigned which = rec->op & ~(unsigned)WEFT_WIRE_AM_FETCHES;

	w->op = weft_redop_builtin(which);
	w->basic = weft_type_builtin(rec->type);
	w->brings = which != WEFT_OP_NO_OP;
	w->returns = rec->op & WEFT_WIRE_AM_FETCHES;
	return w->op && w->basic && w->basic->size > 0 &&
	       which != WEFT_OP_NULL &&
	       (which == WEFT_OP_NO_OP || which == WEFT_OP_REPLACE ||
		       weft_redop_is_defined(w->op, w->basic));
}

/* Fills *w from a record. False: the record is invalid. */
static bool work_of(const struct incoming *in, struct work *w)
{
	const struct weft_wire_am *rec = &in->rec;
	uint64_t unit = 1, last = 1; /* bytes of an element, and of the last */

	*w = (struct work){ 0 };
	if (rec->kind == WEFT_WIRE_AM_ACC ||
		rec->kind == WEFT_WIRE_AM_LONG_ACC) {
		if (!is_sound_op(rec, w))
			return false;
		unit = (uint64_t)w->basic->extent;
		last = (uint64_t)w->basic->true_extent;
		if (rec->n > INT32_MAX / unit)
			return false;
	} else {
		w->returns = rec->kind == WEFT_WIRE_AM_GET ||
			     rec->kind == WEFT_WIRE_AM_LONG_GET;
		w->brings = !w->returns;
	}
	if (w->returns && !rec->id)
		return false;
	w->len = rec->n * rec->n_runs * unit;
	if (rec->n_runs > 1 && w->len > WEFT_WIRE_AM_RUNS_MAX)
		return false;
	w->place = runs_place(
		in->win, rec, rec->n ? (rec->n - 1) * unit + last : 0);
	w->is_dev = w->place && weft_win_is_device(in->win, w->place);
	return true;
}

static void scatter_runs(
	const struct weft_wire_am *rec, char *place, const char *from)
{
	for (uint64_t k = 0; k < rec->n_runs; k++)
		weft_word_store(place + (int64_t)k * rec->stride,
			from + k * rec->n, rec->n, __ATOMIC_RELEASE);
}

static void gather_runs(
	const struct weft_wire_am *rec, const char *place, char *to)
{
	for (uint64_t k = 0; k < rec->n_runs; k++)
		weft_word_load(to + k * rec->n,
			place + (int64_t)k * rec->stride, rec->n);
}

static void update_runs(const struct weft_wire_am *rec, char *place,
	const struct weft_win_update *u)
{
	struct weft_win_hold hold = { .stripes = weft_win_my_stripes() };
	uint64_t there = (uintptr_t)place;

	if (rec->n == 1 && rec->n_runs == 1) {
		weft_win_update(u, place, there, hold.stripes);
		return;
	}
	weft_win_update_series(
		u, place, there, (int64_t)rec->n_runs, rec->stride, &hold);
	weft_win_hold_drop(&hold);
}

/* from: the data of the access; old: destination of the former content. An
 * error is described; only device memory causes one. */
static int work_do(const struct weft_wire_am *rec, const struct work *w,
	const char *from, char *old)
{
	struct weft_win_update u = { .op = w->op,
		.basic = w->basic,
		.in = w->brings ? from : NULL,
		.old = w->returns ? old : NULL,
		.n = (int64_t)rec->n };

	if (w->op)
		u.kernel = weft_redop_kernel(w->op, w->basic);
	if (weft_unlikely(w->is_dev))
		return weft_win_dev_runs(
			&u, w->place, (int64_t)rec->n_runs, rec->stride);
	if (w->op)
		update_runs(rec, w->place, &u);
	else if (w->brings)
		scatter_runs(rec, w->place, from);
	else
		gather_runs(rec, w->place, old);
	return 0;
}

static bool do_short(const struct incoming *in)
{
	const struct weft_wire_am *rec = &in->rec;
	_Alignas(16) char bytes[2][WEFT_AM_DATA_MAX];
	const char *from = (const char *)in->data;
	char *old = bytes[1];
	struct work w;
	int err = 0;

	if (!work_of(in, &w) || w.len > sizeof(bytes[0]))
		return false;
	if (!w.place) {
		refuse(in, rec->id, WEFT_ERR_RMA_RANGE);
		return true;
	}
	if (w.op && w.brings) { /* operands of an operation must be aligned */
		weft_word_load(bytes[0], in->data, in->len);
		from = bytes[0];
	}
	if (w.op && w.returns && w.basic->size != w.basic->extent)
		memset(old, 0, w.len); /* the update writes no padding */
	if (w.returns && !w.op && rec->n_runs == 1 && !w.is_dev)
		old = w.place;
	else
		err = work_do(rec, &w, from, old);
	if (err)
		refuse(in, rec->id, err);
	else if (rec->id)
		answer(in, old, w.returns ? w.len : 0);
	return true;
}

/* --- compare and swap, registration -------------------------------- */

static bool do_cas(const struct incoming *in)
{
	const struct weft_type *type = weft_type_builtin(in->rec.type);
	_Alignas(16) uint8_t bytes[3][WEFT_AM_SHORT];
	size_t len = in->len / 2;
	char *place;
	int err = 0;

	if (!in->rec.id || in->rec.n_runs != 1)
		return false;
	place = runs_place(in->win, &in->rec, len);
	if (!place) {
		refuse(in, in->rec.id, WEFT_ERR_RMA_RANGE);
		return true;
	}
	memcpy(bytes[0], in->data, len);
	memcpy(bytes[1], in->data + len, len);
	if (weft_win_is_device(in->win, place))
		err = weft_win_dev_swap(
			type, bytes[0], bytes[1], bytes[2], place);
	else
		weft_win_swap(type, bytes[0], bytes[1], bytes[2], place,
			(uintptr_t)place, weft_win_my_stripes());
	if (err)
		refuse(in, in->rec.id, err);
	else
		answer(in, bytes[2], len);
	return true;
}

static bool do_region(const struct incoming *in)
{
	struct weft_wire_win_region region;

	if (!in->rec.id)
		return false;
	weft_win_rma_describe(in->win, &region);
	answer(in, &region, sizeof(region));
	return true;
}

/* --- long data ----------------------------------------------------- */

/* A long access. Its data arrives as a message of its own, or is sent as one,
 * tagged with the record's id. Created by the record, destroyed when the access
 * has been carried out. */
struct arrival {
	struct weft_link link; /* in its window's arrivals */
	struct incoming in;    /* in.win is NULL if the window was freed */
	struct work work;
	struct weft_req *req; /* receives the data, or sends the old data; NULL:
				 there is none yet */
	char *staging;	      /* buffer of the received data; NULL: the data is
				 received into the window's memory, or there is none */
	char *old; /* data to return; NULL: the data is sent from the window's
		      memory, or there is none */
};

static struct weft_msg arrival_message(
	const struct incoming *in, void *buf, uint64_t len)
{
	return (struct weft_msg){ .comm = in->win->comm,
		.buf = buf,
		.count = (int64_t)len,
		.type = weft_type_builtin(WEFT_TYPE_BYTE),
		.rank = (int32_t)in->from->am.rank,
		.tag = (int32_t)(in->rec.id % TAGS),
		.ctx_offset = WEFT_CTX_OFFSET_P2P,
		.mode = WEFT_SEND_STANDARD };
}

static void arrival_free(struct arrival *a)
{
	weft_list_remove(&a->link);
	free(a->staging);
	free(a->old);
	free(a);
}

static void old_sent(void *arg, struct weft_req *req)
{
	weft_req_put(req);
	if (arg)
		arrival_free(arg);
}

/* Sends the former content to the origin. Frees the arrival, which may be NULL,
 * when the send is complete. */
static void send_old(
	const struct incoming *in, char *old, uint64_t len, struct arrival *a)
{
	struct weft_msg msg = arrival_message(in, old, len);
	struct weft_req *req;

	msg.tag |= WEFT_WIN_REPLY_TAG;
	if (weft_isend_locked(&msg, &req)) {
		if (a)
			arrival_free(a);
		return;
	}
	if (a)
		a->req = req;
	req->on_done = old_sent;
	req->on_done_arg = a;
	if (req->is_done)
		old_sent(a, req);
}

/* Sends the described error to the origin. If the origin waits for data, an
 * empty message follows the error. */
static void long_fail(const struct incoming *in, const struct work *w, int err)
{
	refuse(in, in->rec.id, err);
	if (!w->returns)
		return;
	if (in->replies)
		weft_am_replies_send(in->replies);
	send_old(in, NULL, 0, NULL);
}

/* Refuses a long access, and drops its announced data. */
static void long_refuse(
	const struct incoming *in, const struct work *w, int err)
{
	struct weft_msg msg = arrival_message(in, NULL, 0);

	if (w->brings)
		weft_recv_drop_locked(&msg);
	long_fail(in, w, err);
}

static void arrival_end(struct arrival *a, int err)
{
	const struct work *w = &a->work;

	if (a->in.win && !err && (a->staging || a->old))
		err = work_do(&a->in.rec, w, a->staging, a->old);
	if (a->in.win && !err && w->returns) {
		send_old(&a->in, a->old ? a->old : w->place, w->len, a);
		return;
	}
	if (a->in.win && err) {
		long_fail(&a->in, w, err);
	} else if (a->in.win) {
		answer(&a->in, "", 0);
	}
	arrival_free(a);
}

/* Withdraws a receive whose message was not announced. Its origin gets no
 * answer, as if the record had arrived later. */
void weft_win_arrivals_end(struct weft_win *win)
{
	while (!weft_list_is_empty(&win->arrivals)) {
		struct arrival *a = weft_container_of(
			win->arrivals.next, struct arrival, link);
		struct weft_req *req = weft_req_get(a->req);

		if (weft_req_is_posted(req))
			a->in.win = NULL;
		weft_cancel_unreceivable(req, WEFT_ERR_WIN);
		weft_req_wait_in(win->comm->vci, req, "MPI_Win_free");
		weft_req_put(req);
	}
}

void weft_win_arrivals_forget(struct weft_win *win)
{
	struct weft_link *link;

	while ((link = weft_list_pop_front(&win->arrivals)) != NULL)
		weft_container_of(link, struct arrival, link)->in.win = NULL;
}

static void data_arrived(void *arg, struct weft_req *req)
{
	struct arrival *a = arg;
	int err = req->status.err;

	weft_req_put(req);
	arrival_end(a, err);
}

/* Posts the receive of the data; its buffers are allocated. */
static void arrival_begin(struct arrival *a)
{
	struct weft_msg msg = arrival_message(
		&a->in, a->staging ? a->staging : a->work.place, a->work.len);
	struct weft_req *req;
	int err = weft_irecv_locked(&msg, &req);

	if (err) {
		arrival_end(a, err);
		return;
	}
	a->req = req;
	req->on_done = data_arrived;
	req->on_done_arg = a;
	if (req->is_done)
		data_arrived(a, req);
}

/* NULL with an error described. */
static struct arrival *arrival_new(
	const struct incoming *in, const struct work *w)
{
	bool is_staged = w->op || in->rec.n_runs > 1 || w->is_dev;
	struct arrival *a = calloc(1, sizeof(*a));

	if (a)
		weft_list_init(&a->link);
	if (a && is_staged && w->brings)
		a->staging = malloc(w->len + 1);
	if (a && is_staged && w->returns)
		a->old = calloc(1, w->len + 1);
	if (!a || (is_staged && ((w->brings && !a->staging) ||
					(w->returns && !a->old)))) {
		if (a)
			arrival_free(a);
		weft_err_set(WEFT_ERR_NOMEM, "no memory for data of an access");
		return NULL;
	}
	a->in = *in;
	a->in.data = NULL;
	a->in.replies = NULL;
	a->work = *w;
	weft_list_push_back(&in->win->arrivals, &a->link);
	return a;
}

static bool do_long(const struct incoming *in)
{
	struct arrival *a = NULL;
	struct work w;

	if (!in->rec.id || !work_of(in, &w))
		return false;
	if (w.place)
		a = arrival_new(in, &w);
	if (!a)
		long_refuse(
			in, &w, w.place ? WEFT_ERR_NOMEM : WEFT_ERR_RMA_RANGE);
	else if (w.brings)
		arrival_begin(a);
	else
		arrival_end(a, 0);
	return true;
}

/* --- locks --------------------------------------------------------- */

/* A member that waits for this process's lock. `kept` has the records that
 * followed its request: the first access, and the unlock. Destroyed when the
 * lock is granted, the member fails or the window is freed. */
struct weft_win_waiter {
	struct weft_link link;
	struct incoming in;
	size_t len;
	uint8_t kept[WEFT_AM_MAX + sizeof(struct weft_wire_am)];
};

static bool lock_for(const struct incoming *in)
{
	if (!weft_win_try_lock(
		    in->win->state, in->rec.op, (int32_t)in->from->am.rank)) {
		if (in->rec.op)
			weft_win_want_lock(in->win->state);
		return false;
	}
	in->from->granted = in->rec.op ? WEFT_WIN_EXCLUSIVE : 1;
	answer(in, "", 0);
	return true;
}

static void drop_senseless(struct weft_vci *vci)
{
	weft_dispatch_drop(vci, "an invalid access to a window");
}

static void keep_back(struct weft_win *win, struct weft_win_waiter *waiter,
	const void *data, size_t len)
{
	if (len > sizeof(waiter->kept) - waiter->len) {
		drop_senseless(win->comm->vci);
		return;
	}
	memcpy(waiter->kept + waiter->len, data, len);
	waiter->len += len;
}

static void waiter_free(struct weft_win_waiter *waiter)
{
	weft_list_remove(&waiter->link);
	waiter->in.from->waiter = NULL;
	free(waiter);
}

/* The first member that waits for this process's lock; NULL: none. */
static struct weft_win_waiter *waiter_first(const struct weft_win *win)
{
	return weft_list_is_empty(&win->waiters)
		       ? NULL
		       : weft_container_of(win->waiters.next,
				 struct weft_win_waiter, link);
}

/* Progress calls this hook until all waiting members have the lock. */
static void waiters_run(struct weft_progress_hook *hook)
{
	struct weft_win *win =
		weft_container_of(hook, struct weft_win, waiters_hook);
	struct weft_win_waiter *waiter;

	while ((waiter = waiter_first(win)) != NULL) {
		if (!lock_for(&waiter->in))
			return;
		weft_list_remove(&waiter->link);
		waiter->in.from->waiter = NULL;
		carry_out_all(&waiter->in, waiter->kept, waiter->len);
		free(waiter);
	}
	weft_list_remove(&hook->link);
}

void weft_win_waiters_open(struct weft_win *win)
{
	weft_list_init(&win->waiters);
	weft_list_init(&win->waiters_hook.link);
	win->waiters_hook.run = waiters_run;
}

void weft_win_waiters_free(struct weft_win *win)
{
	struct weft_win_waiter *waiter;

	while ((waiter = waiter_first(win)) != NULL)
		waiter_free(waiter);
	weft_list_remove(&win->waiters_hook.link);
}

static bool do_lock(const struct incoming *in)
{
	struct weft_win *win = in->win;
	struct weft_win_waiter *waiter;

	if (!in->rec.id || in->rec.op > 1 || in->from->granted)
		return false;
	if (!waiter_first(win) && lock_for(in))
		return true;
	waiter = calloc(1, sizeof(*waiter));
	if (!waiter) { /* otherwise later records would be carried out without
			  the lock */
		weft_err_set(WEFT_ERR_NOMEM, "no memory to wait for a lock");
		weft_peer_fail(weft_comm_peer(win->comm, in->from->am.rank),
			WEFT_ERR_NOMEM);
		return false;
	}
	waiter->in = *in;
	waiter->in.replies = NULL;
	in->from->waiter = waiter;
	if (weft_list_is_empty(&win->waiters_hook.link))
		weft_list_push_back(
			&win->comm->vci->hooks, &win->waiters_hook.link);
	weft_list_push_back(&win->waiters, &waiter->link);
	return true;
}

static bool do_unlock(const struct incoming *in)
{
	unsigned granted = in->from->granted;

	if (!in->rec.id ||
		granted != (in->rec.op ? (unsigned)WEFT_WIN_EXCLUSIVE : 1))
		return false;
	in->from->granted = 0;
	weft_win_drop_lock(in->win->state, in->rec.op);
	answer(in, "", 0);
	return true;
}

/* --- a member fails ------------------------------------------------ */

/* Releases the lock that the failed member acquired by message, and drops the
 * member's request for the lock. */
static void release_failed(struct weft_win *win, struct weft_win_target *target)
{
	if (target->granted)
		weft_win_drop_lock(
			win->state, target->granted == WEFT_WIN_EXCLUSIVE);
	target->granted = 0;
	if (target->waiter)
		waiter_free(target->waiter);
}

/* Called when a peer has failed. In each window with this member, ends the
 * operations that wait for its answers, and releases its lock. */
static void win_on_failed(struct weft_peer *peer)
{
	struct weft_map_entry *entry;
	size_t pos = 0;

	while ((entry = weft_map_next(&peer->vci->core->comms, &pos)) != NULL) {
		const struct weft_comm *comm = entry->value;
		struct weft_win_target *target = NULL;
		int32_t rank =
			comm->win ? weft_group_rank_of(comm->group, peer->proc)
				  : -1;

		if (rank >= 0)
			target = weft_win_target_at(comm->win, (uint32_t)rank);
		if (!target)
			continue;
		weft_am_forget(&target->am, peer->err, false);
		release_failed(comm->win, target);
	}
}

/* Called when a window's communicator was revoked. Ends the operations that
 * wait for answers. */
static void win_on_revoked(struct weft_comm *comm)
{
	int err = weft_comm_revoked(comm);

	for (uint32_t i = 0; i < (uint32_t)comm->size; i++) {
		struct weft_win_target *target =
			weft_win_target_at(comm->win, i);

		if (target)
			weft_am_cancel(&target->am, err);
		else if (!comm->win->targets[i / WEFT_WIN_PAGE])
			i |= WEFT_WIN_PAGE - 1;
	}
	weft_vci_wake(comm->vci);
}

/* --- dispatch ------------------------------------------------------ */

/* False: the record is invalid. */
static bool carry_out_one(const struct incoming *in)
{
	switch (in->rec.kind) {
	case WEFT_WIRE_AM_PUT:
	case WEFT_WIRE_AM_GET:
	case WEFT_WIRE_AM_ACC:
		return do_short(in);
	case WEFT_WIRE_AM_CAS:
		return do_cas(in);
	case WEFT_WIRE_AM_LONG_PUT:
	case WEFT_WIRE_AM_LONG_GET:
	case WEFT_WIRE_AM_LONG_ACC:
		return do_long(in);
	case WEFT_WIRE_AM_FLUSH:
		if (!in->rec.id)
			return false;
		answer(in, "", 0);
		return true;
	case WEFT_WIRE_AM_REGION:
		return do_region(in);
	case WEFT_WIRE_AM_LOCK:
		return do_lock(in);
	case WEFT_WIRE_AM_UNLOCK:
		return do_unlock(in);
	case WEFT_WIRE_AM_POST:
		in->from->n_notices[WEFT_WIN_POST]++;
		return true;
	case WEFT_WIRE_AM_COMPLETE:
		in->from->n_notices[WEFT_WIN_COMPLETE]++;
		return true;
	default:
		return false;
	}
}

/* Carries out the records of a message, up to one that waits for the lock. */
static void carry_out_all(struct incoming *in, const uint8_t *at, size_t len)
{
	struct weft_am_replies replies;
	bool is_sound = true;

	weft_am_replies_init(&replies, in->win->comm, in->from->am.rank,
		WEFT_WIRE_WIN_REPLY);
	in->replies = &replies;
	while (len && is_sound && !in->from->waiter)
		is_sound = weft_am_next(
				   &in->rec, &in->data, &in->len, &at, &len) &&
			   carry_out_one(in);
	weft_am_replies_send(&replies);
	if (in->from->waiter)
		keep_back(in->win, in->from->waiter, at, len);
	else if (!is_sound)
		drop_senseless(in->win->comm->vci);
}

/* An origin that waits for the lock sends only the unlock after the message
 * with its request, so weft_win_waiter.kept has space for both. */
static void on_win(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct incoming in = { .win = weft_win_of(vci, peer, head) };

	if (in.win)
		in.from = weft_win_target_of(in.win, head->src);
	if (in.from)
		carry_out_all(&in, payload, len);
	else if (!weft_vci_core_broken(vci, head->ctx))
		weft_dispatch_drop(vci, "access to a window that is not here");
}

static void on_win_reply(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_win *win = weft_win_of(vci, peer, head);
	struct weft_win_target *target =
		win ? weft_win_target_at(win, head->src) : NULL;

	if (!target && weft_vci_core_broken(vci, head->ctx))
		return; /* freed after a failure or a revocation */
	if (!target || !weft_am_take_replies(
			       &win->am, &target->am, head->src, payload, len))
		weft_dispatch_drop(
			vci, "an answer about a window that makes no sense");
}

void weft_win_open(struct weft_vci *vci)
{
	weft_dispatch_set(vci, WEFT_WIRE_WIN, on_win);
	weft_dispatch_set(vci, WEFT_WIRE_WIN_REPLY, on_win_reply);
	vci->on_win_failed = win_on_failed;
	vci->on_win_revoked = win_on_revoked;
	weft_query_set(WEFT_WIRE_NEED_LOCK, weft_win_met_lock);
}
