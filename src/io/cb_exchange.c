/* SPDX-License-Identifier: BSD-3-Clause */
/* cb_exchange: the rounds of a buffered access
 *
 * A domain is divided into windows, each as long as a slot of the aggregator's
 * buffer. In round k, each aggregator moves window k of its domain. The
 * messages use three tags of the collective context:
 *
 *   write: TO_AGGREGATOR  struct cb_part: the length and hash of the member's
 *                         runs. A second message has the runs if the buffer
 *                         is not mapped or holes are expected, and the data
 *                         if the buffer is not mapped.
 *          TO_MEMBER      struct cb_outcome: the offset up to which the window
 *                         was written, or that it has unexpected holes
 *   read:  TO_AGGREGATOR  the runs, if the buffer is not mapped
 *          TO_MEMBER      struct cb_outcome: the offset up to which the window
 *                         was read. A second message has the data if the
 *                         buffer is not mapped.
 *          DONE           the aggregator may reuse the slot
 *
 * The two slots of a buffer alternate: members fill one slot while the
 * aggregator writes the other. After an error of a message, a process sends
 * error messages in place of its messages, as in any collective. After an error
 * of the file, a process still sends its messages but moves no more data. */
#include "io/cb_priv.h"

#include "base/bits.h"
#include "coll/coll.h"
#include "core/req.h"
#include "dt/pack.h"
#include "io/pool.h"
#include "io/scatter.h"
#include "p2p/p2p.h"
#include "transport/vci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 256 }; /* runs that a call of weft_view_runs() computes */

enum cb_tag { TO_AGGREGATOR, TO_MEMBER, DONE, N_TAGS };

/* The result of writing a window. After a result other than WRITTEN, members
 * send their runs in the next window of the slot. */
enum cb_verdict { WRITTEN, WRITTEN_AROUND, HAS_HOLES };

/* Message to an aggregator: the part of a window that a member writes or reads.
 * The receiver checks all lengths. */
struct cb_part {
	int64_t len;
	uint64_t hash;	/* hash of the member's runs, see offset_hash() */
	int64_t n_runs; /* number of runs in the next message, if not 0 */
	int64_t is_bad; /* the member could not provide its data */
};

/* Message to a member. */
struct cb_outcome {
	int64_t verdict; /* enum cb_verdict */
	int64_t end;	 /* byte offset up to which the window was moved */
	int64_t len;	 /* bytes of data in the next message, if not 0 */
};

/* A run, relative to the begin of the slot. */
struct cb_run {
	uint32_t at, len;
};

/* A pending message and its buffer. */
struct cb_sent {
	struct cb_sent *next;
	struct weft_req *req;
	void *owned; /* an allocated message, freed after it was sent; NULL: the
			message is in data */
	int64_t data[4];
};

struct exchange {
	const struct weft_cb_plan *plan;
	struct weft_cb *cb;
	struct weft_move *m;
	struct weft_comm *comm;
	int32_t tags[N_TAGS];
	struct cb_sent *sent;
	struct cb_part part[WEFT_CB_SLOTS]; /* at an aggregator, write: the sum
					       of the parts in a slot */
	int64_t end[WEFT_CB_SLOTS]; /* at an aggregator, read: byte offset up to
				       which a slot was read */
	uint64_t *filled; /* at an aggregator: a bit for each byte of the slot,
			     set if a member has filled it; NULL: the members
			     send no runs */
	int msg_err;	  /* error of a message */
	int err; /* the first error of any kind; no more data is moved */
	char why[WEFT_ERR_TEXT];
};

/* ---- windows ---- */

static bool is_overlapping(
	const struct exchange *x, int32_t rank, const struct weft_cb_window *w)
{
	const struct weft_cb_member *m = &x->plan->members[rank];

	return m->len && m->first < w->end && m->end > w->first;
}

static bool is_mapped(const struct exchange *x, int32_t rank, int agg)
{
	const struct weft_cb *cb = x->cb;

	return cb->maps[rank] && cb->node[rank] == cb->node[cb->aggs[agg]];
}

/* True if the member receives the outcome of this window: the member accesses
 * this window, or the next window in the same slot. */
static bool gets_outcome(
	const struct exchange *x, int32_t rank, int agg, int64_t round)
{
	struct weft_cb_window w;

	return weft_cb_plan_window(x->plan, agg, round, &w) &&
	       (is_overlapping(x, rank, &w) ||
		       (weft_cb_plan_window(
				x->plan, agg, round + WEFT_CB_SLOTS, &w) &&
			       is_overlapping(x, rank, &w)));
}

/* The bytes of this member's access that are in a window. */
static void part_of_window(const struct exchange *x,
	const struct weft_cb_window *w, int64_t *skip_out, int64_t *len_out)
{
	const struct weft_move *m = x->m;
	int64_t from = weft_view_find(m->view, m->at, m->len, w->first);
	int64_t to = weft_view_find(m->view, m->at, m->len, w->end);

	*skip_out = from - m->at;
	*len_out = to - from;
}

/* ---- messages ---- */

static void exchange_set_err(struct exchange *x, int err)
{
	if (!err || x->err)
		return;
	x->err = err;
	snprintf(x->why, sizeof(x->why), "%s", weft_err_detail_peek(err));
}

static struct weft_msg message(const struct exchange *x, int32_t rank,
	enum cb_tag tag, void *buf, int64_t len)
{
	return (struct weft_msg){
		.comm = x->comm,
		.buf = buf,
		.count = len,
		.type = weft_type_builtin(WEFT_TYPE_BYTE),
		.rank = rank,
		.tag = x->tags[tag],
		.ctx_offset = WEFT_CTX_OFFSET_COLL,
	};
}

static void exchange_fail(struct exchange *x, int err)
{
	if (!x->msg_err)
		x->msg_err = err;
	exchange_set_err(x, err);
}

/* Frees messages that were sent. If `all` is true, waits until all messages are
 * sent. VCI's lock held. */
static void reap_sends(struct exchange *x, bool all)
{
	struct cb_sent **at = &x->sent;

	while (*at) {
		struct cb_sent *s = *at;

		if (all)
			weft_pool_await(
				x->comm->vci, s->req, x->m->is_background);
		if (!s->req->is_done) {
			at = &s->next;
			continue;
		}
		if (s->req->status.err)
			exchange_fail(x, s->req->status.err);
		weft_req_put(s->req);
		*at = s->next;
		free(s->owned);
		free(s);
	}
}

/* Sends len bytes: a copy of head, or `owned`, which the function frees later.
 */
static void cb_send(struct exchange *x, int32_t rank, enum cb_tag tag,
	const void *head, void *owned, int64_t len)
{
	struct weft_vci *vci = x->comm->vci;
	struct cb_sent *s = calloc(1, sizeof(*s));
	struct weft_msg msg = message(x, rank, tag, owned, len);
	int err = 0;

	if (!s && !x->msg_err)
		exchange_fail(x, weft_err_set(WEFT_ERR_NOMEM,
					 "no memory for a message"));
	if (s && head)
		msg.buf = memcpy(s->data, head, (size_t)len);
	weft_vci_lock(vci);
	reap_sends(x, false);
	if (!x->msg_err)
		err = weft_isend_locked(&msg, &s->req);
	if (err)
		exchange_fail(x, err);
	if (x->msg_err) {
		weft_send_coll_error_locked(&msg, x->msg_err);
		free(owned);
		free(s);
	} else {
		s->owned = owned;
		s->next = x->sent;
		x->sent = s;
	}
	weft_vci_unlock(vci);
}

/* Receives len bytes; false after an error. */
static bool cb_recv(struct exchange *x, int32_t rank, enum cb_tag tag,
	void *buf, int64_t len)
{
	struct weft_msg msg = message(x, rank, tag, buf, len);
	struct weft_vci *vci = x->comm->vci;
	struct weft_req *req;
	int err;

	weft_vci_lock(vci);
	if (x->msg_err) {
		weft_recv_drop_locked(&msg);
		weft_vci_unlock(vci);
		return false;
	}
	err = weft_irecv_locked(&msg, &req);
	if (!err) {
		weft_pool_await(vci, req, x->m->is_background);
		err = req->status.err;
		if (err == WEFT_ERR_NOT_SAME && req->status.tag != msg.tag)
			weft_coll_tag_mismatch(msg.tag, req->status.tag, rank);
		if (!err && (int64_t)req->status.len != len)
			err = weft_err_set(WEFT_ERR_OTHER,
				"rank %d sent %lld bytes of a collective "
				"access, not %lld",
				(int)rank, (long long)req->status.len,
				(long long)len);
		weft_req_put(req);
	}
	if (err)
		exchange_fail(x, err);
	weft_vci_unlock(vci);
	return !err;
}

/* ---- is a window filled? ---- */

/* A pseudo-random number for each byte offset `place`. If runs fill [a, b)
 * without hole or overlap, each inner boundary is the end of one run and the
 * begin of another. The sum of offset_hash(end) - offset_hash(begin) over all
 * runs is then offset_hash(b) - offset_hash(a). For other runs the sum differs,
 * except with probability 2^-64. */
static uint64_t offset_hash(int64_t place)
{
	uint64_t x = (uint64_t)place * 0x9e3779b97f4a7c15u;

	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

static uint64_t run_hash(int64_t begin, int64_t end)
{
	return offset_hash(end) - offset_hash(begin);
}

static bool is_window_full(
	const struct cb_part *sum, const struct weft_cb_window *w)
{
	return !sum->is_bad && sum->len == w->end - w->first &&
	       sum->hash == run_hash(w->first, w->end);
}

/* ---- between memory and a mapped buffer ---- */

static void copy_to_buffer(const struct exchange *x,
	const struct weft_cb_window *w, int64_t skip, int64_t len,
	struct cb_part *part)
{
	const struct weft_move *m = x->m;
	const char *run = weft_move_contig_buf(m);
	struct iovec runs[RUNS];
	int64_t some;

	for (int64_t end = skip + len; skip < end;) {
		size_t n = weft_view_runs(
			m->view, m->at + skip, end - skip, runs, RUNS, &some);

		for (size_t i = 0; i < n; i++) {
			int64_t at = weft_view_run_begin(&runs[i]);
			size_t k = runs[i].iov_len;
			char *to = w->slot + (at - w->base);

			if (run)
				memcpy(to, run + skip, k);
			else
				weft_pack(m->type, m->count, m->buf,
					(size_t)skip, to, k);
			part->hash += run_hash(at, at + (int64_t)k);
			skip += (int64_t)k;
		}
	}
	part->len += len;
}

/* The address that corresponds to the displacement of the view. The slot holds
 * the file from w->base on. */
static void *view_origin(
	const struct exchange *x, const struct weft_cb_window *w)
{
	return (void *)((uintptr_t)w->slot +
			(uintptr_t)(x->m->view->disp - w->base));
}

static void copy_from_buffer(const struct exchange *x,
	const struct weft_cb_window *w, int64_t skip, int64_t len)
{
	const struct weft_move *m = x->m;
	const struct weft_type *tile = m->view->tile;
	char *run = weft_move_contig_buf(m);
	struct iovec runs[RUNS];
	int64_t some;

	if (run && len) {
		weft_pack(tile, (m->at + skip + len - 1) / tile->size + 1,
			view_origin(x, w), (size_t)(m->at + skip), run + skip,
			(size_t)len);
		return;
	}
	for (int64_t end = skip + len; skip < end; skip += some) {
		size_t n = weft_view_runs(
			m->view, m->at + skip, end - skip, runs, RUNS, &some);
		size_t at = (size_t)skip;

		for (size_t i = 0; i < n; i++) {
			weft_unpack(m->type, m->count, m->buf, at,
				w->slot + (weft_view_run_begin(&runs[i]) -
						  w->base),
				runs[i].iov_len);
			at += runs[i].iov_len;
		}
	}
}

/* ---- between memory and messages ---- */

/* Returns the runs of bytes [skip, skip + len) of the access, in memory with
 * space for `extra` further bytes. The caller frees the list. NULL if out of
 * memory. */
static struct cb_run *list_runs(const struct exchange *x,
	const struct weft_cb_window *w, int64_t skip, int64_t len,
	int64_t extra, int64_t *n_out)
{
	const struct weft_view *view = x->m->view;
	int64_t at = x->m->at + skip, some, n = 0;
	struct iovec runs[RUNS];
	struct cb_run *list;

	for (int64_t done = 0; done < len; done += some)
		n += (int64_t)weft_view_runs(
			view, at + done, len - done, runs, RUNS, &some);
	list = malloc((size_t)n * sizeof(*list) + (size_t)extra);
	*n_out = 0;
	for (int64_t done = 0; list && done < len; done += some) {
		size_t k = weft_view_runs(
			view, at + done, len - done, runs, RUNS, &some);

		for (size_t i = 0; i < k; i++)
			list[(*n_out)++] = (struct cb_run){
				.at = (uint32_t)(weft_view_run_begin(&runs[i]) -
						 w->base),
				.len = (uint32_t)runs[i].iov_len
			};
	}
	return list;
}

/* Sends the runs of bytes [skip, skip + len) of the access. In a write to a
 * buffer that is not mapped, also sends the data. */
static void send_runs(struct exchange *x, const struct weft_cb_window *w,
	int32_t to, int64_t skip, int64_t len)
{
	const struct weft_move *m = x->m;
	struct cb_part part = { .len = len };
	int64_t data = m->is_write && !w->slot ? len : 0;
	struct cb_run *list = list_runs(x, w, skip, len, data, &part.n_runs);

	if (!list) {
		exchange_set_err(
			x, weft_err_set(WEFT_ERR_NOMEM,
				   "no memory for %lld bytes", (long long)len));
		part = (struct cb_part){ .is_bad = 1 };
	}
	for (int64_t i = 0; i < part.n_runs; i++)
		part.hash += run_hash(w->base + list[i].at,
			w->base + list[i].at + list[i].len);
	cb_send(x, to, TO_AGGREGATOR, &part, NULL, sizeof(part));
	if (!part.n_runs) {
		free(list);
		return;
	}
	if (data)
		weft_pack(m->type, m->count, m->buf, (size_t)skip,
			list + part.n_runs, (size_t)len);
	cb_send(x, to, TO_AGGREGATOR, NULL, list,
		part.n_runs * (int64_t)sizeof(*list) + data);
}

/* Receives the message after a struct cb_part: the runs, followed by the data
 * if the member has not mapped the buffer. Checks both. NULL after an error, or
 * if the part has no runs. */
static struct cb_run *recv_runs(struct exchange *x,
	const struct weft_cb_window *w, int32_t from, struct cb_part *part)
{
	int64_t room = w->end - w->base, sum = 0;
	bool has_data = x->m->is_write && !is_mapped(x, from, x->cb->mine);
	int64_t data = has_data ? part->len : 0, size;
	struct cb_run *list = NULL;

	if (part->n_runs < 0 || part->len < 0 || part->len > room ||
		part->n_runs > part->len) {
		exchange_fail(x,
			weft_err_set(WEFT_ERR_OTHER,
				"rank %d sent an invalid part of a collective "
				"access: %lld runs of %lld bytes",
				(int)from, (long long)part->n_runs,
				(long long)part->len));
		return NULL;
	}
	if (!part->n_runs)
		return NULL;
	size = part->n_runs * (int64_t)sizeof(*list) + data;
	list = malloc((size_t)size);
	if (!list)
		exchange_fail(x,
			weft_err_set(WEFT_ERR_NOMEM, "no memory for %lld bytes",
				(long long)size));
	if (!cb_recv(x, from, TO_AGGREGATOR, list, size)) {
		free(list);
		return NULL;
	}
	for (int64_t i = 0; i < part->n_runs && sum <= part->len; i++) {
		if ((int64_t)list[i].at + list[i].len > room)
			sum = INT64_MAX;
		else
			sum += list[i].len;
	}
	if (sum == part->len)
		return list;
	exchange_fail(x, weft_err_set(WEFT_ERR_OTHER,
				 "rank %d sent runs outside the window of a "
				 "collective access",
				 (int)from));
	free(list);
	return NULL;
}

/* ---- which bytes of a window are filled ---- */

static void set_filled(uint64_t *filled, uint32_t at, uint32_t len)
{
	while (len) {
		uint32_t bit = at % 64, n = 64 - bit < len ? 64 - bit : len;

		filled[at / 64] |= ~(uint64_t)0 >> (64 - n) << bit;
		at += n;
		len -= n;
	}
}

/* Returns the first byte in [at, end) that is filled, or with is_filled false
 * the first that is not filled; end if there is none. */
static int64_t find_filled(
	const uint64_t *filled, int64_t at, int64_t end, bool is_filled)
{
	while (at < end) {
		uint64_t word =
			filled[at / 64] ^ (is_filled ? 0 : ~(uint64_t)0);

		word >>= at % 64;
		if (word)
			return weft_min64(at + __builtin_ctzll(word), end);
		at += 64 - at % 64;
	}
	return end;
}

/* Marks all bytes of the slot as not filled. False if out of memory. */
static bool clear_filled(struct exchange *x)
{
	size_t len = (size_t)(x->cb->len / 64 + 1) * sizeof(*x->filled);

	if (!x->filled)
		x->filled = malloc(len);
	if (x->filled)
		memset(x->filled, 0, len);
	return x->filled != NULL;
}

/* ---- writing, at an aggregator ---- */

/* Copies the data of runs to the slot, unless data is NULL, and marks the runs
 * as filled. */
static void place_runs(struct exchange *x, const struct weft_cb_window *w,
	const struct cb_run *list, int64_t n, const char *data)
{
	for (int64_t i = 0; i < n; i++) {
		if (data) {
			memcpy(w->slot + list[i].at, data, list[i].len);
			data += list[i].len;
		}
		if (x->filled)
			set_filled(x->filled, list[i].at, list[i].len);
	}
}

/* Marks the bytes of this aggregator's own access as filled. */
static void mark_own_runs(
	struct exchange *x, const struct weft_cb_window *w, struct cb_part *sum)
{
	int64_t skip, len, n;
	struct cb_run *list;

	if (!x->filled || !is_overlapping(x, x->comm->rank, w))
		return;
	part_of_window(x, w, &skip, &len);
	if (!len)
		return;
	list = list_runs(x, w, skip, len, 0, &n);
	if (list)
		place_runs(x, w, list, n, NULL);
	else
		sum->is_bad = true;
	free(list);
}

static void recv_part(struct exchange *x, const struct weft_cb_window *w,
	int32_t from, struct cb_part *sum)
{
	struct cb_part part;
	struct cb_run *list;
	bool has_data = !is_mapped(x, from, x->cb->mine);

	if (!cb_recv(x, from, TO_AGGREGATOR, &part, sizeof(part)))
		return;
	list = recv_runs(x, w, from, &part);
	if (list)
		place_runs(x, w, list, part.n_runs,
			has_data ? (const char *)(list + part.n_runs) : NULL);
	free(list);
	sum->len += part.len;
	sum->hash += part.hash;
	sum->is_bad = sum->is_bad || part.is_bad;
}

/* Returns the byte offset up to which the window was written. */
static int64_t write_window(struct exchange *x, const struct weft_cb_window *w)
{
	int64_t moved = 0;

	if (!x->err)
		exchange_set_err(
			x, weft_move_range(x->m, w->slot + (w->first - w->base),
				   w->first, w->end - w->first, &moved));
	return w->first + moved;
}

/* As write_window(), but writes only the filled bytes. */
static int64_t write_filled(struct exchange *x, const struct weft_cb_window *w)
{
	int64_t at = 0, len = w->end - w->base, end = w->first;
	struct iovec runs[WEFT_SCATTER_MAX];
	size_t n = 0;

	while (!x->err && at < len) {
		int64_t from = find_filled(x->filled, at, len, true);

		at = find_filled(x->filled, from, len, false);
		if (from < at)
			runs[n++] = (struct iovec){
				(void *)(uintptr_t)(w->base + from),
				(size_t)(at - from)
			};
		if (n && (n == WEFT_SCATTER_MAX || at == len)) {
			int64_t base = weft_view_run_begin(&runs[0]);

			exchange_set_err(x, weft_move_write_runs(x->m,
						    w->slot + (base - w->base),
						    base, runs, n, &end));
			n = 0;
		}
	}
	return end;
}

/* Writes a window. If the window has holes and the members have sent their
 * runs, writes around the holes. */
static void move_window(struct exchange *x, const struct weft_cb_window *w,
	const struct cb_part *sum, struct cb_outcome *outcome)
{
	if (x->msg_err || sum->is_bad)
		return;
	if (is_window_full(sum, w)) {
		outcome->verdict = WRITTEN;
		outcome->end = write_window(x, w);
	} else if (x->filled) {
		outcome->verdict = WRITTEN_AROUND;
		outcome->end = write_filled(x, w);
	}
}

static void member_apply_outcome(struct exchange *x, int agg, int64_t round,
	const struct cb_outcome *outcome);

static void aggregate_write(struct exchange *x, int64_t round)
{
	int mine = x->cb->mine;
	struct cb_outcome outcome = { .verdict = HAS_HOLES };
	struct cb_part *sum;
	struct weft_cb_window w;

	if (mine < 0 || !weft_cb_plan_window(x->plan, mine, round, &w))
		return;
	sum = &x->part[w.i];
	if (x->cb->states[mine].needs_runs[w.i] && !clear_filled(x))
		sum->is_bad = true;
	for (int32_t r = 0; r < x->comm->size; r++)
		if (r != x->comm->rank && is_overlapping(x, r, &w))
			recv_part(x, &w, r, sum);
	mark_own_runs(x, &w, sum);
	move_window(x, &w, sum, &outcome);
	free(x->filled);
	x->filled = NULL;
	weft_counter_add(outcome.verdict != HAS_HOLES
				 ? &x->m->file->counters.file_windows
				 : &x->m->file->counters.file_holes,
		1);
	for (int32_t r = 0; r < x->comm->size; r++)
		if (r != x->comm->rank && gets_outcome(x, r, mine, round))
			cb_send(x, r, TO_MEMBER, &outcome, NULL,
				sizeof(outcome));
	member_apply_outcome(x, mine, round, &outcome);
	*sum = (struct cb_part){ 0 };
}

/* ---- writing, at a member ---- */

/* Writes runs of this member without the buffer. */
static void write_directly(struct exchange *x, int64_t skip, int64_t len)
{
	int64_t moved = 0;

	if (x->msg_err || x->err)
		return;
	exchange_set_err(x, weft_move_part(x->m, skip, len, &moved));
	x->m->n_moved += moved;
}

static void member_write(struct exchange *x, int agg, int64_t round)
{
	const struct weft_cb_state *state = &x->cb->states[agg];
	int32_t to = x->cb->aggs[agg];
	struct cb_part part = { 0 };
	struct weft_cb_window w;
	int64_t skip, len;

	if (!weft_cb_plan_window(x->plan, agg, round, &w) ||
		!is_overlapping(x, x->comm->rank, &w))
		return;
	part_of_window(x, &w, &skip, &len);
	if (w.slot)
		copy_to_buffer(x, &w, skip, len, &part);
	if (agg == x->cb->mine)
		x->part[w.i] = part;
	else if (!w.slot || state->needs_runs[w.i])
		send_runs(x, &w, to, skip, len);
	else
		cb_send(x, to, TO_AGGREGATOR, &part, NULL, sizeof(part));
}

static void member_apply_outcome(struct exchange *x, int agg, int64_t round,
	const struct cb_outcome *outcome)
{
	struct weft_cb_state *state = &x->cb->states[agg];
	struct weft_cb_window w;
	int64_t skip, len;

	if (!weft_cb_plan_window(x->plan, agg, round, &w))
		return;
	state->needs_runs[w.i] = outcome->verdict != WRITTEN;
	if (!is_overlapping(x, x->comm->rank, &w))
		return;
	if (outcome->verdict != HAS_HOLES)
		w.end = weft_min64(w.end, outcome->end);
	part_of_window(x, &w, &skip, &len);
	if (outcome->verdict != HAS_HOLES)
		x->m->n_moved += weft_max64(len, 0);
	else
		write_directly(x, skip, len);
}

static void member_recv_outcome(struct exchange *x, int agg, int64_t round)
{
	struct cb_outcome outcome;

	if (agg != x->cb->mine && gets_outcome(x, x->comm->rank, agg, round) &&
		cb_recv(x, x->cb->aggs[agg], TO_MEMBER, &outcome,
			sizeof(outcome)))
		member_apply_outcome(x, agg, round, &outcome);
}

static void exchange_write(struct exchange *x)
{
	for (int64_t k = 0; k < x->plan->n_rounds + WEFT_CB_SLOTS; k++) {
		for (int a = 0; a < x->cb->n_aggs; a++) {
			member_recv_outcome(x, a, k - WEFT_CB_SLOTS);
			member_write(x, a, k);
		}
		aggregate_write(x, k);
	}
}

/* ---- reading ---- */

static void member_request_runs(struct exchange *x, int64_t round)
{
	struct weft_cb_window w;
	int64_t skip, len;

	for (int a = 0; a < x->cb->n_aggs; a++) {
		if (!weft_cb_plan_window(x->plan, a, round, &w) || w.slot ||
			!is_overlapping(x, x->comm->rank, &w))
			continue;
		part_of_window(x, &w, &skip, &len);
		send_runs(x, &w, x->cb->aggs[a], skip, len);
	}
}

/* Receives the runs of a member that has not mapped the buffer, and sends their
 * data to the member. */
static void send_data(struct exchange *x, const struct weft_cb_window *w,
	int32_t to, struct cb_outcome outcome)
{
	struct cb_run *list = NULL;
	struct cb_part part;
	char *data = NULL;

	if (cb_recv(x, to, TO_AGGREGATOR, &part, sizeof(part)))
		list = recv_runs(x, w, to, &part);
	if (list)
		data = malloc((size_t)part.len);
	if (list && !data)
		exchange_set_err(x,
			weft_err_set(WEFT_ERR_NOMEM, "no memory for %lld bytes",
				(long long)part.len));
	for (int64_t i = 0; data && i < part.n_runs; i++) {
		int64_t there = outcome.end - w->base - list[i].at;

		there = weft_min64(there, (int64_t)list[i].len);
		if (there <= 0)
			break;
		memcpy(data + outcome.len, w->slot + list[i].at, (size_t)there);
		outcome.len += there;
	}
	free(list);
	cb_send(x, to, TO_MEMBER, &outcome, NULL, sizeof(outcome));
	if (outcome.len)
		cb_send(x, to, TO_MEMBER, NULL, data, outcome.len);
	else
		free(data);
}

static void aggregate_read(struct exchange *x, int64_t round)
{
	int mine = x->cb->mine;
	struct cb_outcome outcome = { 0 };
	struct weft_cb_window w, before;
	int64_t moved = 0;
	char done;

	if (mine < 0 || !weft_cb_plan_window(x->plan, mine, round, &w))
		return;
	for (int32_t r = 0; r < x->comm->size; r++)
		if (r != x->comm->rank &&
			weft_cb_plan_window(x->plan, mine,
				round - WEFT_CB_SLOTS, &before) &&
			is_overlapping(x, r, &before))
			cb_recv(x, r, DONE, &done, 1);
	if (!x->err)
		exchange_set_err(
			x, weft_move_unlocked(x->m, w.slot + (w.first - w.base),
				   w.first, w.end - w.first, &moved));
	weft_counter_add(&x->m->file->counters.file_windows, 1);
	outcome.end = x->end[w.i] = w.first + moved;
	for (int32_t r = 0; r < x->comm->size; r++) {
		if (r == x->comm->rank || !is_overlapping(x, r, &w))
			continue;
		if (is_mapped(x, r, mine))
			cb_send(x, r, TO_MEMBER, &outcome, NULL,
				sizeof(outcome));
		else
			send_data(x, &w, r, outcome);
	}
}

/* Receives data from an aggregator whose buffer is not mapped. */
static void recv_data(struct exchange *x, int32_t from, int64_t skip,
	int64_t len, const struct cb_outcome *outcome)
{
	const struct weft_move *m = x->m;
	char *data;

	if (!outcome->len)
		return;
	data = outcome->len > 0 && outcome->len <= len
		       ? malloc((size_t)outcome->len)
		       : NULL;
	if (!data)
		exchange_fail(x, weft_err_set(WEFT_ERR_NOMEM,
					 "no memory for %lld bytes of rank %d",
					 (long long)outcome->len, (int)from));
	if (cb_recv(x, from, TO_MEMBER, data, outcome->len)) {
		weft_unpack(m->type, m->count, m->buf, (size_t)skip, data,
			(size_t)outcome->len);
		x->m->n_moved += outcome->len;
	}
	free(data);
}

static void member_read(struct exchange *x, int agg, int64_t round)
{
	int32_t from = x->cb->aggs[agg];
	struct cb_outcome outcome = { 0 };
	struct weft_cb_window w, next;
	int64_t skip, len;
	char done = 0;

	if (!weft_cb_plan_window(x->plan, agg, round, &w) ||
		!is_overlapping(x, x->comm->rank, &w))
		return;
	if (agg == x->cb->mine)
		outcome.end = x->end[w.i];
	else
		cb_recv(x, from, TO_MEMBER, &outcome, sizeof(outcome));
	if (w.slot && !x->msg_err)
		w.end = weft_min64(w.end, outcome.end);
	part_of_window(x, &w, &skip, &len);
	if (!w.slot) {
		recv_data(x, from, skip, len, &outcome);
	} else if (!x->msg_err && len > 0) {
		copy_from_buffer(x, &w, skip, len);
		x->m->n_moved += len;
	}
	if (agg != x->cb->mine &&
		weft_cb_plan_window(x->plan, agg, round + WEFT_CB_SLOTS, &next))
		cb_send(x, from, DONE, &done, NULL, 1);
}

static void exchange_read(struct exchange *x)
{
	for (int64_t k = 0; k <= x->plan->n_rounds; k++) {
		member_request_runs(x, k);
		aggregate_read(x, k);
		for (int a = 0; a < x->cb->n_aggs; a++)
			member_read(x, a, k - 1);
	}
}

int weft_cb_exchange(const struct weft_cb_plan *plan)
{
	struct weft_comm *comm = plan->m->file->comm;
	struct exchange x = {
		.plan = plan, .cb = plan->cb, .m = plan->m, .comm = comm
	};

	weft_vci_lock(comm->vci);
	for (int i = 0; i < N_TAGS; i++)
		x.tags[i] = weft_coll_tag(
			comm, WEFT_CTX_OFFSET_COLL, WEFT_COLL_ALLTOALL);
	weft_vci_unlock(comm->vci);
	for (int a = 0; a < x.cb->n_aggs; a++)
		for (int i = 0; i < WEFT_CB_SLOTS; i++)
			x.cb->states[a].needs_runs[i] = plan->has_holes;
	if (plan->m->is_write)
		exchange_write(&x);
	else
		exchange_read(&x);
	weft_vci_lock(comm->vci);
	reap_sends(&x, true);
	weft_vci_unlock(comm->vci);
	if (x.msg_err)
		x.cb->has_failed = true;
	return x.err ? weft_err_set(x.err, "%s", x.why) : 0;
}
