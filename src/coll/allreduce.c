/* SPDX-License-Identifier: BSD-3-Clause */
/* allreduce: recursive doubling, or halving and doubling when long
 *
 * A size that is no power of two is folded first: of the first 2 * rest ranks
 * each even one hands its data to the odd one above and gets the result at the
 * end. The remaining ranks are numbered anew without gaps, in order, so that
 * partners always hold neighbouring ranges. */
#include "coll/coll_priv.h"

#include <string.h>

enum { HALVING_LEN = 32768, HALVING_LEN_ON_NODE = 8192 };

/* The folded group: how many, and who I am in it (-1: not in it). */
struct pow2 {
	int32_t n;
	int32_t rest;
	int32_t me;
};

static struct pow2 pow2_of(const struct weft_comm *comm)
{
	struct pow2 f = { .n = 1 };

	while (f.n * 2 <= comm->size)
		f.n *= 2;
	f.rest = comm->size - f.n;
	if (comm->rank >= 2 * f.rest)
		f.me = comm->rank - f.rest;
	else
		f.me = comm->rank % 2 ? comm->rank / 2 : -1;
	return f;
}

static int32_t allreduce_rank_of(const struct pow2 *f, int32_t i)
{
	return i < f->rest ? 2 * i + 1 : i + f->rest;
}

static void fold_in(struct weft_sched *sched, const struct weft_coll *args,
	const struct pow2 *f, struct weft_span acc, struct weft_span in)
{
	struct weft_comm *comm = args->comm;

	if (comm->rank >= 2 * f->rest)
		return;
	if (f->me < 0) {
		weft_sched_send(sched, comm, acc, comm->rank + 1);
		return;
	}
	weft_sched_recv(sched, comm, in, comm->rank - 1);
	weft_sched_fence(sched);
	weft_sched_reduce(sched, args->op, in.buf, acc);
}

static void fold_out(struct weft_sched *sched, const struct weft_coll *args,
	const struct pow2 *f, struct weft_span acc)
{
	struct weft_comm *comm = args->comm;

	weft_sched_fence(sched);
	if (comm->rank >= 2 * f->rest)
		return;
	if (f->me < 0)
		weft_sched_recv(sched, comm, acc, comm->rank + 1);
	else
		weft_sched_send(sched, comm, acc, comm->rank - 1);
}

static void doubling(struct weft_sched *sched, const struct weft_coll *args,
	const struct pow2 *f, struct weft_span acc, struct weft_span in)
{
	for (int32_t bit = 1; bit < f->n; bit *= 2) {
		int32_t partner = allreduce_rank_of(f, f->me ^ bit);

		weft_sched_recv(sched, args->comm, in, partner);
		weft_sched_send(sched, args->comm, acc, partner);
		weft_sched_fence(sched);
		if (args->op->is_commutative || partner < args->comm->rank) {
			weft_sched_reduce(sched, args->op, in.buf, acc);
		} else {
			weft_sched_reduce(sched, args->op, acc.buf, in);
			weft_sched_copy(sched, in, acc);
		}
	}
}

static struct weft_span slice(struct weft_span span, int64_t from, int64_t to)
{
	return (struct weft_span){ (char *)span.buf + from * span.type->extent,
		to - from, span.type };
}

/* Each round hands one half of the range to the partner and reduces the other;
 * then the ranges come back together the same way. The first finds its data in
 * `mine`: only the half that stays here is copied to acc, while the other is on
 * its way. */
static void rabenseifner(struct weft_sched *sched, const struct weft_coll *args,
	const struct pow2 *f, struct weft_span mine, struct weft_span acc,
	struct weft_span in)
{
	int64_t from[32], to[32];
	int64_t lo = 0, hi = acc.count;
	int round = 0;

	for (int32_t bit = f->n / 2; bit > 0; bit /= 2, round++) {
		int32_t partner = allreduce_rank_of(f, f->me ^ bit);
		int64_t mid = lo + (hi - lo) / 2;
		bool is_low = !(f->me & bit);

		from[round] = lo;
		to[round] = hi;
		weft_sched_recv(sched, args->comm,
			is_low ? slice(in, lo, mid) : slice(in, mid, hi),
			partner);
		weft_sched_send(sched, args->comm,
			is_low ? slice(mine, mid, hi) : slice(mine, lo, mid),
			partner);
		lo = is_low ? lo : mid;
		hi = is_low ? mid : hi;
		if (mine.buf != acc.buf)
			weft_sched_copy(
				sched, slice(mine, lo, hi), slice(acc, lo, hi));
		mine.buf = acc.buf;
		weft_sched_fence(sched);
		weft_sched_reduce(sched, args->op, slice(in, lo, hi).buf,
			slice(acc, lo, hi));
	}
	for (int32_t bit = 1; bit < f->n; bit *= 2) {
		int32_t partner = allreduce_rank_of(f, f->me ^ bit);
		bool is_low = !(f->me & bit);

		round--;
		weft_sched_recv(sched, args->comm,
			is_low ? slice(acc, hi, to[round])
			       : slice(acc, from[round], lo),
			partner);
		weft_sched_send(sched, args->comm, slice(acc, lo, hi), partner);
		weft_sched_fence(sched);
		lo = from[round];
		hi = to[round];
	}
}

void weft_allreduce_build(
	struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_span acc = weft_block(&args->recv, 0);
	struct weft_span in = acc, mine = acc;
	struct pow2 f = pow2_of(args->comm);
	/* all members know alike whether they share memory */
	int64_t halving_len =
		args->comm->coll.shm ? HALVING_LEN_ON_NODE : HALVING_LEN;
	bool is_halving = args->op->is_commutative && acc.count >= f.n &&
			  acc.count * acc.type->size >= halving_len;

	if (acc.count == 0)
		return;
	in.buf = weft_sched_tmp_typed(sched, acc.count, acc.type);
	if (!args->is_in_place)
		mine = weft_block(&args->send, 0);
	if (mine.buf != acc.buf && !(is_halving && f.n > 1 && !f.rest)) {
		weft_sched_copy(sched, mine, acc);
		mine = acc;
	}
	fold_in(sched, args, &f, acc, in);
	if (f.me >= 0 && is_halving)
		rabenseifner(sched, args, &f, mine, acc, in);
	else if (f.me >= 0)
		doubling(sched, args, &f, acc, in);
	fold_out(sched, args, &f, acc);
}

/* acc = what came from `partner` op acc, in rank order; in is lost. */
static void allreduce_combine(struct weft_fast *q, const struct weft_coll *args,
	int32_t partner, struct weft_span acc, struct weft_span in)
{
	if (weft_unlikely(q->err))
		return;
	if (args->op->is_commutative || partner < args->comm->rank) {
		weft_fast_reduce(q, args->op, in.buf, acc);
		return;
	}
	weft_fast_reduce(q, args->op, acc.buf, in);
	memcpy(acc.buf, in.buf, (size_t)(acc.count * acc.type->size));
}

static int fast_doubling(const struct weft_coll *args, const struct pow2 *f,
	struct weft_span acc, struct weft_span in)
{
	struct weft_fast q = weft_fast_begin(args, WEFT_COLL_ALLREDUCE);
	int32_t me = args->comm->rank;

	if (f->me < 0) {
		weft_fast_send(&q, acc, me + 1);
		weft_fast_recv(&q, acc, me + 1);
		return q.err;
	}
	if (me < 2 * f->rest) {
		weft_fast_recv(&q, in, me - 1);
		allreduce_combine(&q, args, me - 1, acc, in);
	}
	for (int32_t bit = 1; bit < f->n; bit *= 2) {
		int32_t partner = allreduce_rank_of(f, f->me ^ bit);

		weft_fast_exchange(&q, acc, partner, in, partner);
		allreduce_combine(&q, args, partner, acc, in);
	}
	if (me < 2 * f->rest)
		weft_fast_send(&q, acc, me - 1);
	return q.err;
}

/* On predefined types without gaps, whose copy fits on the stack. */
int weft_allreduce_fast(const struct weft_coll *args)
{
	struct weft_span acc = weft_block(&args->recv, 0), in = acc;
	_Alignas(64) char room[WEFT_FAST_LEN];
	struct pow2 f;

	if (acc.count * acc.type->size > WEFT_FAST_LEN || acc.count == 0 ||
		!acc.type->is_builtin || !acc.type->is_contig)
		return WEFT_AGAIN;
	f = pow2_of(args->comm);
	in.buf = room;
	if (!args->is_in_place)
		memcpy(acc.buf, args->send.buf,
			(size_t)(acc.count * acc.type->size));
	return fast_doubling(args, &f, acc, in);
}
