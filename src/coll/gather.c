/* SPDX-License-Identifier: BSD-3-Clause */
/* gather: gather, scatter and allgather, regular and irregular
 *
 * Regular gather and scatter go over a binomial tree with packed bytes, since
 * everybody knows the size of a block; in the irregular forms only the root
 * does, so it talks to each. Allgather is Bruck's algorithm without rotation
 * while blocks are short (log2(n) rounds), a ring when they are long. */
#include "coll/coll_priv.h"

enum { RING_LEN = 8192, LINEAR_SIZE = 8 };

static bool is_regular(const struct weft_blocks *blocks)
{
	return !blocks->counts && !blocks->displs;
}

/* Blocks of `len` bytes below me in the tree rooted at 0, me included. */
static int32_t subtree(int32_t me, int32_t n, int32_t *parent_bit_out)
{
	int32_t bit = 1;

	while (bit < n && !(me & bit))
		bit *= 2;
	*parent_bit_out = bit;
	return me + bit < n ? bit : n - me;
}

static void gather_tree(struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	int32_t n = comm->size, root = args->root, parent;
	int32_t me = (comm->rank - root + n) % n;
	int32_t below = subtree(me, n, &parent);
	struct weft_span mine = me || !args->is_in_place
					? weft_block(&args->send, 0)
					: weft_block(&args->recv, root);
	size_t len = (size_t)(mine.count * mine.type->size);
	char *all = weft_sched_tmp(sched, (size_t)below * len);

	weft_sched_copy(sched, mine, weft_span_bytes(all, len));
	for (int32_t bit = 1; bit < parent && me + bit < n; bit *= 2) {
		int32_t count = me + 2 * bit <= n ? bit : n - me - bit;

		weft_sched_recv(sched, comm,
			weft_span_bytes(
				all + (size_t)bit * len, (size_t)count * len),
			(me + bit + root) % n);
	}
	weft_sched_fence(sched);
	if (me != 0) {
		weft_sched_send(sched, comm,
			weft_span_bytes(all, (size_t)below * len),
			(me - parent + root) % n);
		return;
	}
	for (int32_t i = args->is_in_place; i < n; i++)
		weft_sched_copy(sched,
			weft_span_bytes(all + (size_t)i * len, len),
			weft_block(&args->recv, (i + root) % n));
}

static void gather_linear(
	struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;

	if (comm->rank != args->root) {
		weft_sched_send(
			sched, comm, weft_block(&args->send, 0), args->root);
		return;
	}
	for (int32_t i = 0; i < comm->size; i++)
		if (i != comm->rank)
			weft_sched_recv(
				sched, comm, weft_block(&args->recv, i), i);
	if (!args->is_in_place)
		weft_sched_copy(sched, weft_block(&args->send, 0),
			weft_block(&args->recv, comm->rank));
}

void weft_gather_build(struct weft_sched *sched, const struct weft_coll *args)
{
	if (args->is_irregular)
		gather_linear(sched, args);
	else
		gather_tree(sched, args);
}

static void scatter_tree(struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	int32_t n = comm->size, root = args->root, parent;
	int32_t me = (comm->rank - root + n) % n;
	int32_t below = subtree(me, n, &parent);
	struct weft_span mine = me || !args->is_in_place
					? weft_block(&args->recv, 0)
					: weft_block(&args->send, root);
	size_t len = (size_t)(mine.count * mine.type->size);
	char *all = weft_sched_tmp(sched, (size_t)below * len);

	if (me != 0) {
		weft_sched_recv(sched, comm,
			weft_span_bytes(all, (size_t)below * len),
			(me - parent + root) % n);
		weft_sched_fence(sched);
	}
	for (int32_t i = 0; me == 0 && i < n; i++)
		weft_sched_copy(sched, weft_block(&args->send, (i + root) % n),
			weft_span_bytes(all + (size_t)i * len, len));
	for (int32_t bit = parent / 2; bit > 0; bit /= 2) {
		int32_t count = me + 2 * bit <= n ? bit : n - me - bit;

		if (me + bit < n)
			weft_sched_send(sched, comm,
				weft_span_bytes(all + (size_t)bit * len,
					(size_t)count * len),
				(me + bit + root) % n);
	}
	if (me || !args->is_in_place)
		weft_sched_copy(sched, weft_span_bytes(all, len), mine);
}

static void scatter_linear(
	struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;

	if (comm->rank != args->root) {
		weft_sched_recv(
			sched, comm, weft_block(&args->recv, 0), args->root);
		return;
	}
	for (int32_t i = 0; i < comm->size; i++)
		if (i != comm->rank)
			weft_sched_send(
				sched, comm, weft_block(&args->send, i), i);
	if (!args->is_in_place)
		weft_sched_copy(sched, weft_block(&args->send, comm->rank),
			weft_block(&args->recv, 0));
}

void weft_scatter_build(struct weft_sched *sched, const struct weft_coll *args)
{
	if (args->is_irregular)
		scatter_linear(sched, args);
	else
		scatter_tree(sched, args);
}

/* Messages for n_blocks blocks from first on (modulo n): neighbours in memory
 * travel together. */
static void move_blocks(struct weft_sched *sched, const struct weft_coll *args,
	int32_t first, int32_t n_blocks, int32_t rank, bool is_send)
{
	int32_t n = args->comm->size;

	while (n_blocks > 0) {
		int32_t at = first % n;
		struct weft_span span = weft_block(&args->recv, at);
		int32_t run = 1;

		if (is_regular(&args->recv)) {
			run = n - at < n_blocks ? n - at : n_blocks;
			span.count *= run;
		}
		if (is_send)
			weft_sched_send(sched, args->comm, span, rank);
		else
			weft_sched_recv(sched, args->comm, span, rank);
		first += run;
		n_blocks -= run;
	}
}

static void allgather_bruck(
	struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	int32_t n = comm->size;

	for (int32_t have = 1; have < n; have *= 2) {
		int32_t count = have < n - have ? have : n - have;

		move_blocks(sched, args, comm->rank + have, count,
			(comm->rank + have) % n, false);
		move_blocks(sched, args, comm->rank, count,
			(comm->rank - have + n) % n, true);
		weft_sched_fence(sched);
	}
}

static void allgather_ring(
	struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	int32_t n = comm->size;

	for (int32_t i = 0; i < n - 1; i++) {
		move_blocks(sched, args, (comm->rank - i - 1 + 2 * n) % n, 1,
			(comm->rank - 1 + n) % n, false);
		move_blocks(sched, args, (comm->rank - i + n) % n, 1,
			(comm->rank + 1) % n, true);
		weft_sched_fence(sched);
	}
}

/* Each to all others at once, from where it lies. */
static void allgather_linear(
	struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	int32_t n = comm->size, me = comm->rank;
	struct weft_span own = args->is_in_place ? weft_block(&args->recv, me)
						 : weft_block(&args->send, 0);

	for (int32_t i = 1; i < n; i++)
		weft_sched_recv(sched, comm,
			weft_block(&args->recv, (me - i + n) % n),
			(me - i + n) % n);
	for (int32_t i = 1; i < n; i++)
		weft_sched_send(sched, comm, own, (me + i) % n);
	if (!args->is_in_place)
		weft_sched_copy(sched, own, weft_block(&args->recv, me));
}

static int64_t longest(const struct weft_coll *args)
{
	int64_t most = 0;

	for (int32_t i = 0; i < args->comm->size; i++) {
		struct weft_span span = weft_block(&args->recv, i);

		if (span.count * span.type->size > most)
			most = span.count * span.type->size;
	}
	return most;
}

void weft_allgather_build(
	struct weft_sched *sched, const struct weft_coll *args)
{
	const bool is_long = longest(args) >= RING_LEN;

	if (is_long && args->comm->size <= LINEAR_SIZE) {
		allgather_linear(sched, args);
		return;
	}
	if (!args->is_in_place)
		weft_sched_copy(sched, weft_block(&args->send, 0),
			weft_block(&args->recv, args->comm->rank));
	if (is_long)
		allgather_ring(sched, args);
	else
		allgather_bruck(sched, args);
}
