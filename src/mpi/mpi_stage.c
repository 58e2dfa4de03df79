/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_stage: runs operations on the shadows of buffers in device memory */
#include "mpi_stage.h"

#include "base/err.h"
#include "coll/sched.h"
#include "transport/vci.h"

#include <stdlib.h>

/* Bytes of a block. By note 014, copying 8 blocks of 64 KiB to pinned memory
 * and back takes as long as 8 copies through IPC mappings. */
enum { DIRECT_MIN = 65536 };

int weft_stage_look(const void *buf, int64_t count, struct weft_type *type)
{
	const struct weft_shadow_part part = { (void *)(uintptr_t)buf, count,
		type };
	bool is_dev = false;
	int err = 0;

	if (weft_dev_is_open())
		err = weft_shadow_look(&part, 1, false, &is_dev);
	return err ? err : is_dev ? WEFT_ON_DEVICE : 0;
}

/* ---- shadows ---- */

/* Opens the shadow of parts if they are in device memory, and replaces *buf. */
static int open_shadow(struct weft_shadow *shadow, void **buf,
	const struct weft_shadow_part *parts, int32_t n, bool has_types)
{
	bool is_dev = false;
	int err = weft_shadow_look(parts, n, has_types, &is_dev);

	if (!err && is_dev)
		err = weft_shadow_open(shadow, parts, n);
	if (!err && is_dev)
		*buf = weft_shadow_buf(shadow, *buf);
	return err;
}

/* Copies the data that the operation reads to the shadows. */
static int read_shadows(const struct weft_stage *stage)
{
	int err = weft_shadow_read(&stage->source);

	return err || !stage->is_both ? err : weft_shadow_read(&stage->result);
}

int weft_stage_source(struct weft_stage *stage, void **buf, int64_t count,
	struct weft_type *type)
{
	const struct weft_shadow_part part = { *buf, count, type };
	int err = open_shadow(&stage->source, buf, &part, 1, false);

	return err ? err : weft_shadow_read(&stage->source);
}

int weft_stage_message(struct weft_stage *stage, struct weft_msg *msg)
{
	if (msg->mode == WEFT_SEND_BUFFERED || !weft_send_is_direct(msg))
		return weft_stage_source(
			stage, &msg->buf, msg->count, msg->type);
	msg->mode = WEFT_SEND_DEVICE;
	return 0;
}

int weft_stage_result(struct weft_stage *stage, void **buf, int64_t count,
	struct weft_type *type, bool is_both)
{
	const struct weft_shadow_part part = { *buf, count, type };
	int err = open_shadow(&stage->result, buf, &part, 1, false);

	stage->is_both = is_both;
	return err || !is_both ? err : weft_shadow_read(&stage->result);
}

int weft_stage_close(struct weft_stage *stage, int err, int64_t len)
{
	int write_err = 0;

	if (!err || err == WEFT_ERR_TRUNCATE)
		write_err = weft_shadow_write(&stage->result, len);
	weft_shadow_close(&stage->source);
	weft_shadow_close(&stage->result);
	return err ? err : write_err;
}

/* ---- collectives ---- */

/* Returns the number of blocks of a side. A reduce-scatter has one block on
 * each side; see part_of_reduce_scatter(). */
static int32_t n_side_blocks(
	enum weft_coll_kind kind, const struct weft_coll *coll, bool is_send)
{
	switch (kind) {
	case WEFT_COLL_GATHER:
		return is_send ? 1 : coll->comm->remote_size;
	case WEFT_COLL_SCATTER:
		return is_send ? coll->comm->remote_size : 1;
	case WEFT_COLL_ALLGATHER:
		return is_send ? 1 : coll->comm->remote_size;
	case WEFT_COLL_ALLTOALL:
		return coll->comm->remote_size;
	case WEFT_COLL_NEIGHBOR_ALLGATHER:
		return is_send ? 1 : coll->n_sources;
	case WEFT_COLL_NEIGHBOR_ALLTOALL:
		return is_send ? coll->n_dests : coll->n_sources;
	default:
		return 1;
	}
}

/* The send side of a reduce-scatter, and its receive side if it is in place,
 * have the data of all parts. */
static struct weft_shadow_part part_of_reduce_scatter(
	const struct weft_coll *coll, const struct weft_blocks *side)
{
	struct weft_shadow_part part = { side->buf, side->count, side->type };

	if (side == &coll->recv && !coll->is_in_place) {
		if (side->counts)
			part.count = side->counts[coll->comm->rank];
		return part;
	}
	part.count = 0;
	for (int32_t i = 0; i < coll->comm->size; i++)
		part.count += side->counts ? side->counts[i] : side->count;
	return part;
}

static int stage_side(struct weft_shadow *shadow, enum weft_coll_kind kind,
	const struct weft_coll *coll, struct weft_blocks *side)
{
	int32_t n = n_side_blocks(kind, coll, side == &coll->send);
	bool is_array = side->counts && kind != WEFT_COLL_REDUCE_SCATTER;
	struct weft_shadow_part one = { side->buf, side->count, side->type };
	struct weft_shadow_part *parts = &one;
	int err;

	if (!side->type && !side->types)
		return 0; /* not significant at this process */
	if (kind == WEFT_COLL_REDUCE_SCATTER)
		one = part_of_reduce_scatter(coll, side);
	else
		one.count *= n;
	if (!is_array)
		return open_shadow(shadow, &side->buf, &one, 1, false);
	parts = malloc((size_t)(n ? n : 1) * sizeof(*parts));
	if (!parts)
		return WEFT_ERR_NOMEM;
	for (int32_t i = 0; i < n; i++) {
		struct weft_span block = weft_block(side, i);

		parts[i] = (struct weft_shadow_part){ block.buf, block.count,
			block.type };
	}
	err = open_shadow(
		shadow, &side->buf, parts, n, side->types || !side->buf);
	free(parts);
	return err;
}

/* True if the receive side has data before the operation, or keeps some of it:
 * without a predecessor or a neighbour, a block is not written. */
static bool is_recv_read(enum weft_coll_kind kind, const struct weft_coll *coll)
{
	return coll->is_in_place || kind == WEFT_COLL_EXSCAN ||
	       kind == WEFT_COLL_NEIGHBOR_ALLGATHER ||
	       kind == WEFT_COLL_NEIGHBOR_ALLTOALL ||
	       (kind == WEFT_COLL_BCAST &&
		       (coll->comm->is_inter ? coll->root == WEFT_ROOT
					     : coll->root == coll->comm->rank));
}

/* The blocks of both sides of a collective. */
struct block_sum {
	int64_t n, n_bytes;
	bool is_dev; /* a side is in device memory */
};

/* Adds the blocks of a side. False if a block is not contiguous, or if only one
 * end of the side is in device memory. */
static bool add_blocks(enum weft_coll_kind kind, const struct weft_coll *coll,
	const struct weft_blocks *side, struct block_sum *sum)
{
	const int32_t n = n_side_blocks(kind, coll, side == &coll->send);
	uintptr_t low = UINTPTR_MAX, high = 0;
	struct weft_dev_where where;
	bool is_dev;

	if (!side->type && !side->types)
		return true; /* not significant at this process */
	for (int32_t i = 0; i < n; i++) {
		struct weft_span block = weft_block(side, i);
		int64_t len = block.count * block.type->size;
		uintptr_t at =
			(uintptr_t)block.buf + (uintptr_t)block.type->true_lb;

		if (!weft_type_is_run(block.type, block.count))
			return false;
		if (len && at < low)
			low = at;
		if (len && at + (uintptr_t)len > high)
			high = at + (uintptr_t)len;
		sum->n_bytes += len;
	}
	sum->n += n;
	if (low >= high)
		return true; /* no data */
	is_dev = weft_dev_find((void *)low, &where);
	sum->is_dev |= is_dev;
	return is_dev == weft_dev_find((void *)(high - 1), &where);
}

bool weft_stage_coll_is_direct(
	enum weft_coll_kind kind, const struct weft_coll *coll)
{
	struct block_sum sum = { 0 };

	if (coll->op || kind == WEFT_COLL_BARRIER || coll->comm->is_inter ||
		!weft_dev_is_open())
		return false;
	if (!coll->is_in_place && !add_blocks(kind, coll, &coll->send, &sum))
		return false;
	return add_blocks(kind, coll, &coll->recv, &sum) && sum.is_dev &&
	       sum.n_bytes / sum.n >= DIRECT_MIN;
}

int weft_stage_coll(struct weft_stage *stage, enum weft_coll_kind kind,
	struct weft_coll *coll)
{
	int err = 0;

	if (!coll->is_in_place)
		err = stage_side(&stage->source, kind, coll, &coll->send);
	if (!err)
		err = stage_side(&stage->result, kind, coll, &coll->recv);
	stage->is_both = is_recv_read(kind, coll);
	stage->len = INT64_MAX;
	return err ? err : read_shadows(stage);
}

/* ---- requests ---- */

static void stage_drop_inner(struct weft_stage *stage)
{
	if (stage->inner) {
		stage->inner->on_done = NULL;
		weft_req_put(stage->inner);
	}
	stage->inner = NULL;
}

/* Called when the inner request has completed. Lock held. */
static void on_inner(void *arg, struct weft_req *inner)
{
	struct weft_req *outer = arg;
	struct weft_stage *stage = outer->attached;
	int err = inner->status.err;

	outer->status = inner->status;
	if ((!err || err == WEFT_ERR_TRUNCATE) && !inner->status.is_cancelled) {
		int write_err = weft_shadow_write(&stage->result,
			stage->len ? stage->len : inner->status.len);

		err = err ? err : write_err;
	}
	if (inner->is_persistent)
		inner->is_active = false;
	else
		stage_drop_inner(stage);
	weft_req_complete(outer, err);
	weft_req_put(outer);
}

/* Called after each start of the inner request. Lock held. */
static void note_inner(struct weft_req *inner)
{
	if (inner->kind == WEFT_REQ_RECV && !inner->is_done)
		inner->recv.is_inner = true;
}

static int start_inner(struct weft_req *outer)
{
	struct weft_stage *stage = outer->attached;
	int err = read_shadows(stage);

	if (err && stage->inner->kind != WEFT_REQ_COLL)
		return err;
	if (err) /* the other members of the collective must not wait */
		weft_sched_list_fail(stage->inner, err);
	weft_req_get(outer); /* on_inner() drops it */
	err = weft_req_start_locked(stage->inner);
	note_inner(stage->inner);
	if (err && !outer->is_done)
		weft_req_put(outer);
	else if (stage->inner->is_done && !outer->is_done)
		on_inner(outer, stage->inner);
	return err;
}

static int cancel_inner(struct weft_req *outer)
{
	struct weft_stage *stage = outer->attached;
	struct weft_req *inner = stage->inner;

	if (outer->is_done || !inner)
		return 0;
	if (inner->ops && inner->ops->cancel)
		return inner->ops->cancel(inner);
	return weft_req_cancel(inner);
}

static struct weft_req *stage_inner(const struct weft_req *outer)
{
	const struct weft_stage *stage = outer->attached;

	return stage->inner;
}

static void stage_release(struct weft_req *outer)
{
	struct weft_stage *stage = outer->attached;

	stage_drop_inner(stage);
	weft_shadow_close(&stage->source);
	weft_shadow_close(&stage->result);
	free(stage);
}

/* Sends and receives can be cancelled. */
static const struct weft_req_ops message_ops = { .start = start_inner,
	.cancel = cancel_inner,
	.inner = stage_inner,
	.release = stage_release };
static const struct weft_req_ops other_ops = {
	.start = start_inner, .inner = stage_inner, .release = stage_release
};

int weft_stage_open(struct weft_comm *comm, struct weft_stage **stage_out,
	struct weft_req **outer_out)
{
	struct weft_stage *stage = calloc(1, sizeof(*stage));
	struct weft_req *outer;

	if (!stage)
		return WEFT_ERR_NOMEM;
	weft_vci_lock(comm->vci);
	outer = weft_req_new(comm->vci, WEFT_REQ_OTHER);
	if (outer) {
		outer->comm = weft_comm_get(comm);
		outer->attached = stage;
		outer->ops = &other_ops;
		*stage_out = stage;
		*outer_out = outer;
	} else {
		free(stage);
	}
	weft_vci_unlock(comm->vci);
	return outer ? 0 : WEFT_ERR_NOMEM;
}

int weft_stage_follow_take(
	struct weft_req *outer, int err, struct weft_req *inner)
{
	struct weft_vci *vci = outer->vci;
	struct weft_stage *stage = outer->attached;

	weft_vci_lock(vci);
	if (err) {
		weft_req_put(outer);
		weft_vci_unlock(vci);
		return err;
	}
	stage->inner = inner;
	if (inner->kind == WEFT_REQ_SEND || inner->kind == WEFT_REQ_RECV)
		outer->ops = &message_ops;
	outer->is_persistent = inner->is_persistent;
	if (inner->is_persistent) {
		outer->is_active = false;
		outer->is_done = true;
		inner->on_done = on_inner;
		inner->on_done_arg = outer;
	} else if (inner->is_done) {
		weft_req_get(outer);
		on_inner(outer, inner);
	} else {
		weft_req_get(outer);
		note_inner(inner);
		inner->on_done = on_inner;
		inner->on_done_arg = outer;
	}
	weft_vci_unlock(vci);
	return 0;
}

/* ---- blocking messages ---- */

int weft_stage_send(const struct weft_msg *msg)
{
	struct weft_stage stage = { 0 };
	struct weft_msg staged = *msg;
	int err = weft_stage_message(&stage, &staged);

	if (!err)
		err = weft_send(&staged);
	return weft_stage_close(&stage, err, 0);
}

int weft_stage_recv(const struct weft_msg *msg, struct weft_status *status_out)
{
	struct weft_stage stage = { 0 };
	struct weft_msg staged = *msg;
	int err = weft_stage_result(
		&stage, &staged.buf, staged.count, staged.type, false);

	status_out->len = 0;
	if (!err)
		err = weft_recv(&staged, status_out);
	return weft_stage_close(&stage, err, status_out->len);
}
