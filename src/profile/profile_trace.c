/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_trace: writes the timeline as JSON of Chromium's trace format
 *
 * In this format, a rank is a process and a thread of the rank is a thread. The
 * i-th send with a source, destination, tag and context matches the i-th
 * receive with the same values, because messages do not overtake each other. */
#include "profile/profile_report.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* One end of a message. */
struct trace_end {
	uint64_t context;
	int32_t from, to, tag; /* ranks of the communicator */
	uint32_t rank, thread;
	const struct weft_profile_event *event;
	double us; /* time at which the arrow begins or ends */
};

struct trace {
	const struct weft_profile_report *report;
	FILE *out;
	const struct weft_profile_head **clocks; /* indexed by rank: head of
						    the first rank of its
						    node */
	double base_s; /* time of day from which times count, so that they
			  are exact to a nanosecond */
	double zero_s; /* time of the first call of the job */
	struct trace_end *sends, *receives;
	size_t n_sends, n_receives;
};

/* Converts ticks to seconds. Ranks of one node have one clock. This clock is
 * corrected by its comparisons with rank 0's clock at the start and the end of
 * the job. Without comparisons, its time of day is used. */
static double seconds_at(const struct trace *trace,
	const struct weft_profile_head *head, uint64_t ticks)
{
	double s = head->epoch_s - trace->base_s +
		   (double)(int64_t)(ticks - head->epoch_ticks) * head->tick_s;
	double offset = head->clocks[0].offset_s;
	double begin = head->clocks[0].at_s - trace->base_s;
	double span = head->clocks[1].at_s - head->clocks[0].at_s;

	if (head->n_clocks == 2 && span > 0)
		offset += (head->clocks[1].offset_s - offset) * (s - begin) /
			  span;
	return head->n_clocks ? s - offset : s;
}

static double us_at(const struct trace *trace, uint32_t rank, uint64_t ticks)
{
	return (seconds_at(trace, trace->clocks[rank], ticks) - trace->zero_s) *
	       1e6;
}

/* ---- slices ---- */

static void trace_slice(struct trace *trace, uint32_t rank, uint32_t thread,
	const struct weft_profile_event *event)
{
	double us = us_at(trace, rank, event->start);

	fprintf(trace->out,
		",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,"
		"\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
		weft_profile_names[event->procedure].name, rank, thread, us,
		us_at(trace, rank, event->end) - us);
	if (event->sends)
		fprintf(trace->out, "\"to\":%d,\"tag\":%d,\"bytes\":%llu%s",
			event->to, event->to_tag,
			(unsigned long long)event->bytes,
			event->receives ? "," : "");
	else if (event->bytes)
		fprintf(trace->out, "\"bytes\":%llu%s",
			(unsigned long long)event->bytes,
			event->receives ? "," : "");
	if (event->receives)
		fprintf(trace->out, "\"from\":%d,\"from_tag\":%d", event->from,
			event->from_tag);
	fputs("}}", trace->out);
}

/* ---- arrows ---- */

/* Returns the call that completes a nonblocking receive. The record does not
 * have it, so the next call of the thread that waits or tests is used. */
static const struct weft_profile_event *trace_completion(
	const struct weft_profile_table *table, uint32_t i)
{
	for (uint32_t k = i + 1; k < table->n_events; k++)
		if (weft_profile_names[table->events[k].procedure].completes)
			return &table->events[k];
	return &table->events[i];
}

static void trace_collect(struct trace *trace, uint32_t rank, uint32_t thread,
	const struct weft_profile_table *table)
{
	for (uint32_t i = 0; i < table->n_events; i++) {
		const struct weft_profile_event *event = &table->events[i];
		struct trace_end end = { .context = event->context,
			.rank = rank,
			.thread = thread,
			.event = event };

		if (event->sends) {
			end.from = event->me;
			end.to = event->to;
			end.tag = event->to_tag;
			end.us = us_at(trace, rank, event->start);
			trace->sends[trace->n_sends++] = end;
		}
		if (event->receives) {
			if (!weft_profile_names[event->procedure].waits)
				event = trace_completion(table, i);
			end.from = table->events[i].from;
			end.to = table->events[i].me;
			end.tag = table->events[i].from_tag;
			/* 2 ns before the end, so that the arrow ends within
			 * the slice, whose start and length are rounded */
			end.us = us_at(trace, rank, event->end) - 0.002;
			trace->receives[trace->n_receives++] = end;
		}
	}
}

static int trace_order(const struct trace_end *x, const struct trace_end *y)
{
	if (x->context != y->context)
		return x->context < y->context ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->tag > y->tag) - (x->tag < y->tag);
}

static int trace_by_key(const void *a, const void *b)
{
	const struct trace_end *x = a, *y = b;
	int order = trace_order(x, y);

	return order ? order
		     : (x->event->start > y->event->start) -
			       (x->event->start < y->event->start);
}

static void trace_arrow(struct trace *trace, size_t id,
	const struct trace_end *send, const struct trace_end *receive)
{
	fprintf(trace->out,
		",\n{\"ph\":\"s\",\"cat\":\"message\",\"name\":\"message\","
		"\"id\":%zu,\"pid\":%u,\"tid\":%u,\"ts\":%.3f}",
		id, send->rank, send->thread, send->us);
	fprintf(trace->out,
		",\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"message\",\"name\":"
		"\"message\",\"id\":%zu,\"pid\":%u,\"tid\":%u,\"ts\":%.3f}",
		id, receive->rank, receive->thread, receive->us);
}

static void trace_match(struct trace *trace)
{
	size_t r = 0;

	qsort(trace->sends, trace->n_sends, sizeof(*trace->sends),
		trace_by_key);
	qsort(trace->receives, trace->n_receives, sizeof(*trace->receives),
		trace_by_key);
	for (size_t s = 0; s < trace->n_sends && r < trace->n_receives;) {
		int order = trace_order(&trace->sends[s], &trace->receives[r]);

		if (!order)
			trace_arrow(trace, s, &trace->sends[s],
				&trace->receives[r]);
		if (order <= 0)
			s++;
		if (order >= 0)
			r++;
	}
}

/* ---- the whole ---- */

static void trace_rank(struct trace *trace, uint32_t rank)
{
	const struct weft_profile_rank *record = &trace->report->ranks[rank];

	if (!record->head)
		return;
	fprintf(trace->out,
		",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,"
		"\"args\":{\"name\":\"rank %u\"}}"
		",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,"
		"\"args\":{\"sort_index\":%u}}",
		rank, rank, rank, rank);
	for (uint32_t t = 0; t < record->n_threads; t++) {
		const struct weft_profile_table *table =
			weft_profile_table_at(record, t);

		for (uint32_t i = 0; i < table->n_events; i++)
			trace_slice(trace, rank, t, &table->events[i]);
		trace_collect(trace, rank, t, table);
	}
}

static void trace_write(struct trace *trace, uint64_t n_dropped)
{
	fprintf(trace->out,
		"{\"displayTimeUnit\": \"ns\", \"otherData\": {\"dropped\": "
		"\"%llu\"}, \"traceEvents\": [\n{\"ph\":\"M\",\"name\":"
		"\"weft\",\"pid\":0,\"args\":{}}",
		(unsigned long long)n_dropped);
	for (uint32_t r = 0; r < trace->report->n_ranks; r++)
		trace_rank(trace, r);
	trace_match(trace);
	fputs("\n]}\n", trace->out);
}

/* Sets the clock of each rank, base_s, and the time of the first call. */
static void trace_clocks(struct trace *trace)
{
	const struct weft_profile_report *report = trace->report;

	trace->zero_s = 1e300;
	for (uint32_t r = 0; r < report->n_ranks; r++) {
		uint32_t same = 0;

		if (!report->ranks[r].head)
			continue;
		while (!report->ranks[same].head ||
			strcmp(report->ranks[same].head->host,
				report->ranks[r].head->host))
			same++;
		trace->clocks[r] = report->ranks[same].head;
		if (trace->base_s == 0)
			trace->base_s = trace->clocks[r]->epoch_s;
		for (uint32_t t = 0; t < report->ranks[r].n_threads; t++) {
			double first = seconds_at(trace, trace->clocks[r],
				weft_profile_table_at(&report->ranks[r], t)
					->first);

			if (first < trace->zero_s)
				trace->zero_s = first;
		}
	}
}

int weft_profile_trace(const struct weft_profile_report *report, FILE *out)
{
	struct trace trace = { .report = report, .out = out };
	uint64_t n_events = 0, n_dropped = 0;
	int err = WEFT_ERR_NOMEM;

	for (uint32_t r = 0; r < report->n_ranks; r++)
		for (uint32_t t = 0; t < report->ranks[r].n_threads; t++) {
			const struct weft_profile_table *table =
				weft_profile_table_at(&report->ranks[r], t);

			n_events += table->n_events;
			n_dropped += table->n_dropped;
		}
	trace.clocks = calloc(report->n_ranks + 1, sizeof(*trace.clocks));
	trace.sends = calloc(n_events + 1, sizeof(*trace.sends));
	trace.receives = calloc(n_events + 1, sizeof(*trace.receives));
	if (trace.clocks && trace.sends && trace.receives) {
		trace_clocks(&trace);
		trace_write(&trace, n_dropped);
		err = 0;
	}
	free(trace.clocks);
	free(trace.sends);
	free(trace.receives);
	return err;
}
