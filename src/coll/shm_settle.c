/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_settle: the members agree on nodes and segments
 *
 * Once a communicator has had a few collectives, each says whose node it is on,
 * and the lowest rank of each node makes an unnamed file and tells the others
 * there where it is; each maps it and says so, and all hear whether everybody
 * could. These messages have the number of one collective and a mark in their
 * tag: who meets one in another collective answers with an error, since who
 * sent it waits for answers that it may not expect. After an error the next
 * collective tries again. */
#include "coll/coll_algo.h"
#include "coll/shm_coll.h"

#include "base/knob.h"
#include "base/log.h"
#include "shm/share.h"
#include "transport/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FIRST_CALLS = 4,	   /* that send messages */
	MEMBERS_MAX = 512,	   /* of a segment */
	NODES_MEMBERS_MAX = 65536, /* of a communicator that knows its nodes */
	SEGMENTS_MAX = 4096,	   /* of a process */
	LARGE_MAX = 8,		   /* of those that have a large area */
	ALL_LONG = 8 << 20,	   /* area for long data of a node's members */
	LARGE = 512 << 10,	   /* that a core's own cache does not hold */
	FEW_SLOTS = 64,		   /* stay in a cache */
	INT32_ABI_VALUE = 0x250,
};

/* Where a node's file is. */
struct offer {
	uint64_t owner; /* 0: there is none */
	int32_t fd;
	uint32_t reserved;
};

/* What members must have alike, as rank 0 has it. */
struct setup {
	uint32_t digest;
	uint32_t shares_cores;
	uint32_t long_len;
	char fabric[16];
};

/* ---- nodes ---- */

static bool is_local(const struct weft_comm *comm, int32_t rank)
{
	return weft_proc_is_local(weft_group_proc(comm->group, (uint32_t)rank));
}

/* The members on my node, malloc'd; NULL without memory. */
static int32_t *local_members(
	const struct weft_comm *comm, int32_t *n_out, int32_t *me_out)
{
	int32_t *ranks = malloc((size_t)comm->size * sizeof(*ranks));
	int32_t n = 0;

	for (int32_t i = 0; ranks && i < comm->size; i++) {
		if (i == comm->rank)
			*me_out = n;
		if (i == comm->rank || is_local(comm, i))
			ranks[n++] = i;
	}
	*n_out = n;
	return ranks;
}

/* Numbers nodes by their leaders: lead[i] is that of rank i, at most i. */
static struct weft_nodes *nodes_of(const int32_t *lead, int32_t size)
{
	struct weft_nodes *nodes = calloc(
		1, sizeof(*nodes) + (4 * (size_t)size + 1) * sizeof(int32_t));
	int32_t *of, *members, *first, *leaders;

	if (!nodes)
		return NULL;
	of = (int32_t *)(nodes + 1);
	members = of + size;
	leaders = members + size;
	first = leaders + size;
	nodes->is_in_order = true;
	for (int32_t i = 0; i < size; i++) {
		if (lead[i] == i)
			leaders[nodes->n++] = i;
		of[i] = lead[i] == i ? nodes->n - 1 : of[lead[i]];
		first[of[i] + 1]++;
		if (i && of[i] < of[i - 1])
			nodes->is_in_order = false;
	}
	nodes->least = size;
	for (int32_t k = 0; k < nodes->n; k++) {
		if (first[k + 1] > nodes->most)
			nodes->most = first[k + 1];
		if (first[k + 1] < nodes->least)
			nodes->least = first[k + 1];
		first[k + 1] += first[k];
	}
	for (int32_t i = 0; i < size; i++)
		members[first[of[i]]++] = i;
	for (int32_t k = nodes->n; k > 0; k--)
		first[k] = first[k - 1];
	first[0] = 0;
	nodes->of = of;
	nodes->members = members;
	nodes->leaders = leaders;
	nodes->first = first;
	return nodes;
}

/* ---- the segment ---- */

static size_t settle_areas_at(int32_t n)
{
	return weft_round_up((size_t)n * sizeof(struct weft_coll_member), 4096);
}

/* The last area may be read beyond its end when what a member says is wrong. */
static size_t settle_len(const struct weft_comm *comm, int32_t n)
{
	const size_t areas_len =
		WEFT_COLL_SHORT_LEN + comm->coll.nodes->long_len;

	return settle_areas_at(n) + (size_t)n * areas_len + WEFT_COLL_LONG_MAX;
}

/* Whole parts, as many as there may be. */
static uint32_t settle_parts(uint32_t len)
{
	len = weft_min(len, (uint32_t)WEFT_COLL_LONG_MOST);
	len = weft_max(len, (uint32_t)WEFT_COLL_LONG_LEAST);
	return len & ~(uint32_t)(WEFT_COLL_PART_LEN - 1);
}

/* Of a member's area for long data. It takes memory only as it is walked
 * through, but does so for each communicator. */
static uint32_t settle_long_len(const struct weft_comm *comm)
{
	if (!weft_proc.has_own_cache ||
		atomic_load_explicit(&weft_proc.n_coll_segs,
			memory_order_relaxed) >= LARGE_MAX)
		return WEFT_COLL_LONG_LEAST;
	return settle_parts(ALL_LONG / (uint32_t)comm->coll.nodes->most);
}

/* Whether this process wants one and may have it. */
static bool settle_wants(const struct weft_comm *comm, int32_t n)
{
	return comm->vci->shm && n <= MEMBERS_MAX && !weft_proc.is_blocking &&
	       !strcmp(weft_knobs.coll_shm, "on") &&
	       atomic_load_explicit(&weft_proc.n_coll_segs,
		       memory_order_relaxed) < SEGMENTS_MAX;
}

static struct offer settle_offer(const struct weft_comm *comm, int32_t n)
{
	struct offer offer = { 0, -1, 0 };
	int fd;

	if (settle_wants(comm, n) && !weft_share_file(settle_len(comm, n), &fd))
		offer = (struct offer){ weft_share_owner(), fd, 0 };
	return offer;
}

/* Nothing is in it that anybody has to read. */
static struct weft_coll_area settle_area(
	uint32_t base, uint32_t len, uint32_t part_len, uint32_t last)
{
	struct weft_coll_area area = {
		.base = base,
		.part_len = part_len,
		.n_parts = len / part_len,
		.at = base,
		.before = last,
		.is_large = len >= LARGE,
	};

	for (uint32_t i = 0; i < area.n_parts; i++)
		area.used[i] = last;
	return area;
}

/* How many slots there are, and where data goes. */
static void settle_room(struct weft_coll_shm *shm,
	const struct weft_nodes *nodes, uint32_t last)
{
	shm->areas_len = WEFT_COLL_SHORT_LEN + nodes->long_len;
	shm->write.is_for_many = nodes->shares_cores;
	if (nodes->shares_cores) {
		shm->n_slots = WEFT_COLL_SLOTS;
		shm->short_max = shm->areas_len;
		shm->areas[0] = settle_area(
			0, shm->areas_len, WEFT_COLL_PART_LEN, last);
		return;
	}
	shm->n_slots = FEW_SLOTS;
	shm->areas[0] =
		settle_area(0, WEFT_COLL_SHORT_LEN, WEFT_COLL_SHORT_MAX, last);
	shm->areas[1] = settle_area(
		WEFT_COLL_SHORT_LEN, nodes->long_len, WEFT_COLL_PART_LEN, last);
	shm->short_max = shm->areas[1].is_large ? WEFT_WRITE_LONG - 1
						: WEFT_COLL_SHORT_MAX;
}

static bool settle_map(struct weft_comm *comm, const struct offer *offer,
	const struct weft_coll_view *node)
{
	size_t len = settle_len(comm, node->n);
	struct weft_coll_shm *shm;
	char *map;

	if (!offer->owner || !settle_wants(comm, node->n))
		return false;
	shm = calloc(1, sizeof(*shm));
	if (!shm || weft_share_map(offer->owner, offer->fd, 0, len, &map)) {
		free(shm);
		return false;
	}
	shm->members = (struct weft_coll_member *)map;
	shm->data = (uint8_t *)map + settle_areas_at(node->n);
	shm->n = node->n;
	shm->me = node->me;
	shm->mine = &shm->members[shm->me];
	shm->reached = comm->coll.seq; /* nobody looks at an earlier one */
	shm->last_all = comm->coll.seq - 1;
	settle_room(shm, comm->coll.nodes, comm->coll.seq - 1);
	comm->coll.shm = shm;
	comm->coll.map = map;
	comm->coll.map_len = len;
	atomic_fetch_add_explicit(
		&weft_proc.n_coll_segs, 1, memory_order_relaxed);
	return true;
}

static void settle_unmap(struct weft_comm *comm)
{
	if (!comm->coll.map)
		return;
	weft_share_unmap(comm->coll.map, comm->coll.map_len);
	free(comm->coll.shm);
	comm->coll.map = NULL;
	comm->coll.shm = NULL;
	atomic_fetch_sub_explicit(
		&weft_proc.n_coll_segs, 1, memory_order_relaxed);
}

/* What lengths the rules send through the segment, of all members or as a part
 * within a node. More stretches of them than there is room for go by messages.
 */
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
	/* alike on all nodes, as pieces take numbers of the communicator */
	weft_coll_case_in_segment(&c, kind, nodes->most, nodes->shares_cores);
	c.is_commutative = is_commutative;
	if (weft_knobs.coll_reproducible && shm->is_whole &&
		kind >= WEFT_COLL_REDUCE)
		return;
	if (forced && forced->write && weft_coll_can(forced, &c))
		return;
	if (comm->rank == 0 && shm->is_whole)
		weft_coll_tell_forced(&c, weft_coll_choose(&c, NULL));
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
	if (!shm->is_whole)
		shm->ranks =
			nodes->members + nodes->first[nodes->of[comm->rank]];
	for (int k = 0; k < WEFT_COLL_N; k++)
		for (int other = 0; other < 2; other++)
			set_lens(comm, (enum weft_coll_kind)k, !other,
				shm->lens[other][k]);
}

/* ---- the agreement ---- */

bool weft_shm_coll_is_due(struct weft_comm *comm)
{
	if (comm->coll.seq < FIRST_CALLS)
		return false;
	if (comm->is_inter || comm->size < 2 || comm->size > NODES_MEMBERS_MAX)
		comm->coll.is_settled = true;
	return !comm->coll.is_settled;
}

/* All tell the leader of their node, their lowest rank there. */
static void settle_nodes(struct weft_sched *sched, struct weft_comm *comm,
	const struct weft_coll_view *all, int32_t leader)
{
	const size_t n = (size_t)comm->size;
	int32_t *lead = weft_sched_tmp(sched, (n + 1) * sizeof(*lead));
	bool has_lead = !sched->err;
	struct weft_coll args = {
		.send = { .buf = lead + n,
			.count = 1,
			.type = weft_type_builtin(INT32_ABI_VALUE) },
		.recv = { .buf = lead,
			.count = 1,
			.type = weft_type_builtin(INT32_ABI_VALUE) },
	};

	if (has_lead)
		lead[n] = leader;
	weft_allgather_bruck(sched, all, &args);
	weft_sched_fence(sched);
	for (int32_t i = 0; !sched->err && i < comm->size; i++)
		if (lead[i] < 0 || lead[i] > i || lead[lead[i]] != lead[i])
			sched->err = WEFT_ERR_PROTO;
	if (sched->err)
		return;
	free(comm->coll.nodes);
	comm->coll.nodes = nodes_of(lead, comm->size);
	if (!comm->coll.nodes)
		sched->err = WEFT_ERR_NOMEM;
}

/* What members must have alike. */
static void settle_setup(struct weft_sched *sched, struct weft_comm *comm,
	const struct weft_coll_view *all)
{
	struct setup mine = { .digest = weft_coll_rules_digest(),
		.shares_cores = weft_proc.shares_cores,
		.long_len = sched->err ? 0 : settle_long_len(comm) };
	struct setup setup;

	snprintf(mine.fabric, sizeof(mine.fabric), "%s",
		weft_vci_fabric(comm->vci));
	setup = mine;
	weft_bcast_tree(sched, all, weft_span_bytes(&setup, sizeof(setup)), 0);
	weft_sched_fence(sched);
	if (sched->err)
		return;
	if (setup.digest != mine.digest)
		sched->err = weft_err_set(WEFT_ERR_NOT_SAME,
			"WEFT_COLL, WEFT_COLL_FILE or WEFT_COLL_REPRODUCIBLE "
			"is not here as at rank 0 of the communicator: all "
			"processes must choose algorithms alike");
	memcpy(comm->coll.nodes->fabric, setup.fabric, sizeof(setup.fabric));
	comm->coll.nodes->fabric[sizeof(setup.fabric) - 1] = 0;
	comm->coll.nodes->shares_cores = setup.shares_cores != 0;
	comm->coll.nodes->long_len = settle_parts(setup.long_len);
}

static void settle_segment(struct weft_sched *sched, struct weft_comm *comm,
	const struct weft_coll_view *all, const struct weft_coll_view *node)
{
	struct offer offer = { 0, -1, 0 };
	uint8_t mine, ours = 0;

	if (node->me == 0 && !sched->err)
		offer = settle_offer(comm, node->n);
	weft_bcast_tree(sched, node, weft_span_bytes(&offer, sizeof(offer)), 0);
	weft_sched_fence(sched);
	mine = !sched->err && settle_map(comm, &offer, node);
	weft_reduce_tree(sched, all, weft_redop_builtin(WEFT_OP_BAND),
		weft_span_bytes(&mine, 1), &ours, 0);
	weft_bcast_tree(sched, all, weft_span_bytes(&ours, 1), 0);
	weft_sched_fence(sched);
	if (node->me == 0 && offer.owner)
		close(offer.fd);
	if (sched->err || !ours || comm->coll.nodes->most == 1)
		settle_unmap(comm);
}

static void settle_write(struct weft_sched *sched, enum weft_coll_kind kind,
	const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	const struct weft_coll_view all = weft_coll_view_of(comm);
	struct weft_coll_view node =
		weft_coll_view_ranks(comm, &comm->rank, 1, 0);
	int32_t *ranks = local_members(comm, &node.n, &node.me);

	(void)kind;
	if (ranks)
		node.ranks = ranks;
	else
		sched->err = WEFT_ERR_NOMEM;
	settle_nodes(sched, comm, &all, node.ranks[0]);
	settle_setup(sched, comm, &all);
	settle_segment(sched, comm, &all, &node);
	free(ranks);
}

int weft_shm_coll_settle(const struct weft_coll *args, enum weft_coll_kind kind)
{
	struct weft_comm *comm = args->comm;
	int err =
		weft_sched_run(kind, args, settle_write, WEFT_COLL_TAG_SETTLE);

	comm->coll.is_settled = !err;
	if (err)
		return err;
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
