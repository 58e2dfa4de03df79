/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_tx: posting: the queue of commands, its doorbell, completions
 *
 * A command with FI_MORE is queued and not sent. A later command without it
 * rings the doorbell for all of them, whichever caller posts it. A refused post
 * rings, too. No other call rings. */
#include "stand.h"

#include <stdlib.h>
#include <string.h>

enum {
	QUEUED_MAX = 4 * STAND_TX_LEN
}; /* commands in the queue, those without
    * an event included */

void stand_list_init(struct stand_op_list *list)
{
	list->head = NULL;
	list->tail = &list->head;
}

void stand_list_add(struct stand_op_list *list, struct stand_op *op)
{
	op->next = NULL;
	*list->tail = op;
	list->tail = &op->next;
}

struct stand_op *stand_op_new(struct stand_ep *ep, fi_addr_t peer,
	uint64_t flags, void *context, enum stand_type type)
{
	struct stand_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->nic = ep->nic;
	op->peer = peer;
	op->flags = flags;
	op->context = context;
	op->frame.type = (uint8_t)type;
	op->frame.flags = flags;
	return op;
}

int stand_op_data(struct stand_op *op, const void *buf, size_t len)
{
	op->data = buf;
	op->frame.len = (uint32_t)len;
	if (!(op->flags & FI_INJECT) || !len)
		return 0;
	op->copy = malloc(len);
	if (!op->copy)
		return -FI_ENOMEM;
	memcpy(op->copy, buf, len);
	op->data = op->copy;
	return 0;
}

void stand_op_free(struct stand_op *op)
{
	free(op->copy);
	stand_hmem_unuse(op->mr);
	free(op);
}

uint64_t stand_call_flags(const struct stand_ep *ep)
{
	uint64_t flags = ep->op_flags;

	if (!ep->nic->tx_selective)
		flags |= FI_COMPLETION;
	return flags;
}

static enum stand_count counted_as(const struct stand_op *op)
{
	switch (op->frame.type) {
	case STAND_MSG:
	case STAND_TAGGED:
		return STAND_COUNT_SEND;
	case STAND_READ:
	case STAND_FETCH:
	case STAND_COMPARE:
		return STAND_COUNT_READ;
	default:
		return STAND_COUNT_WRITE;
	}
}

static bool is_message(const struct stand_op *op)
{
	return op->frame.type == STAND_MSG || op->frame.type == STAND_TAGGED;
}

void stand_op_complete(struct stand_op *op, int status)
{
	struct stand_nic *nic = op->nic;
	unsigned odds = is_message(op) ? stand_env.cqerr_msg : stand_env.cqerr;

	if (!status && op->is_lost)
		status = FI_ETIMEDOUT;
	if (!status && stand_chance(nic, odds))
		status = FI_EIO;
	if (op->is_signalled)
		nic->n_window--;
	nic->n_queued--;
	stand_count(nic, counted_as(op), status != 0);
	if (status) {
		struct fi_cq_err_entry e = {
			.op_context = op->context,
			.flags = op->cq_flags,
			.tag = op->frame.addr,
			.err = status,
			.prov_errno = status,
		};

		stand_log("complete id=%llu error=%s",
			(unsigned long long)op->frame.id, fi_strerror(status));
		if (nic->tx_cq)
			stand_cq_put_err(nic->tx_cq, &e);
	} else if (op->is_signalled && nic->tx_cq) {
		struct fi_cq_tagged_entry e = {
			.op_context = op->context,
			.flags = op->cq_flags,
		};

		stand_cq_put(nic->tx_cq, &e, FI_ADDR_NOTAVAIL);
	}
	stand_op_free(op);
}

void stand_ring(struct stand_nic *nic)
{
	if (!nic->held.head)
		return;
	nic->n_doorbells++;
	nic->n_held = 0;
	while (nic->held.head) {
		struct stand_op *op = nic->held.head;
		struct stand_conn *conn;

		nic->held.head = op->next;
		if (!nic->held.head)
			nic->held.tail = &nic->held.head;
		if (op->is_lost && is_message(op)) {
			stand_op_complete(op, FI_ETIMEDOUT);
			continue;
		}
		conn = stand_wire_peer(nic, op->peer);
		if (!conn || conn->is_dead) {
			stand_op_complete(op, FI_ECONNREFUSED);
			continue;
		}
		stand_list_add(&conn->todo, op);
	}
	for (struct stand_conn *c = nic->conns; c; c = c->next)
		if (c->todo.head)
			stand_wire_push(c);
}

static ssize_t refuse(struct stand_nic *nic, struct stand_op *op, ssize_t rc)
{
	stand_ring(nic);
	stand_wire_pump(nic);
	stand_op_free(op);
	return rc;
}

static ssize_t check(struct stand_ep *ep, const struct stand_op *op)
{
	struct stand_nic *nic = ep->nic;
	struct stand_addr addr;

	if (!nic->is_enabled)
		return -FI_EOPBADSTATE;
	if (op->flags & FI_FENCE && !(nic->caps & FI_FENCE)) {
		stand_log("refused FI_FENCE: not among the capabilities");
		return -FI_EINVAL;
	}
	if (!stand_av_get(nic->av, op->peer, &addr))
		return -FI_EINVAL;
	if (stand_chance(nic, stand_env.eagain)) {
		stand_log("refused EAGAIN: injected");
		return -FI_EAGAIN;
	}
	if ((op->is_signalled && nic->n_window >= nic->tx_len) ||
		nic->n_queued >= QUEUED_MAX)
		return -FI_EAGAIN;
	return 0;
}

ssize_t stand_post(struct stand_ep *ep, struct stand_op *op)
{
	struct stand_nic *nic = ep->nic;
	ssize_t rc;

	pthread_mutex_lock(&nic->lock);
	op->is_signalled = op->flags & FI_COMPLETION;
	rc = check(ep, op);
	if (rc) {
		rc = refuse(nic, op, rc);
		pthread_mutex_unlock(&nic->lock);
		return rc;
	}
	op->frame.id = nic->next_id++;
	if (op->flags & WEFT_CXI_UNRELIABLE)
		op->is_lost = stand_chance(nic, stand_env.lose);
	if (is_message(op) && op->frame.len > STAND_EAGER_LEN)
		op->is_lost = stand_chance(nic, stand_env.lose_msg);
	nic->n_window += op->is_signalled;
	nic->n_queued++;
	nic->n_ops++;
	nic->n_held++;
	stand_list_add(&nic->held, op);
	if (!(op->flags & FI_MORE))
		stand_ring(nic);
	pthread_mutex_unlock(&nic->lock);
	return 0;
}
