/* SPDX-License-Identifier: BSD-3-Clause */
/* era_comm: agreements of the members of communicators */
#include "era/era_comm.h"

#include "base/err.h"
#include "base/knob.h"
#include "core/failed.h"
#include "core/vci_core.h"
#include "transport/dispatch.h"
#include "transport/proc.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEAD_SHORT = 32, /* dead members of a message that fits on the stack */
};

/* The agreements of one communicator, in one block of memory. The first call or
 * message creates it. It is freed by weft_era_comm_forget(), when the VCI
 * closes, or by era_find() if is_gone() returns true. */
struct era_state {
	struct weft_comm *comm;
	struct weft_group *group; /* local group of comm; referenced */
	bool is_kept;		  /* the communicator is closed, but this state
				     still answers other members */
	bool is_running;	  /* the machine handles an event */
	bool has_missed; /* a death was reported, but not to the machine yet */
	struct weft_link calls; /* struct weft_era_call, in order */
	struct weft_era *era;
	struct weft_era_dead *dead; /* deaths in a message that arrives */
	uint64_t memory[];
};

struct weft_vci_era {
	struct weft_map states; /* context id to era_state */
	uint64_t n_sent;	/* messages of agreements sent so far */
	uint64_t die_at; /* for tests: the process is killed before it sends
			    this message; 0: never */
};

/* ---- members ---- */

/* The member that has a machine rank, which is its rank in the state machine.
 * On an intercommunicator, the members of the first group
 * (weft_comm_is_first()) have the lowest machine ranks, and the members of the
 * other group follow. Both groups compute the same machine ranks. */
struct era_member {
	bool is_local;
	uint32_t rank; /* in its group */
};

/* The lowest machine rank of the local group. */
static uint32_t local_first(const struct weft_comm *comm)
{
	return weft_comm_is_first(comm) ? 0 : (uint32_t)comm->remote_size;
}

static uint32_t era_n(const struct weft_comm *comm)
{
	return (uint32_t)comm->size +
	       (comm->is_inter ? (uint32_t)comm->remote_size : 0);
}

/* The machine rank of this process. */
static uint32_t era_me(const struct weft_comm *comm)
{
	return local_first(comm) + (uint32_t)comm->rank;
}

static struct era_member era_member_at(const struct weft_comm *comm, uint32_t i)
{
	uint32_t first = local_first(comm), size = (uint32_t)comm->size;

	if (i >= first && i - first < size)
		return (struct era_member){ true, i - first };
	return (struct era_member){ false, i < first ? i : i - size };
}

static uint64_t era_proc_at(const struct weft_comm *comm, uint32_t i)
{
	struct era_member m = era_member_at(comm, i);

	return weft_group_proc(m.is_local ? comm->group : comm->remote, m.rank);
}

/* The machine rank of a process, or WEFT_UNDEFINED. */
static int32_t era_rank_of(const struct weft_comm *comm, uint64_t proc)
{
	int32_t rank = weft_group_rank_of(comm->group, proc);

	if (rank >= 0)
		return rank + (int32_t)local_first(comm);
	rank = comm->is_inter ? weft_group_rank_of(comm->remote, proc) : rank;
	return rank < 0 || local_first(comm) ? rank : rank + comm->size;
}

/* The peer of a member; NULL when out of memory. For a local member, also NULL
 * while the intercommunicator is being created, because its local communicator
 * does not exist yet. No member needs an answer then, because this process has
 * not called an agreement. */
static struct weft_peer *era_peer_at(struct weft_comm *comm, uint32_t i)
{
	struct era_member m = era_member_at(comm, i);

	if (m.is_local && comm->is_inter)
		comm = comm->local;
	return comm ? weft_comm_peer(comm, m.rank) : NULL;
}

static bool has_failed_member(const struct weft_comm *comm)
{
	return weft_failed_in(comm->group) || weft_failed_in(comm->remote);
}

/* ---- states ---- */

static void era_free(struct era_state *s)
{
	weft_group_put(s->group);
	free(s);
}

/* True if the communicator was destroyed without weft_era_comm_forget(). The
 * library does this with its internal communicators. They have no agreements,
 * but an unexpected message may have created a state. */
static bool is_gone(
	const struct weft_vci *vci, uint64_t ctx, const struct era_state *s)
{
	const struct weft_comm *comm = weft_vci_core_comm(vci, ctx);

	return !s->is_kept && (comm != s->comm || comm->group != s->group);
}

static struct era_state *era_find(const struct weft_vci *vci, uint64_t ctx)
{
	struct era_state *s = weft_map_get(&vci->era->states, ctx);

	if (!s || !is_gone(vci, ctx, s))
		return s;
	weft_map_remove(&vci->era->states, ctx);
	era_free(s);
	return NULL;
}

/* ---- messages ---- */

/* For tests: WEFT_ERA_DIE=2:3,0:1 kills process 2 before its third message of
 * an agreement, and process 0 before its first. */
static uint64_t read_die_at(uint32_t rank)
{
	const char *text = weft_knobs.era_die;

	while (*text) {
		char *end;
		unsigned long who = strtoul(text, &end, 10), at = 0;

		if (*end == ':')
			at = strtoul(end + 1, &end, 10);
		if (who == rank && at)
			return at;
		text = *end == ',' ? end + 1 : "";
	}
	return 0;
}

static void count_sent(struct weft_vci_era *v)
{
	if (++v->n_sent == v->die_at)
		raise(SIGKILL);
}

/* Writes one word for each dead member to list (WEFT_WIRE_ERA_SHIFT). */
static void list_dead(const struct weft_era_deaths *deaths, uint32_t *list)
{
	for (uint32_t i = 0; i < deaths->n; i++) {
		const struct weft_era_dead *dead = &deaths->at[i];

		list[i] = dead->rank << WEFT_WIRE_ERA_SHIFT;
		if (dead->failed & deaths->bit)
			list[i] |= WEFT_WIRE_ERA_FAILED;
		if (dead->acked & deaths->bit)
			list[i] |= WEFT_WIRE_ERA_ACKED;
	}
}

static void era_send(void *arg, uint32_t to, const struct weft_era_msg *msg)
{
	struct era_state *s = arg;
	struct weft_comm *comm = s->comm;
	uint32_t n_dead = msg->deaths.n;
	struct {
		struct weft_wire_era era;
		uint32_t dead[DEAD_SHORT];
	} brief, *out = &brief;
	struct weft_wire_head head = {
		.op = WEFT_WIRE_ERA,
		.src = era_me(comm),
		.ctx = comm->ctx + WEFT_CTX_OFFSET_CTL,
	};
	size_t len = sizeof(out->era) + n_dead * sizeof(out->dead[0]);
	struct weft_peer *peer = era_peer_at(comm, to);
	int err;

	if (!peer || weft_era_is_full(s->era))
		return;
	if (n_dead > DEAD_SHORT)
		out = malloc(len);
	if (!out) {
		weft_peer_fail(peer, WEFT_ERR_NOMEM);
		return;
	}
	out->era = (struct weft_wire_era){
		.seq = msg->seq,
		.kind = (uint16_t)msg->kind,
		.is_decided = msg->is_decided,
		.flag = msg->flag,
		.word = msg->word,
		.kinds = msg->kinds,
		.n_dead = n_dead,
	};
	list_dead(&msg->deaths, out->dead);
	count_sent(comm->vci->era);
	err = weft_peer_control(peer, &head, out, len);
	if (err)
		weft_peer_fail(peer, err);
	if (out != &brief)
		free(out);
}

/* Returns a new context id, for a communicator that the members may create. On
 * an intercommunicator, the next two ids are for the local communicators. */
static uint64_t era_word(void *arg)
{
	const struct era_state *s = arg;

	return weft_proc_new_ctx(s->comm->is_inter ? 3 : 1);
}

static const struct weft_era_ops era_ops = { era_send, era_word };

/* ---- the state ---- */

static struct era_state *era_create(struct weft_comm *comm)
{
	uint32_t n = era_n(comm);
	size_t size = weft_era_size(n);
	size_t n_dead = weft_min(n, WEFT_ERA_DEAD_MAX);
	struct era_state *s =
		calloc(1, sizeof(*s) + size + n_dead * sizeof(*s->dead));

	if (!s)
		return NULL;
	s->comm = comm;
	s->era = (struct weft_era *)(void *)s->memory;
	s->dead = (struct weft_era_dead *)(void *)((char *)s->memory + size);
	weft_list_init(&s->calls);
	weft_era_init(s->era, n, era_me(comm));
	if (weft_map_put(&comm->vci->era->states, comm->ctx, s)) {
		free(s);
		return NULL;
	}
	s->group = weft_group_get(comm->group);
	s->has_missed = comm->failed != 0;
	return s;
}

/* Passes all known deaths of members to the machine. */
static void pass_deaths(struct era_state *s)
{
	uint64_t entry;

	s->has_missed = false;
	for (uint32_t i = 0; (entry = weft_failed_entry(i)) != 0; i++) {
		int32_t rank = era_rank_of(s->comm, entry - 1);

		if (rank >= 0)
			weft_era_died(s->era, (uint32_t)rank, &era_ops, s);
	}
}

/* Starts a call in the machine, if the previous agreement is decided. */
static void begin_call(struct era_state *s, struct weft_era_call *call)
{
	struct weft_group *group;
	uint32_t *acked = NULL, n_acked = 0;

	/* includes deaths that were reported to this process by other members
	 */
	if (has_failed_member(s->comm))
		pass_deaths(s);
	/* without memory, no failure is acknowledged */
	if (s->comm->n_acked &&
		!weft_failed_group(s->comm, s->comm->n_acked, &group)) {
		acked = malloc((group->size + 1) * sizeof(*acked));
		for (uint32_t i = 0; acked && i < group->size; i++)
			acked[n_acked++] = (uint32_t)era_rank_of(
				s->comm, weft_group_proc(group, i));
		weft_group_put(group);
	}
	call->seq = weft_era_start(
		s->era, call->flag, call->kinds, acked, n_acked, &era_ops, s);
	free(acked);
}

/* Adds the agreed failures to the list of failed processes, also those that
 * only other members have noticed. */
static void report_failed(
	const struct weft_comm *comm, const struct weft_era_value *value)
{
	const struct weft_era_deaths *deaths = &value->deaths;

	for (uint32_t i = 0; i < deaths->n; i++)
		if (deaths->at[i].failed & deaths->bit)
			weft_failed_add(era_proc_at(comm, deaths->at[i].rank));
}

/* Completes the call if its agreement is decided or cannot be decided. Returns
 * true if the call is complete. */
static bool finish_call(struct era_state *s, struct weft_era_call *call)
{
	if (weft_era_is_expelled(s->era))
		call->err = weft_err_set(WEFT_ERR_PEER,
			"another member of communicator \"%s\" has reported "
			"this process, rank %d, as failed",
			weft_comm_label(s->comm), (int)s->comm->rank);
	else if (weft_era_is_full(s->era))
		call->err = weft_err_set(WEFT_ERR_UNSUPPORTED,
			"more than %d members of communicator \"%s\" have "
			"failed",
			(int)WEFT_ERA_DEAD_MAX, weft_comm_label(s->comm));
	else if (!weft_era_result(s->era, call->seq, &call->value))
		return false;
	weft_list_remove(&call->link);
	if (!call->err)
		report_failed(s->comm, &call->value);
	call->done(call);
	return true;
}

/* Called after an event. Passes deaths that were reported during the event to
 * the machine, completes decided calls, and starts the next calls. */
static void era_advance(struct era_state *s)
{
	bool is_moving = true;

	if (s->is_running)
		return;
	s->is_running = true;
	while (is_moving || s->has_missed) {
		struct weft_era_call *call;

		if (s->has_missed)
			pass_deaths(s);
		is_moving = !weft_list_is_empty(&s->calls);
		if (!is_moving)
			continue;
		call = weft_container_of(
			s->calls.next, struct weft_era_call, link);
		if (!call->seq)
			begin_call(s, call);
		is_moving = finish_call(s, call);
	}
	s->is_running = false;
}

/* ---- events ---- */

/* Reads the list of deaths of a message. False if the list is longer than any
 * list of this communicator. */
static bool read_dead(
	struct era_state *s, const struct weft_wire_era *wire, const char *list)
{
	if (wire->n_dead > weft_min(era_n(s->comm), WEFT_ERA_DEAD_MAX))
		return false;
	for (uint32_t i = 0; i < wire->n_dead; i++) {
		uint32_t word;

		memcpy(&word, list + i * sizeof(word), sizeof(word));
		s->dead[i] = (struct weft_era_dead){
			.rank = word >> WEFT_WIRE_ERA_SHIFT,
			.failed = (word & WEFT_WIRE_ERA_FAILED) != 0,
			.acked = (word & WEFT_WIRE_ERA_ACKED) != 0,
		};
	}
	return true;
}

static void era_receive(struct era_state *s, uint32_t from,
	const struct weft_wire_era *wire, const char *list)
{
	const struct weft_era_msg msg = {
		.kind = (enum weft_wire_era_kind)wire->kind,
		.is_decided = wire->is_decided,
		.seq = wire->seq,
		.flag = wire->flag,
		.word = wire->word,
		.kinds = wire->kinds,
		.deaths = { s->dead, wire->n_dead, 1 },
	};
	bool is_valid = read_dead(s, wire, list);

	s->is_running = true;
	is_valid = is_valid && weft_era_arrive(s->era, from, &msg, &era_ops, s);
	s->is_running = false;
	if (!is_valid)
		weft_dispatch_drop(s->comm->vci, "invalid agreement");
	era_advance(s);
}

static void on_era(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	uint64_t ctx = head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
	struct weft_comm *comm = ctx ? weft_vci_core_comm(vci, ctx) : NULL;
	struct era_state *s = ctx ? era_find(vci, ctx) : NULL;
	struct weft_wire_era wire;

	if (!ctx || !weft_wire_get_era(&wire, payload, len) ||
		wire.n_dead > WEFT_ERA_DEAD_MAX || wire.is_decided > 1 ||
		wire.n_dead * sizeof(uint32_t) != len - sizeof(wire) ||
		!wire.kind || wire.kind >= WEFT_WIRE_ERA_KIND_END) {
		weft_dispatch_drop(vci, "malformed agreement");
		return;
	}
	if (!comm && !s) {
		if (!weft_vci_core_broken(vci, ctx))
			weft_dispatch_queue(vci, peer, head, payload, len);
		return;
	}
	comm = s ? s->comm : comm;
	if (head->src >= era_n(comm) ||
		era_proc_at(comm, head->src) != peer->proc) {
		weft_dispatch_drop(vci, "agreement under another rank");
		return;
	}
	s = s ? s : era_create(comm);
	if (s)
		era_receive(s, head->src, &wire,
			(const char *)payload + sizeof(wire));
	else /* the peer does not repeat the message */
		weft_peer_fail(peer, WEFT_ERR_NOMEM);
}

/* Returns a state that has has_missed set and handles no event now, or NULL. */
static struct era_state *next_missed(const struct weft_vci *vci)
{
	struct weft_map_entry *entry;
	size_t pos = 0;

	while ((entry = weft_map_next(&vci->era->states, &pos)) != NULL) {
		struct era_state *s = entry->value;

		if (s->has_missed && !s->is_running)
			return s;
	}
	return NULL;
}

/* Called when a peer of the VCI has failed. The completion of a call may create
 * another state, so the search starts again after each state. */
static void era_on_failed(struct weft_peer *peer)
{
	struct weft_map_entry *entry;
	struct era_state *s;
	size_t pos = 0;

	while ((entry = weft_map_next(&peer->vci->era->states, &pos)) != NULL) {
		s = entry->value;
		if (is_gone(peer->vci, entry->key, s))
			continue;
		s->has_missed |= era_rank_of(s->comm, peer->proc) >= 0;
	}
	while ((s = next_missed(peer->vci)) != NULL)
		era_advance(s);
}

/* ---- calls ---- */

int weft_era_comm_start(struct weft_era_call *call)
{
	struct weft_comm *comm = call->comm;
	struct era_state *s;

	weft_lock_assert_locked(&comm->vci->lock);
	s = era_find(comm->vci, comm->ctx);
	if (!s)
		s = era_create(comm);
	if (!s)
		return WEFT_ERR_NOMEM;
	weft_list_push_back(&s->calls, &call->link);
	era_advance(s);
	return 0;
}

uint32_t weft_era_comm_begun(const struct weft_comm *comm)
{
	const struct era_state *s = era_find(comm->vci, comm->ctx);

	return s ? weft_era_seq(s->era) : 0;
}

uint32_t weft_era_comm_awaited(
	const struct weft_era_call *call, uint32_t *ranks, uint32_t max)
{
	const struct weft_comm *comm = call->comm;
	const struct era_state *s = era_find(comm->vci, comm->ctx);
	uint32_t n = s ? weft_era_awaited(s->era, ranks, max) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct era_member m = era_member_at(comm, ranks[i]);

		ranks[i] = m.rank + (m.is_local ? 0 : (uint32_t)comm->size);
	}
	return n;
}

/* ---- the end ---- */

static void end_all_calls(struct era_state *s)
{
	struct weft_link *link;

	while ((link = weft_list_pop_front(&s->calls)) != NULL) {
		struct weft_era_call *call =
			weft_container_of(link, struct weft_era_call, link);

		call->err = weft_err_set(WEFT_ERR_COMM,
			"communicator \"%s\" was closed before its agreement "
			"had ended",
			weft_comm_label(s->comm));
		call->done(call);
	}
}

void weft_era_comm_forget(struct weft_comm *comm)
{
	struct era_state *s = era_find(comm->vci, comm->ctx);

	if (!s)
		return;
	end_all_calls(s);
	if ((comm->failed || weft_comm_is_revoked(comm) ||
		    has_failed_member(comm)) &&
		weft_era_seq(s->era)) {
		s->is_kept = true;
		comm->is_kept = true;
		if (comm->local)
			comm->local->is_kept = true;
		return;
	}
	weft_map_remove(&comm->vci->era->states, comm->ctx);
	era_free(s);
}

int weft_era_comm_open(struct weft_vci *vci)
{
	vci->era = calloc(1, sizeof(*vci->era));
	if (!vci->era)
		return WEFT_ERR_NOMEM;
	vci->era->die_at = read_die_at(weft_proc.facts.rank);
	vci->on_era_failed = era_on_failed;
	weft_dispatch_set(vci, WEFT_WIRE_ERA, on_era);
	return 0;
}

void weft_era_comm_close(struct weft_vci *vci)
{
	struct weft_map_entry *entry;
	size_t pos = 0;

	if (!vci->era)
		return;
	while ((entry = weft_map_next(&vci->era->states, &pos)) != NULL) {
		struct era_state *s = entry->value;

		if (s->is_kept && s->comm->local)
			weft_comm_release(s->comm->local);
		if (s->is_kept)
			weft_comm_release(s->comm);
		era_free(s);
	}
	weft_map_fini(&vci->era->states);
	free(vci->era);
	vci->era = NULL;
}
