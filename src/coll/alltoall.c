/* SPDX-License-Identifier: BSD-3-Clause */
/* alltoall: all forms of alltoall, and neighbourhood exchanges
 *
 * Short regular blocks in larger groups take Bruck's algorithm (log2(n) rounds
 * of packed bytes); everything else is one message per pair, spread so that not
 * all talk to rank 0 first. */
#include "coll/coll_priv.h"

enum { BRUCK_LEN = 256, BRUCK_SIZE = 8 };

/* The blocks to send when sending in place: a packed copy of each. */
static struct weft_span in_place_copy(
	struct weft_sched *sched, const struct weft_coll *args, int32_t i)
{
	struct weft_span block = weft_block(&args->recv, i);
	size_t len = (size_t)(block.count * block.type->size);
	struct weft_span copy =
		weft_span_bytes(weft_sched_tmp(sched, len), len);

	weft_sched_copy(sched, block, copy);
	return copy;
}

static void linear(struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	int32_t n = comm->size, me = comm->rank;

	/* Copies run when they are reached, before any receive is posted:
	 * write them first. */
	if (args->is_in_place) {
		struct weft_span *copies =
			weft_sched_tmp(sched, (size_t)n * sizeof(*copies));
		bool has_copies = !weft_sched_err(sched);

		for (int32_t i = 0; has_copies && i < n; i++)
			copies[i] = in_place_copy(sched, args, i);
		for (int32_t i = 1; i < n; i++) {
			int32_t from = (me - i + n) % n, to = (me + i) % n;

			weft_sched_recv(sched, comm,
				weft_block(&args->recv, from), from);
			weft_sched_send(sched, comm,
				has_copies ? copies[to]
					   : weft_block(&args->recv, to),
				to);
		}
		return;
	}
	for (int32_t i = 1; i < n; i++)
		weft_sched_recv(sched, comm,
			weft_block(&args->recv, (me - i + n) % n),
			(me - i + n) % n);
	for (int32_t i = 1; i < n; i++)
		weft_sched_send(sched, comm,
			weft_block(&args->send, (me + i) % n), (me + i) % n);
	weft_sched_copy(sched, weft_block(&args->send, me),
		weft_block(&args->recv, me));
}

/* Blocks at distance i (to rank me + i) are kept at all + i * len; round `bit`
 * sends those whose distance has that bit to rank me + bit. */
static void bruck(
	struct weft_sched *sched, const struct weft_coll *args, size_t len)
{
	struct weft_comm *comm = args->comm;
	int32_t n = comm->size, me = comm->rank;
	const struct weft_blocks *from =
		args->is_in_place ? &args->recv : &args->send;
	char *all = weft_sched_tmp(sched, (size_t)n * len);
	char *out = weft_sched_tmp(sched, (size_t)n * len);
	char *in = weft_sched_tmp(sched, (size_t)n * len);

	for (int32_t i = 0; i < n; i++)
		weft_sched_copy(sched, weft_block(from, (me + i) % n),
			weft_span_bytes(all + (size_t)i * len, len));
	for (int32_t bit = 1; bit < n; bit *= 2) {
		size_t k = 0;

		for (int32_t i = bit; i < n; i++)
			if (i & bit)
				weft_sched_copy(sched,
					weft_span_bytes(
						all + (size_t)i * len, len),
					weft_span_bytes(out + k++ * len, len));
		weft_sched_recv(sched, comm, weft_span_bytes(in, k * len),
			(me - bit + n) % n);
		weft_sched_send(sched, comm, weft_span_bytes(out, k * len),
			(me + bit) % n);
		weft_sched_fence(sched);
		k = 0;
		for (int32_t i = bit; i < n; i++)
			if (i & bit)
				weft_sched_copy(sched,
					weft_span_bytes(in + k++ * len, len),
					weft_span_bytes(
						all + (size_t)i * len, len));
	}
	for (int32_t i = 0; i < n; i++)
		weft_sched_copy(sched,
			weft_span_bytes(all + (size_t)i * len, len),
			weft_block(&args->recv, (me - i + n) % n));
}

void weft_alltoall_build(struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_span block;

	if (args->is_irregular || args->comm->size < BRUCK_SIZE) {
		linear(sched, args);
		return;
	}
	block = weft_block(&args->recv, 0);
	if (block.count * block.type->size > BRUCK_LEN)
		linear(sched, args);
	else if (block.count * block.type->size > 0)
		bruck(sched, args, (size_t)(block.count * block.type->size));
}

/* On a grid with periodic dimensions of one or two processes, both neighbours
 * of a dimension are the same process, whose block for upwards is mine from
 * below. Messages between two processes match in order, and blocks leave
 * downwards first: so what comes from above is received first. */
void weft_neighbor_build(struct weft_sched *sched, const struct weft_coll *args)
{
	for (int32_t i = 0; i < args->n_sources; i++) {
		int32_t k = args->is_grid ? i ^ 1 : i;

		weft_sched_recv(sched, args->comm, weft_block(&args->recv, k),
			args->sources[k]);
	}
	for (int32_t i = 0; i < args->n_dests; i++)
		weft_sched_send(sched, args->comm,
			weft_block(&args->send, args->is_same_block ? 0 : i),
			args->dests[i]);
}
