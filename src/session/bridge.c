/* SPDX-License-Identifier: BSD-3-Clause */
/* bridge: intercommunicators
 *
 * The two leaders swap their member lists (as runs, so that a whole job is 24
 * bytes) and two context ids each; each leader tells its own side. The side
 * whose first process has the lower number gives the id of the result, and
 * each side's local communicator has its own leader's second. Where both sides'
 * members are on lanes of their own, these are swapped, too (see meet.h): the
 * result is on them then, else on the default lane.
 *
 * Where processes of several jobs come together the members cannot look each
 * other up: the sides then swap how everybody is reached from other jobs. */
#include "session/create.h"

#include "base/err.h"
#include "core/info.h"
#include "core/outer.h"
#include "core/proc.h"
#include "core/progress.h"
#include "p2p/p2p.h"
#include "session/birth.h"
#include "session/disconnect.h"
#include "session/meet.h"
#include "session/shore.h"
#include "session/stall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TYPE_BYTE = 0x247,
	/* bridges carry leaders' messages beside their own rounds */
	TAG_LEADERS = 0x40000000,
	TAG_LOCAL = 0x60000000,
	PIECE = 3072, /* bytes told at once */
};

static int first_of(int err, int next)
{
	return err ? err : next;
}

/* A piece of memory to be sent or received. */
struct part {
	void *at;
	size_t len;
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

/* Waits and gives the request back; how much came in *len_out. */
static int finish(struct weft_comm *comm, struct weft_req *req, size_t *len_out)
{
	struct weft_stall stall = { 0 };
	int err;

	while (!req->is_done)
		if (weft_stall_round(comm->lane, &stall))
			weft_derive_report(comm, "intercommunicator creation",
				weft_stall_seconds(&stall));
	err = req->status.err;
	*len_out = (size_t)req->status.len;
	weft_req_put(req);
	return err;
}

/* One message each way. Without room for theirs it is taken and dropped, so
 * that the next one meets the next. *len_out is what came. */
static int swap(const struct talk *t, struct part mine, struct part theirs,
	size_t *len_out)
{
	struct weft_req *in, *out;
	size_t len = 0;
	int in_err, err;

	in_err = start(t, false, theirs.at, theirs.at ? theirs.len : 0, &in);
	err = start(t, true, mine.at, mine.len, &out);
	if (!err)
		err = finish(t->comm, out, &len);
	if (!in_err)
		in_err = finish(t->comm, in, len_out);
	if (in_err == WEFT_ERR_TRUNCATE && !theirs.at)
		in_err = 0;
	return err ? err : in_err;
}

/* The same, of a length known before. */
static int swap_whole(
	const struct talk *t, struct part mine, struct part theirs)
{
	size_t len = 0;
	int err = swap(t, mine, theirs, &len);

	if (!err && theirs.at && len != theirs.len)
		err = weft_err_set(WEFT_ERR_PROTO,
			"the leader of the other side sent %zu bytes instead "
			"of %zu",
			len, theirs.len);
	return err;
}

/* From root to all of comm, down a binomial tree. */
static int tell(struct weft_comm *comm, int32_t root, void *buf, size_t len)
{
	uint32_t size = (uint32_t)comm->size;
	uint32_t me = ((uint32_t)comm->rank + size - (uint32_t)root) % size;
	struct talk t = { comm, 0, TAG_LOCAL };
	struct weft_req *req;
	size_t came = len;
	int err = 0;

	if (me) {
		t.rank = (int32_t)(((me & (me - 1)) + (uint32_t)root) % size);
		err = start(&t, false, buf, len, &req);
		if (!err)
			err = finish(comm, req, &came);
		if (!err && came != len)
			err = weft_err_set(WEFT_ERR_PROTO,
				"%zu bytes of a creation instead of %zu", came,
				len);
	}
	for (uint64_t bit = 1; !err && me + bit < size; bit <<= 1) {
		if (me & bit)
			break;
		t.rank = (int32_t)((me + bit + (uint32_t)root) % size);
		err = start(&t, true, buf, len, &req);
		if (!err)
			err = finish(comm, req, &came);
	}
	return err;
}

/* The same in pieces, so that who has no memory for it (at is NULL) passes it
 * on all the same. */
static int tell_long(struct weft_comm *comm, int32_t root, struct part part)
{
	char piece[PIECE];
	int err = 0;

	for (size_t at = 0; !err && at < part.len; at += PIECE) {
		size_t len = weft_min(part.len - at, (size_t)PIECE);

		if (part.at && comm->rank == root)
			memcpy(piece, (char *)part.at + at, len);
		err = tell(comm, root, piece, len);
		if (!err && part.at && comm->rank != root)
			memcpy((char *)part.at + at, piece, len);
	}
	return err;
}

/* What every member of a side knows in the end. */
struct both {
	uint64_t my_ctx;
	uint64_t their_ctx;
	uint32_t n_runs;     /* of the other side */
	uint32_t n_cards;    /* likewise, its size; 0: not on their own lanes */
	int32_t err;	     /* nothing follows */
	int32_t is_spanning; /* processes of several jobs; all above is sent */
	struct weft_run *runs;
	struct weft_lane_card *cards; /* of the other side */
	struct weft_lane_card *mine;  /* of mine, if on lanes of their own */
};

static void both_fini(struct both *both)
{
	free(both->runs);
	free(both->cards);
	free(both->mine);
}

/* Where the members over there are reached, if all have lanes. err stands for
 * what went wrong before: then theirs are taken and dropped. */
static int swap_cards(const struct talk *t, const struct weft_comm *local,
	struct both *both, uint32_t n_theirs, int err)
{
	struct part mine = { both->mine, 0 }, theirs = { NULL, 0 };

	if (!err && both->mine && n_theirs) {
		both->cards = calloc(n_theirs, sizeof(*both->cards));
		err = both->cards ? 0 : WEFT_ERR_NOMEM;
		theirs.at = both->cards;
		theirs.len = n_theirs * sizeof(*both->cards);
		both->n_cards = n_theirs;
	}
	if (both->mine)
		mine.len = (size_t)local->size * sizeof(*both->mine);
	if (err || !theirs.at)
		theirs = (struct part){ NULL, 0 };
	return first_of(err, swap_whole(t, mine, theirs));
}

static bool has_other_job(const struct weft_group *group, uint64_t job)
{
	for (uint32_t i = 0; i < group->n_runs; i++)
		if (group->runs[i].first >> 32 != job)
			return true;
	return false;
}

/* Are there processes of several jobs on the two sides? Both leaders find the
 * same. */
static bool is_spanning(
	const struct weft_group *mine, const struct weft_group *theirs)
{
	uint64_t job = mine->runs[0].first >> 32;

	return has_other_job(mine, job) || has_other_job(theirs, job);
}

/* Every step is taken whatever went wrong before: both leaders post the same
 * messages in any case, and in the end both know whether both have all. */
static void swap_sides(const struct weft_create_inter *how, struct both *both)
{
	struct weft_group *group = how->local->group, *remote = NULL;
	struct talk t = { how->bridge, how->remote_leader,
		TAG_LEADERS | (how->tag & 0x1fffffff) };
	struct weft_shore mine = { weft_proc_new_ctx(2), group->n_runs,
		both->mine != NULL },
			  theirs = { 0 };
	struct part runs = { NULL, 0 };
	int32_t verdict, their_verdict = 0;
	size_t len = 0;
	int err = swap(&t, (struct part){ &mine, sizeof(mine) },
		(struct part){ &theirs, sizeof(theirs) }, &len);

	if (!err)
		err = weft_shore_check(&theirs, len);
	if (!err) {
		runs.len = theirs.n_runs * sizeof(*both->runs);
		both->runs = runs.at = calloc(1, runs.len);
		err = runs.at ? 0 : WEFT_ERR_NOMEM;
	}
	err = first_of(
		err, swap_whole(&t,
			     (struct part){ group->runs,
				     group->n_runs * sizeof(*group->runs) },
			     runs));
	if (!err)
		err = weft_shore_group(both->runs, theirs.n_runs, &remote);
	both->is_spanning = remote && is_spanning(group, remote);
	err = swap_cards(&t, how->local, both,
		remote && theirs.has_lanes ? remote->size : 0, err);
	weft_group_put(remote);
	verdict = err;
	err = first_of(
		err, swap_whole(&t, (struct part){ &verdict, sizeof(verdict) },
			     (struct part){
				     &their_verdict, sizeof(their_verdict) }));
	if (!err && their_verdict)
		err = weft_err_set(WEFT_ERR_PEER,
			"the leader of the other side could not take part");
	both->my_ctx = mine.ctx;
	both->their_ctx = theirs.ctx;
	both->n_runs = theirs.n_runs;
	both->err = err;
}

/* Brings what the leader knows to all of its side. */
static int tell_side(struct weft_comm *local, int32_t root, struct both *both)
{
	bool is_root = local->rank == root;
	struct part runs, cards;
	int err = tell(local, root, both, offsetof(struct both, runs));

	if (!err)
		err = both->err;
	if (!err && both->is_spanning)
		weft_outer_expect();
	if (!err && (both->n_runs > weft_shore_limit() ||
			    both->n_cards > weft_shore_limit()))
		err = weft_err_set(
			WEFT_ERR_PROTO, "a side larger than the job");
	if (err)
		return err;
	runs.len = both->n_runs * sizeof(*both->runs);
	cards.len = both->n_cards * sizeof(*both->cards);
	if (!is_root) {
		both->runs = calloc(1, runs.len);
		both->cards = cards.len ? calloc(1, cards.len) : NULL;
	}
	runs.at = both->runs;
	cards.at = both->cards;
	err = first_of(
		tell_long(local, root, runs), tell_long(local, root, cards));
	if (!err && (!runs.at || (cards.len && !cards.at)))
		err = WEFT_ERR_NOMEM;
	return err;
}

/* ---- processes of several jobs ---- */

/* The leader swaps how all of its side are reached and tells its side. */
static int swap_outer(const struct weft_create_inter *how, struct part mine,
	struct part theirs)
{
	struct weft_comm *local = how->local;
	int32_t said = 0;
	int err;

	if (local->rank == how->local_leader) {
		struct talk t = { how->bridge, how->remote_leader,
			TAG_LEADERS | (how->tag & 0x1fffffff) };

		weft_lane_take(how->bridge->lane);
		said = swap_whole(&t, mine, theirs);
		weft_lane_drop(how->bridge->lane);
	}
	weft_lane_take(local->lane);
	err = tell(local, how->local_leader, &said, sizeof(said));
	if (!err)
		err = said;
	if (!err)
		err = tell_long(local, how->local_leader, theirs);
	weft_lane_drop(local->lane);
	return err;
}

/* Makes the other side's processes reachable. Who has no card of its own goes
 * on, so that the others hear of it. */
static int meet_all(
	const struct weft_create_inter *how, const struct weft_group *remote)
{
	struct weft_lane_card mine = { 0 }, *theirs;
	struct part in, out = { NULL, (size_t)how->local->size * sizeof(mine) };
	int card_err, err;

	in.len = remote->size * sizeof(*theirs);
	in.at = theirs = calloc(1, in.len);
	weft_lane_take(&weft_proc.lane);
	card_err = weft_outer_card(&mine);
	weft_lane_drop(&weft_proc.lane);
	err = weft_create_gather(how->local, &mine, sizeof(mine), &out.at);
	if (!err)
		err = swap_outer(how, out, in);
	if (!err && !theirs)
		err = WEFT_ERR_NOMEM;
	weft_lane_take(&weft_proc.lane);
	for (uint32_t i = 0; !err && i < remote->size; i++)
		err = weft_outer_meet(weft_group_proc(remote, i), &theirs[i]);
	weft_lane_drop(&weft_proc.lane);
	free(out.at);
	free(theirs);
	return err ? err : card_err;
}

/* ---- the end ---- */

/* The communicator, once all is known, on the local one's lane if the other
 * side's members are on such lanes of the same kind. */
static int make(const struct weft_create_inter *how, const struct both *both,
	struct weft_group *remote, struct weft_comm **comm_out)
{
	struct weft_comm *local = how->local;
	struct weft_group *common = NULL;
	struct weft_birth b = {
		.session = local->child.session,
		.local_ctx = both->my_ctx + WEFT_PLANE_END,
		.group = local->group,
		.remote = remote,
		.errh = local->errh,
	};
	uint8_t *lanes = NULL;
	int err;

	b.ctx = weft_group_proc(b.group, 0) < weft_group_proc(b.remote, 0)
			? both->my_ctx
			: both->their_ctx;
	err = weft_group_intersection(b.group, b.remote, &common);
	if (!err && common->size)
		err = weft_err_set(WEFT_ERR_COMM,
			"%u processes are on both sides of the "
			"intercommunicator",
			common->size);
	if (!err && both->n_cards == b.remote->size && both->mine)
		err = weft_meet_across(
			local, both->mine, b.remote, both->cards, &lanes);
	if (lanes) {
		b.lane = local->lane;
		b.lanes = lanes;
		b.local_lanes = local->lanes;
	}
	if (!err) {
		struct weft_lane *lane = b.lane ? b.lane : &weft_proc.lane;

		weft_lane_take(lane);
		err = weft_birth(&b, comm_out);
		weft_lane_drop(lane);
	}
	free(lanes);
	weft_group_put(common);
	return err;
}

/* How my side's members are reached on lanes of their own, if they are. */
static int gather_cards(struct weft_comm *local, struct both *both)
{
	const struct weft_lane_card *mine;
	void *all;
	int err;

	if (!local->lane->number)
		return 0;
	mine = weft_lane_card(local->lane);
	err = weft_create_gather(local, mine, sizeof(*mine), &all);
	if (!err)
		both->mine = all;
	return err;
}

int weft_create_inter(
	const struct weft_create_inter *how, struct weft_comm **comm_out)
{
	struct weft_comm *local = how->local;
	struct both both = { .err = how->err };
	struct weft_group *remote = NULL;
	int err = gather_cards(local, &both);

	if (err)
		return err;
	if (local->rank == how->local_leader && !how->err) {
		weft_lane_take(how->bridge->lane);
		swap_sides(how, &both);
		weft_lane_drop(how->bridge->lane);
	}
	weft_lane_take(local->lane);
	weft_disconnect_tend(local->lane);
	err = tell_side(local, how->local_leader, &both);
	weft_lane_drop(local->lane);
	if (!err)
		err = weft_shore_group(both.runs, both.n_runs, &remote);
	if (!err && both.is_spanning) {
		both.n_cards = 0; /* only processes of a job share lanes */
		err = meet_all(how, remote);
	}
	if (!err)
		err = make(how, &both, remote, comm_out);
	weft_group_put(remote);
	both_fini(&both);
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
