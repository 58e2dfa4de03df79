/* SPDX-License-Identifier: BSD-3-Clause */
/* win_target: accesses as active messages, as the target carries them out
 *
 * The records of a message are carried out in their order. Each is checked
 * against this process's own window. A record that addresses other memory is
 * refused with a text for the origin, and nothing is written. */
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

/* One origin's access, while it is carried out. */
struct incoming {
	struct weft_win *win;
	struct weft_win_target *from; /* the origin */
	struct weft_wire_am rec;
	const uint8_t *data;
	size_t len;
	struct weft_am_replies *replies; /* to its message; NULL: sent alone */
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

/* Sends an error that is described. */
static void refuse(const struct incoming *in, uint32_t id, int err)
{
	const char *why = weft_err_detail_peek(err);

	answer_id(in, id, err, why, strlen(why));
}

/* --- short ones ---------------------------------------------------- */

/* NULL with an error described; the k-th run of len bytes. */
static char *place_of_run(const struct weft_win *win,
	const struct weft_wire_am *rec, uint64_t k, uint64_t len)
{
	int64_t at;

	if (!__builtin_mul_overflow(rec->stride, (int64_t)k, &at) &&
		!__builtin_add_overflow(at, rec->at, &at))
		return weft_win_place(win, rec->disp, at, len);
	weft_err_set(WEFT_ERR_RMA_RANGE,
		"%llu runs of memory, %lld bytes apart, go beyond all memory",
		(unsigned long long)rec->n_runs, (long long)rec->stride);
	return NULL;
}

/* The first of the runs of len bytes if all lie in the window; or NULL with an
 * error described. */
static char *runs_place(const struct weft_win *win,
	const struct weft_wire_am *rec, uint64_t len)
{
	char *first = place_of_run(win, rec, 0, len);
	/* memory between the ends may not be attached */
	uint64_t step = win->flavor == WEFT_WIN_DYNAMIC
				? 1
				: weft_max(rec->n_runs - 1, (uint64_t)1);

	for (uint64_t k = step; first && k < rec->n_runs; k += step)
		if (!place_of_run(win, rec, k, len))
			return NULL;
	return first;
}

static char *place_of(const struct incoming *in, uint64_t len)
{
	char *place = runs_place(in->win, &in->rec, len);

	if (!place)
		refuse(in, in->rec.id, WEFT_ERR_RMA_RANGE);
	return place;
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

static bool do_put(const struct incoming *in)
{
	const struct weft_wire_am *rec = &in->rec;
	char *place = place_of(in, rec->n);

	if (place)
		scatter_runs(rec, place, (const char *)in->data);
	if (place && rec->id)
		answer(in, "", 0);
	return true;
}

static bool do_get(const struct incoming *in)
{
	const struct weft_wire_am *rec = &in->rec;
	char bytes[WEFT_AM_DATA_MAX], *place;

	if (!rec->id || rec->n * rec->n_runs > sizeof(bytes))
		return false;
	place = place_of(in, rec->n);
	if (place && rec->n_runs > 1) {
		gather_runs(rec, place, bytes);
		place = bytes;
	}
	if (place)
		answer(in, place, rec->n * rec->n_runs);
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

static bool is_sound_op(unsigned which, const struct weft_redop *op,
	const struct weft_type *type)
{
	return op && type && type->size > 0 && which != WEFT_OP_NULL &&
	       (which == WEFT_OP_NO_OP || which == WEFT_OP_REPLACE ||
		       weft_redop_is_defined(op, type));
}

/* The elements are predefined, the operation fits them, and so many bytes are
 * no nonsense. */
static bool is_sound_update(const struct weft_wire_am *rec,
	const struct weft_redop **op, const struct weft_type **type)
{
	unsigned which = rec->op & ~(unsigned)WEFT_WIRE_AM_FETCHES;

	*op = weft_redop_builtin(which);
	*type = weft_type_builtin(rec->type);
	return is_sound_op(which, *op, *type) &&
	       rec->n <= (uint64_t)INT32_MAX / (uint64_t)(*type)->extent;
}

/* Bytes of n elements in a row, without the padding behind the last. */
static uint64_t span_of(const struct weft_type *type, uint64_t n)
{
	return n ? (n - 1) * (uint64_t)type->extent +
			       (uint64_t)type->true_extent
		 : 0;
}

static void update_one(struct weft_win_update *u, char *place)
{
	u->n = 1;
	u->kernel = weft_redop_kernel(u->op, u->basic);
	weft_win_update(u, place, (uintptr_t)place, weft_win_my_stripes());
}

static void update_here(
	const struct weft_wire_am *rec, struct weft_win_update *u, char *place)
{
	struct weft_win_hold hold = { .stripes = weft_win_my_stripes() };

	u->n = (int64_t)rec->n;
	u->kernel = weft_redop_kernel(u->op, u->basic);
	weft_win_update_series(u, place, (uintptr_t)place, (int64_t)rec->n_runs,
		rec->stride, &hold);
	weft_win_hold_drop(&hold);
}

static bool do_acc(const struct incoming *in)
{
	bool is_fetching = in->rec.op & WEFT_WIRE_AM_FETCHES;
	_Alignas(16) char bytes[2][WEFT_AM_DATA_MAX];
	struct weft_win_update u = { .in = bytes[0],
		.old = is_fetching ? bytes[1] : NULL };
	char *place;
	size_t len;

	if (!is_sound_update(&in->rec, &u.op, &u.basic) ||
		(is_fetching && !in->rec.id))
		return false;
	len = in->rec.n * in->rec.n_runs * (uint64_t)u.basic->extent;
	if (len > sizeof(bytes[0]))
		return false;
	if (u.op->builtin == WEFT_OP_NO_OP)
		u.in = NULL;
	place = place_of(in, span_of(u.basic, in->rec.n));
	if (!place)
		return true;
	weft_word_load(bytes[0], in->data, in->len);
	if (is_fetching && u.basic->size != u.basic->extent)
		memset(bytes[1], 0, len); /* padding */
	if (in->rec.n == 1 && in->rec.n_runs == 1)
		update_one(&u, place);
	else
		update_here(&in->rec, &u, place);
	if (in->rec.id)
		answer(in, bytes[1], is_fetching ? len : 0);
	return true;
}

static bool do_cas(const struct incoming *in)
{
	const struct weft_type *type = weft_type_builtin(in->rec.type);
	_Alignas(16) uint8_t bytes[3][WEFT_AM_SHORT];
	size_t len = in->len / 2;
	char *place;

	if (!in->rec.id || in->rec.n_runs != 1)
		return false;
	place = place_of(in, len);
	if (!place)
		return true;
	memcpy(bytes[0], in->data, len);
	memcpy(bytes[1], in->data + len, len);
	weft_win_swap(type, bytes[0], bytes[1], bytes[2], place,
		(uintptr_t)place, weft_win_my_stripes());
	answer(in, bytes[2], len);
	return true;
}

/* --- long ones ----------------------------------------------------- */

/* Data on its way. Created when it is announced, destroyed when it is here and
 * done with. */
struct arrival {
	struct weft_link link; /* in its window's arrivals */
	struct incoming in;    /* its window NULL when that was freed */
	char *place;
	char *staging; /* accumulates: elements; puts: of several runs; or NULL
			*/
	struct weft_win_update update;
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

/* Drops the data that was announced, and sends an empty message in place of the
 * elements that were requested. */
static void long_refuse(
	const struct incoming *in, int err, bool has_data, bool is_answered)
{
	struct weft_msg msg = arrival_message(in, NULL, 0);
	struct weft_req *req;

	if (has_data)
		weft_recv_drop_locked(&msg);
	msg.tag |= WEFT_WIN_REPLY_TAG;
	if (is_answered && !weft_isend_locked(&msg, &req))
		weft_req_detach(req);
	refuse(in, in->rec.id, err);
}

/* Former elements were sent: frees their copy. */
static void old_left(void *arg, struct weft_req *req)
{
	free(arg);
	weft_req_put(req);
}

static void send_old(const struct incoming *in, char *old, uint64_t len)
{
	struct weft_msg msg = arrival_message(in, old, len);
	struct weft_req *req;

	msg.tag |= WEFT_WIN_REPLY_TAG;
	if (weft_isend_locked(&msg, &req)) {
		free(old);
		return;
	}
	req->on_done = old_left;
	req->on_done_arg = old;
	if (req->is_done)
		old_left(old, req);
}

static void arrival_end(struct arrival *a, int err)
{
	const struct weft_wire_am *rec = &a->in.rec;
	struct weft_win_update u = a->update;

	weft_list_remove(&a->link);
	if (!a->in.win) {
		free(u.old);
		goto out;
	}
	if (!err && u.op) {
		u.in = a->staging;
		update_here(rec, &u, a->place);
	} else if (!err && a->staging) {
		scatter_runs(rec, a->place, a->staging);
	}
	if (u.op && (rec->op & WEFT_WIRE_AM_FETCHES))
		send_old(&a->in, a->update.old,
			rec->n * rec->n_runs * (uint64_t)u.basic->extent);
	answer(&a->in, "", 0);
out:
	free(a->staging);
	free(a);
}

void weft_win_arrivals_forget(struct weft_win *win)
{
	struct weft_link *link;

	while ((link = weft_list_pop_front(&win->arrivals)) != NULL)
		weft_container_of(link, struct arrival, link)->in.win = NULL;
}

static void data_came(void *arg, struct weft_req *req)
{
	struct arrival *a = arg;
	int err = req->status.err;

	weft_req_put(req);
	arrival_end(a, err);
}

/* Receives the data; its buffers are allocated. */
static void arrival_begin(struct arrival *a, char *to, uint64_t len)
{
	struct weft_msg msg = arrival_message(&a->in, to, len);
	struct weft_req *req;
	int err = weft_irecv_locked(&msg, &req);

	if (err) {
		arrival_end(a, err);
		return;
	}
	req->on_done = data_came;
	req->on_done_arg = a;
	if (req->is_done)
		data_came(a, req);
}

/* With so many bytes for the data, and for former elements. NULL with an error
 * described. */
static struct arrival *arrival_new(const struct incoming *in, char *place,
	uint64_t staging_len, uint64_t old_len)
{
	struct arrival *a = calloc(1, sizeof(*a));

	if (!a)
		goto fail;
	a->staging = staging_len ? malloc(staging_len) : NULL;
	a->update.old = old_len ? calloc(1, old_len) : NULL;
	if ((staging_len && !a->staging) || (old_len && !a->update.old))
		goto fail;
	a->in = *in;
	a->in.data = NULL;
	a->in.replies = NULL;
	a->place = place;
	weft_list_push_back(&in->win->arrivals, &a->link);
	return a;
fail:
	if (a) {
		free(a->staging);
		free(a->update.old);
	}
	free(a);
	weft_err_set(WEFT_ERR_NOMEM, "no memory for data of an access");
	return NULL;
}

static bool do_long_put(const struct incoming *in)
{
	const struct weft_wire_am *rec = &in->rec;
	uint64_t len = rec->n * rec->n_runs;
	struct arrival *a = NULL;
	char *place;

	if (!rec->id)
		return false;
	place = runs_place(in->win, rec, rec->n);
	if (place)
		a = arrival_new(in, place, rec->n_runs > 1 ? len : 0, 0);
	if (a)
		arrival_begin(a, a->staging ? a->staging : place, len);
	else
		long_refuse(in, place ? WEFT_ERR_NOMEM : WEFT_ERR_RMA_RANGE,
			true, false);
	return true;
}

static bool do_long_get(const struct incoming *in)
{
	const struct weft_wire_am *rec = &in->rec;
	uint64_t len = rec->n * rec->n_runs;
	struct weft_msg msg;
	struct weft_req *req;
	char *place, *bytes = NULL;
	int err = WEFT_ERR_RMA_RANGE;

	if (!rec->id)
		return false;
	place = runs_place(in->win, rec, rec->n);
	if (place && rec->n_runs > 1) {
		bytes = malloc(len);
		if (bytes) {
			gather_runs(rec, place, bytes);
			send_old(in, bytes, len);
			return true;
		}
		place = NULL;
		err = weft_err_set(WEFT_ERR_NOMEM, "no memory for what is got");
	}
	if (!place) /* the message ends the operation */
		refuse(in, 0, err);
	msg = arrival_message(in, place, place ? len : 0);
	msg.tag |= WEFT_WIN_REPLY_TAG;
	err = weft_isend_locked(&msg, &req);
	if (!err)
		weft_req_detach(req);
	return true;
}

static bool do_long_acc(const struct incoming *in)
{
	bool is_fetching = in->rec.op & WEFT_WIRE_AM_FETCHES, has_data;
	const struct weft_redop *op;
	const struct weft_type *basic;
	struct arrival *a = NULL;
	char *place;
	uint64_t len;

	if (!in->rec.id || !is_sound_update(&in->rec, &op, &basic))
		return false;
	has_data = op->builtin != WEFT_OP_NO_OP;
	len = in->rec.n * in->rec.n_runs * (uint64_t)basic->extent;
	place = runs_place(in->win, &in->rec, span_of(basic, in->rec.n));
	if (place)
		a = arrival_new(
			in, place, has_data ? len : 0, is_fetching ? len : 0);
	if (!a) {
		long_refuse(in, place ? WEFT_ERR_NOMEM : WEFT_ERR_RMA_RANGE,
			has_data, is_fetching);
		return true;
	}
	a->update.op = op;
	a->update.basic = basic;
	if (has_data)
		arrival_begin(a, a->staging, len);
	else
		arrival_end(a, 0);
	return true;
}

/* --- locks --------------------------------------------------------- */

/* A member that waits for my lock, and what it sent behind the request: a
 * message with the first access, and the unlock. Destroyed when the lock is
 * granted. */
struct weft_win_waiter {
	struct weft_link link;
	struct incoming in;
	size_t len;
	uint8_t kept[WEFT_AM_MAX + sizeof(struct weft_wire_am)];
};

struct weft_win_queue {
	struct weft_progress_hook hook;
	struct weft_link waiters; /* in order of arrival */
	struct weft_win *win;
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
	weft_dispatch_drop(vci, "one-sided access that makes no sense here");
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

/* Takes it off when all have been served. */
static void queue_run(struct weft_progress_hook *hook)
{
	struct weft_win_queue *queue =
		weft_container_of(hook, struct weft_win_queue, hook);

	while (!weft_list_is_empty(&queue->waiters)) {
		struct weft_win_waiter *waiter = weft_container_of(
			queue->waiters.next, struct weft_win_waiter, link);

		if (!lock_for(&waiter->in))
			return;
		weft_list_remove(&waiter->link);
		waiter->in.from->waiter = NULL;
		carry_out_all(&waiter->in, waiter->kept, waiter->len);
		free(waiter);
	}
	weft_list_remove(&hook->link);
}

void weft_win_queue_free(struct weft_win *win)
{
	struct weft_win_queue *queue = win->queue;

	if (!queue)
		return;
	while (!weft_list_is_empty(&queue->waiters))
		waiter_free(weft_container_of(
			queue->waiters.next, struct weft_win_waiter, link));
	weft_list_remove(&queue->hook.link);
	free(queue);
	win->queue = NULL;
}

static struct weft_win_queue *queue_of(struct weft_win *win)
{
	struct weft_win_queue *queue = win->queue;

	if (queue)
		return queue;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	queue->hook.run = queue_run;
	weft_list_init(&queue->hook.link);
	weft_list_init(&queue->waiters);
	queue->win = win;
	win->queue = queue;
	return queue;
}

static bool do_lock(const struct incoming *in)
{
	struct weft_win_queue *queue;
	struct weft_win_waiter *waiter;

	if (!in->rec.id || in->rec.op > 1 || in->from->granted)
		return false;
	queue = queue_of(in->win);
	if (queue && weft_list_is_empty(&queue->waiters) && lock_for(in))
		return true;
	waiter = queue ? calloc(1, sizeof(*waiter)) : NULL;
	if (!waiter) { /* later records would be carried out without the lock */
		weft_err_set(WEFT_ERR_NOMEM, "no memory to wait for a lock");
		weft_peer_fail(weft_comm_peer(in->win->comm, in->from->am.rank),
			WEFT_ERR_NOMEM);
		return false;
	}
	waiter->in = *in;
	waiter->in.replies = NULL;
	in->from->waiter = waiter;
	if (weft_list_is_empty(&queue->hook.link))
		weft_list_push_back(
			&in->win->comm->vci->hooks, &queue->hook.link);
	weft_list_push_back(&queue->waiters, &waiter->link);
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

/* Releases the lock that it had by message, and drops its request. */
static void release_failed(struct weft_win *win, struct weft_win_target *target)
{
	if (target->granted)
		weft_win_drop_lock(
			win->state, target->granted == WEFT_WIN_EXCLUSIVE);
	target->granted = 0;
	if (target->waiter)
		waiter_free(target->waiter);
}

/* It answers nothing any more. */
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

/* --- dispatch ------------------------------------------------------ */

/* False: it makes no sense. */
static bool carry_out_one(const struct incoming *in)
{
	switch (in->rec.kind) {
	case WEFT_WIRE_AM_PUT:
		return do_put(in);
	case WEFT_WIRE_AM_GET:
		return do_get(in);
	case WEFT_WIRE_AM_ACC:
		return do_acc(in);
	case WEFT_WIRE_AM_CAS:
		return do_cas(in);
	case WEFT_WIRE_AM_LONG_PUT:
		return do_long_put(in);
	case WEFT_WIRE_AM_LONG_GET:
		return do_long_get(in);
	case WEFT_WIRE_AM_LONG_ACC:
		return do_long_acc(in);
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

/* A message's records, up to one that waits for the lock. */
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

/* An origin that waits for the lock sends one message behind its request. */
static void on_win(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct incoming in = { .win = weft_win_of(vci, peer, head) };

	if (in.win)
		in.from = weft_win_target_of(in.win, head->src);
	if (in.from)
		carry_out_all(&in, payload, len);
	else
		weft_dispatch_drop(vci, "access to a window that is not here");
}

static void on_win_reply(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_win *win = weft_win_of(vci, peer, head);
	struct weft_win_target *target =
		win ? weft_win_target_at(win, head->src) : NULL;

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
	weft_query_set(WEFT_WIRE_NEED_LOCK, weft_win_met_lock);
}
