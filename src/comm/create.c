/* SPDX-License-Identifier: BSD-3-Clause */
/* create: communicators from groups, without a parent communicator
 *
 * Rank 0 of the group chooses a context id and sends it down a binomial tree. A
 * hash of the member list and the string tag identifies the creation. Each
 * process waits only for its parent in the tree. A message that arrives before
 * this process calls the creation is queued. Messages of one sender stay in
 * order, so creations with the same list and tag match in order.
 *
 * A process that knows of a failed member, or has no memory, refuses the
 * creation. It sends a refusal to its children, which refuse the creation, too.
 * Other members may have created the communicator. So a process that refuses
 * notifies all members: it sends DEPARTED because of a failed member, and
 * otherwise revokes the communicator. It does this when it knows the context
 * id. */
#include "comm/create.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "core/errh.h"
#include "core/info.h"
#include "transport/dispatch.h"
#include "transport/foreign.h"
#include "transport/proc.h"
#include "p2p/p2p.h"
#include "comm/comm_init.h"
#include "comm/blocked.h"
#include "comm/disconnect.h"
#include "core/failed.h"
#include "core/hint.h"
#include "comm/ep_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_MAX = 1100 }; /* MPI_MAX_STRINGTAG_LEN and a prefix of the library */

/* A message of a creation that this process has not called yet. */
struct arrival {
	struct weft_link link;
	struct weft_wire_create wire;
	uint64_t from; /* the process that sent it */
	char tag[];
};

/* A creation that this process refused before the message with the context id
 * arrived. */
struct refused {
	struct weft_link link;
	uint64_t key[2];
	uint64_t failed; /* number of a failed member + 1, or 0 */
	struct weft_group *group;
};

/* The number of non-blocking creations in progress. The default VCI's lock
 * guards it. */
static uint32_t n_started;

bool weft_create_has_started(void)
{
	return n_started > 0;
}

/* Queued messages of creations, in order of arrival. The default VCI's lock
 * guards them. */
static struct weft_link arrivals = { &arrivals, &arrivals };

/* Refused creations, in order of their calls. The default VCI's lock guards
 * them. */
static struct weft_link refusals = { &refusals, &refusals };

static uint64_t without_flags(uint64_t ctx)
{
	return ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
}

bool weft_create_has_arrived(uint64_t exchange_ctx)
{
	weft_list_for_each(link, next, &arrivals)
	{
		const struct arrival *a =
			weft_container_of(link, struct arrival, link);

		if (without_flags(a->wire.ctx) + WEFT_CTX_OFFSET_END ==
			exchange_ctx)
			return true;
	}
	return false;
}

/* Notifies the other members of a refused creation, because they may have
 * created the communicator: that this process has departed because of the
 * failed member (failed - 1), or that the communicator is revoked. */
static void leave_ctx(struct weft_vci *vci, uint64_t ctx,
	struct weft_group *group, uint64_t failed)
{
	struct weft_comm *comm;

	if (weft_comm_create(vci, ctx, group, NULL, &comm))
		return;
	if (failed && weft_comm_record_failed(comm, failed - 1))
		weft_p2p_send_departed_locked(comm);
	else
		weft_revoke_locked(comm);
	weft_comm_close(comm);
	weft_p2p_purge_locked(comm);
	weft_comm_put(comm);
}

/* Called when the message of a refused creation arrives. */
static void end_refused(struct weft_vci *vci, struct refused *r, uint64_t ctx)
{
	weft_list_remove(&r->link);
	if (ctx & WEFT_WIRE_HAS_VCIS)
		weft_ep_exchange_refuse(r->group,
			without_flags(ctx) + WEFT_CTX_OFFSET_END,
			r->failed ? WEFT_ERR_PEER : WEFT_ERR_NOMEM);
	else if (without_flags(ctx))
		leave_ctx(vci, without_flags(ctx), r->group, r->failed);
	weft_group_put(r->group);
	free(r);
}

static struct refused *find_refused(const struct weft_wire_create *wire)
{
	weft_list_for_each(link, next, &refusals)
	{
		struct refused *r =
			weft_container_of(link, struct refused, link);

		if (!memcmp(r->key, wire->key, sizeof(r->key)) &&
			r->group->size == wire->size)
			return r;
	}
	return NULL;
}

static bool is_ctx_valid(uint64_t ctx)
{
	uint64_t flags = ctx % WEFT_CTX_OFFSET_END;

	return flags == WEFT_WIRE_NO_COMM ||
	       (flags <= WEFT_WIRE_HAS_VCIS && ctx >= WEFT_CTX_OFFSET_END);
}

static void on_create(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_create wire;
	struct arrival *arrival;
	struct refused *r;

	(void)head;
	if (!weft_wire_get_create(&wire, payload, len) ||
		wire.len != len - sizeof(wire)) {
		weft_dispatch_drop(vci, "creation message of a wrong length");
		return;
	}
	if (!is_ctx_valid(wire.ctx)) {
		weft_dispatch_drop(
			vci, "creation message with an invalid context id");
		return;
	}
	weft_blocked_count_in(peer->proc);
	r = find_refused(&wire);
	if (r) {
		end_refused(vci, r, wire.ctx);
		return;
	}
	arrival = malloc(sizeof(*arrival) + wire.len + 1);
	if (!arrival) {
		weft_dispatch_drop(vci, "out of memory");
		return;
	}
	arrival->wire = wire;
	arrival->from = peer->proc;
	memcpy(arrival->tag, (const char *)payload + sizeof(wire), wire.len);
	arrival->tag[wire.len] = 0;
	weft_list_push_back(&arrivals, &arrival->link);
}

void weft_create_open(struct weft_vci *vci)
{
	weft_dispatch_set(vci, WEFT_WIRE_CREATE, on_create);
}

/* The VCI number of a process in the parent communicator. */
static uint8_t vci_in_parent(const struct weft_comm *parent, uint64_t proc)
{
	int32_t rank = weft_group_rank_of(parent->remote, proc);

	if (rank >= 0)
		return parent->vcis[rank];
	rank = parent->local ? weft_group_rank_of(parent->group, proc) : rank;
	return rank >= 0 && parent->local->vcis ? parent->local->vcis[rank] : 0;
}

/* Records the members' VCI numbers: the exchanged numbers (vcis), or, if vcis
 * is NULL, the numbers in the parent communicator. */
static int record_vcis(struct weft_comm *comm, const uint8_t *vcis,
	const struct weft_comm *parent)
{
	if (!vcis && (!parent || !parent->vcis))
		return 0;
	comm->vcis = malloc((size_t)comm->remote_size);
	if (!comm->vcis)
		return WEFT_ERR_NOMEM;
	for (uint32_t i = 0; i < (uint32_t)comm->remote_size; i++)
		comm->vcis[i] =
			vcis ? vcis[i]
			     : vci_in_parent(parent,
				       weft_group_proc(comm->remote, i));
	return 0;
}

void weft_create_drop(void)
{
	struct weft_link *link;

	while ((link = weft_list_pop_front(&arrivals)) != NULL)
		free(weft_container_of(link, struct arrival, link));
	while ((link = weft_list_pop_front(&refusals)) != NULL) {
		struct refused *r =
			weft_container_of(link, struct refused, link);

		weft_group_put(r->group);
		free(r);
	}
}

/* Returns the error of a creation with a failed member. Other members may not
 * know of the failure yet and may have created the communicator. So this
 * process sends DEPARTED to them. */
static int refuse_failed(struct weft_comm *comm)
{
	/* records the failure in the local communicator, too */
	weft_comm_record_failed(comm, comm->failed - 1);
	weft_p2p_send_departed_locked(comm);
	return weft_comm_failed(comm);
}

/* Creates the communicator, and the local communicator of an intercommunicator.
 */
static int init_data(const struct weft_comm_init *b, struct weft_vci *vci,
	struct weft_comm **comm_out)
{
	struct weft_comm *comm;
	int err = weft_comm_create(vci, b->ctx, b->group, b->remote, &comm);

	if (err)
		return err;
	snprintf(comm->tag, sizeof(comm->tag), "%s", b->tag ? b->tag : "");
	err = record_vcis(comm, b->vcis, b->parent);
	if (!err && b->remote)
		err = weft_comm_create(
			vci, b->local_ctx, b->group, NULL, &comm->local);
	if (!err && b->remote)
		err = record_vcis(comm->local, b->local_vcis, b->parent);
	if (err) {
		weft_p2p_purge_locked(comm);
		weft_comm_put(comm);
		return err;
	}
	*comm_out = comm;
	return 0;
}

/* Called when the creation fails at this process. Other members may have the
 * communicator, and would wait for this process. So the communicator is
 * revoked. With WEFT_ERR_PEER, the other members have received DEPARTED
 * instead. */
static void init_undo(struct weft_comm *comm, int err)
{
	if (err != WEFT_ERR_PEER)
		weft_revoke_locked(comm);
	weft_info_destroy(comm->info);
	comm->info = NULL;
	weft_comm_close(comm);
	weft_p2p_purge_locked(comm);
	weft_comm_put(comm);
}

int weft_comm_init(const struct weft_comm_init *b, struct weft_comm **comm_out)
{
	struct weft_vci *vci = b->vci ? b->vci : &weft_proc.vci;
	struct weft_comm *comm;
	int err;

	if (!b->session)
		return weft_err_set(WEFT_ERR_SESSION,
			"the session was finalized while the "
			"communicator was created");
	err = b->err ? b->err : init_data(b, vci, &comm);
	if (err) {
		if (!init_data(b, vci, &comm)) /* only to revoke it */
			init_undo(comm, err);
		return err;
	}
	if (comm->failed && !b->is_fixed)
		err = refuse_failed(comm);
	if (!err && b->info)
		err = weft_hint_comm(b->info, &comm->info);
	if (!err)
		err = weft_session_add_child(
			b->session, &comm->child, &weft_disconnect_ops);
	if (err) {
		init_undo(comm, err);
		return err;
	}
	weft_comm_mark(comm);
	if (!comm->group->session && !b->session->is_world) {
		/* No other thread uses the group yet, or the group was derived
		 * from the World */
		comm->group->session = b->session;
		comm->group->session_handle = weft_obj_handle(b->session);
	}
	if (b->remote && !b->remote->session && !b->session->is_world) {
		b->remote->session = b->session;
		b->remote->session_handle = weft_obj_handle(b->session);
	}
	weft_errh_set(&comm->errh, b->errh);
	*comm_out = comm;
	return 0;
}

int weft_create_fixed_locked(struct weft_session *session, uint64_t ctx,
	struct weft_group *group, const char *name, struct weft_comm **comm_out)
{
	struct weft_comm_init b = {
		.session = session,
		.ctx = ctx,
		.is_fixed = true,
		.group = group,
	};
	int err = weft_comm_init(&b, comm_out);

	if (!err)
		snprintf((*comm_out)->name, sizeof((*comm_out)->name), "%s",
			name);
	return err;
}

/* A creation in progress. */
struct creation {
	struct weft_blocked_create
		blocked_create; /* group, tag, and the parent in the tree */
	struct weft_group *group;
	const char *tag;
	bool has_vcis;	  /* a round exchanges the members' VCIs */
	bool has_arrived; /* the message of the parent has arrived */
	struct weft_wire_create wire;
};

static uint64_t tag_hash(const char *tag, size_t len)
{
	static const uint8_t key[16] = "weft create tag";

	return weft_hash(key, tag, len);
}

static void creation_init(
	struct creation *c, struct weft_group *group, const char *tag)
{
	uint32_t rank = (uint32_t)group->my_rank;
	uint64_t digest[2];
	size_t len = strlen(tag);
	uint64_t hash = tag_hash(tag, len);

	weft_group_digest(group, digest);
	*c = (struct creation){
		.blocked_create = {
			.group = group,
			.tag = tag,
			.parent = weft_group_proc(group, rank & (rank - 1)),
		},
		.group = group,
		.tag = tag,
		.wire = {
			.key = {digest[0], digest[1] ^ hash},
			.size = group->size,
			.len = (uint32_t)len,
		},
	};
}

static bool is_arrival_for(const struct arrival *a, const struct creation *c)
{
	return !memcmp(a->wire.key, c->wire.key, sizeof(c->wire.key)) &&
	       a->wire.size == c->wire.size && !strcmp(a->tag, c->tag);
}

static struct arrival *find_arrival(const struct creation *c)
{
	weft_list_for_each(link, next, &arrivals)
	{
		struct arrival *a =
			weft_container_of(link, struct arrival, link);

		if (is_arrival_for(a, c))
			return a;
	}
	return NULL;
}

static const struct creation *creation_of(const struct weft_blocked *blocked)
{
	return weft_container_of(
		blocked->create, struct creation, blocked_create);
}

static bool create_is_waiting(const struct weft_blocked *blocked)
{
	const struct creation *c = creation_of(blocked);

	return !find_arrival(c) && !weft_failed_in(c->group);
}

/* True if the message is for the same members, by the hash of their list. */
static bool has_same_members(const struct arrival *a, const struct creation *c)
{
	return a->wire.size == c->wire.size &&
	       a->wire.key[0] == c->wire.key[0] &&
	       (a->wire.key[1] ^ tag_hash(a->tag, a->wire.len)) ==
		       (c->wire.key[1] ^ tag_hash(c->tag, c->wire.len));
}

/* Explains a mismatch: a message for the same members with another string tag.
 */
static void create_explain(
	const struct weft_blocked *blocked, char *buf, size_t len)
{
	const struct creation *c = creation_of(blocked);

	weft_list_for_each(link, next, &arrivals)
	{
		struct arrival *a =
			weft_container_of(link, struct arrival, link);

		if (!has_same_members(a, c))
			continue;
		snprintf(buf, len,
			"string tags differ: \"%.60s\" here, \"%.60s\" in "
			"process %u, for a communicator of the same %u "
			"processes",
			c->tag, a->tag, (unsigned)a->from, c->group->size);
		return;
	}
}

/* True if the peer of the parent process has failed. */
static bool is_parent_unreachable(
	struct weft_vci *vci, const struct creation *c)
{
	const struct weft_peer *peer =
		vci->n_failed ? weft_map_get(&vci->peers,
					c->blocked_create.parent + 1)
			      : NULL;

	return peer && peer->state == WEFT_PEER_FAILED;
}

/* Resolves the address of a parent on another node. This also sends the card of
 * this process to the parent, so that the parent need not fetch the card from
 * the process manager. */
static void connect_parent(struct weft_vci *vci, const struct creation *c)
{
	struct weft_peer *parent;

	if (weft_proc_is_local(c->blocked_create.parent))
		return;
	parent = weft_peer_of(vci, c->blocked_create.parent);
	if (parent)
		weft_peer_resolve(parent);
}

/* Sends the context id, or a refusal, to the children in the tree. If a message
 * cannot be sent, the child would wait forever, so the child counts as failed.
 * A child that this process has not met refuses by itself. */
static void send_children(struct weft_vci *vci, const struct creation *c)
{
	uint32_t rank = (uint32_t)c->group->my_rank;
	struct {
		struct weft_wire_create wire;
		char tag[TAG_MAX];
	} msg;

	msg.wire = c->wire;
	msg.wire.ctx |= c->has_vcis ? WEFT_WIRE_HAS_VCIS : 0;
	memcpy(msg.tag, c->tag, c->wire.len);
	for (uint64_t bit = 1; rank + bit < c->group->size; bit <<= 1) {
		struct weft_peer *peer;
		uint64_t proc;
		int err;

		if (rank & bit)
			break;
		proc = weft_group_proc(c->group, (uint32_t)(rank + bit));
		if (!weft_foreign_is_met(proc))
			continue;
		weft_blocked_count_out(proc);
		err = weft_p2p_control_locked(vci, proc, WEFT_WIRE_CREATE, &msg,
			sizeof(msg.wire) + c->wire.len);
		peer = err ? weft_peer_of(vci, proc) : NULL;
		if (peer)
			weft_peer_fail(peer, err);
	}
}

/* Records the refused creation until the message of the parent arrives. If
 * there is no memory for the record, the parent counts as failed. */
static void keep_refused(struct weft_vci *vci, const struct creation *c)
{
	struct refused *r = malloc(sizeof(*r));
	struct weft_peer *parent;

	if (r) {
		*r = (struct refused){
			.key = { c->wire.key[0], c->wire.key[1] },
			.failed = c->wire.failed,
			.group = weft_group_get(c->group),
		};
		weft_list_push_back(&refusals, &r->link);
		return;
	}
	parent = weft_peer_of(vci, c->blocked_create.parent);
	if (parent)
		weft_peer_fail(parent, WEFT_ERR_NOMEM);
}

/* Refuses the creation. failed: number of a failed process + 1, or 0. Notifies
 * the children, and the members that may have the communicator. */
static void create_refuse(
	struct weft_vci *vci, struct creation *c, uint64_t failed)
{
	uint64_t ctx = c->wire.ctx;

	c->has_vcis = false;
	c->wire.ctx |= WEFT_WIRE_NO_COMM;
	c->wire.failed = failed;
	send_children(vci, c);
	if (ctx)
		leave_ctx(vci, ctx, c->group, failed);
	else if (c->group->my_rank && !c->has_arrived &&
		 weft_foreign_is_met(c->blocked_create.parent))
		keep_refused(vci, c);
}

/* Refuses the creation because of a failed member. Returns the error. */
static int refuse_failed_member(
	struct weft_vci *vci, struct creation *c, uint64_t proc)
{
	create_refuse(vci, c, proc + 1);
	return weft_err_set(WEFT_ERR_PEER,
		"rank %d of communicator \"%s\" failed before the communicator "
		"was created: process %u has died or cannot be reached",
		(int)weft_group_rank_of(c->group, proc), c->tag,
		(uint32_t)proc);
}

/* Refuses the creation because the parent has refused it. Returns the error. */
static int refuse_as_parent(struct weft_vci *vci, struct creation *c)
{
	uint64_t proc = c->wire.failed - 1;

	if (!c->wire.failed || weft_group_rank_of(c->group, proc) < 0) {
		create_refuse(vci, c, 0);
		return weft_err_set(WEFT_ERR_OTHER,
			"communicator \"%s\" cannot be created: a member has "
			"no memory, or is not connected to all members",
			c->tag);
	}
	if (proc != weft_proc.proc) {
		weft_failed_add(proc);
		return refuse_failed_member(vci, c, proc);
	}
	create_refuse(vci, c, proc + 1);
	return weft_err_set(WEFT_ERR_PEER,
		"communicator \"%s\" cannot be created: another member treats "
		"this process as failed",
		c->tag);
}

static int refuse_group(struct weft_vci *vci, struct creation *c)
{
	int32_t rank = weft_failed_first(c->group);

	return refuse_failed_member(
		vci, c, weft_group_proc(c->group, (uint32_t)rank));
}

/* Removes the message of the parent from the queue. */
static void take_arrival(struct creation *c, struct arrival *a)
{
	c->has_arrived = true;
	c->has_vcis = a->wire.ctx & WEFT_WIRE_HAS_VCIS;
	c->wire.ctx = without_flags(a->wire.ctx);
	c->wire.failed = a->wire.failed;
	weft_list_remove(&a->link);
	free(a);
}

/* Refuses the creation if this process has not met a member: no communicator
 * has connected it to that process of another job. Returns 0 or the error. */
static int check_met(struct weft_vci *vci, struct creation *c)
{
	const struct weft_group *group = c->group;
	struct arrival *a;
	uint32_t rank = 0;

	if (weft_group_is_one_job(group))
		return 0;
	while (rank < group->size &&
		weft_foreign_is_met(weft_group_proc(group, rank)))
		rank++;
	if (rank == group->size)
		return 0;
	a = find_arrival(c);
	if (a)
		take_arrival(c, a);
	create_refuse(vci, c, 0);
	return weft_err_set(WEFT_ERR_GROUP,
		"communicator \"%s\" cannot be created: rank %u, process %u of "
		"another job, is not connected to this process; "
		"MPI_Comm_spawn, MPI_Comm_connect or MPI_Intercomm_create "
		"connects all members of both sides",
		c->tag, rank, (uint32_t)weft_group_proc(group, rank));
}

/* Receives the context id from the parent. WEFT_AGAIN: the id has not arrived.
 * An error: the creation is refused. If a member has failed, but the members
 * will exchange their VCIs, returns 0, because that exchange fails at all
 * members. */
static int recv_ctx(struct weft_vci *vci, struct creation *c)
{
	struct arrival *a = find_arrival(c);
	bool is_refused = false;

	if (a) {
		is_refused = a->wire.ctx & WEFT_WIRE_NO_COMM;
		take_arrival(c, a);
	}
	if (is_refused)
		return refuse_as_parent(vci, c);
	if (weft_failed_in(c->group) && !c->has_vcis)
		return refuse_group(vci, c);
	if (!a && is_parent_unreachable(vci, c))
		return refuse_failed_member(vci, c, c->blocked_create.parent);
	return a ? 0 : WEFT_AGAIN;
}

/* Waits for the context id from the parent. */
static int wait_arrival(struct weft_vci *vci, struct creation *c)
{
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_CREATE,
		.create = &c->blocked_create,
		.is_waiting = create_is_waiting,
		.explain = create_explain,
	};
	int err;

	connect_parent(vci, c);
	weft_blocked_begin(&blocked);
	while ((err = recv_ctx(vci, c)) == WEFT_AGAIN)
		if (weft_blocked_round(&blocked)) {
			err = weft_blocked_raise(&blocked);
			break;
		}
	weft_blocked_end(&blocked);
	return err;
}

/* At rank 0: chooses the context id. */
static int choose_ctx(struct weft_vci *vci, struct creation *c, bool has_vcis)
{
	if (weft_failed_in(c->group))
		return refuse_group(vci, c);
	c->has_vcis = has_vcis;
	c->wire.ctx = weft_proc_new_ctx(has_vcis ? 2 : 1);
	return 0;
}

/* Starts the exchange of the members' VCIs. If this process knows of a failed
 * member, or has no memory, it contributes that error to the exchange and
 * returns it. */
static int start_exchange(struct weft_session *session,
	const struct creation *c, struct weft_ep_exchange **exchange_out)
{
	uint64_t ctx = c->wire.ctx + WEFT_CTX_OFFSET_END;
	int err = weft_failed_in(c->group) ? WEFT_ERR_PEER : 0;

	if (!err)
		err = weft_ep_exchange_start(
			session, c->group, ctx, c->tag, exchange_out);
	if (err)
		err = weft_ep_exchange_refuse(c->group, ctx, err);
	return err;
}

/* Exchanges VCIs with all members, and waits for the result. Default VCI's lock
 * held. */
static int exchange_vcis(struct weft_session *session, const struct creation *c,
	struct weft_vci **vci_out, uint8_t **vcis_out)
{
	struct weft_ep_exchange *m;
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_DERIVE,
		.what = "MPI_Comm_create_from_group",
		.join = { .need = WEFT_WIRE_NEED_ENDPOINTS, .is_all = true },
	};
	int err = start_exchange(session, c, &m);

	if (err)
		return err;
	blocked.comm = weft_ep_exchange_comm(m);
	weft_blocked_begin(&blocked);
	while (!m->is_done && !weft_blocked_round(&blocked))
		;
	weft_blocked_end(&blocked);
	if (!weft_blocked_err(&blocked))
		return weft_ep_exchange_end(m, vci_out, vcis_out);
	weft_ep_exchange_abandon(m);
	return weft_blocked_raise(&blocked);
}

/* Returns the VCI of a communicator with one member, in a session with a
 * dedicated VCI. */
static int single_vci(struct weft_session *session, struct weft_vci **vci_out,
	uint8_t **vcis_out)
{
	uint8_t *vcis = malloc(1);

	if (!vcis)
		return WEFT_ERR_NOMEM;
	vcis[0] = session->vci->number;
	*vci_out = session->vci;
	*vcis_out = vcis;
	return 0;
}

int weft_create_in_session(struct weft_session *session,
	struct weft_group *group, const char *tag, const struct weft_info *info,
	struct weft_errh *errh, struct weft_comm **comm_out)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_vci *comm_vci = vci;
	uint8_t *vcis = NULL;
	struct creation c;
	int err = 0;

	if (group->my_rank < 0)
		return weft_err_set(WEFT_ERR_GROUP,
			"this process is not a member of the group");
	creation_init(&c, group, tag);
	weft_vci_lock(vci);
	weft_disconnect_progress(vci);
	err = check_met(vci, &c);
	if (!err && group->my_rank == 0)
		err = choose_ctx(vci, &c,
			session->vci != vci && group->size > 1 &&
				weft_group_is_one_job(group));
	else if (!err)
		err = wait_arrival(vci, &c);
	if (!err)
		send_children(vci, &c);
	if (!err && c.has_vcis)
		err = exchange_vcis(session, &c, &comm_vci, &vcis);
	else if (!err && session->vci != vci && group->size == 1)
		err = single_vci(session, &comm_vci, &vcis);
	weft_vci_unlock(vci);
	if (!err || vcis) {
		struct weft_comm_init b = {
			.err = err,
			.session = session,
			.vci = comm_vci,
			.vcis = vcis,
			.ctx = c.wire.ctx,
			.group = group,
			.errh = errh,
			.info = info,
			.tag = tag,
		};

		weft_vci_lock(comm_vci);
		err = weft_comm_init(&b, comm_out);
		weft_vci_unlock(comm_vci);
	}
	free(vcis);
	return err;
}

int weft_create_from_group(struct weft_group *group, const char *tag,
	const struct weft_info *info, struct weft_errh *errh,
	struct weft_comm **comm_out)
{
	struct weft_session *session;
	int err;

	if (!group->size) {
		*comm_out = NULL;
		return 0;
	}
	err = weft_session_of_group(group, &session);
	if (err)
		return err;
	return weft_create_in_session(
		session, group, tag, info, errh, comm_out);
}

int weft_create_group(struct weft_comm *comm, struct weft_group *group, int tag,
	struct weft_comm **comm_out)
{
	char text[64];

	if (!group->size || group->my_rank < 0) {
		*comm_out = NULL;
		return 0;
	}
	/* the control character distinguishes this tag from tags of
	 * applications */
	snprintf(text, sizeof(text), "\1group of %llx tag %d",
		(unsigned long long)comm->ctx, tag);
	return weft_create_in_session(
		comm->child.session, group, text, NULL, comm->errh, comm_out);
}

/* ---- started creations ---- */

/* A non-blocking creation, which is a child of its session. Freed when the
 * creation is complete. */
struct started {
	struct weft_progress_hook hook;
	struct weft_child child;
	struct creation c;
	bool was_checked; /* all members are met */
	struct weft_errh *errh;
	struct weft_info *info;
	struct weft_ep_exchange *exchange; /* the exchange of VCIs; NULL: it is
					      not needed or not started */
	weft_create_done_fn *made;
	void *arg;
	char tag[];
};

static void started_end(struct started *s, struct weft_comm *comm, int err)
{
	weft_list_remove(&s->hook.link);
	n_started--;
	weft_session_remove_child(&s->child);
	if (s->exchange)
		weft_ep_exchange_abandon(s->exchange);
	s->made(s->arg, comm, err);
	weft_group_put(s->c.group);
	weft_errh_set(&s->errh, NULL);
	weft_info_destroy(s->info);
	free(s);
}

/* Chooses or receives the context id and sends it to the children. WEFT_AGAIN:
 * the id has not arrived yet. */
static int started_ctx(struct started *s)
{
	struct weft_vci *vci = &weft_proc.vci;
	int err = s->was_checked ? 0 : check_met(vci, &s->c);

	s->was_checked = true;
	if (!err)
		err = s->c.group->my_rank ? recv_ctx(vci, &s->c)
					  : choose_ctx(vci, &s->c, false);
	if (err)
		return err;
	send_children(vci, &s->c);
	/* A started creation offers no dedicated VCI, but the other members
	 * wait for the record of this process. */
	if (s->c.has_vcis)
		err = start_exchange(NULL, &s->c, &s->exchange);
	return err;
}

/* Completes the creation when the context id is known and the exchange of VCIs,
 * if needed, is complete. */
static void started_run(struct weft_progress_hook *hook)
{
	struct started *s = weft_container_of(hook, struct started, hook);
	struct weft_comm_init b = {
		.session = s->child.session,
		.group = s->c.group,
		.errh = s->errh,
		.info = s->info,
		.tag = s->tag,
	};
	struct weft_comm *comm = NULL;
	int err = 0;

	if (!s->exchange)
		err = started_ctx(s);
	if (err == WEFT_AGAIN || (s->exchange && !s->exchange->is_done))
		return;
	b.ctx = s->c.wire.ctx;
	if (!err && s->exchange)
		err = s->exchange->agree.err;
	if (!err)
		err = weft_comm_init(&b, &comm);
	started_end(s, comm, err);
}

static int started_start_close(struct weft_child *child)
{
	(void)child;
	return 0;
}

static bool started_test_close(struct weft_child *child)
{
	(void)child;
	return true;
}

static void started_destroy(struct weft_child *child)
{
	started_end(weft_container_of(child, struct started, child), NULL,
		weft_err_set(WEFT_ERR_SESSION,
			"the session was finalized before "
			"the communicator was created"));
}

static const struct weft_child_ops started_ops = {
	.noun = "communicator creation",
	.start_close = started_start_close,
	.test_close = started_test_close,
	.destroy = started_destroy,
};

static struct started *started_new(struct weft_group *group, const char *tag,
	const struct weft_info *info, struct weft_errh *errh)
{
	size_t len = strlen(tag) + 1;
	struct started *s = calloc(1, sizeof(*s) + len);

	if (!s)
		return NULL;
	if (info && weft_info_dup(info, &s->info)) {
		free(s);
		return NULL;
	}
	memcpy(s->tag, tag, len);
	weft_list_init(&s->hook.link);
	weft_list_init(&s->child.link);
	creation_init(&s->c, weft_group_get(group), s->tag);
	weft_errh_set(&s->errh, errh);
	s->hook.run = started_run;
	return s;
}

int weft_create_start(struct weft_group *group, const char *tag,
	const struct weft_info *info, struct weft_errh *errh,
	weft_create_done_fn *made, void *arg)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_session *session;
	struct started *s;
	int err = weft_session_of_group(group, &session);

	if (err)
		return err;
	if (group->my_rank < 0)
		return weft_err_set(WEFT_ERR_GROUP,
			"this process is not a member of the group");
	s = started_new(group, tag, info, errh);
	if (!s)
		return WEFT_ERR_NOMEM;
	s->made = made;
	s->arg = arg;
	weft_vci_lock(vci);
	weft_disconnect_progress(vci);
	err = weft_session_add_child(session, &s->child, &started_ops);
	if (!err) {
		weft_list_push_back(&vci->hooks, &s->hook.link);
		n_started++;
		started_run(&s->hook);
	}
	weft_vci_unlock(vci);
	if (err) {
		weft_group_put(group);
		weft_errh_set(&s->errh, NULL);
		weft_info_destroy(s->info);
		free(s);
	}
	return err;
}
