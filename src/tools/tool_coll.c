/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_coll: weft-info --coll */
#include "tools/tool_coll.h"

#include "base/knob.h"
#include "base/plain.h"
#include "coll/coll_cost.h"

#include <stdarg.h>
#include <string.h>

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
		return tool_coll_refuse(
			"--coll %s: there is one algorithm, and its cost "
			"is the neighbours'",
			name);
	fprintf(stderr,
		"weft-info: --coll %s: there is no such operation; there are",
		name);
	for (int k = 0; k < WEFT_COLL_NEIGHBOR_ALLGATHER; k++)
		fprintf(stderr, " %s",
			weft_coll_kind_name((enum weft_coll_kind)k));
	fputc('\n', stderr);
	return 2;
}

/* A number between low and high; text NULL leaves it. */
static int read_number(const char *option, const char *text, int64_t low,
	int64_t high, int64_t *out)
{
	int64_t v;

	if (!text)
		return 0;
	v = weft_coll_bytes_of(text, strlen(text));
	if (v < low || v > high)
		return tool_coll_refuse(
			"%s %s: a whole number between %lld and %lld is "
			"needed, as in 64K",
			option, text, (long long)low, (long long)high);
	*out = v;
	return 0;
}

static int read_fabric(const char *name, const struct weft_coll_link **out)
{
	const struct weft_coll_link *link;

	*out = weft_coll_link_of(name);
	if (*out && !(*out)->is_local && (*out)->is_net)
		return 0;
	fprintf(stderr,
		"weft-info: --fabric %s: there are no parameters of "
		"it; there are",
		name);
	for (size_t i = 0; (link = weft_coll_link_at(i)) != NULL; i++)
		if (link->is_net)
			fprintf(stderr, " %s", link->name);
	fputc('\n', stderr);
	return 2;
}

static int read_machine(const struct weft_tool_coll *asked,
	struct weft_coll_machine *machine, int64_t *bytes)
{
	int64_t n = 2, k;
	int bad =
		read_number("--size", asked->size, 0, INT64_C(1) << 30, bytes);

	bad = bad ? bad
		  : read_number("--procs", asked->procs, 1,
			    WEFT_COLL_COST_PROCS, &n);
	k = n;
	bad = bad ? bad
		  : read_number("--per-node", asked->per_node, 1,
			    WEFT_COLL_COST_PROCS, &k);
	machine->n = (int32_t)n;
	machine->per_node = (int32_t)k;
	return bad ? bad
		   : read_fabric(asked->fabric ? asked->fabric : "tcp",
			     &machine->net);
}

/* ---- what is said ---- */

static void say_why(struct weft_tool_report *at, const struct weft_coll_case *c,
	const struct weft_coll_why *why)
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

static int add_candidates(struct weft_tool_report *list,
	const struct weft_coll_machine *machine, const struct weft_coll_case *c,
	const struct weft_coll_algo *chosen, int64_t bytes)
{
	const struct weft_coll_algo *algo;
	int err = 0;

	for (size_t i = 0; !err && (algo = weft_coll_algo_at(i)); i++) {
		struct weft_tool_report *row;
		const char *why = weft_coll_cannot(algo, c);
		double ns = 0;

		if (algo->kind != c->kind)
			continue;
		row = weft_tool_report_object(list, NULL);
		weft_tool_report_text(row, "algorithm", "%s", algo->name);
		if (!why)
			err = weft_coll_cost(machine, algo, bytes, &ns);
		if (why)
			weft_tool_report_text(row, "predicted_us", "-");
		else
			weft_tool_report_text(
				row, "predicted_us", "%.2f", ns / 1e3);
		weft_tool_report_text(row, "verdict", "%s%s",
			why		 ? "cannot: "
			: algo == chosen ? "chosen"
					 : "could",
			why ? why : "");
	}
	return err;
}

static void add_links(
	struct weft_tool_report *list, const struct weft_coll_machine *machine)
{
	const struct weft_coll_link *link;

	for (size_t i = 0; (link = weft_coll_link_at(i)) != NULL; i++) {
		struct weft_tool_report *row;

		if (link->is_net && link != machine->net)
			continue;
		row = weft_tool_report_object(list, NULL);
		weft_tool_report_text(row, "way", "%s", link->name);
		weft_tool_report_text(row, "L_ns", "%g", link->latency);
		weft_tool_report_text(row, "o_ns", "%g", link->overhead);
		weft_tool_report_text(row, "g_ns", "%g", link->gap);
		weft_tool_report_text(row, "G_ns", "%g", link->per_byte);
		weft_tool_report_text(row, "source", "%s", link->source);
	}
}

int weft_tool_coll_show(struct weft_tool_report *report, const char *name,
	const struct weft_tool_coll *asked)
{
	struct weft_tool_report *at;
	struct weft_coll_machine machine;
	struct weft_coll_why why = { "the one that can do all", 0 };
	struct weft_coll_case c;
	const struct weft_coll_algo *chosen;
	enum weft_coll_kind kind;
	int64_t bytes = 8;
	int bad = read_kind(asked->operation, &kind);

	bad = bad ? bad : read_machine(asked, &machine, &bytes);
	if (bad)
		return bad;
	if (weft_coll_rules_load())
		return tool_coll_refuse(
			"%s", weft_err_detail_peek(WEFT_ERR_ARG));
	if (weft_coll_machine_case(&machine, kind, bytes, &c))
		return tool_coll_refuse("no memory");
	chosen = weft_coll_choose(&c, &why);
	at = weft_tool_report_object(report, name);
	weft_tool_report_text(at, "operation", "%s", asked->operation);
	weft_tool_report_number(at, "size", (uint64_t)bytes, "bytes");
	weft_tool_report_number(at, "procs", (uint64_t)machine.n, NULL);
	weft_tool_report_number(
		at, "per_node", (uint64_t)machine.per_node, NULL);
	weft_tool_report_text(at, "between nodes", "%s", machine.net->name);
	weft_tool_report_text(at, "chosen", "%s", chosen->name);
	say_why(at, &c, &why);
	if (add_candidates(weft_tool_report_list(at, "candidates"), &machine,
		    &c, chosen, bytes))
		return tool_coll_refuse("no memory for so many processes");
	add_links(weft_tool_report_list(at, "model (LogGP)"), &machine);
	return 0;
}
