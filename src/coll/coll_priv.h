/* SPDX-License-Identifier: BSD-3-Clause */
/* coll: declarations that the files of algorithms share */
#ifndef WEFT_COLL_PRIV_H
#define WEFT_COLL_PRIV_H

#include "coll/coll.h"
#include "coll/sched.h"

/* An algorithm: writes the steps of one collective among the members of a view.
 * args->root and the indices of blocks are view ranks. */
typedef void weft_coll_fn(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args);

weft_coll_fn weft_barrier_dissemination, weft_bcast_binomial,
	weft_bcast_scatter, weft_gather_binomial, weft_gather_linear,
	weft_scatter_binomial, weft_scatter_linear, weft_allgather_bruck,
	weft_allgather_ring, weft_allgather_linear, weft_alltoall_bruck,
	weft_alltoall_linear, weft_reduce_binomial, weft_reduce_rabenseifner,
	weft_allreduce_doubling, weft_allreduce_rabenseifner,
	weft_allreduce_tree, weft_reduce_scatter_tree,
	weft_reduce_scatter_halving, weft_scan_doubling, weft_exscan_doubling,
	weft_scan_chain, weft_exscan_chain, weft_neighbor_linear;

/* Collectives that consist of parts within nodes and parts between nodes. */
weft_coll_fn weft_barrier_nodes, weft_bcast_nodes, weft_reduce_nodes,
	weft_allreduce_nodes, weft_allgather_nodes, weft_alltoall_nodes,
	weft_neighbor_nodes, weft_bcast_slices, weft_allreduce_slices,
	weft_reduce_scatter_slices, weft_allgather_slices;

/* The length in bytes of each block of a neighbourhood collective. 0: lengths
 * may differ, or this process has no neighbours. */
int64_t weft_neighbor_len(const struct weft_coll *args);

/* Algorithms for intercommunicators. The view is the remote group. */
weft_coll_fn weft_inter_barrier, weft_inter_bcast, weft_inter_gather,
	weft_inter_scatter, weft_inter_allgather, weft_inter_alltoall,
	weft_inter_reduce, weft_inter_allreduce, weft_inter_reduce_scatter;

/* This bit marks the tags of the setup in coll_settle.c and edges_settle.c. A
 * member that receives such a message in another collective sends an error in
 * place of its own message of the setup. The sender's receive then completes
 * with the error. */
enum { WEFT_COLL_TAG_SETTLE = 1 << (WEFT_TAG_COLL_SHIFT + 4) };

/* As weft_coll_tag_mismatch(). Also sends the error if the tag has the bit
 * WEFT_COLL_TAG_SETTLE. VCI's lock held. */
int weft_coll_tag_refuse(struct weft_comm *comm, int32_t tag, int32_t met,
	int32_t rank) __attribute__((cold));

/* Binomial broadcast of one buffer from root. */
void weft_bcast_tree(struct weft_sched *sched,
	const struct weft_coll_view *view, struct weft_span span, int32_t root);

/* Scatters ranges of a buffer down a binomial tree. A member's number in the
 * tree is its view rank minus root, modulo n. Number i gets the items from
 * starts[i] to starts[i + 1] - 1. If starts is NULL, number i gets slice i of
 * n. A member accesses only its own range and the ranges of its subtree. */
void weft_scatter_tree(struct weft_sched *sched,
	const struct weft_coll_view *view, struct weft_span span,
	const int64_t *starts, int32_t root);

/* Returns ranges i to j - 1 of n. If starts is NULL, the ranges are slices of
 * equal length. */
static inline struct weft_span weft_ranges(struct weft_span span,
	const int64_t *starts, int32_t i, int32_t j, int32_t n)
{
	return starts ? weft_slice(span, starts[i], starts[j])
		      : weft_slices(span, i, j, n);
}

/* weft_bcast_bytes() returns a buffer of bytes for the data of a broadcast: the
 * user's buffer if its data is contiguous, otherwise scratch memory. At the
 * root, the scratch memory has the packed data. weft_bcast_unpack() unpacks
 * scratch memory to the user's buffer, except at the root. Members may describe
 * the data by different types, so algorithms divide the data at bytes, not at
 * items. */
struct weft_span weft_bcast_bytes(
	struct weft_sched *sched, struct weft_span span, bool is_root);
void weft_bcast_unpack(struct weft_sched *sched, struct weft_span bytes,
	struct weft_span span, bool is_root);

/* Binomial reduction of `mine` to `result`. `result` is significant only at the
 * root, where it may be the buffer of `mine`. Otherwise `mine` is not changed.
 * Operations that are not commutative are applied in rank order. */
void weft_reduce_tree(struct weft_sched *sched,
	const struct weft_coll_view *view, struct weft_redop *op,
	struct weft_span mine, void *result, int32_t root);

#endif
