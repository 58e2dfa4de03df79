/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_settle: the members agree on a segment
 *
 * Once a communicator has had a few collectives, rank 0 makes an unnamed file
 * and tells the others where it is; each maps it and says so, and all hear
 * whether everybody could. These messages have the number of one collective and
 * a mark in their tag: who meets one in another collective answers with an
 * error, since who sent it waits for answers that it may not expect. After an
 * error the next collective tries again. */
#include "coll/shm_coll.h"

#include "base/knob.h"
#include "base/log.h"
#include "shm/share.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FIRST_CALLS = 4, /* that send messages */
	MEMBERS_MAX = 512,
	SEGMENTS_MAX = 4096, /* of a process */
};

/* Where the file is. */
struct offer {
	int32_t pid; /* 0: there is none */
	int32_t fd;
};

/* Down a binomial tree from rank 0, and up. */
static void settle_down(struct weft_fast *q, struct weft_span span)
{
	const int32_t n = q->comm->size, me = q->comm->rank;
	int32_t bit = 1;

	while (bit < n && !(me & bit))
		bit *= 2;
	if (me)
		weft_fast_recv(q, span, me - bit);
	for (bit /= 2; bit > 0; bit /= 2)
		if (me + bit < n)
			weft_fast_send(q, span, me + bit);
}

static void settle_up(struct weft_fast *q, int32_t *all)
{
	const int32_t n = q->comm->size, me = q->comm->rank;
	int32_t bit, other;

	for (bit = 1; bit < n && !(me & bit); bit *= 2) {
		if (me + bit >= n)
			continue;
		weft_fast_recv(
			q, weft_span_bytes(&other, sizeof(other)), me + bit);
		if (!q->err)
			*all &= other;
	}
	if (me)
		weft_fast_send(q, weft_span_bytes(all, sizeof(*all)), me - bit);
}

/* ---- the segment ---- */

static size_t settle_cells_at(const struct weft_comm *comm)
{
	return weft_round_up(
		(size_t)comm->size * sizeof(struct weft_coll_member), 4096);
}

static size_t settle_len(const struct weft_comm *comm)
{
	return settle_cells_at(comm) +
	       (size_t)comm->size * WEFT_COLL_CELLS * WEFT_COLL_CELL_LEN;
}

/* Whether this process wants one and may have it. */
static bool settle_wants(const struct weft_comm *comm)
{
	return comm->vci->shm && !weft_proc.is_blocking &&
	       !strcmp(weft_knobs.coll_shm, "on") &&
	       atomic_load_explicit(&weft_proc.n_coll_segs,
		       memory_order_relaxed) < SEGMENTS_MAX;
}

static struct offer settle_offer(const struct weft_comm *comm)
{
	struct offer offer = { 0, -1 };
	int fd;

	if (settle_wants(comm) && !weft_share_file(settle_len(comm), &fd))
		offer = (struct offer){ getpid(), fd };
	return offer;
}

static bool settle_map(struct weft_comm *comm, const struct offer *offer)
{
	size_t len = settle_len(comm);
	struct weft_coll_shm *shm;
	char *map;

	if (!offer->pid || !settle_wants(comm))
		return false;
	shm = calloc(1, sizeof(*shm));
	if (!shm || weft_share_map(offer->pid, offer->fd, 0, len, &map)) {
		free(shm);
		return false;
	}
	shm->members = (struct weft_coll_member *)map;
	shm->cells = (uint8_t *)map + settle_cells_at(comm);
	shm->n = comm->size;
	shm->me = comm->rank;
	shm->mine = &shm->members[shm->me];
	shm->reached = comm->coll.seq; /* nobody looks at an earlier one */
	comm->coll.shm = shm;
	comm->coll.map = map;
	comm->coll.map_len = len;
	atomic_fetch_add_explicit(
		&weft_proc.n_coll_segs, 1, memory_order_relaxed);
	return true;
}

static void settle_unmap(struct weft_comm *comm)
{
	if (!comm->coll.map)
		return;
	weft_share_unmap(comm->coll.map, comm->coll.map_len);
	free(comm->coll.shm);
	comm->coll.map = NULL;
	comm->coll.shm = NULL;
	atomic_fetch_sub_explicit(
		&weft_proc.n_coll_segs, 1, memory_order_relaxed);
}

/* ---- the agreement ---- */

static bool is_on_node(const struct weft_comm *comm)
{
	if (comm->is_inter || comm->size < 2 || comm->size > MEMBERS_MAX)
		return false;
	for (int32_t i = 0; i < comm->size; i++)
		if (!weft_proc_is_local(
			    weft_group_proc(comm->group, (uint32_t)i)))
			return false;
	return true;
}

bool weft_shm_coll_is_due(struct weft_comm *comm)
{
	if (comm->coll.is_settled || comm->coll.seq < FIRST_CALLS)
		return false;
	comm->coll.is_settled = !is_on_node(comm);
	return !comm->coll.is_settled;
}

int weft_shm_coll_settle(const struct weft_coll *args, enum weft_coll_kind kind)
{
	struct weft_comm *comm = args->comm;
	struct weft_fast q = weft_fast_begin(args, kind);
	struct offer offer = { 0, -1 };
	int32_t all;

	q.tag |= WEFT_COLL_TAG_SETTLE;
	if (comm->rank == 0)
		offer = settle_offer(comm);
	settle_down(&q, weft_span_bytes(&offer, sizeof(offer)));
	all = !q.err && settle_map(comm, &offer);
	settle_up(&q, &all);
	settle_down(&q, weft_span_bytes(&all, sizeof(all)));
	if (comm->rank == 0 && offer.pid)
		close(offer.fd);
	if (q.err || !all)
		settle_unmap(comm);
	comm->coll.is_settled = !q.err;
	if (!q.err)
		weft_log_debug("COLL-SHM", "communicator %llx of %d: %s",
			(unsigned long long)comm->ctx, (int)comm->size,
			all ? "short collectives through shared memory"
			    : "no shared memory for collectives, as one "
			      "member has none");
	return q.err;
}
