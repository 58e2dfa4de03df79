/* SPDX-License-Identifier: BSD-3-Clause */
/* blocked: what this process waits for, said and asked */
#include "session/blocked.h"

#include "base/err.h"
#include "base/log.h"
#include "core/alone.h"
#include "core/proc.h"
#include "p2p/p2p.h"
#include "session/create.h"
#include "session/disconnect.h"
#include "session/gone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ASK_MAX = 128,	   /* members asked for each communicator */
	ANSWERS_MAX = 512, /* and in all */
	GRACE_MS = 500,	   /* for the answers to come */
	SEEN = 256,	   /* chases remembered */
	TEXT_MAX = 160,
};

struct weft_blocked_answer {
	uint64_t proc;
	uint64_t what;
	bool has_told;
	bool has_done;
	char text[TEXT_MAX];
};

/* Guarded by the default lane's lock. */
static struct {
	struct weft_link waits;
	uint64_t epoch;
	uint64_t n_chases;
	struct {
		uint64_t proc, number, epoch;
	} seen[SEEN]; /* passed on already */
	uint32_t next_seen;
	struct weft_map in, out; /* process + 1 to creations passed on */
} here = { .waits = { &here.waits, &here.waits } };

/* ---- what is waited for ---- */

/* One thing that a wait cannot end without. */
struct need {
	uint64_t what; /* context to be left, or creations received */
	bool is_create;
	uint32_t size;
	const char *label;
	struct weft_comm *comm; /* NULL for a creation */
	uint64_t parent;	/* creation: the only one waited for */
};

typedef void need_fn(
	const struct weft_blocked *b, const struct need *need, void *arg);

static uint64_t count_of(const struct weft_map *map, uint64_t proc)
{
	return (uint64_t)(uintptr_t)weft_map_get(map, proc + 1);
}

static void count(struct weft_map *map, uint64_t proc)
{
	uint64_t n = count_of(map, proc) + 1;

	(void)weft_map_put(map, proc + 1, (void *)(uintptr_t)n);
}

void weft_blocked_count_out(uint64_t proc)
{
	count(&here.out, proc);
}

void weft_blocked_count_in(uint64_t proc)
{
	count(&here.in, proc);
}

static const char *label_of(const struct weft_comm *comm)
{
	if (comm->name[0])
		return comm->name;
	return comm->tag[0] ? comm->tag : "without a name";
}

static void need_comm(const struct weft_blocked *b, struct weft_comm *comm,
	need_fn *fn, void *arg)
{
	struct need need = {
		.what = comm->ctx,
		.size = (uint32_t)comm->size +
			(comm->is_inter ? (uint32_t)comm->remote_size : 0),
		.label = label_of(comm),
		.comm = comm,
	};

	if (weft_disconnect_is_open(comm))
		fn(b, &need, arg);
}

static struct weft_lane *lane_of(const struct weft_blocked *b)
{
	return b->lane ? b->lane : &weft_proc.lane;
}

static void for_each_need(const struct weft_blocked *b, need_fn *fn, void *arg)
{
	if (b->kind == WEFT_CYCLE_CREATE) {
		struct need need = {
			.what = count_of(&here.in, b->create->parent),
			.is_create = true,
			.size = b->create->group->size,
			/* a tag of our own begins with \1 */
			.label = b->create->tag + (b->create->tag[0] == 1),
			.parent = b->create->parent,
		};

		if (b->is_waiting(b))
			fn(b, &need, arg);
	} else if (b->kind == WEFT_CYCLE_DISCONNECT) {
		need_comm(b, b->comm, fn, arg);
	} else if (b->kind != WEFT_CYCLE_DERIVE) {
		weft_list_for_each(
			link, next, weft_session_list(b->session, lane_of(b)))
		{
			struct weft_comm *comm = weft_disconnect_comm_of(link);

			if (comm)
				need_comm(b, comm, fn, arg);
		}
		if (b->is_last)
			for (struct weft_comm *comm = NULL;
				(comm = weft_disconnect_orphan(
					 lane_of(b), comm)) != NULL;)
				need_comm(b, comm, fn, arg);
	}
}

/* Calls fn for each process the need is about but this one, as far as they are
 * asked; returns how many there are in all. */
static uint32_t for_each_proc(const struct need *need,
	void (*fn)(const struct need *need, uint64_t proc, void *arg),
	void *arg)
{
	uint32_t n = 0;

	if (need->is_create) {
		fn(need, need->parent, arg);
		return 1;
	}
	for (int side = 0; side <= need->comm->is_inter; side++) {
		const struct weft_group *group =
			side ? need->comm->remote : need->comm->group;

		for (uint32_t i = 0; i < group->size && n < ASK_MAX; i++) {
			uint64_t proc = weft_group_proc(group, i);

			if (proc == weft_proc.proc)
				continue;
			n++;
			fn(need, proc, arg);
		}
	}
	return need->size - 1;
}

/* Has this process done what another waits for, or may it still do so without
 * returning from what it is blocked in? What it does not know it is not asked
 * to prove. */
static bool has_done(
	bool is_create, uint64_t what, uint64_t asker, uint32_t *session_out)
{
	const struct weft_comm *comm;

	*session_out = 0;
	if (is_create)
		return weft_create_has_started() ||
		       count_of(&here.out, asker) != what;
	comm = weft_map_get(&weft_proc.lane.comms, what);
	if (!comm)
		return true;
	if (comm->child.session)
		*session_out = comm->child.session->number;
	return weft_disconnect_has_begun(comm);
}

/* ---- ask and tell ---- */

static void add_label(
	const struct weft_blocked *b, const struct need *need, void *arg)
{
	char *text = arg;
	size_t n = strlen(text);

	snprintf(text + n, TEXT_MAX - n, "%s\"%.40s\"",
		n && text[n - 1] == '"' ? ", " : " ", need->label);
	(void)b;
}

/* What this process is blocked in. */
static void describe_self(char text[TEXT_MAX])
{
	static const char *const calls[] = {
		[WEFT_CYCLE_FINALIZE] = "MPI_Session_finalize of its session",
		[WEFT_CYCLE_WORLD] = "MPI_Finalize, leaving",
		[WEFT_CYCLE_DISCONNECT] = "MPI_Comm_disconnect of",
		[WEFT_CYCLE_CREATE] = "MPI_Comm_create_from_group of",
		[WEFT_CYCLE_DERIVE] = "a collective creation from",
	};
	const struct weft_blocked *b;

	if (weft_list_is_empty(&here.waits)) {
		snprintf(text, TEXT_MAX,
			"in another MPI call (a message, a collective)");
		return;
	}
	b = weft_container_of(here.waits.next, struct weft_blocked, link);
	if (b->kind == WEFT_CYCLE_FINALIZE)
		snprintf(text, TEXT_MAX, "in %s %u, leaving", calls[b->kind],
			b->session->number);
	else
		snprintf(text, TEXT_MAX, "in %s", calls[b->kind]);
	if (b->kind == WEFT_CYCLE_DERIVE) {
		struct need need = { .label = label_of(b->comm) };

		add_label(b, &need, text);
	} else {
		for_each_need(b, add_label, text);
	}
}

static void on_ask(struct weft_lane *lane, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_ask ask;
	struct {
		struct weft_wire_tell tell;
		char text[TEXT_MAX];
	} answer = { 0 };
	uint32_t session;

	(void)head;
	if (!weft_wire_get_ask(&ask, payload, len)) {
		weft_dispatch_drop(lane, "malformed question");
		return;
	}
	describe_self(answer.text);
	answer.tell = (struct weft_wire_tell){
		.epoch = ask.epoch,
		.what = ask.what,
		.has_done =
			has_done(ask.is_create, ask.what, peer->proc, &session),
		.len = (uint32_t)strlen(answer.text),
	};
	(void)weft_p2p_control_held(lane, peer->proc, WEFT_WIRE_TELL, &answer,
		sizeof(answer.tell) + answer.tell.len);
}

static struct weft_blocked *wait_of(uint64_t epoch)
{
	weft_list_for_each(link, next, &here.waits)
	{
		struct weft_blocked *b =
			weft_container_of(link, struct weft_blocked, link);

		if (b->epoch == epoch)
			return b;
	}
	return NULL;
}

static struct weft_blocked_answer *answer_of(
	const struct weft_blocked *b, uint64_t proc, uint64_t what)
{
	for (uint32_t i = 0; i < b->n_answers; i++)
		if (b->answers[i].proc == proc && b->answers[i].what == what)
			return &b->answers[i];
	return NULL;
}

static void on_tell(struct weft_lane *lane, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_tell tell;
	struct weft_blocked_answer *answer;
	const struct weft_blocked *b;

	(void)head;
	if (!weft_wire_get_tell(&tell, payload, len) ||
		tell.len != len - sizeof(tell) || tell.len >= TEXT_MAX) {
		weft_dispatch_drop(lane, "malformed answer to a question");
		return;
	}
	b = wait_of(tell.epoch);
	answer = b ? answer_of(b, peer->proc, tell.what) : NULL;
	if (!answer)
		return;
	answer->has_told = true;
	answer->has_done = tell.has_done;
	memcpy(answer->text, (const char *)payload + sizeof(tell), tell.len);
	answer->text[tell.len] = 0;
}

static void ask_proc(const struct need *need, uint64_t proc, void *arg)
{
	struct weft_blocked *b = arg;
	struct weft_wire_ask ask = {
		.epoch = b->epoch,
		.what = need->what,
		.is_create = need->is_create,
	};

	if (b->n_answers == ANSWERS_MAX)
		return;
	b->answers[b->n_answers++] = (struct weft_blocked_answer){
		.proc = proc,
		.what = need->what,
	};
	(void)weft_p2p_control_held(
		&weft_proc.lane, proc, WEFT_WIRE_ASK, &ask, sizeof(ask));
}

static void ask_need(
	const struct weft_blocked *b, const struct need *need, void *arg)
{
	(void)b;
	for_each_proc(need, ask_proc, arg);
}

static void ask(struct weft_blocked *b)
{
	if (!b->answers)
		b->answers = calloc(ANSWERS_MAX, sizeof(*b->answers));
	b->n_answers = 0;
	b->report_ns = weft_now_ns() + GRACE_MS * (WEFT_NS_PER_S / 1000);
	if (b->answers)
		for_each_need(b, ask_need, b);
}

/* ---- the report ---- */

struct missing {
	const struct weft_blocked *b;
	char *text;
	size_t len, used;
	uint32_t n, n_silent;
};

static void add_missing(const struct need *need, uint64_t proc, void *arg)
{
	struct missing *m = arg;
	const struct weft_blocked_answer *a = answer_of(m->b, proc, need->what);
	int32_t rank = WEFT_UNDEFINED;

	if (!a || a->has_done)
		return;
	if (need->comm)
		rank = weft_group_rank_of(need->comm->group, proc);
	if (m->n++ >= 4 || m->used >= m->len)
		return;
	if (rank >= 0)
		m->used += (size_t)snprintf(m->text + m->used, m->len - m->used,
			"; rank %d (process %u) is ", (int)rank,
			(unsigned)proc);
	else
		m->used += (size_t)snprintf(m->text + m->used, m->len - m->used,
			"; process %u is ", (unsigned)proc);
	if (m->used < m->len)
		m->used += (size_t)snprintf(m->text + m->used, m->len - m->used,
			"%s",
			a->has_told ? a->text
				    : "not in the library: it does not answer");
}

static void name_call(const struct weft_blocked *b, char *buf, size_t len)
{
	switch (b->kind) {
	case WEFT_CYCLE_FINALIZE:
		snprintf(buf, len, "MPI_Session_finalize of session %u",
			b->session->number);
		break;
	case WEFT_CYCLE_WORLD:
		snprintf(buf, len, "MPI_Finalize");
		break;
	case WEFT_CYCLE_DISCONNECT:
		snprintf(buf, len, "MPI_Comm_disconnect");
		break;
	case WEFT_CYCLE_CREATE:
		snprintf(buf, len, "MPI_Comm_create_from_group");
		break;
	case WEFT_CYCLE_DERIVE:
		snprintf(buf, len, "%s", b->what);
	}
}

static void report_need(
	const struct weft_blocked *b, const struct need *need, void *arg)
{
	char call[80], text[720] = "", extra[256] = "";
	struct missing m = { .b = b, .text = text, .len = sizeof(text) };
	uint32_t n_all;

	(void)arg;
	name_call(b, call, sizeof(call));
	n_all = for_each_proc(need, add_missing, &m);
	if (!b->answers && lane_of(b) != &weft_proc.lane)
		text[0] = 0; /* nobody was asked */
	else if (!m.n && need->comm)
		snprintf(text, sizeof(text), "; %s",
			weft_disconnect_is_quiet(need->comm)
				? "everybody asked has left it by now"
				: "messages this process sent on it are not "
				  "received yet");
	else if (m.n > 4)
		snprintf(extra, sizeof(extra), "; and %u more", m.n - 4);
	else if (n_all > ASK_MAX)
		snprintf(extra, sizeof(extra), "; asked %d of %u", ASK_MAX,
			n_all);
	weft_warn(need->comm ? "SESSION-WAIT" : "SESSION-CREATE",
		"%s waits since %u s for communicator \"%s\" (string tag "
		"\"%s\", %u processes)%s%s (WEFT_STALL_WARN)",
		call, weft_stall_seconds(&b->stall), need->label,
		need->comm ? need->comm->tag : need->label, need->size, text,
		extra);
}

static void report(struct weft_blocked *b)
{
	char text[256] = "";

	b->report_ns = 0;
	if (b->has_reported)
		return;
	b->has_reported = true;
	for_each_need(b, report_need, NULL);
	if (b->explain)
		b->explain(b, text, sizeof(text));
	if (text[0])
		weft_warn("SESSION-TAG", "%s", text);
}

/* ---- the chase ---- */

static void send_cycle(uint64_t proc, const struct weft_cycle *c)
{
	(void)weft_p2p_control_held(&weft_proc.lane, proc, WEFT_WIRE_CHASE, c,
		sizeof(c->chase) + c->chase.n_hops * sizeof(c->hops[0]));
}

static void chase_proc(const struct need *need, uint64_t proc, void *arg)
{
	(void)need;
	send_cycle(proc, arg);
}

struct chase_arg {
	const struct weft_cycle *sofar;
	uint32_t owner;
};

/* Sends the chase on along one need of one wait. */
static void chase_need(
	const struct weft_blocked *b, const struct need *need, void *arg)
{
	const struct chase_arg *how = arg;
	struct weft_cycle c = *how->sofar;
	struct weft_wire_hop hop = {
		.proc = weft_proc.proc,
		.epoch = b->epoch,
		.what = need->what,
		.kind = b->kind,
		.session = b->session ? b->session->number : 0,
		.owner = how->owner,
		.size = need->size,
	};

	snprintf(hop.label, sizeof(hop.label), "%s", need->label);
	if (weft_cycle_extend(&c, &hop))
		for_each_proc(need, chase_proc, &c);
}

/* One wait, and no other thread that could make a call. */
static bool is_alone(void)
{
	return here.waits.next == here.waits.prev && weft_alone_is();
}

static void start_chase(const struct weft_blocked *b)
{
	struct weft_cycle c = { .chase = { .number = ++here.n_chases,
					.is_doubtful = !is_alone() } };
	struct chase_arg how = { .sofar = &c };

	for_each_need(b, chase_need, &how);
}

/* True the first time it is asked about a chase and a wait. */
static bool is_new(const struct weft_cycle *c, uint64_t epoch)
{
	for (int i = 0; i < SEEN; i++)
		if (here.seen[i].proc == c->hops[0].proc &&
			here.seen[i].number == c->chase.number &&
			here.seen[i].epoch == epoch)
			return false;
	here.seen[here.next_seen].proc = c->hops[0].proc;
	here.seen[here.next_seen].number = c->chase.number;
	here.seen[here.next_seen].epoch = epoch;
	here.next_seen = (here.next_seen + 1) % SEEN;
	return true;
}

static void print_ring(const struct weft_cycle *c)
{
	char text[400];

	for (uint32_t i = 0; i < c->chase.n_hops; i++)
		weft_warn("SESSION-CYCLE", "%s",
			weft_cycle_print_edge(c, i, text, sizeof(text)));
}

/* The wait ends. */
static void condemn(struct weft_blocked *b, const struct weft_cycle *c)
{
	char text[200], more[256] = "";

	if (b->err)
		return;
	if (b->explain)
		b->explain(b, more, sizeof(more));
	b->err = b->kind == WEFT_CYCLE_CREATE ? WEFT_ERR_NOT_SAME
					      : WEFT_ERR_OTHER;
	print_ring(c);
	weft_warn("SESSION-DEADLOCK",
		"these %u processes wait for each other for ever; the call "
		"ends with an error%s%s",
		c->chase.n_hops, more[0] ? ": " : "", more);
	if (more[0])
		snprintf(b->why, sizeof(b->why), "%s", more);
	else
		snprintf(b->why, sizeof(b->why), "deadlock, processes %s",
			weft_cycle_print(c, text, sizeof(text)));
}

static void doubt(struct weft_blocked *b, const struct weft_cycle *c)
{
	print_ring(c);
	weft_warn("SESSION-DOUBT",
		"these %u processes wait for each other; only another thread "
		"of one of them can end that (wait %llu)",
		c->chase.n_hops, (unsigned long long)b->epoch);
}

static void prove(struct weft_blocked *b, const struct weft_cycle *c)
{
	if (c->chase.is_doubtful) {
		doubt(b, c);
		return;
	}
	for (uint32_t i = 1; i < c->chase.n_hops; i++)
		send_cycle(c->hops[i].proc, c);
	condemn(b, c);
}

/* One wait of this process meets a chase. */
static void meet(struct weft_blocked *b, struct weft_cycle *c,
	bool can_be_alone, uint32_t owner)
{
	const struct weft_cycle_me me = {
		.proc = weft_proc.proc,
		.epoch = b->err ? 0 : b->epoch,
		.is_alone = can_be_alone,
	};
	struct chase_arg how = { .sofar = c, .owner = owner };
	bool is_back = c->chase.phase == WEFT_CYCLE_SEEK;

	switch (weft_cycle_judge(c, &me)) {
	case WEFT_CYCLE_DROP:
		break;
	case WEFT_CYCLE_EXTEND:
		if (is_new(c, b->epoch))
			for_each_need(b, chase_need, &how);
		break;
	case WEFT_CYCLE_TO_NEXT:
		if (is_back)
			c->hops[0].owner = owner;
		send_cycle(c->hops[c->chase.at % c->chase.n_hops].proc, c);
		break;
	case WEFT_CYCLE_PROVEN:
		prove(b, c);
		break;
	case WEFT_CYCLE_CONDEMNED:
		condemn(b, c);
	}
}

/* A chase is sent on to those it names. */
static bool are_members(const struct weft_cycle *c)
{
	for (uint32_t i = 0; i < c->chase.n_hops; i++)
		if (!weft_proc_is_member(c->hops[i].proc))
			return false;
	return true;
}

static void on_chase(struct weft_lane *lane, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_cycle c = { 0 };
	const struct weft_wire_hop *behind;
	bool can_be_alone, is_met = false;
	uint32_t owner = 0;
	uint64_t wanted;

	(void)head;
	(void)peer;
	if (!weft_wire_get_chase(&c.chase, payload, len) ||
		c.chase.n_hops > WEFT_CYCLE_HOPS ||
		len != sizeof(c.chase) + c.chase.n_hops * sizeof(c.hops[0])) {
		weft_dispatch_drop(lane, "chase of a wrong length");
		return;
	}
	memcpy(c.hops, (const char *)payload + sizeof(c.chase),
		len - sizeof(c.chase));
	if (!weft_cycle_is_sane(&c) || !are_members(&c)) {
		weft_dispatch_drop(lane, "malformed chase");
		return;
	}
	behind = weft_cycle_behind(&c);
	if (behind)
		is_met = has_done(behind->kind == WEFT_CYCLE_CREATE,
			behind->what, behind->proc, &owner);
	if (is_met || weft_list_is_empty(&here.waits))
		return;
	can_be_alone = is_alone();
	wanted = weft_cycle_wanted(&c, weft_proc.proc);
	weft_list_for_each(link, next, &here.waits)
	{
		struct weft_blocked *b =
			weft_container_of(link, struct weft_blocked, link);
		struct weft_cycle copy = c;

		if (!wanted || wanted == b->epoch)
			meet(b, &copy, can_be_alone, owner);
	}
}

/* ---- the wait ---- */

void weft_blocked_open(struct weft_lane *lane)
{
	weft_dispatch_set(lane, WEFT_WIRE_ASK, on_ask);
	weft_dispatch_set(lane, WEFT_WIRE_TELL, on_tell);
	weft_dispatch_set(lane, WEFT_WIRE_CHASE, on_chase);
}

void weft_blocked_begin(struct weft_blocked *b)
{
	if (lane_of(b) != &weft_proc.lane) {
		weft_list_init(&b->link);
		return;
	}
	b->epoch = ++here.epoch;
	weft_list_push_back(&here.waits, &b->link);
}

void weft_blocked_end(struct weft_blocked *b)
{
	weft_list_remove(&b->link);
	free(b->answers);
	b->answers = NULL;
}

static bool has_all_answers(const struct weft_blocked *b)
{
	for (uint32_t i = 0; i < b->n_answers; i++)
		if (!b->answers[i].has_told)
			return false;
	return true;
}

int weft_blocked_round(struct weft_lane *lane, struct weft_blocked *b)
{
	if (weft_stall_round(lane, &b->stall)) {
		if (lane != &weft_proc.lane) {
			report(b);
			return 0;
		}
		ask(b);
		start_chase(b);
	}
	if (b->report_ns &&
		(has_all_answers(b) || weft_now_ns() >= b->report_ns))
		report(b);
	return b->err;
}

int weft_blocked_raise(const struct weft_blocked *b)
{
	return b->err ? weft_err_set(b->err, "%s", b->why) : 0;
}
