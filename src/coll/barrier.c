/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier: the dissemination algorithm, log2(n) rounds */
#include "coll/coll_priv.h"

void weft_barrier_dissemination(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct weft_span none = weft_span_bytes(NULL, 0);
	const int32_t n = view->n, me = view->me;

	(void)args;
	for (int64_t dist = 1; dist < n; dist *= 2) {
		weft_sched_recv(
			sched, view, none, (int32_t)((me - dist + n) % n));
		weft_sched_send(sched, view, none, (int32_t)((me + dist) % n));
		weft_sched_fence(sched);
	}
}
