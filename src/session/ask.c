/* SPDX-License-Identifier: BSD-3-Clause */
/* ask: what keeps those that a call waits for, asked, answered and said */
#include "session/ask.h"

#include "base/log.h"
#include "core/dispatch.h"
#include "p2p/p2p.h"
#include "session/disconnect.h"
#include "session/need.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ANSWERS_MAX = 512, /* of a wait */
	GRACE_MS = 500,	   /* for them to come */
	SAID_MAX = 4,	   /* communicators with a line of their own */
};

struct weft_blocked_answer {
	uint64_t proc;
	uint64_t what;
	bool has_told;
	bool has_done;
	char text[WEFT_BLOCKED_TEXT];
};

static void add_label(
	const struct weft_blocked *b, const struct weft_need *need, void *arg)
{
	char *text = arg;
	size_t n = strlen(text);

	if (n + 1 >= WEFT_BLOCKED_TEXT)
		return;
	snprintf(text + n, WEFT_BLOCKED_TEXT - n, "%s\"%.40s\"",
		n && text[n - 1] == '"' ? ", " : " ", need->label);
	(void)b;
}

void weft_ask_describe(struct weft_blocked *b)
{
	static const char *const calls[] = {
		[WEFT_CYCLE_FINALIZE] = "MPI_Session_finalize of its session",
		[WEFT_CYCLE_WORLD] = "MPI_Finalize, leaving",
		[WEFT_CYCLE_DISCONNECT] = "MPI_Comm_disconnect of",
		[WEFT_CYCLE_CREATE] = "MPI_Comm_create_from_group of",
		[WEFT_CYCLE_DERIVE] = "a collective creation from",
	};
	char text[WEFT_BLOCKED_TEXT];

	if (b->kind == WEFT_CYCLE_FINALIZE)
		snprintf(text, WEFT_BLOCKED_TEXT, "in %s %u, leaving",
			calls[b->kind], b->session->number);
	else
		snprintf(text, WEFT_BLOCKED_TEXT, "in %s", calls[b->kind]);
	weft_need_each(b, add_label, text);
	weft_blocked_lock();
	memcpy(b->text, text, WEFT_BLOCKED_TEXT);
	weft_blocked_unlock();
}

/* What this process is blocked in. */
static void describe_self(char text[WEFT_BLOCKED_TEXT])
{
	const struct weft_blocked *first;

	weft_blocked_lock();
	first = weft_blocked_next(NULL);
	if (!first)
		snprintf(text, WEFT_BLOCKED_TEXT,
			"in another MPI call (a message, a collective)");
	else
		memcpy(text, first->text, WEFT_BLOCKED_TEXT);
	weft_blocked_unlock();
}

/* Who asks leaves a communicator, and nothing of it is on its way any more: a
 * call that can only be served by it is told. */
static void hear_leaving(
	struct weft_lane *lane, const struct weft_wire_ask *ask, uint64_t asker)
{
	struct weft_comm *comm = weft_map_get(&lane->comms, ask->what);
	int32_t rank =
		comm ? weft_group_rank_of(comm->remote, asker) : WEFT_UNDEFINED;

	if (rank >= 0)
		weft_p2p_forsaken_held(comm, rank);
}

void weft_ask_on_ask(struct weft_lane *lane, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_ask ask;
	struct {
		struct weft_wire_tell tell;
		char text[WEFT_BLOCKED_TEXT];
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
		.has_done = weft_need_is_met(lane, &ask, peer->proc, &session),
		.len = (uint32_t)strlen(answer.text),
	};
	if (ask.need == WEFT_WIRE_NEED_LEAVE && ask.is_quiet)
		hear_leaving(lane, &ask, peer->proc);
	(void)weft_p2p_control_held(lane, peer->addr, WEFT_WIRE_TELL, &answer,
		sizeof(answer.tell) + answer.tell.len);
}

static struct weft_blocked_answer *answer_of(
	const struct weft_blocked *b, uint64_t proc, uint64_t what)
{
	for (uint32_t i = 0; i < b->n_answers; i++)
		if (b->answers[i].proc == proc && b->answers[i].what == what)
			return &b->answers[i];
	return NULL;
}

void weft_ask_on_tell(struct weft_lane *lane, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_tell tell;
	struct weft_blocked_answer *answer;
	const struct weft_blocked *b;

	(void)head;
	if (!weft_wire_get_tell(&tell, payload, len) ||
		tell.len != len - sizeof(tell) ||
		tell.len >= WEFT_BLOCKED_TEXT) {
		weft_dispatch_drop(lane, "malformed answer to a question");
		return;
	}
	b = weft_blocked_at(lane, tell.epoch);
	answer = b ? answer_of(b, peer->proc, tell.what) : NULL;
	if (!answer)
		return;
	answer->has_told = true;
	answer->has_done = tell.has_done;
	memcpy(answer->text, (const char *)payload + sizeof(tell), tell.len);
	answer->text[tell.len] = 0;
}

static void ask_other(
	const struct weft_need *need, struct weft_need_other who, void *arg)
{
	struct weft_blocked *b = arg;
	struct weft_wire_ask ask = {
		.epoch = b->epoch,
		.what = need->what,
		.need = (uint16_t)need->kind,
		.is_quiet = need->kind == WEFT_WIRE_NEED_LEAVE &&
			    weft_disconnect_is_quiet(need->comm),
		.round = need->round,
	};

	if (b->n_answers == ANSWERS_MAX)
		return;
	b->answers[b->n_answers++] = (struct weft_blocked_answer){
		.proc = who.proc,
		.what = need->what,
	};
	(void)weft_p2p_control_held(
		weft_need_lane(b), who.addr, WEFT_WIRE_ASK, &ask, sizeof(ask));
}

static void ask_need(
	const struct weft_blocked *b, const struct weft_need *need, void *arg)
{
	(void)b;
	weft_need_each_other(need, ask_other, arg);
}

void weft_ask_start(struct weft_blocked *b)
{
	if (!b->answers)
		b->answers = calloc(ANSWERS_MAX, sizeof(*b->answers));
	b->n_answers = 0;
	b->report_ns = weft_now_ns() + GRACE_MS * (WEFT_NS_PER_S / 1000);
	if (b->answers)
		weft_need_each(b, ask_need, b);
}

/* ---- the report ---- */

struct missing {
	const struct weft_blocked *b;
	char *text;
	size_t len, used;
	uint32_t n, n_silent;
};

static void add_missing(
	const struct weft_need *need, struct weft_need_other who, void *arg)
{
	struct missing *m = arg;
	uint64_t proc = who.proc;
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

/* What one report is about. */
struct report {
	uint32_t n, n_said;
	char names[WEFT_BLOCKED_TEXT]; /* of the first */
};

static void count_need(
	const struct weft_blocked *b, const struct weft_need *need, void *arg)
{
	struct report *r = arg;

	if (r->n++ < SAID_MAX)
		add_label(b, need, r->names);
}

/* Of many, what is missing in the first that anybody was asked about stands for
 * all. */
static void report_many(const struct weft_blocked *b, struct report *r,
	const char *label, const char *text)
{
	char call[80];

	if (r->n_said++)
		return;
	name_call(b, call, sizeof(call));
	weft_warn("SESSION-WAIT",
		"%s waits since %u s for %u communicators:%s and %u more; of "
		"these \"%.40s\"%s (WEFT_STALL_WARN)",
		call, weft_stall_seconds(&b->stall), r->n, r->names,
		r->n - SAID_MAX, label, text);
}

static void report_need(
	const struct weft_blocked *b, const struct weft_need *need, void *arg)
{
	char call[80], text[720] = "", extra[256] = "";
	struct missing m = { .b = b, .text = text, .len = sizeof(text) };
	struct report *r = arg;
	uint32_t n_all;

	name_call(b, call, sizeof(call));
	n_all = weft_need_each_other(need, add_missing, &m);
	if (r->n > SAID_MAX) {
		if (m.n)
			report_many(b, r, need->label, text);
		return;
	}
	if (!m.n && need->join)
		snprintf(text, sizeof(text), "; everybody asked has joined it");
	else if (!m.n && need->comm)
		snprintf(text, sizeof(text), "; %s",
			weft_disconnect_is_quiet(need->comm)
				? "everybody asked has left it by now"
				: "messages this process sent on it are not "
				  "received yet");
	else if (m.n > 4)
		snprintf(extra, sizeof(extra), "; and %u more", m.n - 4);
	else if (n_all > WEFT_NEED_ASK_MAX)
		snprintf(extra, sizeof(extra), "; asked %d of %u",
			WEFT_NEED_ASK_MAX, n_all);
	weft_warn(need->comm ? "SESSION-WAIT" : "SESSION-CREATE",
		"%s waits since %u s for communicator \"%s\" (string tag "
		"\"%s\", %u processes)%s%s (WEFT_STALL_WARN)",
		call, weft_stall_seconds(&b->stall), need->label,
		need->comm ? need->comm->tag : need->label, need->size, text,
		extra);
}

/* What was heard by now. */
static void report(struct weft_blocked *b)
{
	struct report r = { 0 };
	char text[256] = "";

	b->report_ns = 0;
	if (b->has_reported)
		return;
	b->has_reported = true;
	weft_need_each(b, count_need, &r);
	weft_need_each(b, report_need, &r);
	if (r.n > SAID_MAX)
		report_many(
			b, &r, "all", "; everybody asked has left them by now");
	if (b->explain)
		b->explain(b, text, sizeof(text));
	if (text[0])
		weft_warn("SESSION-TAG", "%s", text);
}

static bool has_all_answers(const struct weft_blocked *b)
{
	for (uint32_t i = 0; i < b->n_answers; i++)
		if (!b->answers[i].has_told)
			return false;
	return true;
}

void weft_ask_round(struct weft_blocked *b)
{
	if (b->report_ns &&
		(has_all_answers(b) || weft_now_ns() >= b->report_ns))
		report(b);
}

void weft_ask_end(struct weft_blocked *b)
{
	free(b->answers);
	b->answers = NULL;
}
