/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_rx: messages: arrived messages, posted receives, and their matching
 *
 * Messages are matched only when the process polls. Long messages are a
 * rendezvous: matched in order, complete some time later. */
#include "stand.h"

#include <stdlib.h>
#include <string.h>

enum {
	INBOX_MAX = 64 << 20, /* bytes; beyond that, the sockets are not read */
	PER_MESSAGE = 128,
};

static void recv_free(struct stand_recv *r)
{
	stand_hmem_unuse(r->mr);
	free(r);
}

static void drop_arrival(struct stand_nic *nic, struct stand_arrival *a)
{
	if (a->conn)
		stand_wire_ack(a->conn, &a->frame, 0, NULL, 0);
	nic->inbox_len -= a->frame.len + PER_MESSAGE;
	free(a->data);
	free(a);
}

void stand_rx_arrive(struct stand_conn *c, char *data)
{
	struct stand_nic *nic = c->nic;
	struct stand_arrival *a = calloc(1, sizeof(*a));
	bool is_early =
		c->in.len <= STAND_EAGER_LEN &&
		!(c->in.flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE));

	if (!a)
		abort();
	a->frame = c->in;
	a->from = c->addr;
	a->data = data;
	a->conn = c;
	*nic->arrived_tail = a;
	nic->arrived_tail = &a->next;
	nic->inbox_len += c->in.len + PER_MESSAGE;
	if (nic->inbox_len > INBOX_MAX)
		c->is_paused = true;
	else if (is_early) {
		a->conn = NULL;
		stand_wire_ack(c, &c->in, 0, NULL, 0);
	}
}

/* Matching */

static bool matches(struct stand_nic *nic, const struct stand_recv *r,
	const struct stand_arrival *a)
{
	if (a->frame.type == STAND_TAGGED &&
		(r->tag ^ a->frame.addr) & ~r->ignore & STAND_TAG_MASK)
		return false;
	return r->src == FI_ADDR_UNSPEC ||
	       stand_av_find(nic->av, a->from) == r->src;
}

static void complete(struct stand_nic *nic, const struct stand_recv *r,
	const struct stand_arrival *a, size_t len, uint64_t flags)
{
	bool is_tagged = a->frame.type == STAND_TAGGED;
	fi_addr_t src = FI_ADDR_NOTAVAIL;

	flags |= FI_RECV | (is_tagged ? FI_TAGGED : FI_MSG);
	if (a->frame.flags & FI_REMOTE_CQ_DATA)
		flags |= FI_REMOTE_CQ_DATA;
	stand_count(nic, STAND_COUNT_RECV, len < a->frame.len);
	if (len < a->frame.len) {
		struct fi_cq_err_entry e = {
			.op_context = r->context,
			.flags = flags,
			.len = len,
			.buf = r->buf,
			.data = a->frame.data,
			.tag = is_tagged ? a->frame.addr : 0,
			.olen = a->frame.len - len,
			.err = FI_ETRUNC,
			.prov_errno = FI_ETRUNC,
		};

		stand_cq_put_err(nic->rx_cq, &e);
	} else if (r->is_signalled) {
		struct fi_cq_tagged_entry e = {
			.op_context = r->context,
			.flags = flags,
			.len = len,
			.buf = r->buf,
			.data = a->frame.data,
			.tag = is_tagged ? a->frame.addr : 0,
		};

		if (nic->caps & FI_SOURCE)
			src = stand_av_find(nic->av, a->from);
		stand_cq_put(nic->rx_cq, &e, src);
	}
}

/* Copies a message and completes its receive. True if the receive is not posted
 * any more. */
static bool finish(
	struct stand_nic *nic, struct stand_recv *r, struct stand_arrival *a)
{
	size_t len = a->frame.len < r->len ? a->frame.len : r->len;
	bool is_multi = r->flags & FI_MULTI_RECV;
	bool is_last = !is_multi || r->len - len < nic->min_multi;

	if (len && r->mr)
		stand_hmem_write(r->mr, r->buf, a->data, len);
	else if (len)
		memcpy(r->buf, a->data, len);
	complete(nic, r, a, len, is_multi && is_last ? FI_MULTI_RECV : 0);
	r->buf += len;
	r->len -= len;
	drop_arrival(nic, a);
	return is_last;
}

/* Handles a match. A short message completes immediately, a rendezvous later.
 * True if the receive is not posted any more. */
static bool deliver(
	struct stand_nic *nic, struct stand_recv *r, struct stand_arrival *a)
{
	struct stand_pull *pull;
	struct stand_pull **at = &nic->pulls;

	if (a->frame.len <= STAND_EAGER_LEN || r->flags & FI_MULTI_RECV ||
		!stand_env.delay_us) {
		if (!finish(nic, r, a))
			return false;
		recv_free(r);
		return true;
	}
	pull = calloc(1, sizeof(*pull));
	if (!pull)
		abort();
	pull->recv = r;
	pull->arrival = a;
	pull->due = stand_now_us() + stand_random(nic) % stand_env.delay_us;
	while (*at && (*at)->due <= pull->due)
		at = &(*at)->next;
	pull->next = *at;
	*at = pull;
	return true;
}

static int kind_of(const struct stand_arrival *a)
{
	return a->frame.type == STAND_TAGGED ? STAND_KIND_TAGGED
					     : STAND_KIND_MSG;
}

static void match(struct stand_nic *nic, struct stand_arrival *a)
{
	int kind = kind_of(a);
	struct stand_recv **at = &nic->posted[kind];
	struct stand_arrival **early = &nic->early[kind];

	for (; *at; at = &(*at)->next) {
		struct stand_recv *r = *at;
		struct stand_recv *next = r->next;

		if (!matches(nic, r, a))
			continue;
		if (deliver(nic, r, a))
			*at = next;
		return;
	}
	while (*early)
		early = &(*early)->next;
	a->next = NULL;
	*early = a;
}

static void finish_pulls(struct stand_nic *nic)
{
	uint64_t now = stand_now_us();

	while (nic->pulls && nic->pulls->due <= now) {
		struct stand_pull *pull = nic->pulls;

		nic->pulls = pull->next;
		finish(nic, pull->recv, pull->arrival);
		recv_free(pull->recv);
		free(pull);
	}
}

void stand_rx_progress(struct stand_nic *nic)
{
	while (nic->arrived) {
		struct stand_arrival *a = nic->arrived;

		nic->arrived = a->next;
		if (!nic->arrived)
			nic->arrived_tail = &nic->arrived;
		match(nic, a);
	}
	if (nic->pulls)
		finish_pulls(nic);
	if (nic->inbox_len < INBOX_MAX / 2)
		stand_wire_resume(nic);
}

/* Posting */

/* Matches messages that arrived before the receive. True if the receive is used
 * up. */
static bool take_early(struct stand_nic *nic, int kind, struct stand_recv *r)
{
	struct stand_arrival **at = &nic->early[kind];

	while (*at) {
		struct stand_arrival *a = *at;

		if (!matches(nic, r, a)) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		if (deliver(nic, r, a))
			return true;
	}
	return false;
}

ssize_t stand_rx_post(struct stand_ep *ep, int kind, struct stand_recv *want)
{
	struct stand_nic *nic = ep->nic;
	struct stand_recv *r = malloc(sizeof(*r));
	struct stand_recv **at = &nic->posted[kind];

	if (!r)
		return -FI_ENOMEM;
	*r = *want;
	r->next = NULL;
	pthread_mutex_lock(&nic->lock);
	if (!nic->is_enabled || !nic->rx_cq) {
		pthread_mutex_unlock(&nic->lock);
		free(r);
		return -FI_EOPBADSTATE;
	}
	if (kind == STAND_KIND_TAGGED && stand_chance(nic, stand_env.eagain)) {
		pthread_mutex_unlock(&nic->lock);
		free(r);
		return -FI_EAGAIN;
	}
	if (!nic->rx_selective || want->flags & FI_COMPLETION)
		r->is_signalled = true;
	if (!take_early(nic, kind, r)) {
		while (*at)
			at = &(*at)->next;
		*at = r;
	}
	pthread_mutex_unlock(&nic->lock);
	return 0;
}

ssize_t stand_rx_cancel(struct stand_nic *nic, void *context)
{
	for (int kind = 0; kind < STAND_KINDS; kind++) {
		struct stand_recv **at = &nic->posted[kind];

		for (; *at; at = &(*at)->next) {
			struct stand_recv *r = *at;
			struct fi_cq_err_entry e = {
				.op_context = context,
				.flags = FI_RECV | (kind ? FI_TAGGED : FI_MSG),
				.tag = r->tag,
				.err = FI_ECANCELED,
				.prov_errno = FI_ECANCELED,
			};

			if (r->context != context)
				continue;
			*at = r->next;
			recv_free(r);
			stand_cq_put_err(nic->rx_cq, &e);
			return 0;
		}
	}
	return -FI_ENOENT;
}

/* Closing */

static void forget(struct stand_arrival *a, struct stand_conn *conn)
{
	for (; a; a = a->next)
		if (a->conn == conn)
			a->conn = NULL;
}

void stand_rx_forget(struct stand_nic *nic, struct stand_conn *conn)
{
	forget(nic->arrived, conn);
	for (int kind = 0; kind < STAND_KINDS; kind++)
		forget(nic->early[kind], conn);
	for (struct stand_pull *p = nic->pulls; p; p = p->next)
		if (p->arrival->conn == conn)
			p->arrival->conn = NULL;
}

static void free_arrivals(struct stand_arrival *a)
{
	while (a) {
		struct stand_arrival *next = a->next;

		free(a->data);
		free(a);
		a = next;
	}
}

void stand_rx_fini(struct stand_nic *nic)
{
	free_arrivals(nic->arrived);
	for (int kind = 0; kind < STAND_KINDS; kind++) {
		free_arrivals(nic->early[kind]);
		while (nic->posted[kind]) {
			struct stand_recv *r = nic->posted[kind];

			nic->posted[kind] = r->next;
			recv_free(r);
		}
	}
	while (nic->pulls) {
		struct stand_pull *p = nic->pulls;

		nic->pulls = p->next;
		p->arrival->next = NULL;
		free_arrivals(p->arrival);
		recv_free(p->recv);
		free(p);
	}
}
