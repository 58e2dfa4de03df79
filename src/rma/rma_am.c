/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_am: accesses to symmetric memory as active messages
 *
 * Atomics at far PEs are active messages if the fabric has no atomics. Small
 * puts are active messages if one message for many puts is cheaper. src/am
 * encodes, posts and answers active messages. A context creates a channel for
 * each PE that it sends active messages to. The context's lock guards its
 * channels. */
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

/* A context's active messages to one PE. */
struct weft_rma_channel {
	struct weft_am_channel am;
	struct weft_rma_ctx *ctx;
};

/* --- target; VCI's lock held --------------------------------------------- */

/* The memory that a record addresses; NULL outside of the symmetric regions.
 * After close both regions are empty. */
static void *am_place(const struct weft_wire_am *rec, size_t len)
{
	const struct weft_rma_region *span = rec->op & WEFT_WIRE_AM_VARIABLES
						     ? &weft_rma.data
						     : &weft_rma.heap;
	uint64_t at = (uint64_t)rec->disp;

	return at < span->len && len <= span->len - at ? span->base + at : NULL;
}

static int am_atomic(
	const struct weft_wire_am *rec, const uint8_t *data, uint64_t *old_out)
{
	struct weft_amo amo = { .width = rec->type };
	void *place = am_place(rec, rec->type);

	amo.op = rec->op &
		 (uint8_t) ~(WEFT_WIRE_AM_FETCHES | WEFT_WIRE_AM_VARIABLES);
	if (!place)
		return weft_err_set(WEFT_ERR_PROTO,
			"an atomic outside the symmetric memory");
	memcpy(&amo.value, data, 8);
	memcpy(&amo.cond, data + 8, 8);
	return weft_amo_apply(place, &amo, old_out);
}

/* Registers the program's variables on the first request, not earlier, because
 * the registration may pin pages. */
static int expose_data(uint64_t *key_out)
{
	struct weft_rma_region *data = &weft_rma.data;
	int err = 0;

	if (!data->len || !weft_rma_own.domain)
		return weft_err_set(
			WEFT_ERR_PROTO, "there are no variables to register");
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

static void am_answer(struct weft_am_replies *replies,
	const struct weft_wire_am *rec, int err, const uint64_t *value,
	size_t len)
{
	if (rec->id)
		weft_am_reply(replies, rec->id, 0, err, value, len);
}

/* Executes one record. False: the record is malformed. */
static bool am_carry_out(struct weft_am_replies *replies,
	const struct weft_wire_am *rec, const uint8_t *data, size_t len)
{
	bool is_fetching = rec->op & WEFT_WIRE_AM_FETCHES;
	uint64_t old = 0;
	void *place;
	int err;

	switch (rec->kind) {
	case WEFT_WIRE_AM_PUT:
		place = am_place(rec, len);
		if (!place)
			return false;
		weft_word_store(place, data, len, __ATOMIC_RELEASE);
		am_answer(replies, rec, 0, &old, 0);
		return true;
	case WEFT_WIRE_AM_AMO:
		if (is_fetching != (rec->id && is_fetching) ||
			(rec->type != 4 && rec->type != 8))
			return false;
		err = am_atomic(rec, data, &old);
		am_answer(replies, rec, err, &old, is_fetching ? rec->type : 0);
		return !err || rec->id;
	case WEFT_WIRE_AM_FLUSH:
		am_answer(replies, rec, 0, &old, 0);
		return rec->id;
	case WEFT_WIRE_AM_REGION:
		err = rec->id ? expose_data(&old) : 0;
		am_answer(replies, rec, err, &old, sizeof(old));
		return rec->id;
	default:
		return false;
	}
}

/* True if the message's sender is the PE that the head names. */
static bool is_from_pe(
	const struct weft_peer *peer, const struct weft_wire_head *head)
{
	struct weft_comm *comm = weft_rma_own.comm;

	return comm && head->src < (uint32_t)comm->size &&
	       weft_comm_peer(comm, head->src) == peer;
}

static void on_rma(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_am_replies replies;
	const uint8_t *at = payload, *data;
	bool is_sound = is_from_pe(peer, head);
	struct weft_wire_am rec;
	size_t data_len;

	if (is_sound)
		weft_am_replies_init(&replies, weft_rma_own.comm, head->src,
			WEFT_WIRE_RMA_REPLY);
	while (len && is_sound)
		is_sound = weft_am_next(&rec, &data, &data_len, &at, &len) &&
			   am_carry_out(&replies, &rec, data, data_len);
	if (is_from_pe(peer, head))
		weft_am_replies_send(&replies);
	if (!is_sound)
		weft_dispatch_drop(
			vci, "an invalid access to symmetric memory");
}

static void on_rma_reply(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	if (!is_from_pe(peer, head) || !weft_am_take_replies(&weft_rma_own.am,
					       NULL, head->src, payload, len))
		weft_dispatch_drop(
			vci, "an answer that no operation waits for");
}

/* --- channels ------------------------------------------------------------ */

static struct weft_rma_channel *rma_channel_of(struct weft_am_channel *channel)
{
	return weft_container_of(channel, struct weft_rma_channel, am);
}

/* The id of the oldest operation, which changes with progress. 0: no operation
 * is pending. */
static uint32_t first_op_id(const struct weft_am_channel *channel)
{
	return weft_list_is_empty(&channel->ops)
		       ? 0
		       : weft_container_of(
				 channel->ops.next, struct weft_am_op, link)
				 ->id;
}

static int rma_am_wait(struct weft_am_channel *channel, const char *what,
	weft_am_try_fn *fn, void *arg)
{
	struct weft_rma_ctx *ctx = rma_channel_of(channel)->ctx;
	struct weft_rma_wait wait = { .fn = what, .from = channel->rank + 1 };
	struct weft_vci *vci = &weft_proc.vci;
	int err;

	do {
		uint32_t id = first_op_id(channel);

		weft_vci_unlock(vci);
		weft_remote_progress(ctx);
		err = weft_rma_op_wait_check(&wait, id);
		weft_vci_lock(vci);
		err = err ? err : fn(channel, arg);
	} while (err == WEFT_AGAIN);
	return err;
}

static int rma_am_failed(struct weft_am_channel *channel)
{
	return weft_rma_wait_failed("a message to", channel->rank);
}

void weft_rma_am_open(struct weft_comm *comm)
{
	static const struct weft_am_ops ops = {
		.posting = "a message to",
		.wait = rma_am_wait,
		.failed = rma_am_failed,
	};
	struct weft_vci *vci = &weft_proc.vci;

	weft_rma_own.am = (struct weft_am){ .ops = &ops,
		.comm = comm,
		.request = WEFT_WIRE_RMA,
		.has_many_channels = true };
	weft_vci_lock(vci);
	weft_dispatch_set(vci, WEFT_WIRE_RMA, on_rma);
	weft_dispatch_set(vci, WEFT_WIRE_RMA_REPLY, on_rma_reply);
	weft_vci_unlock(vci);
}

void weft_rma_am_close(void)
{
	weft_map_fini(&weft_rma_own.am.due);
}

/* The channel to a PE, created on first use; NULL when out of memory. */
static struct weft_rma_channel *channel_to(
	struct weft_rma_ctx *ctx, uint32_t pe)
{
	struct weft_rma_channel *channel = NULL;

	if (!ctx->channels)
		ctx->channels = calloc(weft_rma.n_pes, sizeof(*ctx->channels));
	if (weft_likely(ctx->channels && ctx->channels[pe]))
		return ctx->channels[pe];
	if (ctx->channels)
		channel = ctx->channels[pe] = calloc(1, sizeof(*channel));
	if (!channel) {
		weft_err_set(
			WEFT_ERR_NOMEM, "no memory for messages to PE %u", pe);
		return NULL;
	}
	weft_am_open(&channel->am, &weft_rma_own.am, pe);
	channel->ctx = ctx;
	return channel;
}

void weft_rma_am_forget(struct weft_rma_ctx *ctx)
{
	struct weft_vci *vci = &weft_proc.vci;

	weft_vci_lock(vci);
	for (uint32_t i = 0; ctx->channels && i < weft_rma.n_pes; i++) {
		if (ctx->channels[i])
			weft_am_forget(
				&ctx->channels[i]->am, WEFT_ERR_PEER, true);
		free(ctx->channels[i]);
	}
	weft_vci_unlock(vci);
	free(ctx->channels);
	ctx->channels = NULL;
	ctx->has_queue = false;
}

/* If the post fails, the operations of the PE end with the error, which the
 * next wait for the PE returns. */
static int channel_post(struct weft_rma_channel *channel)
{
	struct weft_vci *vci = &weft_proc.vci;
	int err;

	if (!channel->am.len)
		return 0;
	weft_vci_lock(vci);
	err = weft_am_post_queue(&channel->am);
	if (err)
		weft_am_forget(&channel->am, err, false);
	weft_vci_unlock(vci);
	return err;
}

/* Fills the record of an access. An access without `sym` requests a key or an
 * answer. */
static int am_record(const struct weft_rma_access *a, struct weft_wire_am *rec)
{
	size_t at;
	int span;

	*rec = (struct weft_wire_am){ .n = 1, .n_runs = 1 };
	if (!a->sym) {
		rec->kind = a->here ? WEFT_WIRE_AM_REGION : WEFT_WIRE_AM_FLUSH;
		return 0;
	}
	span = weft_rma_span_of(a->sym, a->len, &at);
	if (span < 0)
		return span;
	rec->disp = (int64_t)at;
	if (a->amo) {
		rec->kind = WEFT_WIRE_AM_AMO;
		rec->type = (uint16_t)a->len;
		rec->op = (uint8_t)a->amo->op;
		rec->op |= a->here ? WEFT_WIRE_AM_FETCHES : 0;
	} else {
		rec->kind = WEFT_WIRE_AM_PUT;
		rec->n = a->len;
	}
	rec->op |= span ? WEFT_WIRE_AM_VARIABLES : 0;
	return 0;
}

static size_t am_access_len(const struct weft_rma_access *a)
{
	return !a->sym ? 0 : a->amo ? 2 * sizeof(uint64_t) : a->len;
}

/* The VCI's lock is held, unless the record fits into the queue. */
static int channel_append(struct weft_am_channel *channel,
	const struct weft_wire_am *rec, const struct weft_rma_access *a)
{
	uint64_t words[2] = { 0 };
	size_t len = am_access_len(a);
	int err;
	uint8_t *data = weft_am_add(channel, rec, len, &err);

	if (data && a->amo) {
		words[0] = a->amo->value;
		words[1] = a->amo->cond;
	}
	if (data && len)
		memcpy(data, a->amo ? words : a->here, len);
	return err;
}

/* Orders an active message behind an earlier fence: flushes fenced writes of
 * the endpoint. A record without an address needs no order. */
static int before_sending(
	struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	int err = 0;

	if (a->sym && (ctx->states[a->pe] & WEFT_STATE_WRITTEN_FENCED))
		err = weft_remote_flush_pe(ctx, a->pe);
	weft_ctx_touch(ctx, a->pe, WEFT_STATE_AM);
	return err;
}

/* --- answers ------------------------------------------------------------- */

static void rma_op_end(struct weft_am_op *op)
{
	(void)op;
}

static void rma_op_release(struct weft_am_op *op)
{
	free(op);
}

/* Begins an operation that waits for an answer. NULL when out of memory. */
static struct weft_am_op *rma_op_begin(
	struct weft_am_channel *channel, const struct weft_rma_access *a)
{
	static const struct weft_am_op_ops ops = {
		.end = rma_op_end,
		.release = rma_op_release,
	};
	struct weft_am_op *op = malloc(sizeof(*op));

	if (!op) {
		weft_err_set(WEFT_ERR_NOMEM, "no memory for an answer of PE %u",
			a->pe);
		return NULL;
	}
	*op = (struct weft_am_op){ .ops = &ops };
	if (!a->sym || a->amo) {
		op->dest = a->here;
		op->room = a->here ? a->len : 0;
	}
	if (!weft_am_op_begin(channel, op, 1))
		return op;
	free(op);
	return NULL;
}

/* VCI's lock held. */
static int am_post(struct weft_am_channel *channel, struct weft_wire_am *rec,
	const struct weft_rma_access *a, bool is_answered, bool is_queued)
{
	struct weft_am_op *op = is_answered ? rma_op_begin(channel, a) : NULL;
	int err;

	if (is_answered && !op)
		return WEFT_ERR_NOMEM;
	rec->id = op ? op->id : 0;
	err = channel_append(channel, rec, a);
	if (!err && !is_queued)
		err = weft_am_post_queue(channel);
	if (op)
		weft_am_op_begun(op, err);
	return err;
}

int weft_rma_am_send(struct weft_rma_ctx *ctx, const struct weft_rma_access *a,
	bool is_answered, bool is_queued)
{
	struct weft_rma_channel *channel = channel_to(ctx, a->pe);
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_wire_am rec;
	int err = channel ? am_record(a, &rec) : WEFT_ERR_NOMEM;

	if (!err)
		err = before_sending(ctx, a);
	if (err)
		return err;
	if (a->sym)
		weft_counter_note(&weft_rma.counters.rma_messages,
			&weft_rma.counters.rma_messages_bytes, a->len);
	/* an answer to this record completes all records before it */
	channel->am.is_touched = !is_answered;
	is_queued &= channel->am.n_queued + 1 < ctx->window;
	ctx->has_queue |= is_queued;
	if (is_queued && !is_answered &&
		weft_am_fits(
			&channel->am, weft_am_size(&rec, am_access_len(a))))
		return channel_append(&channel->am, &rec, a);
	weft_vci_lock(vci);
	err = am_post(&channel->am, &rec, a, is_answered, is_queued);
	weft_vci_unlock(vci);
	return err;
}

int weft_rma_am_release(struct weft_rma_ctx *ctx)
{
	int err = 0;

	if (weft_likely(!ctx->has_queue))
		return 0;
	ctx->has_queue = false;
	for (uint32_t i = 0; i < ctx->n_touched; i++) {
		struct weft_rma_channel *channel =
			ctx->channels[ctx->touched[i]];
		int one = channel ? channel_post(channel) : 0;

		err = err ? err : one;
	}
	return err;
}

/* Posts all deferred operations, and waits for all answers of the PE. Returns
 * an error of the target, or else an error of the posts. If the wait cannot
 * end, none of the answers is stored any more. */
static int channel_wait(
	struct weft_rma_ctx *ctx, struct weft_am_channel *am, const char *what)
{
	int err, release_err = weft_remote_release(ctx);

	weft_vci_lock(&weft_proc.vci);
	err = weft_am_wait(am, what);
	if (err)
		weft_am_forget(am, err, false);
	else if (am->err)
		err = weft_err_set(
			am->err, "%s PE %u: %s", what, am->rank, am->why);
	am->err = 0;
	weft_vci_unlock(&weft_proc.vci);
	return err ? err : release_err;
}

int weft_rma_am_call(struct weft_rma_ctx *ctx, const struct weft_rma_access *a,
	const char *what)
{
	int err = weft_rma_am_send(ctx, a, true, false);

	return err ? err : channel_wait(ctx, &ctx->channels[a->pe]->am, what);
}

int weft_rma_am_start_flush(struct weft_rma_ctx *ctx, uint32_t pe)
{
	const struct weft_rma_access flush = { .pe = pe };

	return ctx->channels[pe]->am.is_touched
		       ? weft_rma_am_send(ctx, &flush, true, false)
		       : 0;
}

static int am_wait_pe(struct weft_rma_ctx *ctx, uint32_t pe)
{
	struct weft_rma_channel *channel =
		ctx->channels ? ctx->channels[pe] : NULL;

	return channel ? channel_wait(ctx, &channel->am, "operations at") : 0;
}

int weft_rma_am_wait(struct weft_rma_ctx *ctx)
{
	int err = 0;

	for (uint32_t i = 0; i < ctx->n_touched; i++) {
		int one = am_wait_pe(ctx, ctx->touched[i]);

		err = err ? err : one;
	}
	return err;
}

int weft_rma_am_flush_pe(struct weft_rma_ctx *ctx, uint32_t pe)
{
	int err = weft_rma_am_start_flush(ctx, pe);

	if (!err)
		err = am_wait_pe(ctx, pe);
	ctx->states[pe] &= (uint8_t) ~(WEFT_STATE_AM | WEFT_STATE_AM_FENCED);
	return err;
}
