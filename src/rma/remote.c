/* SPDX-License-Identifier: BSD-3-Clause */
/* remote: accesses to far PEs
 *
 * Puts and gets are operations of the fabric. Atomics are operations of the
 * fabric if the fabric supports atomics. Otherwise atomics are active messages
 * (rma_am.c). The states of a PE then order the fabric operations and the
 * active messages to this PE behind a fence.
 *
 * In a session, small operations may be posted with FI_MORE, or queued as
 * active messages. Over sockets each post is a system call, so small operations
 * are active messages without a session, too.
 *
 * Waits hold the context's lock. They make progress on the context's endpoint
 * and on the VCI. The VCI's progress polls the endpoint that peers access. */
#include "rma/rma_fabric.h"
#include "rma/rma_priv.h"

#include "base/clock.h"
#include "base/word.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "transport/sleep.h"

#include <stdlib.h>

enum {
	AM_SHORT = 256, /* longer puts without a signal are not active
			   messages */
	FENCES_PER_POLL = 16,
	BURST_NS = 20000, /* about the cost of sending a message */
};

/* A non-blocking fetching atomic with its operands. */
struct pending {
	struct weft_op op;
	struct weft_rma_due *due;
	uint64_t value, cond;
};

/* One operation for the fabric. */
struct post {
	enum { POST_WRITE, POST_READ, POST_AMO } kind;
	uint32_t pe;
	struct weft_rma_ep_target to;
	void *buf; /* WRITE, READ */
	size_t len;
	uint64_t flags;
	struct weft_rma_ep_amo amo; /* AMO */
};

static const char *const post_names[] = {
	[POST_WRITE] = "a put to",
	[POST_READ] = "a get from",
	[POST_AMO] = "an atomic at",
};

void weft_remote_progress(struct weft_rma_ctx *ctx)
{
	struct weft_vci *vci = &weft_proc.vci;
	int n = weft_rma_ep_poll(ctx->ep);

	weft_vci_lock(vci);
	n += weft_progress(vci);
	if (n)
		ctx->n_idle = 0;
	else if (++ctx->n_idle > weft_proc.max_spin)
		weft_sleep(vci, ctx->n_idle - (uint64_t)weft_proc.max_spin - 1,
			WEFT_SLEEP_WORD);
	weft_vci_unlock(vci);
}

/* --- operations that the fabric completes ------------------------------- */

static void due_end(struct weft_rma_due *due, int err)
{
	due->n--;
	if (err && !due->err)
		due->err = err;
}

static void due_on_done(struct weft_op *op, int err, size_t len)
{
	(void)len;
	due_end(weft_container_of(op, struct weft_rma_due, op), err);
}

/* Returns *due, and allocates it on first use. NULL with an error described:
 * out of memory. */
static struct weft_rma_due *due_of(struct weft_rma_due **due)
{
	if (weft_unlikely(!*due)) {
		*due = calloc(1, sizeof(**due));
		if (!*due) {
			weft_err_set(WEFT_ERR_NOMEM, "no memory for a wait");
			return NULL;
		}
		(*due)->op.done = due_on_done;
	}
	return *due;
}

/* Waits until all operations of *due are complete. If a PE has failed, the wait
 * abandons the operations, and moves *due to ctx->given_up, because the fabric
 * may still complete them. */
static int due_wait(struct weft_rma_ctx *ctx, struct weft_rma_due **due,
	const char *what, uint32_t pe)
{
	struct weft_rma_wait wait = { .fn = what, .from = pe + 1 };
	struct weft_rma_due *its = *due;
	int err = 0;

	if (!its)
		return 0;
	while (its->n && !err) {
		weft_remote_progress(ctx);
		err = weft_rma_op_wait_check(&wait, its->n);
	}
	if (its->n) {
		its->next = ctx->given_up;
		ctx->given_up = its;
		*due = NULL;
		return err;
	}
	err = its->err;
	its->err = 0;
	return weft_unlikely(err) ? weft_rma_fault_at(err, what, pe) : 0;
}

/* The first access to a PE's variables requests their key. Two contexts may
 * request the key at the same time; the answers are equal. */
static int find_data_key(struct weft_rma_ctx *ctx, uint32_t pe)
{
	struct weft_rma_remote *remote =
		weft_rma_own.remotes ? &weft_rma_own.remotes[pe] : NULL;
	struct weft_vci *vci = &weft_proc.vci;
	uint64_t key;
	const struct weft_rma_access ask = {
		.pe = pe, .here = &key, .len = sizeof(key)
	};
	int err;

	/* pairs with the release store below, before which spans[1].key is set
	 */
	if (!remote || atomic_load_explicit(
			       &remote->has_data_key, memory_order_acquire))
		return 0;
	err = weft_rma_am_call(ctx, &ask, "a first access to");
	if (err)
		return err;
	weft_vci_lock(vci);
	if (!atomic_load_explicit(
		    &remote->has_data_key, memory_order_relaxed)) {
		remote->spans[1].key = key;
		/* publishes spans[1].key; pairs with the acquire above */
		atomic_store_explicit(
			&remote->has_data_key, true, memory_order_release);
	}
	weft_vci_unlock(vci);
	return 0;
}

/* Finds the fabric's address of a symmetric address. The context's lock is
 * held, unless the context has no endpoint. */
static int locate(struct weft_rma_ctx *ctx, const struct weft_rma_access *a,
	struct weft_rma_ep_target *to_out)
{
	const struct weft_rma_remote *remote;
	size_t at;
	int span = weft_rma_span_of(a->sym, a->len, &at), err;

	if (weft_unlikely(span != 0)) {
		err = span < 0 ? span : find_data_key(ctx, a->pe);
		if (err)
			return err;
	}
	if (!weft_rma_own.remotes)
		return weft_err_set(WEFT_ERR_INTERN, "no fabric is open");
	remote = &weft_rma_own.remotes[a->pe];
	*to_out = (struct weft_rma_ep_target){ remote->addr,
		remote->spans[span].base + at, remote->spans[span].key };
	return 0;
}

/* --- posts that wait under back-pressure --------------------------------- */

static int post_once(
	struct weft_rma_ep *ep, const struct post *p, struct weft_op *op)
{
	switch (p->kind) {
	case POST_WRITE:
		return weft_rma_ep_write(
			ep, &p->to, p->buf, p->len, p->flags, op);
	case POST_READ:
		return weft_rma_ep_read(
			ep, &p->to, p->buf, p->len, p->flags, op);
	case POST_AMO:
		break;
	}
	return weft_rma_ep_amo(ep, &p->to, &p->amo, p->flags, op);
}

/* Retries a refused post. The post ends its batch, so that the earlier posts of
 * the batch are not delayed. */
static int post_again(
	struct weft_rma_ctx *ctx, struct post *p, struct weft_op *op)
{
	struct weft_rma_wait wait = { .fn = post_names[p->kind],
		.from = p->pe + 1 };
	int err;

	p->flags &= ~ctx->ep->domain->plan.batch_flags;
	do {
		weft_remote_progress(ctx);
		err = weft_rma_op_wait_check(&wait, 1);
		if (err)
			return err;
		err = post_once(ctx->ep, p, op);
	} while (err == WEFT_AGAIN);
	return err ? weft_rma_fault_at(err, wait.fn, p->pe) : 0;
}

/* Posts an operation. If op is NULL, the operation has no completion. The
 * fabric may delay an operation with FI_MORE until an operation without FI_MORE
 * is posted, so the last operation of a batch has no FI_MORE. */
static int post_op(struct weft_rma_ctx *ctx, struct post *p, struct weft_op *op)
{
	uint64_t batch = ctx->ep->domain->plan.batch_flags;
	int err;

	if (weft_unlikely(p->flags & batch) && ++ctx->n_more >= ctx->window)
		p->flags &= ~batch;
	err = post_once(ctx->ep, p, op);
	if (weft_unlikely(err == WEFT_AGAIN))
		err = post_again(ctx, p, op);
	else if (weft_unlikely(err))
		err = weft_rma_fault_at(err, post_names[p->kind], p->pe);
	if (weft_likely(!(p->flags & batch)))
		ctx->n_more = 0;
	ctx->more_pe = p->pe;
	return err;
}

/* Posts an operation that is counted in *due. */
static int post_due(
	struct weft_rma_ctx *ctx, struct post *p, struct weft_rma_due **due)
{
	struct weft_rma_due *its = due_of(due);
	int err;

	if (!its)
		return WEFT_ERR_NOMEM;
	its->n++;
	err = post_op(ctx, p, &its->op);
	its->n -= err != 0;
	return err;
}

/* Posts an operation and waits for it. */
static int post_and_wait(struct weft_rma_ctx *ctx, struct post *p)
{
	int err = post_due(ctx, p, &ctx->waited);

	return err ? err
		   : due_wait(ctx, &ctx->waited, post_names[p->kind], p->pe);
}

/* An empty put. */
static struct post empty_put(uint32_t pe, uint64_t flags)
{
	const struct weft_rma_remote *remote = &weft_rma_own.remotes[pe];

	return (struct post){ .kind = POST_WRITE,
		.pe = pe,
		.to = { remote->addr, remote->spans[0].base,
			remote->spans[0].key },
		.flags = flags };
}

static struct post flush_of(const struct weft_rma_ctx *ctx, uint32_t pe)
{
	return empty_put(pe, ctx->ep->domain->plan.flush_flags);
}

int weft_remote_release(struct weft_rma_ctx *ctx)
{
	int err = weft_rma_am_release(ctx), one = 0;

	if (ctx->n_more) { /* a post without FI_MORE ends the batch */
		struct post end = empty_put(ctx->more_pe, 0);

		ctx->n_more = 0;
		one = post_op(ctx, &end, NULL);
	}
	return err ? err : one;
}

/* --- order --------------------------------------------------------------- */

int weft_remote_flush_pe(struct weft_rma_ctx *ctx, uint32_t pe)
{
	struct post flush = flush_of(ctx, pe);
	int err = post_due(ctx, &flush, &ctx->waited);

	if (!err)
		err = weft_remote_release(ctx);
	if (!err)
		err = due_wait(ctx, &ctx->waited, "a flush of the puts to", pe);
	ctx->states[pe] &=
		(uint8_t) ~(WEFT_STATE_WRITTEN | WEFT_STATE_WRITTEN_FENCED);
	return err;
}

/* Orders a write behind an earlier fence. May add flags to the write. */
static int before_writing(
	struct weft_rma_ctx *ctx, uint32_t pe, uint64_t *flags)
{
	uint64_t fence = ctx->ep->domain->plan.fence_flags;
	uint8_t state = ctx->states[pe];
	int err = 0;

	if (weft_unlikely(state & WEFT_STATE_AM_FENCED))
		err = weft_rma_am_flush_pe(ctx, pe);
	if (weft_unlikely(!err && (state & WEFT_STATE_WRITTEN_FENCED) &&
			  !weft_rma_own.has_put_order)) {
		if (fence) {
			struct post flush = flush_of(ctx, pe);

			*flags |= fence;
			err = post_op(ctx, &flush, NULL);
			ctx->states[pe] &= (uint8_t)~WEFT_STATE_WRITTEN_FENCED;
		} else {
			err = weft_remote_flush_pe(ctx, pe);
		}
	}
	weft_ctx_touch(ctx, pe, WEFT_STATE_WRITTEN);
	return err;
}

/* Orders a blocking get behind an earlier fence. Without the flush, the read
 * could overtake writes and active messages. */
static int before_reading(struct weft_rma_ctx *ctx, uint32_t pe)
{
	uint8_t state = ctx->states[pe];
	int err = 0;

	if (weft_unlikely(state & WEFT_STATE_AM_FENCED))
		err = weft_rma_am_flush_pe(ctx, pe);
	if (weft_unlikely(!err && (state & WEFT_STATE_WRITTEN_FENCED)))
		err = weft_remote_flush_pe(ctx, pe);
	return err;
}

/* Marks a PE's operations as fenced. Later stores to a local PE do not check
 * that mark, so the fabric's atomics at a local PE are flushed here. */
static int fence_pe(struct weft_rma_ctx *ctx, uint32_t pe)
{
	uint8_t state = ctx->states[pe];

	if ((state & WEFT_STATE_WRITTEN) && weft_rma.pes[pe].heap)
		return weft_remote_flush_pe(ctx, pe);
	if (state & WEFT_STATE_WRITTEN)
		ctx->states[pe] |= WEFT_STATE_WRITTEN_FENCED;
	if (state & WEFT_STATE_AM)
		ctx->states[pe] |= WEFT_STATE_AM_FENCED;
	return 0;
}

/* Starts to flush a PE, without a wait. */
static int start_flush_pe(struct weft_rma_ctx *ctx, uint32_t pe)
{
	uint8_t state = ctx->states[pe];
	struct post flush = flush_of(ctx, pe);
	int err = 0, am_err = 0;

	if (state & WEFT_STATE_WRITTEN)
		err = post_due(ctx, &flush, &ctx->later);
	if (state & WEFT_STATE_AM)
		am_err = weft_rma_am_start_flush(ctx, pe);
	return err ? err : am_err;
}

/* Returns and clears the error of an operation that failed after its call. */
static int take_late_error(struct weft_rma_ctx *ctx)
{
	int err = ctx->err ? ctx->err : ctx->ep->err;

	if (!err && ctx->later)
		err = ctx->later->err;
	if (weft_likely(!err))
		return 0;
	ctx->err = ctx->ep->err = 0;
	if (ctx->later)
		ctx->later->err = 0;
	return weft_rma_fault_at(err, "", WEFT_RMA_ALL);
}

int weft_remote_fence(struct weft_rma_ctx *ctx)
{
	int err;

	weft_ctx_take(ctx);
	err = weft_remote_release(ctx);
	for (uint32_t i = 0; i < ctx->n_touched; i++) {
		int one = fence_pe(ctx, ctx->touched[i]);

		err = err ? err : one;
	}
	/* polls for errors, because the program may never call quiet */
	if (++ctx->n_fences % FENCES_PER_POLL == 0)
		weft_rma_ep_poll(ctx->ep);
	if (!err)
		err = take_late_error(ctx);
	weft_ctx_drop(ctx);
	return err;
}

int weft_remote_quiet(struct weft_rma_ctx *ctx, uint32_t only)
{
	int err = 0, one;

	weft_ctx_take(ctx);
	for (uint32_t i = 0; i < ctx->n_touched; i++) {
		uint32_t pe = ctx->touched[i];

		one = only == WEFT_RMA_ALL || only == pe
			      ? start_flush_pe(ctx, pe)
			      : 0;
		err = err ? err : one;
	}
	one = weft_remote_release(ctx);
	err = err ? err : one;
	one = due_wait(ctx, &ctx->later, "a quiet", WEFT_RMA_ALL);
	err = err ? err : one;
	one = weft_rma_am_wait(ctx);
	err = err ? err : one;
	weft_rma_fabric_drain(ctx->ep);
	if (only != WEFT_RMA_ALL)
		ctx->states[only] &= WEFT_STATE_LISTED;
	while (only == WEFT_RMA_ALL && ctx->n_touched)
		ctx->states[ctx->touched[--ctx->n_touched]] = 0;
	one = take_late_error(ctx);
	weft_ctx_drop(ctx);
	return err ? err : one;
}

/* --- small operations as active messages --------------------------------- */

/* True if the last call was less than BURST_NS ago: more small operations are
 * likely. The progress thread posts the queue later, so there is no burst
 * without that thread, or in a private context. */
static bool is_burst(struct weft_rma_ctx *ctx)
{
	uint64_t last = ctx->last_ns;

	if ((ctx->options & WEFT_RMA_PRIVATE) || !weft_rma_own.has_helper)
		return false;
	ctx->last_ns = weft_now_ns();
	return ctx->last_ns - last < BURST_NS;
}

static bool uses_am(const struct weft_rma_ctx *ctx, enum weft_rma_class class)
{
	return ctx->am_classes & 1u << class;
}

/* Sends a small operation. The operation is queued in a session with BUNDLE, if
 * it is non-blocking, or in a burst. Otherwise it is posted. The first
 * operation to a PE after a quiet, if it is posted, requests its own answer, so
 * that a put and a quiet need one message in each direction. */
static int am_small(struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	bool is_queued = uses_am(ctx, a->class) || a->is_nbi || is_burst(ctx);
	bool is_first = !is_queued && !(ctx->states[a->pe] & WEFT_STATE_AM);

	return weft_rma_am_send(ctx, a, is_first, is_queued);
}

static int am_fetch(struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	return a->is_nbi ? weft_rma_am_send(ctx, a, true, true)
			 : weft_rma_am_call(ctx, a, "an atomic at");
}

/* True for a small put that is sent as an active message. Without BUNDLE, a put
 * that follows writes through the endpoint uses the endpoint, too. Then it does
 * not overtake these writes, even without a fence. Programs expect this order
 * over sockets. */
static bool prefers_am(
	const struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	return a->len <= AM_SHORT && ctx->ep->domain->plan.has_costly_posts &&
	       (uses_am(ctx, WEFT_CLASS_PUT) ||
		       !(ctx->states[a->pe] & WEFT_STATE_WRITTEN));
}

/* True for a non-blocking get of a word that is sent as an active message. */
static bool is_am_word(
	const struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	return a->is_nbi && ctx->ep->domain->plan.has_costly_posts &&
	       !weft_rma_own.has_fabric_amo && (a->len == 4 || a->len == 8) &&
	       (uintptr_t)a->sym % a->len == 0 &&
	       !(ctx->states[a->pe] & WEFT_STATE_WRITTEN);
}

/* --- put and get --------------------------------------------------------- */

/* Posts an access in pieces of at most plan.rma_max_len bytes. If is_waited is
 * set, the call waits for each piece. Otherwise the pieces are counted in *due,
 * or have no completion if due is NULL. */
static int post_pieces(struct weft_rma_ctx *ctx, struct post *p, bool is_waited,
	struct weft_rma_due **due)
{
	size_t max = ctx->ep->domain->plan.rma_max_len, left = p->len;
	int err = 0;

	while (left && !err) {
		p->len = weft_min(left, max);
		err = is_waited ? post_and_wait(ctx, p)
		      : due	? post_due(ctx, p, due)
				: post_op(ctx, p, NULL);
		p->to.remote += p->len;
		p->buf = (char *)p->buf + p->len;
		left -= p->len;
	}
	return err;
}

/* The fabric copies the data of a short put. The source of a long put must stay
 * unchanged until it completes, so a blocking put waits for the completion. */
static int fabric_put(struct weft_rma_ctx *ctx, const struct weft_rma_access *a,
	uint64_t flags)
{
	const struct weft_plan *plan = &ctx->ep->domain->plan;
	bool is_short = a->len <= plan->rma_inject_len;
	struct post p = { .kind = POST_WRITE,
		.pe = a->pe,
		.buf = a->here,
		.len = a->len,
		.flags = ctx->flags[a->class] | flags };
	int err = locate(ctx, a, &p.to);

	if (is_short)
		p.flags |= WEFT_RMA_EP_COPY;
	else
		p.flags &= ~plan->batch_flags;
	if (!err && !is_short)
		err = weft_rma_am_release(ctx);
	if (!err)
		err = before_writing(ctx, a->pe, &p.flags);
	return err ? err : post_pieces(ctx, &p, !a->is_nbi && !is_short, NULL);
}

static int remote_put(struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	return prefers_am(ctx, a) ? am_small(ctx, a) : fabric_put(ctx, a, 0);
}

static int remote_get(struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	const struct weft_amo fetch = { .op = WEFT_AMO_FETCH,
		.width = (uint32_t)a->len };
	struct weft_rma_access word = *a;
	struct post p = {
		.kind = POST_READ, .pe = a->pe, .buf = a->here, .len = a->len
	};
	int err;

	if (is_am_word(ctx, a)) {
		word.amo = &fetch;
		return am_fetch(ctx, &word);
	}
	err = locate(ctx, a, &p.to);
	if (!err)
		err = weft_rma_am_release(ctx);
	if (!err && !a->is_nbi)
		err = before_reading(ctx, a->pe);
	return err ? err : post_pieces(ctx, &p, !a->is_nbi, &ctx->later);
}

/* --- atomics ------------------------------------------------------------- */

static const enum weft_rma_ep_what whats[] = {
	[WEFT_AMO_SET] = WEFT_RMA_EP_SET,
	[WEFT_AMO_ADD] = WEFT_RMA_EP_ADD,
	[WEFT_AMO_AND] = WEFT_RMA_EP_AND,
	[WEFT_AMO_OR] = WEFT_RMA_EP_OR,
	[WEFT_AMO_XOR] = WEFT_RMA_EP_XOR,
	[WEFT_AMO_FETCH] = WEFT_RMA_EP_FETCH,
	[WEFT_AMO_SWAP] = WEFT_RMA_EP_SET,
	[WEFT_AMO_CSWAP] = WEFT_RMA_EP_CSWAP,
};

static struct post amo_post(
	const struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	return (struct post){ .kind = POST_AMO,
		.pe = a->pe,
		.flags = ctx->flags[a->class],
		.amo = { .what = whats[a->amo->op],
			.width = a->amo->width,
			.operand = &a->amo->value } };
}

/* Posts an atomic without a result to the fabric. */
static int fabric_amo(struct weft_rma_ctx *ctx, const struct weft_rma_access *a,
	uint64_t flags)
{
	struct post p = amo_post(ctx, a);
	int err = locate(ctx, a, &p.to);

	p.flags |= flags | WEFT_RMA_EP_COPY;
	if (!err)
		err = before_writing(ctx, a->pe, &p.flags);
	return err ? err : post_op(ctx, &p, NULL);
}

static int remote_amo(struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	return weft_rma_own.has_fabric_amo ? fabric_amo(ctx, a, 0)
					   : am_small(ctx, a);
}

static void on_fetched(struct weft_op *op, int err, size_t len)
{
	struct pending *pending = weft_container_of(op, struct pending, op);

	(void)len;
	due_end(pending->due, err);
	free(pending);
}

/* Posts a non-blocking fetch. Its operands stay allocated until the fetch
 * completes. */
static int post_fetch_later(
	struct weft_rma_ctx *ctx, struct post *p, const struct weft_amo *amo)
{
	struct weft_rma_due *due = due_of(&ctx->later);
	struct pending *pending = due ? malloc(sizeof(*pending)) : NULL;
	int err;

	if (!pending)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a fetch");
	*pending = (struct pending){ { .done = on_fetched }, due, amo->value,
		amo->cond };
	p->amo.operand = &pending->value;
	p->amo.compare = p->amo.compare ? &pending->cond : NULL;
	due->n++;
	err = post_op(ctx, p, &pending->op);
	if (err) {
		due->n--;
		free(pending);
	}
	return err;
}

static int remote_fetch(
	struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	struct post p = amo_post(ctx, a);
	uint64_t flags = 0;
	int err;

	if (!weft_rma_own.has_fabric_amo)
		return am_fetch(ctx, a);
	p.amo.result = a->here;
	if (a->amo->op == WEFT_AMO_CSWAP)
		p.amo.compare = &a->amo->cond;
	err = locate(ctx, a, &p.to);
	if (!err)
		err = before_writing(ctx, a->pe, &flags);
	if (!err && flags) /* fetches cannot have the fence flag: wait */
		err = weft_remote_flush_pe(ctx, a->pe);
	if (err)
		return err;
	return a->is_nbi ? post_fetch_later(ctx, &p, a->amo)
			 : post_and_wait(ctx, &p);
}

/* --- put with signal ----------------------------------------------------- */

/* Writes the data first and the signal second, so that a target that reads the
 * signal also reads the data. */
static int remote_put_signal(
	struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	const struct weft_plan *plan = &ctx->ep->domain->plan;
	bool has_amo = weft_rma_own.has_fabric_amo;
	bool is_flushed = !has_amo || !plan->fence_flags;
	uint64_t flags = has_amo ? plan->deliver_flags : 0;
	void *there = weft_rma_local(a->sym, a->pe);
	struct weft_rma_access signal = *a, data = *a;
	int err = 0;

	signal.sym = a->sig;
	signal.here = NULL;
	signal.len = a->amo->width;
	signal.is_nbi = false;
	data.amo = NULL;
	data.is_nbi |= is_flushed;
	if (there) {
		weft_word_store(there, a->here, a->len, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	} else if (a->len && !has_amo && a->len <= WEFT_AM_MAX / 2) {
		/* usually in the same message as the signal */
		err = weft_rma_am_send(ctx, &data, false, true);
	} else if (a->len) {
		err = fabric_put(ctx, &data, flags);
		if (!err && is_flushed)
			err = weft_remote_flush_pe(ctx, a->pe);
	}
	if (err)
		return err;
	return has_amo ? fabric_amo(ctx, &signal, flags | plan->fence_flags)
		       : am_small(ctx, &signal);
}

/* --- dispatch ------------------------------------------------------------ */

static int remote_access(
	struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	switch (a->class) {
	case WEFT_CLASS_PUT:
		return remote_put(ctx, a);
	case WEFT_CLASS_AMO:
		return remote_amo(ctx, a);
	case WEFT_CLASS_FAMO:
		return remote_fetch(ctx, a);
	case WEFT_CLASS_PWS:
		return remote_put_signal(ctx, a);
	default:
		return remote_get(ctx, a);
	}
}

int weft_remote_access(
	struct weft_rma_ctx *ctx, const struct weft_rma_access *a)
{
	const void *at = a->sig ? a->sig : a->sym;
	int err = a->amo ? weft_amo_check(a->amo, at) : 0;

	if (err || (!a->len && !a->amo))
		return err;
	if (weft_unlikely(!ctx->ep))
		return locate(ctx, a, &(struct weft_rma_ep_target){ 0 });
	weft_ctx_take(ctx);
	err = remote_access(ctx, a);
	weft_ctx_drop(ctx);
	return err;
}
