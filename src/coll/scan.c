/* SPDX-License-Identifier: BSD-3-Clause */
/* scan: inclusive and exclusive prefix reductions
 *
 * Doubling takes log2(n) rounds. In a chain, each member combines its operand
 * with the message of the previous view rank. View rank 0 receives nothing.
 * Long data is divided into pieces, so that all members work at the same time.
 */
#include "coll/coll_priv.h"

/* least bytes of a piece, if the data is as long; most pieces */
enum { CHAIN_LEN = 262144, CHAIN_PIECES = 256 };

/* ---- doubling ---- */

/* In each round, `partial` is the reduction over a block of view ranks that
 * contains this member. `result` is the reduction over the view ranks of the
 * block up to this member, or below it in an exclusive scan. */
static void scan_doubling(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args,
	bool is_exclusive)
{
	struct weft_span result = weft_block(&args->recv, 0);
	struct weft_span mine = result, partial = result, in = result;
	bool has_result = !is_exclusive;

	if (!args->is_in_place)
		mine = weft_block(&args->send, 0);
	partial.buf = weft_sched_tmp_typed(sched, result.count, result.type);
	in.buf = weft_sched_tmp_typed(sched, result.count, result.type);
	weft_sched_copy(sched, mine, partial);
	if (!is_exclusive && !args->is_in_place)
		weft_sched_copy(sched, mine, result);
	for (int32_t bit = 1; bit < view->n; bit *= 2) {
		int32_t partner = view->me ^ bit;

		if (partner >= view->n)
			continue;
		weft_sched_recv(sched, view, in, partner);
		weft_sched_send(sched, view, partial, partner);
		weft_sched_fence(sched);
		if (partner > view->me) {
			if (args->op->is_commutative) {
				weft_sched_reduce(
					sched, args->op, in.buf, partial);
			} else {
				weft_sched_reduce(
					sched, args->op, partial.buf, in);
				weft_sched_copy(sched, in, partial);
			}
			continue;
		}
		if (has_result)
			weft_sched_reduce(sched, args->op, in.buf, result);
		else
			weft_sched_copy(sched, in, result);
		has_result = true;
		weft_sched_reduce(sched, args->op, in.buf, partial);
	}
}

void weft_scan_doubling(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	scan_doubling(sched, view, args, false);
}

void weft_exscan_doubling(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	scan_doubling(sched, view, args, true);
}

/* ---- a chain ---- */

/* The data of one member of the chain. */
struct chain {
	const struct weft_coll_view *view;
	struct weft_redop *op;
	struct weft_span own, result;
	struct weft_span tmp; /* two pieces, used alternately; buf NULL: none */
	int64_t len;	      /* items of a piece */
	bool is_exclusive;
};

static struct weft_span chain_piece(
	const struct chain *c, struct weft_span whole, int64_t i)
{
	const int64_t end = (i + 1) * c->len;

	return weft_slice(
		whole, i * c->len, end < whole.count ? end : whole.count);
}

static struct weft_span chain_tmp(const struct chain *c, int64_t i)
{
	struct weft_span piece = chain_piece(c, c->own, i);

	piece.buf = (char *)c->tmp.buf + i % 2 * c->len * piece.type->extent;
	return piece;
}

/* The buffer for piece i from the previous member. */
static struct weft_span chain_in(const struct chain *c, int64_t i)
{
	return !c->is_exclusive && c->tmp.buf ? chain_tmp(c, i)
					      : chain_piece(c, c->result, i);
}

/* Piece i of the data that is sent to the next member. */
static struct weft_span chain_out(const struct chain *c, int64_t i)
{
	if (c->view->me == 0)
		return chain_piece(c, c->own, i);
	return c->is_exclusive ? chain_tmp(c, i) : chain_piece(c, c->result, i);
}

/* Copies piece i of the operand to chain_out(), unless the operand is there
 * already or the message is received there. */
static void chain_prepare(
	struct weft_sched *sched, const struct chain *c, int64_t i)
{
	if (c->tmp.buf && c->own.buf != chain_out(c, 0).buf)
		weft_sched_copy(
			sched, chain_piece(c, c->own, i), chain_out(c, i));
}

static void chain_combine(
	struct weft_sched *sched, const struct chain *c, int64_t i)
{
	struct weft_span in = chain_in(c, i);

	if (c->is_exclusive && !c->tmp.buf) /* the last member sends nothing */
		return;
	if (!c->tmp.buf) /* the message was received into the result */
		in = chain_piece(c, c->own, i);
	weft_sched_reduce(sched, c->op, in.buf, chain_out(c, i));
}

static void chain_run(struct weft_sched *sched, const struct chain *c)
{
	const int32_t me = c->view->me, last = c->view->n - 1;
	const int64_t n = (c->own.count + c->len - 1) / c->len;

	for (int64_t i = me ? -1 : 0; i < n; i++) {
		const bool has_next = me && i + 1 < n;

		if (has_next) {
			chain_prepare(sched, c, i + 1);
			weft_sched_recv(
				sched, c->view, chain_in(c, i + 1), me - 1);
		}
		if (i >= 0 && me < last)
			weft_sched_send(
				sched, c->view, chain_out(c, i), me + 1);
		if (me)
			weft_sched_fence(sched);
		if (has_next)
			chain_combine(sched, c, i + 1);
	}
	weft_sched_fence(sched);
}

static void scan_chain(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args,
	bool is_exclusive)
{
	struct chain c = { .view = view,
		.op = args->op,
		.result = weft_block(&args->recv, 0),
		.is_exclusive = is_exclusive };
	const int64_t size = c.result.type->size, count = c.result.count;

	c.own = args->is_in_place ? c.result : weft_block(&args->send, 0);
	c.len = (count + CHAIN_PIECES - 1) / CHAIN_PIECES;
	if (c.len < CHAIN_LEN / size)
		c.len = CHAIN_LEN / size;
	if (c.len > count)
		c.len = count;
	if (view->me == 0 && !is_exclusive && !args->is_in_place)
		weft_sched_copy(sched, c.own, c.result);
	else if (view->me && (is_exclusive ? view->me < view->n - 1
					   : args->is_in_place ||
						     !args->op->is_commutative))
		c.tmp.buf =
			weft_sched_tmp_typed(sched, 2 * c.len, c.result.type);
	chain_run(sched, &c);
}

void weft_scan_chain(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	scan_chain(sched, view, args, false);
}

void weft_exscan_chain(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	scan_chain(sched, view, args, true);
}
