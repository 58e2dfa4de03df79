/* SPDX-License-Identifier: BSD-3-Clause */
/* flat: the data of one item as a tree of loops and runs */
#include "dt/flat.h"

#include "base/err.h"

#include <stdbool.h>
#include <stdlib.h>

/* A list of at most this many parts is copied into the list to which it is
 * added. */
enum { SPLICE_PARTS = 8 };

static struct weft_flat *flat_new(enum weft_flat_kind kind, int64_t n_parts)
{
	struct weft_flat *flat;

	flat = calloc(1, sizeof *flat + (size_t)n_parts * sizeof flat->part[0]);
	if (!flat)
		return NULL;
	flat->kind = kind;
	atomic_init(&flat->refs, 1);
	return flat;
}

struct weft_flat *weft_flat_get(struct weft_flat *flat)
{
	if (flat && atomic_load_explicit(&flat->refs, memory_order_relaxed))
		atomic_fetch_add_explicit(&flat->refs, 1, memory_order_relaxed);
	return flat;
}

void weft_flat_put(struct weft_flat *flat)
{
	if (!flat || !atomic_load_explicit(&flat->refs, memory_order_relaxed))
		return;
	/* release: the accesses of this holder happen before the free. acquire:
	 * the last holder frees after the accesses of all others. */
	if (atomic_fetch_sub_explicit(&flat->refs, 1, memory_order_acq_rel) > 1)
		return;
	weft_flat_put(flat->child);
	for (int64_t i = 0; i < flat->n_parts; i++)
		weft_flat_put(flat->part[i].child);
	free(flat);
}

/* A run of len > 0 bytes, or NULL when out of memory. */
static struct weft_flat *flat_run(int64_t len)
{
	struct weft_flat *flat = flat_new(WEFT_FLAT_RUN, 0);

	if (flat)
		flat->size = len;
	return flat;
}

struct weft_flat *weft_flat_loop_take(
	int64_t count, int64_t stride, struct weft_flat *child)
{
	struct weft_flat *flat;

	if (count == 1)
		return child;
	if (child->kind == WEFT_FLAT_RUN && stride == child->size) {
		flat = flat_run(count * child->size);
		weft_flat_put(child);
		return flat;
	}
	flat = flat_new(WEFT_FLAT_LOOP, 0);
	if (!flat) {
		weft_flat_put(child);
		return NULL;
	}
	flat->size = count * child->size;
	flat->count = count;
	flat->stride = stride;
	flat->child = child;
	/* the last copy of the inner loop is followed at its stride by the
	 * next: make one loop */
	if (child->kind == WEFT_FLAT_LOOP && child->n_parts == 0 &&
		stride / child->count == child->stride &&
		stride % child->count == 0) {
		flat->count = count * child->count;
		flat->stride = child->stride;
		flat->child = weft_flat_get(child->child);
		weft_flat_put(child);
	}
	return flat;
}

static int list_append(struct weft_flat_list *list, int64_t disp, int64_t size,
	struct weft_flat *child)
{
	struct weft_flat *flat = list->flat;

	if (!flat || flat->n_parts == list->cap) {
		int64_t cap = list->cap ? list->cap * 2 : 4;

		if (!flat)
			flat = flat_new(WEFT_FLAT_LIST, cap);
		else
			flat = realloc(flat,
				sizeof *flat +
					(size_t)cap * sizeof flat->part[0]);
		if (!flat)
			return weft_err_set(WEFT_ERR_NOMEM,
				"no memory for %lld blocks of a datatype",
				(long long)cap);
		list->flat = flat;
		list->cap = cap;
	}
	flat->part[flat->n_parts++] =
		(struct weft_flat_part){ disp, size, weft_flat_get(child) };
	return 0;
}

static int flat_list_add_run(
	struct weft_flat_list *list, int64_t disp, int64_t len)
{
	struct weft_flat *flat = list->flat;

	if (flat && flat->n_parts) {
		struct weft_flat_part *last = &flat->part[flat->n_parts - 1];

		if (!last->child && last->disp + last->end == disp) {
			last->end += len;
			return 0;
		}
	}
	return list_append(list, disp, len, NULL);
}

int weft_flat_list_add(
	struct weft_flat_list *list, int64_t disp, struct weft_flat *flat)
{
	int64_t begin = 0;

	if (flat->kind == WEFT_FLAT_RUN)
		return flat_list_add_run(list, disp, flat->size);
	if (flat->kind == WEFT_FLAT_LOOP || flat->n_parts > SPLICE_PARTS)
		return list_append(list, disp, flat->size, flat);
	for (int64_t i = 0; i < flat->n_parts; i++) {
		const struct weft_flat_part *p = &flat->part[i];
		int err = p->child ? list_append(list, disp + p->disp,
					     p->end - begin, p->child)
				   : flat_list_add_run(list, disp + p->disp,
					     p->end - begin);

		if (err)
			return err;
		begin = p->end;
	}
	return 0;
}

/* True if all parts are equal and at a constant stride. */
static bool list_is_loop(const struct weft_flat *flat)
{
	const struct weft_flat_part *p = flat->part;
	int64_t stride = flat->n_parts > 1 ? p[1].disp - p[0].disp : 0;

	for (int64_t i = 1; i < flat->n_parts; i++)
		if (p[i].child != p[0].child || p[i].end != p[0].end ||
			p[i].disp - p[i - 1].disp != stride)
			return false;
	return true;
}

/* Returns the memory span of the list, or 0, see weft_flat_list_finish().
 * Called while the `end` of each part is still the part's size. */
static int64_t list_span(const struct weft_flat *flat)
{
	const struct weft_flat_part *p = flat->part;
	int64_t n = flat->n_parts;

	for (int64_t i = 0; i < n; i++)
		if (p[i].child ||
			(i && p[i].disp < p[i - 1].disp + p[i - 1].end))
			return 0;
	return p[n - 1].disp + p[n - 1].end - p[0].disp;
}

int weft_flat_list_finish(struct weft_flat_list *list,
	struct weft_flat **flat_out, int64_t *disp_out)
{
	struct weft_flat *flat = list->flat;
	struct weft_flat *done = NULL;
	int64_t disp = 0;

	if (flat && list_is_loop(flat)) {
		disp = flat->part[0].disp;
		done = flat->part[0].child ? weft_flat_get(flat->part[0].child)
					   : flat_run(flat->part[0].end);
		if (done)
			done = weft_flat_loop_take(flat->n_parts,
				flat->n_parts > 1 ? flat->part[1].disp - disp
						  : 0,
				done);
		if (!done)
			return weft_err_set(
				WEFT_ERR_NOMEM, "no memory for a datatype");
		weft_flat_list_fini(list);
	} else if (flat) {
		flat->span = list_span(flat);
		for (int64_t i = 1; i < flat->n_parts; i++)
			flat->part[i].end += flat->part[i - 1].end;
		flat->size = flat->part[flat->n_parts - 1].end;
		done = flat;
		*list = (struct weft_flat_list){ 0 };
	}
	*flat_out = done;
	*disp_out = disp;
	return 0;
}

void weft_flat_list_fini(struct weft_flat_list *list)
{
	weft_flat_put(list->flat);
	*list = (struct weft_flat_list){ 0 };
}

/* ---- the order of runs ---- */

/* The order of a sequence of runs: the displacements at which the first and the
 * last run begin, and the greatest end. */
struct flat_order {
	int64_t first, last, end;
	bool is_monotone;
	bool is_disjoint;
};

/* Appends the runs of `more`, shifted by disp, to o. */
static void order_append(
	struct flat_order *o, const struct flat_order *more, int64_t disp)
{
	o->is_monotone &= more->is_monotone && more->first + disp >= o->last;
	o->is_disjoint &= more->is_disjoint && more->first + disp >= o->end;
	o->last = more->last + disp;
	if (more->end + disp > o->end)
		o->end = more->end + disp;
}

static struct flat_order flat_order_of(const struct weft_flat *flat);

static struct flat_order order_of_part(const struct weft_flat *flat, int64_t i)
{
	const struct weft_flat_part *p = &flat->part[i];
	int64_t begin = i ? flat->part[i - 1].end : 0;

	return p->child ? flat_order_of(p->child)
			: (struct flat_order){ 0, 0, p->end - begin, true,
				  true };
}

static struct flat_order flat_order_of(const struct weft_flat *flat)
{
	struct flat_order one = { 0, 0, flat->size, true, true }, all;

	if (flat->kind == WEFT_FLAT_RUN)
		return one;
	one = flat->kind == WEFT_FLAT_LOOP ? flat_order_of(flat->child)
					   : order_of_part(flat, 0);
	all = one;
	if (flat->kind == WEFT_FLAT_LOOP) {
		order_append(&all, &one, flat->stride);
		all.last = one.last + (flat->count - 1) * flat->stride;
		all.end = one.end + (flat->count - 1) * flat->stride;
		return all;
	}
	all.first += flat->part[0].disp;
	all.last += flat->part[0].disp;
	all.end += flat->part[0].disp;
	for (int64_t i = 1; i < flat->n_parts; i++) {
		one = order_of_part(flat, i);
		order_append(&all, &one, flat->part[i].disp);
	}
	return all;
}

bool weft_flat_is_monotone(const struct weft_flat *flat, bool *is_disjoint)
{
	struct flat_order order = { .is_monotone = true, .is_disjoint = true };

	if (flat)
		order = flat_order_of(flat);
	*is_disjoint = order.is_disjoint;
	return order.is_monotone;
}
