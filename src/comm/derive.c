/* SPDX-License-Identifier: BSD-3-Clause */
/* derive: communicators from a communicator
 *
 * Each call is one round of agreement (agree.h). Rank 0 of each side reserves
 * as many context ids as the results can need. On an
 * intercommunicator, the side whose first process has the lower number provides
 * the id of the result. Each side provides the id of its own local
 * communicator. */
#include "comm/create.h"

#include "base/err.h"
#include "base/log.h"
#include "core/comm_nodes.h"
#include "core/errh.h"
#include "core/info.h"
#include "transport/proc.h"
#include "p2p/p2p.h"
#include "comm/comm_init.h"
#include "comm/blocked.h"
#include "comm/colors.h"
#include "comm/disconnect.h"
#include "core/hint.h"

#include <stdlib.h>
#include <string.h>

/* ---- waits for a round ---- */

struct round {
	struct weft_agree agree;
	/* creates the result of the call; NULL: none */
	int (*finish)(struct round *r, struct weft_comm **comm_out);
	int64_t color;		  /* split: the color of this process */
	struct weft_group *group; /* subset: the group of the result */
};

/* The wait for a round. It exists until the round is complete, also if the call
 * was aborted earlier. */
struct pending_round {
	struct round round;
	bool is_done;
	bool is_abandoned;
};

/* Creates and immediately frees the communicator of an aborted call. The other
 * members have created this communicator, and can close it only together with
 * this process. */
static void derive_finish_abandoned(struct pending_round *w)
{
	struct weft_comm *comm = NULL;

	if (w->round.finish && !w->round.agree.err &&
		!w->round.finish(&w->round, &comm) && comm)
		weft_disconnect_free_locked(comm);
	weft_agree_fini(&w->round.agree);
	weft_group_put(w->round.group);
	free(w);
}

static void on_round(struct weft_agree *agree)
{
	struct pending_round *w = agree->arg;

	w->is_done = true;
	if (w->is_abandoned)
		derive_finish_abandoned(w);
}

/* Fills in the ranks that must join the next round of the communicator. */
static void fill_join(struct weft_blocked *b, bool is_down_only)
{
	b->join.need = WEFT_WIRE_NEED_ROUND;
	b->join.round = b->comm->ctl.seq & 0x3fffffff;
	b->join.is_all = !is_down_only;
	if (is_down_only)
		b->join.n = weft_agree_above(b->comm, b->join.ranks);
}

/* Runs one round and waits for it. If the result is 0, the caller calls
 * weft_agree_fini() or weft_agree_take(). VCI's lock held. */
static int round_wait(struct round *r, const char *what)
{
	struct weft_comm *comm = r->agree.comm;
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_DERIVE,
		.vci = comm->vci,
		.comm = comm,
		.what = what,
	};
	struct pending_round *w = calloc(1, sizeof(*w));
	int err;

	weft_disconnect_progress(comm->vci);
	if (!w) {
		weft_agree_fail(&r->agree, WEFT_ERR_NOMEM);
		return WEFT_ERR_NOMEM;
	}
	w->round = *r;
	w->round.agree.done = on_round;
	w->round.agree.arg = w;
	fill_join(&blocked, r->agree.is_down_only);
	weft_agree_start(&w->round.agree);
	weft_blocked_begin(&blocked);
	while (!w->is_done && !weft_blocked_round(&blocked))
		;
	weft_blocked_end(&blocked);
	if (weft_blocked_err(&blocked)) {
		w->is_abandoned = true;
		if (r->group)
			weft_group_get(r->group);
		if (w->is_done)
			derive_finish_abandoned(w);
		return weft_blocked_raise(&blocked);
	}
	r->agree = w->round.agree;
	free(w);
	err = r->agree.err;
	if (err)
		weft_agree_fini(&r->agree);
	/* describes the error again, because progress may have described a
	 * failure on another communicator meanwhile */
	if (err == WEFT_ERR_PEER && comm->failed)
		return weft_comm_failed(comm);
	return err;
}

/* Called if this member has no memory for its result. The other members have
 * created theirs and would wait for this member. So it tries again, only to
 * revoke the communicator. */
static void revoke_result(struct round *r)
{
	struct weft_comm *comm = NULL;

	if (r->finish(r, &comm) || !comm)
		return;
	weft_revoke_locked(comm);
	weft_disconnect_free_locked(comm);
}

/* Runs one round and creates the communicator. */
static int round_run(
	struct round *r, const char *what, struct weft_comm **comm_out)
{
	struct weft_vci *vci = r->agree.comm->vci;
	int err;

	weft_vci_lock(vci);
	err = round_wait(r, what);
	if (!err) {
		err = r->finish(r, comm_out);
		if (err == WEFT_ERR_NOMEM)
			revoke_result(r);
		weft_agree_fini(&r->agree);
	}
	weft_vci_unlock(vci);
	return err;
}

/* ---- duplicate ---- */

struct dup {
	struct weft_agree agree;
	struct weft_info *info;
	struct weft_nodes *nodes; /* coll.nodes of the parent at the time of the
				     call, or NULL */
	weft_create_done_fn *made;
	void *arg;
};

static uint64_t reserve_two_ctx(struct weft_agree *agree)
{
	(void)agree;
	return weft_proc_new_ctx(2);
}

/* Sets the nodes of the duplicate to those of its parent. Either all members or
 * none had the parent's nodes at the call, because all make their calls on the
 * parent in the same order. */
static void dup_take_nodes(struct dup *d, struct weft_comm *comm)
{
	if (!d->nodes)
		return;
	comm->coll.nodes = d->nodes;
	comm->coll.is_settled = !d->nodes->has_segments;
	d->nodes = NULL;
}

static void on_dup(struct weft_agree *agree)
{
	struct dup *d = agree->arg;
	struct weft_comm *old = agree->comm, *comm = NULL;
	uint64_t ctx = agree->words[weft_comm_is_first(old) ? 0 : 1];
	struct weft_comm_init b = {
		.session = old->child.session,
		.vci = old->vci,
		.parent = old,
		.ctx = ctx,
		.local_ctx = agree->words[0] + WEFT_CTX_OFFSET_END,
		.group = old->group,
		.remote = old->is_inter ? old->remote : NULL,
		.errh = old->errh,
		.info = d->info,
		.tag = old->tag,
	};
	int err = agree->err ? agree->err : weft_comm_init(&b, &comm);

	if (!err)
		dup_take_nodes(d, comm);
	weft_comm_nodes_put(d->nodes);
	weft_agree_fini(agree);
	d->made(d->arg, err ? NULL : comm, err);
	weft_info_destroy(d->info);
	free(d);
}

/* Contributes the error to the round. Returns the error. */
static int dup_fail_locked(struct weft_comm *comm, int err)
{
	struct weft_agree agree = { .comm = comm, .is_down_only = true };

	weft_agree_fail(&agree, err);
	return err;
}

static int dup_start_locked(struct weft_comm *comm,
	const struct weft_info *info, weft_create_done_fn *made, void *arg)
{
	struct dup *d = calloc(1, sizeof(*d));
	int err = d ? 0 : WEFT_ERR_NOMEM;

	if (!err && info)
		err = weft_info_dup(info, &d->info);
	if (!err) {
		d->made = made;
		d->arg = arg;
		d->nodes = weft_comm_nodes_get(comm->coll.nodes);
		d->agree = (struct weft_agree){
			.comm = comm,
			.is_down_only = true,
			.word = reserve_two_ctx,
			.done = on_dup,
			.arg = d,
		};
		weft_disconnect_progress(comm->vci);
		weft_agree_start(&d->agree);
		return 0;
	}
	free(d);
	return dup_fail_locked(comm, err);
}

int weft_create_dup_start(struct weft_comm *comm, const struct weft_info *info,
	weft_create_done_fn *made, void *arg)
{
	int err;

	weft_vci_lock(comm->vci);
	err = dup_start_locked(comm, info, made, arg);
	weft_vci_unlock(comm->vci);
	return err;
}

struct dup_wait {
	struct weft_comm *comm;
	bool is_done;
	bool is_abandoned;
	int err;
};

static void on_dup_wait(void *arg, struct weft_comm *comm, int err)
{
	struct dup_wait *w = arg;

	w->comm = comm;
	w->err = err;
	w->is_done = true;
	if (!w->is_abandoned)
		return;
	if (comm)
		weft_disconnect_free_locked(comm);
	free(w);
}

int weft_create_dup(struct weft_comm *comm, const struct weft_info *info,
	struct weft_comm **comm_out)
{
	struct dup_wait *w = calloc(1, sizeof(*w));
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_DERIVE,
		.vci = comm->vci,
		.comm = comm,
		.what = "MPI_Comm_dup",
	};
	int err;

	weft_vci_lock(comm->vci);
	if (!w) {
		err = dup_fail_locked(comm, WEFT_ERR_NOMEM);
		weft_vci_unlock(comm->vci);
		return err;
	}
	fill_join(&blocked, true);
	err = dup_start_locked(comm, info, on_dup_wait, w);
	if (!err) {
		weft_blocked_begin(&blocked);
		while (!w->is_done && !weft_blocked_round(&blocked))
			;
		weft_blocked_end(&blocked);
	}
	if (!err && !w->is_done) {
		w->is_abandoned = true;
		weft_vci_unlock(comm->vci);
		return weft_blocked_raise(&blocked);
	}
	if (weft_blocked_err(&blocked) && w->comm)
		weft_disconnect_free_locked(w->comm);
	weft_vci_unlock(comm->vci);
	if (!err)
		err = weft_blocked_err(&blocked) ? weft_blocked_raise(&blocked)
						 : w->err;
	if (!err)
		*comm_out = w->comm;
	free(w);
	return err;
}

/* ---- split ---- */

/* Called at rank 0: reserves two ids for each member that can be the first of
 * its color. */
static uint64_t reserve_split_ctx(struct weft_agree *agree)
{
	return weft_proc_new_ctx(2 * (uint32_t)agree->comm->size);
}

static int split_make_table(struct weft_agree *a, size_t *len_out)
{
	struct weft_color_side local = {
		(const void *)a->records,
		(uint32_t)a->comm->size,
	};
	struct weft_color_side remote = {
		(const void *)a->remote_records,
		a->comm->is_inter ? (uint32_t)a->comm->remote_size : 0,
	};

	return weft_colors_make(local, remote, a->table, len_out);
}

static size_t split_part(
	const struct weft_agree *a, uint32_t first, uint32_t end, char *part)
{
	return weft_colors_part(a->table, a->table_len, first, end, part);
}

/* Creates the communicator of the members in the block. The reserved ids 2n and
 * 2n + 1 belong to the color of which rank n is the first member. */
static int split_comm_init(struct weft_agree *a,
	const struct weft_color_block *block, struct weft_comm **comm_out)
{
	struct weft_comm *old = a->comm;
	bool is_first = weft_comm_is_first(old);
	uint64_t own = 2 * (uint64_t)weft_colors_first(block->runs);
	uint64_t ctx = own;
	struct weft_comm_init b = {
		.session = old->child.session,
		.vci = old->vci,
		.parent = old,
		.errh = old->errh,
	};
	int err = weft_colors_group(
		block->runs, block->head.n_runs, old->group, &b.group);

	if (!err && old->is_inter)
		err = weft_colors_group(block->remote_runs,
			block->head.n_remote_runs, old->remote, &b.remote);
	if (!err && !is_first)
		ctx = 2 * (uint64_t)weft_colors_first(block->remote_runs);
	b.ctx = a->words[is_first ? 0 : 1] + ctx * WEFT_CTX_OFFSET_END;
	b.local_ctx = a->words[0] + (own + 1) * WEFT_CTX_OFFSET_END;
	if (!err)
		err = weft_comm_init(&b, comm_out);
	weft_group_put(b.group);
	weft_group_put(b.remote);
	return err;
}

static int split_finish(struct round *r, struct weft_comm **comm_out)
{
	struct weft_agree *a = &r->agree;
	struct weft_color_block block;
	int err;

	*comm_out = NULL;
	if (r->color < 0)
		return 0;
	err = weft_colors_find(
		a->table, a->table_len, (uint32_t)a->comm->rank, &block);
	if (err || (a->comm->is_inter && !block.head.n_remote_runs))
		return err; /* 0: the other side has no member */
	return split_comm_init(a, &block, comm_out);
}

int weft_create_split(struct weft_comm *comm, int64_t color, int32_t key,
	struct weft_comm **comm_out)
{
	struct weft_color_record mine = weft_color_record(color, key);
	struct round r = {
		.agree = {
			.comm = comm,
			.mine = &mine,
			.len = sizeof(mine),
			.word = reserve_split_ctx,
			.make_table = split_make_table,
			.part = split_part,
			.table_max = weft_colors_len_max((uint32_t)comm->size,
				comm->is_inter ? (uint32_t)comm->remote_size
					       : 0),
		},
		.finish = split_finish,
		.color = color,
	};

	return round_run(&r, "MPI_Comm_split", comm_out);
}

/* ---- subset ---- */

static uint64_t reserve_subset_ctx(struct weft_agree *agree)
{
	return weft_proc_new_ctx((uint32_t)agree->comm->size);
}

/* Creates a communicator of a subset of an intracommunicator. Members may pass
 * different groups, if the groups are disjoint. The rank of a group's first
 * member determines the context id. */
static int subset_finish(struct round *r, struct weft_comm **comm_out)
{
	struct weft_comm *comm = r->agree.comm;
	struct weft_comm_init b = {
		.session = comm->child.session,
		.vci = comm->vci,
		.parent = comm,
		.group = r->group,
		.errh = comm->errh,
	};

	*comm_out = NULL;
	if (b.group->my_rank < 0)
		return 0;
	b.ctx = r->agree.words[0] + (uint64_t)weft_group_rank_of(comm->group,
					    weft_group_proc(b.group, 0)) *
					    WEFT_CTX_OFFSET_END;
	return weft_comm_init(&b, comm_out);
}

static int subset_intra(struct weft_comm *comm, struct weft_group *group,
	struct weft_comm **comm_out)
{
	struct round r = {
		.agree = {
			.comm = comm,
			.is_down_only = true,
			.word = reserve_subset_ctx,
		},
		.finish = subset_finish,
		.group = group,
	};

	return round_run(&r, "MPI_Comm_create", comm_out);
}

int weft_create_subset(struct weft_comm *comm, struct weft_group *group,
	struct weft_comm **comm_out)
{
	for (uint32_t i = 0; i < group->size; i++)
		if (weft_group_rank_of(comm->group,
			    weft_group_proc(group, i)) == WEFT_UNDEFINED)
			return weft_err_set(WEFT_ERR_GROUP,
				"rank %u of the group is not in the "
				"communicator",
				i);
	if (!comm->is_inter)
		return subset_intra(comm, group, comm_out);
	/* intercommunicator: a split that keeps the order of the group */
	return weft_create_split(
		comm, group->my_rank < 0 ? -1 : 0, group->my_rank, comm_out);
}

/* ---- merge ---- */

/* The table has `high` of rank 0 of this group, and that of the other group. */
struct merge_table {
	int32_t high, remote_high;
};

static int merge_make_table(struct weft_agree *a, size_t *len_out)
{
	struct merge_table table;

	memcpy(&table.high, a->records, sizeof(table.high));
	memcpy(&table.remote_high, a->remote_records,
		sizeof(table.remote_high));
	memcpy(a->table, &table, sizeof(table));
	*len_out = sizeof(table);
	return 0;
}

/* Each member needs the whole table. */
static size_t merge_part(
	const struct weft_agree *a, uint32_t first, uint32_t end, char *part)
{
	(void)first;
	(void)end;
	(void)part;
	return a->table_len;
}

static int merge_finish(struct round *r, struct weft_comm **comm_out)
{
	struct weft_comm *comm = r->agree.comm;
	struct weft_comm_init b = {
		.session = comm->child.session,
		.vci = comm->vci,
		.parent = comm,
		.ctx = r->agree.words[weft_comm_is_first(comm) ? 0 : 1],
		.errh = comm->errh,
	};
	struct merge_table table;
	bool is_low;
	int err;

	if (r->agree.table_len != sizeof(table))
		return weft_err_set(WEFT_ERR_PROTO,
			"a table of %zu bytes has arrived; a merge needs %zu",
			r->agree.table_len, sizeof(table));
	memcpy(&table, r->agree.table, sizeof(table));
	is_low = table.high != table.remote_high ? !table.high
						 : weft_comm_is_first(comm);
	err = weft_group_union(is_low ? comm->group : comm->remote,
		is_low ? comm->remote : comm->group, &b.group);
	if (!err)
		err = weft_comm_init(&b, comm_out);
	weft_group_put(b.group);
	return err;
}

int weft_create_merge(
	struct weft_comm *comm, bool high, struct weft_comm **comm_out)
{
	int32_t mine = high;
	struct round r = {
		.agree = {
			.comm = comm,
			.mine = &mine,
			.len = sizeof(mine),
			.word = reserve_two_ctx,
			.make_table = merge_make_table,
			.part = merge_part,
			.table_max = sizeof(struct merge_table),
		},
		.finish = merge_finish,
	};

	return round_run(&r, "MPI_Intercomm_merge", comm_out);
}

/* ---- records ---- */

void weft_create_gather_fail(struct weft_comm *comm, int err)
{
	struct weft_agree agree = { .comm = comm };

	weft_vci_lock(comm->vci);
	weft_agree_fail(&agree, err);
	weft_vci_unlock(comm->vci);
}

int weft_create_gather(
	struct weft_comm *comm, const void *mine, size_t len, void **all_out)
{
	struct round r = {
		.agree = {
			.comm = comm,
			.mine = mine,
			.len = len,
		},
	};
	int err;

	weft_vci_lock(comm->vci);
	err = round_wait(&r, "an allgather of the library");
	weft_vci_unlock(comm->vci);
	if (!err)
		*all_out = weft_agree_take(&r.agree);
	return err;
}
