/* SPDX-License-Identifier: BSD-3-Clause */
/* resend: messages of a broken connection are sent again
 *
 * Messages over the fabric have consecutive numbers. The sender keeps a copy of
 * each message until the receiver has acknowledged its number (ACK). The
 * receiver sends an ACK after ACK_MESSAGES messages or ACK_LEN bytes. If no ACK
 * arrives for some time, the sender requests one (a probe), so the copy of the
 * last message does not stay for long, and a lost message is noticed even if no
 * later message follows.
 *
 * A connection keeps order. So a message or a probe whose number is too high
 * proves that earlier messages are lost. The receiver drops that message, and
 * requests all messages after the last number that it has received. The sender
 * sends them again, in order, before any new message. The receiver drops a
 * message with an old number. Requests and probes may be lost too: the sender
 * probes until an ACK arrives.
 *
 * The provider connects again when a message is posted. The fabric reports
 * errors of a connection only for operations that it has not completed, so an
 * error only makes the next probe earlier. */
#include "transport/resend.h"

#include "base/clock.h"
#include "base/log.h"
#include "net/net.h"
#include "transport/dispatch.h"
#include "transport/peer.h"
#include "transport/vci.h"

#include <stdlib.h>
#include <string.h>

enum {
	LOG_LEN = 4096, /* bytes: initial size of the log */
	ACK_MESSAGES = 64,
	ACK_LEN = 128 << 10, /* bytes */
	HOOK_ROUNDS = 16,    /* rounds of progress between reads of the clock */
	PROBE_MS = 250,	     /* first probe after an ACK */
	BROKEN_MS = 20,	     /* first probe after an error of the fabric */
	PROBE_MAX_MS = 2000, /* each probe doubles the time to the next one, up
				to this limit */
	PROBES_QUIET = 4,    /* unanswered probes before the port is tested */
};

/* A copy in the log; the message follows, padded to 8 bytes. */
struct copy {
	uint64_t len;
};

/* A copy that is posted again with a completion. */
struct again {
	struct weft_op op;
	struct weft_peer *peer;
	uint8_t data[];
};

static size_t copy_len(size_t len)
{
	return sizeof(struct copy) + ((len + 7) & ~(size_t)7);
}

static bool resend_is_on(const struct weft_peer *peer)
{
	return peer->vci->net->plan.resends && peer->state != WEFT_PEER_FAILED;
}

/* Moves the copies to the start of the log, or enlarges the log. */
static int log_grow(struct weft_resend *r, size_t len)
{
	size_t used = r->end - r->begin, size = r->size ? r->size : LOG_LEN;
	uint8_t *log;

	while (size < 2 * (used + len))
		size *= 2;
	if (size == r->size) {
		memmove(r->log, r->log + r->begin, used);
	} else {
		log = malloc(size);
		if (!log)
			return weft_err_set(WEFT_ERR_NOMEM,
				"no memory for %zu bytes of messages that may "
				"have to be sent again",
				size);
		if (used)
			memcpy(log, r->log + r->begin, used);
		free(r->log);
		r->log = log;
		r->size = size;
	}
	r->at -= r->begin;
	r->end = used;
	r->begin = 0;
	return 0;
}

/* Provides space for a copy of len bytes. */
static inline int log_reserve(struct weft_resend *r, size_t len)
{
	len = copy_len(len);
	return weft_likely(r->end + len <= r->size) ? 0 : log_grow(r, len);
}

static void resend_tick(struct weft_progress_hook *hook);

static void resend_watch(struct weft_peer *peer)
{
	struct weft_vci *vci = peer->vci;

	peer->resend.due_ns = 0;
	peer->resend.n_probes = 0;
	weft_list_push_back(&vci->unacked, &peer->resend.link);
	if (!weft_list_is_empty(&vci->resend_hook.link))
		return;
	vci->resend_hook.run = resend_tick;
	weft_list_push_back(&vci->hooks, &vci->resend_hook.link);
}

static void resend_unwatch(struct weft_peer *peer)
{
	weft_list_remove(&peer->resend.link);
	if (weft_list_is_empty(&peer->vci->unacked))
		weft_list_remove(&peer->vci->resend_hook.link);
}

/* Appends a copy, for which log_reserve() has provided the space. */
static inline void log_append(
	struct weft_peer *peer, const struct iovec *iov, size_t n_iov)
{
	struct weft_resend *r = &peer->resend;
	uint8_t *at = r->log + r->end + sizeof(struct copy);
	struct copy copy = { 0 };
	bool is_idle = r->at == r->end;

	for (size_t i = 0; i < n_iov; i++) {
		if (iov[i].iov_len)
			memcpy(at + copy.len, iov[i].iov_base, iov[i].iov_len);
		copy.len += iov[i].iov_len;
	}
	memcpy(r->log + r->end, &copy, sizeof(copy));
	if (weft_unlikely(r->begin == r->end))
		resend_watch(peer);
	r->end += copy_len(copy.len);
	if (is_idle)
		r->at = r->end;
}

int weft_resend_inject(struct weft_peer *peer, const void *buf, size_t len)
{
	struct weft_net *net = peer->vci->net;
	struct iovec iov = { (void *)buf, len };
	bool is_on = resend_is_on(peer);
	int err = is_on ? log_reserve(&peer->resend, len) : 0;

	if (!err)
		err = weft_net_inject(net, peer->net_addr, buf, len);
	if (!err && is_on)
		log_append(peer, &iov, 1);
	return err;
}

int weft_resend_send(struct weft_peer *peer, const struct iovec *iov,
	size_t n_iov, struct weft_op *op)
{
	size_t len = iov[0].iov_len + (n_iov > 1 ? iov[1].iov_len : 0);
	bool is_on = resend_is_on(peer);
	int err = is_on ? log_reserve(&peer->resend, len) : 0;

	if (!err)
		err = weft_net_send(
			peer->vci->net, peer->net_addr, iov, n_iov, op);
	if (!err && is_on)
		log_append(peer, iov, n_iov);
	return err;
}

/* ---- acknowledgements ---- */

/* Reads the header of the copy at an offset. Returns the message's length. */
static size_t copy_at(
	const struct weft_resend *r, size_t at, struct weft_wire_net *wire)
{
	struct copy copy;

	memcpy(&copy, r->log + at, sizeof(copy));
	memcpy(wire, r->log + at + sizeof(copy), sizeof(*wire));
	return copy.len;
}

/* Returns the number of the last message that was posted in order. */
static uint32_t last_posted(const struct weft_peer *peer)
{
	const struct weft_resend *r = &peer->resend;
	struct weft_wire_net next;

	if (r->at == r->end)
		return peer->wire_out;
	copy_at(r, r->at, &next);
	return next.number - 1;
}

/* Posts an ACK. 0, WEFT_AGAIN or an error; the message may be lost. */
static int ack_post(struct weft_peer *peer, uint8_t flags)
{
	struct weft_wire_net wire = {
		.version = WEFT_WIRE_VERSION,
		.number = last_posted(peer),
		.src_proc = peer->src_addr,
		.cookie = peer->cookie_out,
		.head = {
			.op = WEFT_WIRE_ACK,
			.flags = flags,
			.tag = (int32_t)peer->wire_in,
		},
	};
	int err = weft_net_inject(
		peer->vci->net, peer->net_addr, &wire, sizeof(wire));

	if (!err) {
		peer->resend.n_in = 0;
		peer->resend.in_len = 0;
	}
	return err;
}

/* True if an ACK can be posted. Resolves the peer otherwise. */
static bool can_answer(struct weft_peer *peer)
{
	if (weft_unlikely(peer->state == WEFT_PEER_NEW))
		weft_peer_resolve(peer);
	return peer->state == WEFT_PEER_READY && !peer->is_shm;
}

void weft_resend_received(struct weft_peer *peer, size_t len)
{
	struct weft_resend *r = &peer->resend;

	r->n_in++;
	r->in_len += len;
	if ((r->n_in >= ACK_MESSAGES || r->in_len >= ACK_LEN) &&
		can_answer(peer))
		ack_post(peer, 0);
}

void weft_resend_request(struct weft_peer *peer)
{
	struct weft_resend *r = &peer->resend;

	if ((r->has_requested && r->requested == peer->wire_in) ||
		!can_answer(peer) || ack_post(peer, WEFT_WIRE_ACK_LOST))
		return;
	r->has_requested = true;
	r->requested = peer->wire_in;
}

/* ---- the sender ---- */

/* Drops the copies of acknowledged messages. */
static void log_release(struct weft_peer *peer, uint32_t number)
{
	struct weft_resend *r = &peer->resend;
	struct weft_wire_net wire;

	if (r->begin == r->end)
		return;
	while (r->begin < r->end) {
		size_t len = copy_at(r, r->begin, &wire);

		if ((int32_t)(wire.number - number) > 0)
			break;
		r->begin += copy_len(len);
	}
	if (r->at < r->begin)
		r->at = r->begin;
	if (r->begin < r->end)
		return;
	r->begin = r->end = r->at = 0;
	resend_unwatch(peer);
}

static void again_done(struct weft_op *op, int err, size_t len)
{
	struct again *again = weft_container_of(op, struct again, op);

	(void)len;
	again->peer->vci->net->n_unsent--;
	if (err)
		weft_peer_undelivered(again->peer, err);
	free(again);
}

/* Posts a message of the log again. The fabric must not read the log later,
 * because the log may move. */
static int again_post(struct weft_peer *peer, const void *data, size_t len)
{
	struct weft_net *net = peer->vci->net;
	struct again *again;
	struct iovec iov;
	int err;

	if (len <= net->plan.inject_len)
		return weft_net_inject(net, peer->net_addr, data, len);
	again = malloc(sizeof(*again) + len);
	if (!again)
		return WEFT_ERR_NOMEM;
	again->op.done = again_done;
	again->peer = peer;
	memcpy(again->data, data, len);
	iov = (struct iovec){ again->data, len };
	net->n_unsent++;
	err = weft_net_send(net, peer->net_addr, &iov, 1, &again->op);
	if (err) {
		net->n_unsent--;
		free(again);
	}
	return err;
}

static int push_again(struct weft_peer *peer, struct weft_out *out)
{
	struct weft_resend *r = &peer->resend;

	(void)out;
	while (peer->state == WEFT_PEER_READY && r->at < r->end) {
		struct weft_wire_net wire;
		size_t len = copy_at(r, r->at, &wire);
		int err = again_post(
			peer, r->log + r->at + sizeof(struct copy), len);

		if (err == WEFT_AGAIN)
			return err;
		if (err) {
			weft_peer_fail(peer, err);
			return 0;
		}
		r->at += copy_len(len);
		peer->vci->net->counters.net_resent++;
	}
	return 0;
}

/* The receiver has lost all messages after this number. */
static void send_again(struct weft_peer *peer, uint32_t number)
{
	struct weft_resend *r = &peer->resend;
	struct weft_wire_net first;

	if (number == peer->wire_out)
		return;
	if (r->begin == r->end ||
		(copy_at(r, r->begin, &first), first.number != number + 1)) {
		weft_dispatch_drop(
			peer->vci, "a request for messages that had arrived");
		return;
	}
	weft_log_info("CORE-RESEND",
		"the connection to process %u broke: messages after number %u "
		"are sent again, up to number %u",
		(uint32_t)peer->proc, number, peer->wire_out);
	r->at = r->begin;
	peer->resend_out.push = push_again;
	if (weft_list_is_empty(&peer->resend_out.link))
		weft_peer_queue_first(peer, &peer->resend_out);
}

void weft_resend_on_ack(
	struct weft_peer *peer, const struct weft_wire_net *wire)
{
	uint32_t number = (uint32_t)wire->head.tag;
	bool is_lost = (int32_t)(wire->number - peer->wire_in) > 0;

	if ((int32_t)(peer->wire_out - number) < 0) {
		weft_dispatch_drop(peer->vci, "malformed ACK");
		return;
	}
	if (peer->state == WEFT_PEER_FAILED) {
		weft_peer_notify_failed(peer);
		return;
	}
	peer->resend.is_broken = false;
	peer->resend.due_ns = 0;
	peer->resend.n_probes = 0;
	log_release(peer, number);
	if (wire->head.flags & WEFT_WIRE_ACK_LOST)
		send_again(peer, number);
	if (!(wire->head.flags & WEFT_WIRE_ACK_PROBE)) {
		if (is_lost)
			weft_resend_request(peer);
	} else if (can_answer(peer)) {
		ack_post(peer, is_lost ? WEFT_WIRE_ACK_LOST : 0);
	}
}

/* ---- probes ---- */

/* True if the peer has not acknowledged a message other than this process's
 * business card. After the card alone, WATCH may follow, which may be lost. */
static bool has_lost(const struct weft_resend *r)
{
	struct weft_wire_net wire = { .head.op = WEFT_WIRE_BC };
	size_t at = r->begin;

	while (at < r->end && wire.head.op == WEFT_WIRE_BC)
		at += copy_len(copy_at(r, at, &wire));
	return wire.head.op != WEFT_WIRE_BC;
}

/* Called for a peer that does not answer. If its port refuses connections, the
 * process has ended. The peer fails if a message to it is known to be lost, and
 * if this process needs it. Otherwise it may have received the message, and
 * have exited normally. */
static bool probe_finds_end(struct weft_peer *peer)
{
	struct weft_resend *r = &peer->resend;
	char what[256];

	if (r->n_probes < (r->is_broken ? 1 : PROBES_QUIET) ||
		!weft_peer_has_ended(peer, what, sizeof(what)))
		return false;
	if (r->is_broken && has_lost(r) && peer->vci->needs_peer(peer))
		weft_peer_unreached(peer);
	else
		weft_resend_fini(peer);
	return true;
}

static void resend_probe(struct weft_peer *peer, uint64_t now)
{
	struct weft_resend *r = &peer->resend;
	uint64_t ms = r->is_broken ? BROKEN_MS : PROBE_MS;

	if (!r->due_ns && !r->is_broken)
		r->due_ns = now + ms * (WEFT_NS_PER_S / 1000);
	if (now < r->due_ns || probe_finds_end(peer))
		return;
	ack_post(peer, WEFT_WIRE_ACK_PROBE);
	ms = weft_min(ms << weft_min(r->n_probes, 7u), (uint64_t)PROBE_MAX_MS);
	r->due_ns = now + ms * (WEFT_NS_PER_S / 1000);
	r->n_probes++;
}

static void resend_tick(struct weft_progress_hook *hook)
{
	struct weft_vci *vci =
		weft_container_of(hook, struct weft_vci, resend_hook);
	uint64_t now;

	if (++vci->n_resend_rounds % HOOK_ROUNDS)
		return;
	now = weft_now_ns();
	weft_list_for_each(link, next, &vci->unacked)
	{
		resend_probe(
			weft_container_of(link, struct weft_peer, resend.link),
			now);
	}
}

bool weft_resend_broken(struct weft_peer *peer)
{
	struct weft_resend *r = &peer->resend;

	if (!resend_is_on(peer))
		return false;
	if (r->is_broken)
		return true;
	r->is_broken = true;
	r->due_ns = 0;
	r->n_probes = 0;
	return true;
}

void weft_resend_broken_any(struct weft_vci *vci)
{
	weft_list_for_each(link, next, &vci->unacked)
	{
		weft_resend_broken(
			weft_container_of(link, struct weft_peer, resend.link));
	}
}

void weft_resend_fini(struct weft_peer *peer)
{
	struct weft_resend *r = &peer->resend;

	weft_list_remove(&peer->resend_out.link);
	resend_unwatch(peer);
	free(r->log);
	r->log = NULL;
	r->size = r->begin = r->end = r->at = 0;
}
