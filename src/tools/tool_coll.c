/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_coll: weft-info --coll */
#include "tools/tool_coll.h"

#include "base/knob.h"
#include "base/plain.h"
#include "coll/coll_algo.h"
#include "coll/network.h"
#include "net/net.h"

#include <stdarg.h>
#include <string.h>

/* The job and message size of the command line. */
struct job {
	int64_t n, per_node, bytes;	    /* n: number of processes */
	const char *fabric;		    /* provider between nodes */
	const struct weft_network *network; /* for predictions, or NULL */
};

static int tool_coll_refuse(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
static int tool_coll_refuse(const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	weft_plain(text, sizeof(text));
	fprintf(stderr, "weft-info: %s\n", text);
	return 2;
}

static int read_kind(const char *name, enum weft_coll_kind *kind_out)
{
	*kind_out = weft_coll_kind_of(name, strlen(name));
	if (*kind_out < WEFT_COLL_NEIGHBOR_ALLGATHER)
		return 0;
	if (*kind_out < WEFT_COLL_N)
		return tool_coll_refuse("--coll %s: the algorithm of a "
					"neighbourhood collective "
					"depends on the topology",
			name);
	fprintf(stderr,
		"weft-info: --coll %s: no such operation; the operations are",
		name);
	for (int k = 0; k < WEFT_COLL_NEIGHBOR_ALLGATHER; k++)
		fprintf(stderr, " %s",
			weft_coll_kind_name((enum weft_coll_kind)k));
	fputc('\n', stderr);
	return 2;
}

/* Parses a number from low to high; if text is NULL, *out is unchanged. */
static int read_number(const char *option, const char *text, int64_t low,
	int64_t high, int64_t *out)
{
	int64_t v;

	if (!text)
		return 0;
	v = weft_coll_bytes_of(text, strlen(text));
	if (v < low || v > high)
		return tool_coll_refuse(
			"%s %s: expected a whole number from %lld to %lld, "
			"for example 64K",
			option, text, (long long)low, (long long)high);
	*out = v;
	return 0;
}

static int read_job(const struct weft_tool_coll *asked, struct job *job)
{
	int bad = read_number(
		"--size", asked->size, 0, INT64_C(1) << 30, &job->bytes);

	if (!bad)
		bad = read_number(
			"--procs", asked->procs, 1, INT32_MAX, &job->n);
	job->per_node = job->n;
	if (!bad)
		bad = read_number("--per-node", asked->per_node, 1, INT32_MAX,
			&job->per_node);
	if (!bad && asked->network) {
		job->network = weft_network_find(asked->network);
		if (!job->network)
			bad = tool_coll_refuse(
				"--network %s: no such network; the known "
				"networks are slingshot11, hdr and ndr",
				asked->network);
	}
	if (bad || !asked->fabric)
		return bad;
	job->fabric = asked->fabric;
	if (weft_net_is_fabric(job->fabric))
		return 0;
	return tool_coll_refuse(
		"--fabric %s: no such fabric; weft-info --providers lists them",
		asked->fabric);
}

/* ---- the report ---- */

static void add_reason(struct weft_tool_report *at,
	const struct weft_coll_case *c, const struct weft_coll_why *why)
{
	const struct weft_coll_algo *forced = weft_coll_forced(c->kind);

	if (why->line == WEFT_COLL_WHY_FORCED)
		weft_tool_report_text(at, "because", "WEFT_COLL=%s names it",
			weft_knobs.coll);
	else if (why->line)
		weft_tool_report_text(at, "because", "line %d of %s: %s",
			why->line, weft_knobs.coll_file, why->text);
	else
		weft_tool_report_text(
			at, "because", "built-in line: %s", why->text);
	if (forced && weft_coll_cannot(forced, c))
		weft_tool_report_text(at, "WEFT_COLL",
			"names %s, which cannot: %s", forced->name,
			weft_coll_cannot(forced, c));
}

/* Adds the predicted time; an empty text if there is none. */
static void add_prediction(struct weft_tool_report *row,
	const struct weft_coll_case *c, const struct weft_coll_algo *algo,
	const struct weft_network *network)
{
	if (!algo->cost || weft_coll_cannot(algo, c))
		weft_tool_report_text(row, "predicted", "%s", "");
	else
		weft_tool_report_number(row, "predicted",
			(uint64_t)weft_coll_predict(algo, c, &network->path),
			"ns");
}

static void add_candidates(struct weft_tool_report *list,
	const struct weft_coll_case *c, const struct weft_coll_algo *chosen,
	const struct weft_network *network)
{
	const struct weft_coll_algo *algo;

	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++) {
		const char *why = weft_coll_cannot(algo, c);
		struct weft_tool_report *row;

		if (algo->kind != c->kind)
			continue;
		row = weft_tool_report_object(list, NULL);
		weft_tool_report_text(row, "algorithm", "%s", algo->name);
		if (network)
			add_prediction(row, c, algo, network);
		weft_tool_report_text(row, "verdict", "%s%s",
			why		 ? "cannot: "
			: algo == chosen ? "chosen"
					 : "could",
			why ? why : "");
	}
}

int weft_tool_coll_show(struct weft_tool_report *report, const char *name,
	const struct weft_tool_coll *asked)
{
	struct job job = { .n = 2, .bytes = 8, .fabric = "tcp" };
	struct weft_coll_why why = { "the algorithm for all cases", 0 };
	struct weft_tool_report *at;
	struct weft_coll_case c;
	const struct weft_coll_algo *chosen;
	enum weft_coll_kind kind;
	int bad = read_kind(asked->operation, &kind);

	bad = bad ? bad : read_job(asked, &job);
	if (bad)
		return bad;
	if (weft_coll_rules_load())
		return tool_coll_refuse(
			"%s", weft_err_detail_peek(WEFT_ERR_ARG));
	weft_coll_case_of_job(&c, kind, (int32_t)job.n, (int32_t)job.per_node,
		job.bytes, job.fabric);
	chosen = weft_coll_choose(&c, &why);
	at = weft_tool_report_object(report, name);
	weft_tool_report_text(at, "operation", "%s", asked->operation);
	weft_tool_report_number(at, "size", (uint64_t)job.bytes, "bytes");
	weft_tool_report_number(at, "procs", (uint64_t)job.n, NULL);
	weft_tool_report_number(at, "per_node", (uint64_t)job.per_node, NULL);
	weft_tool_report_text(at, "between nodes", "%s", job.fabric);
	if (job.network)
		weft_tool_report_text(at, "network", "%s", job.network->name);
	weft_tool_report_text(at, "chosen", "%s", chosen->name);
	add_reason(at, &c, &why);
	add_candidates(weft_tool_report_list(at, "candidates"), &c, chosen,
		job.network);
	return 0;
}
