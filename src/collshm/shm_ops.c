/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_ops: the operations of a segment
 *
 * Usually, a member reads the slots of all members whose data it needs in one
 * step. In a barrier, a reduce or a short allreduce of more than eight members,
 * a tree of degree eight collects the data at local rank 0. The other members,
 * or the root of a reduce, then read the slot of local rank 0. Operands are
 * combined from right to left in rank order, with the same brackets at all
 * members.
 *
 * Data above 8 KiB is divided into pieces: short pieces if one member reads
 * while another writes, long pieces in a scatter or if all members exchange
 * data. A reduce-scatter is not divided. In a long allreduce, each member
 * combines one slice of the data for all members. */
#include "collshm/shm_coll.h"

#include "dt/pack.h"

#include <stdlib.h>
#include <string.h>

enum {
	DEGREE = 8,
	/* length of a piece of rooted operations and scans */
	PIECE_LEN = WEFT_COLL_PART_LEN,
	ITEM_MAX = 1024, /* longest item, in bytes, of data that is divided into
			    pieces */
};

/* A reduction in progress at this member. */
struct operand {
	const struct weft_redop *op;
	struct weft_span own;	 /* this member's operand */
	struct weft_span result; /* in the caller's or scratch memory */
	size_t at;	   /* offset of the operands in each member's data */
	const void *right; /* the intermediate result: in result.buf, or the
			      first operand at its address in the segment or in
			      the caller's memory */
	void *scratch;	   /* memory to unpack one operand; or NULL */
	bool is_begun;	   /* `right` is valid */
	bool is_staged;	   /* `own` is read from the segment */
};

static bool is_flat(const struct weft_coll_round *r)
{
	return r->shm->n <= DEGREE;
}

/* Returns the distance d of the highest level of the tree at which this member
 * reads other members: members me + d, me + 2 d, ... me + 7 d. 0: this member
 * is a leaf. */
static int32_t top_of(const struct weft_coll_shm *shm)
{
	int32_t top = 0;

	for (int32_t dist = 1; dist < shm->n; dist *= DEGREE) {
		if (shm->me % (dist * DEGREE) || shm->me + dist >= shm->n)
			break;
		top = dist;
	}
	return top;
}

/* ---- copies to and from the segment ---- */

/* Packs len bytes of a buffer, from byte r->skip on. Earlier pieces contain the
 * bytes before r->skip. */
static void copy_out(const struct weft_coll_round *r, struct weft_span from,
	uint8_t *to, size_t len)
{
	if (weft_likely(weft_type_is_run(from.type, from.count)))
		weft_write(r->shm->stores_past, to,
			(char *)from.buf + from.type->true_lb + r->skip, len);
	else
		weft_pack(from.type, from.count, from.buf, r->skip, to, len);
}

static void copy_in(const struct weft_coll_round *r, struct weft_span to,
	const uint8_t *from, size_t len)
{
	if (weft_likely(weft_type_is_run(to.type, to.count)))
		memcpy((char *)to.buf + to.type->true_lb + r->skip, from, len);
	else
		weft_unpack(to.type, to.count, to.buf, r->skip, from, len);
}

static void stage_data(struct weft_coll_round *r, struct weft_span from)
{
	uint8_t *to = weft_coll_data_of(r, r->shm->me);

	if (!r->err)
		copy_out(r, from, to, r->len);
}

static void publish_data(struct weft_coll_round *r, struct weft_span from)
{
	weft_coll_wait_space(r);
	stage_data(r, from);
	weft_coll_publish(r);
}

/* The block for `to` in the data of `from`. This data is the packed blocks of
 * `from` for all other members. */
static uint8_t *others_block(
	const struct weft_coll_round *r, int32_t from, int32_t to, size_t len)
{
	return weft_coll_data_of(r, from) + (size_t)(to - (to > from)) * len;
}

static void publish_blocks(
	struct weft_coll_round *r, const struct weft_blocks *from, size_t len)
{
	const int32_t me = r->shm->me;

	weft_coll_wait_space(r);
	for (int32_t i = 0; !r->err && i < r->shm->n; i++)
		if (i != me)
			copy_out(r, weft_block(from, i),
				others_block(r, me, i, len), len);
	weft_coll_publish(r);
}

static void read_data(
	struct weft_coll_round *r, int32_t rank, struct weft_span to)
{
	weft_coll_wait(r, rank);
	if (!r->err)
		copy_in(r, to, weft_coll_data_of(r, rank), r->len);
}

static int copy_own(struct weft_span from, struct weft_span to)
{
	return weft_type_copy(
		from.type, from.count, from.buf, to.type, to.count, to.buf);
}

/* ---- reductions ---- */

/* Copies the intermediate result to the result buffer, unless it is there. */
static void fold_end(struct weft_coll_round *r, struct operand *o)
{
	const struct weft_span to = o->result;

	if (r->err || !o->is_begun || o->right == to.buf)
		return;
	r->err = weft_type_copy(
		to.type, to.count, o->right, to.type, to.count, to.buf);
	o->right = to.buf;
}

/* Combines one more operand, to the left of the earlier operands. The operand
 * must not change until the next call. */
static void fold(struct weft_coll_round *r, struct operand *o, const void *left)
{
	const struct weft_span to = o->result;

	if (!o->is_begun) {
		o->is_begun = true;
		o->right = left;
		if (!o->op->is_builtin)
			fold_end(r, o); /* a user-defined function overwrites
					   `right` */
		return;
	}
	if (weft_likely(o->op->is_builtin))
		r->err = weft_redop_apply(
			o->op, left, o->right, to.buf, to.count, to.type);
	else
		weft_redop_call(o->op, left, to.buf, to.count, to.type);
	o->right = to.buf;
}

static void fold_data(
	struct weft_coll_round *r, struct operand *o, int32_t rank)
{
	const uint8_t *data = weft_coll_data_of(r, rank) + o->at;
	const struct weft_span to = o->result;
	void *room = o->is_begun ? o->scratch : to.buf;

	if (weft_likely(weft_type_is_run(to.type, to.count))) {
		fold(r, o, data - to.type->true_lb);
		return;
	}
	weft_unpack(to.type, to.count, room, 0, data,
		(size_t)(to.count * to.type->size));
	fold(r, o, room);
}

static void fold_published(
	struct weft_coll_round *r, struct operand *o, int32_t rank)
{
	weft_coll_wait(r, rank);
	if (weft_likely(!r->err))
		fold_data(r, o, rank);
}

static void fold_own(struct weft_coll_round *r, struct operand *o)
{
	if (r->err)
		return;
	if (o->is_staged)
		fold_data(r, o, r->shm->me);
	else
		fold(r, o, o->own.buf);
}

/* Combines the operands of all members. */
static void fold_all(struct weft_coll_round *r, struct operand *o)
{
	for (int32_t i = r->shm->n - 1; i >= 0; i--)
		if (i == r->shm->me)
			fold_own(r, o);
		else
			fold_published(r, o, i);
	fold_end(r, o);
}

/* Combines this member's operand and the operands of the members that it reads
 * in the tree. */
static void fold_tree(struct weft_coll_round *r, struct operand *o)
{
	const int32_t n = r->shm->n, me = r->shm->me;

	for (int32_t dist = top_of(r->shm); dist; dist /= DEGREE)
		for (int32_t i = DEGREE - 1; i > 0; i--)
			if (me + i * dist < n)
				fold_published(r, o, me + i * dist);
	fold_own(r, o);
	fold_end(r, o);
}

/* Memory for one operand with the count and type of `like`. */
static void *typed_room(struct weft_coll_round *r, struct weft_span like)
{
	int64_t low;
	size_t len = weft_items_len(like.count, like.type, &low);
	char *room = malloc(weft_max(len, 1));

	if (!room) {
		r->err = WEFT_ERR_NOMEM;
		return NULL;
	}
	return room - low;
}

static void typed_free(void *room, struct weft_span like)
{
	int64_t low;

	if (!room)
		return;
	weft_items_len(like.count, like.type, &low);
	free((char *)room + low);
}

static void take_scratch(struct weft_coll_round *r, struct operand *o)
{
	o->scratch = NULL;
	if (!weft_type_is_run(o->result.type, o->result.count))
		o->scratch = typed_room(r, o->result);
}

/* ---- operations ---- */

static void shm_barrier(struct weft_coll_round *r)
{
	const int32_t n = r->shm->n, me = r->shm->me;

	weft_coll_wait_space(r);
	if (is_flat(r)) {
		weft_coll_publish(r);
		for (int32_t i = 0; i < n; i++)
			if (i != me)
				weft_coll_wait(r, i);
		return;
	}
	for (int32_t dist = 1; dist <= top_of(r->shm); dist *= DEGREE)
		for (int32_t i = 1; i < DEGREE && me + i * dist < n; i++)
			weft_coll_wait(r, me + i * dist);
	weft_coll_publish(r);
	weft_coll_wait(r, 0);
}

static void shm_bcast(struct weft_coll_round *r, const struct weft_coll *args)
{
	struct weft_span span = weft_block(&args->recv, 0);

	if (r->shm->me == args->root)
		publish_data(r, span);
	else
		read_data(r, args->root, span);
}

/* If the result would overwrite this member's operand before the operand is
 * used, copies the operand to this member's part of the segment first. */
static void stage_own(struct weft_coll_round *r, struct operand *o)
{
	if (o->own.buf != o->result.buf || r->shm->me == r->shm->n - 1)
		return;
	weft_coll_wait_space(r);
	stage_data(r, o->own);
	o->is_staged = true;
}

static void shm_allreduce(
	struct weft_coll_round *r, const struct weft_coll *args)
{
	struct operand o = {
		.op = args->op,
		.own = weft_block(
			args->is_in_place ? &args->recv : &args->send, 0),
		.result = weft_block(&args->recv, 0),
	};

	take_scratch(r, &o);
	if (is_flat(r)) {
		publish_data(r, o.own);
		if (args->is_in_place && r->shm->me < r->shm->n - 1)
			o.is_staged = true;
		fold_all(r, &o);
	} else if (top_of(r->shm)) {
		stage_own(r, &o);
		fold_tree(r, &o);
		publish_data(r, o.result);
	} else {
		publish_data(r, o.own);
	}
	if (!is_flat(r) && r->shm->me)
		read_data(r, 0, o.result);
	typed_free(o.scratch, o.result);
}

/* Reduces up the tree to local rank 0, which publishes the result to the root.
 */
static void reduce_up(
	struct weft_coll_round *r, struct operand *o, int32_t root)
{
	const int32_t me = r->shm->me;
	void *room = NULL;

	if (!top_of(r->shm)) {
		publish_data(r, o->own);
	} else {
		if (me != root)
			room = o->result.buf = typed_room(r, o->result);
		stage_own(r, o);
		if (!r->err)
			fold_tree(r, o);
		if (me || root)
			publish_data(r, o->result);
		typed_free(room, o->result);
	}
	if (me == root && me)
		read_data(r, 0, o->result);
}

static void shm_reduce(struct weft_coll_round *r, const struct weft_coll *args)
{
	const bool is_root = r->shm->me == args->root;
	const bool is_in_place = args->is_in_place && is_root;
	struct operand o = {
		.op = args->op,
		.own = weft_block(is_in_place ? &args->recv : &args->send, 0),
	};

	o.result = o.own;
	if (is_root)
		o.result.buf = args->recv.buf;
	take_scratch(r, &o);
	if (!is_flat(r)) {
		reduce_up(r, &o, args->root);
	} else if (is_root) {
		stage_own(r, &o);
		fold_all(r, &o);
	} else {
		publish_data(r, o.own);
	}
	typed_free(o.scratch, o.result);
}

/* Each member combines its block of all operands. */
static void shm_reduce_scatter(
	struct weft_coll_round *r, const struct weft_coll *args)
{
	const int32_t n = r->shm->n, me = r->shm->me;
	struct operand o = {
		.op = args->op,
		.result = weft_block(&args->recv, 0),
		.at = (size_t)me * (r->len / (size_t)n),
		.is_staged = true,
	};
	struct weft_span whole = o.result;

	if (!args->is_in_place)
		whole.buf = args->send.buf;
	whole.count *= n;
	take_scratch(r, &o);
	publish_data(r, whole);
	fold_all(r, &o);
	typed_free(o.scratch, o.result);
}

/* Scans: members form groups of eight. A member reads the operands below it in
 * its group, and the prefix that the last member of the group below publishes.
 * If members share cores, the time depends on the total work, not on the
 * longest chain. Then every member reads only the prefix of the previous
 * member. */
static int32_t place_in_group(const struct weft_coll_round *r)
{
	return r->shm->shares_cores ? 0 : r->shm->me % DEGREE;
}

static bool publishes_prefix(const struct weft_coll_round *r)
{
	const bool is_last =
		r->shm->shares_cores || r->shm->me % DEGREE == DEGREE - 1;

	return is_last && r->shm->me + 1 < r->shm->n;
}

static void fold_below(struct weft_coll_round *r, struct operand *o)
{
	const int32_t me = r->shm->me, low = me - place_in_group(r) - 1;

	for (int32_t i = me - 1; i >= 0 && i >= low; i--)
		fold_published(r, o, i);
	fold_end(r, o);
}

static void shm_scan(struct weft_coll_round *r, const struct weft_coll *args)
{
	struct operand o = {
		.op = args->op,
		.own = weft_block(
			args->is_in_place ? &args->recv : &args->send, 0),
		.result = weft_block(&args->recv, 0),
	};

	take_scratch(r, &o);
	if (!publishes_prefix(r))
		publish_data(r, o.own);
	fold_own(r, &o);
	fold_below(r, &o);
	if (publishes_prefix(r))
		publish_data(r, o.result);
	typed_free(o.scratch, o.result);
}

/* A member that publishes its prefix computes two results: the prefix, which
 * includes its own operand, and the result, which does not. */
static void shm_exscan(struct weft_coll_round *r, const struct weft_coll *args)
{
	struct operand o = {
		.op = args->op,
		.own = weft_block(
			args->is_in_place ? &args->recv : &args->send, 0),
		.result = weft_block(&args->recv, 0),
	};
	struct operand all = o;
	void *room = NULL;

	take_scratch(r, &o);
	if (publishes_prefix(r))
		room = all.result.buf = typed_room(r, o.result);
	if (room) {
		fold_own(r, &all);
		fold_end(r, &all); /* the result may overwrite the operand */
	} else {
		publish_data(r, o.own);
	}
	fold_below(r, &o);
	if (room && !r->err) {
		if (r->shm->me)
			fold(r, &all, o.result.buf);
		publish_data(r, all.result);
	}
	typed_free(room, o.result);
	typed_free(o.scratch, o.result);
}

static void shm_allgather(
	struct weft_coll_round *r, const struct weft_coll *args)
{
	const int32_t n = r->shm->n, me = r->shm->me;
	struct weft_span own = args->is_in_place ? weft_block(&args->recv, me)
						 : weft_block(&args->send, 0);

	publish_data(r, own);
	if (!args->is_in_place && !r->err && !r->skip)
		r->err = copy_own(own, weft_block(&args->recv, me));
	for (int32_t i = 0; i < n; i++)
		if (i != me)
			read_data(r, i, weft_block(&args->recv, i));
}

static void shm_gather(struct weft_coll_round *r, const struct weft_coll *args)
{
	const int32_t n = r->shm->n, me = r->shm->me;

	if (me != args->root) {
		publish_data(r, weft_block(&args->send, 0));
		return;
	}
	for (int32_t i = 0; i < n; i++)
		if (i != me)
			read_data(r, i, weft_block(&args->recv, i));
	if (!args->is_in_place && !r->err && !r->skip)
		r->err = copy_own(weft_block(&args->send, 0),
			weft_block(&args->recv, me));
}

static void shm_scatter(struct weft_coll_round *r, const struct weft_coll *args)
{
	const int32_t me = r->shm->me;
	const size_t len = r->len / (size_t)(r->shm->n - 1);

	if (me != args->root) {
		weft_coll_wait(r, args->root);
		if (!r->err)
			copy_in(r, weft_block(&args->recv, 0),
				others_block(r, args->root, me, len), len);
		return;
	}
	publish_blocks(r, &args->send, len);
	if (!args->is_in_place && !r->err && !r->skip)
		r->err = copy_own(weft_block(&args->send, me),
			weft_block(&args->recv, 0));
}

static void shm_alltoall(
	struct weft_coll_round *r, const struct weft_coll *args)
{
	const struct weft_blocks *from =
		args->is_in_place ? &args->recv : &args->send;
	const int32_t n = r->shm->n, me = r->shm->me;
	const size_t len = r->len / (size_t)(n - 1);

	publish_blocks(r, from, len);
	if (!args->is_in_place && !r->err && !r->skip)
		r->err = copy_own(weft_block(&args->send, me),
			weft_block(&args->recv, me));
	for (int32_t i = 0; i < n; i++) {
		if (i == me)
			continue;
		weft_coll_wait(r, i);
		if (!r->err)
			copy_in(r, weft_block(&args->recv, i),
				others_block(r, i, me, len), len);
	}
}

/* The length of the data of a call in bytes, as the rules count it; equal at
 * all members. -1: the call cannot use a segment. */
static int64_t length_of(const struct weft_coll_shm *shm,
	enum weft_coll_kind kind, const struct weft_coll *args)
{
	const struct weft_blocks *data = &args->recv;
	int64_t blocks = 1;

	if (args->is_irregular)
		return -1;
	switch (kind) {
	case WEFT_COLL_REDUCE_SCATTER:
		blocks = shm->n;
		break;
	case WEFT_COLL_BARRIER:
		return 0;
	case WEFT_COLL_REDUCE:
		if (!args->is_in_place || shm->me != args->root)
			data = &args->send;
		break;
	case WEFT_COLL_GATHER:
	case WEFT_COLL_SCATTER:
		if ((kind == WEFT_COLL_GATHER) != (shm->me == args->root))
			data = &args->send;
		break;
	case WEFT_COLL_ALLGATHER:
	case WEFT_COLL_ALLTOALL:
	case WEFT_COLL_BCAST:
	case WEFT_COLL_ALLREDUCE:
	case WEFT_COLL_SCAN:
	case WEFT_COLL_EXSCAN:
		break;
	default:
		return -1;
	}
	blocks *= data->count * data->type->size;
	/* data of long items cannot be divided into pieces */
	if (weft_unlikely(args->op && blocks > WEFT_COLL_SHORT_MAX &&
			  data->type->size > ITEM_MAX))
		return -1;
	return blocks;
}

static void shm_operation(
	struct weft_coll_round *r, const struct weft_coll *args)
{
	if (r->kind == WEFT_COLL_BARRIER)
		shm_barrier(r);
	else if (r->kind == WEFT_COLL_BCAST)
		shm_bcast(r, args);
	else if (r->kind == WEFT_COLL_ALLREDUCE)
		shm_allreduce(r, args);
	else if (r->kind == WEFT_COLL_REDUCE)
		shm_reduce(r, args);
	else if (r->kind == WEFT_COLL_ALLGATHER)
		shm_allgather(r, args);
	else if (r->kind == WEFT_COLL_ALLTOALL)
		shm_alltoall(r, args);
	else if (r->kind == WEFT_COLL_GATHER)
		shm_gather(r, args);
	else if (r->kind == WEFT_COLL_SCATTER)
		shm_scatter(r, args);
	else if (r->kind == WEFT_COLL_REDUCE_SCATTER)
		shm_reduce_scatter(r, args);
	else if (r->kind == WEFT_COLL_SCAN)
		shm_scan(r, args);
	else
		shm_exscan(r, args);
}

/* ---- in pieces ---- */

/* A long allreduce: each member combines one slice of the operands. Then all
 * members read all slices. */
static int32_t slice_start(
	const struct weft_coll_round *r, struct weft_span span, int32_t rank)
{
	return (int32_t)weft_slice_start(span.count, rank, r->shm->n);
}

static struct weft_span members_slice(
	const struct weft_coll_round *r, struct weft_span span, int32_t rank)
{
	return weft_slices(span, rank, rank + 1, r->shm->n);
}

static size_t bytes_of(struct weft_span span)
{
	return (size_t)(span.count * span.type->size);
}

/* Writes all slices of the operand, except the slice that this member combines.
 */
static void stage_others(struct weft_coll_round *r, struct weft_span from)
{
	uint8_t *to = weft_coll_data_of(r, r->shm->me);
	struct weft_span own = members_slice(r, from, r->shm->me);
	const size_t size = (size_t)from.type->size;
	const size_t low = (size_t)slice_start(r, from, r->shm->me) * size;
	const size_t high = low + bytes_of(own);

	weft_coll_wait_space(r);
	if (r->err)
		return;
	copy_out(r, from, to, low);
	r->skip = high;
	copy_out(r, from, to + high, r->len - high);
	r->skip = 0;
}

static void combine_slices(
	struct weft_coll_round *r, const struct weft_coll *args)
{
	const int32_t n = r->shm->n, me = r->shm->me;
	struct weft_span all =
		weft_block(args->is_in_place ? &args->recv : &args->send, 0);
	struct operand o = {
		.op = args->op,
		.own = members_slice(r, all, me),
		.result = members_slice(r, weft_block(&args->recv, 0), me),
		.at = (size_t)slice_start(r, all, me) * (size_t)all.type->size,
	};

	take_scratch(r, &o);
	if (args->is_in_place && me < n - 1) {
		publish_data(r, all);
		o.is_staged = true;
	} else {
		stage_others(r, all);
		weft_coll_publish(r);
	}
	fold_all(r, &o);
	typed_free(o.scratch, o.result);
}

static void spread_slices(
	struct weft_coll_round *r, const struct weft_coll *args)
{
	const int32_t n = r->shm->n, me = r->shm->me;
	struct weft_span all = weft_block(&args->recv, 0);

	weft_coll_wait_space(r);
	if (!r->err)
		copy_out(r, members_slice(r, all, me), weft_coll_data_of(r, me),
			bytes_of(members_slice(r, all, me)));
	weft_coll_publish(r);
	for (int32_t i = 0; i < n; i++) {
		struct weft_span to = members_slice(r, all, i);

		if (i != me)
			weft_coll_wait(r, i);
		if (i != me && !r->err)
			copy_in(r, to, weft_coll_data_of(r, i), bytes_of(to));
	}
}

static int allreduce_in_slices(
	const struct weft_coll *args, size_t len, int err)
{
	const struct weft_span all = weft_block(&args->recv, 0);
	const int32_t n = args->comm->coll.shm->n;
	struct weft_coll_round r;

	weft_coll_round_begin(&r, args, WEFT_COLL_ALLREDUCE, len);
	r.err = err;
	combine_slices(&r, args);
	err = weft_coll_round_end(&r);
	weft_coll_round_begin(&r, args, WEFT_COLL_ALLREDUCE,
		(size_t)((all.count + n - 1) / n * all.type->size));
	r.err = err;
	spread_slices(&r, args);
	return weft_coll_round_end(&r);
}

static int shm_piece(enum weft_coll_kind kind, const struct weft_coll *args,
	size_t skip, size_t len, int err)
{
	struct weft_coll_round r;

	if (kind == WEFT_COLL_ALLTOALL || kind == WEFT_COLL_SCATTER)
		len *= (size_t)args->comm->coll.shm->n - 1;
	weft_coll_round_begin(&r, args, kind, len);
	if (weft_unlikely(!len) && kind != WEFT_COLL_BARRIER)
		return err;
	r.skip = skip;
	r.err = err;
	shm_operation(&r, args);
	return weft_coll_round_end(&r);
}

/* Members may describe the same data by different types, so the data is divided
 * at bytes. */
static int shm_by_bytes(enum weft_coll_kind kind, const struct weft_coll *args,
	size_t len, int err)
{
	size_t most = PIECE_LEN, n_others = (size_t)args->comm->coll.shm->n - 1;

	if (kind == WEFT_COLL_ALLGATHER)
		most = WEFT_COLL_LONG_MAX;
	else if (kind == WEFT_COLL_ALLTOALL || kind == WEFT_COLL_SCATTER)
		most = WEFT_COLL_LONG_MAX / n_others & ~(size_t)63;
	for (size_t at = 0; at < len; at += most)
		err = shm_piece(kind, args, at, weft_min(most, len - at), err);
	return err;
}

static struct weft_blocks items_of(
	const struct weft_blocks *from, int64_t at, int64_t count)
{
	struct weft_blocks part = *from;

	if (!from->type)
		return part;
	/* computed with integers, because the buffer may be NULL */
	part.buf = (void *)((uintptr_t)from->buf +
			    (uintptr_t)(at * from->type->extent));
	part.count = count;
	return part;
}

/* All operands have one type, so the data is divided at items. */
static int shm_by_items(enum weft_coll_kind kind, const struct weft_coll *args,
	size_t len, int err)
{
	const bool is_sliced = kind == WEFT_COLL_ALLREDUCE;
	const bool is_in_place =
		args->is_in_place &&
		(kind != WEFT_COLL_REDUCE ||
			args->comm->coll.shm->me == args->root);
	const int64_t size =
		(is_in_place ? &args->recv : &args->send)->type->size;
	const int64_t most =
		(is_sliced ? WEFT_COLL_LONG_MAX : PIECE_LEN) / size;
	const int64_t count = (int64_t)len / size;
	struct weft_coll part = *args;

	for (int64_t at = 0; at < count; at += most) {
		int64_t n = weft_min64(most, count - at);

		part.send = items_of(&args->send, at, n);
		part.recv = items_of(&args->recv, at, n);
		if (is_sliced)
			err = allreduce_in_slices(
				&part, (size_t)(n * size), err);
		else
			err = shm_piece(
				kind, &part, 0, (size_t)(n * size), err);
	}
	return err;
}

static int shm_run(enum weft_coll_kind kind, const struct weft_coll *args,
	size_t len, int err)
{
	size_t most = WEFT_COLL_SHORT_MAX;

	if (kind == WEFT_COLL_ALLTOALL || kind == WEFT_COLL_SCATTER)
		most /= (size_t)args->comm->coll.shm->n - 1;
	if (weft_likely(len <= most) || kind == WEFT_COLL_REDUCE_SCATTER)
		return shm_piece(kind, args, 0, len, err);
	if (args->op)
		return shm_by_items(kind, args, len, err);
	return shm_by_bytes(kind, args, len, err);
}

/* Returns the length of the data, or -1 if the rules do not select the segment
 * for it. */
static inline int64_t length_in_segment(
	enum weft_coll_kind kind, const struct weft_coll *args)
{
	const struct weft_coll_shm *shm = args->comm->coll.shm;
	const struct weft_coll_lens *lens =
		shm->lens[args->op && !args->op->is_commutative][kind];
	int64_t len;

	if (lens->to < 0)
		return -1;
	len = length_of(shm, kind, args);
	for (int i = 0; i < WEFT_COLL_LENS; i++)
		if (len >= lens[i].from && len <= lens[i].to)
			return len;
	return -1;
}

int weft_shm_coll_part(
	enum weft_coll_kind kind, const struct weft_coll *args, int err)
{
	int64_t len = length_in_segment(kind, args);

	return len < 0 ? WEFT_AGAIN : shm_run(kind, args, (size_t)len, err);
}

bool weft_shm_coll_is_due(
	enum weft_coll_kind kind, const struct weft_coll *args)
{
	const struct weft_coll_shm *shm = args->comm->coll.shm;

	return shm && shm->is_whole && length_in_segment(kind, args) >= 0;
}

int weft_shm_coll_try(enum weft_coll_kind kind, const struct weft_coll *args)
{
	const struct weft_coll_shm *shm = args->comm->coll.shm;

	if (weft_unlikely(!shm->is_whole))
		return WEFT_AGAIN;
	return weft_shm_coll_part(kind, args, args->err);
}
