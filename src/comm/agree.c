/* SPDX-License-Identifier: BSD-3-Clause */
/* agree: one round of agreement on a communicator's control context
 *
 * The members form a binomial tree. The subtree of rank r has the ranks from r
 * to r + (lowest bit of r) - 1. So the records of a subtree are contiguous, and
 * a child sends them to its parent in one message. Each step posts sends and
 * receives. The completion of the last of them starts the next step. After a
 * failed step the round continues: this member sends the error to its parent
 * and its children, and drops received messages. */
#include "comm/agree.h"

#include "base/err.h"
#include "transport/vci.h"
#include "p2p/p2p.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_LEN = 2 * sizeof(uint64_t) };

static uint32_t tree_size(const struct weft_agree *a)
{
	return (uint32_t)a->tree->size;
}

static uint32_t my_rank(const struct weft_agree *a)
{
	return (uint32_t)a->tree->rank;
}

/* The first rank after the subtree of a rank. */
static uint32_t subtree_end(const struct weft_agree *a, uint32_t rank)
{
	uint32_t size = tree_size(a);
	uint64_t end = rank ? (uint64_t)rank + (rank & -rank) : size;

	return end < size ? (uint32_t)end : size;
}

/* Calls fn for each child of this rank. */
static void for_each_child(
	struct weft_agree *a, void (*fn)(struct weft_agree *a, uint32_t child))
{
	uint32_t rank = my_rank(a);

	for (uint64_t bit = 1; rank + bit < tree_size(a); bit <<= 1) {
		if (rank & bit)
			break;
		fn(a, (uint32_t)(rank + bit));
	}
}

static void advance(struct weft_agree *a);

static void agree_arrived(struct weft_agree *a)
{
	if (--a->n_waiting == 0)
		advance(a);
}

static void agree_on_done(void *arg, struct weft_req *req)
{
	struct weft_agree *a = arg;

	if (req->status.err && !a->err)
		a->err = req->status.err;
	weft_req_put(req);
	agree_arrived(a);
}

/* Posts a send or a receive of this step. After an error, sends the error, or
 * drops the message to be received. */
static void agree_post(struct weft_agree *a, bool is_send,
	struct weft_comm *comm, uint32_t rank, char *buf, size_t len)
{
	struct weft_msg msg = {
		.comm = comm,
		.buf = buf,
		.count = (int64_t)len,
		.type = weft_type_builtin(WEFT_TYPE_BYTE),
		.rank = (int32_t)rank,
		.tag = a->tag,
		.ctx_offset = WEFT_CTX_OFFSET_CTL,
	};
	struct weft_req *req;
	int err;

	if (a->err && is_send)
		weft_send_coll_error_locked(&msg, a->err);
	else if (a->err)
		weft_recv_drop_locked(&msg);
	if (a->err)
		return;
	a->n_waiting++;
	err = is_send ? weft_isend_locked(&msg, &req)
		      : weft_irecv_locked(&msg, &req);
	if (err) {
		a->err = err;
		a->n_waiting--; /* stays above 0: advance() has added 1 */
		return;
	}
	if (req->is_done) {
		agree_on_done(a, req);
		return;
	}
	req->on_done = agree_on_done;
	req->on_done_arg = a;
}

static char *record(struct weft_agree *a, uint32_t rank)
{
	return a->buf ? a->buf + WORDS_LEN + rank * a->len : NULL;
}

static void recv_up(struct weft_agree *a, uint32_t child)
{
	agree_post(a, false, a->tree, child, record(a, child),
		(subtree_end(a, child) - child) * a->len);
}

static void send_down(struct weft_agree *a, uint32_t child)
{
	agree_post(a, true, a->tree, child, a->buf, a->buf_len);
}

static void send_up(struct weft_agree *a)
{
	uint32_t rank = my_rank(a);

	if (rank)
		agree_post(a, true, a->tree, rank & (rank - 1), record(a, rank),
			(subtree_end(a, rank) - rank) * a->len);
}

/* At rank 0: stores the word. On an intercommunicator, the ranks 0 of both
 * groups exchange words and records. */
static void agree_swap(struct weft_agree *a)
{
	uint64_t word;

	if (my_rank(a))
		return;
	if (a->later && !a->err) { /* an intracommunicator */
		a->n_waiting++;
		a->records = a->len ? record(a, 0) : NULL;
		a->later(a);
		return;
	}
	word = a->word && !a->err ? a->word(a) : 0;
	if (a->buf)
		memcpy(a->buf, &word, sizeof(word));
	if (!a->comm->is_inter)
		return;
	/* Words and records are separate messages, because each side stores its
	 * own word first. The other side receives that word as its second. */
	agree_post(a, false, a->comm, 0, a->buf + sizeof(word), sizeof(word));
	agree_post(a, true, a->comm, 0, a->buf, sizeof(word));
	if (!a->len)
		return;
	agree_post(a, false, a->comm, 0, record(a, tree_size(a)),
		(uint32_t)a->comm->remote_size * a->len);
	agree_post(a, true, a->comm, 0, record(a, 0), tree_size(a) * a->len);
}

static void recv_down(struct weft_agree *a)
{
	uint32_t rank = my_rank(a);

	if (rank)
		agree_post(a, false, a->tree, rank & (rank - 1), a->buf,
			a->buf_len);
}

static void agree_finish(struct weft_agree *a)
{
	struct weft_comm *comm = a->comm;

	if (a->buf)
		memcpy(a->words, a->buf, sizeof(a->words));
	if (a->buf && a->len) {
		a->records = record(a, 0);
		if (comm->is_inter)
			a->remote_records = record(a, tree_size(a));
	}
	a->done(a);
	weft_comm_put(comm);
}

/* Runs steps until a step waits for messages. */
static void advance(struct weft_agree *a)
{
	while (a->n_waiting == 0) {
		int step = a->step++;

		a->n_waiting = 1; /* the step ends when all are posted */
		if (step == 0 && !a->is_down_only)
			for_each_child(a, recv_up);
		else if (step == 1 && !a->is_down_only)
			send_up(a);
		else if (step == 2)
			agree_swap(a);
		else if (step == 3)
			recv_down(a);
		else if (step == 4)
			for_each_child(a, send_down);
		else if (step == 5) {
			agree_finish(a);
			return; /* `done` may have freed the round */
		}
		a->n_waiting--;
	}
}

void weft_agree_answer(struct weft_agree *a, uint64_t word, int err)
{
	a->err = err;
	memcpy(a->buf, &word, sizeof(word));
	agree_arrived(a);
}

void weft_agree_fail(struct weft_agree *a, int err)
{
	a->err = err;
	a->done = weft_agree_fini; /* called before the start returns */
	weft_agree_start(a);
}

void weft_agree_start(struct weft_agree *a)
{
	struct weft_comm *comm = a->comm;
	size_t n_records;

	weft_lock_assert_locked(&comm->vci->lock);
	a->tree = comm->is_inter ? comm->local : comm;
	if (!a->err && weft_comm_is_revoked(comm))
		a->err = weft_comm_revoked(comm);
	n_records = (size_t)comm->size +
		    (comm->is_inter ? (size_t)comm->remote_size : 0);
	a->buf_len = WORDS_LEN + n_records * a->len;
	a->buf = a->err ? NULL : calloc(1, a->buf_len);
	a->tag = (int32_t)(comm->ctl.seq++ & 0x3fffffff);
	a->step = 0;
	a->n_waiting = 0;
	if (!a->buf && !a->err)
		a->err = WEFT_ERR_NOMEM;
	if (a->buf && a->len)
		memcpy(record(a, my_rank(a)), a->mine, a->len);
	weft_comm_get(comm); /* released in agree_finish() */
	advance(a);
}

uint32_t weft_agree_above(const struct weft_comm *comm, int32_t *ranks)
{
	uint32_t n = 0;

	for (uint32_t rank = (uint32_t)comm->rank; rank;) {
		rank &= rank - 1;
		ranks[n++] = (int32_t)rank;
	}
	if (comm->is_inter)
		ranks[n++] = comm->size;
	return n;
}

/* Returns the buffer of the round itself, so no allocation can fail. */
void *weft_agree_take(struct weft_agree *a)
{
	void *records = a->buf;

	if (a->len)
		memmove(records, a->records, tree_size(a) * a->len);
	a->buf = NULL;
	return records;
}

void weft_agree_fini(struct weft_agree *a)
{
	free(a->buf);
	a->buf = NULL;
	a->records = NULL;
	a->remote_records = NULL;
}
