/* SPDX-License-Identifier: BSD-3-Clause */
/* edges_settle: the setup of edges: the members exchange their neighbours on
 * other nodes
 *
 * The setup is part of the first blocking neighbourhood collective after the
 * members know their nodes, if a rule may select bundles. Each member sends the
 * degrees of its off-node lists (edges.h) to all members, and the lists to its
 * bundle leader. */
#include "coll/coll_algo.h"
#include "coll/edges.h"

#include "base/log.h"

#include <stdlib.h>

enum { BYTES_MAX = 1 << 20 };

static bool uses_bundles(const struct weft_comm *comm, enum weft_coll_kind kind)
{
	const struct weft_nodes *nodes = comm->coll.nodes;
	struct weft_coll_case c = { .kind = kind,
		.n = comm->size,
		.n_nodes = nodes->n,
		.most = nodes->most,
		.least = nodes->least,
		.is_in_order = nodes->is_in_order,
		.is_regular = true,
		.shares_cores = nodes->shares_cores,
		.n_per_bundle = INT32_MAX,
		.fabric = nodes->fabric };

	for (c.bytes = 1; c.bytes <= BYTES_MAX; c.bytes *= 2)
		if (weft_coll_choose(&c, NULL)->needs & WEFT_NEEDS_EDGES)
			return true;
	return false;
}

bool weft_coll_edges_are_due(struct weft_comm *comm)
{
	if (!comm->coll.nodes || comm->coll.is_edges_settled)
		return false;
	if (uses_bundles(comm, WEFT_COLL_NEIGHBOR_ALLGATHER) ||
		uses_bundles(comm, WEFT_COLL_NEIGHBOR_ALLTOALL))
		return true;
	comm->coll.is_edges_settled = true;
	return false;
}

/* The data of one member during the setup. */
struct edges_setup {
	struct weft_coll_view all, node;
	const struct weft_nodes *nodes;
	int32_t *out, *in; /* off-node lists of this process: indices in its
			      lists of all neighbours */
	struct weft_coll_degrees *degrees;
	int32_t leader; /* rank of the bundle leader, or -1 */
	int32_t *rows;	/* at the bundle leader: off-node lists of its node, as
			   ranks; at other members: their own */
};

static void gather_degrees(struct weft_sched *sched, struct edges_setup *t,
	const struct weft_coll *args)
{
	const size_t n = (size_t)t->all.n;
	struct weft_blocks blocks = { .count = sizeof(*t->degrees),
		.type = weft_type_builtin(WEFT_TYPE_BYTE) };
	struct weft_coll all = { .send = blocks, .recv = blocks };

	t->out = weft_sched_tmp(sched, (size_t)args->n_dests * sizeof(int32_t));
	t->in = weft_sched_tmp(
		sched, (size_t)args->n_sources * sizeof(int32_t));
	t->degrees = weft_sched_tmp(sched, (n + 1) * sizeof(*t->degrees));
	if (!sched->err) {
		t->degrees[n].out = weft_coll_row_of(t->nodes, t->all.me,
			args->dests, args->n_dests, false, t->out);
		t->degrees[n].in = weft_coll_row_of(t->nodes, t->all.me,
			args->sources, args->n_sources, args->is_grid, t->in);
		if (t->degrees[n].out < 0 || t->degrees[n].in < 0)
			sched->err = WEFT_ERR_NOMEM;
	}
	all.send.buf = t->degrees + n;
	all.recv.buf = t->degrees;
	weft_allgather_bruck(sched, &t->all, &all);
	weft_sched_fence(sched);
	for (size_t i = 0; !sched->err && i < n; i++)
		if (t->degrees[i].out < 0 || t->degrees[i].in < 0)
			sched->err = WEFT_ERR_PROTO;
}

static size_t row_degree(const struct edges_setup *t, int32_t m)
{
	const struct weft_coll_degrees *d =
		&t->degrees[weft_coll_view_rank(&t->node, m)];

	return (size_t)d->out + (size_t)d->in;
}

static void own_row(
	const struct edges_setup *t, const struct weft_coll *args, int32_t *row)
{
	const struct weft_coll_degrees *d = &t->degrees[t->all.me];

	for (int32_t i = 0; i < d->out; i++)
		*row++ = args->dests[t->out[i]];
	for (int32_t i = 0; i < d->in; i++)
		*row++ = args->sources[t->in[i]];
}

/* Sends the off-node lists of a node's members to the bundle leader. */
static void gather_rows(struct weft_sched *sched, struct edges_setup *t,
	const struct weft_coll *args)
{
	const bool is_leader = t->leader == t->all.me;
	const int32_t from = is_leader ? 0 : t->node.me;
	const int32_t to = is_leader ? t->node.n : t->node.me + 1;
	size_t n_all = 0, at = 0;

	if (t->leader < 0)
		return;
	for (int32_t m = from; m < to; m++)
		n_all += row_degree(t, m);
	t->rows = weft_sched_tmp(sched, n_all * sizeof(int32_t));
	for (int32_t m = from; m < to; m++) {
		int32_t *row = t->rows + at;

		if (m == t->node.me && !sched->err)
			own_row(t, args, row);
		else if (m != t->node.me && row_degree(t, m))
			weft_sched_recv(sched, &t->node,
				weft_span_bytes(
					row, row_degree(t, m) * sizeof(*row)),
				m);
		at += row_degree(t, m);
	}
	if (!is_leader && n_all)
		weft_sched_send(sched, &t->all,
			weft_span_bytes(t->rows, n_all * sizeof(int32_t)),
			t->leader);
	weft_sched_fence(sched);
	for (size_t i = 0; !sched->err && i < n_all; i++)
		if (t->rows[i] < 0 || t->rows[i] >= t->all.n ||
			weft_nodes_of(t->nodes, t->rows[i]) ==
				weft_nodes_of(t->nodes, t->all.me))
			sched->err = WEFT_ERR_PROTO;
}

/* Sets n_per_bundle: how many messages a bundle replaces, on average over all
 * nodes. */
static void reduce_gain(struct weft_sched *sched, struct edges_setup *t,
	struct weft_coll_edges *edges)
{
	int64_t mine[2] = { 0, 0 }, all[2] = { 0, 0 };
	const struct weft_coll_row *out = edges ? &edges->out : NULL;
	struct weft_span span = { mine, 2, weft_type_builtin(WEFT_TYPE_INT64) };

	for (int32_t i = 0; out && i < out->n_edges; i++) {
		mine[0]++;
		mine[1] +=
			i == 0 || out->edges[i].node != out->edges[i - 1].node;
	}
	weft_reduce_tree(
		sched, &t->all, weft_redop_builtin(WEFT_OP_SUM), span, all, 0);
	span.buf = all;
	weft_bcast_tree(sched, &t->all, span, 0);
	weft_sched_fence(sched);
	if (edges && all[1] > 0)
		edges->n_per_bundle = (int32_t)(all[0] / all[1]);
}

static void edges_write(struct weft_sched *sched, enum weft_coll_kind kind,
	const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	const struct weft_nodes *nodes = comm->coll.nodes;
	const int32_t node = weft_nodes_of(nodes, comm->rank);
	struct edges_setup t = { .all = weft_coll_view_of(comm),
		.nodes = nodes };
	struct weft_coll_edges *edges = NULL;

	(void)kind;
	t.node = weft_coll_view_node(&t.all);
	gather_degrees(sched, &t, args);
	t.leader = sched->err ? -1
			      : weft_coll_edges_leader(nodes, t.degrees, node);
	gather_rows(sched, &t, args);
	if (!sched->err) {
		edges = weft_coll_edges_create(
			nodes, comm->rank, t.degrees, t.out, t.in, t.rows);
		if (!edges)
			sched->err = WEFT_ERR_NOMEM;
	}
	reduce_gain(sched, &t, edges);
	if (sched->err)
		free(edges);
	else
		comm->coll.edges = edges;
}

int weft_coll_edges_settle(
	const struct weft_coll *args, enum weft_coll_kind kind)
{
	struct weft_comm *comm = args->comm;
	int err = weft_sched_run(kind, args, edges_write, WEFT_COLL_TAG_SETTLE);

	comm->coll.is_edges_settled = !err;
	if (err)
		return err;
	weft_log_debug("COLL-EDGES",
		"communicator %llx: %d messages between two nodes on average",
		(unsigned long long)comm->ctx,
		(int)comm->coll.edges->n_per_bundle);
	return 0;
}
