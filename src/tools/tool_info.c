/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_info: weft-info, what this installation is and what it would do
 *
 * Each topic is one function that writes to standard output and returns an
 * exit code. Only the topic that needs it opens a session or an endpoint. */
#include "base/err.h"
#include "base/knob.h"
#include "core/group.h"
#include "core/proc.h"
#include "net/net.h"
#include "session/pset.h"
#include "session/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct topic {
	const char *option;
	const char *sentence;
	int (*show)(void);
};

struct api_row {
	const char *name;
	bool is_there;
};

static const struct api_row api_rows[] = {
#include "api_list.h"
};

enum { N_API = sizeof(api_rows) / sizeof(api_rows[0]) };

struct shmem_row {
	const char *name;
	bool is_deprecated;
};

static const struct shmem_row shmem_rows[] = {
#include "api_shmem_list.h"
};

enum { N_SHMEM = sizeof(shmem_rows) / sizeof(shmem_rows[0]) };

/* Those of shmemx.h are not of the standard. */
static bool is_beyond(const struct shmem_row *row)
{
	return strncmp(row->name, "shmemx_", 7) == 0;
}

static void count_shmem(size_t *n_current, size_t *n_old, size_t *n_beyond)
{
	*n_current = *n_old = *n_beyond = 0;
	for (size_t i = 0; i < N_SHMEM; i++) {
		if (is_beyond(&shmem_rows[i]))
			++*n_beyond;
		else if (shmem_rows[i].is_deprecated)
			++*n_old;
		else
			++*n_current;
	}
}

/* Options that go with a topic. */
static struct {
	const char *provider;
	const char *iface;
	bool is_brief;
} wishes;

static int complain(const char *what, int err)
{
	const char *detail = weft_err_detail_peek(err);

	fprintf(stderr, "weft-info: %s: %s\n", what,
		*detail ? detail : weft_err_str(err));
	return 1;
}

static int show_version(void)
{
	uint32_t now = fi_version();
	size_t n_there = 0, n_current, n_old, n_beyond;

	for (size_t i = 0; i < N_API; i++)
		n_there += api_rows[i].is_there;
	count_shmem(&n_current, &n_old, &n_beyond);
	printf("weft %s\n", WEFT_VERSION);
	printf("MPI 5.0, standard ABI 1.0: %zu of %d procedures\n", n_there,
		N_API);
	printf("OpenSHMEM 1.6: all %zu procedures and %zu deprecated ones\n",
		n_current, n_old);
	printf("libfabric %u.%u (built with %s)\n", FI_MAJOR(now),
		FI_MINOR(now), WEFT_BUILT_FABRIC);
	printf("built with pmix %s, hwloc %s\n", WEFT_BUILT_PMIX,
		WEFT_BUILT_HWLOC);
	printf("compiler %s\n", __VERSION__);
	printf("prefix %s\n", WEFT_PREFIX);
	return 0;
}

static const char *source_word(enum weft_knob_source source)
{
	switch (source) {
	case WEFT_KNOB_ENV:
		return "environment";
	case WEFT_KNOB_REFUSED:
		return "default (refused)";
	default:
		return "default";
	}
}

static int show_knobs(void)
{
	char buf[32];

	printf("%-24s %-12s %-18s %s\n", "variable", "value", "from",
		"meaning");
	for (size_t i = 0; i < weft_knob_count(); i++) {
		const struct weft_knob_desc *d = weft_knob_desc(i);
		const char *value = weft_knob_value(i, buf, sizeof(buf));

		printf("WEFT_%-19s %-12s %-18s %s", d->name,
			*value ? value : "\"\"", source_word(d->source),
			d->sentence);
		if (d->unit)
			printf(" [%s]", d->unit);
		else if (*d->values)
			printf(" [%s]", d->values);
		putchar('\n');
	}
	return 0;
}

/* The knobs as the roff list that weft(7) contains. */
static int show_man_knobs(void)
{
	for (size_t i = 0; i < weft_knob_count(); i++) {
		const struct weft_knob_desc *d = weft_knob_desc(i);

		printf(".TP\n.B WEFT_%s\n%s.\n", d->name, d->sentence);
		if (d->unit)
			printf("In %s; default %s.\n", d->unit, d->def);
		else if (*d->values)
			printf("One of %s; default %s.\n", d->values, d->def);
	}
	return 0;
}

static int show_api(void)
{
	size_t n_there = 0;

	for (size_t i = 0; i < N_API; i++) {
		n_there += api_rows[i].is_there;
		if (wishes.is_brief)
			continue;
		printf("%-12s %s\n",
			api_rows[i].is_there ? "implemented" : "missing",
			api_rows[i].name);
	}
	printf("%zu implemented, %zu missing (these raise "
	       "MPI_ERR_UNSUPPORTED_OPERATION)\n",
		n_there, N_API - n_there);
	return 0;
}

/* The build refuses one that is in the table and not written. */
static int show_shmem(void)
{
	size_t n_current, n_old, n_beyond;

	for (size_t i = 0; i < N_SHMEM && !wishes.is_brief; i++)
		printf("%-12s %s\n",
			is_beyond(&shmem_rows[i])     ? "extension"
			: shmem_rows[i].is_deprecated ? "deprecated"
						      : "current",
			shmem_rows[i].name);
	count_shmem(&n_current, &n_old, &n_beyond);
	printf("%zu current, %zu deprecated, %zu of shmemx.h; all "
	       "implemented\n",
		n_current, n_old, n_beyond);
	return 0;
}

static int show_providers(void)
{
	struct weft_net_hints hints = { .provider = wishes.provider,
		.iface = wishes.iface };
	size_t len = weft_net_explain(&hints, NULL, 0) + 1;
	char *text = malloc(len);

	if (!text)
		return complain("providers", WEFT_ERR_NOMEM);
	weft_net_explain(&hints, text, len);
	fputs(text, stdout);
	free(text);
	return 0;
}

static void ignore_message(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
}

static int show_plan(void)
{
	struct weft_net_hints hints = { .provider = wishes.provider,
		.iface = wishes.iface };
	struct weft_net *net;
	char text[8192];
	int err = weft_net_open(&hints, ignore_message, NULL, &net);

	if (err)
		return complain("no endpoint", err);
	weft_plan_print(&net->plan, text, sizeof(text));
	fputs(text, stdout);
	weft_net_close(net);
	return 0;
}

/* One set as a session sees it, with its size. */
static int show_pset(struct weft_session *session, uint32_t i)
{
	struct weft_group *group = NULL;
	const char *name = NULL;
	int err = weft_pset_name(session, i, &name);

	if (!err)
		err = weft_pset_group(session, name, &group);
	if (err)
		return complain("process set", err);
	printf("%-40s %" PRIu32 " processes\n", name, group->size);
	weft_group_put(group);
	return 0;
}

static int show_psets(void)
{
	const struct weft_boot_facts *facts = &weft_proc.facts;
	struct weft_session *session = NULL;
	uint32_t n = 0;
	int code = 0, err = weft_session_open(NULL, NULL, &session);

	if (err)
		return complain("no session", err);
	printf("manager %s, job %s, rank %" PRIu32 " of %" PRIu32
	       ", node %s with %" PRIu32 " of them\n",
		facts->manager, facts->job, facts->rank, facts->size,
		facts->host, facts->local_size);
	err = weft_pset_count(session, &n);
	if (err)
		code = complain("process sets", err);
	for (uint32_t i = 0; i < n; i++)
		code |= show_pset(session, i);
	weft_session_close(session);
	return code;
}

static const struct topic topics[] = {
	{ "--version", "version, and the libraries below (the default)",
		show_version },
	{ "--knobs", "every WEFT_ variable: value, where it came from, meaning",
		show_knobs },
	{ "--api",
		"every MPI procedure: implemented or missing; --brief: "
		"only the counts",
		show_api },
	{ "--shmem", "every OpenSHMEM procedure; --brief: only the counts",
		show_shmem },
	{ "--providers",
		"fabric providers found, and why each is or is not "
		"used",
		show_providers },
	{ "--plan", "what the library would do on the provider it chooses",
		show_plan },
	{ "--psets", "process manager and process sets; run it under mpiexec",
		show_psets },
	{ "--man-knobs", "the knobs in roff, for weft(7)", show_man_knobs },
};

enum { N_TOPICS = sizeof(topics) / sizeof(topics[0]) };

static int usage(FILE *to)
{
	fprintf(to, "usage: weft-info [topic...] [--provider NAME] "
		    "[--iface NAME] [--brief]\n");
	for (size_t i = 0; i < N_TOPICS; i++)
		fprintf(to, "  %-12s %s\n", topics[i].option,
			topics[i].sentence);
	return to == stdout ? 0 : 2;
}

static const struct topic *topic_of(const char *option)
{
	for (size_t i = 0; i < N_TOPICS; i++)
		if (strcmp(option, topics[i].option) == 0)
			return &topics[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct topic *chosen[N_TOPICS];
	int n = 0, code = 0;

	for (int i = 1; i < argc; i++) {
		const struct topic *topic = topic_of(argv[i]);

		if (topic && n < N_TOPICS)
			chosen[n++] = topic;
		else if (strcmp(argv[i], "--provider") == 0 && i + 1 < argc)
			wishes.provider = argv[++i];
		else if (strcmp(argv[i], "--iface") == 0 && i + 1 < argc)
			wishes.iface = argv[++i];
		else if (strcmp(argv[i], "--brief") == 0)
			wishes.is_brief = true;
		else
			return usage(
				strcmp(argv[i], "--help") ? stderr : stdout);
	}
	weft_knob_load();
	if (!n)
		chosen[n++] = &topics[0];
	for (int i = 0; i < n; i++) {
		if (n > 1)
			printf("%s== %s\n", i ? "\n" : "",
				chosen[i]->option + 2);
		code |= chosen[i]->show();
	}
	return code;
}
