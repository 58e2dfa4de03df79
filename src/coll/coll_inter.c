/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_inter: collectives between the two groups of an intercommunicator
 *
 * A group leader is rank 0 of its group. Barrier, allreduce and reduce-scatter
 * have three parts: within the local group (comm->local), between the two group
 * leaders, and within the local group again. In a broadcast, the root sends to
 * the group leader of the other group, which broadcasts. In a reduction, the
 * group leader sends the result of its group to the root. In gathers, scatters,
 * allgathers and alltoalls, members send directly to the remote processes. */
#include "coll/coll_priv.h"

static bool is_leader(const struct weft_coll *args)
{
	return args->comm->rank == 0;
}

static struct weft_span none(void)
{
	return weft_span_bytes(NULL, 0);
}

void weft_inter_barrier(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_coll_view local =
		weft_coll_view_of(args->comm->local);

	weft_barrier_dissemination(sched, &local, args);
	if (is_leader(args)) {
		weft_sched_recv(sched, view, none(), 0);
		weft_sched_send(sched, view, none(), 0);
	}
	weft_sched_fence(sched);
	weft_bcast_tree(sched, &local, none(), 0);
}

void weft_inter_bcast(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_coll_view local =
		weft_coll_view_of(args->comm->local);
	struct weft_span span;

	if (args->root == WEFT_PROC_NULL)
		return;
	span = weft_block(&args->recv, 0);
	if (args->root == WEFT_ROOT) {
		weft_sched_send(sched, view, span, 0);
		return;
	}
	if (is_leader(args)) {
		weft_sched_recv(sched, view, span, args->root);
		weft_sched_fence(sched);
	}
	weft_bcast_tree(sched, &local, span, 0);
}

void weft_inter_gather(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	if (args->root == WEFT_PROC_NULL)
		return;
	if (args->root != WEFT_ROOT) {
		weft_sched_send(
			sched, view, weft_block(&args->send, 0), args->root);
		return;
	}
	for (int32_t i = 0; i < args->comm->remote_size; i++)
		weft_sched_recv(sched, view, weft_block(&args->recv, i), i);
}

void weft_inter_scatter(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	if (args->root == WEFT_PROC_NULL)
		return;
	if (args->root != WEFT_ROOT) {
		weft_sched_recv(
			sched, view, weft_block(&args->recv, 0), args->root);
		return;
	}
	for (int32_t i = 0; i < args->comm->remote_size; i++)
		weft_sched_send(sched, view, weft_block(&args->send, i), i);
}

void weft_inter_allgather(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	for (int32_t i = 0; i < args->comm->remote_size; i++) {
		weft_sched_recv(sched, view, weft_block(&args->recv, i), i);
		weft_sched_send(sched, view, weft_block(&args->send, 0), i);
	}
}

void weft_inter_alltoall(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	for (int32_t i = 0; i < args->comm->remote_size; i++) {
		weft_sched_recv(sched, view, weft_block(&args->recv, i), i);
		weft_sched_send(sched, view, weft_block(&args->send, i), i);
	}
}

void weft_inter_reduce(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_coll_view local =
		weft_coll_view_of(args->comm->local);
	struct weft_span mine;

	if (args->root == WEFT_PROC_NULL)
		return;
	if (args->root == WEFT_ROOT) {
		weft_sched_recv(sched, view, weft_block(&args->recv, 0), 0);
		return;
	}
	mine = weft_block(&args->send, 0);
	if (is_leader(args)) {
		struct weft_span result = mine;

		result.buf = weft_sched_tmp_typed(sched, mine.count, mine.type);
		weft_reduce_tree(sched, &local, args->op, mine, result.buf, 0);
		weft_sched_send(sched, view, result, args->root);
		return;
	}
	weft_reduce_tree(sched, &local, args->op, mine, NULL, 0);
}

/* Reduces `mine` in the local group. The group leaders exchange the results;
 * `in` is the buffer for the result of the remote group. */
static void swap_results(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args,
	struct weft_span mine, struct weft_span in)
{
	const struct weft_coll_view local =
		weft_coll_view_of(args->comm->local);
	struct weft_span result = mine;

	result.buf = is_leader(args) ? weft_sched_tmp_typed(
					       sched, mine.count, mine.type)
				     : NULL;
	weft_reduce_tree(sched, &local, args->op, mine, result.buf, 0);
	if (!is_leader(args))
		return;
	weft_sched_recv(sched, view, in, 0);
	weft_sched_send(sched, view, result, 0);
	weft_sched_fence(sched);
}

void weft_inter_allreduce(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_coll_view local =
		weft_coll_view_of(args->comm->local);
	struct weft_span result = weft_block(&args->recv, 0);

	swap_results(sched, view, args, weft_block(&args->send, 0), result);
	weft_bcast_tree(sched, &local, result, 0);
}

void weft_inter_reduce_scatter(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_coll_view local =
		weft_coll_view_of(args->comm->local);
	struct weft_comm *comm = args->comm;
	int64_t total = 0, at = 0;
	struct weft_span in = { NULL, 0, args->recv.type };

	for (int32_t i = 0; i < comm->size; i++)
		total += args->recv.counts ? args->recv.counts[i]
					   : args->recv.count;
	in.count = total;
	if (is_leader(args))
		in.buf = weft_sched_tmp_typed(sched, total, in.type);
	swap_results(sched, view, args,
		(struct weft_span){ args->send.buf, total, in.type }, in);
	for (int32_t i = 0; i < comm->size; i++) {
		int64_t count = args->recv.counts ? args->recv.counts[i]
						  : args->recv.count;
		struct weft_span part = { (char *)in.buf + at * in.type->extent,
			count, in.type };
		struct weft_span here = { args->recv.buf, count, in.type };

		at += count;
		if (is_leader(args) && i == 0)
			weft_sched_copy(sched, part, here);
		else if (is_leader(args))
			weft_sched_send(sched, &local, part, i);
		else if (i == comm->rank)
			weft_sched_recv(sched, &local, here, 0);
	}
}
