/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_algo: the table of algorithms, and the properties of a call */
#include "coll/coll_algo.h"
#include "coll/edges.h"
#include "collshm/shm_coll.h"

#include "base/event.h"
#include "base/knob.h"

#include <string.h>

enum {
	COMMUTATIVE = WEFT_NEEDS_COMMUTATIVE,
	COUNT = WEFT_NEEDS_COUNT,
	REGULAR = WEFT_NEEDS_REGULAR,
	NODES = WEFT_NEEDS_NODES,
	ORDER = WEFT_NEEDS_ORDER,
	EVEN = WEFT_NEEDS_EVEN,
	SEGMENT = WEFT_NEEDS_SEGMENT,
	EDGES = WEFT_NEEDS_EDGES,
};

static const struct weft_coll_algo algos[] = {
	{ WEFT_COLL_BARRIER, "segment", SEGMENT, NULL, NULL },
	{ WEFT_COLL_BARRIER, "dissemination", 0, weft_barrier_dissemination,
		weft_coll_cost_rounds },
	{ WEFT_COLL_BARRIER, "nodes", NODES, weft_barrier_nodes,
		weft_coll_cost_barrier_nodes },
	{ WEFT_COLL_BCAST, "segment", SEGMENT, NULL, NULL },
	{ WEFT_COLL_BCAST, "binomial", 0, weft_bcast_binomial,
		weft_coll_cost_tree_down },
	{ WEFT_COLL_BCAST, "scatter", 0, weft_bcast_scatter,
		weft_coll_cost_bcast_scatter },
	{ WEFT_COLL_BCAST, "nodes", NODES, weft_bcast_nodes,
		weft_coll_cost_bcast_nodes },
	{ WEFT_COLL_BCAST, "slices", NODES | EVEN, weft_bcast_slices,
		weft_coll_cost_bcast_slices },
	{ WEFT_COLL_GATHER, "segment", SEGMENT | REGULAR, NULL, NULL },
	{ WEFT_COLL_GATHER, "binomial", REGULAR, weft_gather_binomial,
		weft_coll_cost_gather },
	{ WEFT_COLL_GATHER, "linear", 0, weft_gather_linear,
		weft_coll_cost_linear_root },
	{ WEFT_COLL_SCATTER, "segment", SEGMENT | REGULAR, NULL, NULL },
	{ WEFT_COLL_SCATTER, "binomial", REGULAR, weft_scatter_binomial,
		weft_coll_cost_scatter },
	{ WEFT_COLL_SCATTER, "linear", 0, weft_scatter_linear,
		weft_coll_cost_linear_root },
	{ WEFT_COLL_ALLGATHER, "segment", SEGMENT | REGULAR, NULL, NULL },
	{ WEFT_COLL_ALLGATHER, "bruck", 0, weft_allgather_bruck,
		weft_coll_cost_gather_bruck },
	{ WEFT_COLL_ALLGATHER, "ring", 0, weft_allgather_ring,
		weft_coll_cost_ring },
	{ WEFT_COLL_ALLGATHER, "slices", NODES | EVEN, weft_allgather_slices,
		weft_coll_cost_allgather_slices },
	{ WEFT_COLL_ALLGATHER, "linear", 0, weft_allgather_linear,
		weft_coll_cost_linear_all },
	{ WEFT_COLL_ALLGATHER, "nodes", NODES | REGULAR, weft_allgather_nodes,
		weft_coll_cost_allgather_nodes },
	{ WEFT_COLL_ALLTOALL, "segment", SEGMENT | REGULAR, NULL, NULL },
	{ WEFT_COLL_ALLTOALL, "bruck", REGULAR, weft_alltoall_bruck,
		weft_coll_cost_alltoall_bruck },
	{ WEFT_COLL_ALLTOALL, "linear", 0, weft_alltoall_linear,
		weft_coll_cost_windows },
	{ WEFT_COLL_ALLTOALL, "nodes", NODES | REGULAR, weft_alltoall_nodes,
		weft_coll_cost_alltoall_nodes },
	{ WEFT_COLL_REDUCE, "segment", SEGMENT, NULL, NULL },
	{ WEFT_COLL_REDUCE, "binomial", 0, weft_reduce_binomial,
		weft_coll_cost_tree_up },
	{ WEFT_COLL_REDUCE, "rabenseifner", COMMUTATIVE | COUNT,
		weft_reduce_rabenseifner, weft_coll_cost_rabenseifner },
	{ WEFT_COLL_REDUCE, "nodes", NODES | ORDER, weft_reduce_nodes,
		weft_coll_cost_reduce_nodes },
	{ WEFT_COLL_ALLREDUCE, "segment", SEGMENT, NULL, NULL },
	{ WEFT_COLL_ALLREDUCE, "doubling", 0, weft_allreduce_doubling,
		weft_coll_cost_doubling },
	{ WEFT_COLL_ALLREDUCE, "rabenseifner", COMMUTATIVE | COUNT,
		weft_allreduce_rabenseifner, weft_coll_cost_rabenseifner },
	{ WEFT_COLL_ALLREDUCE, "tree", 0, weft_allreduce_tree,
		weft_coll_cost_tree_both },
	{ WEFT_COLL_ALLREDUCE, "nodes", NODES | ORDER, weft_allreduce_nodes,
		weft_coll_cost_allreduce_nodes },
	{ WEFT_COLL_ALLREDUCE, "slices", NODES | EVEN | COUNT | COMMUTATIVE,
		weft_allreduce_slices, weft_coll_cost_allreduce_slices },
	{ WEFT_COLL_REDUCE_SCATTER, "segment", SEGMENT | REGULAR, NULL, NULL },
	{ WEFT_COLL_REDUCE_SCATTER, "slices",
		NODES | EVEN | COMMUTATIVE | REGULAR,
		weft_reduce_scatter_slices,
		weft_coll_cost_reduce_scatter_slices },
	{ WEFT_COLL_REDUCE_SCATTER, "tree", 0, weft_reduce_scatter_tree,
		weft_coll_cost_tree_scatter },
	{ WEFT_COLL_REDUCE_SCATTER, "halving", COMMUTATIVE,
		weft_reduce_scatter_halving, weft_coll_cost_halving },
	{ WEFT_COLL_SCAN, "segment", SEGMENT, NULL, NULL },
	{ WEFT_COLL_SCAN, "doubling", 0, weft_scan_doubling,
		weft_coll_cost_rounds },
	{ WEFT_COLL_SCAN, "chain", 0, weft_scan_chain, weft_coll_cost_chain },
	{ WEFT_COLL_EXSCAN, "segment", SEGMENT, NULL, NULL },
	{ WEFT_COLL_EXSCAN, "doubling", 0, weft_exscan_doubling,
		weft_coll_cost_rounds },
	{ WEFT_COLL_EXSCAN, "chain", 0, weft_exscan_chain,
		weft_coll_cost_chain },
	{ WEFT_COLL_NEIGHBOR_ALLGATHER, "linear", 0, weft_neighbor_linear,
		NULL },
	{ WEFT_COLL_NEIGHBOR_ALLGATHER, "nodes", NODES | REGULAR | EDGES,
		weft_neighbor_nodes, NULL },
	{ WEFT_COLL_NEIGHBOR_ALLTOALL, "linear", 0, weft_neighbor_linear,
		NULL },
	{ WEFT_COLL_NEIGHBOR_ALLTOALL, "nodes", NODES | REGULAR | EDGES,
		weft_neighbor_nodes, NULL },
};

/* Number of calls for which each algorithm has written steps. Increments are
 * atomic, because each VCI has its own lock. */
static uint64_t algo_uses[sizeof(algos) / sizeof(algos[0])];

uint64_t weft_coll_algo_uses(size_t i)
{
	return __atomic_load_n(&algo_uses[i], __ATOMIC_RELAXED);
}

const struct weft_coll_algo *weft_coll_algo_at(size_t i)
{
	return i < sizeof(algos) / sizeof(algos[0]) ? &algos[i] : NULL;
}

const char *weft_coll_cannot(
	const struct weft_coll_algo *algo, const struct weft_coll_case *c)
{
	const unsigned needs = algo->needs;

	if (needs & COMMUTATIVE && !c->is_commutative)
		return "the operation is not commutative";
	if (needs & COUNT && c->count < c->n)
		return "there are fewer items than members";
	if (needs & REGULAR && !c->is_regular)
		return "blocks may differ in length";
	if (needs & NODES && (c->n_nodes < 2 || c->most < 2))
		return "it needs several nodes, some with several members, "
		       "and no WEFT_COLL_REPRODUCIBLE";
	if (needs & ORDER && !c->is_commutative && !c->is_in_order)
		return "the operation is not commutative, and the ranks of a "
		       "node are not consecutive";
	if (needs & EVEN && c->most != c->least)
		return "nodes have different numbers of members";
	if (needs & SEGMENT && !c->has_segment)
		return "the data is too long, the call is not blocking, or "
		       "the members share no memory";
	if (needs & EDGES && !c->n_per_bundle)
		return "no earlier blocking call has exchanged the neighbours "
		       "on other nodes, or there are none";
	return NULL;
}

/* ---- the properties of a call ---- */

static bool is_reduction(enum weft_coll_kind kind)
{
	return kind >= WEFT_COLL_REDUCE && kind <= WEFT_COLL_EXSCAN;
}

static int64_t case_count(struct weft_coll_case *c,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	int64_t total = 0;

	if (c->kind == WEFT_COLL_REDUCE)
		return args->is_in_place && view->me == args->root
			       ? args->recv.count
			       : args->send.count;
	if (c->kind != WEFT_COLL_REDUCE_SCATTER)
		return args->recv.count;
	if (!args->recv.counts)
		return args->recv.count * view->n;
	for (int32_t i = 0; i < view->n; i++)
		total += args->recv.counts[i];
	return total;
}

/* Bytes of the longest block. */
static int64_t longest(
	const struct weft_coll_view *view, const struct weft_blocks *blocks)
{
	int64_t most = 0;

	for (int32_t i = 0; blocks->counts && i < view->n; i++)
		if (blocks->counts[i] > most)
			most = blocks->counts[i];
	return (blocks->counts ? most : blocks->count) * blocks->type->size;
}

/* Bytes of a block of a regular gather or scatter. All members know this
 * length. */
static int64_t rooted_block(const struct weft_coll_case *c,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const bool is_root = view->me == args->root;
	const struct weft_blocks *blocks =
		(c->kind == WEFT_COLL_GATHER) == is_root ? &args->recv
							 : &args->send;

	return blocks->count * blocks->type->size;
}

static int64_t case_bytes(struct weft_coll_case *c,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_type *type = args->recv.type;

	switch (c->kind) {
	case WEFT_COLL_ALLGATHER:
		return longest(view, &args->recv);
	case WEFT_COLL_ALLTOALL:
		return args->is_irregular ? 0 : args->recv.count * type->size;
	case WEFT_COLL_GATHER:
	case WEFT_COLL_SCATTER:
		return args->is_irregular ? 0 : rooted_block(c, view, args);
	case WEFT_COLL_REDUCE:
		if (!args->is_in_place || view->me != args->root)
			type = args->send.type;
		return c->count * type->size;
	case WEFT_COLL_NEIGHBOR_ALLGATHER:
	case WEFT_COLL_NEIGHBOR_ALLTOALL:
		return weft_neighbor_len(args);
	case WEFT_COLL_BCAST:
	case WEFT_COLL_ALLREDUCE:
	case WEFT_COLL_REDUCE_SCATTER:
	case WEFT_COLL_SCAN:
	case WEFT_COLL_EXSCAN:
		return c->count * type->size;
	default:
		return 0;
	}
}

/* With WEFT_COLL_REPRODUCIBLE, the order of evaluation in a reduction must not
 * depend on the placement of members. */
void weft_coll_case_of(struct weft_coll_case *c, enum weft_coll_kind kind,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_nodes *nodes = view->nodes;

	*c = (struct weft_coll_case){
		.kind = kind,
		.n = view->n,
		.is_commutative = !args->op || args->op->is_commutative,
		.is_regular = !args->is_irregular,
		.fabric = "",
	};
	c->count = case_count(c, view, args);
	c->bytes = case_bytes(c, view, args);
	if (is_reduction(kind) && weft_knobs.coll_reproducible)
		return;
	/* reads the communicator's nodes: view->nodes is NULL in a view of a
	 * part of its members */
	c->shares_cores =
		view->comm->coll.nodes && view->comm->coll.nodes->shares_cores;
	if (!nodes)
		return;
	c->n_nodes = nodes->n;
	c->most = nodes->most;
	c->least = nodes->least;
	c->is_in_order = nodes->is_in_order;
	c->fabric = nodes->fabric;
	if (view->comm->coll.edges)
		c->n_per_bundle = view->comm->coll.edges->n_per_bundle;
}

void weft_coll_case_in_segment(struct weft_coll_case *c,
	enum weft_coll_kind kind, int32_t n, bool shares_cores)
{
	*c = (struct weft_coll_case){
		.kind = kind,
		.n = n,
		.n_nodes = 1,
		.most = n,
		.least = n,
		.is_in_order = true,
		.is_commutative = true,
		.is_regular = true,
		.has_segment = true,
		.shares_cores = shares_cores,
		.count = n,
		.fabric = "",
	};
}

void weft_coll_case_of_job(struct weft_coll_case *c, enum weft_coll_kind kind,
	int32_t n, int32_t per_node, int64_t bytes, const char *fabric)
{
	weft_coll_case_in_segment(c, kind, n, false);
	c->bytes = kind == WEFT_COLL_BARRIER ? 0 : bytes;
	c->count = bytes % 8 ? bytes : bytes / 8;
	if (is_reduction(kind) && weft_knobs.coll_reproducible) {
		c->n_nodes = c->most = c->least = 0;
		c->has_segment = false;
		return;
	}
	c->has_segment =
		per_node >= n && n > 1 && bytes <= weft_coll_segment_max(kind);
	c->n_nodes = (n + per_node - 1) / per_node;
	c->most = per_node < n ? per_node : n;
	c->least = n % per_node ? n % per_node : c->most;
	c->fabric = fabric;
}

bool weft_coll_is_flat(enum weft_coll_kind kind, const struct weft_coll *args)
{
	const struct weft_coll_view view = weft_coll_view_of(args->comm);
	const struct weft_coll_algo *algo;
	struct weft_coll_case c;

	weft_coll_case_of(&c, kind, &view, args);
	algo = weft_coll_choose(&c, NULL);
	return !(algo->needs & WEFT_NEEDS_NODES);
}

void weft_coll_write_among(struct weft_sched *sched, enum weft_coll_kind kind,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_coll_algo *algo;
	struct weft_coll_case c;

	weft_coll_case_of(&c, kind, view, args);
	if ((kind == WEFT_COLL_BCAST || kind >= WEFT_COLL_REDUCE) &&
		kind <= WEFT_COLL_EXSCAN && c.bytes == 0)
		return;
	if (kind == WEFT_COLL_ALLTOALL && c.is_regular && c.bytes == 0)
		return;
	algo = weft_coll_choose(&c, NULL);
	view->comm->coll.algo = algo;
	weft_counter_add(&algo_uses[algo - algos], 1);
	weft_event_raise(WEFT_EVENT_coll_algorithm, view->comm->vci->number,
		true, kind, algo - algos, c.bytes, c.n);
	/* warns only at rank 0, and only if the nodes are known */
	if (view->nodes && view->me == 0)
		weft_coll_warn_forced(&c, algo);
	algo->write(sched, view, args);
}
