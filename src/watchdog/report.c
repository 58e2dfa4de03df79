/* SPDX-License-Identifier: BSD-3-Clause */
/* report: the warnings about a wait, and about a cycle of waits (a ring) */
#include "watchdog/report.h"

#include "base/clock.h"
#include "base/event.h"
#include "base/knob.h"
#include "base/log.h"
#include "transport/foreign.h"
#include "transport/vci.h"

#include <stdio.h>

enum {
	SHOWN = 4,
	HELD_BACK = 4, /* deferred reports appear after 4 * WEFT_STALL_WARN */
};

struct missing {
	char text[900];
	size_t used;
	uint32_t n, n_asked;
};

static void add_missing(struct missing *m, const struct weft_wait_proc *o)
{
	char name[64], what[WEFT_WAIT_TEXT + 64];
	const char *why = o->may_exit ? "it has left, computes, or is stopped"
				      : "it computes, or is stopped";
	const char *job = weft_foreign_is(o->proc) ? " of another job" : "";

	if (m->n++ >= SHOWN || m->used >= sizeof(m->text))
		return;
	if (o->rank >= 0)
		snprintf(name, sizeof(name), "rank %d (process %u%s)",
			(int)o->rank, (unsigned)o->proc, job);
	else
		snprintf(name, sizeof(name), "process %u%s", (unsigned)o->proc,
			job);
	if (o->has_answered)
		snprintf(what, sizeof(what), "%s", o->text);
	else
		snprintf(what, sizeof(what),
			"not answering: no call of it makes progress (%s)",
			o->text[0] ? o->text : why);
	m->used += (size_t)snprintf(m->text + m->used,
		sizeof(m->text) - m->used, "; %s is %s%s", name, what,
		o->met == WEFT_WIRE_NEVER ? ", which rules this out" : "");
}

static void add_all_missing(struct missing *m,
	const struct weft_wait_view *view, uint32_t i, bool may_have_left)
{
	m->n_asked = 0;
	for (uint32_t k = 0; k < view->n_procs; k++) {
		const struct weft_wait_proc *o = &view->procs[k];

		if (o->need != i)
			continue;
		m->n_asked++;
		if (may_have_left == (o->may_exit && !o->has_answered) &&
			(!o->has_answered || o->met != WEFT_WIRE_MET))
			add_missing(m, o);
	}
}

/* Returns the processes that have not met need i, and their number. Processes
 * that may have left count only if there are no others. */
static struct missing missing_of(const struct weft_wait_view *view, uint32_t i)
{
	struct missing m = { 0 };

	add_all_missing(&m, view, i, false);
	if (!m.n)
		add_all_missing(&m, view, i, true);
	return m;
}

static void report_need(
	const struct weft_wait *wait, uint32_t i, const char *call)
{
	const struct weft_need *need = &wait->view->needs[i];
	struct missing m = missing_of(wait->view, i);
	char more[64] = "";

	if (!m.n && need->if_met)
		snprintf(m.text, sizeof(m.text), "; %s", need->if_met);
	else if (m.n > SHOWN)
		snprintf(more, sizeof(more), "; and %u more", m.n - SHOWN);
	else if (need->n_all > m.n_asked)
		snprintf(more, sizeof(more), "; asked %u of %u", m.n_asked,
			need->n_all);
	weft_log_warn(wait->ops->id,
		"%s has waited %u s for %s%s%s (WEFT_STALL_WARN)", call,
		weft_wait_seconds(wait, weft_now_ns()), need->phrase, m.text,
		more);
}

/* Reports many needs. The report lists the missing processes only for the first
 * need with a missing process. */
static void report_many(const struct weft_wait *wait, const char *call)
{
	const struct weft_wait_view *view = wait->view;
	struct missing m = {
		.text = "; all queried members have closed them by now"
	};
	char names[SHOWN * 48] = "";
	const char *label = "all";
	size_t used = 0;

	for (uint32_t i = 0; i < view->n_needs && !m.n; i++) {
		struct missing some = missing_of(view, i);

		if (some.n) {
			m = some;
			label = view->needs[i].label;
		}
	}
	for (uint32_t i = 0; i < SHOWN; i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used,
			"%s\"%.31s\"", i ? ", " : "", view->needs[i].label);
	weft_log_warn(wait->ops->id,
		"%s has waited %u s for %u %s: %s and %u more; of "
		"these \"%.31s\"%s (WEFT_STALL_WARN)",
		call, weft_wait_seconds(wait, weft_now_ns()), view->n_all,
		wait->ops->noun, names, view->n_all - SHOWN, label, m.text);
}

/* Reports that business cards are missing: the process manager may then be the
 * cause of the wait. */
static void report_unresolved(const struct weft_wait *wait)
{
	uint64_t first = 0;
	uint32_t n = weft_peer_unresolved(wait->vci, &first);

	if (n)
		weft_log_warn("CORE-NOBC",
			"messages to process %u%s%s wait for its business "
			"card, which the process manager has not delivered: it "
			"is slow, or the process has opened no session yet",
			(uint32_t)first,
			weft_foreign_is(first) ? " of another job" : "",
			n > 1 ? " and others" : "");
}

/* True if each queried process that has not met its need may still meet it, and
 * waits itself or makes calls. A process that waits reports its own wait, and a
 * process that makes calls makes progress. If all queried processes have met
 * their needs, the message that ends the wait is on its way, or waits for a
 * process that was not queried. Other processes then wait for that one too. */
static bool is_explained(const struct weft_wait_view *view)
{
	for (uint32_t i = 0; i < view->n_procs; i++) {
		const struct weft_wait_proc *o = &view->procs[i];

		if (o->has_answered && o->met == WEFT_WIRE_MET)
			continue;
		if (!o->has_answered || o->met == WEFT_WIRE_NEVER ||
			!(o->epoch || o->moves))
			return false;
	}
	return view->n_procs > 0;
}

void weft_report_wait(struct weft_wait *wait)
{
	char call[WEFT_GRAPH_CALL], text[256] = "";

	if (wait->has_reported || !wait->view)
		return;
	if (weft_wait_seconds(wait, weft_now_ns()) <
			HELD_BACK * (unsigned)weft_knobs.stall_warn &&
		is_explained(wait->view))
		return;
	wait->has_reported = true;
	weft_event_raise(WEFT_EVENT_wait_reported, WEFT_COUNTER_PROCESS, true,
		(int64_t)(weft_now_ns() - wait->begun_ns));
	wait->ops->name(wait, call, sizeof(call));
	if (wait->view->n_needs > SHOWN)
		report_many(wait, call);
	else
		for (uint32_t i = 0; i < wait->view->n_needs; i++)
			report_need(wait, i, call);
	if (wait->ops->explain)
		wait->ops->explain(wait, text, sizeof(text));
	if (text[0])
		weft_log_warn("SESSION-TAG", "%s", text);
	report_unresolved(wait);
}

void weft_report_ring(
	const struct weft_graph *graph, uint32_t node, char *buf, size_t len)
{
	struct weft_graph_step steps[WEFT_GRAPH_NODES];
	uint32_t n = weft_graph_ring(graph, node, steps);
	char line[400];
	size_t used;

	weft_graph_print(graph, steps, n, line, 220);
	used = (size_t)snprintf(buf, len, "%u deadlock, processes %s", n, line);
	for (uint32_t i = 0; i < n && used < len; i++)
		used += (size_t)snprintf(buf + used, len - used, "\n%s",
			weft_graph_print_step(
				graph, steps[i], line, sizeof(line)));
}

/* Logs each line of a verdict's text except the first line. Returns the number
 * of processes, with which the first line begins. Sets *brief_out to the rest
 * of the first line. Modifies text. */
static uint32_t log_steps(char *text, const char *id, char **brief_out)
{
	char *rest = NULL, *line = strtok_r(text, "\n", &rest);
	uint32_t n = 0;

	*brief_out = line ? line : "deadlock";
	if (line && sscanf(line, "%u ", &n) == 1 && strchr(line, ' '))
		*brief_out = strchr(line, ' ') + 1;
	while ((line = strtok_r(NULL, "\n", &rest)) != NULL)
		weft_log_warn(id, "%s", line);
	return n;
}

void weft_report_verdict(struct weft_wait *wait, char *text)
{
	char more[256] = "", *brief;
	bool is_message = wait->ops->is_message;
	uint32_t n = log_steps(
		text, is_message ? "MPI-CYCLE" : "SESSION-CYCLE", &brief);

	if (wait->ops->explain)
		wait->ops->explain(wait, more, sizeof(more));
	weft_log_warn(is_message ? "MPI-DEADLOCK" : "SESSION-DEADLOCK",
		"these %u processes wait for each other and cannot continue; "
		"the call ends with an error%s%s",
		n, more[0] ? ": " : "", more);
	snprintf(wait->why, sizeof(wait->why), "%s", more[0] ? more : brief);
}

void weft_report_rings(const struct weft_graph *graph, const char *step_id,
	const char *id, const char *why)
{
	bool is_reported[WEFT_GRAPH_NODES] = { false };
	struct weft_graph_step steps[WEFT_GRAPH_NODES];
	char line[400];

	for (uint32_t i = 0; i < graph->n; i++) {
		uint32_t n;

		if (!graph->nodes[i]->is_in_ring || is_reported[i])
			continue;
		n = weft_graph_ring(graph, i, steps);
		for (uint32_t k = 0; k < n; k++) {
			is_reported[steps[k].node] = true;
			weft_log_warn(step_id, "%s",
				weft_graph_print_step(
					graph, steps[k], line, sizeof(line)));
		}
		weft_log_warn(
			id, "these %u processes wait for each other%s", n, why);
	}
}
