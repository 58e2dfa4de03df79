/* SPDX-License-Identifier: BSD-3-Clause */
/* win_origin: accesses as active messages, as their origin sends them
 *
 * Data below WEFT_WIN_LONG bytes follows its record, many in one message.
 * Longer data is a message of its own through p2p, tagged with the record's id.
 * A target carries out the records of an origin in order. A long accumulate is
 * carried out when its data has arrived, so no accumulate is sent behind it
 * before that.
 *
 * The target's datatypes stay here: an access is cut into runs of bytes or
 * elements. */
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
	LONG_ACCS = 8,	/* parts of an access under way, where the network
			   moves long messages by itself */
	KEEP_MAX = 256, /* bytes of an access that stays in the queue */
	TAGS = 1 << 30,
};

/* --- one record ---------------------------------------------------- */

/* Sends one record with len bytes of data. Its answer has data for `to`; NULL:
 * it has none, and is requested if no operation under way has one. To another
 * node the record stays in the queue, except the first one since a flush that
 * few accesses preceded. */
static int send_one(struct weft_win *win, struct weft_win_target *target,
	struct weft_wire_am *rec, const void *data, size_t len,
	const struct weft_win_buf *to)
{
	bool is_answered = to || weft_win_needs_answer(win, target);
	bool stays = !to && len <= KEEP_MAX &&
		     (target->is_in_row || !is_answered) &&
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
	place = weft_win_am_add(target, rec, len, &err);
	if (place) {
		if (len)
			memcpy(place, data, len);
		/* an answer covers all that was sent before */
		target->am.is_touched = !op;
		target->n_in_row += stays;
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

/* The target's answer completes the operation. */
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
	op->am.n_holds--;
	weft_am_op_answered(&op->am, 1, err);
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
	op->am.n_holds++; /* until it is over */
	req->on_done = long_came;
	req->on_done_arg = op;
	if (req->is_done)
		long_came(op, req);
	return 0;
}

/* Sends a record and its data: len bytes at out are sent, and as many received
 * at in. NULL: none. err: the error that stopped it already, or 0. */
static int send_long(struct weft_win_op *op, struct weft_wire_am *rec,
	const void *out, void *in, size_t len, int err)
{
	op->is_long = true;
	rec->id = op->am.id;
	if (!err)
		err = weft_win_am_send(
			weft_win_target_of_channel(op->am.channel), rec);
	if (!err && out)
		err = long_send(op, out, len);
	if (!err && in)
		err = long_recv(op, in, len);
	weft_am_op_begun(&op->am, err);
	return err;
}

static int put_long(struct weft_win *win, struct weft_win_target *target,
	struct weft_win_whole *whole, const struct weft_win_buf *from,
	struct weft_wire_am *rec)
{
	struct weft_win_op *op = weft_win_op_new(win, target, whole, 1);
	size_t len = rec->n * rec->n_runs;
	const char *data;

	if (!op)
		return WEFT_ERR_NOMEM;
	rec->kind = WEFT_WIRE_AM_LONG_PUT;
	if (weft_type_is_run(from->type, from->count)) {
		data = (const char *)from->buf + from->type->true_lb + rec->pos;
	} else {
		data = op->staging = malloc(len);
		if (data)
			weft_pack(from->type, from->count, from->buf, rec->pos,
				op->staging, len);
	}
	return send_long(
		op, rec, data, NULL, len, data ? 0 : weft_win_no_memory());
}

static int get_long(struct weft_win *win, struct weft_win_target *target,
	struct weft_win_whole *whole, const struct weft_win_buf *to,
	struct weft_wire_am *rec)
{
	struct weft_win_op *op = weft_win_op_new(win, target, whole, 1);
	size_t len = rec->n * rec->n_runs;
	char *data;

	if (!op)
		return WEFT_ERR_NOMEM;
	rec->kind = WEFT_WIRE_AM_LONG_GET;
	op->pos = rec->pos;
	op->len = len;
	if (weft_type_is_run(to->type, to->count)) {
		data = (char *)to->buf + to->type->true_lb + rec->pos;
	} else {
		data = op->staging = malloc(len);
		op->to = *to;
		weft_type_get((struct weft_type *)to->type);
	}
	return send_long(
		op, rec, NULL, data, len, data ? 0 : weft_win_no_memory());
}

/* --- put and get --------------------------------------------------- */

/* Runs of one access. */
struct runs {
	struct weft_win *win;
	struct weft_win_target *target;
	const struct weft_win_access *access;
	struct weft_win_whole *whole;
	struct weft_win_op *op; /* of all short ones that are got */
};

static int put_run(void *arg, struct weft_wire_am *rec)
{
	struct runs *to = arg;
	const struct weft_win_buf *from = &to->access->origin;
	struct weft_wire_am part;
	int err = 0;

	if (rec->n * rec->n_runs >= WEFT_WIN_LONG)
		return put_long(to->win, to->target, to->whole, from, rec);
	rec->kind = WEFT_WIRE_AM_PUT;
	to->target->am.is_touched = true;
	while (!err && weft_win_runs_cut(rec, 1, WEFT_AM_DATA_MAX, &part)) {
		size_t len = part.n * part.n_runs;
		uint8_t *data = weft_win_am_add(to->target, &part, len, &err);

		if (data)
			weft_pack(from->type, from->count, from->buf, part.pos,
				data, len);
	}
	return err;
}

static int get_run(void *arg, struct weft_wire_am *rec)
{
	struct runs *from = arg;
	const struct weft_win_buf *to = &from->access->origin;
	struct weft_wire_am part;
	int err = 0;

	if (rec->n * rec->n_runs >= WEFT_WIN_LONG)
		return get_long(from->win, from->target, from->whole, to, rec);
	if (!from->op) {
		from->op = weft_win_op_new(
			from->win, from->target, from->whole, 0);
		if (!from->op)
			return WEFT_ERR_NOMEM;
		weft_win_op_into(from->op, to);
	}
	rec->kind = WEFT_WIRE_AM_GET;
	rec->id = from->op->am.id;
	from->target->am.is_touched = false; /* its answer covers all before */
	while (!err && weft_win_runs_cut(rec, 1, WEFT_AM_DATA_MAX, &part)) {
		from->op->am.n_left++;
		weft_win_am_add(from->target, &part, 0, &err);
	}
	return err;
}

static int move_runs(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, struct weft_win_whole *whole,
	bool is_put)
{
	struct runs runs = {
		.win = win, .target = target, .access = access, .whole = whole
	};
	bool is_reached = false;
	int err = 0;

	if (win->uses_rma && target->way == WEFT_WIN_BY_AM &&
		weft_win_rma_suits(access))
		err = weft_win_rma_reach(win, target, &is_reached);
	if (!err && is_reached)
		err = weft_win_am_acquire(win, target);
	if (err || is_reached)
		return err ? err
			   : weft_win_rma_move(
				     win, target, access, whole, is_put);
	err = weft_win_each_run(access, is_put ? put_run : get_run, &runs);
	if (!err)
		err = is_put ? weft_win_am_end(win, target)
			     : weft_am_post_queue(&target->am);
	if (runs.op)
		weft_am_op_begun(&runs.op->am, err);
	return err;
}

/* WEFT_AGAIN: it is not one run of short data here and there. */
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
		(win->uses_rma && target->way == WEFT_WIN_BY_AM))
		return WEFT_AGAIN;
	rec.kind = is_put ? WEFT_WIRE_AM_PUT : WEFT_WIRE_AM_GET;
	return send_one(win, target, &rec,
		(char *)here->buf + here->type->true_lb,
		is_put ? (size_t)len : 0, is_put ? NULL : here);
}

int weft_win_am_move(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, bool is_put,
	struct weft_req **req_out)
{
	struct weft_win_whole *whole;
	int err = WEFT_AGAIN;

	weft_vci_lock(win->comm->vci);
	if (!req_out)
		err = move_one(win, target, access, is_put);
	if (err != WEFT_AGAIN)
		goto out;
	whole = weft_win_whole_new(req_out);
	err = whole ? move_runs(win, target, access, whole, is_put)
		    : weft_win_no_memory();
	if (whole)
		err = weft_win_whole_begun(win, whole, req_out, err);
out:
	weft_vci_unlock(win->comm->vci);
	return err;
}

/* --- accumulates --------------------------------------------------- */

struct acc {
	struct weft_win *win;
	struct weft_win_target *target;
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

static size_t acc_len(const struct acc *acc, const struct weft_wire_am *rec)
{
	return rec->n * rec->n_runs * (size_t)acc->basic->extent;
}

static int acc_long(struct acc *acc, struct weft_wire_am *rec)
{
	struct weft_win *win = acc->win;
	struct weft_win_target *target = acc->target;
	struct weft_win_op *op;
	int err = weft_am_post_queue(&target->am);

	if (!err)
		err = wait_long_accs(win, target,
			win->uses_rma && target->way == WEFT_WIN_BY_AM
				? LONG_ACCS
				: 1);
	if (err)
		return err;
	op = weft_win_op_new(win, target, acc->whole, 1);
	if (!op)
		return WEFT_ERR_NOMEM;
	op->is_long_acc = true;
	target->n_long_accs++;
	rec->kind = WEFT_WIRE_AM_LONG_ACC;
	if (acc->is_fetching)
		rec->op |= WEFT_WIRE_AM_FETCHES;
	return send_long(op, rec, acc->in ? acc->in + rec->pos : NULL,
		acc->is_fetching ? acc->whole->old + rec->pos : NULL,
		acc_len(acc, rec), 0);
}

static int acc_short(struct acc *acc, struct weft_wire_am *rec)
{
	size_t len = acc->in ? acc_len(acc, rec) : 0;
	uint8_t *data;
	int err = 0;

	rec->kind = WEFT_WIRE_AM_ACC;
	acc->target->am.is_touched = !acc->is_fetching;
	if (acc->is_fetching && !acc->op) {
		acc->op = weft_win_op_new(acc->win, acc->target, acc->whole, 0);
		if (!acc->op)
			return WEFT_ERR_NOMEM;
		acc->op->am.dest = acc->whole->old;
		acc->op->am.room = (uint64_t)(acc->n * acc->basic->extent);
	}
	if (acc->is_fetching) {
		rec->op |= WEFT_WIRE_AM_FETCHES;
		rec->id = acc->op->am.id;
		acc->op->am.n_left++;
	}
	data = weft_win_am_add(acc->target, rec, len, &err);
	if (data && len)
		memcpy(data, acc->in + rec->pos, len);
	return err;
}

static int acc_runs(void *arg, struct weft_wire_am *rec)
{
	struct acc *acc = arg;
	uint64_t extent = (uint64_t)acc->basic->extent;
	/* a ring takes many short ones without an answer */
	bool is_long = acc_len(acc, rec) >= WEFT_WIN_LONG &&
		       acc->target->way == WEFT_WIN_BY_AM;
	uint64_t max = weft_max(
		(is_long ? STAGE_MAX : (size_t)WEFT_AM_DATA_MAX) / extent,
		(uint64_t)1);
	struct weft_wire_am part;
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

/* Makes the origin's elements an array that lasts as long as the access. */
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
		err = wait_long_accs(acc->win, acc->target, 1);
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
	return err ? err : weft_win_am_end(acc->win, acc->target);
}

static int acc_all(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, struct weft_req **req_out)
{
	struct acc acc = { .win = win, .target = target, .access = access };
	int err;

	acc.whole = weft_win_whole_new(req_out);
	err = acc.whole ? acc_begin(&acc) : weft_win_no_memory();
	if (acc.op)
		weft_am_op_begun(&acc.op->am, err);
	if (acc.whole)
		err = weft_win_whole_begun(win, acc.whole, req_out, err);
	return err;
}

/* WEFT_AGAIN: it is not one short array of elements without holes. */
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
	err = wait_long_accs(win, target, 1);
	if (err)
		return err;
	if (is_fetching)
		rec.op |= WEFT_WIRE_AM_FETCHES;
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
		err = acc_all(win, target, access, req_out);
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
	err = wait_long_accs(win, target, 1);
	if (!err)
		err = send_one(
			win, target, &rec, data, 2 * len, &access->result);
	weft_vci_unlock(win->comm->vci);
	return err;
}
