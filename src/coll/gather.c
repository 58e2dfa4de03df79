/* SPDX-License-Identifier: BSD-3-Clause */
/* gather: gather, scatter and allgather, regular and irregular
 *
 * Regular gathers and scatters may use a binomial tree of packed bytes, because
 * all members know the length of a block. In the irregular forms only the root
 * knows the lengths, so it exchanges a message with each member. Bruck's
 * allgather needs no final rotation here, because each block is received at its
 * final position. */
#include "coll/coll_priv.h"

static bool is_regular(const struct weft_blocks *blocks)
{
	return !blocks->counts && !blocks->displs;
}

/* Returns the number of members in the subtree of number `me` in a binomial
 * tree with root 0. Sets *parent_bit_out to the bit in which the parent's
 * number differs from me. */
static int32_t subtree(int32_t me, int32_t n, int32_t *parent_bit_out)
{
	int32_t bit = 1;

	while (bit < n && !(me & bit))
		bit *= 2;
	*parent_bit_out = bit;
	return me + bit < n ? bit : n - me;
}

void weft_gather_binomial(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	int32_t n = view->n, root = args->root, parent;
	int32_t me = (view->me - root + n) % n;
	int32_t below = subtree(me, n, &parent);
	struct weft_span mine = me || !args->is_in_place
					? weft_block(&args->send, 0)
					: weft_block(&args->recv, root);
	size_t len = (size_t)(mine.count * mine.type->size);
	char *all = weft_sched_tmp(sched, (size_t)below * len);

	weft_sched_copy(sched, mine, weft_span_bytes(all, len));
	for (int32_t bit = 1; bit < parent && me + bit < n; bit *= 2) {
		int32_t count = me + 2 * bit <= n ? bit : n - me - bit;

		weft_sched_recv(sched, view,
			weft_span_bytes(
				all + (size_t)bit * len, (size_t)count * len),
			(me + bit + root) % n);
	}
	weft_sched_fence(sched);
	if (me != 0) {
		weft_sched_send(sched, view,
			weft_span_bytes(all, (size_t)below * len),
			(me - parent + root) % n);
		return;
	}
	for (int32_t i = args->is_in_place; i < n; i++)
		weft_sched_copy(sched,
			weft_span_bytes(all + (size_t)i * len, len),
			weft_block(&args->recv, (i + root) % n));
}

void weft_gather_linear(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{

	if (view->me != args->root) {
		weft_sched_send(
			sched, view, weft_block(&args->send, 0), args->root);
		return;
	}
	for (int32_t i = 0; i < view->n; i++)
		if (i != view->me)
			weft_sched_recv(
				sched, view, weft_block(&args->recv, i), i);
	if (!args->is_in_place)
		weft_sched_copy(sched, weft_block(&args->send, 0),
			weft_block(&args->recv, view->me));
}

void weft_scatter_tree(struct weft_sched *sched,
	const struct weft_coll_view *view, struct weft_span span,
	const int64_t *starts, int32_t root)
{
	const int32_t n = view->n, me = (view->me - root + n) % n;
	int32_t bit, below = subtree(me, n, &bit);

	if (me != 0) {
		weft_sched_recv(sched, view,
			weft_ranges(span, starts, me, me + below, n),
			(me - bit + root) % n);
		weft_sched_fence(sched);
	}
	for (bit /= 2; bit > 0; bit /= 2)
		if (me + bit < n)
			weft_sched_send(sched, view,
				weft_ranges(span, starts, me + bit,
					me + 2 * bit < n ? me + 2 * bit : n, n),
				(me + bit + root) % n);
}

void weft_scatter_binomial(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	int32_t n = view->n, root = args->root, bit;
	int32_t me = (view->me - root + n) % n;
	int32_t below = subtree(me, n, &bit);
	struct weft_span mine = me || !args->is_in_place
					? weft_block(&args->recv, 0)
					: weft_block(&args->send, root);
	size_t len = (size_t)(mine.count * mine.type->size);
	char *packed = weft_sched_tmp(sched, (size_t)below * len);
	/* `packed` begins with this member's block, so block 0 would be
	 * me * len bytes before it */
	struct weft_span all =
		weft_span_bytes((char *)((uintptr_t)packed - (size_t)me * len),
			(size_t)n * len);

	for (int32_t i = 0; me == 0 && i < n; i++)
		weft_sched_copy(sched, weft_block(&args->send, (i + root) % n),
			weft_span_bytes(packed + (size_t)i * len, len));
	weft_scatter_tree(sched, view, all, NULL, root);
	if (me || !args->is_in_place)
		weft_sched_copy(sched, weft_span_bytes(packed, len), mine);
}

void weft_scatter_linear(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{

	if (view->me != args->root) {
		weft_sched_recv(
			sched, view, weft_block(&args->recv, 0), args->root);
		return;
	}
	for (int32_t i = 0; i < view->n; i++)
		if (i != view->me)
			weft_sched_send(
				sched, view, weft_block(&args->send, i), i);
	if (!args->is_in_place)
		weft_sched_copy(sched, weft_block(&args->send, view->me),
			weft_block(&args->recv, 0));
}

/* Sends or receives n_blocks blocks from `first` on (modulo n). Contiguous
 * blocks are one message. */
static void move_blocks(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args,
	int32_t first, int32_t n_blocks, int32_t place, bool is_send)
{
	int32_t n = view->n;

	while (n_blocks > 0) {
		int32_t at = first % n;
		struct weft_span span = weft_block(&args->recv, at);
		int32_t run = 1;

		if (is_regular(&args->recv)) {
			run = n - at < n_blocks ? n - at : n_blocks;
			span.count *= run;
		}
		if (is_send)
			weft_sched_send(sched, view, span, place);
		else
			weft_sched_recv(sched, view, span, place);
		first += run;
		n_blocks -= run;
	}
}

static void own_block(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	if (!args->is_in_place)
		weft_sched_copy(sched, weft_block(&args->send, 0),
			weft_block(&args->recv, view->me));
}

void weft_allgather_bruck(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	int32_t n = view->n;

	own_block(sched, view, args);
	for (int32_t have = 1; have < n; have *= 2) {
		int32_t count = have < n - have ? have : n - have;

		move_blocks(sched, view, args, view->me + have, count,
			(view->me + have) % n, false);
		move_blocks(sched, view, args, view->me, count,
			(view->me - have + n) % n, true);
		weft_sched_fence(sched);
	}
}

void weft_allgather_ring(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const int32_t n = view->n, me = view->me;

	own_block(sched, view, args);
	for (int32_t i = 0; i < n - 1; i++) {
		int32_t in = (me - i - 1 + 2 * n) % n, out = (me - i + n) % n;

		weft_sched_recv(sched, view, weft_block(&args->recv, in),
			(me - 1 + n) % n);
		weft_sched_send(sched, view, weft_block(&args->recv, out),
			(me + 1) % n);
		weft_sched_fence(sched);
	}
}

/* Each member sends its block to all others, directly from the user's buffer.
 */
void weft_allgather_linear(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	int32_t n = view->n, me = view->me;
	struct weft_span own = args->is_in_place ? weft_block(&args->recv, me)
						 : weft_block(&args->send, 0);

	for (int32_t i = 1; i < n; i++)
		weft_sched_recv(sched, view,
			weft_block(&args->recv, (me - i + n) % n),
			(me - i + n) % n);
	for (int32_t i = 1; i < n; i++)
		weft_sched_send(sched, view, own, (me + i) % n);
	if (!args->is_in_place)
		weft_sched_copy(sched, own, weft_block(&args->recv, me));
}
