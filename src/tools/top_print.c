/* SPDX-License-Identifier: BSD-3-Clause */
/* top_print: prints the state of a job as text or as JSON */
#include "tools/top_print.h"

#include "base/clock.h"
#include "base/plain.h"
#include "tools/tool_report.h"

#include <string.h>

enum { HEAD_LINES = 4 };

static struct weft_counters counters_of(const struct weft_top_numbers *numbers)
{
	struct weft_counters counters = { 0 };

	memcpy(&counters, numbers->counters,
		weft_counter_count() * sizeof(uint64_t));
	return counters;
}

static double seconds_of(const struct weft_top_proc *proc)
{
	return proc->now.at_ns > proc->since_ns
		       ? (double)(proc->now.at_ns - proc->since_ns) * 1e-9
		       : 0;
}

/* ---- text ---- */

/* Prints a number in at most 6 characters, with a binary prefix. */
static const char *print_amount(uint64_t n, char buf[16])
{
	static const char *const prefixes[] = { "", "K", "M", "G", "T", "P",
		"E" };
	double value = (double)n;
	int i = 0;

	for (; value >= 9999.5; i++)
		value /= 1024;
	snprintf(buf, 16, "%.*f%s", i && value < 99.95 ? 1 : 0, value,
		prefixes[i]);
	return buf;
}

static const char *print_duration(double seconds, char buf[16])
{
	if (seconds < 60)
		snprintf(buf, 16, "%.1f s", seconds);
	else if (seconds < 6000)
		snprintf(buf, 16, "%.0f min", seconds / 60);
	else
		snprintf(buf, 16, "%.0f h", seconds / 3600);
	return buf;
}

static const char *print_place(int32_t n, char buf[16])
{
	if (n == WEFT_WAIT_NONE)
		return "-";
	if (n == WEFT_WAIT_ANY)
		return "any";
	snprintf(buf, 16, "%d", (int)n);
	return buf;
}

/* Returns the text for a process that waits in no call. */
static const char *idle_text(const struct weft_top_proc *proc)
{
	if (!proc->is_readable)
		return "(not readable)";
	if (!proc->has_session)
		return "(no open session)";
	return proc->state == 'T' ? "(stopped)" : "-";
}

/* The bytes of one-sided operations, by all paths. */
static uint64_t one_sided_bytes(const struct weft_counters *counters)
{
	return counters->rma_mapped_bytes + counters->rma_copied_bytes +
	       counters->rma_posted_bytes + counters->rma_messages_bytes;
}

static void print_numbers(const struct weft_top_proc *proc, FILE *to)
{
	struct weft_counters now = counters_of(&proc->now),
			     before = counters_of(&proc->before);
	uint32_t posted = 0, unexpected = 0;
	char buf[6][16];

	for (uint32_t i = 0; i < proc->n_comms; i++) {
		posted += proc->comms[i].n_posted;
		unexpected += proc->comms[i].n_unexpected;
	}
	fprintf(to, " %6s %6s %6s %6s %6s %6u %6u %6s\n",
		print_amount(weft_top_rate(proc, before.shm_sent_bytes,
				     now.shm_sent_bytes),
			buf[0]),
		print_amount(weft_top_rate(proc, before.rndv_sent_bytes,
				     now.rndv_sent_bytes),
			buf[1]),
		print_amount(weft_top_rate(proc, before.net_sent_bytes,
				     now.net_sent_bytes),
			buf[2]),
		print_amount(weft_top_rate(proc, one_sided_bytes(&before),
				     one_sided_bytes(&now)),
			buf[3]),
		print_amount(weft_top_rate(proc, proc->before.n_collectives,
				     proc->now.n_collectives),
			buf[4]),
		posted, unexpected, print_amount(proc->memory, buf[5]));
}

static void top_print_row(const struct weft_top_proc *proc, FILE *to)
{
	bool is_in_call = proc->is_waiting || proc->is_polling;
	char call[80], object[WEFT_WIRE_LABEL], buf[3][16];

	snprintf(call, sizeof(call), "%s%s", proc->is_polling ? "polls " : "",
		is_in_call ? proc->facts.call : idle_text(proc));
	snprintf(object, sizeof(object), "%s",
		is_in_call && proc->facts.object[0] ? proc->facts.object : "-");
	weft_plain(call, sizeof(call));
	weft_plain(object, sizeof(object));
	fprintf(to, "%5u %7d %c %-22.22s %5s %6s %-16.16s %8s", proc->rank,
		(int)proc->pid, proc->state, call,
		is_in_call ? print_place(proc->facts.peer, buf[0]) : "-",
		is_in_call ? print_place(proc->facts.tag, buf[1]) : "-", object,
		is_in_call ? print_duration(seconds_of(proc), buf[2]) : "-");
	print_numbers(proc, to);
}

void weft_top_print(const struct weft_top_job *job,
	const struct weft_top_verdict *verdict, unsigned rows, FILE *to)
{
	unsigned used = HEAD_LINES + verdict->n_steps;
	size_t n = job->n;

	if (rows && n + used > rows)
		n = rows > used ? rows - used : 1;
	fprintf(to, "job %s: %zu of %u ranks on ", job->name, job->n,
		job->size);
	if (job->n_nodes)
		fprintf(to, "%u node%s\n", job->n_nodes,
			job->n_nodes > 1 ? "s" : "");
	else
		fputs("this node\n", to);
	fprintf(to, "%s\n", verdict->sentence);
	for (uint32_t i = 0; i < verdict->n_steps; i++)
		fprintf(to, "  %s\n", verdict->steps[i]);
	fprintf(to,
		"%5s %7s %1s %-22s %5s %6s %-16s %8s %6s %6s %6s %6s %6s "
		"%6s %6s %6s\n",
		"RANK", "PID", "S", "CALL", "PEER", "TAG", "COMMUNICATOR",
		"SINCE", "SHM/s", "RNDV/s", "NET/s", "RMA/s", "COLL/s",
		"POSTED", "UNEXP", "MEMORY");
	for (size_t i = 0; i < n; i++)
		top_print_row(&job->procs[i], to);
	if (n < job->n)
		fprintf(to, "and %zu more ranks (--once prints all)\n",
			job->n - n);
}

/* ---- JSON ---- */

static void add_place(
	struct weft_tool_report *to, const char *name, int32_t place)
{
	if (place == WEFT_WAIT_ANY)
		weft_tool_report_text(to, name, "any");
	else if (place >= 0)
		weft_tool_report_number(to, name, (uint64_t)place, NULL);
}

static void add_wait(
	struct weft_tool_report *to, const struct weft_top_proc *proc)
{
	struct weft_tool_report *call = weft_tool_report_object(to, "call");

	weft_tool_report_text(call, "name", "%s", proc->facts.call);
	weft_tool_report_text(call, "text", "%s", proc->text);
	weft_tool_report_flag(call, "polls", proc->is_polling);
	weft_tool_report_number(
		call, "milliseconds", (uint64_t)(seconds_of(proc) * 1e3), NULL);
	add_place(call, "peer", proc->facts.peer);
	add_place(call, "tag", proc->facts.tag);
	if (proc->facts.object[0])
		weft_tool_report_text(call, "object", "%s", proc->facts.object);
}

static void add_comms(
	struct weft_tool_report *to, const struct weft_top_proc *proc)
{
	struct weft_tool_report *list =
		weft_tool_report_list(to, "communicators");

	for (uint32_t i = 0; i < proc->n_comms; i++) {
		const struct weft_top_comm *comm = &proc->comms[i];
		struct weft_tool_report *one =
			weft_tool_report_object(list, NULL);

		weft_tool_report_text(one, "name", "%s", comm->name);
		weft_tool_report_number(
			one, "size", (uint64_t)comm->size, NULL);
		weft_tool_report_number(one, "posted", comm->n_posted, NULL);
		weft_tool_report_number(
			one, "unexpected", comm->n_unexpected, NULL);
	}
}

static void add_counters(
	struct weft_tool_report *to, const struct weft_top_proc *proc)
{
	struct weft_tool_report *values =
		weft_tool_report_object(to, "counters");
	struct weft_tool_report *rates =
		weft_tool_report_object(to, "per_second");

	for (size_t i = 0; i < weft_counter_count(); i++) {
		const char *name = weft_counter_desc(i)->name;

		weft_tool_report_number(
			values, name, proc->now.counters[i], NULL);
		weft_tool_report_number(rates, name,
			weft_top_rate(proc, proc->before.counters[i],
				proc->now.counters[i]),
			NULL);
	}
	weft_tool_report_number(
		values, "collectives", proc->now.n_collectives, NULL);
	weft_tool_report_number(rates, "collectives",
		weft_top_rate(proc, proc->before.n_collectives,
			proc->now.n_collectives),
		NULL);
}

static void add_rank(
	struct weft_tool_report *list, const struct weft_top_proc *proc)
{
	struct weft_tool_report *one = weft_tool_report_object(list, NULL);

	weft_tool_report_number(one, "rank", proc->rank, NULL);
	weft_tool_report_number(one, "pid", (uint64_t)proc->pid, NULL);
	if (*proc->host)
		weft_tool_report_text(one, "node", "%s", proc->host);
	weft_tool_report_text(one, "process_state", "%c", proc->state);
	weft_tool_report_flag(one, "readable", proc->is_readable);
	weft_tool_report_flag(one, "session", proc->has_session);
	weft_tool_report_flag(one, "waits", proc->is_waiting);
	weft_tool_report_number(one, "memory", proc->memory, NULL);
	weft_tool_report_number(
		one, "shared_memory", proc->shared_memory, NULL);
	if (proc->is_waiting || proc->is_polling)
		add_wait(one, proc);
	add_comms(one, proc);
	add_counters(one, proc);
}

void weft_top_print_json(const struct weft_top_job *job,
	const struct weft_top_verdict *verdict, FILE *to)
{
	static const char *const states[] = {
		[WEFT_TOP_MOVES] = "moves",
		[WEFT_TOP_WAITS] = "waits",
		[WEFT_TOP_STUCK] = "cannot end",
	};
	struct weft_tool_report *report = weft_tool_report_create();
	struct weft_tool_report *cycle, *waits_for, *list;

	weft_tool_report_text(report, "job", "%s", job->name);
	weft_tool_report_number(report, "size", job->size, NULL);
	weft_tool_report_number(report,
		job->n_nodes ? "on_these_nodes" : "on_this_node", job->n, NULL);
	if (job->n_nodes)
		weft_tool_report_number(report, "nodes", job->n_nodes, NULL);
	weft_tool_report_text(report, "state", "%s", states[verdict->state]);
	weft_tool_report_text(report, "sentence", "%s", verdict->sentence);
	cycle = weft_tool_report_list(report, "cycle");
	waits_for = weft_tool_report_list(report, "waits_for");
	for (uint32_t i = 0; i < verdict->n_ranks; i++)
		weft_tool_report_number(
			verdict->state == WEFT_TOP_STUCK ? cycle : waits_for,
			NULL, verdict->ranks[i], NULL);
	list = weft_tool_report_list(report, "ranks");
	for (size_t i = 0; i < job->n; i++)
		add_rank(list, &job->procs[i]);
	weft_tool_report_print_json(report, to);
	weft_tool_report_destroy(report);
}
