/* SPDX-License-Identifier: BSD-3-Clause */
/* alltoall: all forms of alltoall
 *
 * The linear algorithm sends one message for each ordered pair of members. A
 * member begins with the next view rank, and has up to WINDOW sends and as many
 * receives in flight. Bruck's algorithm sends packed bytes in log2(n) rounds.
 * It requires blocks of one length. */
#include "coll/coll_priv.h"

enum { WINDOW = 32 }; /* sends, and as many receives, in flight */

/* The blocks to send. With MPI_IN_PLACE: packed copies, made before any receive
 * is posted. */
struct sources {
	const struct weft_blocks *blocks;
	const struct weft_span *copies;
};

static struct weft_span copy_of(
	struct weft_sched *sched, struct weft_span block)
{
	size_t len = (size_t)(block.count * block.type->size);
	struct weft_span copy =
		weft_span_bytes(weft_sched_tmp(sched, len), len);

	weft_sched_copy(sched, block, copy);
	return copy;
}

static struct sources sources_of(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct sources from = { &args->send, NULL };
	struct weft_span *copies;

	if (!args->is_in_place)
		return from;
	from.blocks = &args->recv;
	copies = weft_sched_tmp(sched, (size_t)view->n * sizeof(*copies));
	if (sched->err) /* each send is now an error message */
		return from;
	for (int32_t i = 0; i < view->n; i++)
		copies[i] = i == view->me ? weft_block(&args->recv, i)
					  : copy_of(sched,
						    weft_block(&args->recv, i));
	from.copies = copies;
	return from;
}

void weft_alltoall_linear(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const int32_t n = view->n, me = view->me;
	struct sources from = sources_of(sched, view, args);

	for (int32_t first = 1; first < n; first += WINDOW) {
		int32_t end = first + WINDOW < n ? first + WINDOW : n;

		for (int32_t i = first; i < end; i++)
			weft_sched_recv(sched, view,
				weft_block(&args->recv, (me - i + n) % n),
				(me - i + n) % n);
		for (int32_t i = first; i < end; i++) {
			int32_t to = (me + i) % n;

			weft_sched_send(sched, view,
				from.copies ? from.copies[to]
					    : weft_block(from.blocks, to),
				to);
		}
		if (end < n)
			weft_sched_fence(sched);
	}
	if (!args->is_in_place)
		weft_sched_copy(sched, weft_block(&args->send, me),
			weft_block(&args->recv, me));
}

/* At first, block i of `all`, at all + i * len, is for view rank me + i (modulo
 * n). Round `bit` sends the blocks whose index has that bit to view rank me +
 * bit. After the last round, block i is from view rank me - i. */
void weft_alltoall_bruck(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const int32_t n = view->n, me = view->me;
	struct weft_span block = weft_block(&args->recv, 0);
	const size_t len = (size_t)(block.count * block.type->size);
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
		weft_sched_recv(sched, view, weft_span_bytes(in, k * len),
			(me - bit + n) % n);
		weft_sched_send(sched, view, weft_span_bytes(out, k * len),
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
