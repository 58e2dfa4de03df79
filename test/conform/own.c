/* SPDX-License-Identifier: BSD-3-Clause */
/* own: rings and single copy behind the calls of net.h */
#include "test/conform/own.h"

#include "shm/copy.h"
#include "shm/seg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	N_PLACES = 64, /* writers for which a segment has space */
	N_OPS = 256,
	RING_LEN = 64 << 10,
	RECV_LEN = 16 << 10,
	MAGIC = 0x6e776f77,
};

enum kind { MESSAGE, READ_ME, DONE };

/* Payload that a ring does not interpret. */
struct head {
	uint32_t kind;
	int32_t err; /* error of a DONE */
	uint64_t tag;
	uint64_t id; /* id of the sender's operation */
};
_Static_assert(sizeof(struct head) == WEFT_RING_HEAD, "a ring's head");

struct read_me {
	uint64_t addr, len;
	int32_t pid, fd; /* pid and descriptor of the sender */
};

struct name {
	uint32_t magic[2];
	struct weft_shm_bc bc;
};

struct peer {
	struct weft_shm_bc bc;
	struct weft_ring_tx tx;
};

enum state { FREE, RECEIVING, COME, FINISHED, SENDING };

/* An operation, a request without a posted receive (COME), or an answer that
 * found no space in the ring (FINISHED with answer set). */
struct slot {
	enum state state;
	struct weft_op *op;
	void *buf;
	size_t len;
	uint64_t tag;
	int err;
	struct head head;
	struct read_me from;
	bool owes_answer;
};

struct own {
	struct weft_net net;
	struct weft_shm *shm;
	weft_net_recv_fn *recv;
	void *arg;
	struct weft_shm_bc bc;
	uint32_t place; /* place in the segments of other processes */
	struct peer peers[N_PLACES];
	uint32_t n_peers;
	struct slot slots[N_OPS];
};

static struct own *inside(struct weft_net *net)
{
	return weft_container_of(net, struct own, net);
}

static struct slot *take(struct own *own)
{
	for (size_t i = 0; i < N_OPS; i++)
		if (own->slots[i].state == FREE) {
			own->slots[i] = (struct slot){ 0 };
			return &own->slots[i];
		}
	return NULL;
}

static int put(struct own *own, uint64_t addr, const struct head *head,
	const struct iovec *iov, size_t n_iov)
{
	struct weft_ring_tx *tx = &own->peers[addr].tx;
	size_t len = 0;
	char *to;

	for (size_t i = 0; i < n_iov; i++)
		len += iov[i].iov_len;
	to = weft_ring_reserve(tx, len);
	if (!to) {
		own->net.counters.net_refused++;
		return WEFT_AGAIN;
	}
	for (size_t i = 0; i < n_iov; i++) {
		if (iov[i].iov_len)
			memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
	memcpy(weft_ring_head(tx), head, sizeof(*head));
	weft_ring_commit(tx, len);
	return 0;
}

/* ---- receiving ---- */

static bool answer(struct own *own, struct slot *slot)
{
	struct head head = slot->head;

	head.kind = DONE;
	head.err = slot->err;
	for (uint32_t i = 0; i < own->n_peers; i++)
		if (own->peers[i].bc.pid == slot->from.pid &&
			own->peers[i].bc.fd == slot->from.fd)
			return put(own, i, &head, NULL, 0) == 0;
	return true; /* a process that is no peer: nothing to answer */
}

static void copy(
	struct slot *slot, const struct head *head, const struct read_me *from)
{
	struct iovec local = { slot->buf, weft_min(slot->len, from->len) };

	if (local.iov_len)
		slot->err = weft_copy_read(
			from->pid, &local, 1, from->addr, local.iov_len);
	if (!slot->err && from->len > slot->len)
		slot->err = WEFT_ERR_TRUNCATE;
	slot->len = local.iov_len;
	slot->head = *head;
	slot->from = *from;
	slot->owes_answer = true;
	slot->state = FINISHED;
}

static void on_read_me(
	struct own *own, const struct head *head, const struct read_me *from)
{
	struct slot *slot;

	for (size_t i = 0; i < N_OPS; i++)
		if (own->slots[i].state == RECEIVING &&
			own->slots[i].tag == head->tag) {
			copy(&own->slots[i], head, from);
			return;
		}
	slot = take(own);
	if (!slot)
		abort();
	slot->state = COME;
	slot->tag = head->tag;
	slot->head = *head;
	slot->from = *from;
}

static void on_message(void *arg, struct weft_ring_rx *rx, const void *bytes,
	const void *payload, size_t len)
{
	struct own *own = arg;
	struct head head;
	struct read_me from;

	(void)rx;
	if (!bytes)
		abort();
	memcpy(&head, bytes, sizeof(head));
	if (head.kind == MESSAGE) {
		own->net.counters.net_received++;
		own->recv(own->arg, payload, len);
	} else if (head.kind == READ_ME) {
		memcpy(&from, payload, sizeof(from));
		on_read_me(own, &head, &from);
	} else {
		own->slots[head.id].err =
			head.err == WEFT_ERR_TRUNCATE ? 0 : head.err;
		own->slots[head.id].state = FINISHED;
	}
}

static int finish(struct own *own, struct slot *slot)
{
	struct slot was;

	if (slot->owes_answer && !answer(own, slot))
		return 0;
	was = *slot;
	slot->state = FREE;
	if (was.op)
		was.op->done(was.op, was.err, was.len);
	return 1;
}

int own_poll(struct weft_net *net)
{
	struct own *own = inside(net);
	int n = weft_shm_poll(own->shm);

	for (size_t i = 0; i < N_OPS; i++)
		if (own->slots[i].state == FINISHED)
			n += finish(own, &own->slots[i]);
	return n;
}

/* ---- opening and closing ---- */

int own_open(const struct weft_net_hints *hints, weft_net_recv_fn *recv,
	void *arg, struct weft_net **net_out)
{
	static uint32_t n_opened;
	struct own *own = calloc(1, sizeof(*own));
	int rc;

	(void)hints;
	if (!own)
		return WEFT_ERR_NOMEM;
	own->recv = recv;
	own->arg = arg;
	rc = weft_shm_open(N_PLACES, WEFT_RING_SLOTS_MAX, RING_LEN, on_message,
		own, &own->shm);
	if (rc) {
		free(own);
		return rc;
	}
	weft_copy_permit();
	weft_shm_describe(own->shm, &own->bc);
	if (!weft_copy_can_read(&own->bc)) {
		weft_shm_close(own->shm);
		free(own);
		return WEFT_ERR_NOPROV;
	}
	own->place = n_opened++ % N_PLACES;
	own->net.plan.inject_len = own->net.plan.eager_len =
		own->net.plan.recv_len = RECV_LEN;
	own->net.plan.max_msg_len = SIZE_MAX;
	snprintf(own->net.plan.provider, sizeof(own->net.plan.provider),
		"own shared memory");
	snprintf(own->net.plan.domain, sizeof(own->net.plan.domain), "node");
	*net_out = &own->net;
	return 0;
}

void own_close(struct weft_net *net)
{
	struct own *own = inside(net);

	for (uint32_t i = 0; i < own->n_peers; i++)
		weft_ring_detach(&own->peers[i].tx);
	weft_shm_close(own->shm);
	free(own);
}

int own_name(struct weft_net *net, void *buf, size_t *len)
{
	struct name name = { { MAGIC, MAGIC }, inside(net)->bc };

	if (*len < sizeof(name))
		return WEFT_ERR_ARG;
	memcpy(buf, &name, sizeof(name));
	*len = sizeof(name);
	return 0;
}

int own_peer_add(
	struct weft_net *net, const void *bytes, size_t len, uint64_t *addr_out)
{
	struct own *own = inside(net);
	struct peer *peer = &own->peers[own->n_peers];
	struct name name;
	int rc;

	if (len < sizeof(name))
		return WEFT_ERR_PEER;
	memcpy(&name, bytes, sizeof(name));
	if (name.magic[0] != MAGIC || name.magic[1] != MAGIC)
		return WEFT_ERR_PEER;
	rc = weft_ring_attach(&peer->tx, &name.bc, own->place, own->place, 0);
	if (rc)
		return rc;
	if (!weft_copy_can_read(&name.bc))
		return WEFT_ERR_UNSUPPORTED;
	peer->bc = name.bc;
	*addr_out = own->n_peers++;
	return 0;
}

/* ---- posts ---- */

int own_inject(struct weft_net *net, uint64_t addr, const void *buf, size_t len)
{
	struct head head = { .kind = MESSAGE };
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return put(inside(net), addr, &head, &iov, 1);
}

int own_send(struct weft_net *net, uint64_t addr, const struct iovec *iov,
	size_t n_iov, struct weft_op *op)
{
	struct own *own = inside(net);
	struct head head = { .kind = MESSAGE };
	struct slot *slot = take(own);
	int rc = slot ? put(own, addr, &head, iov, n_iov) : WEFT_AGAIN;

	if (rc)
		return rc;
	slot->state = FINISHED;
	slot->op = op;
	return 0;
}

int own_tsend(struct weft_net *net, uint64_t addr, const void *buf, size_t len,
	const struct weft_mr *mr, uint64_t tag, struct weft_op *op)
{
	struct own *own = inside(net);
	struct slot *slot = take(own);
	struct head head = { .kind = READ_ME, .tag = tag };
	struct read_me from = { (uintptr_t)buf, len, own->bc.pid, own->bc.fd };
	struct iovec iov = { &from, sizeof(from) };
	int rc = WEFT_AGAIN;

	(void)mr;
	if (slot) {
		head.id = (uint64_t)(slot - own->slots);
		rc = put(own, addr, &head, &iov, 1);
	}
	if (rc)
		return rc;
	slot->state = SENDING;
	slot->op = op;
	slot->len = len;
	return 0;
}

int own_trecv(struct weft_net *net, uint64_t addr, void *buf, size_t len,
	const struct weft_mr *mr, uint64_t tag, struct weft_op *op)
{
	struct own *own = inside(net);
	struct slot *come = NULL, *slot;

	(void)addr;
	(void)mr;
	for (size_t i = 0; i < N_OPS && !come; i++)
		if (own->slots[i].state == COME && own->slots[i].tag == tag)
			come = &own->slots[i];
	slot = come ? come : take(own);
	if (!slot)
		return WEFT_AGAIN;
	slot->op = op;
	slot->buf = buf;
	slot->len = len;
	slot->tag = tag;
	if (come) {
		struct head head = come->head;
		struct read_me from = come->from;

		copy(slot, &head, &from);
	} else {
		slot->state = RECEIVING;
	}
	return 0;
}

int own_cancel(struct weft_net *net, struct weft_op *op)
{
	struct own *own = inside(net);

	for (size_t i = 0; i < N_OPS; i++)
		if (own->slots[i].state == RECEIVING &&
			own->slots[i].op == op) {
			own->slots[i].state = FINISHED;
			own->slots[i].err = WEFT_ERR_CANCELED;
		}
	return 0;
}
