/* SPDX-License-Identifier: BSD-3-Clause */
/* nic_send: matching on the network card: who has it, slots, and sending
 *
 * The receives are in nic_recv.c, the idea in nic_priv.h. */
#include "p2p/nic_priv.h"

#include "base/log.h"
#include "transport/proc.h"

#include <stdlib.h>

/* ---- settling ---- */

static bool nic_send_is_near(const struct weft_comm *comm, uint32_t rank)
{
	uint64_t proc = weft_group_proc(comm->remote, rank);

	return comm->vci->shm && weft_proc_is_local(proc);
}

static bool is_self(const struct weft_comm *comm, uint32_t rank)
{
	return !comm->is_inter && (int32_t)rank == comm->rank;
}

bool weft_nic_has(const struct weft_nic_match *nic, int32_t rank)
{
	const struct weft_comm *comm = nic->comm;

	if (nic->is_all || rank < 0)
		return nic->is_all;
	return nic->is_on && !is_self(comm, (uint32_t)rank) &&
	       !nic_send_is_near(comm, (uint32_t)rank);
}

static unsigned bits_for(uint32_t n)
{
	return n < 2 ? 0 : 32 - (unsigned)__builtin_clz(n - 1);
}

/* Both sides of a communicator come to the same layout. */
static bool lay_out(struct weft_nic_match *nic, uint64_t tag_mask)
{
	const struct weft_comm *comm = nic->comm;
	unsigned total = (unsigned)__builtin_popcountll(tag_mask) - 1;
	int left;

	nic->rank_bits = bits_for((uint32_t)weft_max64(
		weft_max64(comm->size, comm->remote_size), 1));
	left = (int)total - WEFT_NIC_SLOT_BITS - (int)nic->rank_bits;
	if (left < WEFT_NIC_TAG_BITS_MIN)
		return false;
	nic->tag_bits = (unsigned)weft_min64(left, 31);
	nic->tag_ub = (int)((1ull << nic->tag_bits) - 1);
	return true;
}

static bool is_all_remote(const struct weft_comm *comm)
{
	for (uint32_t i = 0; i < (uint32_t)comm->remote_size; i++)
		if (!is_self(comm, i) && nic_send_is_near(comm, i))
			return false;
	return true;
}

/* Slots are taken in turn, so that what may be late for one is not soon taken
 * for the next one's. */
static bool take_slot(struct weft_nic_match *nic)
{
	struct weft_vci *vci = nic->comm->vci;
	struct weft_nic_slots *slots = vci->p2p->nic;

	if (!slots)
		slots = vci->p2p->nic = calloc(1, sizeof(*slots));
	for (int i = 0; slots && i < WEFT_NIC_SLOTS; i++) {
		uint32_t slot = slots->next++ % WEFT_NIC_SLOTS;
		uint64_t bit = 1ull << slot % 64;

		if (slots->used[slot / 64] & bit)
			continue;
		slots->used[slot / 64] |= bit;
		nic->slot = slot;
		return true;
	}
	return false;
}

/* My own messages go out and come back, where any may be received from any
 * source. */
static bool know_myself(struct weft_vci *vci)
{
	uint8_t name[WEFT_NET_NAME_MAX];
	size_t len = sizeof(name);

	return vci->self &&
	       (vci->self->net_addr != UINT64_MAX ||
		       (!weft_net_name(vci->net, name, &len) &&
			       !weft_net_peer_add(vci->net, name, len,
				       &vci->self->net_addr)));
}

/* Why the card does not match for this process; NULL: it does. */
static const char *nic_send_refuse(
	struct weft_nic_match *nic, bool is_named_only)
{
	struct weft_comm *comm = nic->comm;
	struct weft_vci *vci = comm->vci;
	bool is_remote = is_all_remote(comm);

	nic->tag_ub = INT32_MAX;
	if (!vci->net)
		return "there is no fabric";
	if (!weft_tagged_can(vci->net))
		return "the fabric does not match tags itself";
	if (!lay_out(nic, vci->net->plan.tag_mask))
		return "its tags are too short for so many processes";
	if (!is_remote && !is_named_only)
		return "some members are on this node, and nothing says that "
		       "no receive is from any source "
		       "(mpi_assert_no_any_source)";
	if (is_remote && !know_myself(vci))
		return "this process does not reach itself through it";
	if (!take_slot(nic))
		return "too many communicators are matched there already";
	nic->is_on = true;
	nic->is_all = is_remote;
	return NULL;
}

static void on_injected(struct weft_op *op, int err, size_t len)
{
	struct weft_nic_match *nic =
		weft_container_of(op, struct weft_nic_match, injected);

	(void)len;
	nic->comm->vci->net->n_failed += err != 0;
	if (--nic->n_injected == 0) {
		nic->comm->p2p.n_sends--;
		weft_comm_put(nic->comm);
	}
}

static struct weft_nic_match *nic_new(struct weft_comm *comm)
{
	struct weft_nic_match *nic = calloc(1, sizeof(*nic));

	if (!nic)
		return NULL;
	nic->comm = comm;
	nic->injected.done = on_injected;
	nic->hook.run = weft_nic_retry;
	weft_list_init(&nic->posted);
	weft_list_init(&nic->held);
	weft_list_init(&nic->hook.link);
	weft_list_init(&nic->marker.bin);
	weft_list_init(&nic->marker.arrived);
	nic->marker.is_rts = true;
	nic->marker.is_nic = true;
	return nic;
}

void weft_nic_settle_locked(
	struct weft_comm *comm, bool wants_nic, bool is_named_only)
{
	const char *why = "out of memory";

	comm->p2p.is_settled = true;
	comm->wants_nic = wants_nic;
	if (wants_nic)
		comm->p2p.nic = nic_new(comm);
	if (comm->p2p.nic)
		why = nic_send_refuse(comm->p2p.nic, is_named_only);
	if (wants_nic)
		weft_log_debug("P2P-MATCH",
			"communicator \"%s\" of %d: receives are matched %s%s",
			comm->name[0] ? comm->name : comm->tag, comm->size,
			why ? "in software: " : "by the network card",
			why ? why : "");
	if (!why) {
		comm->match.nic = &comm->p2p.nic->marker;
		comm->match.n_unexpected++;
	}
	weft_dispatch_replay(comm->vci, comm->ctx); /* who asked too early */
}

bool weft_nic_is_on(const struct weft_comm *comm)
{
	return comm->p2p.nic && comm->p2p.nic->is_on;
}

const int *weft_nic_tag_ub(const struct weft_comm *comm)
{
	return comm->p2p.nic ? &comm->p2p.nic->tag_ub : NULL;
}

/* ---- asking ---- */

static int nic_send_say(struct weft_comm *comm, struct weft_peer *peer,
	const struct weft_wire_match *wire)
{
	struct weft_wire_head head = {
		.op = WEFT_WIRE_MATCH,
		.src = (uint32_t)comm->rank,
		.ctx = comm->ctx,
	};

	return weft_peer_control(peer, &head, wire, sizeof(*wire));
}

static void nic_send_answer(
	struct weft_comm *comm, struct weft_peer *peer, uint32_t rank)
{
	struct weft_wire_match wire = { .kind = WEFT_WIRE_MATCH_SOFTWARE };

	if (comm->p2p.nic && weft_nic_has(comm->p2p.nic, (int32_t)rank)) {
		wire.kind = WEFT_WIRE_MATCH_NIC;
		wire.base = weft_nic_tag(comm->p2p.nic, (int32_t)rank, 0);
		wire.tag_ub = (uint32_t)comm->p2p.nic->tag_ub;
	}
	if (nic_send_say(comm, peer, &wire))
		weft_peer_fail(peer, WEFT_ERR_NOMEM);
}

/* The waiting ones go on to the peer's own queue. */
static void told(struct weft_comm *comm, struct weft_peer *peer,
	struct weft_nic_dest *dest, const struct weft_wire_match *wire)
{
	struct weft_link *link;

	dest->how = wire->kind == WEFT_WIRE_MATCH_NIC ? WEFT_NIC_CARD
						      : WEFT_NIC_USUAL;
	dest->base = wire->base;
	dest->tag_ub = wire->tag_ub;
	weft_log_debug("P2P-MATCH",
		"messages to process %u on communicator \"%s\" are matched %s",
		(uint32_t)peer->proc, comm->name[0] ? comm->name : comm->tag,
		dest->how == WEFT_NIC_CARD ? "by its network card"
					   : "in software");
	while ((link = weft_list_pop_front(&dest->waiting)) != NULL)
		weft_peer_queue(
			peer, weft_container_of(link, struct weft_out, link));
}

static bool nic_send_is_sound(
	const struct weft_comm *comm, const struct weft_wire_match *wire)
{
	if (wire->kind == WEFT_WIRE_MATCH_SOFTWARE)
		return true;
	return wire->kind == WEFT_WIRE_MATCH_NIC && comm->vci->net &&
	       weft_tagged_can(comm->vci->net) &&
	       !(wire->base & ~comm->vci->net->plan.tag_mask) &&
	       wire->base & 1ull << 31 && wire->tag_ub <= INT32_MAX &&
	       !(wire->base & wire->tag_ub);
}

void weft_nic_on_match(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_match wire;
	struct weft_nic_dest *dest;
	struct weft_comm *comm;

	if (!weft_wire_get_match(&wire, payload, len) || !head->ctx ||
		head->ctx % WEFT_CTX_OFFSET_END) {
		weft_dispatch_drop(vci, "malformed question of matching");
		return;
	}
	comm = weft_vci_core_comm(vci, head->ctx);
	if ((!comm || !comm->p2p.is_settled) &&
		wire.kind == WEFT_WIRE_MATCH_ASK) {
		weft_dispatch_keep(vci, peer, head, payload, len);
		return;
	}
	if (!comm || head->src >= (uint32_t)comm->remote_size ||
		weft_comm_peer(comm, head->src) != peer) {
		weft_dispatch_drop(vci, "matching of no such communicator");
		return;
	}
	if (wire.kind == WEFT_WIRE_MATCH_ASK) {
		nic_send_answer(comm, peer, head->src);
		return;
	}
	dest = comm->p2p.nic
		       ? weft_map_get(&comm->p2p.nic->dests, head->src + 1ull)
		       : NULL;
	if (dest && dest->how == WEFT_NIC_ASKED &&
		nic_send_is_sound(comm, &wire))
		told(comm, peer, dest, &wire);
	else
		weft_dispatch_drop(vci, "matching nobody asked for");
}

/* ---- sending ---- */

static struct weft_nic_dest *dest_of(struct weft_nic_match *nic, uint32_t rank)
{
	struct weft_nic_dest *dest = weft_map_get(&nic->dests, rank + 1ull);

	if (dest)
		return dest;
	dest = calloc(1, sizeof(*dest));
	if (!dest)
		return NULL;
	weft_list_init(&dest->waiting);
	if (weft_map_put(&nic->dests, rank + 1ull, dest)) {
		free(dest);
		return NULL;
	}
	return dest;
}

/* The first message to a rank. 0 or an error. */
static int nic_send_ask(struct weft_nic_match *nic, struct weft_peer *peer,
	struct weft_nic_dest *dest)
{
	const struct weft_wire_match wire = { .kind = WEFT_WIRE_MATCH_ASK };

	if (!peer->is_self) {
		dest->how = WEFT_NIC_ASKED;
		return nic_send_say(nic->comm, peer, &wire);
	}
	dest->how = nic->is_all ? WEFT_NIC_CARD : WEFT_NIC_USUAL;
	dest->base = weft_nic_tag(nic, nic->comm->rank, 0);
	dest->tag_ub = (uint32_t)nic->tag_ub;
	return 0;
}

static void nic_send_on_sent(struct weft_op *op, int err, size_t len)
{
	struct weft_req *req = weft_container_of(op, struct weft_req, op);
	struct weft_peer *peer = req->peer;

	(void)len;
	if (err) /* before anybody is told of the end */
		weft_peer_undelivered(peer, err);
	req->send.in_fabric = false;
	weft_send_finish(req, err);
}

static int nic_send_check(
	const struct weft_req *req, const struct weft_nic_dest *dest)
{
	size_t max = req->vci->net->plan.max_msg_len;

	if ((uint32_t)req->tag > dest->tag_ub)
		return weft_err_set(WEFT_ERR_TAG,
			"tag %d is above MPI_TAG_UB of this communicator, %u, "
			"as the network card matches its messages",
			req->tag, dest->tag_ub);
	if (req->len > max)
		return weft_err_set(WEFT_ERR_COUNT,
			"the network card matches messages of %zu bytes at "
			"most, this has %zu",
			max, req->len);
	return 0;
}

static int inject(struct weft_req *req, const struct weft_tagged *msg)
{
	struct weft_nic_match *nic = req->comm->p2p.nic;
	int err = weft_tagged_inject(req->vci->net, msg, &nic->injected);

	if (!err && nic->n_injected++ == 0) {
		weft_comm_get(req->comm);
		req->comm->p2p.n_sends++; /* all of them as one */
	}
	return err;
}

static int send_card(struct weft_req *req, const struct weft_nic_dest *dest)
{
	struct weft_net *net = req->vci->net;
	struct weft_tagged msg = {
		.addr = req->peer->net_addr,
		.tag = dest->base | (uint32_t)req->tag,
		.len = req->len,
	};
	int err = nic_send_check(req, dest);

	if (err)
		return err;
	msg.buf = weft_send_run(req);
	if (!msg.buf)
		return WEFT_ERR_NOMEM;
	if (req->send.mode != WEFT_SEND_SYNC &&
		req->len <= net->plan.inject_len)
		return inject(req, &msg);
	req->op.done = nic_send_on_sent;
	err = weft_tagged_send(
		net, &msg, req->send.mode == WEFT_SEND_SYNC, &req->op);
	if (err)
		return err;
	req->send.in_fabric = true;
	return 1;
}

bool weft_nic_send(struct weft_req *req, int *rc_out)
{
	struct weft_nic_match *nic = req->comm->p2p.nic;
	struct weft_nic_dest *dest;
	int err = 0;

	if (req->ctx % WEFT_CTX_OFFSET_END != WEFT_CTX_OFFSET_P2P)
		return false;
	dest = dest_of(nic, (uint32_t)req->src);
	if (!dest)
		err = WEFT_ERR_NOMEM;
	else if (dest->how == WEFT_NIC_NEW)
		err = nic_send_ask(nic, req->peer, dest);
	if (err) {
		*rc_out = err;
		return true;
	}
	if (dest->how == WEFT_NIC_USUAL)
		return false;
	if (dest->how == WEFT_NIC_CARD) {
		*rc_out = send_card(req, dest);
		return true;
	}
	weft_list_push_back(&dest->waiting, &req->out.link);
	*rc_out = 1;
	return true;
}
