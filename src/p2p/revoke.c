/* SPDX-License-Identifier: BSD-3-Clause */
/* revoke: ends communication on a communicator, at all of its members
 *
 * One member starts. Each member that receives REVOKE for the first time
 * forwards it to its neighbours in a graph in which member i is beside i + 2^k
 * and i - 2^k, for all k. If a neighbour has failed, now or later, the member
 * sends REVOKE to all others instead. So a member that lives receives it if any
 * member that lives has received it, whichever members have failed, and without
 * failures a member sends 2 log2(n) messages.
 *
 * A member sends REVOKE before each message that reports the revocation: an
 * error of a collective, a refusal, its departure. So a call that ends with
 * WEFT_ERR_REVOKED ends after its process has received REVOKE.
 *
 * A revoked communicator keeps no cache of its peers. The send path finds none,
 * and its slow path refuses the send. A receive or a probe that has to wait is
 * refused because the VCI's n_failed is not 0. */
#include "p2p/p2p_priv.h"

/* ---- broadcast ---- */

/* The members of both groups in one order, which is the same at all of them. */
struct places {
	uint32_t n;
	uint32_t n_low; /* of the group that comes first */
	uint32_t me;
	bool is_low; /* the local group comes first */
};

static struct places revoke_places(const struct weft_comm *comm)
{
	struct places p = { .n = (uint32_t)comm->size,
		.n_low = (uint32_t)comm->size,
		.me = (uint32_t)comm->rank,
		.is_low = true };

	if (!comm->is_inter)
		return p;
	p.n += (uint32_t)comm->remote_size;
	p.is_low = weft_group_proc(comm->group, 0) <
		   weft_group_proc(comm->remote, 0);
	if (p.is_low)
		return p;
	p.n_low = (uint32_t)comm->remote_size;
	p.me += p.n_low;
	return p;
}

/* The peer at a place, or NULL if it is this process or without memory. */
static struct weft_peer *revoke_peer_at(
	struct weft_comm *comm, const struct places *p, uint32_t place)
{
	bool is_local = (place < p->n_low) == p->is_low;
	uint32_t rank = place < p->n_low ? place : place - p->n_low;

	if (place == p->me)
		return NULL;
	if (is_local && comm->is_inter)
		comm = comm->local;
	return weft_comm_peer(comm, rank);
}

static void send_revoke(const struct weft_comm *comm, struct weft_peer *peer)
{
	struct weft_wire_head head = {
		.op = WEFT_WIRE_REVOKE,
		.src = (uint32_t)comm->rank,
		.ctx = comm->ctx + WEFT_CTX_OFFSET_CTL,
	};

	if (peer && peer->state != WEFT_PEER_FAILED)
		(void)weft_peer_control(peer, &head, NULL, 0);
}

void weft_revoke_repeat(const struct weft_comm *comm, struct weft_peer *peer)
{
	if (weft_comm_is_revoked(comm))
		send_revoke(comm, peer);
}

static void revoke_send_all(struct weft_comm *comm)
{
	struct places p = revoke_places(comm);

	for (uint32_t place = 0; place < p.n; place++)
		send_revoke(comm, revoke_peer_at(comm, &p, place));
}

static void revoke_forward(struct weft_comm *comm)
{
	struct places p = revoke_places(comm);

	if (comm->failed) {
		revoke_send_all(comm);
		return;
	}
	for (uint64_t d = 1; d < p.n; d <<= 1) {
		uint32_t up = (uint32_t)((p.me + d) % p.n);
		uint32_t down = (uint32_t)((p.me + p.n - d) % p.n);

		send_revoke(comm, revoke_peer_at(comm, &p, up));
		if (down != up)
			send_revoke(comm, revoke_peer_at(comm, &p, down));
	}
}

static bool is_neighbour(const struct weft_comm *comm, uint64_t proc)
{
	struct places p = revoke_places(comm);
	int32_t rank = weft_group_rank_of(comm->group, proc);
	bool is_local = rank >= 0;
	uint32_t place, up, down;

	if (!is_local)
		rank = weft_group_rank_of(comm->remote, proc);
	if (rank < 0)
		return false;
	place = (uint32_t)rank + (is_local == p.is_low ? 0 : p.n_low);
	up = (place + p.n - p.me) % p.n;
	down = p.n - up;
	return !(up & (up - 1)) || !(down & (down - 1));
}

void weft_revoke_on_failed(struct weft_comm *comm, uint64_t proc)
{
	if (weft_comm_is_revoked(comm) && is_neighbour(comm, proc))
		revoke_send_all(comm);
}

/* ---- the end of operations ---- */

int weft_comm_revoked(const struct weft_comm *comm)
{
	const struct weft_comm *whole =
		weft_comm_whole((struct weft_comm *)(uintptr_t)comm);

	return weft_err_set(WEFT_ERR_REVOKED, "communicator \"%s\" is revoked",
		weft_comm_label(whole ? whole : comm));
}

void weft_revoke_refuse(
	const struct weft_comm *comm, struct weft_peer *peer, uint64_t sreq)
{
	weft_revoke_repeat(comm, peer);
	weft_control_fin(peer, sreq, WEFT_WIRE_REVOKED);
}

/* Drops the messages that no receive has matched. */
static void drop_unexpected(struct weft_comm *comm)
{
	while (!weft_list_is_empty(&comm->match.arrived)) {
		struct weft_message *m = weft_container_of(
			comm->match.arrived.next, struct weft_message, arrived);
		struct weft_peer *peer = m->peer;
		bool is_announced = m->is_rts && !m->is_failed;
		uint64_t sreq = m->sreq;

		weft_match_take(&comm->match, m);
		if (!m->is_rts)
			weft_p2p_return_credit(peer, m->len);
		weft_message_free(m);
		if (is_announced)
			weft_revoke_refuse(comm, peer, sreq);
	}
}

/* Ends a request, unless its message has matched. A send whose receiver has the
 * announcement ends when the receiver has answered, because until then the
 * receiver may read the data. */
static void revoke_end(struct weft_req *req)
{
	if (weft_req_is_queued(req)) {
		weft_list_remove(&req->out.link);
		weft_send_finish(req, weft_comm_revoked(req->comm));
	} else if (weft_req_is_posted(req) || req->kind == WEFT_REQ_SEND) {
		weft_cancel_unreceivable(req, weft_comm_revoked(req->comm));
	}
}

static void revoke_end_all(struct weft_comm *comm)
{
	struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_req_next(comm->vci, &pos)) != NULL)
		if (req->refs && !req->is_done && req->comm == comm)
			revoke_end(req);
}

/* Marks the communicator and ends its operations. False if it was revoked. */
static bool revoke_here(struct weft_comm *comm)
{
	if (weft_comm_is_revoked(comm))
		return false;
	atomic_store_explicit(&comm->is_revoked, true, memory_order_relaxed);
	comm->vci->n_failed++;
	weft_comm_forget_peers(comm);
	drop_unexpected(comm);
	revoke_end_all(comm);
	return true;
}

/* The second half: of a communicator that this process was creating when REVOKE
 * arrived, the local communicator and the members' VCIs are known now. */
static void revoke_finish(struct weft_comm *comm)
{
	if (comm->local)
		(void)revoke_here(comm->local);
	revoke_forward(comm);
}

void weft_revoke(struct weft_comm *comm)
{
	for (uint32_t i = 0; i == 0 || i < comm->n_spread; i++) {
		struct weft_comm *on = i ? comm->spread[i] : comm;

		weft_vci_lock(on->vci);
		weft_comm_get(on); /* ending a request may drop the last one */
		if (revoke_here(on))
			revoke_finish(on);
		weft_comm_put(on);
		weft_vci_unlock(on->vci);
	}
}

/* REVOKE has arrived and is not forwarded yet. Destroyed by its hook. */
struct revoke_arrived {
	struct weft_progress_hook hook;
	struct weft_comm *comm; /* referenced */
};

static void revoke_run(struct weft_progress_hook *hook)
{
	struct revoke_arrived *a =
		weft_container_of(hook, struct revoke_arrived, hook);

	revoke_finish(a->comm);
	weft_comm_put(a->comm);
	free(a);
}

void weft_revoke_arrive_locked(struct weft_comm *comm)
{
	struct revoke_arrived *a = malloc(sizeof(*a));

	weft_comm_get(comm);
	if (!a) {
		weft_dispatch_drop(comm->vci, "out of memory");
	} else if (revoke_here(comm)) {
		a->hook.run = revoke_run;
		a->comm = weft_comm_get(comm);
		weft_vci_defer(comm->vci, &a->hook);
	} else {
		free(a);
	}
	weft_comm_put(comm);
}

void weft_revoke_on_revoke(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	uint64_t ctx = head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
	struct weft_comm *comm = ctx ? weft_vci_core_comm(vci, ctx) : NULL;

	if (!ctx || len)
		weft_dispatch_drop(vci, "malformed revocation");
	else if (!comm)
		weft_dispatch_queue(vci, peer, head, payload, len);
	else if (weft_group_rank_of(comm->group, peer->proc) < 0 &&
		 weft_group_rank_of(comm->remote, peer->proc) < 0)
		weft_dispatch_drop(
			vci, "revocation by a process that is no member");
	else
		weft_revoke_arrive_locked(comm);
}
