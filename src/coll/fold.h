/* SPDX-License-Identifier: BSD-3-Clause */
/* fold: a view as a power of two
 *
 * Of the first 2 * rest places each even one hands its data to the odd one
 * above and gets the result at the end. The remaining places are numbered anew
 * without gaps, in order, so that partners always hold neighbouring ranges. */
#ifndef WEFT_FOLD_H
#define WEFT_FOLD_H

#include "coll/coll_priv.h"

struct weft_fold {
	int32_t n;    /* places left */
	int32_t rest; /* places folded away */
	int32_t me;   /* my number among those left, -1 when I am none */
};

struct weft_fold weft_fold_of(const struct weft_coll_view *view);

/* The place of number i, and the number that holds a place's data. */
static inline int32_t weft_fold_place(const struct weft_fold *f, int32_t i)
{
	return i < f->rest ? 2 * i + 1 : i + f->rest;
}

static inline int32_t weft_fold_number(const struct weft_fold *f, int32_t place)
{
	return place < 2 * f->rest ? place / 2 : place - f->rest;
}

/* What a reduction works on: acc is the result so far, in scratch memory. */
struct weft_fold_data {
	struct weft_redop *op;
	struct weft_span
		mine; /* this member's operand, or acc: that and more */
	struct weft_span acc, in;
	const int64_t *starts; /* number i's range begins at item starts[i];
				  NULL: ranges alike */
};

/* Who is folded away hands in its operand, to which nothing was added yet.
 * Where that of the one above lies elsewhere than acc the operation is
 * commutative: what comes goes to acc, and nothing is copied first. */
void weft_fold_in(struct weft_sched *sched, const struct weft_coll_view *view,
	const struct weft_fold *f, struct weft_fold_data *d);
void weft_fold_out(struct weft_sched *sched, const struct weft_coll_view *view,
	const struct weft_fold *f, struct weft_span acc);

/* Items [i, j) of the ranges. */
struct weft_span weft_fold_range(const struct weft_fold *f,
	const struct weft_fold_data *d, struct weft_span span, int32_t i,
	int32_t j);

/* Each round hands one half of the ranges to the partner and reduces the other,
 * until each number has the result of its own range in acc. Commutative. */
void weft_fold_halve(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_fold *f,
	const struct weft_fold_data *d);

#endif
