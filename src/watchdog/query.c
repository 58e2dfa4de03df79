/* SPDX-License-Identifier: BSD-3-Clause */
/* query: queries the processes that a call waits for; progress answers queries
 */
#include "watchdog/query.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/pid.h"
#include "transport/foreign.h"
#include "transport/proc.h"
#include "transport/vci.h"

#include <stdio.h>

enum {
	GRACE_MS = 500, /* time for answers */
	CHECK_MAX = 8,	/* processes without an answer that are tested */
	NO_CALL = 100,	/* the progress thread has served a VCI so many times
			   alone: the process is in no call */
};

static_assert((int)WEFT_WAIT_TEXT >= (int)WEFT_PROC_FOUND, "text of another");

/* Written when VCIs open. */
static weft_query_fn *answer_fns[WEFT_WIRE_NEED_END];

void weft_query_set(enum weft_wire_need need, weft_query_fn *fn)
{
	if (answer_fns[need] != fn)
		answer_fns[need] = fn;
}

static void query_send(struct weft_vci *vci, uint64_t addr,
	struct weft_wire_head head, const void *payload, size_t len)
{
	struct weft_peer *peer = weft_peer_of(vci, addr);

	if (peer)
		(void)weft_peer_control(peer, &head, payload, len);
}

void weft_query_send(struct weft_vci *vci, uint64_t addr, enum weft_wire_op op,
	const void *payload, size_t len)
{
	struct weft_wire_head head = { .op = (uint8_t)op };

	query_send(vci, addr, head, payload, len);
}

/* Describes the call that this process is in. Returns the epoch of its wait, or
 * 0. A thread in a call may sleep for a few milliseconds, and the progress
 * thread then answers for it. */
static uint64_t query_self(
	const struct weft_vci *vci, char text[WEFT_WAIT_TEXT], bool *moves_out)
{
	bool has_call = !vci->is_served || vci->n_served < NO_CALL;
	const char *calls = has_call ? "in MPI calls, none of which waits long"
				     : "in no MPI call that makes progress";
	const struct weft_wait *first;
	uint64_t epoch = 0, since_ns;
	const char *note;

	weft_wait_lock();
	first = weft_wait_first();
	if (first)
		epoch = first->verdict ? 0 : first->epoch;
	else
		first = weft_wait_next(NULL);
	note = first ? first->text : weft_wait_noted(weft_now_ns(), &since_ns);
	snprintf(text, WEFT_WAIT_TEXT, "%s", note ? note : calls);
	*moves_out = !note && has_call;
	weft_wait_unlock();
	return epoch;
}

void weft_query_on_query(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_query query;
	struct {
		struct weft_wire_answer answer;
		char text[WEFT_WAIT_TEXT];
	} out = { 0 };
	uint32_t owner = 0;
	enum weft_wire_met met = WEFT_WIRE_UNMET;
	bool moves;

	(void)head;
	if (!weft_wire_get_query(&query, payload, len) ||
		query.need >= WEFT_WIRE_NEED_END) {
		weft_dispatch_drop(vci, "malformed query of a wait");
		return;
	}
	if (peer->state == WEFT_PEER_FAILED) {
		weft_peer_notify_failed(peer);
		return;
	}
	if (query.need == WEFT_WIRE_NEED_NONE)
		met = WEFT_WIRE_MET;
	else if (answer_fns[query.need])
		met = answer_fns[query.need](vci, &query, peer->proc, &owner);
	out.answer = (struct weft_wire_answer){
		.epoch = query.epoch,
		.what = query.what,
		.round = query.round,
		.need = query.need,
		.met = (uint8_t)met,
		.wait = query_self(vci, out.text, &moves),
		.owner = owner,
		.len = (uint32_t)strnlen(out.text, WEFT_WAIT_TEXT - 1),
	};
	out.answer.moves = moves;
	weft_query_send(vci, peer->addr, WEFT_WIRE_ANSWER, &out,
		sizeof(out.answer) + out.answer.len);
}

struct weft_wait_proc *weft_query_find(const struct weft_wait_view *view,
	uint64_t proc, const struct weft_need *need)
{
	for (uint32_t i = 0; i < view->n_procs; i++) {
		const struct weft_wait_proc *o = &view->procs[i];
		const struct weft_need *n = &view->needs[o->need];

		if (o->proc == proc && n->kind == need->kind &&
			n->what == need->what && n->round == need->round)
			return (struct weft_wait_proc *)o;
	}
	return NULL;
}

/* Finds the entry of a process in the wait on this VCI that sent the query of
 * this answer; NULL if that wait has ended. VCI's lock held. */
static struct weft_wait_proc *asked(const struct weft_vci *vci, uint64_t proc,
	const struct weft_wire_answer *a, struct weft_wait **wait_out)
{
	const struct weft_need need = {
		.kind = (enum weft_wire_need)a->need,
		.what = a->what,
		.round = a->round,
	};
	struct weft_wait_proc *found = NULL;
	struct weft_wait *w = NULL;

	weft_wait_lock();
	while (!found && (w = weft_wait_next(w)) != NULL)
		if (w->epoch == a->epoch && w->vci == vci && w->view)
			found = weft_query_find(w->view, proc, &need);
	weft_wait_unlock();
	*wait_out = w;
	return found;
}

static bool has_all(const struct weft_wait *wait)
{
	for (uint32_t i = 0; i < wait->view->n_procs; i++)
		if (!wait->view->procs[i].has_answered)
			return false;
	return true;
}

void weft_query_on_answer(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_answer a;
	struct weft_wait_proc *other;
	struct weft_wait *wait;

	(void)head;
	if (!weft_wire_get_answer(&a, payload, len) ||
		a.len != len - sizeof(a) || a.len >= WEFT_WAIT_TEXT ||
		a.met >= WEFT_WIRE_MET_END || a.need >= WEFT_WIRE_NEED_END) {
		weft_dispatch_drop(vci, "malformed answer to a query");
		return;
	}
	other = asked(vci, peer->proc, &a, &wait);
	if (!other)
		return;
	other->has_answered = true;
	other->silent_ns = 0;
	other->met = (enum weft_wire_met)a.met;
	other->moves = a.moves;
	other->epoch = a.wait;
	other->owner = a.owner;
	memcpy(other->text, (const char *)payload + sizeof(a), a.len);
	other->text[a.len] = 0;
	if (wait->ops->on_answer)
		wait->ops->on_answer(wait, other);
	if (has_all(wait))
		atomic_store_explicit(
			&wait->is_notified, true, memory_order_relaxed);
}

bool weft_query_ask(struct weft_wait *wait, bool is_again)
{
	struct weft_wait_view *view = wait->view;
	bool has_asked = false;

	for (uint32_t i = 0; view && i < view->n_procs; i++) {
		struct weft_wait_proc *o = &view->procs[i];
		const struct weft_need *need = &view->needs[o->need];
		const struct weft_peer *peer =
			weft_map_get(&wait->vci->peers, o->addr + 1);
		struct weft_wire_query query = {
			.epoch = wait->epoch,
			.what = need->what,
			.need = (uint16_t)need->kind,
			.is_flushed = need->is_flushed,
			.round = need->round,
		};
		struct weft_wire_head head = {
			.op = WEFT_WIRE_QUERY,
			.flags = o->may_exit ? WEFT_WIRE_MAY_BE_LOST : 0,
		};

		if (is_again && o->is_asked)
			continue;
		if (peer && !o->silent_ns)
			o->wire_in = peer->wire_in;
		o->is_asked = has_asked = true;
		o->has_answered = false;
		query_send(wait->vci, o->addr, head, &query, sizeof(query));
	}
	return has_asked;
}

/* True if the wait needs a process of the view, and its end is a failure. */
static bool needs_proc(const struct weft_wait *wait, uint64_t proc)
{
	const struct weft_wait_view *view = wait->view;

	for (uint32_t i = 0; view && i < view->n_procs; i++)
		if (view->procs[i].proc == proc && !view->procs[i].may_exit)
			return true;
	return false;
}

/* A process that does not answer may have exited normally, which the process
 * manager reports. It may also have died without a report. A test for that may
 * take 20 ms, so only some processes are tested. The last messages of an ended
 * process may end the wait. */
void weft_query_check_silent(struct weft_wait *wait)
{
	struct weft_wait_view *view = wait->view;
	uint64_t procs[CHECK_MAX], addrs[CHECK_MAX];
	char what[WEFT_PROC_FOUND];
	uint32_t n = 0, n_ended = 0;

	for (uint32_t i = 0; view && i < view->n_procs; i++) {
		struct weft_wait_proc *o = &view->procs[i];
		const struct weft_peer *peer =
			weft_map_get(&wait->vci->peers, o->addr + 1);

		if (o->has_answered || o->may_exit)
			continue;
		weft_proc_query_exit(wait->vci, o->proc);
		if (n++ >= CHECK_MAX || !peer ||
			!weft_peer_has_ended(peer, o->text, WEFT_PROC_FOUND))
			continue;
		procs[n_ended] = o->proc;
		addrs[n_ended++] = o->addr;
	}
	if (!n_ended)
		return;
	weft_proc_receive_rest(wait->vci);
	weft_wait_refresh(wait);
	for (uint32_t i = 0; i < n_ended; i++)
		if (needs_proc(wait, procs[i]))
			(void)weft_proc_find_end(
				wait->vci, addrs[i], procs[i], what);
}

/* True if a process that answers no query counts as silent. Over the fabric, a
 * process whose other messages arrive is not silent. */
static bool query_is_silent(
	const struct weft_wait_proc *o, const struct weft_peer *peer)
{
	if (!peer || peer->state != WEFT_PEER_READY || peer->is_self)
		return false;
	return peer->is_shm || o->wire_in == peer->wire_in;
}

static void fail_silent(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wait_proc *o)
{
	unsigned seconds = (unsigned)(o->silent_ns / WEFT_NS_PER_S);
	char host[WEFT_BOOT_HOST_MAX] = "?", why[WEFT_PROC_FOUND];

	if (weft_foreign_is(o->proc)) {
		weft_peer_exclude(peer);
		weft_peer_fail(peer,
			weft_err_set(WEFT_ERR_PEER,
				"process %u of another job counts as failed: "
				"it has answered no query for %u s "
				"(WEFT_FAIL_TIMEOUT)",
				(uint32_t)o->proc, seconds));
		weft_log_warn("CORE-SILENT", "%s", peer->why ? peer->why : "");
		return;
	}
	(void)weft_boot_host_of(
		weft_proc.boot, (uint32_t)o->proc, host, sizeof(host));
	snprintf(why, sizeof(why),
		"it has answered no query for %u s on host %.48s "
		"(WEFT_FAIL_TIMEOUT)",
		seconds, host);
	weft_proc_on_silent(vci, o->proc, why);
}

bool weft_query_suspects(const struct weft_wait *wait)
{
	for (uint32_t i = 0; i < wait->view->n_procs; i++) {
		const struct weft_wait_proc *o = &wait->view->procs[i];

		if (o->silent_ns &&
			query_is_silent(o,
				weft_map_get(&wait->vci->peers, o->addr + 1)))
			return true;
	}
	return false;
}

/* The silence of a process is the time since the first query without an answer.
 * On this node, it begins again while the process is not stopped. A call adds
 * at most a second, and at most a quarter of the limit, because the time in
 * which this process itself was stopped must not count. */
void weft_query_add_silence(struct weft_wait *wait, uint64_t passed_ns)
{
	uint64_t limit = (uint64_t)weft_knobs.fail_timeout * WEFT_NS_PER_S;
	uint64_t step = weft_min(limit / 4, (uint64_t)WEFT_NS_PER_S);

	for (uint32_t i = 0; wait->view && i < wait->view->n_procs; i++) {
		struct weft_wait_proc *o = &wait->view->procs[i];
		struct weft_peer *peer =
			weft_map_get(&wait->vci->peers, o->addr + 1);

		if (!o->is_asked || o->has_answered || o->may_exit)
			continue;
		if (peer && peer->is_shm && !weft_pid_is_stopped(peer->pid))
			o->silent_ns = 0; /* the peer runs */
		else
			o->silent_ns += weft_min(passed_ns, step);
		if (o->silent_ns < limit)
			continue;
		if (query_is_silent(o, peer)) {
			fail_silent(wait->vci, peer, o); /* may free the view */
			continue;
		}
		o->silent_ns = 0;
		if (peer)
			o->wire_in = peer->wire_in;
	}
}

bool weft_query_is_over(const struct weft_wait *wait, uint64_t now)
{
	return !wait->view || has_all(wait) ||
	       now - wait->asked_ns > GRACE_MS * (WEFT_NS_PER_S / 1000);
}
