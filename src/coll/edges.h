/* SPDX-License-Identifier: BSD-3-Clause */
/* edges: the neighbours of a topology on other nodes
 *
 * A row has the neighbours of one member on other nodes: its sources or its
 * destinations. They are ordered by node, then rank, then index in the member's
 * list of neighbours. On each node, the leader is the lowest rank that has a
 * row. The leader knows the rows of all members on its node. It orders the
 * edges to and from each other node by source, destination and position in the
 * row. The leaders of two nodes compute the same order. The members agree once
 * (weft_coll_edges_settle()). */
#ifndef WEFT_COLL_EDGES_H
#define WEFT_COLL_EDGES_H

#include "coll/coll_priv.h"

/* One edge, at a leader. */
struct weft_coll_edge {
	int32_t node, source, dest;
	int32_t member; /* place on this node of the member with this row */
	int32_t at;	/* index in the rows of all members */
};

/* The edges of one direction: destinations or sources. */
struct weft_coll_row {
	int32_t n;
	const int32_t *
		places; /* of this process: indices in the list of neighbours */
	/* at a leader: */
	int32_t n_edges;
	const struct weft_coll_edge
		*edges;	      /* ordered by node, source, dest, at */
	const int32_t *first; /* index of each member's row in the rows of all
				 members, and the end */
};

/* The struct and its arrays are one block of memory. A bundle is a message with
 * the data of all edges from one node to another. */
struct weft_coll_edges {
	int32_t n_per_bundle;	/* messages that one bundle replaces, on average
				 */
	const int32_t *leaders; /* rank of each node's leader; -1: no member of
				   the node has a row */
	struct weft_coll_row out, in;
};

/* Numbers of neighbours on other nodes. */
struct weft_coll_degrees {
	int32_t out, in;
};

/* Computes the row of this process: writes indices in the list of neighbours to
 * places, and returns their number. Returns -1 if out of memory. is_swapped is
 * set for the sources of a grid, whose blocks arrive in swapped order (see
 * neighbor_messages()). */
int32_t weft_coll_row_of(const struct weft_nodes *nodes, int32_t me,
	const int *neighbors, int32_t n, bool is_swapped, int32_t *places);

/* Creates the edges. degrees has an entry for each member. rows is read at a
 * leader: for each member on its node, the ranks of destinations, then the
 * ranks of sources. NULL if out of memory. */
struct weft_coll_edges *weft_coll_edges_create(const struct weft_nodes *nodes,
	int32_t me, const struct weft_coll_degrees *degrees,
	const int32_t *places_out, const int32_t *places_in,
	const int32_t *rows);

/* The leader of a node, or -1. */
int32_t weft_coll_edges_leader(const struct weft_nodes *nodes,
	const struct weft_coll_degrees *degrees, int32_t node);

/* True if the agreement must run before the next neighbourhood collective,
 * because a rule may select bundles. VCI's lock held. */
bool weft_coll_edges_are_due(struct weft_comm *comm);
/* Runs the agreement. Its messages use a separate sequence number. VCI's lock
 * held; blocks. */
int weft_coll_edges_settle(
	const struct weft_coll *args, enum weft_coll_kind kind);

#endif
