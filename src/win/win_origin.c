/* SPDX-License-Identifier: BSD-3-Clause */
/* win_origin: accesses as active messages, as their origin sends them
 *
 * A message has one or more records. Data below WEFT_WIN_LONG bytes follows its
 * record. Longer data is a message of its own through p2p, tagged with the
 * record's id. A target carries out the records of an origin in order. A long
 * accumulate is carried out when its data has arrived. Until then, the origin
 * sends no other accumulate to that target, except more parts of the same one.
 *
 * Datatypes are not sent: the origin divides an access into runs of bytes or
 * elements of the target's memory. */
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
	STAGE_MAX = WEFT_WIRE_AM_RUNS_MAX,
	LONG_ACCS = 8,	/* pending long parts of an accumulate, at most, if the
			   network moves long messages without the CPU */
	KEEP_MAX = 256, /* longest access, in bytes, that stays in the queue */
	TAGS = 1 << 30,
};

/* Counts an access. */
static void note_message(
	struct weft_win *win, const struct weft_win_access *access)
{
	weft_counter_note(&win->counters.rma_messages,
		&win->counters.rma_messages_bytes,
		(size_t)(access->type->size * access->count));
}

/* --- one record ---------------------------------------------------- */

/* Sends one record with len bytes of data. If `to` is not NULL, the target
 * answers with data for `to`. Otherwise the record requests an answer only if
 * weft_win_needs_answer() is true.
 *
 * A short record without data to return stays in the queue if the target is on
 * another node. After a flush that few accesses preceded, the record that
 * requests an answer is sent immediately. */
static int send_one(struct weft_win *win, struct weft_win_target *target,
	struct weft_wire_am *rec, const void *data, size_t len,
	const struct weft_win_buf *to)
{
	bool is_answered = to || weft_win_needs_answer(win, target);
	bool stays = !to && len <= KEEP_MAX &&
		     (target->is_burst || !is_answered) &&
		     weft_win_may_keep(win, target);
	struct weft_win_op *op = NULL;
	uint8_t *place;
	int err = 0;

	if (is_answered && !stays) {
		op = weft_win_op_new(win, target, NULL, 1);
		if (!op)
			return WEFT_ERR_NOMEM;
		if (to)
			weft_win_op_into(op, to);
		rec->id = op->am.id;
	}
	place = weft_am_add(&target->am, rec, len, &err);
	if (place) {
		if (len)
			memcpy(place, data, len);
		/* an answer confirms all earlier records */
		target->am.is_touched = !op;
		target->n_short += stays;
		err = stays ? 0 : weft_am_post_queue(&target->am);
	}
	if (op)
		weft_am_op_begun(&op->am, err);
	return err;
}

/* --- long data ----------------------------------------------------- */

static struct weft_msg origin_message(
	const struct weft_win_op *op, void *buf, size_t len)
{
	return (struct weft_msg){ .comm = op->am.channel->am->comm,
		.buf = buf,
		.count = (int64_t)len,
		.type = weft_win_byte_type(),
		.rank = (int32_t)op->am.channel->rank,
		.tag = (int32_t)(op->am.id % TAGS),
		.ctx_offset = WEFT_CTX_OFFSET_P2P,
		.mode = WEFT_SEND_STANDARD };
}

/* Keeps the operation until the message with its data is complete. */
static void long_begun(struct weft_win_op *op, struct weft_req *req,
	void (*done)(void *op, struct weft_req *req))
{
	op->am.n_holds++;
	op->n_messages++;
	req->on_done = done;
	req->on_done_arg = op;
	if (req->is_done)
		done(op, req);
}

static void long_done(struct weft_win_op *op, struct weft_req *req, uint32_t n)
{
	int err = n ? req->status.err : 0;

	weft_req_put(req);
	op->am.n_holds--;
	op->n_messages--;
	weft_am_op_answered(&op->am, n, err);
}

static void long_sent(void *op, struct weft_req *req)
{
	long_done(op, req, 0);
}

static void long_came(void *op, struct weft_req *req)
{
	long_done(op, req, 1);
}

/* Sends the data of an operation. The target's answer reports an error of the
 * message. */
static int long_send(struct weft_win_op *op, const void *buf, size_t len)
{
	struct weft_msg msg = origin_message(op, (void *)(uintptr_t)buf, len);
	struct weft_req *req;
	int err = weft_isend_locked(&msg, &req);

	if (!err)
		long_begun(op, req, long_sent);
	return err;
}

static int long_recv(struct weft_win_op *op, void *buf, size_t len)
{
	struct weft_msg msg = origin_message(op, buf, len);
	struct weft_req *req;
	int err;

	msg.tag |= WEFT_WIN_REPLY_TAG;
	err = weft_irecv_locked(&msg, &req);
	if (!err)
		long_begun(op, req, long_came);
	return err;
}

/* Sends a record and its long data: sends len bytes from out, and receives len
 * bytes into in. out and in may be NULL. If err is not 0, sends nothing and
 * fails the operation with err. */
static int send_long(struct weft_win_op *op, struct weft_wire_am *rec,
	const void *out, void *in, size_t len, int err)
{
	op->is_long = true;
	rec->id = op->am.id;
	if (!err)
		err = weft_am_send(op->am.channel, rec);
	if (!err && out)
		err = long_send(op, out, len);
	if (!err && in)
		err = long_recv(op, in, len);
	weft_am_op_begun(&op->am, err);
	return err;
}

/* --- runs of an access --------------------------------------------- */

/* An access that is sent in parts. */
struct transfer {
	struct weft_win *win;
	struct weft_win_target *target;
	const struct weft_win_access *access;
	struct weft_win_whole *whole;
	struct weft_win_op *op; /* one for all short parts that return data; or
				   NULL */
	/* from: data sent to the target; to: destination of returned data; type
	 * NULL: none */
	struct weft_win_buf from, to;
	const struct weft_type
		*basic; /* type of the elements; NULL: runs of bytes */
};

static int try_long_accs(struct weft_am_channel *channel, void *arg)
{
	const uint32_t *max = arg;

	return weft_win_target_of_channel(channel)->n_long_accs < *max
		       ? 0
		       : WEFT_AGAIN;
}

/* Waits until fewer than max long accumulates to the target are pending. */
static int wait_long_accs(struct weft_win_target *target, uint32_t max)
{
	return weft_likely(target->n_long_accs < max)
		       ? 0
		       : weft_am_try(&target->am, "MPI_Accumulate",
				 try_long_accs, &max);
}

/* Waits until the next long part of an accumulate may be sent. */
static int prepare_long_acc(const struct transfer *t)
{
	bool has_rdma = t->win->uses_rma && t->target->method == WEFT_WIN_BY_AM;
	int err = weft_am_post_queue(&t->target->am);

	return err ? err : wait_long_accs(t->target, has_rdma ? LONG_ACCS : 1);
}

static int send_long_part(
	const struct transfer *t, struct weft_wire_am *rec, size_t len)
{
	int err = t->basic ? prepare_long_acc(t) : 0;
	char *out = NULL, *in = NULL;
	struct weft_win_op *op;

	op = err ? NULL : weft_win_op_new(t->win, t->target, t->whole, 1);
	if (!op)
		return err ? err : WEFT_ERR_NOMEM;
	rec->kind = t->basic	   ? WEFT_WIRE_AM_LONG_ACC
		    : t->from.type ? WEFT_WIRE_AM_LONG_PUT
				   : WEFT_WIRE_AM_LONG_GET;
	op->is_long_acc = t->basic;
	t->target->n_long_accs += op->is_long_acc;
	if (t->from.type)
		out = weft_win_op_stage(op, &t->from, rec->pos, len, true);
	if (t->to.type)
		in = weft_win_op_stage(op, &t->to, rec->pos, len, false);
	if ((t->from.type && !out) || (t->to.type && !in))
		err = WEFT_ERR_NOMEM;
	return send_long(op, rec, out, in, len, err);
}

static int send_short_part(
	struct transfer *t, struct weft_wire_am *rec, size_t len)
{
	uint8_t *data;
	int err = 0;

	if (t->to.type && !t->op) {
		t->op = weft_win_op_new(t->win, t->target, t->whole, 0);
		if (!t->op)
			return WEFT_ERR_NOMEM;
		weft_win_op_into(t->op, &t->to);
	}
	rec->kind = t->basic	   ? WEFT_WIRE_AM_ACC
		    : t->from.type ? WEFT_WIRE_AM_PUT
				   : WEFT_WIRE_AM_GET;
	if (t->op) {
		rec->id = t->op->am.id;
		t->op->am.n_left++;
	}
	/* an answer confirms all earlier parts */
	t->target->am.is_touched = !t->op;
	data = weft_am_add(&t->target->am, rec, t->from.type ? len : 0, &err);
	if (data && t->from.type)
		weft_pack(t->from.type, t->from.count, t->from.buf, rec->pos,
			data, len);
	return err;
}

static int send_part_runs(void *arg, struct weft_wire_am *rec)
{
	struct transfer *t = arg;
	uint64_t unit = t->basic ? (uint64_t)t->basic->extent : 1, max;
	/* accumulates through a shared-memory ring have short parts only,
	 * because a short part needs no answer of its own */
	bool is_long = rec->n * rec->n_runs * unit >= WEFT_WIN_LONG &&
		       (!t->basic || t->target->method == WEFT_WIN_BY_AM);
	struct weft_wire_am part;
	int err = 0;

	if (t->basic) {
		rec->op = (uint8_t)t->access->op->builtin;
		rec->type =
			(uint16_t)(t->basic->builtin_index + WEFT_TYPE_FIRST);
		rec->op |= t->to.type ? WEFT_WIRE_AM_FETCHES : 0;
	}
	max = !is_long	 ? (uint64_t)WEFT_AM_DATA_MAX
	      : t->basic ? (uint64_t)STAGE_MAX
			 : UINT64_MAX;
	while (!err &&
		weft_win_runs_cut(rec, unit, weft_max(max / unit, 1), &part)) {
		size_t len = part.n * part.n_runs * unit;

		err = is_long ? send_long_part(t, &part, len)
			      : send_short_part(t, &part, len);
	}
	return err;
}

static int send_elements(struct transfer *t)
{
	struct weft_win_elements *e = &t->whole->elements;
	const struct weft_win_buf *result = &t->access->result;
	int err = weft_win_elements_make(e, t->access);
	const struct weft_win_buf array = { .count = e->n * e->basic->extent,
		.type = weft_win_byte_type() };

	if (result->type)
		weft_type_get((struct weft_type *)result->type);
	t->whole->result = *result;
	if (!err)
		err = wait_long_accs(t->target, 1);
	if (err || !e->n)
		return err;
	t->basic = e->basic;
	if (e->in) {
		t->from = array;
		t->from.buf = (void *)(uintptr_t)e->in;
	}
	if (e->old) {
		t->to = array;
		t->to.buf = e->old;
	}
	return weft_win_each_element(
		t->access, e->basic, e->n, send_part_runs, t);
}

/* Posts the access as RDMA, and sets *is_moved, if RDMA can access the target's
 * memory. */
static int move_by_rma(const struct transfer *t, bool is_put, bool *is_moved)
{
	int err;

	if (!t->win->uses_rma || t->target->method != WEFT_WIN_BY_AM ||
		!weft_win_rma_suits(t->access))
		return 0;
	err = weft_win_rma_reach(t->win, t->target, is_moved);
	if (err || !*is_moved)
		return err;
	err = weft_win_am_acquire(t->win, t->target);
	return err ? err
		   : weft_win_rma_move(
			     t->win, t->target, t->access, t->whole, is_put);
}

static int send_bytes(struct transfer *t, bool is_put)
{
	*(is_put ? &t->from : &t->to) = t->access->origin;
	return weft_win_each_run(t->access, send_part_runs, t);
}

/* Carries out an access in parts, or as RDMA. kind: PUT, GET or ACC. */
static int transfer(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, enum weft_wire_am_kind kind,
	struct weft_req **req_out)
{
	struct transfer t = { .win = win,
		.target = target,
		.access = access,
		.whole = weft_win_whole_new(req_out) };
	bool is_moved = false, is_put = kind == WEFT_WIRE_AM_PUT;
	int err;

	if (!t.whole)
		return weft_win_no_memory();
	if (kind == WEFT_WIRE_AM_ACC) {
		err = send_elements(&t);
	} else {
		err = move_by_rma(&t, is_put, &is_moved);
		if (!err && !is_moved)
			err = send_bytes(&t, is_put);
	}
	if (!err && !is_moved) {
		note_message(win, access);
		err = weft_win_am_end(win, target);
	}
	if (t.op)
		weft_am_op_begun(&t.op->am, err);
	return weft_win_whole_begun(win, t.whole, req_out, err);
}

/* --- put and get --------------------------------------------------- */

/* Sends a put or get as one record. WEFT_AGAIN: one record is not possible,
 * because the data is long or not contiguous, or may be moved by RDMA. */
static int move_one(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, bool is_put)
{
	const struct weft_win_buf *here = &access->origin;
	const struct weft_type *type = access->type;
	int64_t len = type->size * access->count;
	struct weft_wire_am rec = { .disp = access->disp,
		.at = type->true_lb,
		.n = (uint64_t)len,
		.n_runs = 1 };

	if (len <= 0 || len > (int64_t)WEFT_AM_DATA_MAX ||
		here->type->size * here->count != len ||
		!weft_type_is_run(type, access->count) ||
		!weft_type_is_run(here->type, here->count) ||
		(win->uses_rma && target->method == WEFT_WIN_BY_AM))
		return WEFT_AGAIN;
	rec.kind = is_put ? WEFT_WIRE_AM_PUT : WEFT_WIRE_AM_GET;
	note_message(win, access);
	return send_one(win, target, &rec,
		(char *)here->buf + here->type->true_lb,
		is_put ? (size_t)len : 0, is_put ? NULL : here);
}

int weft_win_am_move(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, bool is_put,
	struct weft_req **req_out)
{
	int err = WEFT_AGAIN;

	weft_vci_lock(win->comm->vci);
	if (!req_out)
		err = move_one(win, target, access, is_put);
	if (err == WEFT_AGAIN)
		err = transfer(win, target, access,
			is_put ? WEFT_WIRE_AM_PUT : WEFT_WIRE_AM_GET, req_out);
	weft_vci_unlock(win->comm->vci);
	return err;
}

/* --- accumulates --------------------------------------------------- */

/* Sends an accumulate as one record. WEFT_AGAIN: one record is not possible,
 * because the data is long, or is no array of elements without holes. */
static int acc_one(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access)
{
	const struct weft_type *type = access->type;
	bool has_in = access->op->builtin != WEFT_OP_NO_OP;
	bool is_fetching = access->result.type;
	struct weft_wire_am rec = { .kind = WEFT_WIRE_AM_ACC,
		.op = (uint8_t)access->op->builtin,
		.type = (uint16_t)(type->builtin_index + WEFT_TYPE_FIRST),
		.disp = access->disp,
		.n = (uint64_t)access->count,
		.n_runs = 1 };
	int64_t len = type->size * access->count;
	int err;

	if (!weft_win_is_plain(access) || type->size != type->extent ||
		len <= 0 || len > (int64_t)WEFT_AM_DATA_MAX)
		return WEFT_AGAIN;
	err = wait_long_accs(target, 1);
	if (err)
		return err;
	if (is_fetching)
		rec.op |= WEFT_WIRE_AM_FETCHES;
	note_message(win, access);
	return send_one(win, target, &rec, access->origin.buf,
		has_in ? (size_t)len : 0, is_fetching ? &access->result : NULL);
}

int weft_win_am_accumulate(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, struct weft_req **req_out)
{
	int err = WEFT_AGAIN;

	weft_vci_lock(win->comm->vci);
	if (!req_out)
		err = acc_one(win, target, access);
	if (err == WEFT_AGAIN)
		err = transfer(win, target, access, WEFT_WIRE_AM_ACC, req_out);
	weft_vci_unlock(win->comm->vci);
	return err;
}

int weft_win_am_compare_and_swap(struct weft_win *win,
	struct weft_win_target *target, const struct weft_win_access *access)
{
	const struct weft_type *type = access->type;
	struct weft_wire_am rec = { .kind = WEFT_WIRE_AM_CAS,
		.type = (uint16_t)(type->builtin_index + WEFT_TYPE_FIRST),
		.disp = access->disp,
		.n_runs = 1 };
	size_t len = (size_t)type->size;
	uint8_t data[2 * WEFT_AM_SHORT];
	int err;

	memcpy(data, access->compare, len);
	memcpy(data + len, access->origin.buf, len);
	weft_vci_lock(win->comm->vci);
	note_message(win, access);
	err = wait_long_accs(target, 1);
	if (!err)
		err = send_one(
			win, target, &rec, data, 2 * len, &access->result);
	weft_vci_unlock(win->comm->vci);
	return err;
}
