/* SPDX-License-Identifier: BSD-3-Clause */
/* bcast: a binomial tree; scatter and allgather
 *
 * Members may describe the same data by different types, so the second
 * algorithm divides the data at bytes. It packs data that is not contiguous
 * first. */
#include "coll/coll_priv.h"

#include "dt/pack.h"

/* `me` is the view rank relative to the root. The parent of a member is `me`
 * with the lowest set bit cleared. */
void weft_bcast_tree(struct weft_sched *sched,
	const struct weft_coll_view *view, struct weft_span span, int32_t root)
{
	const int32_t n = view->n, me = (view->me - root + n) % n;
	int64_t dist = 1;

	while (dist < n && me % (dist * 2) == 0)
		dist *= 2;
	if (me != 0) {
		weft_sched_recv(
			sched, view, span, (int32_t)((me - dist + root) % n));
		weft_sched_fence(sched);
	}
	for (dist /= 2; dist > 0; dist /= 2)
		if (me + dist < n)
			weft_sched_send(sched, view, span,
				(int32_t)((me + dist + root) % n));
	weft_sched_fence(sched);
}

void weft_bcast_binomial(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	weft_bcast_tree(sched, view, weft_block(&args->recv, 0), args->root);
}

struct weft_span weft_bcast_bytes(
	struct weft_sched *sched, struct weft_span span, bool is_root)
{
	size_t len = (size_t)(span.count * span.type->size);
	struct weft_span bytes;

	if (weft_type_is_run(span.type, span.count))
		return weft_span_bytes(
			(char *)span.buf + span.type->true_lb, len);
	bytes = weft_span_bytes(weft_sched_tmp(sched, len), len);
	if (is_root)
		weft_sched_copy(sched, span, bytes);
	return bytes;
}

void weft_bcast_unpack(struct weft_sched *sched, struct weft_span bytes,
	struct weft_span span, bool is_root)
{
	weft_sched_fence(sched);
	if (!is_root && !weft_type_is_run(span.type, span.count))
		weft_sched_copy(sched, bytes, span);
}

/* Scatters slices down a tree, then exchanges them in a ring. */
void weft_bcast_scatter(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct weft_span span = weft_block(&args->recv, 0);
	const int32_t n = view->n, root = args->root;
	const int32_t me = (view->me - root + n) % n;
	struct weft_span bytes = weft_bcast_bytes(sched, span, me == 0);

	weft_scatter_tree(sched, view, bytes, NULL, root);
	weft_sched_fence(sched);
	for (int32_t i = 0; i < n - 1; i++) {
		int32_t out = (me - i + n) % n, in = (me - i - 1 + 2 * n) % n;

		/* the root has all slices and receives none */
		if (me != 0)
			weft_sched_recv(sched, view,
				weft_slices(bytes, in, in + 1, n),
				(view->me - 1 + n) % n);
		if (me != n - 1)
			weft_sched_send(sched, view,
				weft_slices(bytes, out, out + 1, n),
				(view->me + 1) % n);
		weft_sched_fence(sched);
	}
	weft_bcast_unpack(sched, bytes, span, me == 0);
}
