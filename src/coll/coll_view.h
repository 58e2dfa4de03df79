/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_view: a view: the members among which an algorithm runs */
#ifndef WEFT_COLL_VIEW_H
#define WEFT_COLL_VIEW_H

#include "core/comm.h"
#include "core/comm_nodes.h"

#include <stdbool.h>
#include <stdint.h>

/* A view numbers n members of comm. The number of a member is its view rank, as
 * the rank in a subcommunicator would be. With k = first + i * stride, view
 * rank i is rank ranks[k] of comm, or rank k if ranks is NULL. The caller owns
 * the array. `me` is the view rank of this process; -1: the process is not in
 * the view. */
struct weft_coll_view {
	struct weft_comm *comm;
	const int32_t *ranks;
	int32_t n, me;
	int32_t first, stride;
	int32_t other, other_rank;	/* view rank `other` is rank other_rank,
					   an exception; -1: none */
	const struct weft_nodes *nodes; /* NULL: unknown, or the view does not
					   have all members of comm */
};

static inline int32_t weft_coll_view_rank(
	const struct weft_coll_view *view, int32_t i)
{
	int64_t k = view->first + (int64_t)i * view->stride;

	if (i == view->other)
		return view->other_rank;
	return view->ranks ? view->ranks[k] : (int32_t)k;
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

/* Returns a view of all members of an intracommunicator. */
static inline struct weft_coll_view weft_coll_view_of(struct weft_comm *comm)
{
	return (struct weft_coll_view){ .comm = comm,
		.n = comm->size,
		.me = comm->rank,
		.stride = 1,
		.other = -1,
		.nodes = comm->coll.nodes };
}

/* Returns a view of the members on this process's node. all: the view of all
 * members, whose nodes are known. */
static inline struct weft_coll_view weft_coll_view_node(
	const struct weft_coll_view *all)
{
	const struct weft_nodes *nodes = all->nodes;
	const int32_t node = weft_nodes_of(nodes, all->me);
	struct weft_coll_view view = weft_coll_view_ranks(
		all->comm, nodes->members, weft_nodes_size(nodes, node), 0);

	view.first = nodes->first[node];
	while (weft_coll_view_rank(&view, view.me) != all->me)
		view.me++;
	return view;
}

/* Returns a view of all remote members of an intercommunicator. This process is
 * not in the view. */
static inline struct weft_coll_view weft_coll_view_remote(
	struct weft_comm *comm)
{
	return (struct weft_coll_view){ .comm = comm,
		.n = comm->remote_size,
		.me = -1,
		.stride = 1,
		.other = -1 };
}

#endif
