/* SPDX-License-Identifier: BSD-3-Clause */
/* am_origin: the origin's part of active messages: operations, the queue,
 * answers */
#include "am/am.h"

#include "base/word.h"
#include "core/comm.h"

#include <stdlib.h>
#include <string.h>

/* --- operations ------------------------------------------------------ */

void weft_am_open(
	struct weft_am_channel *channel, struct weft_am *am, uint32_t rank)
{
	channel->am = am;
	channel->rank = rank;
	weft_list_init(&channel->ops);
}

int weft_am_op_begin(
	struct weft_am_channel *channel, struct weft_am_op *op, uint32_t n_left)
{
	struct weft_am *am = channel->am;

	am->last_id += am->last_id == UINT32_MAX ? 2 : 1; /* 0 is none */
	op->id = am->last_id;
	op->channel = channel;
	op->n_left = n_left;
	op->n_holds = 1;
	op->err = 0;
	op->is_fabric = false;
	op->is_mapped =
		am->has_many_channels || !weft_list_is_empty(&channel->ops);
	if (op->is_mapped && weft_map_put(&am->due, op->id, op))
		return weft_err_set(WEFT_ERR_NOMEM,
			"no memory to wait for an answer of rank %u",
			channel->rank);
	op->number = ++channel->n_ops;
	weft_list_push_back(&channel->ops, &op->link);
	return 0;
}

static void op_unlink(struct weft_am_op *op)
{
	weft_list_remove(&op->link);
	if (op->channel && op->is_mapped)
		weft_map_remove(&op->channel->am->due, op->id);
}

void weft_am_op_answered(struct weft_am_op *op, uint32_t n, int err)
{
	if (err && !op->err)
		op->err = err;
	op->n_left -= weft_min(n, op->n_left);
	if (op->n_left || op->n_holds)
		return;
	op->ops->end(op);
	op_unlink(op);
	op->ops->release(op);
}

void weft_am_op_begun(struct weft_am_op *op, int err)
{
	/* weft_am_cancel() has not seen an operation that began later */
	if (!err && !op->is_fabric && op->channel &&
		weft_unlikely(weft_comm_is_revoked(op->channel->am->comm)))
		err = WEFT_ERR_REVOKED;
	op->n_holds--;
	weft_am_op_answered(op, err ? op->n_left : 0, err);
}

struct weft_am_op *weft_am_op_of(const struct weft_am *am,
	const struct weft_am_channel *channel, uint32_t id)
{
	struct weft_am_op *op;

	if (channel && !weft_list_is_empty(&channel->ops)) {
		op = weft_container_of(
			channel->ops.next, struct weft_am_op, link);
		if (op->id == id)
			return op;
	}
	op = id ? weft_map_get(&am->due, id) : NULL;
	return op && (!channel || op->channel == channel) ? op : NULL;
}

void weft_am_refused(
	struct weft_am_channel *channel, int err, const void *text, size_t len)
{
	if (channel->err)
		return;
	channel->err = err;
	len = weft_min(len, sizeof(channel->why) - 1);
	memcpy(channel->why, text, len);
	channel->why[len] = 0;
}

void weft_am_forget(struct weft_am_channel *channel, int err, bool is_gone)
{
	const char *why = "has failed before it answered all accesses";

	if (!weft_list_is_empty(&channel->ops))
		weft_am_refused(channel, err, why, strlen(why));
	weft_list_for_each(link, next, &channel->ops)
	{
		struct weft_am_op *op =
			weft_container_of(link, struct weft_am_op, link);

		op->n_holds++; /* until the end of this iteration */
		weft_am_op_answered(op, op->is_fabric ? 0 : op->n_left, err);
		if (is_gone || op->is_fabric)
			op->ops->end(op);
		if (is_gone) {
			op_unlink(op);
			op->channel = NULL;
		}
		op->n_holds--;
		weft_am_op_answered(op, 0, err);
	}
	if (!is_gone)
		return;
	free(channel->queue);
	channel->queue = NULL;
	channel->len = 0;
}

void weft_am_cancel(struct weft_am_channel *channel, int err)
{
	weft_list_for_each(link, next, &channel->ops)
	{
		struct weft_am_op *op =
			weft_container_of(link, struct weft_am_op, link);

		if (!op->is_fabric)
			weft_am_op_answered(op, op->n_left, err);
	}
}

/* --- the queue ------------------------------------------------------- */

/* True if the short head of a record is enough: the fields that only a head
 * with RUNS contains are not needed. */
static bool am_is_short(const struct weft_wire_am *rec)
{
	if (rec->n_runs > 1 || rec->at || rec->pos)
		return false;
	switch (rec->kind) {
	case WEFT_WIRE_AM_PUT:
	case WEFT_WIRE_AM_GET:
		return rec->n <= UINT16_MAX;
	case WEFT_WIRE_AM_ACC:
		return rec->n == 1;
	case WEFT_WIRE_AM_LONG_PUT:
	case WEFT_WIRE_AM_LONG_GET:
	case WEFT_WIRE_AM_LONG_ACC:
		return false;
	default:
		return true;
	}
}

static size_t am_head_len(const struct weft_wire_am *rec)
{
	return am_is_short(rec) ? (size_t)WEFT_AM_HEAD : sizeof(*rec);
}

size_t weft_am_size(const struct weft_wire_am *rec, size_t len)
{
	return am_head_len(rec) + weft_round_up(len, 8);
}

uint8_t *weft_am_append(struct weft_am_channel *channel,
	const struct weft_wire_am *rec, size_t len)
{
	struct weft_wire_am head = *rec;
	size_t head_len = am_head_len(rec), padded = weft_round_up(len, 8);
	uint8_t *at;

	if (!channel->queue)
		channel->queue = malloc(WEFT_AM_MAX);
	if (!channel->queue) {
		weft_err_set(WEFT_ERR_NOMEM, "no memory for an access");
		return NULL;
	}
	if (head_len > WEFT_AM_HEAD)
		head.kind |= WEFT_WIRE_AM_RUNS;
	else if (rec->kind <= WEFT_WIRE_AM_GET)
		head.type = (uint16_t)rec->n;
	at = channel->queue + channel->len;
	memcpy(at, &head, head_len);
	if (padded > len)
		memset(at + head_len + padded - 8, 0, 8);
	channel->len += (uint32_t)(head_len + padded);
	channel->n_queued++;
	return at + head_len;
}

/* --- posting --------------------------------------------------------- */

struct am_message {
	const void *bytes;
	size_t len;
};

static int am_try_post(struct weft_am_channel *channel, void *arg)
{
	const struct am_message *message = arg;
	const struct weft_am *am = channel->am;
	struct weft_wire_head head = { .op = am->request,
		.src = (uint32_t)am->comm->rank,
		.ctx = am->comm->ctx };
	struct weft_peer *peer = weft_comm_peer(am->comm, channel->rank);

	if (weft_unlikely(!peer))
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a peer");
	if (weft_unlikely(peer->state != WEFT_PEER_READY)) {
		if (peer->state == WEFT_PEER_FAILED)
			return am->ops->failed(channel);
		weft_peer_resolve(peer);
	}
	return weft_peer_is_clear(peer) ? weft_peer_post(peer, &head,
						  message->bytes, message->len)
					: WEFT_AGAIN;
}

/* WEFT_AGAIN while another thread posts records that were appended earlier. */
static int am_try_turn(struct weft_am_channel *channel, void *arg)
{
	(void)arg;
	return channel->is_posting ? WEFT_AGAIN : 0;
}

int weft_am_post_queue(struct weft_am_channel *channel)
{
	struct am_message message;
	uint8_t *queue;
	int err = weft_unlikely(channel->is_posting)
			  ? weft_am_try(channel, NULL, am_try_turn, NULL)
			  : 0;

	if (err || !channel->len)
		return err;
	/* other threads append to a new queue while this thread waits */
	queue = channel->queue;
	message = (struct am_message){ queue, channel->len };
	channel->queue = NULL;
	channel->len = channel->n_queued = 0;
	channel->is_posting = true;
	err = weft_am_try(channel, NULL, am_try_post, &message);
	channel->is_posting = false;
	if (channel->queue)
		free(queue);
	else
		channel->queue = queue;
	return err;
}

static __attribute__((noinline)) int am_prepare(
	struct weft_am_channel *channel, uint8_t kind, size_t size)
{
	int err = 0;

	for (;;) {
		if (channel->is_gated)
			err = channel->am->ops->pass_gate(channel, kind);
		if (err || weft_am_fits(channel, size))
			return err;
		err = weft_am_post_queue(channel);
		if (err)
			return err;
	}
}

uint8_t *weft_am_add(struct weft_am_channel *channel,
	const struct weft_wire_am *rec, size_t len, int *err)
{
	size_t size = weft_am_size(rec, len);
	uint8_t *data;

	*err = weft_unlikely(channel->is_gated || !weft_am_fits(channel, size))
		       ? am_prepare(channel, rec->kind, size)
		       : 0;
	data = *err ? NULL : weft_am_append(channel, rec, len);
	if (!data && !*err)
		*err = WEFT_ERR_NOMEM;
	return data;
}

int weft_am_send(
	struct weft_am_channel *channel, const struct weft_wire_am *rec)
{
	int err;

	weft_am_add(channel, rec, 0, &err);
	return err ? err : weft_am_post_queue(channel);
}

/* WEFT_AGAIN while an operation up to *number is pending. Operations are listed
 * in the order in which they began. */
static int am_try_answered(struct weft_am_channel *channel, void *arg)
{
	const uint64_t *number = arg;
	const struct weft_am_op *first;

	if (weft_list_is_empty(&channel->ops))
		return 0;
	first = weft_container_of(channel->ops.next, struct weft_am_op, link);
	return first->number > *number ? 0 : WEFT_AGAIN;
}

int weft_am_wait(struct weft_am_channel *channel, const char *what)
{
	uint64_t number = channel->n_ops;
	int err = weft_am_post_queue(channel);

	return err ? err : weft_am_try(channel, what, am_try_answered, &number);
}

/* --- answers --------------------------------------------------------- */

/* Stores the data of an answer. False: the data does not fit the operation. */
static bool am_take_data(struct weft_am_op *op,
	const struct weft_wire_am_reply *rec, const uint8_t *data)
{
	if (!rec->len)
		return true;
	if (rec->pos > op->room || rec->len > op->room - rec->pos)
		return false;
	if (op->dest)
		weft_word_load(op->dest + rec->pos, data, rec->len);
	else
		op->ops->take(op, rec->pos, data, rec->len);
	return true;
}

/* False: the answer is malformed, or no operation waits for it and the
 * communicator is not revoked. */
static bool am_take_reply(struct weft_am *am, struct weft_am_channel *channel,
	uint32_t rank, const struct weft_wire_am_reply *rec,
	const uint8_t *data)
{
	struct weft_am_op *op = weft_am_op_of(am, channel, rec->id);

	if (rec->id && (!op || !op->n_left || op->is_fabric ||
			       op->channel->rank != rank))
		return weft_comm_is_revoked(am->comm);
	if (weft_unlikely(weft_comm_is_revoked(am->comm))) {
		/* the access may have ended, and its buffer be gone */
		if (op)
			weft_am_op_answered(op, 1, WEFT_ERR_REVOKED);
		return true;
	}
	channel = op ? op->channel : channel;
	if (weft_unlikely(rec->err)) {
		if (rec->err <= WEFT_ERR_FIRST_ || rec->err >= 0 || !channel)
			return false;
		weft_am_refused(channel, rec->err, data, rec->len);
	} else if (!op || !am_take_data(op, rec, data)) {
		return false;
	}
	if (op)
		weft_am_op_answered(op, 1, rec->err);
	return true;
}

bool weft_am_take_replies(struct weft_am *am, struct weft_am_channel *channel,
	uint32_t rank, const uint8_t *at, size_t len)
{
	struct weft_wire_am_reply rec;

	while (weft_wire_get_am_reply(&rec, at, len)) {
		size_t size = sizeof(rec) + weft_round_up((size_t)rec.len, 8);

		if (size > len || !am_take_reply(am, channel, rank, &rec,
					  at + sizeof(rec)))
			break;
		at += size;
		len -= size;
	}
	return !len;
}
