/* SPDX-License-Identifier: BSD-3-Clause */
/* cycle: when processes that wait for each other can never go on */
#include "session/cycle.h"

#include <stdio.h>

static uint32_t find(const struct weft_cycle *cycle, uint64_t proc)
{
	uint32_t i = 0;

	while (i < cycle->chase.n_hops && cycle->hops[i].proc != proc)
		i++;
	return i;
}

bool weft_cycle_is_sane(const struct weft_cycle *cycle)
{
	const struct weft_wire_chase *chase = &cycle->chase;

	if (chase->phase > WEFT_CYCLE_VOID || chase->n_hops == 0 ||
		chase->n_hops > WEFT_CYCLE_HOPS)
		return false;
	for (uint32_t i = 0; i < chase->n_hops; i++)
		if (!cycle->hops[i].epoch ||
			cycle->hops[i].kind > WEFT_CYCLE_DERIVE ||
			cycle->hops[i].need >= WEFT_WIRE_NEED_END ||
			cycle->hops[i].label[WEFT_WIRE_LABEL - 1])
			return false;
	return (chase->phase != WEFT_CYCLE_CONFIRM &&
		       chase->phase != WEFT_CYCLE_MARK) ||
	       (chase->at > 0 && chase->at <= chase->n_hops);
}

uint64_t weft_cycle_wanted(const struct weft_cycle *cycle, uint64_t proc)
{
	uint32_t i = find(cycle, proc);

	return i < cycle->chase.n_hops ? cycle->hops[i].epoch : 0;
}

const struct weft_wire_hop *weft_cycle_behind(const struct weft_cycle *cycle)
{
	const struct weft_wire_chase *chase = &cycle->chase;

	if (chase->phase == WEFT_CYCLE_SEEK)
		return &cycle->hops[chase->n_hops - 1];
	if (chase->phase == WEFT_CYCLE_CONFIRM)
		return &cycle->hops[chase->at - 1];
	return NULL;
}

/* It has come back, or to somebody new. */
static enum weft_cycle_step judge_seek(
	struct weft_cycle *cycle, const struct weft_cycle_me *me)
{
	uint32_t i = find(cycle, me->proc);

	if (me->has_done || !me->epoch)
		return WEFT_CYCLE_DROP;
	if (i == cycle->chase.n_hops)
		return i < WEFT_CYCLE_HOPS ? WEFT_CYCLE_EXTEND
					   : WEFT_CYCLE_DROP;
	if (i > 0 || cycle->hops[0].epoch != me->epoch)
		return WEFT_CYCLE_DROP;
	cycle->chase.phase = WEFT_CYCLE_CONFIRM;
	cycle->chase.at = 1;
	return cycle->chase.n_hops > 1 ? WEFT_CYCLE_TO_NEXT : WEFT_CYCLE_DROP;
}

static enum weft_cycle_step judge_confirm(
	struct weft_cycle *cycle, const struct weft_cycle_me *me)
{
	struct weft_wire_chase *chase = &cycle->chase;
	const struct weft_wire_hop *hop =
		&cycle->hops[chase->at % chase->n_hops];

	if (me->has_done || hop->proc != me->proc || hop->epoch != me->epoch)
		return WEFT_CYCLE_DROP;
	if (chase->at < chase->n_hops) {
		chase->at++;
		return WEFT_CYCLE_TO_NEXT;
	}
	chase->phase = WEFT_CYCLE_MARK;
	chase->at = 1;
	return WEFT_CYCLE_PROVEN;
}

/* All are marked once it comes back to the first. */
static enum weft_cycle_step judge_mark(
	struct weft_cycle *cycle, const struct weft_cycle_me *me)
{
	struct weft_wire_chase *chase = &cycle->chase;
	const struct weft_wire_hop *hop =
		&cycle->hops[chase->at % chase->n_hops];

	if (hop->proc != me->proc || hop->epoch != me->epoch)
		return WEFT_CYCLE_DROP;
	if (chase->at++ < chase->n_hops)
		return WEFT_CYCLE_MARKED;
	chase->at = 0;
	chase->phase = WEFT_CYCLE_RELEASE;
	return WEFT_CYCLE_ALL;
}

enum weft_cycle_step weft_cycle_judge(
	struct weft_cycle *cycle, const struct weft_cycle_me *me)
{
	uint32_t i = find(cycle, me->proc);

	if (!me->is_alone && cycle->chase.phase <= WEFT_CYCLE_CONFIRM)
		cycle->chase.is_doubtful = 1;
	if (cycle->chase.phase == WEFT_CYCLE_SEEK)
		return judge_seek(cycle, me);
	if (cycle->chase.phase == WEFT_CYCLE_CONFIRM)
		return judge_confirm(cycle, me);
	if (cycle->chase.is_doubtful)
		return WEFT_CYCLE_DROP;
	if (cycle->chase.phase == WEFT_CYCLE_MARK)
		return judge_mark(cycle, me);
	if (i == cycle->chase.n_hops || cycle->hops[i].epoch != me->epoch)
		return WEFT_CYCLE_DROP;
	return cycle->chase.phase == WEFT_CYCLE_RELEASE ? WEFT_CYCLE_CONDEMNED
							: WEFT_CYCLE_VOIDED;
}

bool weft_cycle_extend(
	struct weft_cycle *cycle, const struct weft_wire_hop *hop)
{
	uint32_t n = cycle->chase.n_hops;

	if (n == WEFT_CYCLE_HOPS || find(cycle, hop->proc) < n)
		return false;
	cycle->hops[n] = *hop;
	cycle->chase.n_hops = n + 1;
	return true;
}

static void print_call(const struct weft_wire_hop *hop, char *buf, size_t len)
{
	static const char *const calls[] = {
		[WEFT_CYCLE_FINALIZE] = "MPI_Session_finalize",
		[WEFT_CYCLE_WORLD] = "MPI_Finalize",
		[WEFT_CYCLE_DISCONNECT] = "MPI_Comm_disconnect",
		[WEFT_CYCLE_CREATE] = "MPI_Comm_create_from_group",
		[WEFT_CYCLE_DERIVE] = "a collective creation",
	};

	if (hop->kind == WEFT_CYCLE_FINALIZE)
		snprintf(buf, len, "%s of its session %u", calls[hop->kind],
			hop->session);
	else
		snprintf(buf, len, "%s", calls[hop->kind]);
}

/* What the next one would have to do with the communicator. */
static const char *verb_of(const struct weft_wire_hop *hop)
{
	static const char *const verbs[] = {
		[WEFT_WIRE_NEED_LEAVE] = "leave",
		[WEFT_WIRE_NEED_CREATE] = "create",
		[WEFT_WIRE_NEED_ROUND] = "make the same call on",
		[WEFT_WIRE_NEED_MEET] = "create",
		[WEFT_WIRE_NEED_SIDE] = "make an intercommunicator of",
		[WEFT_WIRE_NEED_BRIDGE] = "be the other leader on",
	};

	return verbs[hop->need < WEFT_WIRE_NEED_END ? hop->need : 0];
}

const char *weft_cycle_print_edge(
	const struct weft_cycle *cycle, uint32_t i, char *buf, size_t len)
{
	const struct weft_wire_hop *hop = &cycle->hops[i];
	const struct weft_wire_hop *next =
		&cycle->hops[(i + 1) % cycle->chase.n_hops];
	char call[64], owner[64] = "";

	print_call(hop, call, sizeof(call));
	if (next->owner)
		snprintf(owner, sizeof(owner),
			", which belongs there to session %u", next->owner);
	snprintf(buf, len,
		"process %u in %s waits for process %u to %s communicator "
		"\"%s\" (%u processes)%s",
		(unsigned)hop->proc, call, (unsigned)next->proc, verb_of(hop),
		hop->label, hop->size, owner);
	return buf;
}

const char *weft_cycle_print(
	const struct weft_cycle *cycle, char *buf, size_t len)
{
	size_t used = 0;

	buf[0] = 0;
	for (uint32_t i = 0; i < cycle->chase.n_hops && used < len; i++) {
		const struct weft_wire_hop *hop = &cycle->hops[i];

		used += (size_t)snprintf(buf + used, len - used,
			"%u (%s%.0u) -\"%s\"-> ", (unsigned)hop->proc,
			hop->kind == WEFT_CYCLE_CREATE	 ? "creates"
			: hop->kind == WEFT_CYCLE_DERIVE ? "derives"
			: hop->kind == WEFT_CYCLE_DISCONNECT
				? "disconnects"
				: "finalizes session ",
			hop->session, hop->label);
	}
	if (used < len)
		snprintf(buf + used, len - used, "%u",
			(unsigned)cycle->hops[0].proc);
	return buf;
}
