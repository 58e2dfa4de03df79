/* SPDX-License-Identifier: BSD-3-Clause */
/* reduce: reductions to one process (reduce), and reductions of which each
 * process receives one part (reduce_scatter)
 *
 * The binomial tree combines adjacent ranges of view ranks, which keeps the
 * order of operands. An operation that is not commutative is reduced to view
 * rank 0, which sends the result to the root. */
#include "coll/fold.h"

void weft_reduce_tree(struct weft_sched *sched,
	const struct weft_coll_view *view, struct weft_redop *op,
	struct weft_span mine, void *result, int32_t root)
{
	int32_t n = view->n;
	int32_t top = op->is_commutative ? root : 0;
	int32_t me = (view->me - top + n) % n, n_below = 0, bit;
	struct weft_span acc = mine, in = mine;

	for (bit = 1; bit < n && !(me & bit) && me + bit < n; bit *= 2)
		n_below++;
	if (view->me == root && me == 0)
		acc.buf = result;
	else if (n_below)
		acc.buf = weft_sched_tmp_typed(sched, mine.count, mine.type);
	if (n_below > (acc.buf != mine.buf))
		in.buf = weft_sched_tmp_typed(sched, mine.count, mine.type);
	if (!n_below && acc.buf != mine.buf)
		weft_sched_copy(sched, mine, acc);
	for (bit = 1; n_below; bit *= 2, n_below--) {
		bool is_first = bit == 1 && acc.buf != mine.buf;

		weft_sched_recv(
			sched, view, is_first ? acc : in, (me + bit + top) % n);
		weft_sched_fence(sched);
		/* this member's operand is the left one */
		if (is_first) {
			weft_sched_reduce(sched, op, mine.buf, acc);
		} else if (op->is_commutative) {
			weft_sched_reduce(sched, op, in.buf, acc);
		} else {
			weft_sched_reduce(sched, op, acc.buf, in);
			weft_sched_copy(sched, in, acc);
		}
	}
	if (me != 0) /* parent: lowest set bit cleared */
		weft_sched_send(sched, view, acc, ((me & (me - 1)) + top) % n);
	else if (top != root)
		weft_sched_send(sched, view, acc, root);
	if (view->me == root && top != root) {
		acc.buf = result;
		weft_sched_recv(sched, view, acc, top);
	}
	weft_sched_fence(sched);
}

static struct weft_span reduce_operand(
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	return weft_block(args->is_in_place && view->me == args->root
				  ? &args->recv
				  : &args->send,
		0);
}

void weft_reduce_binomial(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	weft_reduce_tree(sched, view, args->op, reduce_operand(view, args),
		args->recv.buf, args->root);
}

/* Gathers the ranges at fold number `top`. In the round of a bit, a member
 * whose fold number differs from `top` in this bit sends all its ranges to its
 * partner and is finished. */
static void gather_ranges(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_fold *f,
	const struct weft_fold_data *d, int32_t top)
{
	for (int32_t bit = 1; bit < f->n; bit *= 2) {
		int32_t partner = weft_fold_place(f, f->me ^ bit);
		int32_t here = f->me & ~(bit - 1), there = here ^ bit;

		if ((f->me ^ top) & bit) {
			weft_sched_send(sched, view,
				weft_fold_range(f, d, d->acc, here, here + bit),
				partner);
			break;
		}
		weft_sched_recv(sched, view,
			weft_fold_range(f, d, d->acc, there, there + bit),
			partner);
		weft_sched_fence(sched);
	}
	weft_sched_fence(sched);
}

/* Reduces by recursive halving, then gathers the ranges. */
void weft_reduce_rabenseifner(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct weft_fold f = weft_fold_of(view);
	const int32_t root = args->root, top = weft_fold_number(&f, root);
	struct weft_fold_data d = { .op = args->op,
		.mine = reduce_operand(view, args) };

	d.acc = d.in = d.mine;
	d.in.buf = weft_sched_tmp_typed(sched, d.acc.count, d.acc.type);
	if (view->me == root)
		d.acc.buf = args->recv.buf;
	else
		d.acc.buf =
			weft_sched_tmp_typed(sched, d.acc.count, d.acc.type);
	if (f.n == 1 && d.mine.buf != d.acc.buf)
		weft_sched_copy(sched, d.mine, d.acc);
	weft_fold_in(sched, view, &f, &d);
	if (f.me >= 0) {
		weft_fold_halve(sched, view, &f, &d);
		gather_ranges(sched, view, &f, &d, top);
	}
	if (weft_fold_place(&f, top) == root)
		return;
	if (f.me == top)
		weft_sched_send(sched, view, d.acc, root);
	else if (view->me == root)
		weft_sched_recv(sched, view, d.acc, weft_fold_place(&f, top));
	weft_sched_fence(sched);
}

/* The first item of the part of view rank i. */
static int64_t reduce_part_start(const struct weft_coll *args, int32_t i)
{
	int64_t at = 0;

	if (!args->recv.counts)
		return i * args->recv.count;
	for (int32_t k = 0; k < i; k++)
		at += args->recv.counts[k];
	return at;
}

static struct weft_span parts(
	const struct weft_coll *args, void *buf, int32_t first, int32_t n)
{
	int64_t start = reduce_part_start(args, first);
	struct weft_type *type = args->recv.type;

	return (struct weft_span){ (char *)buf + start * type->extent,
		reduce_part_start(args, first + n) - start, type };
}

static void copy_own_part(struct weft_sched *sched,
	const struct weft_coll *args, struct weft_span mine)
{
	weft_sched_copy(sched, mine,
		(struct weft_span){ args->recv.buf, mine.count, mine.type });
}

static void *input_of(const struct weft_coll *args)
{
	return args->is_in_place ? args->recv.buf : args->send.buf;
}

/* Returns the first item of each of n ranges, and the end of the last range.
 * The first `rest` ranges have two parts each, the other ranges have one. NULL
 * after an error. */
static int64_t *part_starts(struct weft_sched *sched,
	const struct weft_coll *args, int32_t n, int32_t rest)
{
	int64_t *starts =
		weft_sched_tmp(sched, ((size_t)n + 1) * sizeof(*starts));

	if (sched->err)
		return NULL;
	for (int32_t i = 0; i <= n; i++)
		starts[i] =
			reduce_part_start(args, i < rest ? 2 * i : i + rest);
	return starts;
}

void weft_reduce_scatter_halving(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const int32_t me = view->me;
	struct weft_fold f = weft_fold_of(view);
	struct weft_span whole = parts(args, input_of(args), 0, view->n);
	struct weft_fold_data d = { .op = args->op,
		.starts = part_starts(sched, args, f.n, f.rest) };
	struct weft_span part;

	d.acc = d.in = whole;
	d.acc.buf = weft_sched_tmp_typed(sched, whole.count, whole.type);
	d.in.buf = weft_sched_tmp_typed(sched, whole.count, whole.type);
	d.mine = whole;
	if (f.n == 1)
		weft_sched_copy(sched, whole, d.acc);
	part = parts(args, d.acc.buf, me, 1);
	weft_fold_in(sched, view, &f, &d);
	if (f.me >= 0) {
		weft_fold_halve(sched, view, &f, &d);
		if (me < 2 * f.rest)
			weft_sched_send(sched, view,
				parts(args, d.acc.buf, me - 1, 1), me - 1);
	} else {
		weft_sched_recv(sched, view, part, me + 1);
	}
	weft_sched_fence(sched);
	copy_own_part(sched, args, part);
}

void weft_reduce_scatter_tree(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct weft_span whole = parts(args, input_of(args), 0, view->n);
	char *all = weft_sched_tmp_typed(sched, whole.count, whole.type);

	weft_reduce_tree(sched, view, args->op, whole, all, 0);
	whole.buf = all;
	weft_scatter_tree(sched, view, whole,
		args->recv.counts ? part_starts(sched, args, view->n, 0) : NULL,
		0);
	copy_own_part(sched, args, parts(args, all, view->me, 1));
}
