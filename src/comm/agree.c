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

/* A message down the tree has two words. In a round with a table, the length of
 * the table follows, and then the table. If it is longer than TABLE_FIRST, the
 * rest is a second message. So the receiver knows how much memory it needs. */
enum {
	WORDS_LEN = 2 * sizeof(uint64_t),
	TABLE_AT = WORDS_LEN + sizeof(uint64_t),
	TABLE_FIRST = 256,
};

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
	a->recv_len = req->status.len;
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

/* The record of a rank of this member's subtree. */
static char *record(struct weft_agree *a, uint32_t rank)
{
	if (a->make_table)
		return a->up ? a->up + (rank - my_rank(a)) * a->len : NULL;
	return a->buf ? a->buf + WORDS_LEN + rank * a->len : NULL;
}

static void recv_up(struct weft_agree *a, uint32_t child)
{
	agree_post(a, false, a->tree, child, record(a, child),
		(subtree_end(a, child) - child) * a->len);
}

/* Sends words and records to a child, or an error. */
static void send_down(struct weft_agree *a, uint32_t child)
{
	agree_post(a, true, a->tree, child, a->buf, a->buf_len);
}

/* Sends words and a table to a child. The words are at `from`, and the table
 * begins at from + TABLE_AT. */
static void send_table(
	struct weft_agree *a, uint32_t child, char *from, size_t len)
{
	size_t first = weft_min(len, (size_t)TABLE_FIRST);
	uint64_t announced = len;

	memcpy(from + WORDS_LEN, &announced, sizeof(announced));
	agree_post(a, true, a->tree, child, from, TABLE_AT + first);
	if (len > first)
		agree_post(a, true, a->tree, child, from + TABLE_AT + first,
			len - first);
}

/* Sends each child the words and its part of the table. If there is no memory
 * for the parts, sends the whole table, which the children can use, too. */
static void send_parts(struct weft_agree *a)
{
	uint32_t rank = my_rank(a), n = 0, children[32];
	size_t lens[32], total = 0;
	char *part;

	if (a->err) {
		for_each_child(a, send_down);
		return;
	}
	for (uint64_t bit = 1; rank + bit < tree_size(a); bit <<= 1) {
		if (rank & bit)
			break;
		children[n] = (uint32_t)(rank + bit);
		lens[n] = a->part(
			a, children[n], subtree_end(a, children[n]), NULL);
		if (lens[n] < a->table_len)
			total += TABLE_AT + lens[n];
		n++;
	}
	a->parts = part = total ? malloc(total) : NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (!part || lens[i] >= a->table_len) {
			send_table(a, children[i], a->buf, a->table_len);
			continue;
		}
		memcpy(part, a->buf, WORDS_LEN);
		a->part(a, children[i], subtree_end(a, children[i]),
			part + TABLE_AT);
		send_table(a, children[i], part, lens[i]);
		part += TABLE_AT + lens[i];
	}
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

/* At rank 0: makes the table, after the records of the other side arrived. */
static void make_table(struct weft_agree *a)
{
	if (my_rank(a) || a->err)
		return;
	a->records = record(a, 0);
	if (a->comm->is_inter)
		a->remote_records = record(a, tree_size(a));
	a->table = a->buf + TABLE_AT;
	a->err = a->make_table(a, &a->table_len);
	a->records = a->remote_records = NULL;
}

static int bad_table(const struct weft_agree *a)
{
	return weft_err_set(WEFT_ERR_PROTO,
		"a table of %zu bytes has arrived in a message of %lld bytes",
		a->table_len, (long long)a->recv_len);
}

/* Reads the length of the table that the parent has sent, and receives the rest
 * of the table. */
static void recv_rest(struct weft_agree *a)
{
	uint32_t rank = my_rank(a);
	uint64_t len = 0;
	size_t first;
	char *buf;

	if (!rank || a->err || !a->make_table)
		return;
	if (a->recv_len >= TABLE_AT)
		memcpy(&len, a->buf + WORDS_LEN, sizeof(len));
	a->table_len = (size_t)len;
	first = weft_min(a->table_len, (size_t)TABLE_FIRST);
	if (len > a->table_max || a->recv_len != (int64_t)(TABLE_AT + first)) {
		a->err = bad_table(a);
		return;
	}
	if (len == first)
		return;
	buf = realloc(a->buf, TABLE_AT + a->table_len);
	if (buf)
		a->buf = buf;
	else
		a->err = WEFT_ERR_NOMEM;
	agree_post(a, false, a->tree, rank & (rank - 1),
		a->buf + TABLE_AT + first, a->table_len - first);
}

/* Checks that the table has arrived. */
static void check_table(struct weft_agree *a)
{
	if (!my_rank(a) || a->err)
		return;
	if (a->table_len > TABLE_FIRST &&
		a->recv_len != (int64_t)a->table_len - TABLE_FIRST)
		a->err = bad_table(a);
	a->table = a->buf + TABLE_AT;
}

/* Receives the words, with the records or the table. */
static void step_down(struct weft_agree *a)
{
	if (a->make_table)
		make_table(a);
	recv_down(a);
}

/* Sends the words, with the records or the table. */
static void step_forward(struct weft_agree *a)
{
	if (!a->make_table) {
		for_each_child(a, send_down);
		return;
	}
	check_table(a);
	send_parts(a);
}

static void agree_finish(struct weft_agree *a)
{
	struct weft_comm *comm = a->comm;

	if (a->buf)
		memcpy(a->words, a->buf, sizeof(a->words));
	if (a->buf && a->len && !a->make_table) {
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
			step_down(a);
		else if (step == 4)
			recv_rest(a);
		else if (step == 5)
			step_forward(a);
		else if (step == 6) {
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

/* Allocates the memory of a round, so that a member without memory can
 * contribute the error. */
static void agree_alloc(struct weft_agree *a)
{
	size_t n_remote = a->comm->is_inter ? (size_t)a->comm->remote_size : 0;
	uint32_t rank = my_rank(a);

	if (a->make_table) {
		a->buf_len =
			TABLE_AT + weft_min(a->table_max, (size_t)TABLE_FIRST);
		a->buf = malloc(rank ? a->buf_len : TABLE_AT + a->table_max);
		a->up = calloc(
			subtree_end(a, rank) - rank + (rank ? 0 : n_remote),
			a->len);
	} else {
		a->buf_len = WORDS_LEN + (tree_size(a) + n_remote) * a->len;
		a->buf = calloc(1, a->buf_len);
	}
	if (!a->buf || (a->make_table && !a->up)) {
		weft_agree_fini(a);
		a->err = WEFT_ERR_NOMEM;
		return;
	}
	memset(a->buf, 0, WORDS_LEN);
	if (a->len)
		memcpy(record(a, rank), a->mine, a->len);
}

void weft_agree_start(struct weft_agree *a)
{
	struct weft_comm *comm = a->comm;

	weft_lock_assert_locked(&comm->vci->lock);
	a->tree = comm->is_inter ? comm->local : comm;
	if (!a->err && weft_comm_is_revoked(comm))
		a->err = weft_comm_revoked(comm);
	a->tag = (int32_t)(comm->ctl.seq++ & 0x3fffffff);
	a->step = 0;
	a->n_waiting = 0;
	a->buf = a->up = a->parts = NULL;
	if (!a->err)
		agree_alloc(a);
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

bool weft_agree_is_near(const struct weft_comm *comm, uint32_t i)
{
	uint32_t rank = (uint32_t)comm->rank, size = (uint32_t)comm->size;

	if (i >= size)
		return rank == 0 && i == size;
	return rank > i ? (rank & (rank - 1)) == i : (i & (i - 1)) == rank;
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
	free(a->up);
	free(a->parts);
	a->buf = a->up = a->parts = NULL;
	a->table = NULL;
	a->records = NULL;
	a->remote_records = NULL;
}
