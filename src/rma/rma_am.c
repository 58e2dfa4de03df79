/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_am: accesses that the target's CPU carries out
 *
 * A message holds active messages, which the target carries out in their order
 * when it makes progress; messages of one process arrive in order as well. So
 * one that asks for a reply tells, when it is answered, that all before is
 * done. Atomics go this way where the fabric's own may not be mixed with the
 * CPU's, and small puts of a session where a message for many is cheaper. */
#include "rma/rma_priv.h"

#include "base/log.h"
#include "base/word.h"
#include "core/comm.h"
#include "rma/rma_fabric.h"
#include "transport/dispatch.h"
#include "transport/proc.h"
#include "transport/progress.h"

#include <stdlib.h>
#include <string.h>

enum {
	REC_LEN = sizeof(struct weft_wire_rma),
	REPLIES_MAX = 64, /* in one message */
};

/* Who waits for a reply, and whose. */
struct fetch {
	struct weft_rma_ctx *ctx;
	const struct weft_peer *peer;
	void *dest; /* NULL: only that it came */
	uint32_t width;
	bool is_waited; /* by the stack frame it lies in */
	bool is_done;
	int err;
};

/* --- the target's side; VCI's lock held ---------------------------------- */

struct replies {
	struct weft_vci *vci;
	struct weft_peer *peer;
	size_t n;
	struct weft_wire_rma_reply recs[REPLIES_MAX];
};

static void send_replies(struct replies *r)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_RMA_REPLY };

	if (r->n)
		weft_peer_control(
			r->peer, &head, r->recs, r->n * sizeof(r->recs[0]));
	r->n = 0;
}

static void reply(struct replies *r, uint64_t id, uint64_t value, int err)
{
	r->recs[r->n++] = (struct weft_wire_rma_reply){
		.id = id, .value = value, .has_failed = err != 0
	};
	if (r->n == REPLIES_MAX)
		send_replies(r);
}

/* Where an active message points to; NULL when that is not ours. Once all is
 * closed the spans are empty. */
static void *am_place(const struct weft_wire_rma *rec, size_t len)
{
	const struct weft_rma_region *span =
		rec->span ? &weft_rma.data : &weft_rma.heap;

	return rec->span < 2 && rec->at < span->len &&
			       len <= span->len - rec->at
		       ? span->base + rec->at
		       : NULL;
}

/* What a kind does not use is 0. */
static bool am_is_sound(const struct weft_wire_rma *rec)
{
	bool is_amo = rec->kind == WEFT_WIRE_RMA_AMO ||
		      rec->kind == WEFT_WIRE_RMA_FETCH;
	bool has_id = rec->kind == WEFT_WIRE_RMA_ASK ||
		      rec->kind == WEFT_WIRE_RMA_KEY ||
		      rec->kind == WEFT_WIRE_RMA_FETCH;

	if (!rec->id == has_id)
		return false;
	if (is_amo)
		return (rec->width == 4 || rec->width == 8) &&
		       rec->op <= WEFT_AMO_CSWAP && rec->len == 16 &&
		       rec->at % rec->width == 0;
	return !rec->op && !rec->width;
}

static int do_atomic(
	const struct weft_wire_rma *rec, const uint8_t *data, uint64_t *old_out)
{
	struct weft_amo amo = { .op = (enum weft_amo_op)rec->op,
		.width = rec->width };
	void *there = am_place(rec, rec->width);

	if (!there)
		return WEFT_ERR_PROTO;
	memcpy(&amo.value, data, 8);
	memcpy(&amo.cond, data + 8, 8);
	return weft_amo_apply(there, &amo, old_out);
}

/* Exposes the program's variables, once. Registering may pin pages. */
static int expose_data(uint64_t *key_out)
{
	struct weft_rma_region *data = &weft_rma.data;
	int err = 0;

	if (!data->len || !weft_rma_own.domain)
		return WEFT_ERR_PROTO;
	if (!data->mr) {
		weft_log_debug("RMA-EXPOSE",
			"%zu bytes of variables are registered with the "
			"fabric: a PE asks for their key",
			data->len);
		err = weft_rma_fabric_expose(data);
	}
	*key_out = data->key;
	return err;
}

/* Carries out one active message. 0 or an error: it makes no sense. */
static int carry_out(struct replies *replies, const struct weft_wire_rma *rec,
	const uint8_t *data)
{
	uint64_t old = 0;
	void *there;
	int err;

	if (!am_is_sound(rec))
		return WEFT_ERR_PROTO;
	switch (rec->kind) {
	case WEFT_WIRE_RMA_PUT:
		there = am_place(rec, rec->len);
		if (!there)
			return WEFT_ERR_PROTO;
		weft_word_store(there, data, rec->len, __ATOMIC_RELEASE);
		return 0;
	case WEFT_WIRE_RMA_AMO:
		return do_atomic(rec, data, &old);
	case WEFT_WIRE_RMA_FETCH:
		err = do_atomic(rec, data, &old);
		reply(replies, rec->id, old, err);
		return 0;
	case WEFT_WIRE_RMA_ASK:
		if (rec->len || rec->at || rec->span)
			return WEFT_ERR_PROTO;
		reply(replies, rec->id, 0, 0);
		return 0;
	case WEFT_WIRE_RMA_KEY:
		if (rec->len || rec->at || rec->span)
			return WEFT_ERR_PROTO;
		err = expose_data(&old);
		reply(replies, rec->id, old, err);
		return 0;
	default:
		return WEFT_ERR_PROTO;
	}
}

static void on_am(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct replies replies = { .vci = vci, .peer = peer };
	const uint8_t *at = payload;
	struct weft_wire_rma rec;
	int err = 0;

	(void)head;
	while (len && !err) {
		size_t room;

		if (!weft_wire_get_rma(&rec, at, len)) {
			err = WEFT_ERR_PROTO;
			break;
		}
		room = weft_round_up((size_t)rec.len, 8);
		if (room > len - REC_LEN) {
			err = WEFT_ERR_PROTO;
			break;
		}
		err = carry_out(&replies, &rec, at + REC_LEN);
		at += REC_LEN + room;
		len -= REC_LEN + room;
	}
	send_replies(&replies);
	if (err)
		weft_dispatch_drop(
			vci, "one-sided access that makes no sense here");
}

/* False: nobody waits for it, or not for this peer's. */
static bool take_reply(
	const struct weft_peer *peer, const struct weft_wire_rma_reply *rec)
{
	struct fetch *fetch = weft_map_get(&weft_rma_own.fetches, rec->id);

	if (!fetch || fetch->peer != peer || rec->has_failed > 1 ||
		rec->reserved)
		return false;
	weft_map_remove(&weft_rma_own.fetches, rec->id);
	if (rec->has_failed)
		fetch->err = weft_err_set(
			WEFT_ERR_ARG, "an atomic was refused by its target");
	else if (fetch->dest)
		memcpy(fetch->dest, &rec->value, fetch->width);
	fetch->is_done = true;
	if (fetch->is_waited)
		return true;
	fetch->ctx->n_asked--;
	if (fetch->err && !fetch->ctx->am_err)
		fetch->ctx->am_err = fetch->err;
	free(fetch);
	return true;
}

static void on_reply(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_rma_reply rec;
	const uint8_t *at = payload;

	(void)head;
	while (len) {
		if (!weft_wire_get_rma_reply(&rec, at, len) ||
			!take_reply(peer, &rec)) {
			weft_dispatch_drop(vci,
				"an answer to nothing that was asked here");
			return;
		}
		at += sizeof(rec);
		len -= sizeof(rec);
	}
}

void weft_rma_am_open(void)
{
	struct weft_vci *vci = &weft_proc.vci;

	weft_vci_lock(vci);
	weft_dispatch_set(vci, WEFT_WIRE_RMA, on_am);
	weft_dispatch_set(vci, WEFT_WIRE_RMA_REPLY, on_reply);
	weft_vci_unlock(vci);
}

void weft_rma_am_close(void)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_map_entry *entry;
	size_t pos = 0;

	weft_vci_lock(vci);
	while ((entry = weft_map_next(&weft_rma_own.fetches, &pos)) != NULL) {
		struct fetch *fetch = entry->value;

		if (!fetch->is_waited)
			free(fetch);
	}
	weft_map_fini(&weft_rma_own.fetches);
	weft_vci_unlock(vci);
}

/* --- the origin's side --------------------------------------------------- */

/* The peer, ready for messages, however long that takes. VCI's lock held;
 * given up meanwhile. NULL with *err when it cannot be reached. */
static struct weft_peer *ready_peer(uint32_t pe, int *err)
{
	struct weft_rma_remote *remote = &weft_rma_own.remotes[pe];
	struct weft_vci *vci = &weft_proc.vci;

	if (weft_unlikely(!remote->peer))
		remote->peer = weft_comm_peer(weft_rma_own.comm, pe);
	if (!remote->peer) {
		*err = weft_err_set(WEFT_ERR_NOMEM, "no memory for a peer");
		return NULL;
	}
	while (weft_unlikely(remote->peer->state != WEFT_PEER_READY)) {
		if (remote->peer->state == WEFT_PEER_FAILED) {
			*err = weft_rma_wait_failed("a message to", pe);
			return NULL;
		}
		weft_peer_resolve(remote->peer);
		weft_progress_wait(vci);
	}
	return remote->peer;
}

/* Sends a batch of active messages; back-pressure is waited out. */
static int am_post(
	struct weft_rma_ctx *ctx, uint32_t pe, const void *bytes, size_t len)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_RMA,
		.src = weft_rma.my_pe };
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_rma_op_wait op_wait = { .what = "a message to",
		.addr = weft_rma_own.remotes[pe].addr };
	struct weft_peer *peer;
	int err = 0;

	weft_vci_lock(vci);
	peer = ready_peer(pe, &err);
	if (peer)
		err = weft_peer_post(peer, &head, bytes, len);
	while (weft_unlikely(err == WEFT_AGAIN)) {
		weft_vci_unlock(vci);
		weft_remote_progress(ctx);
		err = weft_rma_op_wait_check(&op_wait, 1);
		if (err)
			return err;
		weft_vci_lock(vci);
		peer = ready_peer(pe, &err);
		if (peer)
			err = weft_peer_post(peer, &head, bytes, len);
	}
	weft_vci_unlock(vci);
	return err;
}

/* Writes an active message and its data; the bytes used, or a negative error.
 */
static int put_am(uint8_t *to, const struct weft_rma_am *am)
{
	struct weft_wire_rma rec = am->rec;
	size_t padded = weft_round_up((size_t)rec.len, 8);
	size_t at = 0;
	int span = 0;

	if (am->sym) {
		span = weft_rma_span_of(am->sym,
			rec.kind == WEFT_WIRE_RMA_PUT ? rec.len : rec.width,
			&at);
		if (span < 0)
			return span;
	}
	rec.span = (uint8_t)span;
	rec.at = at;
	memcpy(to, &rec, REC_LEN);
	memset(to + REC_LEN + rec.len, 0, padded - rec.len);
	memcpy(to + REC_LEN, am->data, rec.len);
	return (int)(REC_LEN + padded);
}

/* What was written to the PE before a fence comes before this. */
static int before_telling(struct weft_rma_ctx *ctx, uint32_t pe)
{
	int err = 0;

	if (weft_unlikely(ctx->states[pe] & WEFT_STATE_WRITTEN_FENCED))
		err = weft_remote_flush_pe(ctx, pe);
	ctx->states[pe] &= (uint8_t)~WEFT_STATE_AM_ONE;
	weft_ctx_touch(ctx, pe, WEFT_STATE_AM);
	return err;
}

static int send_batch(struct weft_rma_ctx *ctx, uint32_t pe)
{
	struct weft_batch *batch = ctx->batches ? ctx->batches[pe] : NULL;
	int err;

	if (!batch || !batch->len)
		return 0;
	err = am_post(ctx, pe, batch->bytes, batch->len);
	batch->len = 0;
	batch->n = 0;
	return err;
}

/* Adds active messages to a batch, all or none. */
static int am_append(
	struct weft_batch *batch, const struct weft_rma_am *ams, size_t n)
{
	uint32_t len = batch->len;

	for (size_t i = 0; i < n; i++) {
		int used = put_am(batch->bytes + len, &ams[i]);

		if (used < 0)
			return used;
		len += (uint32_t)used;
	}
	batch->len = len;
	batch->n += (uint32_t)n;
	return 0;
}

static size_t room_for(const struct weft_rma_am *ams, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += REC_LEN + weft_round_up((size_t)ams[i].rec.len, 8);
	return len;
}

int weft_rma_am_send(struct weft_rma_ctx *ctx, uint32_t pe,
	const struct weft_rma_am *ams, size_t n)
{
	struct weft_batch *batch = ctx->batches ? ctx->batches[pe] : NULL;
	struct weft_batch alone;
	int err = before_telling(ctx, pe);

	if (!err && batch && batch->len &&
		room_for(ams, n) <= WEFT_AM_MAX - batch->len) {
		err = am_append(batch, ams, n);
		return err ? err : send_batch(ctx, pe);
	}
	alone.len = alone.n = 0;
	if (!err)
		err = send_batch(ctx, pe); /* it came first */
	if (!err)
		err = am_append(&alone, ams, n);
	return err ? err : am_post(ctx, pe, alone.bytes, alone.len);
}

static struct weft_batch *batch_of(struct weft_rma_ctx *ctx, uint32_t pe)
{
	if (!ctx->batches) {
		ctx->batches = calloc(weft_rma.n_pes, sizeof(*ctx->batches));
		ctx->batched = calloc(weft_rma.n_pes, sizeof(*ctx->batched));
	}
	if (!ctx->batches || !ctx->batched)
		return NULL;
	if (!ctx->batches[pe]) {
		ctx->batches[pe] = calloc(1, sizeof(*ctx->batches[pe]));
	}
	return ctx->batches[pe];
}

int weft_rma_am_add(
	struct weft_rma_ctx *ctx, uint32_t pe, const struct weft_rma_am *am)
{
	struct weft_batch *batch = batch_of(ctx, pe);
	size_t need = room_for(am, 1);
	int err;

	if (!batch || need > WEFT_AM_MAX)
		return weft_rma_am_send(ctx, pe, am, 1);
	err = before_telling(ctx, pe);
	if (!err && need > WEFT_AM_MAX - batch->len)
		err = send_batch(ctx, pe);
	if (!err)
		err = am_append(batch, am, 1);
	if (err)
		return err;
	if (!batch->is_listed) {
		batch->is_listed = true;
		ctx->batched[ctx->n_batched++] = pe;
	}
	if (batch->n >= ctx->window)
		err = send_batch(ctx, pe);
	return err;
}

int weft_rma_am_release(struct weft_rma_ctx *ctx)
{
	int err = 0;

	for (uint32_t i = 0; i < ctx->n_batched; i++) {
		int one = send_batch(ctx, ctx->batched[i]);

		ctx->batches[ctx->batched[i]]->is_listed = false;
		err = err ? err : one;
	}
	ctx->n_batched = 0;
	return err;
}

/* A fetch of the context whose reply will not come any more. */
static struct fetch *stale(struct weft_rma_ctx *ctx)
{
	struct weft_map_entry *entry;
	size_t pos = 0;

	while ((entry = weft_map_next(&weft_rma_own.fetches, &pos)) != NULL) {
		struct fetch *fetch = entry->value;

		if (fetch->ctx == ctx) {
			weft_map_remove(&weft_rma_own.fetches, entry->key);
			return fetch;
		}
	}
	return NULL;
}

static void drop_stale(struct weft_rma_ctx *ctx)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct fetch *fetch;

	weft_vci_lock(vci);
	while (ctx->n_asked && (fetch = stale(ctx)) != NULL)
		free(fetch);
	weft_vci_unlock(vci);
}

void weft_rma_am_forget(struct weft_rma_ctx *ctx)
{
	drop_stale(ctx);
	for (uint32_t i = 0; ctx->batches && i < weft_rma.n_pes; i++)
		free(ctx->batches[i]);
	free(ctx->batches);
	free(ctx->batched);
	ctx->batches = NULL;
	ctx->batched = NULL;
	ctx->n_batched = 0;
}

/* Makes a fetch known under a fresh id. */
static int am_enter(struct fetch *fetch, uint32_t pe, uint64_t *id_out)
{
	struct weft_rma_own *own = &weft_rma_own;
	struct weft_vci *vci = &weft_proc.vci;
	int err;

	weft_vci_lock(vci);
	*id_out = ++own->last_id;
	fetch->peer = weft_comm_peer(own->comm, pe);
	err = fetch->peer ? weft_map_put(&own->fetches, *id_out, fetch)
			  : WEFT_ERR_NOMEM;
	if (!err && !fetch->is_waited)
		fetch->ctx->n_asked++;
	weft_vci_unlock(vci);
	return err ? weft_err_set(err, "no memory for a reply") : 0;
}

static void am_leave(struct fetch *fetch, uint64_t id)
{
	struct weft_vci *vci = &weft_proc.vci;

	weft_vci_lock(vci);
	if (weft_map_remove(&weft_rma_own.fetches, id) && !fetch->is_waited)
		fetch->ctx->n_asked--;
	weft_vci_unlock(vci);
}

/* The VCI's lock orders it. */
static bool is_there(const struct fetch *fetch, int *err)
{
	struct weft_vci *vci = &weft_proc.vci;
	bool is_done;

	weft_vci_lock(vci);
	is_done = fetch->is_done;
	*err = fetch->err;
	weft_vci_unlock(vci);
	return is_done;
}

static int wait_there(struct weft_rma_ctx *ctx, const struct fetch *fetch,
	const char *what, uint32_t pe)
{
	struct weft_rma_op_wait op_wait = { .what = what,
		.addr = weft_rma_own.remotes[pe].addr };
	int err, failed = 0;

	while (!is_there(fetch, &err) && !failed) {
		weft_remote_progress(ctx);
		failed = weft_rma_op_wait_check(&op_wait, 1);
	}
	return is_there(fetch, &err) ? err : failed;
}

int weft_rma_am_fetch(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, void *fetched, uint32_t pe, bool is_nbi)
{
	uint64_t words[2] = { amo->value, amo->cond };
	struct weft_rma_am am = { .rec = { .kind = WEFT_WIRE_RMA_FETCH,
					  .op = (uint8_t)amo->op,
					  .width = (uint8_t)amo->width,
					  .len = sizeof(words) },
		.data = words,
		.sym = dest };
	struct fetch here = { .ctx = ctx,
		.dest = fetched,
		.width = amo->width,
		.is_waited = true };
	struct fetch *fetch = &here;
	int err;

	if (is_nbi) {
		fetch = malloc(sizeof(*fetch));
		if (!fetch)
			return weft_err_set(
				WEFT_ERR_NOMEM, "no memory for a reply");
		*fetch = here;
		fetch->is_waited = false;
	}
	err = am_enter(fetch, pe, &am.rec.id);
	if (err)
		goto drop;
	if (is_nbi)
		weft_ctx_hold(ctx, true);
	err = is_nbi ? weft_rma_am_add(ctx, pe, &am)
		     : weft_rma_am_send(ctx, pe, &am, 1);
	if (err) {
		am_leave(fetch, am.rec.id);
		goto drop;
	}
	if (is_nbi)
		return 0;
	err = weft_remote_release(ctx); /* to the others */
	if (err) {
		am_leave(fetch, am.rec.id);
		return err;
	}
	err = wait_there(ctx, fetch, "an atomic at", pe);
	am_leave(fetch, am.rec.id);
	return err;
drop:
	if (is_nbi)
		free(fetch);
	return err;
}

int weft_rma_am_data_key(
	struct weft_rma_ctx *ctx, uint32_t pe, uint64_t *key_out)
{
	struct weft_rma_am am = { .rec = { .kind = WEFT_WIRE_RMA_KEY },
		.data = "" };
	struct fetch fetch = { .ctx = ctx,
		.dest = key_out,
		.width = sizeof(*key_out),
		.is_waited = true };
	struct weft_batch alone = { .len = 0 };
	int err = am_enter(&fetch, pe, &am.rec.id);

	if (err)
		return err;
	err = am_append(&alone, &am, 1);
	if (!err)
		err = am_post(ctx, pe, alone.bytes, alone.len);
	if (!err)
		err = wait_there(ctx, &fetch, "a first access to", pe);
	am_leave(&fetch, am.rec.id);
	return fetch.err ? weft_err_set(fetch.err,
				   "PE %u cannot register its variables", pe)
			 : err;
}

/* before: what goes in the same message, or NULL. */
static int am_ask(
	struct weft_rma_ctx *ctx, uint32_t pe, const struct weft_rma_am *before)
{
	struct weft_rma_am ams[2] = { { .data = "" }, { .data = "" } };
	struct weft_rma_am *question = &ams[before != NULL];
	struct fetch *fetch = calloc(1, sizeof(*fetch));
	uint8_t fenced = ctx->states[pe] & WEFT_STATE_WRITTEN_FENCED;
	int err;

	if (!fetch)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a reply");
	if (before)
		ams[0] = *before;
	question->rec.kind = WEFT_WIRE_RMA_ASK;
	fetch->ctx = ctx;
	err = am_enter(fetch, pe, &question->rec.id);
	if (err) {
		free(fetch);
		return err;
	}
	/* it says nothing of what was written, so needs no order with it */
	ctx->states[pe] &= (uint8_t)~WEFT_STATE_WRITTEN_FENCED;
	err = weft_rma_am_send(ctx, pe, ams, before ? 2 : 1);
	ctx->states[pe] |= fenced;
	if (err) {
		am_leave(fetch, question->rec.id);
		free(fetch);
	}
	return err;
}

int weft_rma_am_ask(struct weft_rma_ctx *ctx, uint32_t pe)
{
	return am_ask(ctx, pe, NULL);
}

int weft_rma_am_send_one(
	struct weft_rma_ctx *ctx, uint32_t pe, const struct weft_rma_am *am)
{
	int err = am_ask(ctx, pe, am);

	if (!err)
		ctx->states[pe] |= WEFT_STATE_AM_ONE;
	return err;
}

static uint32_t n_due(struct weft_rma_ctx *ctx, int *err)
{
	struct weft_vci *vci = &weft_proc.vci;
	uint32_t n;

	weft_vci_lock(vci);
	n = ctx->n_asked;
	if (!n) {
		*err = ctx->am_err;
		ctx->am_err = 0;
	}
	weft_vci_unlock(vci);
	return n;
}

int weft_rma_am_wait(struct weft_rma_ctx *ctx)
{
	struct weft_rma_op_wait op_wait = { .what = "answers that PEs are done",
		.addr = WEFT_RMA_ALL };
	uint32_t n;
	int err = 0;

	while ((n = n_due(ctx, &err)) && !err) {
		weft_remote_progress(ctx);
		err = weft_rma_op_wait_check(&op_wait, n);
	}
	return err;
}

int weft_rma_am_flush_pe(struct weft_rma_ctx *ctx, uint32_t pe)
{
	bool is_asked = ctx->states[pe] & WEFT_STATE_AM_ONE;
	int err = is_asked ? 0 : weft_rma_am_ask(ctx, pe);

	if (!err)
		err = weft_rma_am_wait(ctx);
	ctx->states[pe] &= (uint8_t) ~(
		WEFT_STATE_AM | WEFT_STATE_AM_FENCED | WEFT_STATE_AM_ONE);
	return err;
}
