/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_view: the ranks an algorithm works among, and my place */
#ifndef WEFT_COLL_VIEW_H
#define WEFT_COLL_VIEW_H

#include "core/comm.h"

#include <stdbool.h>
#include <stdint.h>

/* Which members of a communicator share a node. Nodes are numbered by their
 * lowest rank, which leads them; members are in the order of ranks. */
struct weft_nodes {
	int32_t n;		/* nodes */
	int32_t most, least;	/* members of one */
	bool is_in_order;	/* each node's members are a run of ranks */
	bool shares_cores;	/* rank 0's node runs more than it has cores */
	const int32_t *of;	/* by rank: its node */
	const int32_t *members; /* of all nodes, one after the other */
	const int32_t *first;	/* by node, and one more: place in members */
	const int32_t *leaders; /* by node */
	char fabric[16];	/* rank 0's between nodes; "": of no weight */
};

/* An algorithm sends and receives by place: place i is rank ranks[i * stride]
 * of comm, or rank i where ranks is NULL. Lent by whoever calls. */
struct weft_coll_view {
	struct weft_comm *comm;
	const int32_t *ranks;
	int32_t n, me;
	int32_t stride;
	int32_t other, other_rank; /* ranks: but place `other` is that one */
	const struct weft_nodes *nodes; /* all of a communicator's members; NULL
					   while they are not known */
};

static inline int32_t weft_coll_view_rank(
	const struct weft_coll_view *view, int32_t i)
{
	if (!view->ranks)
		return i;
	return i == view->other ? view->other_rank
				: view->ranks[(int64_t)i * view->stride];
}

static inline struct weft_coll_view weft_coll_view_ranks(
	struct weft_comm *comm, const int32_t *ranks, int32_t n, int32_t me)
{
	return (struct weft_coll_view){ .comm = comm,
		.ranks = ranks,
		.n = n,
		.me = me,
		.stride = 1,
		.other = -1 };
}

/* All members; and, of an intercommunicator, all remote ones, among whom I have
 * no place. */
static inline struct weft_coll_view weft_coll_view_of(struct weft_comm *comm)
{
	return (struct weft_coll_view){ .comm = comm,
		.n = comm->size,
		.me = comm->rank,
		.nodes = comm->coll.nodes };
}

static inline struct weft_coll_view weft_coll_view_remote(
	struct weft_comm *comm)
{
	return (struct weft_coll_view){
		.comm = comm, .n = comm->remote_size, .me = -1
	};
}

#endif
