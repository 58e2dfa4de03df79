/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_cost: the predicted time of each algorithm, in ns
 *
 * A prediction has the messages on the longest path only. Computing takes no
 * time, and messages share nothing but the interfaces of their processes and
 * nodes. The members of a node exchange messages. test/launch/predict.test
 * compares the predictions with the times of weft-sim. */
#ifndef WEFT_COLL_COST_H
#define WEFT_COLL_COST_H

#include "coll/network.h"

struct weft_coll_case;

/* The time of a call whose messages take `between` between nodes, and `within`
 * on a node. `crowded` is for messages that all members of a node send to other
 * nodes at the same time. */
struct weft_coll_paths {
	struct weft_loggp between, within, crowded;
};

typedef double weft_coll_cost_fn(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths);

weft_coll_cost_fn weft_coll_cost_rounds, weft_coll_cost_tree_down,
	weft_coll_cost_tree_up, weft_coll_cost_tree_both,
	weft_coll_cost_bcast_scatter, weft_coll_cost_scatter,
	weft_coll_cost_gather, weft_coll_cost_linear_root,
	weft_coll_cost_linear_all, weft_coll_cost_windows, weft_coll_cost_ring,
	weft_coll_cost_gather_bruck, weft_coll_cost_alltoall_bruck,
	weft_coll_cost_rabenseifner, weft_coll_cost_doubling,
	weft_coll_cost_tree_scatter, weft_coll_cost_halving,
	weft_coll_cost_chain;

/* Algorithms with parts within nodes. */
weft_coll_cost_fn weft_coll_cost_barrier_nodes, weft_coll_cost_bcast_nodes,
	weft_coll_cost_reduce_nodes, weft_coll_cost_allreduce_nodes,
	weft_coll_cost_allgather_nodes, weft_coll_cost_alltoall_nodes,
	weft_coll_cost_bcast_slices, weft_coll_cost_allgather_slices,
	weft_coll_cost_allreduce_slices, weft_coll_cost_reduce_scatter_slices;

#endif
