/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_am: accesses to symmetric memory as active messages
 *
 * Atomics are active messages where the fabric's own may not be mixed with the
 * CPU's, and so are small puts where one message for many is cheaper. The
 * room am encodes, posts and answers them; a context has a channel to each PE
 * it sends any to, guarded by the context's lock. */
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
	bool is_listed; /* in the context's queued */
};

/* An active message that is answered. */
struct rma_op {
	struct weft_am_op am;
	struct weft_rma_ctx *ctx;
	bool is_waited; /* lies in the stack frame that waits for it */
	bool is_done;
};

/* --- target; VCI's lock held --------------------------------------------- */

/* The memory that a record addresses; NULL outside of mine. Both spans are
 * empty once all is closed. */
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

/* Registers the program's variables, once, which may pin pages. */
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
	const char *why = err ? weft_err_detail_peek(err) : "";

	if (!rec->id)
		return;
	if (err)
		weft_am_reply(replies, rec->id, 0, err, why, strlen(why));
	else
		weft_am_reply(replies, rec->id, 0, 0, value, len);
}

/* Carries out one active message. False: it makes no sense. */
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

/* True if the head names a member of the job, and it sent the message. */
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
			vci, "one-sided access that makes no sense here");
}

static void on_rma_reply(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	if (!is_from_pe(peer, head) || !weft_am_take_replies(&weft_rma_own.am,
					       NULL, head->src, payload, len))
		weft_dispatch_drop(
			vci, "an answer to nothing that was asked here");
}

/* --- channels ------------------------------------------------------------ */

static struct weft_rma_channel *rma_channel_of(struct weft_am_channel *channel)
{
	return weft_container_of(channel, struct weft_rma_channel, am);
}

static int rma_am_wait(
	struct weft_am_channel *channel, weft_am_try_fn *fn, void *arg)
{
	struct weft_rma_ctx *ctx = rma_channel_of(channel)->ctx;
	struct weft_rma_op_wait op_wait = { .what = "a message to",
		.pe = channel->rank };
	struct weft_vci *vci = &weft_proc.vci;
	int err;

	do {
		weft_vci_unlock(vci);
		weft_remote_progress(ctx);
		err = weft_rma_op_wait_check(&op_wait, 1);
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

/* NULL with an error described. */
static struct weft_rma_channel *channel_to(
	struct weft_rma_ctx *ctx, uint32_t pe)
{
	struct weft_rma_channel *channel;

	if (!ctx->channels) {
		ctx->channels = calloc(weft_rma.n_pes, sizeof(*ctx->channels));
		ctx->queued = calloc(weft_rma.n_pes, sizeof(*ctx->queued));
	}
	channel = ctx->channels && ctx->queued ? ctx->channels[pe] : NULL;
	if (weft_likely(channel))
		return channel;
	channel = ctx->queued ? calloc(1, sizeof(*channel)) : NULL;
	if (!channel || !ctx->channels) {
		free(channel);
		weft_err_set(
			WEFT_ERR_NOMEM, "no memory for messages to PE %u", pe);
		return NULL;
	}
	weft_am_open(&channel->am, &weft_rma_own.am, pe);
	channel->ctx = ctx;
	ctx->channels[pe] = channel;
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
	free(ctx->queued);
	ctx->channels = NULL;
	ctx->queued = NULL;
	ctx->n_queued = 0;
}

static int channel_post(struct weft_rma_channel *channel)
{
	struct weft_vci *vci = &weft_proc.vci;
	int err;

	if (!channel->am.len)
		return 0;
	weft_vci_lock(vci);
	err = weft_am_post_queue(&channel->am);
	weft_vci_unlock(vci);
	return err;
}

/* Fills where in the target's memory it is. */
static int am_locate(struct weft_rma_am *am)
{
	bool is_put = am->rec.kind == WEFT_WIRE_AM_PUT;
	size_t at;
	int span =
		weft_rma_span_of(am->sym, is_put ? am->len : am->rec.type, &at);

	if (span < 0)
		return span;
	am->rec.disp = (int64_t)at;
	am->rec.n = is_put ? am->len : 1;
	am->rec.n_runs = 1;
	if (span)
		am->rec.op |= WEFT_WIRE_AM_VARIABLES;
	return 0;
}

/* Appends active messages to the queue, all or none. */
static int channel_append(
	struct weft_rma_channel *channel, struct weft_rma_am *ams, size_t n)
{
	size_t size = 0;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = ams[i].sym ? am_locate(&ams[i]) : 0;
		size += weft_am_size(&ams[i].rec, ams[i].len);
	}
	if (!err && !weft_am_fits(&channel->am, size))
		err = channel_post(channel);
	for (size_t i = 0; i < n && !err; i++) {
		uint8_t *data =
			weft_am_append(&channel->am, &ams[i].rec, ams[i].len);

		err = data ? 0 : WEFT_ERR_NOMEM;
		if (data)
			memcpy(data, ams[i].data, ams[i].len);
	}
	return err;
}

/* Puts that a fence follows are visible before what is sent from now on. */
static int before_sending(struct weft_rma_ctx *ctx, uint32_t pe)
{
	int err = 0;

	if (weft_unlikely(ctx->states[pe] & WEFT_STATE_WRITTEN_FENCED))
		err = weft_remote_flush_pe(ctx, pe);
	ctx->states[pe] &= (uint8_t)~WEFT_STATE_AM_ONE;
	weft_ctx_touch(ctx, pe, WEFT_STATE_AM);
	return err;
}

int weft_rma_am_send(struct weft_rma_ctx *ctx, uint32_t pe,
	struct weft_rma_am *ams, size_t n)
{
	struct weft_rma_channel *channel = channel_to(ctx, pe);
	int err = channel ? before_sending(ctx, pe) : WEFT_ERR_NOMEM;

	if (!err)
		err = channel_append(channel, ams, n);
	return err ? err : channel_post(channel);
}

int weft_rma_am_add(
	struct weft_rma_ctx *ctx, uint32_t pe, struct weft_rma_am *am)
{
	struct weft_rma_channel *channel = channel_to(ctx, pe);
	int err = channel ? before_sending(ctx, pe) : WEFT_ERR_NOMEM;

	if (!err)
		err = channel_append(channel, am, 1);
	if (err)
		return err;
	if (!channel->is_listed) {
		channel->is_listed = true;
		weft_ctx_hold(ctx, true);
		ctx->queued[ctx->n_queued++] = pe;
	}
	return channel->am.n_queued >= ctx->window ? channel_post(channel) : 0;
}

int weft_rma_am_release(struct weft_rma_ctx *ctx)
{
	int err = 0;

	for (uint32_t i = 0; i < ctx->n_queued; i++) {
		struct weft_rma_channel *channel =
			ctx->channels[ctx->queued[i]];
		int one = channel_post(channel);

		channel->is_listed = false;
		err = err ? err : one;
	}
	ctx->n_queued = 0;
	return err;
}

/* --- answers ------------------------------------------------------------- */

static struct rma_op *rma_op_of(struct weft_am_op *op)
{
	return weft_container_of(op, struct rma_op, am);
}

static void rma_op_end(struct weft_am_op *am)
{
	struct rma_op *op = rma_op_of(am);

	op->is_done = true;
	if (am->err && am->channel)
		am->channel->err = 0; /* reported by the operation itself */
}

static void rma_op_release(struct weft_am_op *am)
{
	struct rma_op *op = rma_op_of(am);
	struct weft_rma_ctx *ctx = op->ctx;

	if (op->is_waited)
		return;
	ctx->n_unanswered--;
	if (am->err && !ctx->am_err)
		ctx->am_err = weft_err_set(
			WEFT_ERR_ARG, "an atomic was refused by its target");
	free(op);
}

/* Begins an operation that is answered; here: where it lies if this frame waits
 * for it, else NULL. NULL with an error described. */
static struct rma_op *rma_op_begin(struct weft_rma_ctx *ctx, uint32_t pe,
	void *dest, size_t width, struct rma_op *here)
{
	static const struct weft_am_op_ops ops = {
		.end = rma_op_end,
		.release = rma_op_release,
	};
	struct weft_rma_channel *channel = channel_to(ctx, pe);
	struct rma_op *op = here ? here : malloc(sizeof(*op));
	struct weft_vci *vci = &weft_proc.vci;
	int err = WEFT_ERR_NOMEM;

	if (!channel || !op)
		goto fail;
	*op = (struct rma_op){
		.am = { .ops = &ops, .dest = dest, .room = width },
		.ctx = ctx,
		.is_waited = here
	};
	weft_vci_lock(vci);
	err = weft_am_op_begin(&channel->am, &op->am, 1);
	if (!err && !here)
		ctx->n_unanswered++;
	weft_vci_unlock(vci);
	if (!err)
		return op;
fail:
	if (!here)
		free(op);
	weft_err_set(WEFT_ERR_NOMEM, "no memory for an answer of PE %u", pe);
	return NULL;
}

static void rma_op_begun(struct rma_op *op, int err)
{
	struct weft_vci *vci = &weft_proc.vci;

	weft_vci_lock(vci);
	weft_am_op_begun(&op->am, err);
	weft_vci_unlock(vci);
}

/* True when it is answered; the VCI's lock orders that. */
static bool is_answered(const struct rma_op *op)
{
	struct weft_vci *vci = &weft_proc.vci;
	bool is_done;

	weft_vci_lock(vci);
	is_done = op->is_done;
	weft_vci_unlock(vci);
	return is_done;
}

/* Waits for an operation of this frame, and ends it. The error of the wait, or
 * that of the target in op->am.err. */
static int rma_op_wait(struct rma_op *op, const char *what, uint32_t pe)
{
	struct weft_rma_op_wait op_wait = { .what = what, .pe = pe };
	struct weft_vci *vci = &weft_proc.vci;
	int err = 0;

	while (!is_answered(op) && !err) {
		weft_remote_progress(op->ctx);
		err = weft_rma_op_wait_check(&op_wait, 1);
	}
	weft_vci_lock(vci);
	if (op->is_done)
		err = 0;
	else
		weft_am_op_answered(&op->am, 1, err);
	weft_vci_unlock(vci);
	return err;
}

int weft_rma_am_fetch(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, void *fetched, uint32_t pe, bool is_nbi)
{
	uint64_t words[2] = { amo->value, amo->cond };
	struct weft_rma_am am = { .rec = { .kind = WEFT_WIRE_AM_AMO,
					  .op = (uint8_t)amo->op |
						WEFT_WIRE_AM_FETCHES,
					  .type = (uint16_t)amo->width },
		.data = words,
		.len = sizeof(words),
		.sym = dest };
	struct rma_op here, *op = rma_op_begin(ctx, pe, fetched, amo->width,
				    is_nbi ? NULL : &here);
	int err, wait_err;

	if (!op)
		return WEFT_ERR_NOMEM;
	am.rec.id = op->am.id;
	err = is_nbi ? weft_rma_am_add(ctx, pe, &am)
		     : weft_rma_am_send(ctx, pe, &am, 1);
	rma_op_begun(op, err);
	if (err || is_nbi)
		return err;
	err = weft_remote_release(ctx); /* to the others */
	wait_err = rma_op_wait(op, "an atomic at", pe);
	err = err ? err : wait_err;
	return err || !op->am.err
		       ? err
		       : weft_err_set(WEFT_ERR_ARG,
				 "an atomic was refused by its target");
}

int weft_rma_am_data_key(
	struct weft_rma_ctx *ctx, uint32_t pe, uint64_t *key_out)
{
	struct weft_wire_am rec = { .kind = WEFT_WIRE_AM_REGION };
	struct weft_vci *vci = &weft_proc.vci;
	struct rma_op here,
		*op = rma_op_begin(ctx, pe, key_out, sizeof(*key_out), &here);
	int err;

	if (!op)
		return WEFT_ERR_NOMEM;
	rec.id = op->am.id;
	weft_vci_lock(vci);
	err = weft_am_post(op->am.channel, &rec, WEFT_AM_HEAD);
	weft_am_op_begun(&op->am, err);
	weft_vci_unlock(vci);
	if (!err)
		err = rma_op_wait(op, "a first access to", pe);
	return err || !op->am.err
		       ? err
		       : weft_err_set(op->am.err,
				 "PE %u cannot register its variables", pe);
}

/* Sends an active message that is answered when it and all before is done. */
static int am_send_answered(
	struct weft_rma_ctx *ctx, uint32_t pe, struct weft_rma_am *am)
{
	struct rma_op *op = rma_op_begin(ctx, pe, NULL, 0, NULL);
	int err;

	if (!op)
		return WEFT_ERR_NOMEM;
	am->rec.id = op->am.id;
	err = weft_rma_am_send(ctx, pe, am, 1);
	rma_op_begun(op, err);
	return err;
}

int weft_rma_am_start_flush(struct weft_rma_ctx *ctx, uint32_t pe)
{
	struct weft_rma_am am = { .rec = { .kind = WEFT_WIRE_AM_FLUSH },
		.data = "" };
	uint8_t fenced = ctx->states[pe] & WEFT_STATE_WRITTEN_FENCED;
	int err;

	/* the answer says nothing of puts, so it needs no order with them */
	ctx->states[pe] &= (uint8_t)~WEFT_STATE_WRITTEN_FENCED;
	err = am_send_answered(ctx, pe, &am);
	ctx->states[pe] |= fenced;
	return err;
}

int weft_rma_am_send_one(
	struct weft_rma_ctx *ctx, uint32_t pe, struct weft_rma_am *am)
{
	int err = am_send_answered(ctx, pe, am);

	if (!err)
		ctx->states[pe] |= WEFT_STATE_AM_ONE;
	return err;
}

static uint32_t n_due(struct weft_rma_ctx *ctx, int *err)
{
	struct weft_vci *vci = &weft_proc.vci;
	uint32_t n;

	weft_vci_lock(vci);
	n = ctx->n_unanswered;
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
		.pe = WEFT_RMA_ALL };
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
	int err = is_asked ? 0 : weft_rma_am_start_flush(ctx, pe);

	if (!err)
		err = weft_rma_am_wait(ctx);
	ctx->states[pe] &= (uint8_t) ~(
		WEFT_STATE_AM | WEFT_STATE_AM_FENCED | WEFT_STATE_AM_ONE);
	return err;
}
