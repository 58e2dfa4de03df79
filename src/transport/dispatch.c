/* SPDX-License-Identifier: BSD-3-Clause */
/* dispatch: check where an arrival comes from, find its handler; keep what came
 * before its communicator */
#include "transport/dispatch.h"

#include "base/err.h"
#include "base/log.h"
#include "transport/foreign.h"
#include "transport/vci.h"
#include "transport/proc.h"
#include "shm/ring.h"

#include <stdlib.h>
#include <string.h>

/* One message kept for a communicator that does not exist here yet. */
struct early {
	struct weft_link link;
	struct weft_peer *peer;
	struct weft_wire_head head;
	size_t len;
	uint8_t payload[];
};

void weft_dispatch_set(
	struct weft_vci *vci, enum weft_wire_op op, weft_wire_fn *fn)
{
	vci->handlers[op] = fn;
}

void weft_dispatch_drop(struct weft_vci *vci, const char *why)
{
	if (vci->n_dropped++ == 0)
		weft_log_warn("CORE-DROPPED",
			"dropped a message: %s; further ones are only counted",
			why);
}

static inline void dispatch(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	if (weft_unlikely(
		    head->op >= WEFT_WIRE_OP_END || !vci->handlers[head->op])) {
		weft_dispatch_drop(vci, "unknown operation");
		return;
	}
	peer->credit += head->credit;
	vci->handlers[head->op](vci, peer, head, payload, len);
}

void weft_dispatch(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	dispatch(vci, peer, head, payload, len);
}

/* Can a message come from there? What a VCI tells itself takes no way out. */
static bool is_member(const struct weft_vci *vci, uint64_t addr)
{
	return !((addr ^ weft_proc.proc) & vci->job_mask) &&
	       (uint32_t)addr < weft_proc.facts.size && addr != vci->addr;
}

/* Or from another job, once somebody there may know how to reach us? */
static bool is_remote(const struct weft_vci *vci, uint64_t addr)
{
	return !vci->number && weft_foreign_is(addr) &&
	       atomic_load_explicit(
		       &weft_proc.has_foreign, memory_order_relaxed);
}

/* First message of a ring: is its writer one of us? */
static struct weft_peer *ring_owner(
	struct weft_vci *vci, struct weft_ring_rx *rx)
{
	uint64_t proc = rx->ring->writer_proc;

	if (!is_member(vci, proc))
		return NULL;
	rx->owner = weft_peer_proven(vci, proc, rx->ring->writer_cookie);
	return rx->owner;
}

void weft_dispatch_ring(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len)
{
	struct weft_vci *vci = arg;
	struct weft_peer *peer = rx->owner;
	struct weft_wire_head copy;

	if (weft_unlikely(!peer)) {
		peer = ring_owner(vci, rx);
		if (!peer) {
			weft_dispatch_drop(vci, "foreign writer in a ring");
			return;
		}
	}
	if (weft_unlikely(!head)) {
		weft_dispatch_drop(vci, "a damaged ring in shared memory");
		weft_peer_fail(
			peer, weft_err_set(WEFT_ERR_PROTO,
				      "process %u wrote what is no message",
				      (uint32_t)peer->proc));
		return;
	}
	memcpy(&copy, head, sizeof(copy));
	dispatch(vci, peer, &copy, payload, len);
}

void weft_dispatch_net(void *arg, const void *data, size_t len)
{
	struct weft_vci *vci = arg;
	struct weft_wire_net wire;
	struct weft_peer *peer;

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
	if (!is_member(vci, wire.src_proc) && !is_remote(vci, wire.src_proc)) {
		weft_dispatch_drop(vci, "from a process outside the job");
		return;
	}
	peer = weft_peer_proven(vci, wire.src_proc, wire.cookie);
	if (!peer) {
		weft_dispatch_drop(vci, "without the key of this job");
		return;
	}
	if (weft_unlikely((int32_t)(wire.number - peer->wire_in) <= 0)) {
		weft_dispatch_drop(vci, "a repetition of an earlier message");
		return;
	}
	peer->wire_in = wire.number;
	weft_dispatch(vci, peer, &wire.head, (const char *)data + sizeof(wire),
		len - sizeof(wire));
}

void weft_dispatch_keep(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	uint64_t ctx = head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
	struct weft_link *list = weft_map_get(&vci->early, ctx + 1);
	struct early *early = malloc(sizeof(*early) + len);

	if (!early)
		goto drop;
	if (!list) {
		list = malloc(sizeof(*list));
		if (!list)
			goto drop;
		weft_list_init(list);
		if (weft_map_put(&vci->early, ctx + 1, list)) {
			free(list);
			goto drop;
		}
	}
	early->peer = peer;
	early->head = *head;
	early->head.credit = 0; /* taken already */
	early->len = len;
	if (len)
		memcpy(early->payload, payload, len);
	weft_list_push_back(list, &early->link);
	return;
drop:
	free(early);
	weft_dispatch_drop(vci, "out of memory");
}

void weft_dispatch_replay(struct weft_vci *vci, uint64_t ctx)
{
	struct weft_link *list = weft_map_remove(&vci->early, ctx + 1);
	struct weft_link *link;

	if (!list)
		return;
	while ((link = weft_list_pop_front(list)) != NULL) {
		struct early *early =
			weft_container_of(link, struct early, link);

		weft_dispatch(vci, early->peer, &early->head, early->payload,
			early->len);
		free(early);
	}
	free(list);
}

bool weft_dispatch_unkeep(struct weft_vci *vci, uint64_t ctx,
	weft_dispatch_is_fn *is, const void *arg)
{
	struct weft_link *list = weft_map_get(&vci->early, ctx + 1);

	if (!list)
		return false;
	weft_list_for_each(link, next, list)
	{
		struct early *early =
			weft_container_of(link, struct early, link);

		if (!is(early->peer, &early->head, early->payload, early->len,
			    arg))
			continue;
		weft_list_remove(link);
		free(early);
		return true;
	}
	return false;
}

void weft_dispatch_forget(struct weft_vci *vci)
{
	size_t pos = 0;
	struct weft_map_entry *entry;

	while ((entry = weft_map_next(&vci->early, &pos)) != NULL) {
		struct weft_link *list = entry->value;
		struct weft_link *link;

		while ((link = weft_list_pop_front(list)) != NULL)
			free(weft_container_of(link, struct early, link));
		free(list);
	}
	weft_map_fini(&vci->early);
}
