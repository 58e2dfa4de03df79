/* SPDX-License-Identifier: BSD-3-Clause */
/* peer: resolve on first use, post, queue when pushed back */
#include "core/peer.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/knob.h"
#include "base/log.h"
#include "core/card.h"
#include "core/outer.h"
#include "core/lane.h"
#include "core/proc.h"
#include "net/net.h"
#include "shm/copy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CARD_RETRY_NS = 2000000 };

/* A control message that waits: owns its payload. */
struct out_control {
	struct weft_out out;
	struct weft_wire_head head;
	size_t len;
	uint8_t payload[];
};

/* A message too long to inject, on its way through the fabric. */
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

/* What messages from there to this lane carry. */
static uint64_t cookie_from(const struct weft_lane *lane, uint64_t addr)
{
	uint8_t key[16];

	if (lane->number || !weft_outer_is(addr))
		return cookie(weft_proc.facts.own_key, addr, lane->addr);
	weft_outer_key(key);
	return cookie(key, addr, lane->addr);
}

/* A lane of a process that has died: its default lane's peer says so. */
static void inherit_death(struct weft_lane *lane, struct weft_peer *peer)
{
	const struct weft_peer *first =
		weft_map_get(&lane->peers, peer->proc + 1);

	if (!first || first->state != WEFT_PEER_DEAD)
		return;
	peer->state = WEFT_PEER_DEAD;
	peer->err = first->err;
}

struct weft_peer *weft_peer_of(struct weft_lane *lane, uint64_t addr)
{
	struct weft_peer *peer = weft_map_get(&lane->peers, addr + 1);

	if (peer)
		return peer;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->proc = lane->number ? (weft_proc.proc & ~(uint64_t)UINT32_MAX) |
					    (uint32_t)addr
				  : addr;
	peer->addr = addr;
	peer->src_addr = lane->addr;
	peer->lane = lane;
	peer->credit = weft_knobs.eager_window;
	peer->cookie_in = cookie_from(lane, addr);
	weft_list_init(&peer->pending);
	weft_list_init(&peer->link);
	if (addr == lane->addr) {
		peer->is_self = true;
		peer->net_addr = UINT64_MAX; /* see p2p/nic_send.c */
		peer->can_read = true;
		peer->pid = getpid();
		peer->state = WEFT_PEER_READY;
	}
	if (weft_unlikely(lane->n_lost))
		inherit_death(lane, peer);
	if (weft_map_put(&lane->peers, addr + 1, peer)) {
		free(peer);
		return NULL;
	}
	return peer;
}

struct weft_peer *weft_peer_proven(
	struct weft_lane *lane, uint64_t addr, uint64_t value)
{
	struct weft_peer *peer = weft_map_get(&lane->peers, addr + 1);

	if (weft_likely(peer))
		return peer->cookie_in == value ? peer : NULL;
	if (value != cookie_from(lane, addr))
		return NULL;
	return weft_peer_of(lane, addr);
}

/* The longest message that goes through a ring. */
static uint64_t room_needed(void)
{
	return (uint64_t)weft_knobs.shm_eager;
}

/* Where the peer rings when there is space in its ring again. */
static void tell_bell(struct weft_peer *peer)
{
	struct weft_bell_at at;

	if (peer->lane->bell.wr < 0)
		return;
	weft_bell_describe(&peer->lane->bell, &at);
	weft_ring_set_bell(&peer->tx, &at);
}

/* Decides how to reach the peer. 0 or an error. */
static int connect_to(struct weft_peer *peer, const struct weft_card *card)
{
	struct weft_lane *lane = peer->lane;
	int err;

	peer->cookie_out = cookie(card->key, lane->addr, peer->addr);
	peer->pid = card->shm.pid;
	if (lane->shm && card->shm.pid &&
		(lane->number || weft_proc_is_near(peer->proc))) {
		err = weft_ring_attach(&peer->tx, &card->shm,
			lane->number * weft_proc.facts.local_size +
				weft_proc.facts.local_rank,
			lane->addr, peer->cookie_out);
		if (!err && peer->tx.buf_len / 2 < room_needed()) {
			weft_ring_detach(&peer->tx);
			err = weft_err_set(WEFT_ERR_PEER,
				"the ring of process %u is too small for "
				"messages of WEFT_SHM_EAGER bytes; set "
				"WEFT_SHM_RING alike everywhere",
				(uint32_t)peer->proc);
		}
		if (!err) {
			peer->is_shm = true;
			tell_bell(peer);
			peer->can_read = weft_knob_is_on(weft_knobs.cma) &&
					 weft_copy_can_read(&card->shm);
			return 0;
		}
		weft_log_info("CORE-NOSHM",
			"%s; using the fabric for process %u",
			weft_err_detail_peek(err), (uint32_t)peer->proc);
	}
	err = lane->net || lane->number ? 0 : weft_proc_open_net();
	if (err)
		return err;
	if (!card->name_len || !lane->net)
		return weft_err_set(WEFT_ERR_PEER,
			"process %u has no fabric open and cannot be reached "
			"through shared memory; start all processes with the "
			"same WEFT_SHM",
			(uint32_t)peer->proc);
	err = weft_net_peer_add(
		lane->net, card->name, card->name_len, &peer->net_addr);
	return err ? err : weft_rail_meet(peer, card);
}

/* The end of resolving. */
static void take_card(
	struct weft_peer *peer, int err, const struct weft_card *card)
{
	if (!err)
		err = connect_to(peer, card);
	if (err) {
		weft_log_error("CORE-NOPEER", "cannot reach process %u: %s: %s",
			(uint32_t)peer->proc, weft_err_str(err),
			weft_err_detail_peek(err));
		weft_peer_die(peer, err);
		return;
	}
	peer->state = WEFT_PEER_READY;
	weft_log_debug("CORE-PEER",
		"process %u reached through %s, single copy %s, lane %u",
		(uint32_t)peer->proc,
		peer->is_shm ? "shared memory" : "the fabric",
		peer->can_read ? "yes" : "no", peer->lane->number);
	weft_peer_flush(peer);
}

static void peer_on_card(void *arg, int err, const void *data, size_t len)
{
	struct weft_peer *peer = arg;
	struct weft_card card;

	if (peer->state != WEFT_PEER_RESOLVING)
		return;
	if (err == WEFT_ERR_NOTFOUND) {
		/* Not published yet: some managers say so instead of waiting.
		 * Its death would be heard of. */
		peer->retry_ns = weft_now_ns() + CARD_RETRY_NS;
		return;
	}
	if (!err)
		err = weft_card_read(&card, data, len);
	take_card(peer, err, &card);
}

/* What processes swap about lanes, in the form of the default lane's. */
static void take_lane_card(struct weft_peer *peer)
{
	struct weft_card card;

	weft_card_init(&card);
	card.shm = peer->card->shm;
	memcpy(card.key, peer->card->key, sizeof(card.key));
	card.name_len = peer->card->name_len;
	memcpy(card.name, peer->card->name, sizeof(peer->card->name));
	take_card(peer, 0, &card);
}

int weft_peer_meet(
	struct weft_peer *peer, const struct weft_lane_card *card, bool is_near)
{
	if (peer->card || peer->is_self)
		return 0;
	peer->card = malloc(sizeof(*card));
	if (!peer->card)
		return WEFT_ERR_NOMEM;
	*peer->card = *card;
	if (!is_near)
		peer->card->shm.pid = 0;
	if (peer->card->name_len > sizeof(card->name))
		peer->card->name_len = 0;
	if (peer->state == WEFT_PEER_RESOLVING)
		take_lane_card(peer);
	return 0;
}

static void ask_card(struct weft_peer *peer)
{
	int err;

	if (peer->lane->number || weft_outer_is(peer->proc)) {
		if (peer->card)
			take_lane_card(peer);
		return; /* else it comes with a communicator */
	}
	err = weft_boot_get(weft_proc.boot, (uint32_t)peer->proc, WEFT_CARD_KEY,
		peer_on_card, peer);

	peer->retry_ns = 0;
	if (err)
		peer_on_card(peer, err, NULL, 0);
}

void weft_peer_resolve(struct weft_peer *peer)
{
	if (peer->state != WEFT_PEER_NEW)
		return;
	peer->state = WEFT_PEER_RESOLVING;
	ask_card(peer);
}

void weft_peer_queue(struct weft_peer *peer, struct weft_out *out)
{
	weft_list_push_back(&peer->pending, &out->link);
	if (!peer->is_queued) {
		peer->is_queued = true;
		weft_list_push_back(&peer->lane->flush, &peer->link);
	}
	if (peer->state == WEFT_PEER_NEW)
		weft_peer_resolve(peer);
}

int weft_peer_flush(struct weft_peer *peer)
{
	int n = 0;

	if (weft_unlikely(peer->retry_ns && weft_now_ns() >= peer->retry_ns))
		ask_card(peer);
	while (!weft_list_is_empty(&peer->pending) &&
		(peer->state == WEFT_PEER_READY ||
			peer->state == WEFT_PEER_DEAD)) {
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
	if (weft_list_is_empty(&peer->pending) && peer->is_queued) {
		peer->is_queued = false;
		weft_list_remove(&peer->link);
	}
	return n;
}

void weft_peer_die(struct weft_peer *peer, int err)
{
	if (peer->is_self || peer->state == WEFT_PEER_DEAD)
		return;
	peer->state = WEFT_PEER_DEAD;
	peer->err = err;
	peer->lane->n_lost++;
	weft_peer_flush(peer);
	peer->lane->on_lost(peer);
}

void weft_peer_undelivered(struct weft_peer *peer, int err)
{
	if (err != WEFT_ERR_PEER || peer->state == WEFT_PEER_DEAD)
		return;
	weft_log_error("CORE-UNREACHED",
		"the fabric could not deliver a message to process %u, which "
		"has not ended as far as the process manager knows; what "
		"waits for it ends with an error (weft-info --providers, "
		"WEFT_IFACE)",
		(uint32_t)peer->proc);
	weft_peer_die(
		peer, weft_err_set(err, "the fabric cannot reach process %u",
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
	out->peer->lane->net->n_unsent--;
	if (err)
		weft_peer_undelivered(out->peer, err);
	free(out);
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
	/* waited for when the fabric closes, as an injected one is */
	peer->lane->net->n_unsent++;
	err = weft_net_send(peer->lane->net, peer->net_addr, &iov, 1, &out->op);
	if (err) {
		peer->lane->net->n_unsent--;
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

	if (total > sizeof(buf) || total > peer->lane->net->plan.inject_len) {
		err = post_net_long(peer, head, payload, len);
	} else {
		weft_peer_wire_net(
			peer, (struct weft_wire_net *)(void *)buf, head);
		if (len)
			memcpy(buf + sizeof(struct weft_wire_net), payload,
				len);
		err = weft_net_inject(
			peer->lane->net, peer->net_addr, buf, total);
	}
	return err;
}

bool weft_peer_probe_all(struct weft_lane *lane)
{
	const struct weft_wire_head head = { .op = WEFT_WIRE_CREDIT };
	struct weft_map_entry *entry;
	bool is_all = true;
	size_t pos = 0;

	while ((entry = weft_map_next(&lane->peers, &pos)) != NULL) {
		struct weft_peer *peer = entry->value;

		if (peer->state == WEFT_PEER_READY && !peer->is_shm &&
			!peer->is_self && peer->wire_out &&
			post_net_long(peer, &head, NULL, 0) == WEFT_AGAIN)
			is_all = false;
	}
	return is_all;
}

int weft_peer_post(struct weft_peer *peer, struct weft_wire_head *head,
	const void *payload, size_t len)
{
	void *place;
	int err;

	weft_peer_stamp(peer, head);
	if (peer->is_self) {
		weft_dispatch(peer->lane, peer, head, payload, len);
		if (peer->lane->n_asleep)
			weft_lane_wake(peer->lane);
		return 0;
	}
	if (!peer->is_shm) {
		err = post_net(peer, head, payload, len);
		if (err)
			peer->owed = head->credit;
		return err;
	}
	place = weft_ring_reserve(&peer->tx, len);
	if (!place) {
		peer->owed = head->credit;
		return WEFT_AGAIN;
	}
	if (len)
		memcpy(place, payload, len);
	weft_ring_commit(&peer->tx, head, len);
	return 0;
}

static int push_control(struct weft_peer *peer, struct weft_out *out)
{
	struct out_control *control =
		weft_container_of(out, struct out_control, out);
	int err = 0;

	if (peer->state != WEFT_PEER_DEAD)
		err = weft_peer_post(
			peer, &control->head, control->payload, control->len);
	if (err == WEFT_AGAIN)
		return err;
	if (err)
		weft_peer_die(peer, err);
	free(control);
	return 0;
}

int weft_peer_control(struct weft_peer *peer, struct weft_wire_head *head,
	const void *payload, size_t len)
{
	struct out_control *control;
	int err;

	if (peer->state == WEFT_PEER_DEAD)
		return 0;
	if (weft_peer_is_clear(peer)) {
		err = weft_peer_post(peer, head, payload, len);
		if (err != WEFT_AGAIN)
			return err;
	}
	control = malloc(sizeof(*control) + len);
	if (!control)
		return WEFT_ERR_NOMEM;
	control->out.push = push_control;
	control->head = *head;
	control->len = len;
	if (len)
		memcpy(control->payload, payload, len);
	weft_peer_queue(peer, &control->out);
	return 0;
}
