/* SPDX-License-Identifier: BSD-3-Clause */
/* fold: a view of any size as a power of two, and recursive halving */
#include "coll/fold.h"

struct weft_fold weft_fold_of(const struct weft_coll_view *view)
{
	struct weft_fold f = { .n = 1 };

	while (f.n <= view->n / 2)
		f.n *= 2;
	f.rest = view->n - f.n;
	if (view->me >= 2 * f.rest)
		f.me = view->me - f.rest;
	else
		f.me = view->me % 2 ? view->me / 2 : -1;
	return f;
}

void weft_fold_in(struct weft_sched *sched, const struct weft_coll_view *view,
	const struct weft_fold *f, struct weft_fold_data *d)
{
	const bool is_elsewhere = d->mine.buf != d->acc.buf;

	if (view->me >= 2 * f->rest)
		return;
	if (f->me < 0) {
		weft_sched_send(sched, view, d->mine, view->me + 1);
		weft_sched_fence(sched);
		return;
	}
	weft_sched_recv(
		sched, view, is_elsewhere ? d->acc : d->in, view->me - 1);
	weft_sched_fence(sched);
	weft_sched_reduce(
		sched, d->op, is_elsewhere ? d->mine.buf : d->in.buf, d->acc);
	d->mine = d->acc;
}

void weft_fold_out(struct weft_sched *sched, const struct weft_coll_view *view,
	const struct weft_fold *f, struct weft_span acc)
{
	weft_sched_fence(sched);
	if (view->me >= 2 * f->rest)
		return;
	if (f->me < 0)
		weft_sched_recv(sched, view, acc, view->me + 1);
	else
		weft_sched_send(sched, view, acc, view->me - 1);
}

struct weft_span weft_fold_range(const struct weft_fold *f,
	const struct weft_fold_data *d, struct weft_span span, int32_t i,
	int32_t j)
{
	return weft_ranges(span, d->starts, i, j, f->n);
}

/* If `mine` is not acc, the first round receives the message into acc and
 * combines this member's half of `mine` with acc. */
void weft_fold_halve(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_fold *f,
	const struct weft_fold_data *d)
{
	struct weft_span from = d->mine;
	int32_t lo = 0;

	for (int32_t bit = f->n / 2; bit > 0; bit /= 2) {
		int32_t partner = weft_fold_place(f, f->me ^ bit);
		bool is_low = !(f->me & bit);
		int32_t keep = is_low ? lo : lo + bit;
		int32_t give = is_low ? lo + bit : lo;
		bool is_elsewhere = from.buf != d->acc.buf;
		struct weft_span acc =
			weft_fold_range(f, d, d->acc, keep, keep + bit);
		struct weft_span in =
			weft_fold_range(f, d, d->in, keep, keep + bit);
		struct weft_span own =
			weft_fold_range(f, d, from, keep, keep + bit);

		weft_sched_recv(sched, view, is_elsewhere ? acc : in, partner);
		weft_sched_send(sched, view,
			weft_fold_range(f, d, from, give, give + bit), partner);
		weft_sched_fence(sched);
		weft_sched_reduce(
			sched, d->op, is_elsewhere ? own.buf : in.buf, acc);
		from = d->acc;
		lo = keep;
	}
}
