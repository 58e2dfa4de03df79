/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_target: accesses of other processes to the memory of this process
 *
 * An ordinary write is answered when it has arrived. It becomes visible some
 * time later, in any order. A write with delivery-complete is visible when it
 * is answered. If such a write has a fence, all earlier writes of that peer are
 * visible, too. Atomics are carried out when they arrive, even if earlier
 * writes are not visible yet. */
#include "stand.h"

#include <stdlib.h>
#include <string.h>

static void count(struct stand_nic *nic, struct stand_mr *mr, bool is_read)
{
	stand_count(nic,
		is_read ? STAND_COUNT_REMOTE_READ : STAND_COUNT_REMOTE_WRITE,
		false);
	if (mr->cntr)
		stand_cntr_step(mr->cntr, false);
}

static void apply(struct stand_nic *nic, struct stand_pending *p)
{
	char *at = p->mr->base + p->frame.addr;
	char old[16];

	if (p->frame.type == STAND_WRITE)
		stand_store(at, p->data, p->frame.len);
	else
		stand_amo(
			p->frame.datatype, p->frame.op, at, p->data, NULL, old);
	count(nic, p->mr, false);
	free(p->data);
	free(p);
}

/* Applies the writes that the three arguments select, in order of their time.
 */
static void settle(struct stand_nic *nic, uint64_t until,
	const struct stand_conn *conn, const struct stand_mr *mr, uint8_t type)
{
	struct stand_pending **at = &nic->pending;

	while (*at) {
		struct stand_pending *p = *at;

		if (p->due > until || (conn && p->conn != conn) ||
			(mr && p->mr != mr) ||
			(type && p->frame.type != type)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		apply(nic, p);
	}
	nic->has_due = nic->pending != NULL;
}

void stand_target_settle(struct stand_nic *nic)
{
	if (nic->pending)
		settle(nic, stand_now_us(), NULL, NULL, 0);
}

void stand_target_flush(
	struct stand_nic *nic, struct stand_conn *conn, struct stand_mr *mr)
{
	settle(nic, UINT64_MAX, conn, mr, 0);
}

void stand_target_forget(struct stand_nic *nic, struct stand_conn *conn)
{
	for (struct stand_pending *p = nic->pending; p; p = p->next)
		if (p->conn == conn)
			p->conn = NULL;
}

static uint64_t due_of(struct stand_conn *c, const struct stand_mr *mr,
	const struct stand_frame *f)
{
	uint64_t due = stand_now_us();
	bool is_ordered = mr->is_strict && f->flags & FI_ORDER_WAW;

	if (stand_env.delay_us)
		due += stand_random(c->nic) % stand_env.delay_us;
	if (is_ordered || !stand_env.reorder) {
		if (due < c->last_due)
			due = c->last_due;
		c->last_due = due;
	}
	return due;
}

static void postpone(struct stand_nic *nic, struct stand_pending *p)
{
	struct stand_pending **at = &nic->pending;

	while (*at && (*at)->due <= p->due)
		at = &(*at)->next;
	p->next = *at;
	*at = p;
	nic->has_due = true;
}

static void change(struct stand_conn *c, struct stand_mr *mr, char *data)
{
	struct stand_pending *p = calloc(1, sizeof(*p));
	bool is_deep = c->in.flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE);

	if (!p)
		abort();
	p->conn = c;
	p->mr = mr;
	p->frame = c->in;
	p->data = data;
	p->due = due_of(c, mr, &c->in);
	if (is_deep && mr->is_strict && c->in.flags & FI_ORDER_WAW)
		stand_target_flush(c->nic, c, NULL);
	if (is_deep || !stand_env.delay_us)
		apply(c->nic, p);
	else
		postpone(c->nic, p);
	stand_wire_ack(c, &c->in, 0, NULL, 0);
}

static void get(struct stand_conn *c, struct stand_mr *mr)
{
	char *copy = malloc(c->in.want ? c->in.want : 1);

	if (!copy)
		abort();
	memcpy(copy, mr->base + c->in.addr, c->in.want);
	count(c->nic, mr, true);
	stand_wire_ack(c, &c->in, 0, copy, c->in.want);
}

static void fetch(struct stand_conn *c, struct stand_mr *mr, char *data)
{
	size_t len = stand_type_len(c->in.datatype);
	bool compares = c->in.type == STAND_COMPARE;
	char *old = malloc(16);

	if (!old)
		abort();
	settle(c->nic, UINT64_MAX, NULL, NULL, STAND_AMO);
	stand_amo(c->in.datatype, c->in.op, mr->base + c->in.addr, data,
		compares ? data + len : NULL, old);
	count(c->nic, mr, false);
	free(data);
	stand_wire_ack(c, &c->in, 0, old, len);
}

/* Returns the number of bytes of memory that a request accesses. */
static size_t span(const struct stand_frame *f)
{
	if (f->type == STAND_READ)
		return f->want;
	return f->type == STAND_WRITE ? f->len : stand_type_len(f->datatype);
}

static bool is_whole(const struct stand_frame *f)
{
	size_t n = f->type == STAND_COMPARE ? 2 : 1;

	if (f->type == STAND_WRITE || f->type == STAND_READ)
		return true;
	return f->type <= STAND_COMPARE && stand_type_len(f->datatype) &&
	       f->len == n * stand_type_len(f->datatype);
}

void stand_target(struct stand_conn *c, char *data)
{
	struct stand_mr *mr;
	int status = 0;

	if (!is_whole(&c->in)) {
		free(data);
		stand_wire_ack(c, &c->in, FI_EINVAL, NULL, 0);
		return;
	}
	if (c->in.flags & FI_FENCE && c->in.flags & FI_DELIVERY_COMPLETE)
		stand_target_flush(c->nic, c, NULL);
	mr = stand_mr_find(c->nic, &c->in, span(&c->in), &status);
	if (!mr) {
		free(data);
		stand_wire_ack(c, &c->in, status, NULL, 0);
		return;
	}
	switch (c->in.type) {
	case STAND_WRITE:
	case STAND_AMO:
		change(c, mr, data);
		break;
	case STAND_READ:
		free(data);
		get(c, mr);
		break;
	default:
		fetch(c, mr, data);
	}
}
