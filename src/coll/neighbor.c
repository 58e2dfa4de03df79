/* SPDX-License-Identifier: BSD-3-Clause */
/* neighbor: neighbourhood collectives
 *
 * The algorithm "nodes" has parts within nodes and between nodes. The bundle
 * leaders of two nodes (edges.h) exchange all blocks between the nodes as one
 * message, a bundle. In an allgather, a bundle has the block of a source once,
 * for any number of receivers. A member without neighbours on other nodes sends
 * only within its node. */
#include "coll/edges.h"

#include "coll/coll_algo.h"

static bool is_near(const struct weft_coll_view *view,
	const struct weft_nodes *nodes, int32_t rank)
{
	return weft_nodes_of(nodes, rank) == weft_nodes_of(nodes, view->me);
}

/* Exchanges messages with all neighbours if `nodes` is NULL, otherwise only
 * with those on this node.
 *
 * If a dimension is periodic and has one or two processes, the lower and the
 * upper neighbour are the same process. The block that the neighbour sends
 * upwards is the block that this process receives from below. Two processes
 * match messages in order, and each sends its downward block first. So the
 * block from above is received first. */
static void neighbor_messages(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args,
	const struct weft_nodes *nodes)
{
	for (int32_t i = 0; i < args->n_sources; i++) {
		int32_t k = args->is_grid ? i ^ 1 : i;
		int from = args->sources[k];

		if (!nodes || (from >= 0 && is_near(view, nodes, from)))
			weft_sched_recv(
				sched, view, weft_block(&args->recv, k), from);
	}
	for (int32_t i = 0; i < args->n_dests; i++) {
		int to = args->dests[i];

		if (!nodes || (to >= 0 && is_near(view, nodes, to)))
			weft_sched_send(sched, view,
				weft_block(&args->send,
					args->is_same_block ? 0 : i),
				to);
	}
}

void weft_neighbor_linear(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	neighbor_messages(sched, view, args, NULL);
}

/* Reads both lengths, because a member may have sources only, or
 * destinations only. */
int64_t weft_neighbor_len(const struct weft_coll *args)
{
	int64_t out = 0, in = 0;

	if (args->is_irregular)
		return 0;
	if (args->n_dests)
		out = args->send.count * args->send.type->size;
	if (args->n_sources)
		in = args->recv.count * args->recv.type->size;
	return out > in ? out : in;
}

struct bundles {
	const struct weft_coll_view *view;
	const struct weft_coll_edges *edges;
	size_t len;    /* bytes of a block */
	int32_t place; /* index of this process among the members of its node */
	int32_t n;     /* members on this node */
	int32_t leader; /* rank of this node's bundle leader */
	bool is_same;	/* a source sends one block to all */
};

/* Returns the number of blocks of member m in one direction: one for each
 * off-node edge, or one for all if a source sends one block. */
static size_t blocks_of_row(
	const struct bundles *b, const struct weft_coll_row *row, int32_t m)
{
	int32_t n = row->first[m + 1] - row->first[m];

	return b->is_same && row == &b->edges->out ? n > 0 : (size_t)n;
}

/* Returns the index of member m's first block among the blocks of the node's
 * members. */
static size_t first_of_row(
	const struct bundles *b, const struct weft_coll_row *row, int32_t m)
{
	return b->is_same && row == &b->edges->out ? (size_t)m
						   : (size_t)row->first[m];
}

/* Sends the outgoing blocks of all members to the bundle leader, or the
 * incoming blocks from the bundle leader to the members. This member's blocks
 * are at `row`. At the bundle leader, `rows` has the blocks of all members, its
 * own among them; at other members rows is NULL. */
static void move_own_rows(struct weft_sched *sched, const struct bundles *b,
	const struct weft_coll_row *dir, char *rows, char *row, size_t n)
{
	const bool is_up = dir == &b->edges->out;
	const struct weft_coll_view node = weft_coll_view_node(b->view);

	for (int32_t m = 0; rows && m < b->n; m++) {
		struct weft_span span =
			weft_span_bytes(rows + first_of_row(b, dir, m) * b->len,
				blocks_of_row(b, dir, m) * b->len);

		if (m == b->place || !blocks_of_row(b, dir, m))
			continue;
		if (is_up)
			weft_sched_recv(sched, &node, span, m);
		else
			weft_sched_send(sched, &node, span, m);
	}
	if (!rows && n && is_up)
		weft_sched_send(sched, b->view,
			weft_span_bytes(row, n * b->len), b->leader);
	if (!rows && n && !is_up)
		weft_sched_recv(sched, b->view,
			weft_span_bytes(row, n * b->len), b->leader);
	weft_sched_fence(sched);
}

/* Copies the blocks of one direction between `rows` and bundles (is_copy), or
 * starts the messages of the bundles. */
static void move_bundles(struct weft_sched *sched, const struct bundles *b,
	const struct weft_coll_row *dir, char *rows, char *packed, bool is_copy)
{
	const bool is_out = dir == &b->edges->out;
	const struct weft_coll_edge *last = NULL;
	size_t at = 0, begin = 0;

	for (int32_t i = 0; i < dir->n_edges; i++) {
		const struct weft_coll_edge *e = &dir->edges[i];
		bool is_new = !b->is_same || !last || last->node != e->node ||
			      last->source != e->source;
		size_t from = b->is_same && is_out ? (size_t)e->member
						   : (size_t)e->at;
		struct weft_span row, bundle;

		at += is_new;
		last = e;
		row = weft_span_bytes(rows + from * b->len, b->len);
		bundle = weft_span_bytes(packed + (at - 1) * b->len, b->len);
		if (is_copy && is_out && is_new)
			weft_sched_copy(sched, row, bundle);
		if (is_copy && !is_out)
			weft_sched_copy(sched, bundle, row);
		if (is_copy || (i + 1 < dir->n_edges && e[1].node == e->node))
			continue;
		bundle = weft_span_bytes(
			packed + begin * b->len, (at - begin) * b->len);
		if (is_out)
			weft_sched_send(sched, b->view, bundle,
				b->edges->leaders[e->node]);
		else
			weft_sched_recv(sched, b->view, bundle,
				b->edges->leaders[e->node]);
		begin = at;
	}
}

static char *blocks(struct weft_sched *sched, const struct bundles *b, size_t n)
{
	return weft_sched_tmp(sched, n * b->len);
}

void weft_neighbor_nodes(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_nodes *nodes = view->nodes;
	const struct weft_coll_edges *edges = view->comm->coll.edges;
	const struct weft_coll_row *out = &edges->out, *in = &edges->in;
	const int32_t node = weft_nodes_of(nodes, view->me);
	struct bundles b = { .view = view,
		.edges = edges,
		.len = (size_t)weft_neighbor_len(args),
		.n = weft_nodes_size(nodes, node),
		.leader = edges->leaders[node],
		.is_same = args->is_same_block };
	const bool is_leader = b.leader == view->me;
	const size_t n_out = b.is_same ? out->n > 0 : (size_t)out->n;
	char *rows[2] = { NULL, NULL }, *mine[2], *packed[2];

	neighbor_messages(sched, view, args, nodes);
	if (!out->n && !in->n)
		return;
	b.place = weft_coll_view_node(view).me;
	if (is_leader) {
		rows[0] = blocks(sched, &b,
			b.is_same ? (size_t)b.n : (size_t)out->n_edges);
		rows[1] = blocks(sched, &b, (size_t)in->n_edges);
		mine[0] = rows[0] + first_of_row(&b, out, b.place) * b.len;
		mine[1] = rows[1] + first_of_row(&b, in, b.place) * b.len;
	} else {
		mine[0] = blocks(sched, &b, n_out);
		mine[1] = blocks(sched, &b, (size_t)in->n);
	}
	for (size_t i = 0; i < n_out; i++)
		weft_sched_copy(sched,
			weft_block(&args->send, b.is_same ? 0 : out->places[i]),
			weft_span_bytes(mine[0] + i * b.len, b.len));
	move_own_rows(sched, &b, out, rows[0], mine[0], n_out);
	if (is_leader) {
		packed[0] = blocks(sched, &b, (size_t)out->n_edges);
		packed[1] = blocks(sched, &b, (size_t)in->n_edges);
		move_bundles(sched, &b, out, rows[0], packed[0], true);
		move_bundles(sched, &b, in, rows[1], packed[1], false);
		move_bundles(sched, &b, out, rows[0], packed[0], false);
		weft_sched_fence(sched);
		move_bundles(sched, &b, in, rows[1], packed[1], true);
	}
	move_own_rows(sched, &b, in, rows[1], mine[1], (size_t)in->n);
	for (int32_t i = 0; i < in->n; i++)
		weft_sched_copy(sched,
			weft_span_bytes(mine[1] + (size_t)i * b.len, b.len),
			weft_block(&args->recv, in->places[i]));
}
