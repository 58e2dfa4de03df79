/* SPDX-License-Identifier: BSD-3-Clause */
/* resolve: gathers the graph of waits, and sends verdicts to waits that can
 * never end */
#include "watchdog/resolve.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/knob.h"
#include "transport/proc.h"
#include "watchdog/graph.h"
#include "watchdog/query.h"
#include "watchdog/report.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	SILENCE_MS = 1500, /* time without an answer after which a gatherer
			      stops waiting */
	HOLD_MS = 2000,	 /* longest time for which open snapshots delay the end
			    of a wait, and greatest age of the edges in a
			    NODE */
	OPEN_MAX = 1024, /* most open snapshots of other processes */
	TEXT_MAX = 2400, /* longest text of a verdict */
};

/* A snapshot of another process that includes a wait of this process. */
struct snapshot {
	struct weft_link link;
	uint64_t proc,
		number; /* the gatherer, and its number for the snapshot */
	uint64_t epoch;
	bool is_answered;
};

/* Guarded by the registry's lock. */
static struct {
	struct weft_link list;
	uint32_t n;
} open_snapshots = { .list = { &open_snapshots.list, &open_snapshots.list } };

/* A snapshot that this process gathers. The wait's thread creates and frees the
 * snapshot. Handlers fill in nodes with the registry's lock held. */
struct weft_gather {
	uint64_t number;
	uint64_t answered_ns; /* time of the last answer */
	uint32_t n_queried;   /* nodes 1 to n_queried - 1 were queried; node 0
				 is this process */
	uint32_t n_pending;
	bool is_decided; /* the graph was analysed; from then on, only ACKs are
			    due */
	atomic_bool is_dropped; /* another process gathers the same graph */
	bool is_due[WEFT_GRAPH_NODES]; /* the process of node i must still send
					  an answer or an ACK */
	struct weft_graph graph;
};

static void send(struct weft_vci *held, uint64_t proc,
	enum weft_wire_graph_kind kind, uint64_t number, uint64_t epoch)
{
	const struct weft_wire_graph g = {
		.number = number,
		.epoch = epoch,
		.kind = (uint16_t)kind,
	};

	weft_wait_send(held, proc, WEFT_WIRE_GRAPH, &g, sizeof(g));
}

static bool is_past(uint64_t since_ns, uint64_t now, uint64_t ms)
{
	return now > since_ns && now - since_ns > ms * (WEFT_NS_PER_S / 1000);
}

static void notify_waits(uint64_t epoch)
{
	struct weft_wait *w = NULL;

	while ((w = weft_wait_next(w)) != NULL)
		if (w->epoch == epoch)
			atomic_store_explicit(
				&w->is_notified, true, memory_order_relaxed);
}

/* ---- answers to gatherers ---- */

bool weft_resolve_is_asked(const struct weft_wait *wait)
{
	bool is = false;

	weft_wait_lock();
	weft_list_for_each(link, next, &open_snapshots.list)
	{
		const struct snapshot *l =
			weft_container_of(link, struct snapshot, link);

		if (l->epoch == wait->epoch && !l->is_answered)
			is = true;
	}
	weft_wait_unlock();
	return is;
}

struct node_message {
	struct weft_wire_graph head;
	char rest[WEFT_WIRE_EDGES * sizeof(struct weft_wire_edge) +
		  WEFT_GRAPH_CALL];
};

/* Adds the edges of all waits of a call to a NODE message. Each wait's clauses
 * get numbers of their own. Registry's lock held. */
static void fill_edges(struct node_message *m, uint64_t epoch)
{
	const struct weft_wait *w = NULL;
	uint16_t clause = 0;

	m->head.is_sure = true;
	while ((w = weft_wait_next(w)) != NULL) {
		struct weft_wire_edge *to = (void *)m->rest;

		if (w->epoch != epoch)
			continue;
		m->head.is_sure = m->head.is_sure && w->is_sure;
		for (uint32_t i = 0;
			i < w->n_edges && m->head.n_edges < WEFT_WIRE_EDGES;
			i++) {
			to[m->head.n_edges] = w->edges[i];
			to[m->head.n_edges++].clause += clause;
		}
		clause += 1000;
	}
}

/* Fills in a NODE message, and returns its length. */
static size_t fill_node(
	struct node_message *m, const struct weft_wait *wait, uint64_t number)
{
	char call[WEFT_GRAPH_CALL];
	size_t at;

	wait->ops->name(wait, call, sizeof(call));
	m->head = (struct weft_wire_graph){
		.number = number,
		.epoch = wait->epoch,
		.kind = WEFT_WIRE_GRAPH_NODE,
		.len = (uint16_t)strlen(call),
	};
	weft_wait_lock();
	fill_edges(m, wait->epoch);
	weft_wait_unlock();
	at = m->head.n_edges * sizeof(struct weft_wire_edge);
	memcpy(m->rest + at, call, m->head.len);
	return sizeof(m->head) + at + m->head.len;
}

/* True if the edges of all waits of the call were published in the last
 * HOLD_MS. Registry's lock held. */
static bool has_fresh_edges(uint64_t epoch, uint64_t now)
{
	const struct weft_wait *w = NULL;

	while ((w = weft_wait_next(w)) != NULL)
		if (w->epoch == epoch && is_past(w->edges_ns, now, HOLD_MS))
			return false;
	return true;
}

/* Finds the next snapshot to answer, and marks it as answered; false if there
 * is none. */
static bool next_snapshot(
	uint64_t epoch, uint64_t now, struct snapshot *snapshot_out)
{
	bool is_found = false;

	weft_wait_lock();
	weft_list_for_each(link, next, &open_snapshots.list)
	{
		struct snapshot *l =
			weft_container_of(link, struct snapshot, link);

		if (is_found || l->epoch != epoch || l->is_answered ||
			!has_fresh_edges(epoch, now))
			continue;
		l->is_answered = true;
		*snapshot_out = *l;
		is_found = true;
	}
	weft_wait_unlock();
	return is_found;
}

static void answer_snapshots(const struct weft_wait *wait, uint64_t now)
{
	struct node_message m;
	struct snapshot snapshot;

	if (wait->is_asking)
		return;
	while (next_snapshot(wait->epoch, now, &snapshot)) {
		size_t len = fill_node(&m, wait, snapshot.number);

		weft_wait_send(
			wait->vci, snapshot.proc, WEFT_WIRE_GRAPH, &m, len);
	}
}

/* True if a snapshot is open at the wait, or if the wait itself gathers one.
 * Registry's lock held. */
static bool is_open(uint64_t epoch)
{
	const struct weft_wait *w = NULL;

	weft_list_for_each(link, next,
		&open_snapshots.list) if (weft_container_of(link,
						  struct snapshot, link)
						  ->epoch == epoch) return true;
	while ((w = weft_wait_next(w)) != NULL)
		if (w->epoch == epoch && w->gather)
			return true;
	return false;
}

/* ---- gathering ---- */

static void close_gather(struct weft_wait *wait)
{
	struct weft_gather *g = wait->gather;

	if (!g)
		return;
	weft_wait_lock();
	wait->gather = NULL;
	weft_wait_unlock();
	for (uint32_t i = 1; i < g->n_queried; i++)
		send(wait->vci, g->graph.nodes[i]->proc, WEFT_WIRE_GRAPH_CLOSE,
			g->number, 0);
	notify_waits(wait->epoch);
	weft_graph_fini(&g->graph);
	free(g);
}

/* True if an edge leads to a process of this job, which can be queried. */
static bool has_member_edge(const struct weft_wait *wait)
{
	for (uint32_t i = 0; i < wait->n_edges; i++)
		if (weft_proc_is_member(wait->edges[i].proc))
			return true;
	return false;
}

/* True if a process with a smaller number gathers a snapshot that includes this
 * wait. The snapshot of that process contains all processes that a snapshot of
 * this process would contain. */
static bool is_seen_by_first(uint64_t epoch)
{
	bool is = false;

	weft_wait_lock();
	weft_list_for_each(link, next, &open_snapshots.list)
	{
		const struct snapshot *l =
			weft_container_of(link, struct snapshot, link);

		if (l->epoch == epoch && l->proc < weft_proc.proc)
			is = true;
	}
	weft_wait_unlock();
	return is;
}

/* Adds a node for each process of this job to which an edge leads. Registry's
 * lock held. */
static void resolve_expand(struct weft_graph *graph)
{
	for (uint32_t i = 0; i < graph->n; i++)
		for (uint32_t e = 0; e < graph->nodes[i]->n_edges; e++) {
			uint64_t proc = graph->nodes[i]->edges[e].proc;

			if (weft_proc_is_member(proc))
				(void)weft_graph_node(graph, proc);
		}
}

static void query_further(struct weft_wait *wait)
{
	struct weft_gather *g = wait->gather;
	uint32_t from = g->n_queried;

	weft_wait_lock();
	resolve_expand(&g->graph);
	for (uint32_t i = from; i < g->graph.n; i++)
		g->is_due[i] = true;
	g->n_pending += g->graph.n - from;
	g->n_queried = g->graph.n;
	weft_wait_unlock();
	for (uint32_t i = from; i < g->n_queried; i++)
		send(wait->vci, g->graph.nodes[i]->proc, WEFT_WIRE_GRAPH_QUERY,
			g->number, 0);
}

static bool fill_self(struct weft_wait *wait, struct weft_gather *g)
{
	struct weft_graph_node *node =
		weft_graph_node(&g->graph, weft_proc.proc);
	struct node_message m;

	if (!node)
		return false;
	(void)fill_node(&m, wait, 0);
	node->epoch = wait->epoch;
	node->is_sure = m.head.is_sure;
	node->n_edges = m.head.n_edges;
	memcpy(node->edges, m.rest,
		m.head.n_edges * sizeof(struct weft_wire_edge));
	wait->ops->name(wait, node->call, sizeof(node->call));
	g->n_queried = 1;
	return true;
}

bool weft_resolve_start(struct weft_wait *wait)
{
	struct weft_gather *g;

	if (wait->is_poll || wait->gather || wait->verdict_ns ||
		!has_member_edge(wait) || is_seen_by_first(wait->epoch))
		return wait->gather != NULL;
	g = calloc(1, sizeof(*g));
	if (!g || !fill_self(wait, g)) {
		free(g);
		return false;
	}
	weft_wait_lock();
	g->number = wait->epoch << 16 | ++wait->n_gathers;
	g->answered_ns = weft_now_ns();
	wait->gather = g;
	weft_wait_unlock();
	query_further(wait);
	return true;
}

/* ---- the proof ---- */

static void resolve_set_verdict(uint64_t epoch, const char *text, size_t len)
{
	struct weft_wait *w = NULL;

	while ((w = weft_wait_next(w)) != NULL) {
		if (w->epoch != epoch || w->verdict)
			continue;
		w->verdict = malloc(len + 1);
		if (!w->verdict)
			continue;
		memcpy(w->verdict, text, len);
		w->verdict[len] = 0;
	}
	notify_waits(epoch);
}

static void send_verdicts(struct weft_wait *wait)
{
	struct weft_gather *g = wait->gather;
	struct {
		struct weft_wire_graph head;
		char text[TEXT_MAX];
	} m;

	for (uint32_t i = 0; i < g->graph.n; i++) {
		const struct weft_graph_node *node = g->graph.nodes[i];

		if (!node->is_in_ring)
			continue;
		weft_report_ring(&g->graph, i, m.text, sizeof(m.text));
		m.head = (struct weft_wire_graph){
			.number = g->number,
			.epoch = node->epoch,
			.kind = WEFT_WIRE_GRAPH_VERDICT,
			.len = (uint16_t)strlen(m.text),
		};
		weft_wait_lock();
		g->is_due[i] = i > 0;
		g->n_pending += i > 0;
		if (i == 0)
			resolve_set_verdict(node->epoch, m.text, m.head.len);
		weft_wait_unlock();
		if (i > 0)
			weft_wait_send(wait->vci, node->proc, WEFT_WIRE_GRAPH,
				&m, sizeof(m.head) + m.head.len);
	}
}

static bool ends_with_errors(void)
{
	return !strcmp(weft_knobs.deadlock, "error");
}

/* Analyses the graph after all answers have arrived or are late. Sends the
 * verdicts, or reports the wait. */
static void resolve_decide(struct weft_wait *wait, uint64_t now)
{
	struct weft_gather *g = wait->gather;
	struct weft_graph *graph = &g->graph;
	bool is_error = ends_with_errors();

	weft_wait_lock(); /* from here on the nodes do not change */
	g->is_decided = true;
	g->answered_ns = now;
	g->n_pending = 0;
	memset(g->is_due, 0, sizeof(g->is_due));
	weft_wait_unlock();
	if (g->is_dropped) {
		weft_report_wait(wait);
		return;
	}
	if (weft_graph_reduce(graph,
		    (struct weft_graph_rules){ .with_soft = is_error })) {
		send_verdicts(wait);
		return;
	}
	weft_report_wait(wait);
	if (wait->has_reported_ring)
		return;
	wait->has_reported_ring = true;
	if (weft_graph_reduce(
		    graph, (struct weft_graph_rules){ .with_unsure = true }))
		weft_report_rings(graph, "SESSION-CYCLE", "SESSION-DOUBT",
			"; only another thread of one of them can end this");
	else if (weft_graph_reduce(
			 graph, (struct weft_graph_rules){ true, true }))
		weft_report_rings(graph, "MPI-CYCLE", "MPI-DEADLOCK",
			"; only another thread of one of them can end this "
			"(WEFT_DEADLOCK=error ends the calls)");
	else
		wait->has_reported_ring = false;
}

/* True if no further answer or ACK is expected. */
static bool is_gathered(const struct weft_gather *g, uint64_t now)
{
	bool is;

	weft_wait_lock();
	is = !g->n_pending || is_past(g->answered_ns, now, SILENCE_MS);
	weft_wait_unlock();
	return is;
}

static void gather_round(struct weft_wait *wait, uint64_t now)
{
	struct weft_gather *g = wait->gather;

	if (!g)
		return;
	if (!g->is_decided && !g->is_dropped)
		query_further(wait);
	if (!g->is_decided && (g->is_dropped || is_gathered(g, now)))
		resolve_decide(wait, now);
	if (g->is_decided && is_gathered(g, now))
		close_gather(wait);
}

/* Reports a verdict immediately. The wait ends when no snapshot is open at it,
 * or after HOLD_MS. */
static void verdict_round(struct weft_wait *wait, uint64_t now)
{
	char *text = NULL;
	bool may_go;

	weft_wait_lock();
	if (wait->verdict && !wait->verdict_ns)
		text = strdup(wait->verdict);
	may_go = wait->verdict && !is_open(wait->epoch);
	weft_wait_unlock();
	if (text) {
		wait->verdict_ns = now;
		weft_report_verdict(wait, text);
		free(text);
	}
	if (wait->verdict_ns &&
		(may_go || is_past(wait->verdict_ns, now, HOLD_MS)))
		wait->err = wait->fault;
}

void weft_resolve_round(struct weft_wait *wait, uint64_t now)
{
	answer_snapshots(wait, now);
	gather_round(wait, now);
	verdict_round(wait, now);
}

/* ---- the end of a wait ---- */

static void free_snapshot(struct snapshot *l)
{
	weft_list_remove(&l->link);
	open_snapshots.n--;
	free(l);
}

/* Removes the next snapshot that includes the wait; false if there is none. */
static bool pop_snapshot(uint64_t epoch, struct snapshot *snapshot_out)
{
	bool is_found = false;

	weft_wait_lock();
	weft_list_for_each(link, next, &open_snapshots.list)
	{
		struct snapshot *l =
			weft_container_of(link, struct snapshot, link);

		if (is_found || l->epoch != epoch)
			continue;
		*snapshot_out = *l;
		is_found = true;
		free_snapshot(l);
	}
	weft_wait_unlock();
	return is_found;
}

void weft_resolve_end(struct weft_wait *wait)
{
	const struct weft_wait *w = NULL;
	bool is_last = true;
	struct snapshot snapshot;

	close_gather(wait);
	weft_wait_lock();
	weft_list_remove(&wait->link);
	while ((w = weft_wait_next(w)) != NULL)
		if (w->epoch == wait->epoch)
			is_last = false;
	weft_wait_unlock();
	/* from here on no other thread reads the wait */
	if (wait->verdict && !wait->verdict_ns)
		weft_report_verdict(wait, wait->verdict);
	if (wait->verdict && !wait->err)
		wait->err = wait->fault;
	while (is_last && pop_snapshot(wait->epoch, &snapshot))
		if (!snapshot.is_answered)
			send(wait->vci, snapshot.proc, WEFT_WIRE_GRAPH_NODE,
				snapshot.number, 0);
}

/* ---- messages ---- */

static void on_graph_query(
	struct weft_vci *vci, uint64_t from, const struct weft_wire_graph *g)
{
	struct weft_wait *w;
	struct snapshot *snapshot = NULL;

	weft_wait_lock();
	w = weft_wait_first();
	if (w && !w->verdict && open_snapshots.n < OPEN_MAX)
		snapshot = malloc(sizeof(*snapshot));
	if (snapshot) {
		*snapshot = (struct snapshot){
			.proc = from, .number = g->number, .epoch = w->epoch
		};
		weft_list_push_back(&open_snapshots.list, &snapshot->link);
		open_snapshots.n++;
		notify_waits(w->epoch);
		for (; w; w = weft_wait_next(w))
			if (w->epoch == snapshot->epoch && w->gather &&
				from < weft_proc.proc)
				w->gather->is_dropped = true;
	}
	weft_wait_unlock();
	if (!snapshot)
		send(vci, from, WEFT_WIRE_GRAPH_NODE, g->number, 0);
}

/* Finds the snapshot with this number that this process gathers, and in it the
 * node of `from`, if that node's answer or ACK is due. Marks the answer as
 * received. Sets *at_out to the index of the node. NULL if there is none.
 * Registry's lock held. */
static struct weft_gather *due_at(
	uint64_t number, uint64_t from, uint32_t *at_out)
{
	struct weft_wait *w = NULL;

	while ((w = weft_wait_next(w)) != NULL) {
		struct weft_gather *g = w->gather;

		if (!g || g->number != number)
			continue;
		for (uint32_t i = 0; i < g->n_queried; i++)
			if (g->is_due[i] && g->graph.nodes[i]->proc == from) {
				g->is_due[i] = false;
				g->n_pending--;
				g->answered_ns = weft_now_ns();
				notify_waits(w->epoch);
				*at_out = i;
				return g;
			}
	}
	return NULL;
}

static void resolve_fill(struct weft_graph_node *node,
	const struct weft_wire_graph *g, const char *rest)
{
	size_t edges = g->n_edges * sizeof(struct weft_wire_edge);
	size_t len = weft_min(g->len, sizeof(node->call) - 1);

	node->epoch = g->epoch;
	node->is_sure = g->is_sure;
	node->n_edges = g->n_edges;
	memcpy(node->edges, rest, edges);
	for (uint32_t i = 0; i < node->n_edges; i++)
		node->edges[i].label[WEFT_WIRE_LABEL - 1] = 0;
	memcpy(node->call, rest + edges, len);
	node->call[len] = 0;
}

static void on_node(
	uint64_t from, const struct weft_wire_graph *g, const char *rest)
{
	struct weft_gather *gather;
	uint32_t at;

	weft_wait_lock();
	gather = due_at(g->number, from, &at);
	if (gather && !gather->is_decided)
		resolve_fill(gather->graph.nodes[at], g, rest);
	weft_wait_unlock();
}

static void on_verdict_ack(uint64_t from, const struct weft_wire_graph *g)
{
	uint32_t at;

	weft_wait_lock();
	(void)due_at(g->number, from, &at);
	weft_wait_unlock();
}

static void on_verdict(struct weft_vci *vci, uint64_t from,
	const struct weft_wire_graph *g, const char *text)
{
	weft_wait_lock();
	resolve_set_verdict(g->epoch, text, g->len);
	weft_wait_unlock();
	send(vci, from, WEFT_WIRE_GRAPH_ACK, g->number, 0);
}

static void on_close(uint64_t from, const struct weft_wire_graph *g)
{
	weft_wait_lock();
	weft_list_for_each(link, next, &open_snapshots.list)
	{
		struct snapshot *l =
			weft_container_of(link, struct snapshot, link);

		if (l->proc != from || l->number != g->number)
			continue;
		notify_waits(l->epoch);
		free_snapshot(l);
	}
	weft_wait_unlock();
}

static bool resolve_is_sane(const struct weft_wire_graph *g, size_t len)
{
	return g->kind >= WEFT_WIRE_GRAPH_QUERY &&
	       g->kind < WEFT_WIRE_GRAPH_END && g->n_edges <= WEFT_WIRE_EDGES &&
	       g->len <= TEXT_MAX && (g->epoch || !g->n_edges) &&
	       len == sizeof(*g) + g->len +
			       g->n_edges * sizeof(struct weft_wire_edge);
}

void weft_resolve_on_graph(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	const char *rest =
		(const char *)payload + sizeof(struct weft_wire_graph);
	struct weft_wire_graph g;

	(void)head;
	if (!weft_wire_get_graph(&g, payload, len) ||
		!resolve_is_sane(&g, len) || vci != &weft_proc.vci ||
		!weft_proc_is_member(peer->proc)) {
		weft_dispatch_drop(vci, "malformed part of a graph of waits");
		return;
	}
	switch (g.kind) {
	case WEFT_WIRE_GRAPH_QUERY:
		on_graph_query(vci, peer->proc, &g);
		break;
	case WEFT_WIRE_GRAPH_NODE:
		on_node(peer->proc, &g, rest);
		break;
	case WEFT_WIRE_GRAPH_VERDICT:
		on_verdict(vci, peer->proc, &g, rest);
		break;
	case WEFT_WIRE_GRAPH_ACK:
		on_verdict_ack(peer->proc, &g);
		break;
	default:
		on_close(peer->proc, &g);
	}
}
