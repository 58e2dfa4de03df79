/* SPDX-License-Identifier: BSD-3-Clause */
/* win_op: pending operations, and the accesses that they are parts of */
#include "win/win_priv.h"

#include "base/err.h"
#include "core/comm.h"
#include "core/req.h"
#include "dt/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int weft_win_no_memory(void)
{
	return weft_err_set(WEFT_ERR_NOMEM, "no memory for one-sided access");
}

struct weft_type *weft_win_byte_type(void)
{
	return weft_type_builtin(WEFT_TYPE_BYTE);
}

struct weft_req *weft_win_req_new(struct weft_win *win)
{
	struct weft_req *req = weft_req_new(win->comm->vci, WEFT_REQ_OTHER);

	if (req) /* its errors are raised on the window */
		req->comm = weft_comm_get(win->comm);
	return req;
}

struct weft_win_whole *weft_win_whole_new(struct weft_req **req_out)
{
	/* not calloc(): glibc's does not reuse the memory that this thread has
	 * just freed */
	struct weft_win_whole *whole = malloc(sizeof(*whole));

	if (whole)
		*whole = (struct weft_win_whole){
			.n_parts = 1 /* the calling function */
		};
	if (req_out)
		*req_out = NULL;
	return whole;
}

static void whole_put(struct weft_win_whole *whole)
{
	if (--whole->n_parts)
		return;
	if (!whole->err)
		whole->err = weft_win_elements_return(
			&whole->elements, &whole->result);
	if (whole->req) {
		weft_req_complete(whole->req, whole->err);
		weft_req_put(whole->req);
	}
	weft_type_put((struct weft_type *)whole->result.type);
	weft_win_elements_free(&whole->elements);
	free(whole);
}

/* --- operations ---------------------------------------------------- */

static struct weft_win_op *win_op_of(struct weft_am_op *op)
{
	return weft_container_of(op, struct weft_win_op, am);
}

static void win_op_take(
	struct weft_am_op *am, uint64_t pos, const void *data, size_t len)
{
	const struct weft_win_buf *to = &win_op_of(am)->to;

	weft_unpack(to->type, to->count, to->buf, pos, data, len);
}

/* Completes the operation's part of its access. */
static void win_op_end(struct weft_am_op *am)
{
	struct weft_win_op *op = win_op_of(am);
	struct weft_win_whole *whole = op->whole;

	op->whole = NULL;
	if (!whole)
		return;
	if (am->err)
		whole->err = whole->err ? whole->err : am->err;
	else if (op->staging && op->to.type)
		weft_unpack(op->to.type, op->to.count, op->to.buf, op->pos,
			op->staging, op->len);
	whole_put(whole);
}

static void win_op_release(struct weft_am_op *am)
{
	struct weft_win_op *op = win_op_of(am);
	struct weft_win *win = NULL;

	if (am->channel) {
		win = weft_win_of_channel(am->channel);
		weft_win_target_of_channel(am->channel)->n_long_accs -=
			op->is_long_acc;
	}
	weft_type_put((struct weft_type *)op->to.type);
	free(op->staging);
	if (win && !win->spare)
		win->spare = op;
	else
		free(op);
}

static const struct weft_am_op_ops win_op_ops = {
	.take = win_op_take,
	.end = win_op_end,
	.release = win_op_release,
};

struct weft_win_op *weft_win_op_new(struct weft_win *win,
	struct weft_win_target *target, struct weft_win_whole *whole,
	uint32_t n_left)
{
	struct weft_win_op *op = win->spare;

	win->spare = NULL;
	if (!op)
		op = malloc(sizeof(*op));
	if (!op) {
		weft_win_no_memory();
		return NULL;
	}
	*op = (struct weft_win_op){ .am.ops = &win_op_ops, .whole = whole };
	if (weft_am_op_begin(&target->am, &op->am, n_left)) {
		free(op);
		return NULL;
	}
	if (whole)
		whole->n_parts++;
	return op;
}

void weft_win_op_into(struct weft_win_op *op, const struct weft_win_buf *to)
{
	op->to = *to;
	weft_type_get((struct weft_type *)to->type);
	op->am.room = (uint64_t)(to->type->size * to->count);
	if (weft_type_is_run(to->type, to->count))
		op->am.dest = (char *)to->buf + to->type->true_lb;
}

char *weft_win_op_stage(struct weft_win_op *op, const struct weft_win_buf *buf,
	size_t pos, size_t len, bool is_put)
{
	if (weft_type_is_run(buf->type, buf->count))
		return (char *)buf->buf + buf->type->true_lb + pos;
	assert(!op->staging);
	op->staging = malloc(len);
	if (!op->staging) {
		weft_win_no_memory();
	} else if (is_put) {
		weft_pack(
			buf->type, buf->count, buf->buf, pos, op->staging, len);
	} else { /* unpacked at the end */
		op->to = *buf;
		op->pos = pos;
		op->len = len;
		weft_type_get((struct weft_type *)buf->type);
	}
	return op->staging;
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
	whole_put(whole);
	return err;
}
