/* SPDX-License-Identifier: BSD-3-Clause */
/* wait: the registry of waits, and the rounds of a wait */
#include "watchdog/wait.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "base/lock.h"
#include "transport/thread_check.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "watchdog/monitor.h"
#include "watchdog/query.h"
#include "watchdog/report.h"
#include "watchdog/resolve.h"
#include "watchdog/state.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	ROUNDS_PER_CHECK = 64, /* rounds between readings of the clock */
	FRESH_MS = 200,	       /* least time between queries that gatherers
				  cause */
	PULSE_NS = 250000000,  /* time between readings of the pulse */
	QUERIES = 4,	       /* queries in WEFT_FAIL_TIMEOUT seconds, at
				  least */
};

static struct weft_wait_registry registry = { .waits = { &registry.waits,
						      &registry.waits } };

const struct weft_wait_registry *weft_wait_registry(void)
{
	return &registry;
}

static void wait_count_change(void)
{
	atomic_store_explicit(&registry.changes,
		atomic_load_explicit(&registry.changes, memory_order_relaxed) +
			1,
		memory_order_release);
}

void weft_wait_lock(void)
{
	weft_spin_acquire(&registry.spin);
	wait_count_change();
	/* the odd number becomes visible before the changes: weft-top, which
	 * reads `changes` again after the data, detects an inconsistent copy */
	atomic_thread_fence(memory_order_release);
}

void weft_wait_unlock(void)
{
	wait_count_change();
	weft_spin_release(&registry.spin);
}

struct weft_wait *weft_wait_next(const struct weft_wait *after)
{
	struct weft_link *next = after ? after->link.next : registry.waits.next;

	return next == &registry.waits
		       ? NULL
		       : weft_container_of(next, struct weft_wait, link);
}

void weft_wait_note(const char *text, uint64_t since_ns)
{
	weft_wait_lock();
	snprintf(registry.note, sizeof(registry.note), "%s", text);
	registry.note_since_ns = since_ns;
	registry.noted_ns = weft_now_ns();
	weft_wait_unlock();
}

const char *weft_wait_noted(uint64_t now, uint64_t *since_ns_out)
{
	*since_ns_out = registry.note_since_ns;
	return registry.noted_ns && now < registry.noted_ns + WEFT_NS_PER_S
		       ? registry.note
		       : NULL;
}

struct weft_wait *weft_wait_first(void)
{
	struct weft_wait *w = weft_wait_next(NULL);

	while (w && w->is_poll)
		w = weft_wait_next(w);
	return w;
}

/* True if all waits are of one call, and no other thread can make a call. */
static bool wait_is_single_call(void)
{
	const struct weft_wait *first, *w;

	weft_wait_lock();
	first = w = weft_wait_first();
	while (w && (w = weft_wait_next(w)) != NULL)
		if (w->epoch != first->epoch && !w->is_poll)
			break;
	weft_wait_unlock();
	return !w && weft_thread_check_is_single();
}

void weft_wait_send(struct weft_vci *held, uint64_t proc, enum weft_wire_op op,
	const void *payload, size_t len)
{
	struct weft_vci *vci = &weft_proc.vci;
	bool is_other = held != vci;

	if (is_other)
		weft_vci_lock(vci);
	weft_query_send(vci, proc, op, payload, len);
	if (is_other)
		weft_vci_unlock(vci);
}

/* ---- needs ---- */

struct weft_need *weft_wait_add_need(struct weft_wait *wait)
{
	struct weft_wait_view *view = wait->view;

	view->n_all++;
	return view->n_needs < WEFT_VIEW_NEEDS ? &view->needs[view->n_needs++]
					       : NULL;
}

struct weft_wait_proc *weft_wait_add_proc(struct weft_wait *wait,
	struct weft_need *need, uint64_t proc, uint64_t addr, int32_t rank)
{
	struct weft_wait_view *view = wait->view;
	struct weft_wait_proc *o;

	if (!need || view->n_procs == WEFT_VIEW_PROCS)
		return NULL;
	o = &view->procs[view->n_procs++];
	*o = (struct weft_wait_proc){
		.need = (uint16_t)(need - view->needs),
		.proc = proc,
		.addr = addr,
		.rank = rank,
	};
	return o;
}

uint32_t weft_wait_first_member(
	const struct weft_wait *wait, uint32_t n, uint32_t max)
{
	return n > max ? (uint32_t)((uint64_t)wait->turn * max % n) : 0;
}

void weft_wait_set_unsure(struct weft_wait *wait)
{
	wait->is_unsure = true;
}

static void copy_answers(
	struct weft_wait_view *view, const struct weft_wait_view *old)
{
	for (uint32_t i = 0; i < view->n_procs; i++) {
		struct weft_wait_proc *o = &view->procs[i];
		struct weft_wait_proc *was =
			weft_query_find(old, o->proc, &view->needs[o->need]);

		if (was) {
			was->need = o->need;
			was->addr = o->addr;
			was->may_exit = o->may_exit;
			*o = *was;
		}
	}
}

/* Updates the facts of a wait, except the missing processes. */
static void wait_fill_facts(struct weft_wait *wait)
{
	struct weft_wait_facts facts = { .peer = WEFT_WAIT_NONE,
		.tag = WEFT_WAIT_NONE };

	wait->ops->name(wait, facts.call, sizeof(facts.call));
	if (wait->ops->locate)
		wait->ops->locate(wait, &facts);
	weft_wait_lock();
	facts.n_missing = wait->facts.n_missing;
	facts.missing = wait->facts.missing;
	if (!facts.object[0])
		memcpy(facts.object, wait->facts.object, sizeof(facts.object));
	wait->facts = facts;
	weft_wait_unlock();
}

void weft_wait_refresh(struct weft_wait *wait)
{
	struct weft_wait_view *old = wait->view;
	char text[WEFT_WAIT_TEXT];

	wait->ops->describe(wait, text, sizeof(text));
	wait_fill_facts(wait);
	weft_wait_lock();
	memcpy(wait->text, text, sizeof(text));
	weft_wait_unlock();
	wait->view = calloc(1, sizeof(*wait->view));
	if (!wait->view) {
		wait->view = old;
		return;
	}
	wait->is_unsure = false;
	if (wait->ops->needs)
		wait->ops->needs(wait);
	if (old)
		copy_answers(wait->view, old);
	free(old);
}

/* True if a process cannot meet the need, because it waits itself. */
static bool wait_is_waiting(const struct weft_wait_proc *o)
{
	return o->has_answered && o->met != WEFT_WIRE_MET && o->epoch;
}

/* True if a need of this clause may still be met: one of the processes does not
 * wait, or some of the processes were not queried. */
static bool is_live(const struct weft_wait_view *view, uint16_t any)
{
	uint32_t n_all = 0, n = 0;

	for (uint32_t i = 0; i < view->n_needs; i++)
		n_all += view->needs[i].any == any ? view->needs[i].n_all : 0;
	for (uint32_t i = 0; i < view->n_procs; i++) {
		const struct weft_wait_proc *o = &view->procs[i];

		if (view->needs[o->need].any != any)
			continue;
		n++;
		if (!wait_is_waiting(o))
			return true;
	}
	return n < n_all || n == 0 || n > WEFT_WIRE_EDGES;
}

static void add_edge(struct weft_wait *wait, const struct weft_need *need,
	const struct weft_wait_proc *o, uint16_t clause)
{
	struct weft_wire_edge *edge = &wait->edges[wait->n_edges++];

	*edge = (struct weft_wire_edge){
		.proc = o->proc,
		.epoch = o->epoch,
		.need = (uint16_t)need->kind,
		.clause = clause,
		.size = need->size,
		.owner = o->owner,
		.is_soft = need->is_soft || o->met == WEFT_WIRE_NEVER,
	};
	memcpy(edge->label, need->label, sizeof(edge->label) - 1);
}

/* Adds edges to the processes that wait themselves. All these edges have the
 * clause `any`. If `any` is 0, each edge has a clause of its own. */
static void collect_clause(struct weft_wait *wait, uint16_t any)
{
	const struct weft_wait_view *view = wait->view;

	for (uint32_t i = 0; i < view->n_procs; i++) {
		const struct weft_wait_proc *o = &view->procs[i];
		const struct weft_need *need = &view->needs[o->need];

		if (need->any == any && wait_is_waiting(o) &&
			wait->n_edges < WEFT_WIRE_EDGES)
			add_edge(wait, need, o,
				any ? any : (uint16_t)(UINT8_MAX + i));
	}
}

/* Adds the edges that may prove a deadlock. Of the clauses in which one process
 * suffices, only the first is considered: its edges are added if all its
 * processes wait. */
static void collect_edges(struct weft_wait *wait)
{
	const struct weft_wait_view *view = wait->view;
	uint16_t any = 0;

	for (uint32_t i = 0; i < view->n_needs && !any; i++)
		any = view->needs[i].any;
	if (any && !is_live(view, any))
		collect_clause(wait, any);
	collect_clause(wait, 0);
}

static bool wait_is_missing(const struct weft_wait_proc *o)
{
	return !(o->has_answered && o->met == WEFT_WIRE_MET) &&
	       !wait_is_waiting(o);
}

/* True if an earlier entry is already counted for the process of entry i. */
static bool is_counted(const struct weft_wait_view *view, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (view->procs[k].proc == view->procs[i].proc &&
			wait_is_missing(&view->procs[k]))
			return true;
	return false;
}

/* Counts the processes that the wait needs, and that do not wait themselves. */
static uint32_t count_missing(
	const struct weft_wait_view *view, uint64_t *first_out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < view->n_procs; i++) {
		if (!wait_is_missing(&view->procs[i]) || is_counted(view, i))
			continue;
		if (!n++)
			*first_out = view->procs[i].proc;
	}
	return n;
}

static void set_missing(struct weft_wait *wait, uint32_t n, uint64_t first)
{
	const struct weft_wait_view *view = wait->view;
	struct weft_wait_facts *facts = &wait->facts;

	facts->n_missing = n;
	facts->missing = first;
	if (!facts->object[0] && view->n_needs)
		memcpy(facts->object, view->needs[0].label,
			sizeof(facts->object));
}

/* Publishes the edges of the wait for other processes. */
static void wait_publish_edges(struct weft_wait *wait)
{
	bool is_single_call = wait_is_single_call();
	struct weft_wire_edge *edges = NULL;
	uint64_t first = 0;
	uint32_t n = wait->view ? count_missing(wait->view, &first) : 0;

	if (!wait->edges)
		edges = calloc(WEFT_WIRE_EDGES, sizeof(*edges));
	weft_wait_lock();
	if (edges)
		wait->edges = edges;
	wait->n_edges = 0;
	if (wait->view && wait->edges)
		collect_edges(wait);
	if (wait->view)
		set_missing(wait, n, first);
	wait->is_sure = is_single_call && !wait->is_unsure;
	wait->edges_ns = weft_now_ns();
	weft_wait_unlock();
}

/* ---- the wait ---- */

uint64_t weft_wait_patience_ns(void)
{
	return weft_knobs.stall_warn
		       ? (uint64_t)weft_knobs.stall_warn * WEFT_NS_PER_S
		       : 60 * WEFT_NS_PER_S;
}

void weft_wait_begin(struct weft_wait *wait)
{
	const struct weft_wait *w = NULL;
	uint64_t now = weft_now_ns();

	if (!wait->begun_ns)
		wait->begun_ns = now;
	wait->silence_counted_ns = now;
	wait->due_ns = wait->begun_ns + weft_wait_patience_ns();
	wait->ops->describe(wait, wait->text, sizeof(wait->text));
	wait_fill_facts(wait);
	weft_wait_lock();
	while ((w = weft_wait_next(w)) != NULL)
		if (w->call && w->call == wait->call)
			wait->epoch = w->epoch;
	if (!wait->epoch)
		wait->epoch = ++registry.epoch;
	weft_list_push_back(&registry.waits, &wait->link);
	weft_wait_unlock();
}

static void wait_ask(struct weft_wait *wait, uint64_t now)
{
	if (weft_knobs.fail_timeout && wait->view && !weft_query_suspects(wait))
		wait->turn++;
	/* A query to a process that has exited breaks the connection, and then
	 * the fabric may discard the last messages of that process. */
	weft_proc_receive_rest(wait->vci);
	weft_wait_refresh(wait);
	weft_query_ask(wait, false);
	wait->asked_ns = now;
	wait->is_asking = true;
	wait->has_asked_again = false;
}

/* True if all answers have arrived or are late. If the wait now needs further
 * processes, queries these processes and returns false. */
static bool has_answers(struct weft_wait *wait, uint64_t now)
{
	if (!weft_query_is_over(wait, now))
		return false;
	if (!wait->is_asking_for_monitor)
		weft_query_check_silent(wait);
	weft_wait_refresh(wait);
	if (wait->has_asked_again || !weft_query_ask(wait, true))
		return true;
	wait->has_asked_again = true;
	wait->asked_ns = now;
	return false;
}

/* Adds up the silence of processes for WEFT_FAIL_TIMEOUT. True if that requires
 * a query now. */
static bool check_silence(struct weft_wait *wait, uint64_t now)
{
	uint64_t limit = (uint64_t)weft_knobs.fail_timeout * WEFT_NS_PER_S;

	if (!limit)
		return false;
	if (now - wait->silence_counted_ns > PULSE_NS) {
		weft_query_add_silence(wait, now - wait->silence_counted_ns);
		wait->silence_counted_ns = now;
	}
	return now - weft_max(wait->asked_ns, wait->begun_ns) > limit / QUERIES;
}

/* Sends queries when they are due. After the answers have arrived, gathers the
 * graph or reports the wait. */
static void wait_check_due(struct weft_wait *wait, uint64_t now)
{
	bool is_due = now >= wait->due_ns;
	bool is_watched =
		!wait->is_poll && weft_monitor_watched_ns() > wait->asked_ns;

	is_watched |= check_silence(wait, now);
	if (is_due) {
		wait->due_ns = now + (now - wait->begun_ns);
		wait->must_report = true;
	}
	is_due = is_due || (weft_resolve_is_asked(wait) &&
				   now - wait->asked_ns >
					   FRESH_MS * (WEFT_NS_PER_S / 1000));
	if (!wait->is_asking && (is_due || is_watched)) {
		wait_ask(wait, now);
		wait->is_asking_for_monitor = true;
	}
	if (is_due)
		wait->is_asking_for_monitor = false;
	if (wait->is_asking && has_answers(wait, now)) {
		wait->is_asking = false;
		wait_publish_edges(wait);
		if (wait->must_report && weft_knobs.stall_warn &&
			!weft_resolve_start(wait))
			weft_report_wait(wait);
		wait->must_report = false;
	}
	weft_resolve_round(wait, now);
}

/* Defers the report while data of the wait is transferred. */
static void wait_check_pulse(struct weft_wait *wait, uint64_t now)
{
	uint64_t pulse;

	if (!wait->ops->pulse || now - wait->pulse_ns < PULSE_NS)
		return;
	wait->pulse_ns = now;
	pulse = wait->ops->pulse(wait);
	if (pulse != wait->pulse)
		wait->silence_counted_ns = now;
	if (pulse != wait->pulse && wait->pulse && !wait->has_reported)
		wait->due_ns = now + weft_wait_patience_ns();
	wait->pulse = pulse;
}

static void wait_check(struct weft_wait *wait)
{
	uint64_t now = weft_now_ns();

	weft_wait_lock();
	wait->checked_ns = now;
	weft_wait_unlock();
	wait_check_pulse(wait, now);
	wait_check_due(wait, now);
}

int weft_wait_after_round(struct weft_wait *wait)
{
	if (++wait->n_rounds % ROUNDS_PER_CHECK == 0 ||
		atomic_load_explicit(
			&wait->is_notified, memory_order_relaxed)) {
		atomic_store_explicit(
			&wait->is_notified, false, memory_order_relaxed);
		wait_check(wait);
	}
	return wait->err;
}

int weft_wait_round(struct weft_wait *wait)
{
	weft_progress_wait(wait->vci);
	return weft_wait_after_round(wait);
}

void weft_wait_end(struct weft_wait *wait)
{
	struct weft_counters *counters = &wait->vci->counters;

	if (!wait->is_poll) {
		counters->long_waits++;
		counters->long_waits_time += weft_now_ns() - wait->begun_ns;
	}
	weft_resolve_end(wait);
	free(wait->view);
	wait->view = NULL;
	free(wait->edges);
	wait->edges = NULL;
	free(wait->verdict);
	wait->verdict = NULL;
}

int weft_wait_raise(const struct weft_wait *wait)
{
	return wait->err ? weft_err_set(wait->err, "%s", wait->why) : 0;
}

/* ---- for a debugger or the launcher ---- */

void weft_state_describe(char *buf, size_t len)
{
	const struct weft_wait *wait = NULL;
	uint64_t now = weft_now_ns(), since_ns;
	const char *note;
	size_t used = 0;

	snprintf(buf, len, "not in an MPI call that waits");
	weft_wait_lock();
	while ((wait = weft_wait_next(wait)) != NULL && used < len)
		if (!wait->is_poll || now - wait->checked_ns < WEFT_NS_PER_S)
			used += (size_t)snprintf(buf + used, len - used,
				"%s%s, for %u s", used ? "; " : "", wait->text,
				weft_wait_seconds(wait, now));
	note = weft_wait_noted(now, &since_ns);
	if (note && !used)
		snprintf(buf, len, "%s, for %u s", note,
			(unsigned)((now - since_ns) / WEFT_NS_PER_S));
	weft_wait_unlock();
}
