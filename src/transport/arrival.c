/* SPDX-License-Identifier: BSD-3-Clause */
/* arrival: checks the sender of a message, and passes the message to its
 * handler */
#include "transport/arrival.h"

#include "base/err.h"
#include "base/log.h"
#include "transport/dispatch.h"
#include "transport/foreign.h"
#include "transport/proc.h"
#include "shm/ring.h"

#include <string.h>

/* True if a message can arrive from this address. Messages of a VCI to itself
 * do not use a transport. */
static bool is_member(const struct weft_vci *vci, uint64_t addr)
{
	return !((addr ^ weft_proc.proc) & vci->job_mask) &&
	       (uint32_t)addr < weft_proc.facts.size && addr != vci->addr;
}

/* True for a process of another job, if processes of other jobs may have this
 * process's card. */
static bool arrival_is_foreign(const struct weft_vci *vci, uint64_t addr)
{
	return !vci->number && weft_foreign_is(addr) &&
	       atomic_load_explicit(
		       &weft_proc.has_foreign, memory_order_relaxed);
}

/* Checks the writer of a ring that has no owner yet. Returns the writer's peer,
 * or NULL if messages of the writer are not accepted, or it is excluded. */
static struct weft_peer *ring_owner(
	struct weft_vci *vci, struct weft_ring_rx *rx)
{
	uint64_t proc = rx->ring->writer_proc;
	struct weft_peer *peer;

	if (!is_member(vci, proc) && !arrival_is_foreign(vci, proc))
		return NULL;
	peer = weft_peer_by_cookie(vci, proc, rx->ring->writer_cookie);
	if (peer) {
		peer->rx = rx;
		peer->tx.back = rx;
	}
	rx->owner = peer;
	return peer;
}

void weft_arrival_ring(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len)
{
	struct weft_vci *vci = arg;
	struct weft_peer *peer = rx->owner;
	struct weft_wire_head copy;

	if (weft_unlikely(!peer)) {
		peer = ring_owner(vci, rx);
		if (!peer) {
			weft_dispatch_drop(vci,
				"from a foreign writer in a ring, or from a "
				"process that counts as failed");
			return;
		}
	}
	if (weft_unlikely(!head)) {
		weft_dispatch_drop(vci, "a damaged ring in shared memory");
		weft_peer_fail(
			peer, weft_err_set(WEFT_ERR_PROTO,
				      "process %u wrote an invalid message",
				      (uint32_t)peer->proc));
		return;
	}
	vci->counters.shm_received++;
	vci->counters.shm_received_bytes += len;
	memcpy(&copy, head, sizeof(copy));
	weft_dispatch(vci, peer, &copy, payload, len);
}

/* The connection to the peer broke, and the provider established a new
 * connection, but the lost messages are not sent again. The peer may not have
 * detected the loss. */
static void on_lost(struct weft_peer *peer, int32_t n)
{
	if (peer->state == WEFT_PEER_FAILED) {
		weft_peer_notify_failed(peer);
		return;
	}
	weft_log_error("CORE-LOST",
		"the fabric lost %d message(s) from process %u (its connection "
		"broke); operations on that process end with errors",
		(int)n, (uint32_t)peer->proc);
	peer->may_live = true;
	weft_peer_fail(
		peer, weft_err_set(WEFT_ERR_PEER,
			      "the fabric lost %d message(s) from process %u",
			      (int)n, (uint32_t)peer->proc));
	weft_peer_notify_failed(peer);
}

/* True if messages that a broken connection has lost are sent again. */
static bool arrival_resends(const struct weft_vci *vci)
{
	return vci->net && vci->net->plan.resends;
}

/* Handles a message that does not have the next number. n_ahead is the distance
 * of its number from that of the last message, and not 1. */
static void on_other(struct weft_peer *peer, const struct weft_wire_net *wire,
	const void *payload, size_t len, int32_t n_ahead)
{
	struct weft_vci *vci = peer->vci;
	bool resends = arrival_resends(vci);

	if (n_ahead > 1 && wire->head.op == WEFT_WIRE_EXCLUDED)
		weft_dispatch(vci, peer, &wire->head, NULL, 0);
	else if (n_ahead > 1 && resends && peer->state != WEFT_PEER_FAILED)
		weft_resend_request(peer);
	else if (n_ahead > 1)
		on_lost(peer, n_ahead - 1);
	else if (wire->head.op == WEFT_WIRE_BC &&
		 weft_peer_on_second_bc(peer, payload, len))
		return;
	else if (!resends)
		weft_dispatch_drop(vci, "a repetition of an earlier message");
	else {
		vci->counters.dropped++; /* no warning: it was sent again */
		weft_resend_received(peer, 0);
	}
}

void weft_arrival_net(void *arg, const void *data, size_t len)
{
	struct weft_vci *vci = arg;
	struct weft_wire_net wire;
	struct weft_peer *peer;
	int32_t n_ahead;

	if (!weft_wire_get_net(&wire, data, len)) {
		weft_dispatch_drop(vci, "shorter than its header");
		return;
	}
	if (wire.version != WEFT_WIRE_VERSION) {
		weft_dispatch_drop(vci,
			"another version of the wire format; is the same "
			"library in use everywhere?");
		return;
	}
	if (!is_member(vci, wire.src_proc) &&
		!arrival_is_foreign(vci, wire.src_proc)) {
		weft_dispatch_drop(vci, "from a process outside the job");
		return;
	}
	peer = weft_peer_by_cookie(vci, wire.src_proc, wire.cookie);
	if (!peer) {
		weft_dispatch_drop(vci,
			"without the key of this job, or from a process that "
			"counts as failed");
		return;
	}
	if (weft_unlikely(wire.head.op == WEFT_WIRE_ACK)) {
		if (arrival_resends(vci))
			weft_resend_on_ack(peer, &wire);
		else
			weft_dispatch_drop(vci, "an unexpected ACK");
		return;
	}
	if (weft_unlikely(weft_wire_may_be_lost(&wire.head))) {
		weft_dispatch(vci, peer, &wire.head,
			(const char *)data + sizeof(wire), len - sizeof(wire));
		return;
	}
	n_ahead = (int32_t)(wire.number - peer->wire_in);
	if (weft_unlikely(n_ahead != 1)) {
		on_other(peer, &wire, (const char *)data + sizeof(wire),
			len - sizeof(wire), n_ahead);
		return;
	}
	peer->wire_in = wire.number;
	weft_dispatch(vci, peer, &wire.head, (const char *)data + sizeof(wire),
		len - sizeof(wire));
	if (arrival_resends(vci))
		weft_resend_received(peer, len);
}
