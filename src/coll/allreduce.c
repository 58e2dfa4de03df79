/* SPDX-License-Identifier: BSD-3-Clause */
/* allreduce: recursive doubling; halving and doubling (Rabenseifner); a tree */
#include "coll/fold.h"

/* Copies the operand to the result buffer. may_stay: the algorithm reads the
 * operand in the send buffer in its first round, so no copy is necessary. */
static struct weft_fold_data allreduce_data(
	struct weft_sched *sched, const struct weft_coll *args, bool may_stay)
{
	struct weft_fold_data d = { .op = args->op,
		.acc = weft_block(&args->recv, 0) };

	d.in = d.mine = d.acc;
	d.in.buf = weft_sched_tmp_typed(sched, d.acc.count, d.acc.type);
	if (!args->is_in_place)
		d.mine = weft_block(&args->send, 0);
	if (!may_stay && d.mine.buf != d.acc.buf) {
		weft_sched_copy(sched, d.mine, d.acc);
		d.mine = d.acc;
	}
	return d;
}

void weft_allreduce_doubling(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct weft_fold f = weft_fold_of(view);
	struct weft_fold_data d = allreduce_data(sched, args, false);

	weft_fold_in(sched, view, &f, &d);
	for (int32_t bit = 1; f.me >= 0 && bit < f.n; bit *= 2) {
		int32_t partner = weft_fold_place(&f, f.me ^ bit);

		weft_sched_recv(sched, view, d.in, partner);
		weft_sched_send(sched, view, d.acc, partner);
		weft_sched_fence(sched);
		if (args->op->is_commutative || partner < view->me) {
			weft_sched_reduce(sched, args->op, d.in.buf, d.acc);
		} else {
			weft_sched_reduce(sched, args->op, d.acc.buf, d.in);
			weft_sched_copy(sched, d.in, d.acc);
		}
	}
	weft_fold_out(sched, view, &f, d.acc);
}

void weft_allreduce_rabenseifner(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct weft_fold f = weft_fold_of(view);
	struct weft_fold_data d = allreduce_data(sched, args, f.n > 1);

	weft_fold_in(sched, view, &f, &d);
	if (f.me >= 0)
		weft_fold_halve(sched, view, &f, &d);
	for (int32_t bit = 1; f.me >= 0 && bit < f.n; bit *= 2) {
		int32_t partner = weft_fold_place(&f, f.me ^ bit);
		int32_t here = f.me & ~(bit - 1), there = here ^ bit;

		weft_sched_recv(sched, view,
			weft_fold_range(&f, &d, d.acc, there, there + bit),
			partner);
		weft_sched_send(sched, view,
			weft_fold_range(&f, &d, d.acc, here, here + bit),
			partner);
		weft_sched_fence(sched);
	}
	weft_fold_out(sched, view, &f, d.acc);
}

/* Reduces to view rank 0, then broadcasts. */
void weft_allreduce_tree(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct weft_span result = weft_block(&args->recv, 0);
	struct weft_span mine =
		args->is_in_place ? result : weft_block(&args->send, 0);

	weft_reduce_tree(sched, view, args->op, mine, result.buf, 0);
	weft_bcast_tree(sched, view, result, 0);
}
