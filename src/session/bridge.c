/* SPDX-License-Identifier: BSD-3-Clause */
/* bridge: intercommunicators
 *
 * The two leaders swap their member lists (as runs, so that a whole job is 24
 * bytes) and two context ids each; each leader tells its own side. The side
 * whose first process has the lower number gives the id of the result, and
 * each side's local communicator has its own leader's second. The result is on
 * the default lane, wherever the communicators it came from are. */
#include "session/create.h"

#include "base/err.h"
#include "core/info.h"
#include "core/proc.h"
#include "core/progress.h"
#include "p2p/p2p.h"
#include "session/birth.h"
#include "session/disconnect.h"
#include "session/stall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TYPE_BYTE = 0x247,
	/* bridges carry leaders' messages beside their own rounds */
	TAG_LEADERS = 0x40000000,
	TAG_LOCAL = 0x60000000,
};

/* What a leader tells of its side. */
struct side {
	uint64_t ctx; /* two ids */
	uint32_t n_runs;
	int32_t err; /* nothing follows */
};

struct talk {
	struct weft_comm *comm;
	int32_t rank;
	int32_t tag;
};

static int start(const struct talk *t, bool is_send, void *buf, size_t len,
	struct weft_req **req_out)
{
	struct weft_msg msg = {
		.comm = t->comm,
		.buf = buf,
		.count = (int64_t)len,
		.type = weft_type_builtin(TYPE_BYTE),
		.rank = t->rank,
		.tag = t->tag,
		.plane = WEFT_PLANE_CTL,
	};

	return is_send ? weft_isend_held(&msg, req_out)
		       : weft_irecv_held(&msg, req_out);
}

/* Waits and gives the request back. */
static int finish(struct weft_comm *comm, struct weft_req *req)
{
	struct weft_stall stall = { 0 };
	int err;

	while (!req->is_done)
		if (weft_stall_round(comm->lane, &stall))
			weft_derive_report(comm, "intercommunicator creation",
				weft_stall_seconds(&stall));
	err = req->status.err;
	weft_req_put(req);
	return err;
}

static int swap(const struct talk *t, void *mine, size_t mine_len, void *theirs,
	size_t theirs_len)
{
	struct weft_req *in, *out;
	int err, out_err;

	err = start(t, false, theirs, theirs_len, &in);
	if (err)
		return err;
	out_err = start(t, true, mine, mine_len, &out);
	if (!out_err)
		out_err = finish(t->comm, out);
	err = finish(t->comm, in);
	return err ? err : out_err;
}

/* From root to all of comm, down a binomial tree. */
static int tell(struct weft_comm *comm, int32_t root, void *buf, size_t len)
{
	uint32_t size = (uint32_t)comm->size;
	uint32_t me = ((uint32_t)comm->rank + size - (uint32_t)root) % size;
	struct talk t = { comm, 0, TAG_LOCAL };
	struct weft_req *req;
	int err = 0;

	if (me) {
		t.rank = (int32_t)(((me & (me - 1)) + (uint32_t)root) % size);
		err = start(&t, false, buf, len, &req);
		if (!err)
			err = finish(comm, req);
	}
	for (uint64_t bit = 1; !err && me + bit < size; bit <<= 1) {
		if (me & bit)
			break;
		t.rank = (int32_t)((me + bit + (uint32_t)root) % size);
		err = start(&t, true, buf, len, &req);
		if (!err)
			err = finish(comm, req);
	}
	return err;
}

/* What every member of a side knows in the end. */
struct both {
	uint64_t my_ctx;
	uint64_t their_ctx;
	uint32_t n_runs; /* of the other side */
	int32_t err;
	struct weft_run *runs;
};

static void swap_sides(const struct weft_create_inter *how, struct both *both)
{
	struct weft_group *group = how->local->group;
	struct talk t = { how->bridge, how->remote_leader,
		TAG_LEADERS | (how->tag & 0x1fffffff) };
	struct side mine = { weft_proc_new_ctx(2), group->n_runs, 0 }, theirs;
	int err = swap(&t, &mine, sizeof(mine), &theirs, sizeof(theirs));

	if (!err) {
		both->my_ctx = mine.ctx;
		both->their_ctx = theirs.ctx;
		both->n_runs = theirs.n_runs;
		both->runs = calloc(theirs.n_runs, sizeof(*both->runs));
		err = both->runs ? swap(&t, group->runs,
					   group->n_runs * sizeof(*group->runs),
					   both->runs,
					   theirs.n_runs * sizeof(*both->runs))
				 : WEFT_ERR_NOMEM;
	}
	both->err = err;
}

static int make(const struct weft_create_inter *how, const struct both *both,
	struct weft_comm **comm_out)
{
	struct weft_comm *local = how->local;
	struct weft_group *common = NULL;
	struct weft_birth b = {
		.session = local->child.session,
		.local_ctx = both->my_ctx + WEFT_PLANE_END,
		.group = local->group,
		.errh = local->errh,
	};
	int err = weft_group_create_runs(both->runs, both->n_runs, &b.remote);

	if (err)
		return err;
	b.ctx = weft_group_proc(b.group, 0) < weft_group_proc(b.remote, 0)
			? both->my_ctx
			: both->their_ctx;
	err = weft_group_intersection(b.group, b.remote, &common);
	if (!err && common->size)
		err = weft_err_set(WEFT_ERR_COMM,
			"%u processes are on both sides of the "
			"intercommunicator",
			common->size);
	if (!err)
		err = weft_birth(&b, comm_out);
	weft_group_put(common);
	weft_group_put(b.remote);
	return err;
}

int weft_create_inter(
	const struct weft_create_inter *how, struct weft_comm **comm_out)
{
	struct weft_comm *local = how->local;
	struct both both = { 0 };
	int err;

	if (local->rank == how->local_leader) {
		weft_lane_take(how->bridge->lane);
		swap_sides(how, &both);
		weft_lane_drop(how->bridge->lane);
	}
	weft_lane_take(local->lane);
	weft_disconnect_tend(local->lane);
	err = tell(
		local, how->local_leader, &both, offsetof(struct both, runs));
	if (!err)
		err = both.err;
	if (!err && !both.runs) {
		both.runs = calloc(both.n_runs, sizeof(*both.runs));
		err = both.runs ? 0 : WEFT_ERR_NOMEM;
	}
	if (!err)
		err = tell(local, how->local_leader, both.runs,
			both.n_runs * sizeof(*both.runs));
	weft_lane_drop(local->lane);
	if (!err) {
		weft_lane_take(&weft_proc.lane);
		err = make(how, &both, comm_out);
		weft_lane_drop(&weft_proc.lane);
	}
	free(both.runs);
	return err;
}

/* The leaders' bridge: a communicator of the two of them. */
static int make_bridge(
	const struct weft_create_inter_groups *how, struct weft_comm **comm_out)
{
	uint64_t procs[2] = {
		weft_group_proc(how->local, (uint32_t)how->local_leader),
		weft_group_proc(how->remote, (uint32_t)how->remote_leader),
	};
	struct weft_group *pair;
	char *tag;
	int err;

	if (procs[0] > procs[1]) {
		uint64_t swapped = procs[0];

		procs[0] = procs[1];
		procs[1] = swapped;
	}
	err = weft_group_create(procs, 2, &pair);
	if (err)
		return err;
	pair->session = how->local->session;
	pair->session_handle = how->local->session_handle;
	err = asprintf(&tag, "\1bridge %s", how->tag) < 0 ? WEFT_ERR_NOMEM : 0;
	if (!err) {
		err = weft_create_from_group(
			pair, tag, NULL, how->errh, comm_out);
		free(tag);
	}
	weft_group_put(pair);
	return err;
}

int weft_create_inter_from_groups(
	const struct weft_create_inter_groups *how, struct weft_comm **comm_out)
{
	struct weft_create_inter inter = { .local_leader = how->local_leader };
	char *tag;
	int err;

	if (asprintf(&tag, "\1side %s", how->tag) < 0)
		return WEFT_ERR_NOMEM;
	err = weft_create_from_group(
		how->local, tag, NULL, how->errh, &inter.local);
	free(tag);
	if (err)
		return err;
	if (how->local->my_rank == how->local_leader) {
		err = make_bridge(how, &inter.bridge);
		inter.remote_leader = inter.bridge ? !inter.bridge->rank : 0;
	}
	if (!err)
		err = weft_create_inter(&inter, comm_out);
	if (inter.bridge)
		weft_disconnect_free(inter.bridge);
	weft_disconnect_free(inter.local);
	if (!err && how->info)
		err = weft_info_dup(how->info, &(*comm_out)->info);
	return err;
}
