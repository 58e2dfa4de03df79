/* SPDX-License-Identifier: BSD-3-Clause */
/* intercomm: intercommunicators
 *
 * A side is one of the two groups. Each leader sends its member list and two
 * context ids to the other leader, and broadcasts the received data to its
 * side. Member lists are sent as runs (core/group.h), so that a whole job takes
 * 24 bytes. The side whose first process has the lower number provides the id
 * of the result. The local communicator of a side uses the second id of the
 * side's own leader. If the members of both sides use dedicated VCIs on fabrics
 * of the same provider, the result uses these VCIs. For this, the leaders also
 * exchange the cards of the VCIs (ep_exchange.h). Otherwise the result uses the
 * default VCI.
 *
 * Processes of different jobs cannot fetch each other's cards from the process
 * manager. Then the sides exchange the cards of all members. */
#include "comm/create.h"

#include "base/err.h"
#include "transport/foreign.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "p2p/p2p.h"
#include "comm/comm_init.h"
#include "comm/blocked.h"
#include "comm/disconnect.h"
#include "comm/ep_exchange.h"
#include "comm/leader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* rounds of agree.h on the same communicator use other tags */
	TAG_LEADERS = WEFT_TAG_PAIR,
	TAG_SIDE = WEFT_TAG_PAIR_END,
	PIECE = 3072, /* most bytes in one message of bcast_long() */
	/* the most members of a side whose members connect to all members of
	 * the other side */
	CONNECT_MAX = 256,
};

static int first_error(int err, int next)
{
	return err ? err : next;
}

/* Data to send, or memory for data to receive. */
struct buffer {
	void *at;
	size_t len;
};

/* An error and its message text, as sent in a message. err is 0 for success. */
struct error_record {
	int32_t err;
	char why[WEFT_ERR_TEXT];
};

/* Fills the record with an error and this thread's description of it. */
static void error_record_set(struct error_record *v, int err)
{
	const char *why = err ? weft_err_detail_peek(err) : "";

	memset(v, 0, sizeof(*v));
	v->err = err;
	snprintf(v->why, sizeof(v->why), "%s",
		err && !*why ? weft_err_str(err) : why);
}

/* Describes the error of the record in this thread, and returns the error. */
static int error_record_raise(struct error_record *v)
{
	v->why[sizeof(v->why) - 1] = '\0';
	return v->err ? weft_err_set(v->err, "%s", v->why) : 0;
}

/* The data that every member of a side receives from its leader. */
struct side_info {
	uint64_t my_ctx;
	uint64_t their_ctx;
	uint32_t n_runs;     /* number of runs of the other side */
	uint32_t n_bcs;	     /* number of cards of the other side; 0: the
				result uses default VCIs */
	int32_t is_spanning; /* the sides have processes of several jobs */
	int32_t is_near;     /* all members of both sides are on one host */
	struct error_record error; /* the last field of the first broadcast.
				      After an error, no broadcast follows */
	struct weft_run *runs;
	struct weft_vci_card *bcs;  /* cards of the other side */
	struct weft_vci_card *mine; /* cards of the own side; NULL: this side
				       uses default VCIs */
};

/* The state of the creation of an intercommunicator. If the watchdog ends a
 * wait of the call, the call is aborted, but its posted messages continue. The
 * completion of the last message then frees the state. */
struct inter_creation {
	atomic_uint refs; /* one for the call, one for each posted message of an
			     aborted call */
	bool is_abandoned;
	uint32_t number; /* counts creations on the local communicator */
	struct weft_group *group;
	struct weft_leader mine, theirs;
	struct error_record error, their_error;
	struct side_info received; /* from the parent in the tree */
	struct side_info side;
};

/* Used by one call when no memory is left. The process must still send its
 * error, because the other processes wait for this message. */
static struct inter_creation reserve;
static atomic_flag is_reserve_used = ATOMIC_FLAG_INIT;

static struct inter_creation *inter_creation_new(struct weft_group *group)
{
	struct inter_creation *x = calloc(1, sizeof(*x));

	if (!x && !atomic_flag_test_and_set(&is_reserve_used)) {
		x = &reserve;
		memset(x, 0, sizeof(*x));
	}
	if (!x)
		return NULL;
	atomic_store_explicit(&x->refs, 1, memory_order_relaxed);
	x->group = weft_group_get(group);
	return x;
}

static void inter_creation_put(struct inter_creation *x)
{
	/* The release publishes this holder's writes. The acquire of the last
	 * holder pairs with it, before that holder frees the state. */
	if (atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) != 1)
		return;
	weft_group_put(x->group);
	free(x->side.runs);
	free(x->side.bcs);
	free(x->side.mine);
	if (x == &reserve)
		atomic_flag_clear(&is_reserve_used);
	else
		free(x);
}

/* One rank on a communicator, with the tag for messages to and from it. */
struct channel {
	struct inter_creation *x;
	struct weft_comm *comm;
	int32_t rank;
	int32_t tag;
	int err; /* within a side: error to send to the children instead of the
		    data; 0: none */
	struct weft_blocked_join
		join; /* ranks that must join before the next message can
			 complete; n is 0 if there are none */
};

/* The channel for messages between the leaders. */
static struct channel channel_to_leader(
	const struct weft_create_inter *how, struct inter_creation *x)
{
	return (struct channel){
		.x = x,
		.comm = how->peer,
		.rank = how->remote_leader,
		.tag = TAG_LEADERS | (how->tag & 0x1fffffff),
	};
}

/* The channel for messages among the members of a side. */
static struct channel channel_to_side(
	struct weft_comm *local, struct inter_creation *x)
{
	return (struct channel){
		.x = x,
		.comm = local,
		.tag = TAG_SIDE | (int32_t)(x->number & 0x1fffffff),
		.join.round = x->number,
	};
}

static int intercomm_start(const struct channel *t, bool is_send,
	struct buffer buffer, struct weft_req **req_out)
{
	struct weft_msg msg = {
		.comm = t->comm,
		.buf = buffer.at,
		.count = buffer.at ? (int64_t)buffer.len : 0,
		.type = weft_type_builtin(WEFT_TYPE_BYTE),
		.rank = t->rank,
		.tag = t->tag,
		.ctx_offset = WEFT_CTX_OFFSET_CTL,
	};

	return is_send ? weft_isend_locked(&msg, req_out)
		       : weft_irecv_locked(&msg, req_out);
}

static void on_abandoned_done(void *arg, struct weft_req *req)
{
	weft_req_put(req);
	inter_creation_put(arg);
}

/* Waits for the request, unless the creation was aborted. Returns 0, or the
 * error with which the watchdog ended the wait. */
static int intercomm_wait_for(
	const struct channel *t, const struct weft_req *req)
{
	struct weft_vci *vci = t->comm->vci;
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_DERIVE,
		.vci = vci,
		.comm = t->comm,
		.what = "MPI_Intercomm_create",
		.join = t->join,
	};

	if (req->is_done || t->x->is_abandoned)
		return 0;
	weft_blocked_begin(&blocked);
	while (!req->is_done && !weft_blocked_round(&blocked))
		;
	weft_blocked_end(&blocked);
	t->x->is_abandoned = weft_blocked_err(&blocked) != 0;
	return weft_blocked_raise(&blocked);
}

/* Waits for the request and frees it. *len_out is the received length. If the
 * creation is aborted, the completion of the request frees it later. */
static int intercomm_finish(
	const struct channel *t, struct weft_req *req, size_t *len_out)
{
	int err = intercomm_wait_for(t, req);

	if (!req->is_done) {
		atomic_fetch_add_explicit(&t->x->refs, 1, memory_order_relaxed);
		req->on_done = on_abandoned_done;
		req->on_done_arg = t->x;
		return err;
	}
	err = first_error(err, req->status.err);
	*len_out = (size_t)req->status.len;
	weft_req_put(req);
	return err;
}

/* Exchanges one message in each direction. If theirs.at is NULL, the received
 * message is dropped, so that later messages still match. *len_out is the
 * received length. */
static int intercomm_swap(const struct channel *t, struct buffer mine,
	struct buffer theirs, size_t *len_out)
{
	struct weft_req *in, *out;
	size_t len = 0;
	int in_err, err;

	if (t->x->is_abandoned)
		theirs.at = NULL;
	in_err = intercomm_start(t, false, theirs, &in);
	err = intercomm_start(t, true, mine, &out);
	if (!err)
		err = intercomm_finish(t, out, &len);
	if (!in_err)
		in_err = intercomm_finish(t, in, len_out);
	if (in_err == WEFT_ERR_TRUNCATE && !theirs.at)
		in_err = 0;
	return first_error(err, in_err);
}

/* Like intercomm_swap(), but a received length other than theirs.len is an
 * error. */
static int swap_exact(
	const struct channel *t, struct buffer mine, struct buffer theirs)
{
	size_t len = 0;
	int err = intercomm_swap(t, mine, theirs, &len);

	if (!err && !t->x->is_abandoned && theirs.at && len != theirs.len)
		err = weft_err_set(WEFT_ERR_PROTO,
			"the leader of the other side sent %zu bytes instead "
			"of %zu",
			len, theirs.len);
	return err;
}

/* The position of this rank in the binomial tree of root, which has position 0.
 */
static uint32_t intercomm_place_of(const struct weft_comm *comm, int32_t root)
{
	uint32_t size = (uint32_t)comm->size;

	return ((uint32_t)comm->rank + size - (uint32_t)root) % size;
}

/* The rank at a position in the binomial tree of root. */
static int32_t rank_at(
	const struct weft_comm *comm, int32_t root, uint64_t place)
{
	return (int32_t)((place + (uint32_t)root) % (uint32_t)comm->size);
}

/* Receives from the parent in the tree. */
static int recv_above(struct channel *t, int32_t root, struct buffer buffer)
{
	uint32_t me = intercomm_place_of(t->comm, root);
	struct weft_req *req;
	size_t len = buffer.len;
	int err;

	if (!me)
		return 0;
	t->rank = rank_at(t->comm, root, me & (me - 1));
	err = intercomm_start(t, false, buffer, &req);
	if (!err)
		err = intercomm_finish(t, req, &len);
	if (!err && !t->x->is_abandoned && len != buffer.len)
		err = weft_err_set(WEFT_ERR_PROTO,
			"a message of the creation has %zu bytes instead of "
			"%zu",
			len, buffer.len);
	return err;
}

/* Sends an error to one child instead of a message. */
static void send_failure(const struct channel *t)
{
	struct weft_msg msg = {
		.comm = t->comm,
		.rank = t->rank,
		.tag = t->tag,
		.ctx_offset = WEFT_CTX_OFFSET_CTL,
	};

	weft_send_coll_error_locked(&msg, t->err);
}

/* Sends to the children in the tree. If a member has failed, the creation
 * fails, and some members may have returned already. So the children receive an
 * error, and this member waits for no send. */
static int send_below(struct channel *t, int32_t root, struct buffer buffer)
{
	uint32_t me = intercomm_place_of(t->comm, root);
	struct weft_req *req;
	size_t len;
	int err = 0;

	if (!t->err && t->comm->failed)
		t->err = weft_comm_failed(t->comm);
	for (uint64_t bit = 1; me + bit < (uint32_t)t->comm->size; bit <<= 1) {
		int next;

		if (me & bit)
			break;
		t->rank = rank_at(t->comm, root, me + bit);
		if (t->err) {
			send_failure(t);
			continue;
		}
		next = intercomm_start(t, true, buffer, &req);
		t->join.n = 1;
		t->join.ranks[0] = t->rank;
		if (!next)
			next = intercomm_finish(t, req, &len);
		t->join.n = 0;
		err = first_error(err, next);
	}
	return err;
}

/* Broadcasts from root in pieces. So a member that has no memory for all the
 * data (buffer.at is NULL) can still forward the data to its children. */
static int bcast_long(struct channel *t, int32_t root, struct buffer buffer)
{
	bool is_root = t->comm->rank == root;
	char bytes[PIECE];
	int err = 0, passed;

	for (size_t at = 0; at < buffer.len; at += PIECE) {
		struct buffer piece = { bytes,
			weft_min(buffer.len - at, (size_t)PIECE) };

		if (is_root)
			memcpy(bytes, (char *)buffer.at + at, piece.len);
		if (!t->err)
			t->err = recv_above(t, root, piece);
		passed = send_below(t, root, piece); /* also after an error */
		err = first_error(err, first_error(t->err, passed));
		if (!err && buffer.at && !is_root)
			memcpy((char *)buffer.at + at, bytes, piece.len);
	}
	return err;
}

/* Exchanges the cards of the members' dedicated VCIs. A side without dedicated
 * VCIs sends an empty message. After an earlier error (err), the received cards
 * are dropped. */
static int exchange_bcs(const struct channel *t, uint32_t n_theirs, int err)
{
	struct side_info *side = &t->x->side;
	struct buffer mine = { side->mine, 0 }, theirs = { NULL, 0 };

	if (!err && side->mine && n_theirs) {
		side->bcs = calloc(n_theirs, sizeof(*side->bcs));
		err = side->bcs ? 0 : WEFT_ERR_NOMEM;
		theirs.at = side->bcs;
		theirs.len = n_theirs * sizeof(*side->bcs);
		side->n_bcs = n_theirs;
	}
	if (side->mine)
		mine.len = t->x->group->size * sizeof(*side->mine);
	return first_error(err, swap_exact(t, mine, theirs));
}

/* Exchanges the first message. The arrival of the other leader's message shows
 * that this leader has joined the creation. */
static int exchange_leaders(struct channel *t)
{
	struct inter_creation *x = t->x;
	size_t len = 0;
	int err;

	t->join = (struct weft_blocked_join){
		.need = WEFT_WIRE_NEED_INTERCOMM,
		.round = (uint32_t)t->tag,
		.n = 1,
		.ranks = { t->rank },
	};
	err = intercomm_swap(t, (struct buffer){ &x->mine, sizeof(x->mine) },
		(struct buffer){ &x->theirs, sizeof(x->theirs) }, &len);
	t->join.n = 0;
	return err ? err : weft_leader_check(&x->theirs, len);
}

static bool has_other_job(const struct weft_group *group, uint64_t job)
{
	for (uint32_t i = 0; i < group->n_runs; i++)
		if (group->runs[i].first >> 32 != job)
			return true;
	return false;
}

/* True if both sides together have processes of several jobs. Both leaders
 * compute the same result. */
static bool is_spanning(
	const struct weft_group *mine, const struct weft_group *theirs)
{
	uint64_t job = mine->runs[0].first >> 32;

	return has_other_job(mine, job) || has_other_job(theirs, job);
}

/* Exchanges the errors of the leaders, so that both sides return an error or
 * both succeed. If both sides have an error, each side returns its own error.
 */
static int agree_across(const struct channel *t, int err)
{
	struct inter_creation *x = t->x;
	int next;

	error_record_set(&x->error, err);
	next = swap_exact(t, (struct buffer){ &x->error, sizeof(x->error) },
		(struct buffer){ &x->their_error, sizeof(x->their_error) });
	if (err)
		return error_record_raise(&x->error);
	if (!next && error_record_raise(&x->their_error))
		next = weft_err_set(x->their_error.err == WEFT_ERR_PEER
					    ? WEFT_ERR_PEER
					    : WEFT_ERR_OTHER,
			"the leader of the other group failed: %s",
			x->their_error.why);
	return next;
}

/* Exchanges the data of both sides between the leaders. Both leaders post the
 * same messages, also after an error (side.error). Afterwards both leaders have
 * all data, or side.error is set at both. */
static void exchange_sides(
	const struct weft_create_inter *how, struct inter_creation *x)
{
	struct weft_group *group = x->group, *remote = NULL;
	struct channel t = channel_to_leader(how, x);
	struct side_info *side = &x->side;
	struct buffer runs = { NULL, 0 };
	int err = side->error.err;

	x->mine.ctx = weft_proc_new_ctx(2);
	x->mine.n_runs = group->n_runs;
	x->mine.has_vcis = side->mine != NULL;
	err = first_error(err, exchange_leaders(&t));
	if (!err) {
		runs.len = x->theirs.n_runs * sizeof(*side->runs);
		side->runs = runs.at = calloc(1, runs.len);
		err = runs.at ? 0 : WEFT_ERR_NOMEM;
	}
	err = first_error(
		err, swap_exact(&t,
			     (struct buffer){ group->runs,
				     group->n_runs * sizeof(*group->runs) },
			     runs));
	if (!err)
		err = weft_leader_group(side->runs, x->theirs.n_runs, &remote);
	side->is_spanning = remote && is_spanning(group, remote);
	side->is_near = x->mine.is_near && x->theirs.is_near;
	err = exchange_bcs(
		&t, remote && x->theirs.has_vcis ? remote->size : 0, err);
	weft_group_put(remote);
	if (side->error.err)
		err = error_record_raise(
			&side->error); /* with its message text */
	err = agree_across(&t, err);
	side->my_ctx = x->mine.ctx;
	side->their_ctx = x->theirs.ctx;
	side->n_runs = x->theirs.n_runs;
	error_record_set(&side->error, err);
}

/* The first broadcast within a side: the result of the exchange between the
 * leaders, and the lengths of the following broadcasts. A member with an error
 * of its own (side.error) sends that error to its children. After an error, no
 * broadcast follows. *passed_out is the result of sending to the children. */
static int bcast_first(struct channel *t, int32_t root, int *passed_out)
{
	struct inter_creation *x = t->x;
	struct side_info *side = &x->side;
	struct buffer mine = { side, offsetof(struct side_info, runs) };
	uint32_t me = intercomm_place_of(t->comm, root);
	int err;

	t->join.need = WEFT_WIRE_NEED_SIDE;
	while (me) {
		me &= me - 1;
		t->join.ranks[t->join.n++] = rank_at(t->comm, root, me);
	}
	err = recv_above(t, root, (struct buffer){ &x->received, mine.len });
	t->join.n = 0;
	if (t->comm->rank != root) {
		err = first_error(side->error.err, err);
		if (!err)
			memcpy(side, &x->received, mine.len);
		if (!err && side->is_spanning)
			weft_foreign_expect();
		if (!err)
			err = error_record_raise(&side->error);
		if (!err && (side->n_runs > weft_leader_limit() ||
				    side->n_bcs > weft_leader_limit()))
			err = weft_err_set(WEFT_ERR_PROTO,
				"one side has more processes than the job");
		if (!side->error.err)
			error_record_set(&side->error, err);
	}
	*passed_out = send_below(t, root, mine);
	return error_record_raise(&side->error);
}

/* Broadcasts the leader's data to its side. If a child cannot be reached, the
 * member continues with the other children, because they wait for the data. */
static int bcast_side(
	struct weft_comm *local, int32_t root, struct inter_creation *x)
{
	struct channel t = channel_to_side(local, x);
	struct side_info *side = &x->side;
	struct buffer runs, bcs;
	int passed, err = bcast_first(&t, root, &passed), bcs_err;

	if (err)
		return err;
	runs.len = side->n_runs * sizeof(*side->runs);
	bcs.len = side->n_bcs * sizeof(*side->bcs);
	if (local->rank != root) {
		side->runs = calloc(1, runs.len);
		side->bcs = bcs.len ? calloc(1, bcs.len) : NULL;
	}
	runs.at = side->runs;
	bcs.at = side->bcs;
	err = bcast_long(&t, root, runs);
	bcs_err = bcast_long(&t, root, bcs);
	err = first_error(first_error(passed, err), bcs_err);
	if (!err && (!runs.at || (bcs.len && !bcs.at)))
		err = WEFT_ERR_NOMEM;
	return err;
}

/* ---- processes of several jobs ---- */

/* Exchanges the cards of both sides between the leaders and broadcasts the
 * cards of the other side. All members are in the call by now, so the watchdog
 * ends no wait. err is an earlier error of a member, which weft_create_gather()
 * has returned at all members of the side. */
static int exchange_foreign(const struct weft_create_inter *how,
	struct inter_creation *x, struct buffer mine, struct buffer theirs,
	int err)
{
	struct weft_comm *local = how->local;
	struct channel t = channel_to_side(local, x);
	struct error_record record = { 0 };
	int32_t root = how->local_leader;
	int long_err;

	error_record_set(&record, err);
	if (local->rank == root) {
		struct channel across = channel_to_leader(how, x);

		weft_vci_lock(how->peer->vci);
		err = first_error(err,
			swap_exact(&across, mine,
				err ? (struct buffer){ NULL, 0 } : theirs));
		if (record.err)
			err = error_record_raise(&record);
		error_record_set(&record, agree_across(&across, err));
		weft_vci_unlock(how->peer->vci);
	} else {
		t.err = err;
	}
	t.join.need = WEFT_WIRE_NEED_SIDE;
	weft_vci_lock(local->vci);
	err = bcast_long(&t, root, (struct buffer){ &record, sizeof(record) });
	if (!t.err && !record.err) {
		long_err = bcast_long(&t, root, theirs);
		err = first_error(err, long_err);
	}
	weft_vci_unlock(local->vci);
	return record.err ? error_record_raise(&record) : err;
}

/* Records the cards of the other side. If both sides are small, also prepares
 * the connections: the side whose first process has the lower number connects.
 * Members of larger sides connect when they first send. */
static int connect_all(const struct weft_comm *local,
	const struct weft_group *remote, const struct weft_vci_card *theirs)
{
	uint32_t n = remote->size;
	bool is_small = n <= CONNECT_MAX && local->size <= CONNECT_MAX;
	bool is_caller =
		weft_group_proc(local->group, 0) < weft_group_proc(remote, 0);
	int err = 0;

	weft_vci_lock(&weft_proc.vci);
	for (uint32_t i = 0; !err && i < n; i++) {
		uint64_t proc = weft_group_proc(remote, i);

		err = weft_foreign_set_bc(proc, &theirs[i]);
		if (!err && is_small)
			weft_foreign_connect(proc, is_caller);
	}
	weft_vci_unlock(&weft_proc.vci);
	return err;
}

/* Exchanges the cards of all members of both sides, and records the cards of
 * the other side. A member with an earlier error (err) contributes that error,
 * which all members return. */
static int exchange_all(const struct weft_create_inter *how,
	struct inter_creation *x, const struct weft_group *remote, int err)
{
	struct weft_vci_card mine = { 0 }, *theirs;
	struct buffer in,
		out = { NULL, (size_t)how->local->size * sizeof(mine) };
	uint32_t n = remote ? remote->size : 0;

	in.len = n * sizeof(*theirs);
	in.at = theirs = calloc(1, in.len);
	if (!err && !theirs)
		err = WEFT_ERR_NOMEM;
	if (!err) {
		weft_vci_lock(&weft_proc.vci);
		err = weft_foreign_bc(x->side.is_near, &mine);
		weft_vci_unlock(&weft_proc.vci);
	}
	if (err)
		weft_create_gather_fail(how->local, err);
	else
		err = weft_create_gather(
			how->local, &mine, sizeof(mine), &out.at);
	err = exchange_foreign(how, x, out, in, err);
	if (!err)
		err = connect_all(how->local, remote, theirs);
	free(out.at);
	free(theirs);
	return err;
}

/* ---- the result ---- */

/* Creates the communicator. It uses the VCI of the local communicator if the
 * members of the other side have dedicated VCIs on a fabric of the same
 * provider, and otherwise the default VCI. */
static int intercomm_make(const struct weft_create_inter *how,
	const struct side_info *side, struct weft_group *remote,
	struct weft_comm **comm_out)
{
	struct weft_comm *local = how->local;
	struct weft_group *common = NULL;
	struct weft_comm_init b = {
		.session = local->child.session,
		.local_ctx = side->my_ctx + WEFT_CTX_OFFSET_END,
		.group = local->group,
		.remote = remote,
		.errh = local->errh,
		.info = how->info,
	};
	uint8_t *vcis = NULL;
	int err;

	b.ctx = weft_group_proc(b.group, 0) < weft_group_proc(b.remote, 0)
			? side->my_ctx
			: side->their_ctx;
	err = weft_group_intersection(b.group, b.remote, &common);
	if (!err && common->size)
		err = weft_err_set(WEFT_ERR_COMM,
			"%u processes are on both sides of the "
			"intercommunicator",
			common->size);
	if (!err && side->n_bcs == b.remote->size && side->mine &&
		side->mine->fabric == side->bcs->fabric)
		err = weft_ep_exchange_resolve(
			local->vci, b.remote, side->bcs, &vcis);
	b.err = err;
	if (vcis) {
		b.vci = local->vci;
		b.vcis = vcis;
		b.local_vcis = local->vcis;
	}
	if (!err || vcis) {
		struct weft_vci *vci = b.vci ? b.vci : &weft_proc.vci;

		weft_vci_lock(vci);
		err = weft_comm_init(&b, comm_out);
		weft_vci_unlock(vci);
	}
	free(vcis);
	weft_group_put(common);
	return err;
}

/* Gathers the cards of the own side's dedicated VCIs, if the side uses them. */
static int gather_bcs(struct weft_comm *local, struct side_info *side)
{
	const struct weft_vci_card *mine;
	void *all;
	int err;

	if (!local->vci->number)
		return 0;
	mine = weft_vci_card(local->vci);
	err = weft_create_gather(local, mine, sizeof(*mine), &all);
	if (!err)
		side->mine = all;
	return err;
}

/* The steps of all members after the leaders' exchange. x->side.error is the
 * result of the earlier steps. */
static int inter_run_members(const struct weft_create_inter *how,
	struct inter_creation *x, struct weft_comm **comm_out)
{
	struct weft_comm *local = how->local;
	struct weft_group *remote = NULL;
	int err;

	weft_vci_lock(local->vci);
	err = bcast_side(local, how->local_leader, x);
	weft_vci_unlock(local->vci);
	if (x->side.error.err)
		return err;
	if (!err)
		err = weft_leader_group(x->side.runs, x->side.n_runs, &remote);
	if (x->side.is_spanning) {
		x->side.n_bcs =
			0; /* processes of several jobs use default VCIs */
		err = exchange_all(how, x, remote, err);
	}
	if (!err)
		err = intercomm_make(how, &x->side, remote, comm_out);
	weft_group_put(remote);
	return err;
}

/* True if the members and the other leader are on the host of this process. The
 * processes of one job are so all or none. */
static bool is_side_near(
	const struct weft_create_inter *how, const struct weft_group *group)
{
	uint64_t other = weft_group_proc(
		how->peer->remote, (uint32_t)how->remote_leader);

	for (uint32_t i = 0; i < group->n_runs; i++) {
		const struct weft_run *run = &group->runs[i];
		uint32_t n = weft_foreign_is(run->first) ? run->n : 1;

		for (uint32_t k = 0; k < n; k++)
			if (!weft_foreign_is_near(
				    run->first + (uint64_t)run->stride * k))
				return false;
	}
	return weft_foreign_is_near(other);
}

/* The exchange between the leaders. No effect in other members. */
static void inter_run_leaders(
	const struct weft_create_inter *how, struct inter_creation *x)
{
	if (!how->peer)
		return;
	weft_vci_lock(&weft_proc.vci);
	x->mine.is_near = is_side_near(how, x->group);
	weft_vci_unlock(&weft_proc.vci);
	weft_vci_lock(how->peer->vci);
	exchange_sides(how, x);
	weft_vci_unlock(how->peer->vci);
}

int weft_create_inter(
	const struct weft_create_inter *how, struct weft_comm **comm_out)
{
	struct weft_comm *local = how->local;
	struct inter_creation *x = inter_creation_new(local->group);
	struct error_record before;
	int err;

	if (!x)
		return WEFT_ERR_NOMEM;
	weft_vci_lock(local->vci);
	weft_disconnect_progress(local->vci);
	x->number = local->ctl.n_intercomms++;
	err = how->err;
	if (!err && local->failed && local->rank == how->local_leader)
		err = weft_comm_failed(local);
	weft_vci_unlock(local->vci);
	error_record_set(&before, err);
	err = gather_bcs(local, &x->side);
	if (before.err)
		err = error_record_raise(&before);
	error_record_set(&x->side.error, err);
	inter_run_leaders(how, x);
	err = inter_run_members(how, x, comm_out);
	inter_creation_put(x);
	return err;
}

/* Creates the communicator of the two leaders. */
static int make_peer(
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

/* Called by the leader of a side whose communicator could not be created. Sends
 * the error to the other leader. Returns the error. */
static int inter_refuse(
	const struct weft_create_inter *how, struct weft_group *group)
{
	struct inter_creation *x = inter_creation_new(group);

	if (!x)
		return how->err;
	error_record_set(&x->side.error, how->err);
	inter_run_leaders(how, x);
	(void)error_record_raise(&x->error); /* with its message text */
	inter_creation_put(x);
	return how->err;
}

/* Waits until all members of a side have created its communicator. Without this
 * wait, the intercommunicator might include a member that refused to create
 * that communicator. */
static int confirm_side(struct weft_comm *local)
{
	char none = 0;
	void *all = NULL;
	int err = weft_create_gather(local, &none, sizeof(none), &all);

	free(all);
	return err;
}

int weft_create_inter_from_groups(
	const struct weft_create_inter_groups *how, struct weft_comm **comm_out)
{
	bool is_leader = how->local->my_rank == how->local_leader;
	struct weft_create_inter inter = {
		.local_leader = how->local_leader,
		.info = how->info,
	};
	char *tag;
	int err, pair_err;

	if (asprintf(&tag, "\1side %s", how->tag) < 0)
		return WEFT_ERR_NOMEM;
	err = weft_create_from_group(
		how->local, tag, NULL, how->errh, &inter.local);
	free(tag);
	if (inter.local)
		err = confirm_side(inter.local);
	inter.err = first_error(how->err, err);
	if (is_leader && how->remote) {
		pair_err = make_peer(how, &inter.peer);
		inter.err = first_error(inter.err, pair_err);
		inter.remote_leader = inter.peer ? !inter.peer->rank : 0;
	}
	if (inter.local)
		err = weft_create_inter(&inter, comm_out);
	else if (inter.peer)
		err = inter_refuse(&inter, how->local);
	if (inter.peer)
		weft_disconnect_free(inter.peer);
	if (inter.local)
		weft_disconnect_free(inter.local);
	return err;
}
