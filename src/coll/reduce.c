/* SPDX-License-Identifier: BSD-3-Clause */
/* reduce: reductions to one process, or to a part of the result each
 *
 * The binomial tree combines neighbouring ranges of ranks, so the order of
 * operands is kept; operations that need that order are reduced to rank 0 and
 * sent on. Long commutative reduce-scatters exchange the parts pairwise. */
#include "coll/coll_priv.h"

enum { PAIRWISE_LEN = 65536 };

void weft_reduce_tree(struct weft_sched *sched, struct weft_comm *comm,
	struct weft_redop *op, struct weft_span mine, void *result,
	int32_t root)
{
	int32_t n = comm->size;
	int32_t top = op->is_commutative ? root : 0;
	int32_t me = (comm->rank - top + n) % n, n_below = 0, bit;
	struct weft_span acc = mine, in = mine;

	for (bit = 1; bit < n && !(me & bit) && me + bit < n; bit *= 2)
		n_below++;
	if (comm->rank == root && me == 0)
		acc.buf = result;
	else if (n_below)
		acc.buf = weft_sched_tmp_typed(sched, mine.count, mine.type);
	if (n_below > (acc.buf != mine.buf))
		in.buf = weft_sched_tmp_typed(sched, mine.count, mine.type);
	if (!n_below && acc.buf != mine.buf)
		weft_sched_copy(sched, mine, acc);
	for (bit = 1; n_below; bit *= 2, n_below--) {
		bool is_first = bit == 1 && acc.buf != mine.buf;

		weft_sched_recv(
			sched, comm, is_first ? acc : in, (me + bit + top) % n);
		weft_sched_fence(sched);
		/* mine is left of what came */
		if (is_first) {
			weft_sched_reduce(sched, op, mine.buf, acc);
		} else if (op->is_commutative) {
			weft_sched_reduce(sched, op, in.buf, acc);
		} else {
			weft_sched_reduce(sched, op, acc.buf, in);
			weft_sched_copy(sched, in, acc);
		}
	}
	if (me != 0) /* without its lowest bit */
		weft_sched_send(sched, comm, acc, ((me & (me - 1)) + top) % n);
	else if (top != root)
		weft_sched_send(sched, comm, acc, root);
	if (comm->rank == root && top != root) {
		acc.buf = result;
		weft_sched_recv(sched, comm, acc, top);
	}
	weft_sched_fence(sched);
}

void weft_reduce_build(struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_span mine =
		weft_block(args->is_in_place && args->comm->rank == args->root
				   ? &args->recv
				   : &args->send,
			0);

	if (mine.count > 0)
		weft_reduce_tree(sched, args->comm, args->op, mine,
			args->recv.buf, args->root);
}

/* Items before part i of the result, and in it. */
static int64_t reduce_part_start(const struct weft_coll *args, int32_t i)
{
	int64_t at = 0;

	if (!args->recv.counts)
		return i * args->recv.count;
	for (int32_t k = 0; k < i; k++)
		at += args->recv.counts[k];
	return at;
}

static struct weft_span parts(
	const struct weft_coll *args, void *buf, int32_t first, int32_t n)
{
	int64_t start = reduce_part_start(args, first);
	struct weft_type *type = args->recv.type;

	return (struct weft_span){ (char *)buf + start * type->extent,
		reduce_part_start(args, first + n) - start, type };
}

/* Sends each its part of `all`, down a binomial tree from rank 0. */
static void scatter_parts(
	struct weft_sched *sched, const struct weft_coll *args, char *all)
{
	struct weft_comm *comm = args->comm;
	int32_t n = comm->size, me = comm->rank, bit = 1;
	struct weft_span mine;

	while (bit < n && !(me & bit))
		bit *= 2;
	if (me != 0) {
		int32_t below = me + bit < n ? bit : n - me;

		weft_sched_recv(
			sched, comm, parts(args, all, me, below), me - bit);
		weft_sched_fence(sched);
	}
	for (bit /= 2; bit > 0; bit /= 2)
		if (me + bit < n)
			weft_sched_send(sched, comm,
				parts(args, all, me + bit,
					me + 2 * bit <= n ? bit : n - me - bit),
				me + bit);
	mine = parts(args, all, me, 1);
	weft_sched_copy(sched, mine,
		(struct weft_span){ args->recv.buf, mine.count, mine.type });
}

static void reduce_scatter_pairwise(
	struct weft_sched *sched, const struct weft_coll *args, void *input)
{
	struct weft_comm *comm = args->comm;
	int32_t n = comm->size, me = comm->rank;
	struct weft_span mine = parts(args, input, me, 1);
	struct weft_span acc = mine, in = mine;

	acc.buf = weft_sched_tmp_typed(sched, mine.count, mine.type);
	in.buf = weft_sched_tmp_typed(sched, mine.count, mine.type);
	weft_sched_copy(sched, mine, acc);
	for (int32_t i = 1; i < n; i++) {
		int32_t to = (me + i) % n;

		weft_sched_recv(sched, comm, in, (me - i + n) % n);
		weft_sched_send(sched, comm, parts(args, input, to, 1), to);
		weft_sched_fence(sched);
		weft_sched_reduce(sched, args->op, in.buf, acc);
	}
	weft_sched_copy(sched, acc,
		(struct weft_span){ args->recv.buf, mine.count, mine.type });
}

void weft_reduce_scatter_build(
	struct weft_sched *sched, const struct weft_coll *args)
{
	int32_t n = args->comm->size;
	void *input = args->is_in_place ? args->recv.buf : args->send.buf;
	struct weft_span whole = parts(args, input, 0, n);
	char *all;

	if (whole.count == 0)
		return;
	if (args->op->is_commutative &&
		whole.count * whole.type->size >= PAIRWISE_LEN) {
		reduce_scatter_pairwise(sched, args, input);
		return;
	}
	all = weft_sched_tmp_typed(sched, whole.count, whole.type);
	weft_reduce_tree(sched, args->comm, args->op, whole, all, 0);
	scatter_parts(sched, args, all);
}
