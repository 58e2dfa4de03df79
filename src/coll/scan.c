/* SPDX-License-Identifier: BSD-3-Clause */
/* scan: inclusive and exclusive prefix reductions, log2(n) rounds
 *
 * `partial` covers the block of ranks exchanged so far, the result those of
 * them that are not above me. */
#include "coll/coll_priv.h"

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
