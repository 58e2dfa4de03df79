/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_nodes: the nodes of a communicator's members
 *
 * The members agree on their nodes (coll/coll_settle.c). A duplicate of the
 * communicator shares the table. It does not change after the agreement. */
#ifndef WEFT_COMM_NODES_H
#define WEFT_COMM_NODES_H

#include <stdbool.h>
#include <stdint.h>

struct weft_comm;

/* n parts of nodes: part i has the ranks from first + i * step on, up to the
 * next part, and its node's lowest rank is leader + i * step. So a job with the
 * same number of consecutive ranks on each node needs one run. A job whose
 * ranks are dealt to the nodes in turn needs a run for each turn. */
struct weft_node_run {
	uint32_t first, leader, n, step;
};

/* The leader of a node is its lowest rank. Nodes are numbered in the order of
 * their leaders. Members of a node are in rank order. The table is one
 * allocation. If the members of each node have consecutive ranks, its length
 * grows with the number of nodes, otherwise with the number of members. */
struct weft_nodes {
	int32_t n;		/* nodes */
	int32_t size;		/* members of the communicator */
	int32_t most, least;	/* largest, smallest number of members on a node
				 */
	bool is_in_order;	/* members of a node have consecutive ranks */
	bool shares_cores;	/* rank 0's node has fewer cores than ranks */
	const int32_t *of;	/* node of each rank; NULL: is_in_order */
	const int32_t *members; /* ranks, node by node; NULL: is_in_order */
	const int32_t *first; /* index in `members` of each node's first member;
				 first[n] is the end */
	const int32_t *leaders; /* rank of each node's leader */
	char fabric[16];	/* fabric of rank 0 between nodes; "": none */
	bool is_agreed;		/* all members have the table */
	bool has_segments;	/* the members on each node could map a segment
				 */
	uint32_t refs;		/* communicators with this table */
};

/* True if the runs, from another process, can be the runs of `size` ranks. */
bool weft_node_runs_are_valid(
	const struct weft_node_run *runs, uint32_t n, int32_t size);

/* Appends the run of the next ranks to n runs, or extends the last one. Returns
 * the new number. There must be room for n + 1 runs. */
uint32_t weft_node_runs_append(
	struct weft_node_run *runs, uint32_t n, struct weft_node_run next);

/* Creates the table from n valid runs, in rank order. The caller owns the
 * reference. NULL: out of memory. */
struct weft_nodes *weft_comm_nodes_create(
	const struct weft_node_run *runs, uint32_t n, int32_t size);

/* The node of a rank. */
int32_t weft_nodes_of(const struct weft_nodes *nodes, int32_t rank);

static inline int32_t weft_nodes_size(const struct weft_nodes *nodes, int32_t k)
{
	return nodes->first[k + 1] - nodes->first[k];
}

/* The rank of a member, by its index in the order of nodes. */
static inline int32_t weft_nodes_member(
	const struct weft_nodes *nodes, int32_t i)
{
	return nodes->members ? nodes->members[i] : i;
}

/* Returns the ranks of the members on this node, in their order. *me_out is the
 * index of this process. The caller frees the array. NULL: out of memory. If
 * the group has few runs, the time is that for the processes of a node. VCI's
 * lock held. */
int32_t *weft_comm_nodes_local(
	const struct weft_comm *comm, int32_t *n_out, int32_t *me_out);

/* Adds a reference. NULL if the members have not agreed on the table, or nodes
 * is NULL. VCI's lock held. */
struct weft_nodes *weft_comm_nodes_get(struct weft_nodes *nodes);

/* Drops a reference; nodes may be NULL. VCI's lock held. */
void weft_comm_nodes_put(struct weft_nodes *nodes);

#endif
