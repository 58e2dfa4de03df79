/* SPDX-License-Identifier: BSD-3-Clause */
/* flat: the data of one item as runs, kept as nested loops
 *
 * A tree whose leaves are runs of bytes. A loop repeats its child at a stride;
 * a list holds parts at displacements with the running sum of their sizes, so
 * that any byte of the packed stream is found by division and binary search.
 * Regular types stay small however many blocks they have. Trees are immutable
 * and shared between types by reference. */
#ifndef WEFT_FLAT_H
#define WEFT_FLAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum weft_flat_kind { WEFT_FLAT_RUN, WEFT_FLAT_LOOP, WEFT_FLAT_LIST };

struct weft_flat_part {
	int64_t disp;
	int64_t end;		 /* packed bytes up to and with this part */
	struct weft_flat *child; /* NULL: a run */
};

/* Made by the functions below with one reference; held by types, loops and
 * lists; static ones have refs 0 and are never freed. */
struct weft_flat {
	enum weft_flat_kind kind;
	_Atomic uint32_t refs;
	int64_t size;	       /* packed bytes, never 0 */
	int64_t count, stride; /* loop: count > 1 */
	struct weft_flat *child;
	int64_t n_parts; /* list: > 1 */
	int64_t span;	 /* list: see weft_flat_list_finish() */
	struct weft_flat_part part[];
};

struct weft_flat *weft_flat_get(struct weft_flat *flat);
void weft_flat_put(struct weft_flat *flat); /* NULL is accepted */

/* `count` >= 1 copies of child, stride bytes apart, in the simplest form that
 * says so. Takes child's reference in any case; NULL when out of memory. */
struct weft_flat *weft_flat_loop_take(
	int64_t count, int64_t stride, struct weft_flat *child);

/* True if no run begins before the one in front of it; *is_disjoint: nor before
 * that one's end. NULL has no runs. */
bool weft_flat_is_monotone(const struct weft_flat *flat, bool *is_disjoint);

/* A list in the making; zeroed is empty. */
struct weft_flat_list {
	struct weft_flat *flat; /* parts' `end` is their own size for now */
	int64_t cap;
};

/* Append a tree (whose reference the list shares, not takes) at disp. 0 or
 * WEFT_ERR_NOMEM; the list stays valid either way. */
int weft_flat_list_add(
	struct weft_flat_list *list, int64_t disp, struct weft_flat *flat);

/* Turns the list into a tree at *disp_out, the list being empty afterwards.
 * NULL is stored for an empty list. 0 or WEFT_ERR_NOMEM. If the tree is a list
 * of runs only, which neither overlap nor go back, its span is the distance
 * from the first byte to the end of the last, otherwise 0. */
int weft_flat_list_finish(struct weft_flat_list *list,
	struct weft_flat **flat_out, int64_t *disp_out);

/* Drops what was gathered. */
void weft_flat_list_fini(struct weft_flat_list *list);

#endif
