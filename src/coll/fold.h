/* SPDX-License-Identifier: BSD-3-Clause */
/* fold: a view of any size as a power of two
 *
 * Members of a view are folded until a power of two is left. `rest` members are
 * folded: among the first 2 * rest view ranks, the even ones. A folded member
 * sends its data to the next view rank, and receives the result at the end. The
 * other members get fold numbers without gaps, in the order of view ranks. So
 * partners always have adjacent ranges. Identifiers call a view rank a `place`.
 */
#ifndef WEFT_FOLD_H
#define WEFT_FOLD_H

#include "coll/coll_priv.h"

struct weft_fold {
	int32_t n;    /* members that are not folded, a power of two */
	int32_t rest; /* folded members */
	int32_t me;   /* fold number of this process; -1: folded */
};

struct weft_fold weft_fold_of(const struct weft_coll_view *view);

/* Returns the view rank with fold number i. */
static inline int32_t weft_fold_place(const struct weft_fold *f, int32_t i)
{
	return i < f->rest ? 2 * i + 1 : i + f->rest;
}

/* Returns the fold number of the member that has the data of view rank `place`.
 */
static inline int32_t weft_fold_number(const struct weft_fold *f, int32_t place)
{
	return place < 2 * f->rest ? place / 2 : place - f->rest;
}

/* The buffers of a reduction. */
struct weft_fold_data {
	struct weft_redop *op;
	struct weft_span mine; /* this member's operand, or acc if acc has it */
	struct weft_span acc, in; /* for the result; for received data */
	const int64_t *starts;	  /* the range of fold number i begins at item
				     starts[i]; NULL: ranges are slices */
};

/* Combines the operand of each folded member with the operand of the next view
 * rank in acc, and sets `mine` of that member to acc. If `mine` was not acc,
 * the operation must be commutative, because the message is received into acc.
 */
void weft_fold_in(struct weft_sched *sched, const struct weft_coll_view *view,
	const struct weft_fold *f, struct weft_fold_data *d);
/* Sends the result to the folded members. */
void weft_fold_out(struct weft_sched *sched, const struct weft_coll_view *view,
	const struct weft_fold *f, struct weft_span acc);

/* The part of a buffer with the ranges of fold numbers i to j - 1. */
struct weft_span weft_fold_range(const struct weft_fold *f,
	const struct weft_fold_data *d, struct weft_span span, int32_t i,
	int32_t j);

/* Each round sends one half of the ranges to the partner and reduces the other
 * half, until acc has the result of this member's range. Commutative operations
 * only. */
void weft_fold_halve(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_fold *f,
	const struct weft_fold_data *d);

#endif
