/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes: collectives in parts, within nodes and between nodes
 *
 * A node leader is the lowest rank of its node, or the root on the root's node.
 * Rules select the algorithm of each part that is a barrier, broadcast or
 * reduction, among the members of a node or among the node leaders. The other
 * messages of allgather and alltoall are written here. */
#include "coll/coll_algo.h"

enum { WINDOW = 32 };

/* node: the members of this node. among: the node leaders; view rank i is the
 * leader of node i. */
struct parts {
	struct weft_coll_view node, among;
	bool is_leader;
};

/* root: a rank that leads its node in place of the lowest rank; -1: none. */
static struct parts parts_of(const struct weft_coll_view *view, int32_t root)
{
	const struct weft_nodes *nodes = view->nodes;
	const int32_t mine = weft_nodes_of(nodes, view->me);
	struct parts p = {
		.node = weft_coll_view_node(view),
		.among = weft_coll_view_ranks(
			view->comm, nodes->leaders, nodes->n, -1),
	};

	if (root >= 0) {
		p.among.other = weft_nodes_of(nodes, root);
		p.among.other_rank = root;
	}
	p.is_leader = weft_coll_view_rank(&p.among, mine) == view->me;
	p.among.me = p.is_leader ? mine : -1;
	return p;
}

/* The view rank of this node's leader in p->node. */
static int32_t leader_of(
	const struct parts *p, const struct weft_coll_view *view, int32_t root)
{
	const struct weft_nodes *nodes = view->nodes;

	if (root < 0 ||
		weft_nodes_of(nodes, root) != weft_nodes_of(nodes, view->me))
		return 0;
	for (int32_t i = 0; i < p->node.n; i++)
		if (weft_coll_view_rank(&p->node, i) == root)
			return i;
	return 0;
}

/* Runs a part within the node, in its segment or by messages. */
static void within_node(struct weft_sched *sched, enum weft_coll_kind kind,
	const struct parts *p, const struct weft_coll *args)
{
	if (sched->within && !sched->within(sched, kind, &p->node, args))
		return;
	weft_coll_write_among(sched, kind, &p->node, args);
	weft_sched_fence(sched);
}

static void between(struct weft_sched *sched, enum weft_coll_kind kind,
	const struct parts *p, const struct weft_coll *args)
{
	if (!p->is_leader)
		return;
	weft_coll_write_among(sched, kind, &p->among, args);
	weft_sched_fence(sched);
}

/* ---- operations ---- */

void weft_barrier_nodes(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct parts p = parts_of(view, -1);
	struct weft_coll part = *args;
	uint8_t *flag = weft_sched_tmp(sched, 2);

	part.op = weft_redop_builtin(WEFT_OP_BOR);
	part.root = 0;
	part.is_in_place = false;
	if (!sched->err)
		flag[0] = flag[1] = 0;
	part.send = (struct weft_blocks){ .buf = flag,
		.count = 1,
		.type = weft_type_builtin(WEFT_TYPE_BYTE) };
	part.recv = part.send;
	part.recv.buf = flag + 1;
	within_node(sched, WEFT_COLL_REDUCE, &p, &part);
	between(sched, WEFT_COLL_BARRIER, &p, args);
	within_node(sched, WEFT_COLL_BCAST, &p, &part);
}

void weft_bcast_nodes(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct parts p = parts_of(view, args->root);
	struct weft_coll part = *args;

	part.root = weft_nodes_of(view->nodes, args->root);
	between(sched, WEFT_COLL_BCAST, &p, &part);
	part.root = leader_of(&p, view, args->root);
	within_node(sched, WEFT_COLL_BCAST, &p, &part);
}

/* Reduces to the leader of each node, and then among the node leaders to the
 * root, or to all node leaders if root is -1. `result` is the result buffer of
 * a node leader, and NULL at other members. */
static void reduce_to_leaders(struct weft_sched *sched, const struct parts *p,
	const struct weft_coll_view *view, const struct weft_coll *args,
	int32_t root, void *result)
{
	struct weft_coll part = *args;

	part.root = leader_of(p, view, root);
	part.send = args->is_in_place && (root < 0 || view->me == root)
			    ? args->recv
			    : args->send;
	part.recv = part.send;
	part.recv.buf = result;
	part.is_in_place = result && part.send.buf == result;
	within_node(sched, WEFT_COLL_REDUCE, p, &part);
	part.send = part.recv;
	part.is_in_place = root < 0 || view->me == root;
	if (root < 0) {
		between(sched, WEFT_COLL_ALLREDUCE, p, &part);
	} else {
		part.root = weft_nodes_of(view->nodes, root);
		between(sched, WEFT_COLL_REDUCE, p, &part);
	}
}

void weft_reduce_nodes(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct parts p = parts_of(view, args->root);
	void *result = NULL;

	if (view->me == args->root)
		result = args->recv.buf;
	else if (p.is_leader)
		result = weft_sched_tmp_typed(
			sched, args->send.count, args->send.type);
	reduce_to_leaders(sched, &p, view, args, args->root, result);
}

void weft_allreduce_nodes(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct parts p = parts_of(view, -1);
	struct weft_coll part = *args;

	/* node leaders only: other members receive the result in the broadcast
	 */
	reduce_to_leaders(
		sched, &p, view, args, -1, p.is_leader ? args->recv.buf : NULL);
	part.root = 0;
	within_node(sched, WEFT_COLL_BCAST, &p, &part);
}

/* ---- allgather ---- */

/* Sends or receives the packed blocks of n nodes, from node `from` on (modulo
 * the number of nodes), as one or two messages. */
static void move_nodes(struct weft_sched *sched, const struct parts *p,
	const struct weft_nodes *nodes, struct weft_span all, int32_t from,
	int32_t n, int32_t place, bool is_send)
{
	const int64_t len = all.count / nodes->size;

	from %= nodes->n;
	while (n > 0) {
		int32_t run = from + n < nodes->n ? n : nodes->n - from;
		struct weft_span span =
			weft_slice(all, len * nodes->first[from],
				len * nodes->first[from + run]);

		if (is_send)
			weft_sched_send(sched, &p->among, span, place);
		else
			weft_sched_recv(sched, &p->among, span, place);
		n -= run;
		from = 0;
	}
}

/* Bruck's algorithm among node leaders. */
static void gather_nodes(struct weft_sched *sched, const struct parts *p,
	const struct weft_nodes *nodes, struct weft_span all)
{
	const int32_t n = nodes->n, me = p->among.me;

	for (int32_t have = 1; have < n; have *= 2) {
		int32_t count = have < n - have ? have : n - have;
		int32_t up = (me + have) % n, down = (me - have + n) % n;

		move_nodes(sched, p, nodes, all, up, count, up, false);
		move_nodes(sched, p, nodes, all, me, count, down, true);
		weft_sched_fence(sched);
	}
}

/* Node leaders gather the blocks of their nodes, exchange them and broadcast
 * all. Blocks are packed, in the order of nodes. */
void weft_allgather_nodes(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_nodes *nodes = view->nodes;
	struct parts p = parts_of(view, -1);
	struct weft_span own = args->is_in_place
				       ? weft_block(&args->recv, view->me)
				       : weft_block(&args->send, 0);
	const int64_t len = own.count * own.type->size;
	const size_t total = (size_t)len * (size_t)view->n;
	const int64_t first = nodes->first[weft_nodes_of(nodes, view->me)];
	const int64_t at = first + p.node.me;
	struct weft_span all =
		weft_span_bytes(weft_sched_tmp(sched, total), total);
	struct weft_coll part = *args;

	weft_sched_copy(sched, own, weft_slice(all, at * len, (at + 1) * len));
	for (int64_t i = 1; p.is_leader && i < p.node.n; i++)
		weft_sched_recv(sched, &p.node,
			weft_slice(
				all, (first + i) * len, (first + i + 1) * len),
			(int32_t)i);
	if (!p.is_leader)
		weft_sched_send(sched, &p.node,
			weft_slice(all, at * len, (at + 1) * len), 0);
	weft_sched_fence(sched);
	if (p.is_leader)
		gather_nodes(sched, &p, nodes, all);
	part.root = 0;
	part.recv = (struct weft_blocks){
		.buf = all.buf, .count = all.count, .type = all.type
	};
	within_node(sched, WEFT_COLL_BCAST, &p, &part);
	for (int32_t i = 0; i < view->n; i++)
		weft_sched_copy(sched, weft_slice(all, i * len, (i + 1) * len),
			weft_block(&args->recv, weft_nodes_member(nodes, i)));
}

/* ---- alltoall ---- */

/* The packed send buffers of a node's members, at its leader; later the receive
 * buffers. A `row` is the buffer of one member: a block of len bytes for each
 * rank, in the order of nodes. Member i's is at rows + i * row. A member that
 * is not a leader has only its own. */
struct bundle {
	const struct weft_nodes *nodes;
	const struct parts *p;
	char *rows;
	size_t len, row;
};

/* Sends each member's packed send buffer to the node leader (is_up), or its
 * packed receive buffer from the node leader to the member. */
static void move_rows(
	struct weft_sched *sched, const struct bundle *b, bool is_up)
{
	const struct weft_coll_view *node = &b->p->node;

	for (int32_t i = 0; i < node->n; i++) {
		struct weft_span row = weft_span_bytes(
			b->rows + (b->p->is_leader ? (size_t)i : 0) * b->row,
			b->row);

		if (b->p->is_leader ? i == 0 : i != node->me)
			continue;
		if (b->p->is_leader == is_up)
			weft_sched_recv(
				sched, node, row, b->p->is_leader ? i : 0);
		else
			weft_sched_send(
				sched, node, row, b->p->is_leader ? i : 0);
	}
	weft_sched_fence(sched);
}

/* is_out: packs the blocks that this node's members send to `node`, member by
 * member. Otherwise unpacks the blocks that `node` has sent. */
static void bundle_blocks(struct weft_sched *sched, const struct bundle *b,
	int32_t node, char *packed, bool is_out)
{
	const int32_t k = b->p->node.n, m = weft_nodes_size(b->nodes, node);
	const size_t at = (size_t)b->nodes->first[node] * b->len;

	for (int32_t i = 0; i < k; i++)
		for (int32_t j = 0; j < (is_out ? 1 : m); j++) {
			size_t len = is_out ? (size_t)m * b->len : b->len;
			struct weft_span here =
				weft_span_bytes(b->rows + (size_t)i * b->row +
							at + (size_t)j * b->len,
					len);
			struct weft_span there = weft_span_bytes(
				packed + (is_out ? (size_t)(i * m)
						 : (size_t)j * (size_t)k +
								 (size_t)i) *
						 b->len,
				len);

			if (is_out)
				weft_sched_copy(sched, here, there);
			else
				weft_sched_copy(sched, there, here);
		}
}

static void exchange_bundles(struct weft_sched *sched, const struct bundle *b)
{
	const struct weft_nodes *nodes = b->nodes;
	const size_t k = (size_t)b->p->node.n;
	const int32_t n = nodes->n, me = b->p->among.me;
	char *out = weft_sched_tmp(sched, k * b->row);
	char *in = weft_sched_tmp(sched, k * b->row);

	for (int32_t i = 0; i < n; i++)
		bundle_blocks(sched, b, i,
			out + k * b->len * (size_t)nodes->first[i], true);
	for (int32_t i = 1; i < n; i++) {
		int32_t to = (me + i) % n, from = (me - i + n) % n;
		size_t here = k * b->len;

		weft_sched_recv(sched, &b->p->among,
			weft_span_bytes(in + here * (size_t)nodes->first[from],
				here * (size_t)weft_nodes_size(nodes, from)),
			from);
		weft_sched_send(sched, &b->p->among,
			weft_span_bytes(out + here * (size_t)nodes->first[to],
				here * (size_t)weft_nodes_size(nodes, to)),
			to);
		if (i % WINDOW == 0)
			weft_sched_fence(sched);
	}
	weft_sched_fence(sched);
	for (int32_t i = 0; i < n; i++)
		bundle_blocks(sched, b, i,
			(i == me ? out : in) +
				k * b->len * (size_t)nodes->first[i],
			false);
}

void weft_alltoall_nodes(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_blocks *from =
		args->is_in_place ? &args->recv : &args->send;
	struct parts p = parts_of(view, -1);
	struct bundle b = { .nodes = view->nodes, .p = &p };

	b.len = (size_t)(args->recv.count * args->recv.type->size);
	b.row = b.len * (size_t)view->n;
	b.rows = weft_sched_tmp(
		sched, b.row * (p.is_leader ? (size_t)p.node.n : 1));
	for (int32_t i = 0; i < view->n; i++)
		weft_sched_copy(sched,
			weft_block(from, weft_nodes_member(b.nodes, i)),
			weft_span_bytes(b.rows + (size_t)i * b.len, b.len));
	move_rows(sched, &b, true);
	if (p.is_leader)
		exchange_bundles(sched, &b);
	move_rows(sched, &b, false);
	for (int32_t i = 0; i < view->n; i++)
		weft_sched_copy(sched,
			weft_span_bytes(b.rows + (size_t)i * b.len, b.len),
			weft_block(&args->recv, weft_nodes_member(b.nodes, i)));
}
