/* SPDX-License-Identifier: BSD-3-Clause */
/* slices: collectives in which each member of a node exchanges one slice
 * between nodes
 *
 * All nodes have equal numbers of members. The members with equal local ranks
 * (indices on their nodes) exchange one slice of the data between nodes. All
 * slices are exchanged at the same time. Before this exchange, the members of a
 * node distribute or reduce the slices among themselves. After it, they gather
 * all slices. An algorithm may need only one of these parts. */
#include "coll/coll_algo.h"

struct slices {
	struct weft_coll_view node,
		among; /* node: the members of this node. among: the members
			  with this member's local rank on all nodes */
	const struct weft_nodes *nodes;
};

static struct slices slices_of(const struct weft_coll_view *view)
{
	const struct weft_nodes *nodes = view->nodes;
	struct slices s = {
		.nodes = nodes,
		.node = weft_coll_view_node(view),
		.among = weft_coll_view_ranks(view->comm, nodes->members,
			nodes->n, weft_nodes_of(nodes, view->me)),
	};

	s.among.first = s.node.me;
	s.among.stride = nodes->most;
	return s;
}

/* The rank of the member of a node with a local rank. */
static int32_t member_rank(const struct slices *s, int32_t node, int32_t place)
{
	return weft_nodes_member(s->nodes, node * s->node.n + place);
}

static struct weft_blocks one_block(struct weft_span span)
{
	return (struct weft_blocks){
		.buf = span.buf, .count = span.count, .type = span.type
	};
}

/* Each member sends its slice to all others on its node, except to view rank
 * has_all, which has all slices; -1: none. */
static void gather_slices(struct weft_sched *sched,
	const struct weft_coll_view *node, struct weft_span all,
	int32_t has_all)
{
	const int32_t n = node->n, me = node->me;

	for (int32_t i = 1; i < n; i++) {
		int32_t from = (me - i + n) % n, to = (me + i) % n;

		if (me != has_all)
			weft_sched_recv(sched, node,
				weft_slices(all, from, from + 1, n), from);
		if (to != has_all)
			weft_sched_send(sched, node,
				weft_slices(all, me, me + 1, n), to);
	}
	weft_sched_fence(sched);
}

void weft_bcast_slices(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const bool is_root = view->me == args->root;
	const int32_t root_node = weft_nodes_of(view->nodes, args->root);
	struct slices s = slices_of(view);
	const int32_t k = s.node.n, me = s.node.me;
	struct weft_span span = weft_block(&args->recv, 0);
	struct weft_span all = weft_bcast_bytes(sched, span, is_root);
	struct weft_coll part = *args;
	int32_t root = -1;

	for (int32_t i = 0; i < k && root_node == s.among.me; i++)
		if (weft_coll_view_rank(&s.node, i) == args->root)
			root = i;
	for (int32_t i = 0; is_root && i < k; i++)
		if (i != me)
			weft_sched_send(sched, &s.node,
				weft_slices(all, i, i + 1, k), i);
	if (root >= 0 && !is_root)
		weft_sched_recv(
			sched, &s.node, weft_slices(all, me, me + 1, k), root);
	weft_sched_fence(sched);
	part.recv = one_block(weft_slices(all, me, me + 1, k));
	part.root = root_node;
	weft_coll_write_among(sched, WEFT_COLL_BCAST, &s.among, &part);
	weft_sched_fence(sched);
	gather_slices(sched, &s.node, all, root);
	weft_bcast_unpack(sched, all, span, is_root);
}

/* ---- reductions ---- */

/* Reduces this member's slice of the operands of its node. The result is in
 * scratch memory. */
static struct weft_span node_sum(struct weft_sched *sched,
	const struct weft_coll_view *node, struct weft_redop *op,
	struct weft_span from)
{
	const int32_t n = node->n, me = node->me;
	struct weft_span sum = weft_slices(from, me, me + 1, n), in = sum;

	sum.buf = weft_sched_tmp_typed(sched, sum.count, sum.type);
	in.buf = weft_sched_tmp_typed(sched, sum.count, sum.type);
	weft_sched_copy(sched, weft_slices(from, me, me + 1, n), sum);
	for (int32_t i = 1; i < n; i++) {
		int32_t to = (me + i) % n;

		weft_sched_recv(sched, node, in, (me - i + n) % n);
		weft_sched_send(
			sched, node, weft_slices(from, to, to + 1, n), to);
		weft_sched_fence(sched);
		weft_sched_reduce(sched, op, in.buf, sum);
	}
	return sum;
}

void weft_allreduce_slices(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct slices s = slices_of(view);
	struct weft_span all = weft_block(&args->recv, 0);
	struct weft_coll part = *args;

	part.send = one_block(node_sum(sched, &s.node, args->op,
		weft_block(args->is_in_place ? &args->recv : &args->send, 0)));
	part.is_in_place = false;
	part.recv =
		one_block(weft_slices(all, s.node.me, s.node.me + 1, s.node.n));
	weft_coll_write_among(sched, WEFT_COLL_ALLREDUCE, &s.among, &part);
	weft_sched_fence(sched);
	gather_slices(sched, &s.node, all, -1);
}

/* The slice of a local rank consists of the result blocks of the members with
 * this local rank on all nodes. Returns the operand of the block for the member
 * on `node` with local rank `place`. */
static struct weft_span part_of(const struct weft_coll *args,
	const struct slices *s, int32_t node, int32_t place)
{
	struct weft_blocks from = args->is_in_place ? args->recv : args->send;

	from.count = args->recv.count;
	return weft_block(&from, member_rank(s, node, place));
}

void weft_reduce_scatter_slices(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct slices s = slices_of(view);
	const int32_t k = s.node.n, me = s.node.me, n = s.among.n;
	const int64_t len = args->recv.count;
	struct weft_span sum = { NULL, len * n, args->recv.type }, in = sum;
	struct weft_coll part = *args;

	sum.buf = weft_sched_tmp_typed(sched, sum.count, sum.type);
	in.buf = weft_sched_tmp_typed(sched, sum.count, sum.type);
	for (int32_t j = 0; j < n; j++)
		weft_sched_copy(sched, part_of(args, &s, j, me),
			weft_slice(sum, j * len, (j + 1) * len));
	for (int32_t i = 1; i < k; i++) {
		for (int32_t j = 0; j < n; j++) {
			weft_sched_recv(sched, &s.node,
				weft_slice(in, j * len, (j + 1) * len),
				(me - i + k) % k);
			weft_sched_send(sched, &s.node,
				part_of(args, &s, j, (me + i) % k),
				(me + i) % k);
		}
		weft_sched_fence(sched);
		weft_sched_reduce(sched, args->op, in.buf, sum);
	}
	part.send = one_block(sum);
	part.is_in_place = false;
	weft_coll_write_among(sched, WEFT_COLL_REDUCE_SCATTER, &s.among, &part);
	weft_sched_fence(sched);
}

/* ---- allgather ---- */

/* A ring among the nodes. In each round, the members of a node exchange the
 * blocks that they received from the previous node in the round before; in the
 * first round, their own blocks. */
void weft_allgather_slices(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct slices s = slices_of(view);
	const int32_t k = s.node.n, me = s.node.me, n = s.among.n;

	if (!args->is_in_place)
		weft_sched_copy(sched, weft_block(&args->send, 0),
			weft_block(&args->recv, view->me));
	for (int32_t r = 0; r < n; r++) {
		const int32_t now = (s.among.me - r + n) % n;
		struct weft_span block =
			weft_block(&args->recv, member_rank(&s, now, me));

		if (r < n - 1) {
			weft_sched_recv(sched, &s.among,
				weft_block(&args->recv,
					member_rank(&s, (now + n - 1) % n, me)),
				(s.among.me + n - 1) % n);
			weft_sched_send(
				sched, &s.among, block, (s.among.me + 1) % n);
		}
		for (int32_t i = 1; i < k; i++) {
			const int32_t from = (me - i + k) % k;

			weft_sched_recv(sched, &s.node,
				weft_block(&args->recv,
					member_rank(&s, now, from)),
				from);
			weft_sched_send(sched, &s.node, block, (me + i) % k);
		}
		weft_sched_fence(sched);
	}
}
