/* SPDX-License-Identifier: BSD-3-Clause */
/* bcast: binomial tree */
#include "coll/coll_priv.h"

void weft_bcast_tree(struct weft_sched *sched, struct weft_comm *comm,
	struct weft_span span, int32_t root)
{
	int32_t n = comm->size;
	int32_t me = (comm->rank - root + n) % n; /* the root is 0 */
	int32_t bit = 1;

	while (bit < n && !(me & bit))
		bit *= 2;
	if (me != 0) {
		weft_sched_recv(sched, comm, span, (me - bit + root) % n);
		weft_sched_fence(sched);
	}
	for (bit /= 2; bit > 0; bit /= 2)
		if (me + bit < n)
			weft_sched_send(
				sched, comm, span, (me + bit + root) % n);
	weft_sched_fence(sched);
}

void weft_bcast_build(struct weft_sched *sched, const struct weft_coll *args)
{
	struct weft_span span = weft_block(&args->recv, 0);

	if (span.count * span.type->size > 0)
		weft_bcast_tree(sched, args->comm, span, args->root);
}

int weft_bcast_fast(const struct weft_coll *args)
{
	struct weft_span span = weft_block(&args->recv, 0);
	int32_t n = args->comm->size, root = args->root, bit = 1;
	int32_t me = (args->comm->rank - root + n) % n;
	struct weft_fast q;

	if (span.count * span.type->size > WEFT_FAST_LEN)
		return WEFT_AGAIN;
	q = weft_fast_begin(args, WEFT_COLL_BCAST);
	if (span.count * span.type->size == 0)
		return 0;
	while (bit < n && !(me & bit))
		bit *= 2;
	if (me != 0)
		weft_fast_recv(&q, span, (me - bit + root) % n);
	for (bit /= 2; bit > 0; bit /= 2)
		if (me + bit < n)
			weft_fast_send(&q, span, (me + bit + root) % n);
	return q.err;
}
