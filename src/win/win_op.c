/* SPDX-License-Identifier: BSD-3-Clause */
/* win_op: what is due of accesses under way, and waiting for it */
#include "win/win_priv.h"

#include "base/err.h"
#include "core/comm.h"
#include "core/req.h"
#include "dt/pack.h"

#include <stdlib.h>
#include <string.h>

enum {
	ANSWER_ROUNDS = 256, /* some 10 us */
	ROUND_BYTES = 256,   /* that are copied meanwhile */
	MAX_ROUNDS = 4096,   /* less than the progress thread takes */
};

int weft_win_no_memory(void)
{
	return weft_err_set(WEFT_ERR_NOMEM, "no memory for one-sided access");
}

struct weft_type *weft_win_byte_type(void)
{
	return weft_type_builtin(0x247);
}

struct weft_req *weft_win_req_new(struct weft_win *win)
{
	struct weft_req *req = weft_req_new(win->comm->vci, WEFT_REQ_OTHER);

	if (req) /* errors are raised by way of it */
		req->comm = weft_comm_get(win->comm);
	return req;
}

struct weft_win_whole *weft_win_whole_new(struct weft_req **req_out)
{
	/* calloc() does not look at what this thread has freed just now */
	struct weft_win_whole *whole = malloc(sizeof(*whole));

	if (whole)
		*whole = (struct weft_win_whole){
			.n_parts = 1 /* the call that makes it */
		};
	if (req_out)
		*req_out = NULL;
	return whole;
}

void weft_win_whole_put(struct weft_win_whole *whole)
{
	if (--whole->n_parts)
		return;
	if (whole->old && !whole->err)
		whole->err = weft_type_copy(whole->basic, whole->n_old,
			whole->old, whole->result.type, whole->result.count,
			whole->result.buf);
	if (whole->req) {
		weft_req_complete(whole->req, whole->err);
		weft_req_put(whole->req);
	}
	weft_type_put((struct weft_type *)whole->result.type);
	free(whole->in);
	free(whole->old);
	free(whole);
}

struct weft_win_op *weft_win_op_new(struct weft_win *win,
	struct weft_win_target *target, struct weft_win_whole *whole,
	uint64_t n_left)
{
	struct weft_win_op *op = win->spare;
	bool is_first = weft_list_is_empty(&target->ops);

	win->spare = NULL;
	if (!op)
		op = malloc(sizeof(*op));
	if (!op)
		goto fail;
	*op = (struct weft_win_op){ .win = win,
		.target = target,
		.n_left = n_left,
		.n_holds = 1,
		.id = ++win->last_id,
		.number = ++target->n_ops };
	/* the first is found without */
	op->is_mapped = !is_first;
	if (!is_first && weft_map_put(&win->ops, op->id, op)) {
		free(op);
		goto fail;
	}
	op->whole = whole;
	if (whole)
		whole->n_parts++;
	weft_list_push_back(&target->ops, &op->link);
	return op;
fail:
	weft_err_set(WEFT_ERR_NOMEM, "no memory for one-sided access");
	return NULL;
}

struct weft_win_op *weft_win_op_of(const struct weft_win *win,
	const struct weft_win_target *target, uint64_t id)
{
	struct weft_win_op *first =
		weft_container_of(target->ops.next, struct weft_win_op, link);

	if (!weft_list_is_empty(&target->ops) && first->id == id)
		return first;
	first = id ? weft_map_get(&win->ops, id) : NULL;
	return first && first->target == target ? first : NULL;
}

/* Its access does not wait for it any more. */
static void op_leave_whole(struct weft_win_op *op)
{
	struct weft_win_whole *whole = op->whole;

	op->whole = NULL;
	if (!whole)
		return;
	if (op->err)
		whole->err = whole->err ? whole->err : op->err;
	else if (op->staging && op->to.type)
		weft_unpack(op->to.type, op->to.count, op->to.buf, op->pos,
			op->staging, op->len);
	weft_win_whole_put(whole);
}

static void op_unlink(struct weft_win_op *op)
{
	weft_list_remove(&op->link);
	if (!op->win)
		return;
	if (op->is_mapped)
		weft_map_remove(&op->win->ops, op->id);
	if (op->is_long_acc)
		op->target->n_long_accs--;
	op->win = NULL;
}

static void op_end(struct weft_win_op *op)
{
	struct weft_win *win = op->win; /* NULL: it is gone */

	op_leave_whole(op);
	op_unlink(op);
	weft_type_put((struct weft_type *)op->to.type);
	free(op->staging);
	if (win && !win->spare)
		win->spare = op;
	else
		free(op);
}

void weft_win_op_answered(struct weft_win_op *op, uint64_t n, int err)
{
	if (err && !op->err)
		op->err = err;
	op->n_left -= weft_min(n, op->n_left);
	if (!op->n_left && !op->n_holds)
		op_end(op);
}

void weft_win_op_begun(struct weft_win_op *op, int err)
{
	op->n_holds--;
	weft_win_op_answered(op, err ? op->n_left : 0, err);
}

void weft_win_op_refused(
	struct weft_win_target *target, int err, const void *text, size_t len)
{
	if (target->err)
		return;
	target->err = err;
	len = weft_min(len, sizeof(target->why) - 1);
	memcpy(target->why, text, len);
	target->why[len] = 0;
}

void weft_win_op_forget(struct weft_win_target *target, int err, bool is_gone)
{
	const char *why =
		"has failed, and with it what it had not yet answered";

	if (!weft_list_is_empty(&target->ops))
		weft_win_op_refused(target, err, why, strlen(why));
	weft_list_for_each(link, next, &target->ops)
	{
		struct weft_win_op *op =
			weft_container_of(link, struct weft_win_op, link);

		op->err = op->err ? op->err : err;
		if (!op->is_rma)
			op->n_left = 0;
		if (!op->n_left && !op->n_holds) {
			op_end(op);
			continue;
		}
		/* the fabric, or a receive, still has it */
		if (op->is_rma || is_gone)
			op_leave_whole(op);
		if (is_gone)
			op_unlink(op);
	}
}

/* What the target refused, once. */
static int target_fault(
	const struct weft_win *win, struct weft_win_target *target)
{
	int err = target->err;

	target->err = 0;
	return err ? weft_err_set(err, "rank %u of window \"%s\": %s",
			     target->rank, win->name, target->why)
		   : 0;
}

void weft_win_answered(struct weft_win_target *target,
	const struct weft_win_wait *wait, uint64_t n_bytes)
{
	if (weft_unlikely(wait->n_rounds >
			  weft_min(ANSWER_ROUNDS + n_bytes / ROUND_BYTES,
				  (uint64_t)MAX_ROUNDS)))
		atomic_store_explicit(
			&target->is_answering, false, memory_order_relaxed);
}

int weft_win_op_wait(struct weft_win *win, struct weft_win_target *target,
	enum weft_wire_win_kind kind)
{
	static const char *const what_names[] = {
		[WEFT_WIRE_WIN_UNLOCK] = "MPI_Win_unlock",
		[WEFT_WIRE_WIN_ASK] = "MPI_Win_flush",
	};
	struct weft_win_wait wait = { .win = win,
		.target = target,
		.what = what_names[kind],
		.is_lock = weft_win_is_lock_asked(win, target) };
	uint64_t number = target->n_ops;
	uint64_t n_bytes = 0, seen = 0;
	int err = weft_win_post_kept(win, target);

	while (!err && !weft_list_is_empty(&target->ops)) {
		const struct weft_win_op *first = weft_container_of(
			target->ops.next, struct weft_win_op, link);

		if (first->number > number)
			break;
		n_bytes += first->number != seen ? first->len : 0;
		seen = first->number;
		err = weft_win_wait_round(&wait);
	}
	err = weft_win_wait_end(&wait, err);
	weft_win_answered(target, &wait, n_bytes);
	return err ? err : target_fault(win, target);
}

int weft_win_whole_begun(struct weft_win *win, struct weft_win_whole *whole,
	struct weft_req **req_out, int err)
{
	if (req_out && !err) {
		whole->req = weft_win_req_new(win);
		if (whole->req)
			*req_out = weft_req_get(whole->req);
		else
			err = weft_win_no_memory();
	}
	weft_win_whole_put(whole);
	return err;
}

const char *weft_win_stream_at(
	const struct weft_win_buf *from, size_t pos, size_t len, void **staging)
{
	if (weft_type_is_run(from->type, from->count))
		return (const char *)from->buf + from->type->true_lb + pos;
	*staging = malloc(len);
	if (*staging)
		weft_pack(
			from->type, from->count, from->buf, pos, *staging, len);
	return *staging;
}
