/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier: the dissemination algorithm, log2(n) rounds */
#include "coll/coll_priv.h"

#include "transport/peer.h"

/* Requests the business cards of the receivers of all rounds but the last.
 * Otherwise each round would wait for the process manager. The receiver of the
 * last round may be a sender of an earlier round, which sends its card. */
static void barrier_meet(const struct weft_coll_view *view)
{
	for (int64_t dist = 1; 2 * dist < view->n; dist *= 2) {
		struct weft_peer *peer = weft_comm_peer(view->comm,
			(uint32_t)weft_coll_view_rank(
				view, (int32_t)((view->me + dist) % view->n)));

		if (peer)
			weft_peer_resolve(peer);
	}
}

void weft_barrier_dissemination(struct weft_sched *sched,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	struct weft_span none = weft_span_bytes(NULL, 0);
	const int32_t n = view->n, me = view->me;

	(void)args;
	if (view->comm && view->comm->coll.seq == 1)
		barrier_meet(view); /* the first collective of comm */
	for (int64_t dist = 1; dist < n; dist *= 2) {
		weft_sched_recv(
			sched, view, none, (int32_t)((me - dist + n) % n));
		weft_sched_send(sched, view, none, (int32_t)((me + dist) % n));
		weft_sched_fence(sched);
	}
}
