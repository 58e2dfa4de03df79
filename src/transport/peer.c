/* SPDX-License-Identifier: BSD-3-Clause */
/* peer: resolves a peer on first use, posts messages to it, and queues them
 * while its transport accepts none */
#include "transport/peer.h"

#include "base/clock.h"
#include "base/event.h"
#include "base/hash.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/pid.h"
#include "transport/bc.h"
#include "transport/dispatch.h"
#include "transport/foreign.h"
#include "transport/vci.h"
#include "transport/proc.h"
#include "net/net.h"
#include "shm/budget.h"
#include "shm/copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BC_RETRY_NS = 2000000,
	BC_TURN_NS = 5000000,	/* longest wait for an answer before the next
				   request */
	NOTICE_NS = 1000000000, /* longest wait until a connection accepts the
				   notice to a failed peer */
};

/* A queued control message; owns its payload. */
struct out_control {
	struct weft_out out;
	struct weft_wire_head head;
	size_t len;
	uint8_t payload[];
};

/* A message that is posted to the fabric with a completion, because it is too
 * long to inject, or is a probe. */
struct out_net {
	struct weft_op op;
	struct weft_peer *peer;
	struct weft_wire_net wire;
	uint8_t payload[];
};

static uint64_t cookie(const uint8_t *key, uint64_t src, uint64_t dst)
{
	uint64_t pair[2] = { src, dst };
	uint64_t hash = weft_hash(key, pair, sizeof(pair));

	return hash ? hash : 1;
}

/* Returns the cookie of messages from an address to this VCI. */
static uint64_t cookie_from(const struct weft_vci *vci, uint64_t addr)
{
	uint8_t key[16];

	if (vci->number || !weft_foreign_is(addr))
		return cookie(weft_proc.facts.own_key, addr, vci->addr);
	weft_proc_foreign_key(key);
	return cookie(key, addr, vci->addr);
}

/* Fails a new peer if the peer for the default VCI of the same process has
 * failed. */
static void inherit_failure(struct weft_vci *vci, struct weft_peer *peer)
{
	const struct weft_peer *first =
		weft_map_get(&vci->peers, peer->proc + 1);

	if (!first || first->state != WEFT_PEER_FAILED)
		return;
	peer->state = WEFT_PEER_FAILED;
	peer->err = first->err;
	peer->why = first->why ? strdup(first->why) : NULL;
	if (first->is_excluded)
		weft_peer_exclude(peer);
}

struct weft_peer *weft_peer_of(struct weft_vci *vci, uint64_t addr)
{
	struct weft_peer *peer = weft_map_get(&vci->peers, addr + 1);

	if (peer)
		return peer;
	peer = calloc(1, vci->peer_size);
	if (!peer)
		return NULL;
	peer->proc = vci->number ? (weft_proc.proc & ~(uint64_t)UINT32_MAX) |
					   (uint32_t)addr
				 : addr;
	peer->addr = addr;
	peer->src_addr = vci->addr;
	peer->vci = vci;
	peer->credit = weft_knobs.eager_window;
	peer->cookie_in = cookie_from(vci, addr);
	weft_list_init(&peer->pending);
	weft_list_init(&peer->link);
	weft_list_init(&peer->resend.link);
	weft_list_init(&peer->resend_out.link);
	if (addr == vci->addr) {
		peer->is_self = true;
		peer->can_read = true;
		peer->pid = getpid();
		peer->state = WEFT_PEER_READY;
		vci->counters.peers_connected++;
	}
	if (weft_unlikely(vci->n_failed))
		inherit_failure(vci, peer);
	if (weft_map_put(&vci->peers, addr + 1, peer)) {
		free(peer);
		return NULL;
	}
	return peer;
}

struct weft_peer *weft_peer_by_cookie(
	struct weft_vci *vci, uint64_t addr, uint64_t value)
{
	struct weft_peer *peer = weft_map_get(&vci->peers, addr + 1);

	if (weft_likely(peer && peer->cookie_in == value))
		return peer;
	if (value != cookie_from(vci, addr))
		return NULL;
	if (peer)
		weft_peer_notify_failed(peer);
	else
		peer = weft_peer_of(vci, addr);
	return peer && !peer->is_excluded ? peer : NULL;
}

/* Sets the wakeup that the peer signals when its ring has space again. */
static void send_wakeup(struct weft_peer *peer)
{
	struct weft_wakeup_at at;

	if (peer->vci->wakeup.wr < 0)
		return;
	weft_wakeup_describe(&peer->vci->wakeup, &at);
	weft_ring_set_wakeup(&peer->tx, &at);
}

/* Selects how data is copied between this process and a process of the node.
 * is_near: that process shares a cache with this process. */
static void choose_ways(struct weft_peer *peer, bool is_near)
{
	const struct weft_node_plan *plan = &weft_proc.node;

	peer->shm_eager = (uint32_t)weft_min(
		plan->eager_len, (size_t)peer->tx.buf_len / 2);
	peer->tx.stores_past = weft_node_plan_stores_past(plan, is_near);
	weft_log_debug("SHM-PAIR",
		"process %u %s a cache: messages of up to %u B are copied "
		"through the ring, and stores of data are %s",
		(uint32_t)peer->proc, is_near ? "shares" : "does not share",
		peer->shm_eager,
		peer->tx.stores_past ? "non-temporal" : "cached");
}

/* Describes that the peer is connected to an earlier process with the rank of
 * this process. Returns the error. */
static int peer_is_second(const struct weft_peer *peer)
{
	return weft_err_set(WEFT_ERR_PEER,
		"process %u has exchanged messages with an earlier process of "
		"this rank, %u, which has exited; a rank is never used twice: "
		"start the second program with MPI_Comm_spawn, or both as jobs "
		"of their own (mpiexec PROGRAM)",
		(uint32_t)peer->proc, weft_proc.facts.rank);
}

/* Attaches to the peer's ring. Returns 0 or an error. The ring remains attached
 * if an earlier process of this rank has used it, so that end_resolving() can
 * notify the peer. */
static int connect_ring(struct weft_peer *peer, const struct weft_bc *bc)
{
	struct weft_vci *vci = peer->vci;
	int err;

	if (peer->tx.is_taken_over)
		return peer_is_second(peer);
	peer->cookie_out = cookie(bc->key, vci->addr, peer->addr);
	peer->pid = bc->shm.pid;
	err = weft_ring_attach(&peer->tx, &bc->shm,
		weft_foreign_is(peer->proc)
			? WEFT_SHM_ANY
			: vci->number * weft_proc.facts.local_size +
				  weft_proc.facts.local_rank,
		vci->addr, peer->cookie_out);
	if (err)
		return err;
	weft_budget_join(&vci->budget, &peer->tx);
	peer->is_shm = true;
	if (peer->tx.is_taken_over)
		return peer_is_second(peer);
	choose_ways(peer, weft_node_plan_is_near(&weft_proc.node, bc->cpus));
	peer->tx.back = peer->rx;
	send_wakeup(peer);
	peer->can_read =
		weft_knob_is_on(weft_knobs.cma) && weft_copy_can_read(&bc->shm);
	return 0;
}

/* Reports that shared memory cannot be used with a process of this node. The
 * first report of the node's first process is a warning. */
static void warn_lacks_shm(const struct weft_peer *peer, const char *why)
{
	bool lacked_shm = atomic_exchange_explicit(
		&weft_proc.lacks_shm, true, memory_order_relaxed);
	bool is_first = !weft_proc.facts.local_rank && !lacked_shm;

	weft_log(is_first ? WEFT_LOG_WARN : WEFT_LOG_INFO, "CORE-APART",
		"no shared memory with process %u of this node: %s; messages "
		"go through the fabric (start the processes of a node in one "
		"container; WEFT_SHM=off if this is meant)",
		(uint32_t)peer->proc, why);
}

/* Sends this process's business card through the process manager to a process
 * that has no fabric open. That process then opens a fabric and sends its own
 * card (send_own_bc()). WEFT_AGAIN: the card was sent. */
static int peer_call(struct weft_peer *peer)
{
	struct weft_vci *vci = peer->vci;
	int err = weft_vci_name_net(vci);

	if (!err)
		err = weft_boot_call(weft_proc.boot, (uint32_t)peer->proc,
			vci->own_bc, weft_bc_len(vci->own_bc));
	return err ? err : WEFT_AGAIN;
}

/* Attaches to the peer's ring, or adds the peer's address to the fabric.
 * is_called: uses the fabric only, because the peer cannot use shared memory.
 * 0, an error, or WEFT_AGAIN: this process has sent its business card through
 * the process manager, and the peer will answer with its own card. */
static int connect_to(
	struct weft_peer *peer, const struct weft_bc *bc, bool is_called)
{
	struct weft_vci *vci = peer->vci;
	bool is_foreign = weft_foreign_is(peer->proc);
	bool is_near = bc->shm.pid && (vci->number || is_foreign ||
					      weft_proc_is_local(peer->proc));
	int err = WEFT_ERR_ACCESS;

	if (is_near && vci->shm && !is_called) {
		err = connect_ring(peer, bc);
		if (!err || peer->tx.is_taken_over)
			return err;
		if (err == WEFT_ERR_ACCESS)
			warn_lacks_shm(peer, weft_err_detail_peek(err));
	}
	is_near = is_near && !is_foreign && err == WEFT_ERR_ACCESS;
	peer->cookie_out = cookie(bc->key, vci->addr, peer->addr);
	peer->pid = bc->shm.pid;
	if (!vci->net && !vci->number && (bc->name_len || !is_foreign))
		err = weft_vci_open_default_net();
	else
		err = 0;
	if (err)
		return err;
	if (!bc->name_len && is_near && vci->net && vci->own_bc)
		return peer_call(peer);
	if (!bc->name_len || !vci->net)
		return weft_err_set(WEFT_ERR_PEER,
			"process %u has no fabric open and cannot be reached "
			"through shared memory; it has ended, or another "
			"program ran in its place before (each needs a launch "
			"of its own), or WEFT_SHM is not the same everywhere",
			(uint32_t)peer->proc);
	err = weft_net_peer_add(
		vci->net, bc->name, bc->name_len, &peer->net_addr);
	return err ? err : weft_rail_connect(peer, bc);
}

static void peer_list_pending(struct weft_peer *peer)
{
	if (peer->is_queued)
		return;
	peer->is_queued = true;
	weft_list_push_back(&peer->vci->pending_peers, &peer->link);
}

static int push_control(struct weft_peer *peer, struct weft_out *out)
{
	struct out_control *control =
		weft_container_of(out, struct out_control, out);
	int err = 0;

	if (peer->state != WEFT_PEER_FAILED)
		err = weft_peer_post(
			peer, &control->head, control->payload, control->len);
	if (err == WEFT_AGAIN)
		return err;
	if (err)
		weft_peer_fail(peer, err);
	free(control);
	return 0;
}

static struct out_control *control_create(
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct out_control *control = malloc(sizeof(*control) + len);

	if (!control)
		return NULL;
	control->out.push = push_control;
	control->head = *head;
	control->len = len;
	if (len)
		memcpy(control->payload, payload, len);
	return control;
}

/* Sends this process's business card to the peer before all queued messages, so
 * that the peer need not wait for the process manager. The process manager may
 * be slow (PRRTE retries a request for missing data every two seconds) or lose
 * the request. A peer that has sent a message over the fabric has the card. */
static int send_own_bc(struct weft_peer *peer)
{
	const struct weft_bc *bc = peer->vci->own_bc;
	const struct weft_wire_head head = { .op = WEFT_WIRE_BC };
	struct out_control *control;

	if (peer->is_shm || peer->wire_in || !bc || !bc->name_len ||
		weft_foreign_is(peer->proc))
		return 0;
	control = control_create(&head, bc, weft_bc_len(bc));
	if (!control)
		return WEFT_ERR_NOMEM;
	weft_list_push_front(&peer->pending, &control->out.link);
	peer_list_pending(peer);
	return 0;
}

/* Posts EXCLUDED. Retries until retry_ns, because the transport may accept no
 * message before the connection is established. */
static int push_notice(struct weft_peer *peer, struct weft_out *out)
{
	struct out_control *notice =
		weft_container_of(out, struct out_control, out);
	int err = weft_peer_post(peer, &notice->head, NULL, 0);

	if (err == WEFT_AGAIN && weft_now_ns() < peer->retry_ns)
		return err;
	free(notice);
	return 0;
}

/* Sends EXCLUDED with these flags to a failed peer, to which this process is
 * connected. */
static void peer_send_notice(struct weft_peer *peer, uint8_t flags)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_EXCLUDED,
		.flags = flags };
	struct out_control *notice;

	peer->was_ready = true;
	if (weft_peer_post(peer, &head, NULL, 0) != WEFT_AGAIN)
		return; /* sent now, because the program may exit */
	notice = control_create(&head, NULL, 0);
	if (!notice)
		return;
	notice->out.push = push_notice;
	peer->retry_ns = weft_now_ns() + NOTICE_NS;
	weft_peer_queue(peer, &notice->out);
}

static void drop_controls(struct weft_peer *peer)
{
	weft_list_for_each(link, next, &peer->pending)
	{
		struct weft_out *out =
			weft_container_of(link, struct weft_out, link);

		if (out->push != push_control && out->push != push_notice)
			continue; /* the request owns the operation */
		weft_list_remove(link);
		free(weft_container_of(out, struct out_control, out));
	}
}

/* If only WATCH and answers to queries are queued for a peer that cannot be
 * reached, drops them and returns true: the process may have ended. If this
 * process needs the peer, the process manager is queried for the reason. */
static bool drop_unneeded(struct weft_peer *peer)
{
	weft_list_for_each(link, next, &peer->pending)
	{
		struct out_control *control =
			weft_container_of(link, struct out_control, out.link);

		if (control->out.push != push_control ||
			(control->head.op != WEFT_WIRE_WATCH &&
				control->head.op != WEFT_WIRE_ANSWER))
			return false;
	}
	if (weft_list_is_empty(&peer->pending) || peer->tx.is_taken_over)
		return false;
	drop_controls(peer);
	peer->state = WEFT_PEER_NEW;
	if (peer->vci->needs_peer(peer))
		weft_proc_query_exit(peer->vci, peer->proc);
	return true;
}

static void end_resolving(struct weft_peer *peer, int err)
{
	peer->retry_ns = 0;
	if (!err)
		err = send_own_bc(peer);
	if (err && drop_unneeded(peer))
		return;
	if (err) {
		weft_log_error("CORE-NOPEER", "cannot reach process %u: %s: %s",
			(uint32_t)peer->proc, weft_err_str(err),
			weft_err_detail_peek(err));
		peer->is_unreached = true;
		weft_peer_fail(peer, err);
		if (peer->tx.is_taken_over)
			peer_send_notice(peer, WEFT_WIRE_IS_SECOND);
		return;
	}
	peer->state = WEFT_PEER_READY;
	peer->vci->counters.peers_connected++;
	weft_event_raise(WEFT_EVENT_peer_connected, peer->vci->number, true,
		(int64_t)peer->proc, peer->is_shm);
	weft_log_debug("CORE-PEER",
		"process %u reached through %s, single copy %s, VCI %u",
		(uint32_t)peer->proc,
		peer->is_shm ? "shared memory" : "the fabric",
		peer->can_read ? "yes" : "no", peer->vci->number);
	weft_peer_send_pending(peer);
}

static void peer_use_bc(
	struct weft_peer *peer, int err, const struct weft_bc *bc)
{
	if (!err)
		err = connect_to(peer, bc, false);
	if (err == WEFT_AGAIN) {
		peer->state = WEFT_PEER_RESOLVING;
		peer->retry_ns = 0; /* on_wire_bc() continues */
		return;
	}
	end_resolving(peer, err);
}

/* True if the card of this peer may be requested now. The cards of a node's
 * processes are requested one after another. If all are requested together, the
 * manager's second answer waits 40 ms for TCP's delayed acknowledgement of the
 * first answer. A request delays the next request by BC_TURN_NS at most,
 * because a process that has not started must not delay the other requests. */
static bool is_turn(struct weft_peer *peer)
{
	struct weft_vci *vci = peer->vci;
	uint64_t now;

	if (!weft_proc_is_local(peer->proc))
		return true;
	now = weft_now_ns();
	if (vci->asked && now < vci->asked_ns + BC_TURN_NS) {
		peer->is_next = true;
		peer->retry_ns = vci->asked_ns + BC_TURN_NS;
		return false;
	}
	vci->asked = peer;
	vci->asked_ns = now;
	return true;
}

static void end_turn(struct weft_vci *vci, const void *asked)
{
	if (vci->asked == asked)
		vci->asked = NULL;
}

static void peer_on_bc(void *arg, int err, const void *data, size_t len)
{
	struct weft_peer *peer = arg;
	struct weft_bc bc;

	end_turn(peer->vci, peer);
	if (peer->state != WEFT_PEER_RESOLVING)
		return;
	if (err == WEFT_ERR_NOTFOUND) {
		/* Not published yet: some process managers return this error
		 * instead of waiting. If the process had died, the manager
		 * would report its death. */
		peer->retry_ns = weft_now_ns() + BC_RETRY_NS;
		return;
	}
	if (!err)
		err = weft_bc_read(&bc, data, len);
	peer_use_bc(peer, err, &bc);
}

/* Connects to a process over the fabric. The business card of that process
 * arrived over the fabric, or through the process manager (peer_call()). */
static void peer_answer(struct weft_peer *peer, const struct weft_bc *bc)
{
	int err;

	if (peer->state == WEFT_PEER_READY && peer->is_shm) {
		weft_peer_fail(peer,
			weft_err_set(WEFT_ERR_PEER,
				"process %u cannot open the shared memory of "
				"this one, which can open its: start both with "
				"WEFT_SHM=off",
				(uint32_t)peer->proc));
		return;
	}
	if (peer->state != WEFT_PEER_NEW && peer->state != WEFT_PEER_RESOLVING)
		return;
	if (peer->vci->shm && weft_proc_is_local(peer->proc))
		warn_lacks_shm(peer, "it cannot open the memory of this one");
	err = connect_to(peer, bc, true);
	if (!err)
		err = weft_vci_name_net(peer->vci);
	end_resolving(peer, err);
}

static void on_wire_bc(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_bc bc;

	(void)head;
	if (vci->number || weft_foreign_is(peer->proc) ||
		weft_bc_read(&bc, payload, len))
		weft_dispatch_drop(vci, "no business card");
	else
		peer_answer(peer, &bc);
}

void weft_peer_on_call(
	struct weft_vci *vci, uint64_t proc, const void *data, size_t len)
{
	struct weft_peer *peer = weft_peer_of(vci, proc);
	struct weft_bc bc;

	if (!peer || weft_bc_read(&bc, data, len) || !bc.name_len)
		weft_dispatch_drop(vci, "no business card");
	else
		peer_answer(peer, &bc);
}

void weft_peer_on_given_up(struct weft_peer *peer)
{
	if (peer->state == WEFT_PEER_FAILED)
		return;
	if (!atomic_exchange_explicit(
		    &weft_proc.is_excluded, true, memory_order_relaxed))
		weft_log_error("CORE-EXCLUDED",
			"process %u treats this process as failed: it could "
			"not reach this process, or got no answer for "
			"WEFT_FAIL_TIMEOUT seconds",
			(uint32_t)peer->proc);
	peer->may_live = true;
	weft_peer_fail(peer, weft_err_set(WEFT_ERR_PEER,
				     "process %u treats this process as failed",
				     (uint32_t)peer->proc));
}

/* A second process has started with the rank of the peer. */
static void peer_on_second(struct weft_peer *peer)
{
	int err;

	if (peer->state == WEFT_PEER_FAILED)
		return;
	err = weft_err_set(WEFT_ERR_PEER,
		"process %u has exited, and a second process has started with "
		"its rank; a rank is never used twice",
		(uint32_t)peer->proc);
	weft_log_error("CORE-SECOND",
		"%s (start the second program with MPI_Comm_spawn, or as a job "
		"of its own)",
		weft_err_detail_peek(err));
	weft_peer_fail(peer, err);
}

static void on_excluded(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	(void)vci;
	(void)payload;
	(void)len;
	if (head->flags & WEFT_WIRE_IS_SECOND)
		peer_on_second(peer);
	else if (head->flags & WEFT_WIRE_YOU_ARE_SECOND)
		weft_peer_fail(peer, peer_is_second(peer));
	else
		weft_peer_on_given_up(peer);
}

bool weft_peer_on_second_bc(
	struct weft_peer *peer, const void *data, size_t len)
{
	struct weft_bc bc;

	if (peer->vci->number || weft_foreign_is(peer->proc) || peer->is_shm ||
		weft_bc_read(&bc, data, len) ||
		cookie(bc.key, peer->vci->addr, peer->addr) == peer->cookie_out)
		return false;
	peer_on_second(peer);
	peer->wire_out = 0;
	if (!weft_net_peer_add(
		    peer->vci->net, bc.name, bc.name_len, &peer->net_addr))
		peer_send_notice(peer, WEFT_WIRE_YOU_ARE_SECOND);
	return true;
}

void weft_peer_setup(struct weft_vci *vci)
{
	weft_dispatch_set(vci, WEFT_WIRE_BC, on_wire_bc);
	weft_dispatch_set(vci, WEFT_WIRE_EXCLUDED, on_excluded);
}

uint32_t weft_peer_unresolved(struct weft_vci *vci, uint64_t *first_out)
{
	uint32_t n = 0;

	weft_list_for_each(link, next, &vci->pending_peers)
	{
		const struct weft_peer *peer =
			weft_container_of(link, struct weft_peer, link);

		if (peer->state == WEFT_PEER_RESOLVING && n++ == 0)
			*first_out = peer->proc;
	}
	return n;
}

/* Converts the card that processes exchange for VCIs to a business card. */
static void use_vci_bc(struct weft_peer *peer)
{
	struct weft_bc bc;

	weft_bc_init(&bc);
	bc.shm = peer->bc->shm;
	memcpy(bc.key, peer->bc->key, sizeof(bc.key));
	bc.name_len = peer->bc->name_len;
	memcpy(bc.name, peer->bc->name, sizeof(peer->bc->name));
	peer_use_bc(peer, 0, &bc);
}

int weft_peer_set_bc(
	struct weft_peer *peer, const struct weft_vci_card *bc, bool is_local)
{
	if (peer->bc || peer->is_self)
		return 0;
	peer->bc = malloc(sizeof(*bc));
	if (!peer->bc)
		return WEFT_ERR_NOMEM;
	*peer->bc = *bc;
	if (!is_local)
		peer->bc->shm.pid = 0;
	if (peer->bc->name_len > sizeof(bc->name))
		peer->bc->name_len = 0;
	if (peer->state == WEFT_PEER_RESOLVING)
		use_vci_bc(peer);
	return 0;
}

/* Resolves the peer with the node's table of business cards. If that fails
 * because the process has ended, the process manager is queried instead and
 * reports the reason. */
static bool use_node_bc(struct weft_peer *peer)
{
	struct weft_bc bc;
	int place;

	if (!peer->vci->node_bc.n || !weft_proc_is_member(peer->proc))
		return false;
	place = weft_boot_local_index(weft_proc.boot, (uint32_t)peer->proc);
	if (place < 0 ||
		!weft_node_bc_find(&peer->vci->node_bc, (uint32_t)place, &bc) ||
		connect_ring(peer, &bc))
		return false;
	end_resolving(peer, 0);
	return true;
}

static void on_first_bc(void *arg, int err, const void *data, size_t len)
{
	const struct weft_boot_facts *facts = &weft_proc.facts;
	struct weft_vci *vci = arg;
	struct weft_bc bc;

	end_turn(vci, vci);
	if (err || weft_bc_read(&bc, data, len))
		return;
	weft_node_bc_join(&vci->node_bc, &bc, facts->local_size);
	weft_node_bc_put(&vci->node_bc,
		(uint32_t)weft_boot_local_index(weft_proc.boot, facts->rank),
		vci->own_bc);
}

/* Requests the card of the node's first process, before the card of any other
 * process of the node. The card describes the table of cards. */
static void request_first_bc(struct weft_peer *peer)
{
	struct weft_vci *vci = peer->vci;
	const uint32_t *ranks;
	size_t n;

	if (vci->has_requested_first || !vci->shm || vci->node_bc.n ||
		weft_proc.facts.local_size <= 2 ||
		!weft_proc_is_local(peer->proc) ||
		weft_boot_local(weft_proc.boot, &ranks, &n))
		return;
	vci->has_requested_first = true;
	if (weft_boot_get(
		    weft_proc.boot, ranks[0], WEFT_BC_KEY, on_first_bc, vci))
		return;
	vci->asked = vci;
	vci->asked_ns = weft_now_ns();
}

/* True while this process waits for the peer to connect first. The wait ends
 * at retry_ns. */
static bool is_to_call(const struct weft_peer *peer)
{
	return peer->retry_ns && !peer->wire_in &&
	       weft_now_ns() < peer->retry_ns;
}

static void request_bc(struct weft_peer *peer)
{
	int err;

	if (peer->vci->number || weft_foreign_is(peer->proc)) {
		if (peer->bc && !is_to_call(peer))
			use_vci_bc(peer);
		return; /* the card arrives when a communicator is created */
	}
	request_first_bc(peer);
	if (use_node_bc(peer) || !is_turn(peer))
		return;
	peer->is_next = false;
	peer->retry_ns = 0;
	err = weft_boot_get(weft_proc.boot, (uint32_t)peer->proc, WEFT_BC_KEY,
		peer_on_bc, peer);
	if (err)
		peer_on_bc(peer, err, NULL, 0);
}

static void continue_resolving(struct weft_peer *peer)
{
	bool is_free = peer->is_next && !peer->vci->asked;

	if (!use_node_bc(peer) && peer->retry_ns &&
		(is_free || peer->bc || weft_now_ns() >= peer->retry_ns))
		request_bc(peer);
}

void weft_peer_resolve(struct weft_peer *peer)
{
	if (peer->state != WEFT_PEER_NEW)
		return;
	peer->state = WEFT_PEER_RESOLVING;
	peer_list_pending(peer);
	request_bc(peer);
}

void weft_peer_queue(struct weft_peer *peer, struct weft_out *out)
{
	weft_list_push_back(&peer->pending, &out->link);
	peer_list_pending(peer);
	if (peer->state == WEFT_PEER_NEW)
		weft_peer_resolve(peer);
}

void weft_peer_queue_first(struct weft_peer *peer, struct weft_out *out)
{
	weft_list_push_front(&peer->pending, &out->link);
	peer_list_pending(peer);
}

int weft_peer_send_pending(struct weft_peer *peer)
{
	int n = 0;

	if (weft_unlikely(peer->state == WEFT_PEER_RESOLVING))
		continue_resolving(peer);
	while (!weft_list_is_empty(&peer->pending) &&
		(peer->state == WEFT_PEER_READY ||
			peer->state == WEFT_PEER_FAILED)) {
		struct weft_link *link = peer->pending.next;
		struct weft_out *out =
			weft_container_of(link, struct weft_out, link);

		weft_list_remove(link);
		if (out->push(peer, out)) {
			weft_list_push_front(&peer->pending, link);
			break;
		}
		n++;
	}
	if (weft_list_is_empty(&peer->pending) && peer->is_queued &&
		peer->state != WEFT_PEER_RESOLVING) {
		peer->is_queued = false;
		weft_list_remove(&peer->link);
	}
	return n;
}

void weft_peer_fail(struct weft_peer *peer, int err)
{
	if (peer->is_self || peer->state == WEFT_PEER_FAILED)
		return;
	peer->was_ready = peer->state == WEFT_PEER_READY;
	peer->state = WEFT_PEER_FAILED;
	peer->err = err;
	peer->why = strdup(weft_err_detail_peek(err));
	peer->vci->n_failed++;
	peer->vci->counters.peers_failed++;
	weft_resend_fini(peer);
	if (peer->tx.ring)
		weft_ring_give_up(&peer->tx);
	weft_event_raise(WEFT_EVENT_peer_failed, peer->vci->number, true,
		(int64_t)peer->proc);
	peer->vci->on_failed(peer);
	if (peer->vci->on_win_failed)
		peer->vci->on_win_failed(peer);
	if (peer->vci->on_era_failed)
		peer->vci->on_era_failed(peer);
}

bool weft_peer_has_ended(const struct weft_peer *peer, char *what, size_t len)
{
	what[0] = 0;
	if (peer->state != WEFT_PEER_READY || peer->is_self)
		return false;
	if (!peer->is_shm)
		return weft_net_refuses(
			peer->vci->net, peer->net_addr, what, len);
	if (!weft_pid_has_ended(peer->pid, 0))
		return false;
	snprintf(what, len, "its pid %d does not exist", (int)peer->pid);
	return true;
}

void weft_peer_undelivered(struct weft_peer *peer, int err)
{
	if (err == WEFT_ERR_PEER && !weft_resend_broken(peer))
		weft_peer_unreached(peer);
}

void weft_peer_unreached(struct weft_peer *peer)
{
	if (peer->state == WEFT_PEER_FAILED)
		return;
	weft_log_error("CORE-UNREACHED",
		"the fabric could not deliver a message to process %u: it is "
		"out of reach (weft-info --providers, WEFT_IFACE), or it "
		"exited normally, which the process manager does not report; "
		"operations on it end with errors",
		(uint32_t)peer->proc);
	weft_peer_fail(peer, weft_err_set(WEFT_ERR_PEER,
				     "the fabric cannot reach process %u",
				     (uint32_t)peer->proc));
}

void weft_peer_wire_net(struct weft_peer *peer, struct weft_wire_net *wire,
	const struct weft_wire_head *head)
{
	*wire = (struct weft_wire_net){ .version = WEFT_WIRE_VERSION,
		.number = ++peer->wire_out,
		.src_proc = peer->src_addr,
		.cookie = peer->cookie_out,
		.head = *head };
}

static void on_net_sent(struct weft_op *op, int err, size_t len)
{
	struct out_net *out = weft_container_of(op, struct out_net, op);

	(void)len;
	out->peer->vci->net->n_unsent--;
	if (err && weft_wire_may_be_lost(&out->wire.head))
		weft_proc_query_exit(out->peer->vci, out->peer->proc);
	else if (err && out->wire.head.op != WEFT_WIRE_BC)
		weft_peer_undelivered(out->peer, err);
	free(out);
}

/* Posts a message without a number. It carries no credit, because it may be
 * lost. 0 or WEFT_AGAIN. */
static int post_unnumbered(struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_net *net = peer->vci->net;
	struct out_net *out = malloc(sizeof(*out) + len);
	struct iovec iov;
	int err;

	peer->credit_owed = head->credit;
	if (!out)
		return 0;
	out->op.done = on_net_sent;
	out->peer = peer;
	weft_peer_wire_net(peer, &out->wire, head);
	peer->wire_out--;
	out->wire.number = 0;
	out->wire.head.credit = 0;
	if (len)
		memcpy(out->payload, payload, len);
	iov = (struct iovec){ &out->wire, sizeof(out->wire) + len };
	net->n_unsent++;
	err = weft_net_send(net, peer->net_addr, &iov, 1, &out->op);
	if (err == WEFT_AGAIN) {
		net->n_unsent--;
		free(out);
		return err;
	}
	if (err)
		on_net_sent(&out->op, err, 0);
	return 0;
}

static int post_net_long(struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct out_net *out = malloc(sizeof(*out) + len);
	struct iovec iov;
	int err;

	if (!out)
		return WEFT_ERR_NOMEM;
	out->op.done = on_net_sent;
	out->peer = peer;
	weft_peer_wire_net(peer, &out->wire, head);
	if (len)
		memcpy(out->payload, payload, len);
	iov = (struct iovec){ &out->wire, sizeof(out->wire) + len };
	/* closing the fabric waits for this message, as for an injected message
	 */
	peer->vci->net->n_unsent++;
	err = weft_resend_send(peer, &iov, 1, &out->op);
	if (err) {
		peer->vci->net->n_unsent--;
		peer->wire_out--;
		free(out);
	}
	return err;
}

static int post_net(struct weft_peer *peer, const struct weft_wire_head *head,
	const void *payload, size_t len)
{
	uint8_t buf[256];
	size_t total = sizeof(struct weft_wire_net) + len;
	int err;

	if (weft_wire_may_be_lost(head))
		return post_unnumbered(peer, head, payload, len);
	/* the error of an injected message names no peer */
	if (head->op == WEFT_WIRE_BC || total > sizeof(buf) ||
		total > peer->vci->net->plan.inject_len) {
		err = post_net_long(peer, head, payload, len);
	} else {
		weft_peer_wire_net(
			peer, (struct weft_wire_net *)(void *)buf, head);
		if (len)
			memcpy(buf + sizeof(struct weft_wire_net), payload,
				len);
		err = weft_resend_inject(peer, buf, total);
		if (err)
			peer->wire_out--;
	}
	return err;
}

bool weft_peer_probe_all(struct weft_vci *vci)
{
	const struct weft_wire_head head = { .op = WEFT_WIRE_CREDIT };
	struct weft_map_entry *entry;
	bool is_all = true;
	size_t pos = 0;

	if (vci->net->plan.resends) {
		weft_resend_broken_any(vci);
		return true;
	}
	while ((entry = weft_map_next(&vci->peers, &pos)) != NULL) {
		struct weft_peer *peer = entry->value;

		if (peer->state == WEFT_PEER_READY && !peer->is_shm &&
			!peer->is_self && peer->wire_out &&
			post_net_long(peer, &head, NULL, 0) == WEFT_AGAIN)
			is_all = false;
	}
	return is_all;
}

/* Copies in words of 8 bytes, because the caller has stored the payload in such
 * words. A wider load would wait until all these stores have left the core. */
static inline void place_payload(void *place, const void *payload, size_t len)
{
	if (weft_unlikely(len > WEFT_RING_FIRST || len % 8)) {
		memcpy(place, payload, len);
		return;
	}
	for (size_t at = 0; at < len; at += 8) {
		uint64_t word;

		memcpy(&word, (const char *)payload + at, sizeof(word));
		*(volatile uint64_t *)((char *)place + at) = word;
	}
}

/* Copies field by field, for the same reason as place_payload(). */
static inline void place_head(
	volatile struct weft_wire_head *to, const struct weft_wire_head *head)
{
	to->op = head->op;
	to->flags = head->flags;
	to->number = head->number;
	to->src = head->src;
	to->ctx = head->ctx;
	to->tag = head->tag;
	to->credit = head->credit;
}

int weft_peer_post(struct weft_peer *peer, struct weft_wire_head *head,
	const void *payload, size_t len)
{
	void *place;
	int err;

	weft_peer_stamp(peer, head);
	if (peer->is_self) {
		weft_dispatch(peer->vci, peer, head, payload, len);
		if (peer->vci->n_asleep)
			weft_vci_wake(peer->vci);
		return 0;
	}
	if (!peer->is_shm) {
		err = post_net(peer, head, payload, len);
		if (err)
			peer->credit_owed = head->credit;
		return err;
	}
	place = weft_ring_reserve(&peer->tx, len);
	if (!place) {
		peer->credit_owed = head->credit;
		return WEFT_AGAIN;
	}
	place_payload(place, payload, len);
	place_head(weft_ring_head(&peer->tx), head);
	weft_ring_commit(&peer->tx, len);
	peer->vci->counters.shm_sent++;
	peer->vci->counters.shm_sent_bytes += len;
	return 0;
}

static bool peer_was_connected(const struct weft_peer *peer)
{
	return peer->was_ready || peer->state == WEFT_PEER_READY;
}

void weft_peer_exclude(struct weft_peer *peer)
{
	if (peer->is_self)
		return;
	if (peer_was_connected(peer))
		weft_peer_notify_failed(peer);
	peer->may_live = true;
	peer->is_excluded = true;
	peer->cookie_in = ~peer->cookie_in; /* no message contains it */
	if (peer->rx)
		peer->rx->owner = NULL; /* weft_arrival_ring() checks again */
}

/* Called with the business card of a failed peer to which this process has
 * never sent a message. Connects to the peer, only to notify it. */
static void use_failed_bc(void *arg, int err, const void *data, size_t len)
{
	struct weft_peer *peer = arg;
	struct weft_bc bc;

	peer->is_bc_requested = false;
	if (peer->was_ready || err || weft_bc_read(&bc, data, len) ||
		connect_to(peer, &bc, false))
		return;
	if (peer->tx.ring)
		weft_ring_give_up(&peer->tx);
	peer_send_notice(peer, 0);
}

static void request_failed_bc(struct weft_peer *peer)
{
	if (peer->is_bc_requested || peer->vci->number ||
		!weft_proc_is_member(peer->proc))
		return;
	peer->is_bc_requested = !weft_boot_get(weft_proc.boot,
		(uint32_t)peer->proc, WEFT_BC_KEY, use_failed_bc, peer);
}

void weft_peer_notify_failed(struct weft_peer *peer)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_EXCLUDED };
	uint64_t now = weft_now_ns();

	if (!peer_was_connected(peer)) {
		if (peer->state == WEFT_PEER_FAILED)
			request_failed_bc(peer);
		return;
	}
	if (now - peer->notified_ns < WEFT_NS_PER_S)
		return;
	if (!weft_peer_post(peer, &head, NULL, 0))
		peer->notified_ns = now;
}

void weft_peer_close_wakeups(struct weft_peer *peer)
{
	weft_ring_close_wakeups(&peer->tx, peer->rx);
}

void weft_peer_free(struct weft_peer *peer)
{
	weft_resend_fini(peer);
	weft_ring_detach(&peer->tx);
	free(peer->bc);
	free(peer->rail_addrs);
	free(peer->why);
	drop_controls(peer);
	free(peer);
}

int weft_peer_control(struct weft_peer *peer, struct weft_wire_head *head,
	const void *payload, size_t len)
{
	struct out_control *control;
	int err;

	if (peer->state == WEFT_PEER_FAILED)
		return 0;
	if (weft_peer_is_clear(peer)) {
		err = weft_peer_post(peer, head, payload, len);
		if (err != WEFT_AGAIN)
			return err;
	}
	control = control_create(head, payload, len);
	if (!control)
		return WEFT_ERR_NOMEM;
	weft_peer_queue(peer, &control->out);
	return 0;
}
