/* SPDX-License-Identifier: BSD-3-Clause */
/* need: what a blocked call waits for, process by process */
#include "session/need.h"

#include "p2p/p2p.h"
#include "session/create.h"
#include "session/disconnect.h"

/* Process + 1 to creations passed on; guarded by the default lane's lock. */
static struct {
	struct weft_map in, out;
} creations;

static uint64_t count_of(const struct weft_map *map, uint64_t proc)
{
	return (uint64_t)(uintptr_t)weft_map_get(map, proc + 1);
}

static void count(struct weft_map *map, uint64_t proc)
{
	uint64_t n = count_of(map, proc) + 1;

	(void)weft_map_put(map, proc + 1, (void *)(uintptr_t)n);
}

void weft_need_count_out(uint64_t proc)
{
	count(&creations.out, proc);
}

void weft_need_count_in(uint64_t proc)
{
	count(&creations.in, proc);
}

static const char *label_of(const struct weft_comm *comm)
{
	if (comm->name[0])
		return comm->name;
	return comm->tag[0] ? comm->tag : "without a name";
}

static void need_comm(const struct weft_blocked *b, struct weft_comm *comm,
	weft_need_fn *fn, void *arg)
{
	struct weft_need need = {
		.kind = WEFT_WIRE_NEED_LEAVE,
		.what = comm->ctx,
		.size = (uint32_t)comm->size +
			(comm->is_inter ? (uint32_t)comm->remote_size : 0),
		.label = label_of(comm),
		.comm = comm,
	};

	if (weft_disconnect_is_open(comm))
		fn(b, &need, arg);
}

static void need_join(const struct weft_blocked *b, weft_need_fn *fn, void *arg)
{
	struct weft_need need = {
		.kind = b->join.need,
		.what = b->comm->ctx,
		.round = b->join.round,
		.join = &b->join,
		.size = (uint32_t)b->comm->size +
			(b->comm->is_inter ? (uint32_t)b->comm->remote_size
					   : 0),
		.label = label_of(b->comm),
		.comm = b->comm,
	};

	fn(b, &need, arg);
}

void weft_need_each(const struct weft_blocked *b, weft_need_fn *fn, void *arg)
{
	if (b->kind == WEFT_CYCLE_CREATE) {
		struct weft_need need = {
			.kind = WEFT_WIRE_NEED_CREATE,
			.what = count_of(&creations.in, b->create->parent),
			.size = b->create->group->size,
			/* a tag of our own begins with \1 */
			.label = b->create->tag + (b->create->tag[0] == 1),
			.parent = b->create->parent,
		};

		if (b->is_waiting(b))
			fn(b, &need, arg);
	} else if (b->kind == WEFT_CYCLE_DISCONNECT) {
		need_comm(b, b->comm, fn, arg);
	} else if (b->kind == WEFT_CYCLE_DERIVE) {
		need_join(b, fn, arg);
	} else {
		weft_list_for_each(link, next,
			weft_session_list(b->session, weft_need_lane(b)))
		{
			struct weft_comm *comm = weft_disconnect_comm_of(link);

			if (comm)
				need_comm(b, comm, fn, arg);
		}
		if (b->is_last)
			for (struct weft_comm *comm = NULL;
				(comm = weft_disconnect_orphan(
					 weft_need_lane(b), comm)) != NULL;)
				need_comm(b, comm, fn, arg);
	}
}

/* The lane that a member has for the communicator; the remote ones of an
 * intercommunicator come after the local ones. */
static uint8_t lane_at(const struct weft_comm *comm, uint32_t i)
{
	const struct weft_comm *local = comm->is_inter ? comm->local : comm;
	uint32_t size = (uint32_t)comm->size;

	if (i >= size)
		return comm->lanes ? comm->lanes[i - size] : 0;
	return local->lanes ? local->lanes[i] : 0;
}

static void tell_other(const struct weft_need *need, uint32_t i,
	weft_need_other_fn *fn, void *arg)
{
	const struct weft_comm *comm = need->comm;
	uint32_t size = (uint32_t)comm->size;
	uint64_t proc = i < size ? weft_group_proc(comm->group, i)
				 : weft_group_proc(comm->remote, i - size);
	struct weft_need_other who = { proc,
		weft_lane_addr(proc, lane_at(comm, i)) };

	if (proc != weft_proc.proc)
		fn(need, who, arg);
}

uint32_t weft_need_each_other(
	const struct weft_need *need, weft_need_other_fn *fn, void *arg)
{
	const struct weft_blocked_join *join = need->join;

	if (!need->comm) {
		fn(need, (struct weft_need_other){ need->parent, need->parent },
			arg);
		return 1;
	}
	if (join && !join->is_all) {
		for (uint32_t i = 0; i < join->n; i++)
			tell_other(need, (uint32_t)join->ranks[i], fn, arg);
		return join->n;
	}
	for (uint32_t i = 0; i < need->size && i <= WEFT_NEED_ASK_MAX; i++)
		tell_other(need, i, fn, arg);
	return need->size - 1;
}

/* Is a round of a communicator later than another? They count in 30 bits. */
static bool is_beyond(uint32_t next, uint32_t round)
{
	return ((next - round - 1) & 0x3fffffff) < 0x20000000;
}

static bool has_joined(const struct weft_comm *comm, enum weft_wire_need kind,
	uint32_t round, uint64_t asker)
{
	int32_t rank;

	if (kind == WEFT_WIRE_NEED_ROUND)
		return is_beyond(comm->ctl_seq, round);
	if (kind == WEFT_WIRE_NEED_SIDE)
		return is_beyond(comm->n_bridges, round);
	rank = weft_group_rank_of(comm->remote, asker);
	return !weft_p2p_has_come_held(
		comm, WEFT_PLANE_CTL, rank, (int32_t)round);
}

bool weft_need_is_met(const struct weft_lane *lane,
	const struct weft_wire_ask *ask, uint64_t asker, uint32_t *session_out)
{
	const struct weft_comm *comm;

	*session_out = 0;
	if (ask->need == WEFT_WIRE_NEED_CREATE)
		return lane->number || weft_create_has_started() ||
		       count_of(&creations.out, asker) != ask->what;
	if (ask->need == WEFT_WIRE_NEED_MEET)
		return lane->number || weft_create_has_started() ||
		       !weft_create_is_offered(ask->what);
	comm = weft_map_get(&lane->comms, ask->what);
	if (!comm || ask->need >= WEFT_WIRE_NEED_END)
		return true;
	if (comm->child.session)
		*session_out = comm->child.session->number;
	if (weft_disconnect_has_begun(comm))
		return true;
	return ask->need != WEFT_WIRE_NEED_LEAVE &&
	       has_joined(
		       comm, (enum weft_wire_need)ask->need, ask->round, asker);
}
