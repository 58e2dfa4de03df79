/* SPDX-License-Identifier: BSD-3-Clause */
/* flat: the data of one item as a tree of loops and runs
 *
 * The leaves are runs of bytes. A loop repeats its child at a stride. A list
 * has parts at displacements, with the running sum of their sizes. Any byte of
 * the packed stream is found by division (loops) and binary search (lists). The
 * size of a regular type's tree does not depend on its number of blocks. Trees
 * are immutable, and types share them by reference. */
#ifndef WEFT_FLAT_H
#define WEFT_FLAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum weft_flat_kind { WEFT_FLAT_RUN, WEFT_FLAT_LOOP, WEFT_FLAT_LIST };

struct weft_flat_part {
	int64_t disp;
	int64_t end;		 /* packed bytes up to the end of this part */
	struct weft_flat *child; /* NULL: a run */
};

/* Created by the functions below with one reference. Types, loops and lists
 * hold references. Static trees have refs 0 and are never freed. */
struct weft_flat {
	enum weft_flat_kind kind;
	_Atomic uint32_t refs;
	int64_t size;		 /* packed bytes, never 0 */
	int64_t count, stride;	 /* loop: count > 1 */
	struct weft_flat *child; /* loop: the tree that the loop repeats */
	int64_t n_parts;	 /* list: > 1 */
	int64_t span;		 /* list: its memory span, or 0, see
				    weft_flat_list_finish() */
	struct weft_flat_part part[];
};

struct weft_flat *weft_flat_get(struct weft_flat *flat);
void weft_flat_put(struct weft_flat *flat); /* NULL is accepted */

/* Returns a tree of `count` >= 1 copies of child, stride bytes apart. Adjacent
 * runs become one run. Two loops become one loop if their strides permit.
 * Consumes the caller's reference to child, also on failure. NULL if out of
 * memory. */
struct weft_flat *weft_flat_loop_take(
	int64_t count, int64_t stride, struct weft_flat *child);

/* As weft_type_is_monotone(). NULL, a type without data, is monotone and
 * disjoint. */
bool weft_flat_is_monotone(const struct weft_flat *flat, bool *is_disjoint);

/* A list under construction; empty if zeroed. */
struct weft_flat_list {
	struct weft_flat *flat; /* `end` of a part is still the part's size */
	int64_t cap;		/* number of parts that flat has space for */
};

/* Appends a tree at disp. The list holds its own reference to the tree. 0 or
 * WEFT_ERR_NOMEM; the list stays valid in both cases. */
int weft_flat_list_add(
	struct weft_flat_list *list, int64_t disp, struct weft_flat *flat);

/* Turns the list into a tree at displacement *disp_out, and empties the list.
 * An empty list becomes NULL. 0, or WEFT_ERR_NOMEM and the list is unchanged.
 * If the tree is a list of runs at rising displacements that do not overlap,
 * its field `span` is the distance from its first byte to its end; otherwise it
 * is 0. */
int weft_flat_list_finish(struct weft_flat_list *list,
	struct weft_flat **flat_out, int64_t *disp_out);

/* Frees the parts of a list under construction and empties the list. */
void weft_flat_list_fini(struct weft_flat_list *list);

#endif
