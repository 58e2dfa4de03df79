/* SPDX-License-Identifier: BSD-3-Clause */
/* blocked: the waits of finalize, disconnect and creation */
#include "comm/blocked.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"
#include "transport/proc.h"
#include "p2p/p2p.h"
#include "comm/create.h"
#include "comm/disconnect.h"
#include "era/era_comm.h"
#include "watchdog/query.h"

#include <stdio.h>

enum { QUERIED_MAX = 128 }; /* members queried per communicator */

/* The number of creation messages received from each process (in) and sent to
 * it (out), by process number + 1. The default VCI's lock guards both maps. */
static struct {
	struct weft_map in, out;
} creations;

static uint64_t blocked_count_of(const struct weft_map *map, uint64_t proc)
{
	return (uint64_t)(uintptr_t)weft_map_get(map, proc + 1);
}

static void blocked_count(struct weft_map *map, uint64_t proc)
{
	uint64_t n = blocked_count_of(map, proc) + 1;

	(void)weft_map_put(map, proc + 1, (void *)(uintptr_t)n);
}

void weft_blocked_count_out(uint64_t proc)
{
	blocked_count(&creations.out, proc);
}

void weft_blocked_count_in(uint64_t proc)
{
	blocked_count(&creations.in, proc);
}

static const struct weft_blocked *blocked_of(const struct weft_wait *wait)
{
	return weft_container_of(wait, struct weft_blocked, wait);
}

/* ---- the needs of a wait ---- */

static uint32_t blocked_size_of(const struct weft_comm *comm)
{
	return (uint32_t)comm->size +
	       (comm->is_inter ? (uint32_t)comm->remote_size : 0);
}

static struct weft_need *add_need(struct weft_wait *wait,
	enum weft_wire_need kind, uint64_t what, const char *label,
	uint32_t size, const char *tag)
{
	struct weft_need *need = weft_wait_add_need(wait);

	if (!need)
		return NULL;
	need->kind = kind;
	need->what = what;
	need->size = size;
	snprintf(need->label, sizeof(need->label), "%.31s", label);
	snprintf(need->phrase, sizeof(need->phrase),
		"communicator \"%.80s\" (string tag \"%.60s\", %u processes)",
		label, tag, size);
	return need;
}

/* The VCI number of a member of the communicator; remote members follow the
 * local ones. */
static uint8_t blocked_vci_at(const struct weft_comm *comm, uint32_t i)
{
	const struct weft_comm *local = comm->is_inter ? comm->local : comm;
	uint32_t size = (uint32_t)comm->size;

	if (i >= size)
		return comm->vcis ? comm->vcis[i - size] : 0;
	return local->vcis ? local->vcis[i] : 0;
}

/* True if the member may have passed the barrier of a close and exited: this
 * process waits in the barrier, but not for this member. Local members pass the
 * barrier after rank 0. */
static bool may_have_left(
	const struct weft_need *need, const struct weft_comm *comm, uint32_t i)
{
	return need->is_flushed && (comm->rank || i >= (uint32_t)comm->size) &&
	       !weft_agree_is_near(comm, i);
}

/* Members that may have left, and are no peers yet, are not added. */
static void add_member(struct weft_wait *wait, struct weft_need *need,
	const struct weft_comm *comm, uint32_t i)
{
	uint32_t size = (uint32_t)comm->size;
	uint64_t proc = i < size ? weft_group_proc(comm->group, i)
				 : weft_group_proc(comm->remote, i - size);
	uint64_t addr = weft_vci_addr(proc, blocked_vci_at(comm, i));
	bool may_exit = may_have_left(need, comm, i);
	const struct weft_peer *peer =
		weft_map_get(&wait->vci->peers, addr + 1);
	struct weft_wait_proc *o;

	if (proc == weft_proc.proc ||
		(may_exit && (!peer || peer->state == WEFT_PEER_NEW)))
		return;
	o = weft_wait_add_proc(
		wait, need, proc, addr, i < size ? (int32_t)i : -1);
	if (o)
		o->may_exit = may_exit;
}

static void add_members(struct weft_wait *wait, struct weft_need *need,
	const struct weft_comm *comm)
{
	uint32_t first =
		weft_wait_first_member(wait, need->size, QUERIED_MAX + 1);

	for (uint32_t i = 0; i < need->size && i <= QUERIED_MAX; i++)
		add_member(wait, need, comm, (first + i) % need->size);
	need->n_all = need->size - 1;
}

static void need_leave(struct weft_wait *wait, const struct weft_comm *comm)
{
	struct weft_need *need;

	if (!weft_disconnect_is_open(comm))
		return;
	need = add_need(wait, WEFT_WIRE_NEED_LEAVE, comm->ctx,
		weft_comm_label(comm), blocked_size_of(comm), comm->tag);
	if (!need)
		return;
	need->is_flushed = weft_disconnect_is_flushed(comm);
	need->round = (uint32_t)comm->coll_err;
	need->if_met = need->is_flushed
			       ? "all queried members have closed it by now"
			       : "messages that this process sent on it are "
				 "not received yet";
	add_members(wait, need, comm);
}

static void need_join(struct weft_wait *wait, const struct weft_blocked *b)
{
	const struct weft_blocked_join *join = &b->join;
	struct weft_need *need = add_need(wait, join->need, b->comm->ctx,
		weft_comm_label(b->comm), blocked_size_of(b->comm),
		b->comm->tag);

	if (!need)
		return;
	need->round = join->round;
	need->if_met = "all queried members have joined it";
	if (join->is_all) {
		add_members(wait, need, b->comm);
		return;
	}
	for (uint32_t i = 0; i < join->n; i++)
		add_member(wait, need, b->comm, (uint32_t)join->ranks[i]);
	need->n_all = join->n;
}

static void need_create(struct weft_wait *wait, const struct weft_blocked *b)
{
	const struct weft_blocked_create *c = b->create;
	const char *label =
		c->tag + (c->tag[0] == 1); /* internal tags begin with \1 */
	struct weft_need *need;

	if (!b->is_waiting(b))
		return;
	need = add_need(wait, WEFT_WIRE_NEED_CREATE,
		blocked_count_of(&creations.in, c->parent), label,
		c->group->size, label);
	if (!need)
		return;
	need->n_all = 1;
	weft_wait_add_proc(wait, need, c->parent, c->parent, -1);
}

static void need_session(struct weft_wait *wait, const struct weft_blocked *b)
{
	struct weft_comm *comm = NULL;

	weft_list_for_each(link, next, &b->session->children[wait->vci->number])
	{
		comm = weft_disconnect_comm_of(link);
		if (comm)
			need_leave(wait, comm);
	}
	comm = NULL;
	while (b->is_last && (comm = weft_disconnect_next_cancelled(
				      wait->vci, comm)) != NULL)
		need_leave(wait, comm);
}

static void blocked_needs(struct weft_wait *wait)
{
	const struct weft_blocked *b = blocked_of(wait);
	struct weft_need *need;

	switch (b->kind) {
	case WEFT_BLOCKED_FINALIZE:
	case WEFT_BLOCKED_WORLD:
		need_session(wait, b);
		break;
	case WEFT_BLOCKED_DISCONNECT:
		need_leave(wait, b->comm);
		break;
	case WEFT_BLOCKED_CREATE:
		need_create(wait, b);
		break;
	case WEFT_BLOCKED_DERIVE:
		need_join(wait, b);
		break;
	case WEFT_BLOCKED_PORT:
		need = weft_wait_add_need(wait);
		need->kind = WEFT_WIRE_NEED_NONE;
		snprintf(need->phrase, sizeof(need->phrase), "%s", b->awaited);
	}
}

/* ---- text ---- */

static void blocked_name(const struct weft_wait *wait, char *buf, size_t len)
{
	const struct weft_blocked *b = blocked_of(wait);

	switch (b->kind) {
	case WEFT_BLOCKED_FINALIZE:
		snprintf(buf, len, "MPI_Session_finalize of its session %u",
			b->session->number);
		break;
	case WEFT_BLOCKED_WORLD:
		snprintf(buf, len, "MPI_Finalize");
		break;
	case WEFT_BLOCKED_DISCONNECT:
		snprintf(buf, len, "MPI_Comm_disconnect");
		break;
	case WEFT_BLOCKED_CREATE:
		snprintf(buf, len, "MPI_Comm_create_from_group");
		break;
	case WEFT_BLOCKED_DERIVE:
	case WEFT_BLOCKED_PORT:
		snprintf(buf, len, "%s", b->what);
	}
}

static void add_label(char *buf, size_t len, const char *label)
{
	size_t n = strlen(buf);

	snprintf(buf + n, len - n, "%s\"%.40s\"",
		n && buf[n - 1] == '"' ? ", " : " ", label);
}

static void add_labels(const struct weft_wait *wait, char *buf, size_t len)
{
	const struct weft_blocked *b = blocked_of(wait);

	weft_list_for_each(link, next, &b->session->children[wait->vci->number])
	{
		struct weft_comm *comm = weft_disconnect_comm_of(link);

		if (strlen(buf) + 1 >= len)
			return;
		if (comm && weft_disconnect_is_open(comm))
			add_label(buf, len, weft_comm_label(comm));
	}
}

static void blocked_describe(
	const struct weft_wait *wait, char *buf, size_t len)
{
	const struct weft_blocked *b = blocked_of(wait);
	char call[80];

	blocked_name(wait, call, sizeof(call));
	switch (b->kind) {
	case WEFT_BLOCKED_FINALIZE:
	case WEFT_BLOCKED_WORLD:
		snprintf(buf, len, "in %s, closing", call);
		add_labels(wait, buf, len);
		break;
	case WEFT_BLOCKED_CREATE:
		snprintf(buf, len, "in %s of", call);
		add_label(buf, len, b->create->tag + (b->create->tag[0] == 1));
		break;
	case WEFT_BLOCKED_DERIVE:
	case WEFT_BLOCKED_DISCONNECT:
		snprintf(buf, len, "in %s of", call);
		add_label(buf, len, weft_comm_label(b->comm));
		break;
	case WEFT_BLOCKED_PORT:
		snprintf(buf, len, "in %s, waiting for %s", call, b->awaited);
	}
}

static void blocked_explain(const struct weft_wait *wait, char *buf, size_t len)
{
	const struct weft_blocked *b = blocked_of(wait);

	if (b->explain)
		b->explain(b, buf, len);
}

/* ---- answers to queries ---- */

/* True if `round` precedes `next`, the number of this process's next round.
 * Numbers of rounds have 30 bits and wrap. */
static bool blocked_is_beyond(uint32_t next, uint32_t round)
{
	return ((next - round - 1) & 0x3fffffff) < 0x20000000;
}

static bool has_joined(const struct weft_comm *comm,
	const struct weft_wire_query *query, uint64_t querier)
{
	int32_t rank;

	if (query->need == WEFT_WIRE_NEED_ROUND)
		return blocked_is_beyond(comm->ctl.seq, query->round);
	if (query->need == WEFT_WIRE_NEED_SIDE)
		return blocked_is_beyond(comm->ctl.n_intercomms, query->round);
	rank = weft_group_rank_of(comm->remote, querier);
	return !weft_p2p_has_arrived_locked(
		comm, WEFT_CTX_OFFSET_CTL, rank, (int32_t)query->round);
}

/* Ends operations that wait for a message of the querying process. That process
 * closes the communicator, and all its messages have arrived. */
static void on_querier_closed(
	struct weft_comm *comm, uint64_t querier, int coll_err)
{
	int32_t rank = weft_group_rank_of(comm->remote, querier);

	if (rank >= 0)
		weft_p2p_departed_locked(
			comm, rank, weft_err_is_fault(coll_err) ? coll_err : 0);
}

static enum weft_wire_met answer_leave(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t querier,
	uint32_t *owner_out)
{
	struct weft_comm *comm = weft_vci_core_comm(vci, query->what);

	if (!comm)
		return WEFT_WIRE_MET;
	if (comm->child.session)
		*owner_out = comm->child.session->number;
	if (query->is_flushed)
		on_querier_closed(comm, querier, (int)query->round);
	return weft_disconnect_has_begun(comm) ? WEFT_WIRE_MET
					       : WEFT_WIRE_UNMET;
}

/* Answers whether this process has joined a collective call on a communicator.
 * If this process closes the communicator, and the barrier of the close uses
 * the number of the queried round, this process never joins the call. */
static enum weft_wire_met answer_join(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t querier,
	uint32_t *owner_out)
{
	const struct weft_comm *comm = weft_vci_core_comm(vci, query->what);

	if (!comm)
		return WEFT_WIRE_MET;
	if (comm->child.session)
		*owner_out = comm->child.session->number;
	if (weft_disconnect_has_begun(comm))
		return query->need == WEFT_WIRE_NEED_ROUND &&
				       weft_disconnect_replaces_round(
					       comm, query->round)
			       ? WEFT_WIRE_NEVER
			       : WEFT_WIRE_MET;
	return has_joined(comm, query, querier) ? WEFT_WIRE_MET
						: WEFT_WIRE_UNMET;
}

/* Answers whether this process has called an agreement. */
static enum weft_wire_met answer_agree(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t querier,
	uint32_t *owner_out)
{
	const struct weft_comm *comm = weft_vci_core_comm(vci, query->what);

	(void)querier;
	if (!comm)
		return WEFT_WIRE_MET;
	if (comm->child.session)
		*owner_out = comm->child.session->number;
	return weft_era_comm_begun(comm) >= query->round ? WEFT_WIRE_MET
							 : WEFT_WIRE_UNMET;
}

/* Answers whether this process has sent the context id of a creation, or has
 * started the exchange of VCIs. A message that progress may still send counts
 * as sent. */
static enum weft_wire_met answer_create(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t querier,
	uint32_t *owner_out)
{
	(void)owner_out;
	if (vci->number || weft_create_has_started())
		return WEFT_WIRE_MET;
	if (query->need == WEFT_WIRE_NEED_ENDPOINTS)
		return weft_create_has_arrived(query->what) ? WEFT_WIRE_UNMET
							    : WEFT_WIRE_MET;
	return blocked_count_of(&creations.out, querier) == query->what
		       ? WEFT_WIRE_UNMET
		       : WEFT_WIRE_MET;
}

/* ---- silent members ---- */

/* True for a peer on the fabric to which this process has sent, but from which
 * no message has arrived. A peer in shared memory is never silent. */
static bool is_silent(const struct weft_vci *vci, uint64_t addr)
{
	const struct weft_peer *peer = weft_map_get(&vci->peers, addr + 1);

	return peer && peer->state == WEFT_PEER_READY && !peer->is_shm &&
	       peer->wire_out && !peer->wire_in;
}

static void end_silent_wait(struct weft_blocked *b)
{
	struct weft_wait *w = &b->wait;

	weft_wait_refresh(w);
	for (uint32_t i = 0; w->view && i < w->view->n_procs; i++) {
		const struct weft_wait_proc *o = &w->view->procs[i];

		if (w->view->needs[o->need].kind != WEFT_WIRE_NEED_LEAVE ||
			!is_silent(w->vci, o->addr))
			continue;
		w->err = WEFT_ERR_PEER;
		snprintf(w->why, sizeof(w->why),
			"process %u has not ended, but no message from it "
			"ever arrived; the wait ended after %d s "
			"(WEFT_REACH_LIMIT)",
			(uint32_t)o->proc, (int)weft_knobs.reach_limit);
		weft_log_warn("SESSION-SILENT", "%s", w->why);
		return;
	}
}

/* ---- the wait ---- */

void weft_blocked_open(struct weft_vci *vci)
{
	(void)vci;
	weft_query_set(WEFT_WIRE_NEED_LEAVE, answer_leave);
	weft_query_set(WEFT_WIRE_NEED_CREATE, answer_create);
	weft_query_set(WEFT_WIRE_NEED_ENDPOINTS, answer_create);
	weft_query_set(WEFT_WIRE_NEED_ROUND, answer_join);
	weft_query_set(WEFT_WIRE_NEED_SIDE, answer_join);
	weft_query_set(WEFT_WIRE_NEED_INTERCOMM, answer_join);
	weft_query_set(WEFT_WIRE_NEED_AGREE, answer_agree);
}

void weft_blocked_begin(struct weft_blocked *b)
{
	b->ops = (struct weft_wait_ops){
		.id = b->id			       ? b->id
		      : b->kind == WEFT_BLOCKED_CREATE ? "SESSION-CREATE"
						       : "SESSION-WAIT",
		.noun = "communicators",
		.name = blocked_name,
		.describe = blocked_describe,
		.needs = blocked_needs,
		.explain = blocked_explain,
	};
	b->wait.ops = &b->ops;
	b->wait.vci = b->vci ? b->vci : &weft_proc.vci;
	b->wait.call = b->call;
	b->wait.fault = b->kind == WEFT_BLOCKED_CREATE ? WEFT_ERR_NOT_SAME
						       : WEFT_ERR_OTHER;
	weft_wait_begin(&b->wait);
}

void weft_blocked_end(struct weft_blocked *b)
{
	weft_wait_end(&b->wait);
}

static bool is_past_reach_limit(const struct weft_blocked *b, uint64_t now)
{
	uint64_t limit = (uint64_t)weft_knobs.reach_limit * WEFT_NS_PER_S;

	return now - b->wait.begun_ns >= limit &&
	       now - b->checked_ns > WEFT_NS_PER_S / 4;
}

int weft_blocked_round(struct weft_blocked *b)
{
	int err = weft_wait_round(&b->wait);
	uint64_t now;

	if (err || !weft_knobs.reach_limit || b->wait.n_rounds % 64)
		return err;
	now = weft_now_ns();
	if (is_past_reach_limit(b, now)) {
		b->checked_ns = now;
		end_silent_wait(b);
	}
	return b->wait.err;
}

int weft_blocked_raise(const struct weft_blocked *b)
{
	return weft_wait_raise(&b->wait);
}
