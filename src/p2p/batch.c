/* SPDX-License-Identifier: BSD-3-Clause */
/* batch: several short messages to one peer in one message of the fabric
 *
 * Over sockets, each message of the fabric is a system call, which costs more
 * than the library's work for a short message. So between two rounds of
 * progress, only the first two short non-blocking sends to a peer are posted
 * immediately. Further sends are queued at the peer. The queue is sent:
 * - in the next round of progress; calls that wait or test make such rounds,
 * - after each BATCH_ENOUGH queued sends,
 * - while the program computes, by the progress thread within one or two
 *   milliseconds.
 *
 * Adjacent short messages of the queue share one message of the fabric. */
#include "p2p/p2p_priv.h"

#include "base/log.h"
#include "net/net.h"
#include "transport/proc.h"
#include "transport/progress_thread.h"

#include <stdlib.h>
#include <string.h>

enum {
	BATCH_DATA = 512,    /* bytes: longest message in a batch */
	BATCH_LEN = 4096,    /* bytes: longest batch */
	BATCH_MAX = 64,	     /* most messages in a batch */
	BATCH_ENOUGH = 32,   /* queued messages after which the queue is sent */
	AT_ONCE = 2,	     /* messages per round that are not queued */
	THREAD_LEASE = 1000, /* ms that the progress thread polls after the
				latest send that could be queued */
};

/* The VCI's use of the progress thread, which sends queued messages while the
 * program computes. */
struct weft_batch_thread {
	struct weft_progress_hook start;
	struct weft_progress_user user;
	bool is_starting;
	bool is_refused;
};

static size_t record_len(const struct weft_req *req)
{
	return sizeof(struct weft_wire_record) + ((req->len + 7) & ~(size_t)7);
}

static void thread_start(struct weft_progress_hook *hook)
{
	struct weft_batch_thread *thread =
		weft_container_of(hook, struct weft_batch_thread, start);
	struct weft_vci *vci = thread->user.vci;
	int err;

	weft_vci_unlock(vci);
	err = weft_progress_thread_add(&thread->user);
	weft_vci_lock(vci);
	thread->is_starting = false;
	if (!err)
		return;
	weft_progress_thread_remove(&thread->user);
	thread->is_refused = true;
	weft_log_info("P2P-BATCH", "short messages are sent individually: %s",
		weft_err_detail_peek(err));
}

static struct weft_batch_thread *thread_create(struct weft_vci *vci)
{
	struct weft_batch_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	thread->user.vci = vci;
	thread->start.run = thread_start;
	vci->p2p->batch_thread = thread;
	return thread;
}

/* True if the progress thread polls this VCI, so that queued messages will be
 * sent. Otherwise starts the thread, unless that failed before. Sends before
 * the thread polls are not queued. */
static bool has_thread(struct weft_vci *vci)
{
	struct weft_batch_thread *thread = vci->p2p->batch_thread;

	if (weft_proc.is_blocking)
		return false; /* a queued message wakes no sleeping process */
	if (!thread && !(thread = thread_create(vci)))
		return false;
	atomic_store_explicit(
		&thread->user.lease, THREAD_LEASE, memory_order_relaxed);
	if (weft_likely(weft_progress_thread_has(&thread->user)))
		return !thread->is_starting;
	if (!thread->is_starting && !thread->is_refused) {
		thread->is_starting = true;
		weft_vci_defer(vci, &thread->start);
	}
	return false;
}

void weft_batch_close(struct weft_vci *vci)
{
	struct weft_batch_thread *thread = vci->p2p->batch_thread;

	if (thread)
		weft_progress_thread_remove(&thread->user);
	free(thread);
	vci->p2p->batch_thread = NULL;
}

/* True if this send may be part of a batch. */
static bool is_short(const struct weft_req *req)
{
	return req->len <= BATCH_DATA && req->send.mode != WEFT_SEND_SYNC;
}

bool weft_batch_holds(struct weft_req *req)
{
	struct weft_p2p_peer *p = weft_p2p_peer_of(req->peer);
	struct weft_vci *vci = p->peer.vci;

	if (p->peer.is_shm || p->peer.is_self || req->send.is_uncancellable ||
		!vci->net->plan.has_costly_posts || !is_short(req))
		return false;
	if (p->last_round != vci->n_net_rounds) {
		p->last_round = vci->n_net_rounds;
		p->n_at_once = 0;
	}
	if (p->n_at_once < AT_ONCE) {
		p->n_at_once++;
		return false;
	}
	return has_thread(vci);
}

bool weft_batch_is_enough(struct weft_peer *peer)
{
	return ++weft_p2p_peer_of(peer)->n_held % BATCH_ENOUGH == 0;
}

/* Collects the sends of one batch: req, which was the first in the queue, and
 * the next queued sends that fit into the batch. Returns their number. */
static uint32_t batch_collect(
	struct weft_peer *peer, struct weft_req *req, struct weft_req **reqs)
{
	size_t len = record_len(req), max = peer->vci->net->plan.eager_len;
	int64_t credit = peer->credit - (int64_t)req->len - WEFT_EAGER_OVERHEAD;
	uint32_t n = 1;

	max = weft_min(max - sizeof(struct weft_wire_net), (size_t)BATCH_LEN);
	if (!is_short(req) || len > max || credit < 0)
		return 1;
	reqs[0] = req;
	weft_list_for_each(link, next, &peer->pending)
	{
		struct weft_out *out =
			weft_container_of(link, struct weft_out, link);

		if (out->push != weft_send_push || n == BATCH_MAX)
			break;
		req = weft_container_of(out, struct weft_req, out);
		len += record_len(req);
		credit -= (int64_t)(req->len + WEFT_EAGER_OVERHEAD);
		if (!is_short(req) || len > max || credit < 0)
			break;
		reqs[n++] = req;
	}
	return n;
}

/* Writes the n messages as records. Returns the number of bytes. */
static size_t batch_pack(struct weft_req **reqs, uint32_t n, uint8_t *at)
{
	struct weft_wire_record record;
	uint8_t *begin = at;

	for (uint32_t i = 0; i < n; i++) {
		struct weft_req *req = reqs[i];

		memset(&record, 0, sizeof(record));
		record.head = weft_send_head(req);
		record.head.number = (uint16_t)(record.head.number + i);
		record.len = (uint32_t)req->len;
		memcpy(at, &record, sizeof(record));
		at += sizeof(record);
		memset(at + (req->len & ~(size_t)7), 0, 8);
		weft_pack(req->type, req->count, req->buf, 0, at, req->len);
		at += (req->len + 7) & ~(size_t)7;
	}
	return (size_t)(at - begin);
}

int weft_batch_send(struct weft_peer *peer, struct weft_req *first)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_BATCH };
	struct weft_p2p_peer *p = weft_p2p_peer_of(peer);
	struct weft_req *reqs[BATCH_MAX];
	uint8_t data[BATCH_LEN + 8]; /* the last record is padded to 8 bytes */
	uint32_t n = batch_collect(peer, first, reqs);
	int err;

	if (n == 1)
		return 1;
	err = weft_peer_post(peer, &head, data, batch_pack(reqs, n, data));
	if (err == WEFT_AGAIN)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			weft_list_remove(&reqs[i]->out.link);
		if (err)
			continue; /* no message was sent */
		reqs[i]->send.is_eager = true;
		reqs[i]->send.number = p->n_eager_sent++;
		peer->credit -= (int64_t)(reqs[i]->len + WEFT_EAGER_OVERHEAD);
		p->n_net_sent++;
	}
	for (uint32_t i = 0; i < n; i++)
		weft_send_finish(reqs[i], err);
	return 0;
}

void weft_batch_on_batch(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	const uint8_t *at = payload;
	struct weft_wire_record record;

	(void)head;
	while (len) {
		size_t room;

		if (!weft_wire_get_record(&record, at, len)) {
			weft_dispatch_drop(vci, "malformed batch");
			return;
		}
		at += sizeof(record);
		len -= sizeof(record);
		room = ((size_t)record.len + 7) & ~(size_t)7;
		if (room > len || record.head.op != WEFT_WIRE_EAGER) {
			weft_dispatch_drop(vci, "malformed batch");
			return;
		}
		weft_dispatch(vci, peer, &record.head, at, record.len);
		at += room;
		len -= room;
	}
}
