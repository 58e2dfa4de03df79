/* SPDX-License-Identifier: BSD-3-Clause */
/* edges: the neighbours of a topology on other nodes
 *
 * An off-node list has the neighbours of one member on other nodes: its sources
 * or its destinations. Identifiers call this list a `row`. It is ordered by
 * node, then rank, then index in the member's list of all neighbours. On each
 * node, the bundle leader is the lowest rank with an off-node list that is not
 * empty. The bundle leader knows the off-node lists of all members on its node.
 * It orders the edges to and from each other node by source, destination and
 * position in the off-node list. The bundle leaders of two nodes compute the
 * same order. The members exchange the lists once, in weft_coll_edges_settle().
 */
#ifndef WEFT_COLL_EDGES_H
#define WEFT_COLL_EDGES_H

#include "coll/coll_priv.h"

/* One edge, at a bundle leader. */
struct weft_coll_edge {
	int32_t node, source, dest;
	int32_t member; /* the member of this node that has the edge: its index
			   in rank order */
	int32_t at; /* index of the edge in the off-node lists of all members */
};

/* The off-node edges of one direction: to destinations, or from sources. */
struct weft_coll_row {
	int32_t n;
	const int32_t *places; /* this process's off-node list: indices in its
				  list of all neighbours */
	/* at a bundle leader: */
	int32_t n_edges;
	const struct weft_coll_edge
		*edges;	      /* ordered by node, source, dest, at */
	const int32_t *first; /* index of each member's list among the off-node
				 lists of the node, and the end */
};

/* The struct and its arrays are one allocation. A bundle is a message with the
 * data of all edges from one node to another. */
struct weft_coll_edges {
	int32_t n_per_bundle; /* messages that one bundle replaces, on average;
				 0: no bundles */
	const int32_t *leaders; /* rank of each node's bundle leader; -1: no
				   member of the node has off-node neighbours */
	struct weft_coll_row out, in;
};

/* Numbers of neighbours on other nodes. */
struct weft_coll_degrees {
	int32_t out, in;
};

/* Computes the off-node list of this process: writes indices in the list of all
 * neighbours to `places`. Returns their number, or -1 if out of memory.
 * is_swapped is set for the sources of a grid, whose blocks arrive in swapped
 * order (see neighbor_messages()). */
int32_t weft_coll_row_of(const struct weft_nodes *nodes, int32_t me,
	const int *neighbors, int32_t n, bool is_swapped, int32_t *places);

/* Creates the edges. degrees has an entry for each member. places_out and
 * places_in are the off-node lists of this process. A bundle leader also reads
 * rows: for each member on its node, the ranks of its off-node destinations,
 * then of its off-node sources. NULL if out of memory. */
struct weft_coll_edges *weft_coll_edges_create(const struct weft_nodes *nodes,
	int32_t me, const struct weft_coll_degrees *degrees,
	const int32_t *places_out, const int32_t *places_in,
	const int32_t *rows);

/* The rank of the bundle leader of a node, or -1. */
int32_t weft_coll_edges_leader(const struct weft_nodes *nodes,
	const struct weft_coll_degrees *degrees, int32_t node);

/* True if the setup of edges must run before the next blocking neighbourhood
 * collective, because a rule may select bundles. VCI's lock held. */
bool weft_coll_edges_are_due(struct weft_comm *comm);
/* Runs the setup of edges. Blocks. Its messages have a sequence number of their
 * own. 0 or an error. VCI's lock held. */
int weft_coll_edges_settle(
	const struct weft_coll *args, enum weft_coll_kind kind);

#endif
