/* SPDX-License-Identifier: BSD-3-Clause */
/* fold: a view of any size as a power of two
 *
 * The n places of a view are reduced to a power of two by folding `rest`
 * places. Among the first 2 * rest places, each even place is folded: it sends
 * its data to the next place, and receives the result at the end. The remaining
 * places are numbered in order without gaps. So partners always have adjacent
 * ranges.
 */
#ifndef WEFT_FOLD_H
#define WEFT_FOLD_H

#include "coll/coll_priv.h"

struct weft_fold {
	int32_t n;    /* remaining places, a power of two */
	int32_t rest; /* folded places */
	int32_t me;   /* number of this process among the remaining places; -1:
			 folded */
};

struct weft_fold weft_fold_of(const struct weft_coll_view *view);

/* Returns the place with number i. */
static inline int32_t weft_fold_place(const struct weft_fold *f, int32_t i)
{
	return i < f->rest ? 2 * i + 1 : i + f->rest;
}

/* Returns the number of the place that has the data of `place`. */
static inline int32_t weft_fold_number(const struct weft_fold *f, int32_t place)
{
	return place < 2 * f->rest ? place / 2 : place - f->rest;
}

/* The data of a reduction. */
struct weft_fold_data {
	struct weft_redop *op;
	struct weft_span mine; /* this member's operand, or acc */
	struct weft_span acc, in;
	const int64_t *starts; /* the range of number i begins at item
				  starts[i]; NULL: ranges are slices */
};

/* Combines the operand of each folded place with the operand of the next place.
 * If `mine` is not acc, the operation must be commutative, because the message
 * is received into acc. */
void weft_fold_in(struct weft_sched *sched, const struct weft_coll_view *view,
	const struct weft_fold *f, struct weft_fold_data *d);
/* Sends the result to the folded places. */
void weft_fold_out(struct weft_sched *sched, const struct weft_coll_view *view,
	const struct weft_fold *f, struct weft_span acc);

/* The part of span with the ranges of numbers i to j - 1. */
struct weft_span weft_fold_range(const struct weft_fold *f,
	const struct weft_fold_data *d, struct weft_span span, int32_t i,
	int32_t j);

/* Each round sends one half of the ranges to the partner and reduces the other
 * half, until acc has the result of this number's range. Commutative operations
 * only. */
void weft_fold_halve(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_fold *f,
	const struct weft_fold_data *d);

#endif
