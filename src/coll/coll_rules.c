/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_rules: parses rules, and selects an algorithm by rules */
#include "coll/coll_algo.h"

#include "base/input.h"
#include "base/knob.h"
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE_LEN = 256,
	WORDS = 12,
	SHARE_ALL = 1,
	SHARE_SOME = 2,
	SHARE_NONE = 4
};

struct range {
	int64_t from, to;
};

struct rule {
	enum weft_coll_kind kind;
	struct range procs, bytes, per_node, bundle;
	int shares;
	int is_commutative; /* 1: commutative operations; 0: others; -1: all */
	int shares_cores;   /* 1: only if processes share cores; 0: only if
			     not; -1: both */
	char fabric[16];    /* "": any fabric */
	const struct weft_coll_algo *algo;
	const struct rule *next; /* next rule of the same operation */
	char text[LINE_LEN];	 /* the rule as it was read */
	int line;		 /* line number in the file; 0: built in */
};

static const char *const built_in[] = {
#include "coll/coll_rules.def"
};

/* Set once, by weft_coll_rules_load(), except is_warned. */
static struct {
	pthread_once_t once;
	int err;
	char why[2 * LINE_LEN + 2];
	struct rule *rules;
	size_t n, n_room;
	size_t n_read; /* the first n_read rules are from a file */
	const struct rule *first[WEFT_COLL_N];
	const struct weft_coll_algo *forced[WEFT_COLL_N];
	atomic_bool is_warned[WEFT_COLL_N];
} table = { .once = PTHREAD_ONCE_INIT };

static const char *const kinds[WEFT_COLL_N] = {
	[WEFT_COLL_BARRIER] = "barrier",
	[WEFT_COLL_BCAST] = "bcast",
	[WEFT_COLL_GATHER] = "gather",
	[WEFT_COLL_SCATTER] = "scatter",
	[WEFT_COLL_ALLGATHER] = "allgather",
	[WEFT_COLL_ALLTOALL] = "alltoall",
	[WEFT_COLL_REDUCE] = "reduce",
	[WEFT_COLL_ALLREDUCE] = "allreduce",
	[WEFT_COLL_REDUCE_SCATTER] = "reduce_scatter",
	[WEFT_COLL_SCAN] = "scan",
	[WEFT_COLL_EXSCAN] = "exscan",
	[WEFT_COLL_NEIGHBOR_ALLGATHER] = "neighbor_allgather",
	[WEFT_COLL_NEIGHBOR_ALLTOALL] = "neighbor_alltoall",
};

const char *weft_coll_kind_name(enum weft_coll_kind kind)
{
	return kinds[kind];
}

enum weft_coll_kind weft_coll_kind_of(const char *name, size_t len)
{
	enum weft_coll_kind kind = WEFT_COLL_BARRIER;

	while (kind < WEFT_COLL_N &&
		(strncmp(kinds[kind], name, len) != 0 || kinds[kind][len]))
		kind++;
	return kind;
}

/* ---- text ---- */

/* Writes the reason to `why`. Returns false. */
static bool rule_refuse(char *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static bool rule_refuse(char *why, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, LINE_LEN, format, ap);
	va_end(ap);
	return false;
}

static bool rule_refuse_kind(char *why, const char *word, size_t len)
{
	size_t at = (size_t)snprintf(why, LINE_LEN,
		"\"%.*s\" is not an operation; the operations are", (int)len,
		word);

	for (int k = 0; k < WEFT_COLL_N && at < LINE_LEN; k++)
		at += (size_t)snprintf(
			why + at, LINE_LEN - at, " %s", kinds[k]);
	return false;
}

static const struct weft_coll_algo *find_algo(
	enum weft_coll_kind kind, const char *name)
{
	const struct weft_coll_algo *algo;

	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++)
		if (algo->kind == kind && !strcmp(algo->name, name))
			return algo;
	return NULL;
}

static bool rule_refuse_algo(
	char *why, enum weft_coll_kind kind, const char *word)
{
	const struct weft_coll_algo *algo;
	size_t at = (size_t)snprintf(why, LINE_LEN,
		"\"%.60s\" is not an algorithm of %s; the algorithms are", word,
		kinds[kind]);

	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++)
		if (algo->kind == kind && at < LINE_LEN)
			at += (size_t)snprintf(
				why + at, LINE_LEN - at, " %s", algo->name);
	return false;
}

int64_t weft_coll_bytes_of(const char *text, size_t len)
{
	int64_t v = 0;
	size_t i = 0;
	const char *units = "KMG", *unit;

	for (; i < len && isdigit((unsigned char)text[i]); i++)
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, text[i] - '0', &v))
			return -1;
	if (i == 0)
		return -1;
	if (i < len &&
		(unit = strchr(units, toupper((unsigned char)text[i]))) &&
		*unit) {
		if (v > INT64_MAX >> (10 * (unit - units + 1)))
			return -1;
		v <<= 10 * (unit - units + 1);
		i++;
	}
	return i == len ? v : -1;
}

/* Parses a range: "8", "8-64K", "-64K" or "8-". */
static bool rule_range(const char *text, struct range *range)
{
	const char *dash = strchr(text, '-');
	size_t len = strlen(text);

	range->from = 0;
	range->to = INT64_MAX;
	if (!dash) {
		range->from = range->to = weft_coll_bytes_of(text, len);
		return range->from >= 0;
	}
	if (len == 1)
		return false;
	if (dash > text)
		range->from = weft_coll_bytes_of(text, (size_t)(dash - text));
	if (dash[1])
		range->to = weft_coll_bytes_of(dash + 1, strlen(dash + 1));
	return range->from >= 0 && range->to >= range->from;
}

static bool rule_share(const char *value, int *shares)
{
	if (!strcmp(value, "all"))
		*shares = SHARE_ALL;
	else if (!strcmp(value, "some"))
		*shares = SHARE_SOME;
	else if (!strcmp(value, "none"))
		*shares = SHARE_NONE;
	else
		return false;
	return true;
}

static bool rule_either(
	const char *value, const char *yes, const char *no, int *out)
{
	*out = !strcmp(value, yes);
	return *out || !strcmp(value, no);
}

static const char *rule_values(const char *word)
{
	if (!strcmp(word, "commutative"))
		return "yes or no";
	if (!strcmp(word, "cores"))
		return "own or shared";
	if (!strcmp(word, "share"))
		return "all, some or none";
	if (!strcmp(word, "fabric"))
		return "a name of up to 15 characters";
	return "a range like 8-64K, -64K or 8-, the lower end first";
}

static bool rule_condition(struct rule *rule, char *word, char *why)
{
	char *value = strchr(word, '=');
	bool is_right;

	if (!value)
		return rule_refuse(why,
			"\"%.60s\" is not a condition such as bytes=8-64K",
			word);
	*value++ = 0;
	if (!strcmp(word, "procs"))
		is_right = rule_range(value, &rule->procs);
	else if (!strcmp(word, "bytes"))
		is_right = rule_range(value, &rule->bytes);
	else if (!strcmp(word, "per-node"))
		is_right = rule_range(value, &rule->per_node);
	else if (!strcmp(word, "bundle"))
		is_right = rule_range(value, &rule->bundle);
	else if (!strcmp(word, "share"))
		is_right = rule_share(value, &rule->shares);
	else if (!strcmp(word, "commutative"))
		is_right =
			rule_either(value, "yes", "no", &rule->is_commutative);
	else if (!strcmp(word, "cores"))
		is_right = rule_either(
			value, "shared", "own", &rule->shares_cores);
	else if (!strcmp(word, "fabric"))
		is_right = snprintf(rule->fabric, sizeof(rule->fabric), "%s",
				   value) < (int)sizeof(rule->fabric);
	else
		return rule_refuse(why,
			"\"%.60s\" is not a condition; the conditions are "
			"procs, bytes, "
			"per-node, bundle, share, cores, commutative and "
			"fabric",
			word);
	return is_right ||
	       rule_refuse(why, "\"%.60s\" is not a value of %s, which is %s",
		       value, word, rule_values(word));
}

/* Parses a rule from a line that is not blank. */
static bool read_rule(struct rule *rule, const char *line, char *why)
{
	const struct range any = { 0, INT64_MAX };
	char copy[LINE_LEN], *words[WORDS], *rest = NULL;
	int n = 0;

	*rule = (struct rule){ .procs = any,
		.bytes = any,
		.per_node = any,
		.bundle = any,
		.shares = SHARE_ALL | SHARE_SOME | SHARE_NONE,
		.is_commutative = -1,
		.shares_cores = -1 };
	snprintf(copy, sizeof(copy), "%s", line);
	snprintf(rule->text, sizeof(rule->text), "%s", line);
	rule->text[strcspn(rule->text, "\r\n")] = 0;
	for (char *w = strtok_r(copy, " \t\r\n", &rest); w && n < WORDS;
		w = strtok_r(NULL, " \t\r\n", &rest))
		words[n++] = w;
	rule->kind = weft_coll_kind_of(words[0], strlen(words[0]));
	if (rule->kind == WEFT_COLL_N)
		return rule_refuse_kind(why, words[0], strlen(words[0]));
	if (n < 2)
		return rule_refuse(why,
			"an algorithm is missing after \"%.60s\"", words[0]);
	for (int i = 1; i < n - 1; i++)
		if (!rule_condition(rule, words[i], why))
			return false;
	rule->algo = find_algo(rule->kind, words[n - 1]);
	return rule->algo || rule_refuse_algo(why, rule->kind, words[n - 1]);
}

/* ---- loading rules ---- */

static bool add_rule(const char *line, char *why)
{
	if (table.n == table.n_room) {
		size_t room = table.n_room ? 2 * table.n_room : 64;
		struct rule *rules =
			realloc(table.rules, room * sizeof(*rules));

		if (!rules)
			return rule_refuse(why, "out of memory");
		table.rules = rules;
		table.n_room = room;
	}
	if (!read_rule(&table.rules[table.n], line, why))
		return false;
	table.n++;
	return true;
}

static void fail_load(const char *where, const char *why)
{
	table.err = WEFT_ERR_ARG;
	snprintf(
		table.why, sizeof(table.why), "%.*s: %s", LINE_LEN, where, why);
}

static void read_file(const char *path)
{
	const char *refusal;
	FILE *file = weft_input_open(path, false, &refusal);
	char line[LINE_LEN], why[LINE_LEN], where[LINE_LEN];
	int number = 0;
	size_t n = 0;

	if (!file) {
		snprintf(where, sizeof(where), "WEFT_COLL_FILE %.200s", path);
		fail_load(where, refusal);
		return;
	}
	while (!table.err && fgets(line, sizeof(line), file)) {
		size_t len = strlen(line);
		char *sharp = strchr(line, '#');
		bool is_whole = (len && line[len - 1] == '\n') || feof(file);

		number++;
		snprintf(where, sizeof(where), "%.200s:%d", path, number);
		if (sharp)
			*sharp = 0;
		if (!is_whole)
			fail_load(where, "a line of more than 254 characters");
		else if (line[strspn(line, " \t\r\n")] && !add_rule(line, why))
			fail_load(where, why);
		for (; !table.err && n < table.n; n++)
			table.rules[n].line = number;
	}
	if (!table.err && ferror(file)) {
		snprintf(where, sizeof(where), "WEFT_COLL_FILE %.200s", path);
		fail_load(where, strerror(errno));
	}
	fclose(file);
	table.n_read = table.n;
}

/* Parses WEFT_COLL, for example "allreduce:doubling,bcast:binomial". */
static void read_forced(const char *text)
{
	char why[LINE_LEN], name[64];

	while (*text && !table.err) {
		size_t len = strcspn(text, ",");
		size_t colon = strcspn(text, ":,");
		enum weft_coll_kind kind = weft_coll_kind_of(text, colon);

		snprintf(name, sizeof(name), "%.*s",
			colon < len ? (int)(len - colon - 1) : 0,
			colon < len ? text + colon + 1 : "");
		if (kind == WEFT_COLL_N) {
			rule_refuse_kind(why, text, colon);
			fail_load("WEFT_COLL", why);
		} else {
			table.forced[kind] = find_algo(kind, name);
			if (!table.forced[kind]) {
				rule_refuse_algo(why, kind, name);
				fail_load("WEFT_COLL", why);
			}
		}
		text += len + (text[len] == ',');
	}
}

/* Links the rules of each operation in their order. */
static void link_rules(void)
{
	const struct rule **ends[WEFT_COLL_N];

	for (int k = 0; k < WEFT_COLL_N; k++)
		ends[k] = &table.first[k];
	for (size_t i = 0; i < table.n; i++) {
		struct rule *rule = &table.rules[i];

		*ends[rule->kind] = rule;
		ends[rule->kind] = &rule->next;
	}
}

static void load(void)
{
	char why[LINE_LEN];

	weft_knob_load();
	if (weft_knobs.coll_file[0])
		read_file(weft_knobs.coll_file);
	read_forced(weft_knobs.coll);
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		if (!add_rule(built_in[i], why) && !table.err)
			fail_load("built-in rules", why);
	link_rules();
}

int weft_coll_rules_load(void)
{
	pthread_once(&table.once, load);
	return table.err ? weft_err_set(table.err, "%s", table.why) : 0;
}

uint32_t weft_coll_rules_digest(void)
{
	uint32_t sum = 5381;

	weft_coll_rules_load();
	for (size_t i = 0; i < table.n_read; i++)
		for (const char *p = table.rules[i].text; *p; p++)
			sum = sum * 33 + (unsigned char)*p;
	for (const char *p = weft_knobs.coll; *p; p++)
		sum = sum * 33 + (unsigned char)*p;
	return sum * 33 + (uint32_t)weft_knobs.coll_reproducible;
}

/* ---- selection ---- */

static bool range_has(const struct range *range, int64_t value)
{
	return value >= range->from && value <= range->to;
}

static int share_of(const struct weft_coll_case *c)
{
	if (c->n_nodes == 1)
		return SHARE_ALL;
	return c->n_nodes && c->most > 1 ? SHARE_SOME : SHARE_NONE;
}

static bool fits(const struct rule *rule, const struct weft_coll_case *c)
{
	return rule->shares & share_of(c) &&
	       range_has(&rule->bytes, c->bytes) &&
	       range_has(&rule->procs, c->n) &&
	       range_has(&rule->per_node, c->n_nodes ? c->most : 1) &&
	       range_has(&rule->bundle, c->n_per_bundle) &&
	       (rule->is_commutative < 0 ||
		       rule->is_commutative == c->is_commutative) &&
	       (rule->shares_cores < 0 ||
		       rule->shares_cores == c->shares_cores) &&
	       (!rule->fabric[0] || !strcmp(rule->fabric, c->fabric)) &&
	       weft_coll_can(rule->algo, c);
}

/* The first algorithm of an operation that supports all calls. */
static const struct weft_coll_algo *plain_algo(const struct weft_coll_case *c)
{
	const struct weft_coll_algo *algo;

	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++)
		if (algo->kind == c->kind && algo->needs == 0)
			break;
	return algo;
}

const struct weft_coll_algo *weft_coll_forced(enum weft_coll_kind kind)
{
	weft_coll_rules_load();
	return table.forced[kind];
}

void weft_coll_warn_forced(
	const struct weft_coll_case *c, const struct weft_coll_algo *taken)
{
	const struct weft_coll_algo *forced = table.forced[c->kind];

	if (!forced || forced == taken ||
		atomic_exchange_explicit(
			&table.is_warned[c->kind], true, memory_order_relaxed))
		return;
	weft_log_warn("COLL-FORCED",
		"WEFT_COLL=%s:%s cannot do every case (%lld bytes among %d "
		"members: %s); \"%s\" is used there",
		kinds[c->kind], forced->name, (long long)c->bytes, (int)c->n,
		weft_coll_cannot(forced, c), taken->name);
}

int64_t weft_coll_border(enum weft_coll_kind kind, int64_t bytes)
{
	const struct rule *rule;
	int64_t next = INT64_MAX;

	weft_coll_rules_load();
	for (rule = table.first[kind]; rule; rule = rule->next) {
		if (rule->bytes.from > bytes)
			next = weft_min64(next, rule->bytes.from);
		if (rule->bytes.to >= bytes && rule->bytes.to < INT64_MAX)
			next = weft_min64(next, rule->bytes.to + 1);
	}
	return next;
}

const struct weft_coll_algo *weft_coll_choose(
	const struct weft_coll_case *c, struct weft_coll_why *why_out)
{
	const struct weft_coll_algo *forced;
	const struct rule *rule;

	weft_coll_rules_load();
	forced = table.forced[c->kind];
	if (forced && weft_coll_can(forced, c)) {
		if (why_out)
			*why_out = (struct weft_coll_why){ "WEFT_COLL",
				WEFT_COLL_WHY_FORCED };
		return forced;
	}
	for (rule = table.first[c->kind]; rule; rule = rule->next) {
		if (!fits(rule, c))
			continue;
		if (why_out)
			*why_out = (struct weft_coll_why){ rule->text,
				rule->line };
		return rule->algo;
	}
	return plain_algo(c);
}
