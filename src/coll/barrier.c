/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier: dissemination, log2(n) rounds */
#include "coll/coll_priv.h"

void weft_barrier_build(struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	struct weft_span none = weft_span_bytes(NULL, 0);

	for (int32_t dist = 1; dist < comm->size; dist *= 2) {
		weft_sched_recv(sched, comm, none,
			(comm->rank - dist + comm->size) % comm->size);
		weft_sched_send(
			sched, comm, none, (comm->rank + dist) % comm->size);
		weft_sched_fence(sched);
	}
}

int weft_barrier_fast(const struct weft_coll *args)
{
	struct weft_fast q = weft_fast_begin(args, WEFT_COLL_BARRIER);
	struct weft_span none = weft_span_bytes(NULL, 0);
	int32_t n = args->comm->size, me = args->comm->rank;

	for (int32_t dist = 1; dist < n; dist *= 2)
		weft_fast_exchange(
			&q, none, (me + dist) % n, none, (me - dist + n) % n);
	return q.err;
}
