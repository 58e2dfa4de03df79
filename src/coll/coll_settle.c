/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_settle: the setup, in which the members agree on nodes and segments
 *
 * The setup runs in the first blocking collective after FIRST_CALLS collectives
 * of a communicator. The members gather their nodes at rank 0, which broadcasts
 * them with its settings. Each node leader, the lowest rank of its node,
 * creates an unnamed file and publishes it to the other members on the node.
 * All members map the file of their node. A reduction and a broadcast inform
 * all members whether every mapping succeeded.
 *
 * All messages of the setup have one sequence number, and the bit
 * WEFT_COLL_TAG_SETTLE in their tags. A member in another collective that
 * receives such a message sends an error in place of its own message of the
 * setup. Otherwise the sender would wait forever. After an error, the next
 * blocking collective runs the setup again.
 *
 * A duplicate has the nodes and settings of its parent (comm/derive.c). Its
 * members agree only on segments. If the parent has no segments, its duplicates
 * have none, and need no setup. */
#include "coll/coll_settle.h"

#include "coll/coll_algo.h"
#include "collshm/shm_coll.h"

#include "base/knob.h"
#include "base/log.h"
#include "transport/proc.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FIRST_CALLS = 4, /* collectives before the setup */
	FEW_RUNS = 4,	 /* in the first message of the table */
};

/* ---- lengths that use the segment ---- */

/* Sets the ranges of lengths for which the rules select the segment. If there
 * are more than WEFT_COLL_LENS ranges, lengths in the other ranges use
 * messages. */
static void set_lens(const struct weft_comm *comm, enum weft_coll_kind kind,
	bool is_commutative, struct weft_coll_lens *lens)
{
	const struct weft_coll_shm *shm = comm->coll.shm;
	const struct weft_nodes *nodes = comm->coll.nodes;
	const struct weft_coll_algo *forced = weft_coll_forced(kind);
	const int64_t end = weft_coll_segment_max(kind) + 1;
	struct weft_coll_case c;
	int64_t next;
	int n = 0;

	for (int i = 0; i < WEFT_COLL_LENS; i++)
		lens[i].to = -1;
	/* Each piece of data that passes through a segment uses a sequence
	 * number of the communicator. So the members of all nodes must use
	 * their segments for the same lengths. These are computed for the
	 * largest node. */
	weft_coll_case_in_segment(&c, kind, nodes->most, nodes->shares_cores);
	c.is_commutative = is_commutative;
	if (weft_knobs.coll_reproducible && shm->is_whole &&
		kind >= WEFT_COLL_REDUCE)
		return;
	if (forced && forced->write && weft_coll_can(forced, &c))
		return;
	if (comm->rank == 0 && shm->is_whole)
		weft_coll_warn_forced(&c, weft_coll_choose(&c, NULL));
	for (c.bytes = 0; c.bytes < end; c.bytes = next) {
		next = weft_min64(weft_coll_border(kind, c.bytes), end);
		c.count = c.bytes;
		if (weft_coll_choose(&c, NULL)->write)
			continue;
		if (n && lens[n - 1].to == c.bytes - 1)
			lens[n - 1].to = (int32_t)next - 1;
		else if (n < WEFT_COLL_LENS)
			lens[n++] = (struct weft_coll_lens){ (int32_t)c.bytes,
				(int32_t)next - 1 };
	}
}

static void set_all_lens(struct weft_comm *comm)
{
	const struct weft_nodes *nodes = comm->coll.nodes;
	struct weft_coll_shm *shm = comm->coll.shm;

	if (!shm)
		return;
	shm->is_whole = nodes->n == 1;
	shm->ranks = nodes->members;
	shm->first = nodes->first[weft_nodes_of(nodes, comm->rank)];
	for (int k = 0; k < WEFT_COLL_N; k++)
		for (int other = 0; other < 2; other++)
			set_lens(comm, (enum weft_coll_kind)k, !other,
				shm->lens[other][k]);
}

/* ---- the setup ---- */

bool weft_coll_settle_is_due(struct weft_comm *comm)
{
	if (comm->coll.seq < FIRST_CALLS)
		return false;
	if (comm->is_inter || comm->size < 2)
		comm->coll.is_settled = true;
	return !comm->coll.is_settled;
}

/* The members gather their runs at rank 0 along a binomial tree. Each sends the
 * runs of its subtree, whose ranks are consecutive, in one message. The first
 * element of the message has the number of runs in `first`. The table that rank
 * 0 broadcasts has its settings, and the runs of all members. */

static struct weft_span runs_span(struct weft_node_run *runs, uint32_t n)
{
	return weft_span_bytes(runs, ((size_t)n + 1) * sizeof(*runs));
}

static int malformed(void)
{
	return weft_err_set(WEFT_ERR_PROTO,
		"the table of nodes from another process is malformed");
}

/* Returns a message with the runs of this member's subtree. Its length is in
 * its first element. */
static struct weft_node_run *collect_runs(struct weft_sched *sched,
	const struct weft_coll_view *all, int32_t leader)
{
	struct weft_node_run *in[32], *message;
	int32_t width = 1, n_in = 0;
	uint32_t n = 0;

	for (; width < all->n && !(all->me & width); width *= 2) {
		if (all->me + width >= all->n)
			continue;
		in[n_in] = weft_sched_tmp(
			sched, (size_t)runs_span(NULL, (uint32_t)width).count);
		if (!sched->err)
			in[n_in]->first = 0;
		weft_sched_recv(sched, all,
			runs_span(in[n_in], (uint32_t)width), all->me + width);
		n_in++;
	}
	weft_sched_fence(sched);
	message = weft_sched_tmp(
		sched, (size_t)runs_span(NULL, (uint32_t)width).count);
	if (!sched->err)
		message[++n] = (struct weft_node_run){ (uint32_t)all->me,
			(uint32_t)leader, 1, 0 };
	for (int32_t i = 0; !sched->err && i < n_in; i++) {
		uint32_t n_more = in[i]->first;

		if (n_more < 1 || n_more > 1u << i) {
			sched->err = malformed();
			break;
		}
		for (uint32_t k = 1; k <= n_more; k++)
			n = weft_node_runs_append(message + 1, n, in[i][k]);
	}
	if (!sched->err)
		message->first = n;
	if (all->me)
		weft_sched_send(
			sched, all, runs_span(message, n), all->me - width);
	weft_sched_fence(sched);
	return message;
}

/* Rank 0's settings, which all members use, and the runs. A job has few runs,
 * if its ranks are placed in blocks or in turn. Further runs need a second
 * message, for which the receiver then has memory of the right length. */
struct table {
	uint32_t digest; /* of the rules */
	uint32_t shares_cores;
	char fabric[16];
	uint32_t n;
	struct weft_node_run runs[FEW_RUNS];
};

static struct weft_span table_span(struct table *table, uint32_t n)
{
	return weft_span_bytes(table,
		offsetof(struct table, runs) +
			weft_min(n, (uint32_t)FEW_RUNS) * sizeof(*table->runs));
}

static struct weft_span rest_span(
	const struct table *table, struct weft_node_run *runs)
{
	return weft_span_bytes(runs, table->n * sizeof(*runs));
}

/* Receives the table from the parent. Returns the runs, which are in the table
 * if they are few. */
static struct weft_node_run *receive_table(struct weft_sched *sched,
	const struct weft_coll_view *all, struct table *table, int32_t parent)
{
	struct weft_node_run *runs = table->runs;

	weft_sched_recv(sched, all, table_span(table, FEW_RUNS), parent);
	weft_sched_fence(sched);
	if (!sched->err && table->n > (uint32_t)all->n)
		sched->err = malformed();
	if (sched->err || table->n <= FEW_RUNS)
		return runs;
	runs = weft_sched_tmp(sched, table->n * sizeof(*runs));
	weft_sched_recv(sched, all, rest_span(table, runs), parent);
	weft_sched_fence(sched);
	return runs;
}

/* Rank 0 broadcasts the table, and its runs, along the same tree. Returns the
 * runs. */
static struct weft_node_run *spread_table(struct weft_sched *sched,
	const struct weft_coll_view *all, struct table *table,
	struct weft_node_run *runs)
{
	int32_t width = 1;

	while (width < all->n && !(all->me & width))
		width *= 2;
	if (all->me)
		runs = receive_table(sched, all, table, all->me - width);
	if (!sched->err && !weft_node_runs_are_valid(runs, table->n, all->n))
		sched->err = malformed();
	if (sched->err)
		table->n = 0;
	while ((width /= 2) > 0) {
		if (all->me + width >= all->n)
			continue;
		weft_sched_send(sched, all, table_span(table, table->n),
			all->me + width);
		if (table->n > FEW_RUNS)
			weft_sched_send(sched, all, rest_span(table, runs),
				all->me + width);
	}
	weft_sched_fence(sched);
	return runs;
}

static void take_table(struct weft_sched *sched, struct weft_comm *comm,
	const struct table *table, const struct weft_node_run *runs)
{
	struct weft_nodes *nodes;

	if (table->digest != weft_coll_rules_digest()) {
		sched->err = weft_err_set(WEFT_ERR_NOT_SAME,
			"WEFT_COLL, WEFT_COLL_FILE or WEFT_COLL_REPRODUCIBLE "
			"is not here as at rank 0 of the communicator: all "
			"processes must choose algorithms alike");
		return;
	}
	nodes = weft_comm_nodes_create(runs, table->n, comm->size);
	if (!nodes) {
		sched->err = WEFT_ERR_NOMEM;
		return;
	}
	memcpy(nodes->fabric, table->fabric, sizeof(nodes->fabric));
	nodes->fabric[sizeof(nodes->fabric) - 1] = 0;
	nodes->shares_cores = table->shares_cores != 0;
	weft_comm_nodes_put(comm->coll.nodes);
	comm->coll.nodes = nodes;
}

/* The members agree on their nodes and on rank 0's settings. leader: the lowest
 * rank of this node. */
static void settle_nodes(struct weft_sched *sched, struct weft_comm *comm,
	const struct weft_coll_view *all, int32_t leader)
{
	struct weft_node_run *runs = collect_runs(sched, all, leader);
	struct table table = { 0 };

	if (!sched->err && !all->me) {
		table.digest = weft_coll_rules_digest();
		table.shares_cores = weft_proc.node.shares_cores;
		snprintf(table.fabric, sizeof(table.fabric), "%s",
			weft_vci_fabric(comm->vci));
		table.n = runs->first;
		runs++;
		if (table.n <= FEW_RUNS)
			memcpy(table.runs, runs, table.n * sizeof(*runs));
	}
	runs = spread_table(sched, all, &table, runs);
	if (!sched->err)
		take_table(sched, comm, &table, runs);
}

/* The leader of each node creates its segment, and selects the length of the
 * areas in it. */
static void settle_segment(struct weft_sched *sched, struct weft_comm *comm,
	const struct weft_coll_view *all, const struct weft_coll_view *node)
{
	struct weft_coll_layout layout = { .n = node->n, .me = node->me };
	struct weft_coll_offer offer = { 0, -1, 0 };
	uint8_t mine, ours = 0;

	if (!sched->err)
		layout.shares_cores = comm->coll.nodes->shares_cores;
	if (node->me == 0 && !sched->err) {
		layout.long_len = weft_shm_coll_long_len(node->n);
		offer = weft_shm_coll_offer(comm, &layout);
	}
	weft_bcast_tree(sched, node, weft_span_bytes(&offer, sizeof(offer)), 0);
	weft_sched_fence(sched);
	layout.long_len = weft_shm_coll_valid_len(offer.long_len);
	mine = !sched->err && weft_shm_coll_map(comm, &offer, &layout);
	weft_reduce_tree(sched, all, weft_redop_builtin(WEFT_OP_BAND),
		weft_span_bytes(&mine, 1), &ours, 0);
	weft_bcast_tree(sched, all, weft_span_bytes(&ours, 1), 0);
	weft_sched_fence(sched);
	if (node->me == 0 && offer.owner)
		close(offer.fd);
	if (sched->err || !ours || comm->coll.nodes->most == 1)
		weft_shm_coll_unmap(comm);
}

static void settle_write(struct weft_sched *sched, enum weft_coll_kind kind,
	const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	const struct weft_coll_view all = weft_coll_view_of(comm);
	struct weft_coll_view node =
		weft_coll_view_ranks(comm, &comm->rank, 1, 0);
	int32_t *ranks = weft_comm_nodes_local(comm, &node.n, &node.me);

	(void)kind;
	if (ranks)
		node.ranks = ranks;
	else
		sched->err = WEFT_ERR_NOMEM;
	if (!comm->coll.nodes || !comm->coll.nodes->is_agreed)
		settle_nodes(sched, comm, &all, node.ranks[0]);
	settle_segment(sched, comm, &all, &node);
	free(ranks);
}

int weft_coll_settle(const struct weft_coll *args, enum weft_coll_kind kind)
{
	struct weft_comm *comm = args->comm;
	struct weft_nodes *nodes;
	int err =
		weft_sched_run(kind, args, settle_write, WEFT_COLL_TAG_SETTLE);

	comm->coll.is_settled = !err;
	if (err)
		return err;
	nodes = comm->coll.nodes;
	if (!nodes->is_agreed)
		nodes->has_segments = comm->coll.shm != NULL;
	nodes->is_agreed = true;
	set_all_lens(comm);
	weft_log_debug("COLL-SHM", "communicator %llx of %d on %d nodes: %s",
		(unsigned long long)comm->ctx, (int)comm->size,
		(int)comm->coll.nodes->n,
		comm->coll.shm
			? "collectives through shared memory"
			: "no shared memory for collectives, as one member has "
			  "none");
	return 0;
}
