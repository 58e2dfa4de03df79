/* SPDX-License-Identifier: BSD-3-Clause */
/* edges: the neighbours of a topology on other nodes
 *
 * A row holds the neighbours of one member on other nodes, its sources or its
 * destinations, in the order of nodes, ranks, and the member's list. On each
 * node the lowest rank with a row is the leader: it knows the rows of all
 * members on its node. It orders the edges to and from each other node by
 * source, destination and row; both leaders compute the same order. The members
 * agree once (weft_coll_edges_settle()).
 */
#ifndef WEFT_COLL_EDGES_H
#define WEFT_COLL_EDGES_H

#include "coll/coll_priv.h"

/* One edge, at a leader. */
struct weft_coll_edge {
	int32_t node, source, dest;
	int32_t member; /* place on my node; the edge is in its row */
	int32_t at;	/* index in the rows of all members */
};

/* One direction. */
struct weft_coll_row {
	int32_t n;
	const int32_t *
		places; /* of this process: indices in the list of neighbours */
	/* at a leader: */
	int32_t n_edges;
	const struct weft_coll_edge
		*edges;	      /* ordered by node, source, dest, at */
	const int32_t *first; /* n + 1: begin of each member's row */
};

/* One block. */
struct weft_coll_edges {
	int32_t n_per_bundle;	/* messages that one bundle replaces, on average
				 */
	const int32_t *leaders; /* of each node; -1: no member has a row */
	struct weft_coll_row out, in;
};

/* Numbers of neighbours on other nodes. */
struct weft_coll_degrees {
	int32_t out, in;
};

/* Computes my row: writes indices in a list of neighbours, and returns their
 * number, or -1 without memory. The sources of a grid are swapped, see
 * neighbor.c. */
int32_t weft_coll_row_of(const struct weft_nodes *nodes, int32_t me,
	const int *neighbors, int32_t n, bool is_swapped, int32_t *places);

/* degrees: of all members. rows, at a leader: of the members on its node, each
 * the ranks of destinations and then of sources. NULL without memory. */
struct weft_coll_edges *weft_coll_edges_create(const struct weft_nodes *nodes,
	int32_t me, const struct weft_coll_degrees *degrees,
	const int32_t *places_out, const int32_t *places_in,
	const int32_t *rows);

/* The leader of a node, or -1. */
int32_t weft_coll_edges_leader(const struct weft_nodes *nodes,
	const struct weft_coll_degrees *degrees, int32_t node);

/* Whether the agreement is due before this call, because a rule may select
 * bundles; and the agreement, with messages that take a sequence number of
 * their own. VCI's lock held. */
bool weft_coll_edges_are_due(struct weft_comm *comm);
int weft_coll_edges_settle(
	const struct weft_coll *args, enum weft_coll_kind kind);

#endif
