/* SPDX-License-Identifier: BSD-3-Clause */
/* win_origin: accesses to those that only messages reach, as their origin sends
 * them
 *
 * Short data goes with the active message that describes it, many in one
 * message; long data as a message of its own through p2p, tagged with the id of
 * the active message that announces it. Targets carry out the active messages
 * of an origin in order; a question at their end tells that all is done. Long
 * accumulates come later than what follows them: so nothing of their kind
 * follows one until it is done.
 *
 * Targets' types stay here: an access is cut into runs of bytes or elements. */
#include "win/win_priv.h"

#include "base/err.h"
#include "core/comm.h"
#include "core/req.h"
#include "dt/pack.h"
#include "p2p/p2p.h"
#include "transport/dispatch.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	REC_LEN = sizeof(struct weft_wire_win),
	BATCH_MAX = WEFT_WIN_AM_MAX - REC_LEN, /* a lock may go in front */
	DATA_MAX = BATCH_MAX - REC_LEN,
	STAGE_MAX = WEFT_WIRE_WIN_RUNS_MAX,
	LONG_ACCS = 8,	/* parts of an access under way, where the network
			   moves long messages by itself */
	KEEP_MAX = 256, /* bytes of an access that waits for others */
	ROW = 4,	/* short accesses between flushes */
	TAGS = 1 << 30,
};

/* --- sending ------------------------------------------------------- */

/* Where a batch is written: its caller's, as it is long. */
struct batch_room {
	_Alignas(8) uint8_t bytes[REC_LEN + BATCH_MAX];
};

struct batch {
	struct weft_win *win;
	struct weft_win_target *target;
	size_t len;	/* behind the room for a lock */
	size_t last;	/* of that, where the last record begins */
	bool may_wait;	/* for what is sent there next */
	uint8_t *bytes; /* of a batch_room */
};

static int wait_lock_there(struct weft_win *win, struct weft_win_target *target)
{
	struct weft_win_wait wait = { .win = win,
		.target = target,
		.what = "MPI_Win_lock",
		.is_lock = true };
	int err = 0;

	while (!err && weft_win_is_lock_asked(win, target))
		err = weft_win_wait_round(&wait);
	err = weft_win_wait_end(&wait, err);
	return err;
}

/* The question for the target's lock, in front of what needs it. */
static int add_lock(struct batch *batch)
{
	struct weft_win_target *target = batch->target;
	struct weft_wire_win rec = { .kind = WEFT_WIRE_WIN_LOCK,
		.n = target->is_exclusive };
	struct weft_win_op *op = weft_win_op_new(batch->win, target, NULL, 1);

	if (!op)
		return WEFT_ERR_NOMEM;
	rec.id = target->lock_id = op->id;
	weft_win_op_begun(op, 0);
	target->is_lock_due = false;
	memcpy(batch->bytes, &rec, REC_LEN);
	return 0;
}

static int batch_post(struct batch *batch, const uint8_t *bytes, size_t len)
{
	return weft_win_am_post(
		batch->win, batch->target, WEFT_WIRE_WIN, bytes, len);
}

static bool is_unlock(const struct batch *batch)
{
	return batch->bytes[REC_LEN] == WEFT_WIRE_WIN_UNLOCK;
}

/* A target keeps one message back for whom its lock is taken by others, and
 * the unlock; whatever else waits here until it has it. */
static int batch_send(struct batch *batch)
{
	struct weft_win_target *target = batch->target;
	bool has_lock = target->is_lock_due;
	size_t len = batch->len;
	int err = 0;

	batch->len = 0;
	if (has_lock)
		err = add_lock(batch);
	else if (!len)
		return 0;
	else if (weft_unlikely(target->lock_id) && !is_unlock(batch))
		err = wait_lock_there(batch->win, target);
	if (err)
		return err;
	return has_lock ? batch_post(batch, batch->bytes, len + REC_LEN)
			: batch_post(batch, batch->bytes + REC_LEN, len);
}

/* Room for one more with so much data; its place, or NULL with *err. */
static uint8_t *batch_add(
	struct batch *batch, const struct weft_wire_win *rec, int *err)
{
	size_t room = REC_LEN + weft_round_up((size_t)rec->len, 8);
	uint8_t *at;

	if (batch->len + room > BATCH_MAX)
		*err = batch_send(batch);
	if (*err)
		return NULL;
	at = batch->bytes + REC_LEN + batch->len;
	batch->last = batch->len;
	memcpy(at, rec, REC_LEN);
	memset(at + room - 8, 0, rec->len ? 8 : 0);
	batch->len += room;
	return at + REC_LEN;
}

int weft_win_am_send(struct weft_win *win, struct weft_win_target *target,
	const struct weft_wire_win *rec)
{
	struct batch_room room;
	struct batch batch = {
		.win = win, .target = target, .bytes = room.bytes
	};
	int err = 0;

	batch_add(&batch, rec, &err);
	return err ? err : batch_send(&batch);
}

/* The first access in a while asks at once whether it is done: so a lone one
 * and its flush are one message each way. A started epoch ends without, where
 * the target has nothing to refuse. */
bool weft_win_am_asks(
	const struct weft_win *win, const struct weft_win_target *target)
{
	bool is_told = win->access == WEFT_WIN_STARTED && !win->looks &&
		       target->is_known;

	return weft_list_is_empty(&target->ops) && !is_told;
}

/* Short, and what is to come sends it. */
static bool may_keep(const struct batch *batch)
{
	return batch->may_wait && batch->len && batch->len <= KEEP_MAX &&
	       weft_win_may_keep(batch->win, batch->target);
}

static int batch_leave(struct batch *batch)
{
	size_t len = batch->len;

	if (!may_keep(batch))
		return batch_send(batch);
	batch->len = 0;
	return weft_win_keep(
		batch->win, batch->target, batch->bytes + REC_LEN, len);
}

/* The last record, a put, asks itself. */
static bool last_asks(struct batch *batch, uint64_t id)
{
	uint8_t *last = batch->bytes + REC_LEN + batch->last;

	if (*last != WEFT_WIRE_WIN_PUT)
		return false;
	memcpy(last + offsetof(struct weft_wire_win, id), &id, sizeof(id));
	return true;
}

static int send_last(struct batch *batch)
{
	struct weft_win_target *target = batch->target;
	struct weft_wire_win rec = { .kind = WEFT_WIRE_WIN_ASK };
	struct weft_win_op *op;
	bool is_touched;
	int err = 0;

	if (!batch->len || !weft_win_am_asks(batch->win, target)) {
		is_touched = target->is_touched;
		err = batch_leave(batch);
		/* another thread may have asked, in front of this */
		target->is_touched |= is_touched;
		return err;
	}
	op = weft_win_op_new(batch->win, target, NULL, 1);
	if (!op)
		return WEFT_ERR_NOMEM;
	rec.id = op->id;
	if (!last_asks(batch, op->id))
		batch_add(batch, &rec, &err);
	target->is_touched = false;
	if (!err)
		err = batch_send(batch);
	weft_win_op_begun(op, err);
	return err;
}

int weft_win_am_call(struct weft_win *win, struct weft_win_target *target,
	enum weft_wire_win_kind kind, uint64_t n, bool is_answered)
{
	struct weft_wire_win rec = { .kind = (uint8_t)kind, .n = n };
	struct weft_vci *vci = win->comm->vci;
	struct weft_win_op *op = NULL;
	int err = 0;

	weft_vci_lock(vci);
	if (is_answered) {
		op = weft_win_op_new(win, target, NULL, 1);
		err = op ? 0 : WEFT_ERR_NOMEM;
	}
	if (op) {
		rec.id = op->id;
		target->is_touched = false;
	}
	if (!err)
		err = weft_win_am_send(win, target, &rec);
	if (op)
		weft_win_op_begun(op, err);
	if (!err && is_answered)
		err = weft_win_op_wait(win, target, kind);
	weft_vci_unlock(vci);
	return err;
}

int weft_win_am_flush(
	struct weft_win *win, struct weft_win_target *target, bool is_local)
{
	struct weft_vci *vci = win->comm->vci;
	int err, rma_err;

	weft_vci_lock(vci);
	target->is_in_row = target->n_in_row >= ROW;
	target->n_in_row = 0;
	rma_err = weft_win_rma_flush(win, target);
	if (!is_local && target->is_touched) {
		weft_vci_unlock(vci);
		err = weft_win_am_call(win, target, WEFT_WIRE_WIN_ASK, 0, true);
	} else {
		err = weft_win_op_wait(win, target, WEFT_WIRE_WIN_ASK);
		weft_vci_unlock(vci);
	}
	return rma_err ? rma_err : err;
}

/* --- the ends of epochs -------------------------------------------- */

/* Whether something is under way that does not go in order with messages; or
 * whose end has to be seen here at all. */
static bool has_due(const struct weft_win_target *target, bool is_any)
{
	weft_list_for_each(link, next, &target->ops)
	{
		const struct weft_win_op *op =
			weft_container_of(link, struct weft_win_op, link);

		if (op->is_rma || op->is_long ||
			(is_any && (op->whole || op->to.type)))
			return true;
	}
	return false;
}

/* What is sent from now on comes behind all that was begun. */
static int settle_target(struct weft_win *win, struct weft_win_target *target)
{
	int rma_err = weft_win_rma_flush(win, target);
	int err = has_due(target, false)
			  ? weft_win_op_wait(win, target, WEFT_WIRE_WIN_ASK)
			  : 0;

	return rma_err ? rma_err : err;
}

void weft_win_am_lock(
	struct weft_win *win, struct weft_win_target *target, bool is_exclusive)
{
	weft_vci_lock(win->comm->vci);
	target->is_exclusive = is_exclusive;
	target->is_lock_due = true;
	weft_vci_unlock(win->comm->vci);
}

static int unlock_locked(struct weft_win *win, struct weft_win_target *target)
{
	struct weft_wire_win rec = { .kind = WEFT_WIRE_WIN_UNLOCK,
		.n = target->is_exclusive };
	struct weft_win_op *op = weft_win_op_new(win, target, NULL, 1);
	int err;

	if (!op)
		return WEFT_ERR_NOMEM;
	rec.id = op->id;
	target->is_touched = false;
	err = weft_win_am_send(win, target, &rec);
	weft_win_op_begun(op, err);
	return err ? err : weft_win_op_wait(win, target, WEFT_WIRE_WIN_UNLOCK);
}

int weft_win_am_unlock(struct weft_win *win, struct weft_win_target *target)
{
	int err, settle_err = 0;

	weft_vci_lock(win->comm->vci);
	if (target->is_lock_due) { /* nothing went there */
		target->is_lock_due = false;
		err = 0;
	} else {
		settle_err = settle_target(win, target);
		err = unlock_locked(win, target);
	}
	target->lock_id = 0;
	weft_vci_unlock(win->comm->vci);
	return settle_err ? settle_err : err;
}

int weft_win_am_complete(struct weft_win *win, struct weft_win_target *target)
{
	struct weft_wire_win rec = { .kind = WEFT_WIRE_WIN_COMPLETE };
	int err, wait_err = 0;

	weft_vci_lock(win->comm->vci);
	err = settle_target(win, target);
	if (!err && !target->is_known) /* it may have refused something */
		err = weft_win_op_wait(win, target, WEFT_WIRE_WIN_ASK);
	target->is_touched = false; /* its wait sees to that */
	wait_err = weft_win_am_send(win, target, &rec);
	err = err ? err : wait_err;
	if (has_due(target, true))
		wait_err = weft_win_op_wait(win, target, WEFT_WIRE_WIN_ASK);
	weft_vci_unlock(win->comm->vci);
	return err ? err : wait_err;
}

/* --- long data ----------------------------------------------------- */

static struct weft_msg origin_message(
	const struct weft_win_op *op, void *buf, size_t len)
{
	return (struct weft_msg){ .comm = op->win->comm,
		.buf = buf,
		.count = (int64_t)len,
		.type = weft_win_byte_type(),
		.rank = (int32_t)op->target->rank,
		.tag = (int32_t)(op->id % TAGS),
		.ctx_offset = WEFT_CTX_OFFSET_P2P,
		.mode = WEFT_SEND_STANDARD };
}

/* The target's answer says when it has it. */
static int long_send(const struct weft_win_op *op, const void *buf, size_t len)
{
	struct weft_msg msg = origin_message(op, (void *)(uintptr_t)buf, len);
	struct weft_req *req;
	int err = weft_isend_locked(&msg, &req);

	if (!err)
		weft_req_detach(req);
	return err;
}

static void long_came(void *arg, struct weft_req *req)
{
	struct weft_win_op *op = arg;
	int err = req->status.err;

	weft_req_put(req);
	op->n_holds--;
	weft_win_op_answered(op, 1, err);
}

static int long_recv(struct weft_win_op *op, void *buf, size_t len)
{
	struct weft_msg msg = origin_message(op, buf, len);
	struct weft_req *req;
	int err;

	msg.tag |= WEFT_WIN_REPLY_TAG;
	err = weft_irecv_locked(&msg, &req);
	if (err)
		return err;
	op->n_holds++; /* until it is over */
	req->on_done = long_came;
	req->on_done_arg = op;
	if (req->is_done)
		long_came(op, req);
	return 0;
}

static int put_long(struct weft_win *win, struct weft_win_target *target,
	struct weft_win_whole *whole, const struct weft_win_buf *from,
	struct weft_wire_win *rec)
{
	struct weft_win_op *op = weft_win_op_new(win, target, whole, 1);
	size_t len = rec->n * rec->n_runs;
	const char *data;
	int err;

	if (!op)
		return WEFT_ERR_NOMEM;
	op->is_long = true;
	op->len = len;
	rec->kind = WEFT_WIRE_WIN_LONG_PUT;
	rec->id = op->id;
	data = weft_win_stream_at(from, rec->pos, len, &op->staging);
	err = data ? weft_win_am_send(win, target, rec) : weft_win_no_memory();
	if (!err)
		err = long_send(op, data, len);
	weft_win_op_begun(op, err);
	return err;
}

static int get_long(struct weft_win *win, struct weft_win_target *target,
	struct weft_win_whole *whole, const struct weft_win_buf *to,
	struct weft_wire_win *rec)
{
	struct weft_win_op *op = weft_win_op_new(win, target, whole, 1);
	size_t len = rec->n * rec->n_runs;
	char *data;
	int err;

	if (!op)
		return WEFT_ERR_NOMEM;
	op->is_long = true;
	rec->kind = WEFT_WIRE_WIN_LONG_GET;
	rec->id = op->id;
	op->pos = rec->pos;
	op->len = len;
	if (weft_type_is_run(to->type, to->count)) {
		data = (char *)to->buf + to->type->true_lb + rec->pos;
	} else {
		data = op->staging = malloc(len);
		op->to = *to;
		weft_type_get((struct weft_type *)to->type);
	}
	err = data ? weft_win_am_send(win, target, rec) : weft_win_no_memory();
	if (!err)
		err = long_recv(op, data, len);
	weft_win_op_begun(op, err);
	return err;
}

/* --- put and get --------------------------------------------------- */

/* Where runs of bytes go. */
struct runs {
	struct batch batch;
	const struct weft_win_access *access;
	struct weft_win_whole *whole;
	struct weft_win_op *op; /* of all short ones that are got */
};

static int put_run(void *arg, struct weft_wire_win *rec)
{
	struct runs *to = arg;
	struct batch *batch = &to->batch;
	const struct weft_win_buf *from = &to->access->origin;
	struct weft_wire_win part;
	int err = 0;

	if (rec->n * rec->n_runs >= WEFT_WIN_LONG)
		return put_long(
			batch->win, batch->target, to->whole, from, rec);
	rec->kind = WEFT_WIRE_WIN_PUT;
	batch->target->is_touched = true;
	while (!err && weft_win_runs_cut(rec, 1, DATA_MAX, &part)) {
		uint8_t *data;

		part.len = (uint32_t)(part.n * part.n_runs);
		data = batch_add(batch, &part, &err);
		if (data)
			weft_pack(from->type, from->count, from->buf, part.pos,
				data, part.len);
	}
	return err;
}

static int put_runs(struct runs *to)
{
	int err = weft_win_each_run(to->access, put_run, to);

	return err ? err : send_last(&to->batch);
}

static int get_run(void *arg, struct weft_wire_win *rec)
{
	struct runs *from = arg;
	struct batch *batch = &from->batch;
	const struct weft_win_buf *to = &from->access->origin;
	int err = 0;

	if (rec->n * rec->n_runs >= WEFT_WIN_LONG)
		return get_long(
			batch->win, batch->target, from->whole, to, rec);
	if (!from->op) {
		from->op = weft_win_op_new(
			batch->win, batch->target, from->whole, 0);
		if (!from->op)
			return WEFT_ERR_NOMEM;
		from->op->to = *to;
		weft_type_get((struct weft_type *)to->type);
	}
	rec->kind = WEFT_WIRE_WIN_GET;
	rec->id = from->op->id;
	batch->target->is_touched = false; /* what comes back tells */
	from->op->n_left += rec->n * rec->n_runs;
	batch_add(batch, rec, &err);
	return err;
}

static int get_runs(struct runs *from)
{
	int err = weft_win_each_run(from->access, get_run, from);

	if (!err)
		err = batch_leave(&from->batch);
	if (from->op)
		weft_win_op_begun(from->op, err);
	return err;
}

/* The fabric's own accesses ask for nothing. */
static int lock_alone(struct weft_win *win, struct weft_win_target *target)
{
	struct batch_room room;
	struct batch batch = {
		.win = win, .target = target, .bytes = room.bytes
	};
	int err = 0;

	if (target->is_lock_due)
		err = batch_send(&batch);
	if (!err && target->lock_id)
		err = wait_lock_there(win, target);
	return err;
}

static int move_runs(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, struct weft_win_whole *whole,
	bool is_put, bool may_wait)
{
	struct batch_room room;
	struct runs runs = { .batch = { .win = win,
				     .target = target,
				     .bytes = room.bytes,
				     .may_wait =
					     may_wait &&
					     !weft_win_am_asks(win, target) },
		.access = access,
		.whole = whole };
	bool is_reached = false;
	int err = 0;

	if (win->uses_rma && target->way == WEFT_WIN_BY_AM &&
		weft_win_rma_suits(access))
		err = weft_win_rma_reach(win, target, &is_reached);
	if (!err && is_reached)
		err = lock_alone(win, target);
	if (err || is_reached)
		return err ? err
			   : weft_win_rma_move(
				     win, target, access, whole, is_put);
	return is_put ? put_runs(&runs) : get_runs(&runs);
}

int weft_win_am_move(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, bool is_put,
	struct weft_req **req_out)
{
	struct weft_win_whole *whole;
	int err = WEFT_AGAIN;

	weft_vci_lock(win->comm->vci);
	if (!req_out)
		err = weft_win_one_move(win, target, access, is_put);
	if (err != WEFT_AGAIN)
		goto out;
	whole = weft_win_whole_new(req_out);
	err = whole ? move_runs(win, target, access, whole, is_put, !req_out)
		    : weft_win_no_memory();
	if (whole)
		err = weft_win_whole_begun(win, whole, req_out, err);
out:
	weft_vci_unlock(win->comm->vci);
	return err;
}

/* --- accumulates --------------------------------------------------- */

struct acc {
	struct batch batch;
	struct weft_win_runs runs;
	const struct weft_win_access *access;
	struct weft_win_whole *whole;
	struct weft_win_op *op; /* of short ones that fetch */
	const struct weft_type *basic;
	const char *in; /* NULL: NO_OP */
	bool is_fetching;
	int64_t n, done; /* elements */
	int err;
};

/* Until less than so many parts are under way. Nothing overtakes a long access,
 * but its own parts are different places. */
static int wait_long_accs(
	struct weft_win *win, struct weft_win_target *target, uint32_t max)
{
	struct weft_win_wait wait = {
		.win = win, .target = target, .what = "MPI_Accumulate"
	};
	int err = 0;

	while (!err && target->n_long_accs >= max)
		err = weft_win_wait_round(&wait);
	err = weft_win_wait_end(&wait, err);
	return err;
}

static size_t acc_len(const struct acc *acc, const struct weft_wire_win *rec)
{
	return rec->n * rec->n_runs * (size_t)acc->basic->extent;
}

static int acc_long(struct acc *acc, struct weft_wire_win *rec)
{
	struct weft_win *win = acc->batch.win;
	struct weft_win_target *target = acc->batch.target;
	size_t len = acc_len(acc, rec);
	struct weft_win_op *op;
	int err = batch_send(&acc->batch);

	if (!err)
		err = wait_long_accs(win, target,
			win->uses_rma && target->way == WEFT_WIN_BY_AM
				? LONG_ACCS
				: 1);
	if (err)
		return err;
	op = weft_win_op_new(win, target, acc->whole, acc->is_fetching ? 2 : 1);
	if (!op)
		return WEFT_ERR_NOMEM;
	op->is_long = op->is_long_acc = true;
	target->n_long_accs++;
	rec->kind = WEFT_WIRE_WIN_LONG_ACC;
	rec->id = op->id;
	if (acc->is_fetching)
		rec->op |= WEFT_WIRE_WIN_FETCHES;
	err = weft_win_am_send(win, target, rec);
	if (!err && acc->in)
		err = long_send(op, acc->in + rec->pos, len);
	if (!err && acc->is_fetching)
		err = long_recv(op, acc->whole->old + rec->pos, len);
	weft_win_op_begun(op, err);
	return err;
}

static int acc_short(struct acc *acc, struct weft_wire_win *rec)
{
	size_t len = acc_len(acc, rec);
	int err = 0;
	uint8_t *data;

	rec->kind = WEFT_WIRE_WIN_ACC;
	rec->len = acc->in ? (uint32_t)len : 0;
	acc->batch.target->is_touched = !acc->is_fetching;
	if (acc->is_fetching && !acc->op) {
		acc->op = weft_win_op_new(
			acc->batch.win, acc->batch.target, acc->whole, 0);
		if (!acc->op)
			return WEFT_ERR_NOMEM;
	}
	if (acc->is_fetching) {
		rec->id = acc->op->id;
		acc->op->n_left += len;
	}
	data = batch_add(&acc->batch, rec, &err);
	if (data && acc->in)
		memcpy(data, acc->in + rec->pos, len);
	return err;
}

static int acc_runs(void *arg, struct weft_wire_win *rec)
{
	struct acc *acc = arg;
	uint64_t extent = (uint64_t)acc->basic->extent;
	/* a ring takes them one by one without a question */
	bool is_long = acc_len(acc, rec) >= WEFT_WIN_LONG &&
		       acc->batch.target->way == WEFT_WIN_BY_AM;
	uint64_t max = weft_max(
		(is_long ? STAGE_MAX : DATA_MAX & ~7) / extent, (uint64_t)1);
	struct weft_wire_win part;
	int err = 0;

	rec->op = (uint8_t)acc->access->op->builtin;
	rec->type = (uint16_t)(acc->basic->builtin_index + WEFT_TYPE_FIRST);
	while (!err && weft_win_runs_cut(rec, extent, max, &part))
		err = is_long ? acc_long(acc, &part) : acc_short(acc, &part);
	return err;
}

static int acc_visit(
	void *arg, const struct weft_type *basic, int64_t disp, int64_t n)
{
	struct acc *acc = arg;

	n = weft_min64(n, acc->n - acc->done);
	if (n)
		acc->err = weft_win_runs_add(&acc->runs, disp, (uint64_t)n,
			(uint64_t)(acc->done * basic->extent));
	acc->done += n;
	return acc->err || acc->done == acc->n;
}

/* What is sent, as an array that lasts as long as the access. */
static int acc_prepare(struct acc *acc)
{
	const struct weft_win_access *access = acc->access;
	struct weft_win_whole *whole = acc->whole;

	acc->basic = weft_win_basic(access->type);
	acc->n = weft_win_elems(access->type, access->count);
	acc->is_fetching = access->result.type;
	if (access->op->builtin != WEFT_OP_NO_OP) {
		acc->n = weft_min64(acc->n, weft_win_elems(access->origin.type,
						    access->origin.count));
		acc->in = weft_win_array(
			&access->origin, acc->basic, acc->n, &whole->in);
		if (!acc->in && acc->n)
			return weft_win_no_memory();
	}
	if (!acc->is_fetching)
		return 0;
	whole->basic = acc->basic;
	whole->n_old = acc->n;
	whole->result = access->result;
	weft_type_get((struct weft_type *)access->result.type);
	whole->old = calloc((size_t)(acc->n * acc->basic->extent) + 1, 1);
	return whole->old ? 0 : weft_win_no_memory();
}

static int acc_begin(struct acc *acc)
{
	const struct weft_win_access *access = acc->access;
	int err = acc_prepare(acc);

	if (!err)
		err = wait_long_accs(acc->batch.win, acc->batch.target, 1);
	if (err || !acc->n)
		return err;
	acc->runs = (struct weft_win_runs){ .fn = acc_runs,
		.arg = acc,
		.unit = (uint64_t)acc->basic->extent,
		.disp = access->disp };
	if (weft_win_is_array(access->type, acc->basic))
		acc_visit(acc, acc->basic, access->type->true_lb, acc->n);
	else
		weft_type_visit(access->type, access->count, acc_visit, acc);
	err = weft_win_runs_end(&acc->runs, acc->err);
	return err ? err : send_last(&acc->batch);
}

/* An update of what the kernel could copy goes by message: those behind it stay
 * behind it. VCI's lock held, so that nobody else counts. */
static void count_late(struct weft_win_target *target)
{
	if (target->way == WEFT_WIN_COPIED)
		atomic_store_explicit(&target->n_late,
			atomic_load_explicit(
				&target->n_late, memory_order_relaxed) +
				1,
			memory_order_relaxed);
}

static int acc_all(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, struct weft_req **req_out)
{
	struct batch_room room;
	struct acc acc = { .batch = { .win = win,
				   .target = target,
				   .bytes = room.bytes,
				   .may_wait = !req_out &&
					       !weft_win_am_asks(win, target) },
		.access = access };
	int err;

	acc.whole = weft_win_whole_new(req_out);
	err = acc.whole ? acc_begin(&acc) : weft_win_no_memory();
	if (acc.op)
		weft_win_op_begun(acc.op, err);
	if (acc.whole)
		err = weft_win_whole_begun(win, acc.whole, req_out, err);
	return err;
}

int weft_win_am_accumulate(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, struct weft_req **req_out)
{
	int err = WEFT_AGAIN;

	weft_vci_lock(win->comm->vci);
	count_late(target);
	if (!req_out)
		err = weft_win_one_update(win, target, access);
	if (err == WEFT_AGAIN)
		err = acc_all(win, target, access, req_out);
	weft_vci_unlock(win->comm->vci);
	return err;
}

static int swap_one(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access)
{
	size_t len = (size_t)access->type->size;
	struct weft_wire_win rec = { .kind = WEFT_WIRE_WIN_CAS,
		.type = (uint16_t)(access->type->builtin_index +
				   WEFT_TYPE_FIRST),
		.disp = access->disp,
		.n = 1,
		.len = (uint32_t)(2 * len) };
	struct batch_room room;
	struct batch batch = {
		.win = win, .target = target, .bytes = room.bytes
	};
	struct weft_win_whole *whole;
	struct weft_win_op *op = NULL;
	uint8_t *data;
	int err;

	whole = weft_win_whole_new(NULL);
	err = whole ? wait_long_accs(win, target, 1) : weft_win_no_memory();
	if (!err)
		op = weft_win_op_new(win, target, whole, len);
	if (op) {
		op->to = access->result;
		weft_type_get((struct weft_type *)access->result.type);
		rec.id = op->id;
		target->is_touched = false;
		data = batch_add(&batch, &rec, &err);
		memcpy(data, access->compare, len);
		memcpy(data + len, access->origin.buf, len);
		err = batch_send(&batch);
		weft_win_op_begun(op, err);
	} else if (!err) {
		err = WEFT_ERR_NOMEM;
	}
	if (whole)
		weft_win_whole_put(whole);
	return err;
}

int weft_win_am_compare_and_swap(struct weft_win *win,
	struct weft_win_target *target, const struct weft_win_access *access)
{
	int err;

	weft_vci_lock(win->comm->vci);
	count_late(target);
	err = weft_win_one_swap(win, target, access);
	if (err == WEFT_AGAIN)
		err = swap_one(win, target, access);
	weft_vci_unlock(win->comm->vci);
	return err;
}

/* --- answers
 * ------------------------------------------------------------------------------
 */

/* Data goes where its access said. False: there is no such place. */
static bool take_data(struct weft_win_op *op,
	const struct weft_wire_win_reply *rec, const void *data)
{
	const struct weft_win_whole *whole = op->whole;
	uint64_t room;

	if (!rec->len)
		return true;
	if (!whole || rec->len > rec->n || rec->n > op->n_left)
		return false;
	room = op->to.type  ? (uint64_t)(op->to.type->size * op->to.count)
	       : whole->old ? (uint64_t)(whole->n_old * whole->basic->extent)
			    : 0;
	if (rec->pos > room || rec->len > room - rec->pos)
		return false;
	if (op->to.type)
		weft_unpack(op->to.type, op->to.count, op->to.buf, rec->pos,
			data, rec->len);
	else
		memcpy(whole->old + rec->pos, data, rec->len);
	return true;
}

/* False: it makes no sense. */
static bool win_take_reply(struct weft_win *win, struct weft_win_target *target,
	const struct weft_wire_win_reply *rec, const void *data)
{
	struct weft_win_op *op = weft_win_op_of(win, target, rec->id);

	if (rec->id && !op)
		return false;
	if (rec->err > WEFT_ERR_FIRST_ && rec->err < 0)
		weft_win_op_refused(target, rec->err, data, rec->len);
	else if (rec->err || !op || !take_data(op, rec, data))
		return false;
	if (op)
		weft_win_op_answered(op, rec->n, rec->err);
	return true;
}

void weft_win_on_reply(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_win *win = weft_win_of(vci, peer, head);
	struct weft_win_target *target =
		win ? weft_win_target_at(win, head->src) : NULL;
	const uint8_t *at = payload;
	struct weft_wire_win_reply rec;

	while (target && weft_wire_get_win_reply(&rec, at, len)) {
		size_t room = sizeof(rec) + weft_round_up((size_t)rec.len, 8);

		if (room > len ||
			!win_take_reply(win, target, &rec, at + sizeof(rec)))
			break;
		at += room;
		len -= room;
	}
	if (!target || len)
		weft_dispatch_drop(
			vci, "an answer about a window that makes no sense");
}
