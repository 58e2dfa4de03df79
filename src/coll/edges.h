/* SPDX-License-Identifier: BSD-3-Clause */
/* edges: a topology's neighbours on other nodes
 *
 * A row is those of one member, sources or destinations, in the order of their
 * nodes, of their ranks, and of its list. On each node that has any, the lowest
 * rank with a row bundles: it knows the rows of all its node's members, and
 * what goes to or comes from another node, in the order of source, destination
 * and row, which both that bundle find alike. Known once all members have
 * agreed (weft_coll_edges_settle()). */
#ifndef WEFT_COLL_EDGES_H
#define WEFT_COLL_EDGES_H

#include "coll/coll_priv.h"

/* One edge, as who bundles has it. */
struct weft_coll_edge {
	int32_t node, source, dest;
	int32_t member; /* place in my node of the one whose row it is in */
	int32_t at;	/* in the rows of all members, one after the other */
};

/* One direction. */
struct weft_coll_row {
	int32_t n;
	const int32_t *places; /* of my row, in the list of neighbours */
	/* who bundles: */
	int32_t n_edges;
	const struct weft_coll_edge *edges; /* by node, source, dest, at */
	const int32_t *first; /* by member, and one more: its row */
};

/* One block. */
struct weft_coll_edges {
	int32_t n_per_bundle;	/* messages that would be one, on average */
	const int32_t *leaders; /* by node: who bundles; -1: nobody */
	struct weft_coll_row out, in;
};

/* Neighbours on other nodes, in each direction. */
struct weft_coll_degrees {
	int32_t out, in;
};

/* My row: places in a list of neighbours, as many as are returned; -1 without
 * memory. Swapped are the sources of a grid, see weft_neighbor_linear(). */
int32_t weft_coll_row_of(const struct weft_nodes *nodes, int32_t me,
	const int *neighbors, int32_t n, bool is_swapped, int32_t *places);

/* degrees: of all members. rows: who bundles has those of its node's members,
 * each the ranks of destinations and then of sources. NULL without memory. */
struct weft_coll_edges *weft_coll_edges_create(const struct weft_nodes *nodes,
	int32_t me, const struct weft_coll_degrees *degrees,
	const int32_t *places_out, const int32_t *places_in,
	const int32_t *rows);

/* Who bundles for a node, or -1. */
int32_t weft_coll_edges_leader(const struct weft_nodes *nodes,
	const struct weft_coll_degrees *degrees, int32_t node);

/* Whether the members are to agree before this call, as a rule would bundle;
 * and that, with messages that take a number of their own. VCI's lock held. */
bool weft_coll_edges_are_due(struct weft_comm *comm);
int weft_coll_edges_settle(
	const struct weft_coll *args, enum weft_coll_kind kind);

#endif
