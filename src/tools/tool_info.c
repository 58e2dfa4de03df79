/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_info: weft-info, facts about this installation and its configuration
 *
 * Each topic is one function that adds its facts to a report and returns an
 * exit code. Only a topic that needs a session or an endpoint opens one. */
#include "config.h"

#include "base/counter.h"
#include "base/err.h"
#include "base/knob.h"
#include "dev/dev.h"
#include "core/group.h"
#include "core/hint.h"
#include "io/uring.h"
#include "transport/proc.h"
#include "net/libfabric.h"
#include "net/net.h"
#include "net/rma_ep.h"
#include "rma/rma.h"
#include "session/pset.h"
#include "session/session.h"
#include "tools/tool_coll.h"
#include "tools/tool_profile.h"
#include "tools/tool_report.h"
#include "topo/allowance.h"
#include "topo/nic.h"
#include "topo/topo.h"
#include "win/win.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct topic {
	const char *option;
	const char *sentence;
	int (*show)(struct weft_tool_report *report, const char *name);
	bool is_in_all; /* part of --all, and of --json without a topic */
};

struct api_row {
	const char *name;
	const char *section; /* section of the standard */
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

/* Extensions of shmemx.h, which are not in the standard. */
static bool tool_info_is_extension(const struct shmem_row *row)
{
	return strncmp(row->name, "shmemx_", 7) == 0;
}

static void count_shmem(
	size_t *n_current, size_t *n_deprecated, size_t *n_extensions)
{
	*n_current = *n_deprecated = *n_extensions = 0;
	for (size_t i = 0; i < N_SHMEM; i++) {
		if (tool_info_is_extension(&shmem_rows[i]))
			++*n_extensions;
		else if (shmem_rows[i].is_deprecated)
			++*n_deprecated;
		else
			++*n_current;
	}
}

/* Options of topics. */
static struct {
	const char *provider;
	const char *iface;
	bool is_brief;
	bool is_json;
	struct weft_tool_coll coll;
	const char *profile; /* directory of records */
} options;

static int tool_info_fail(const char *what, int err)
{
	const char *detail = weft_err_detail_peek(err);

	fprintf(stderr, "weft-info: %s: %s\n", what,
		*detail ? detail : weft_err_str(err));
	return 1;
}

static int show_version(struct weft_tool_report *report, const char *name)
{
	struct weft_tool_report *at = weft_tool_report_object(report, name);
	uint32_t now = weft_libfabric_load() ? 0 : weft_libfabric.version();
	size_t n_there = 0, n_current, n_deprecated, n_extensions;

	for (size_t i = 0; i < N_API; i++)
		n_there += api_rows[i].is_there;
	count_shmem(&n_current, &n_deprecated, &n_extensions);
	weft_tool_report_text(at, "weft", "%s", PACKAGE_VERSION);
	weft_tool_report_text(at, "mpi",
		"5.0, standard ABI 1.0: %zu of %d procedures", n_there, N_API);
	weft_tool_report_text(at, "openshmem",
		"1.6: all %zu procedures and %zu deprecated ones", n_current,
		n_deprecated);
	if (now)
		weft_tool_report_text(at, "libfabric", "%u.%u (built with %s)",
			FI_MAJOR(now), FI_MINOR(now), WEFT_BUILT_FABRIC);
	else
		weft_tool_report_text(at, "libfabric",
			"cannot be loaded (built with %s)", WEFT_BUILT_FABRIC);
	weft_tool_report_text(at, "prefix", "%s", WEFT_PREFIX);
	return 0;
}

static const char *sanitizer(void)
{
#if defined(__SANITIZE_ADDRESS__)
	return "address";
#elif defined(__SANITIZE_THREAD__)
	return "thread";
#else
	return "none";
#endif
}

static int show_build(struct weft_tool_report *report, const char *name)
{
	struct weft_tool_report *at = weft_tool_report_object(report, name);

	weft_tool_report_text(at, "compiler", "%s", __VERSION__);
	weft_tool_report_text(at, "cflags", "%s", WEFT_BUILT_CFLAGS);
	weft_tool_report_text(at, "sanitizer", "%s", sanitizer());
	weft_tool_report_text(at, "fortran", "%s", WEFT_BUILT_FORTRAN);
	weft_tool_report_text(at, "libfabric", "%s", WEFT_BUILT_FABRIC);
	weft_tool_report_text(at, "pmix", "%s", WEFT_BUILT_PMIX);
	weft_tool_report_text(at, "hwloc", "%s", WEFT_BUILT_HWLOC);
	weft_tool_report_text(
		at, "libc", "%s (running on)", gnu_get_libc_version());
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

/* The knobs for users, or those for debugging. */
static void add_knobs(struct weft_tool_report *list, bool is_debug)
{
	char buf[32];

	for (size_t i = 0; i < weft_knob_count(); i++) {
		const struct weft_knob_desc *d = weft_knob_desc(i);
		const char *limits = d->unit ? d->unit : d->values;
		struct weft_tool_report *row;

		if (d->is_debug != is_debug)
			continue;
		row = weft_tool_report_object(list, NULL);
		weft_tool_report_text(row, "variable", "WEFT_%s", d->name);
		weft_tool_report_text(row, "value", "%s",
			weft_knob_value(i, buf, sizeof(buf)));
		weft_tool_report_text(
			row, "from", "%s", source_word(d->source));
		weft_tool_report_text(row, "meaning", "%s%s%s%s", d->sentence,
			*limits ? " [" : "", limits, *limits ? "]" : "");
	}
}

static int show_knobs(struct weft_tool_report *report, const char *name)
{
	add_knobs(weft_tool_report_list(report, name), false);
	add_knobs(weft_tool_report_list(report, "debug_knobs"), true);
	return 0;
}

static int show_counters(struct weft_tool_report *report, const char *name)
{
	struct weft_tool_report *list = weft_tool_report_list(report, name);

	for (size_t i = 0; i < weft_counter_count(); i++) {
		const struct weft_counter_desc *d = weft_counter_desc(i);
		struct weft_tool_report *row =
			weft_tool_report_object(list, NULL);

		weft_tool_report_text(row, "counter", "%s", d->name);
		weft_tool_report_text(row, "unit", "%s", d->unit);
		weft_tool_report_text(row, "object", "%s", d->object);
		weft_tool_report_text(row, "room", "%s", d->room);
		weft_tool_report_text(row, "meaning", "%s", d->sentence);
	}
	return 0;
}

/* Variables of other libraries that affect Weft. */
static int show_env(struct weft_tool_report *report, const char *name)
{
	static const char *const names[] = { "FI_PROVIDER", "FI_TCP_IFACE",
		"FI_SOCKETS_IFACE", "FI_VERBS_IFACE", "FI_UNIVERSE_SIZE",
		"FI_MR_CACHE_MONITOR", "FI_MR_CACHE_MAX_COUNT",
		"FI_MR_CACHE_MAX_SIZE", "FI_OFI_RXM_BUFFER_SIZE",
		"FI_OFI_RXM_USE_SRX", "FI_VERBS_INLINE_SIZE", "RDMAV_FORK_SAFE",
		"IBV_FORK_SAFE", "FI_TCP_MAX_RX_SIZE", "FI_LOG_LEVEL",
		"FI_CXI_RX_MATCH_MODE", "FI_CXI_DEFAULT_CQ_SIZE",
		"SLINGSHOT_VNIS", "SLINGSHOT_DEVICES", "SLINGSHOT_SVC_IDS",
		"SLINGSHOT_TCS", "SLURM_JOB_ID", "PMIX_NAMESPACE", "PMIX_RANK",
		"PMIX_MCA_gds", "TMPDIR", "OMP_NUM_THREADS" };
	struct weft_tool_report *at = weft_tool_report_object(report, name);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = weft_knob_getenv(names[i]);

		if (value)
			weft_tool_report_text(at, names[i], "%s", value);
	}
	return 0;
}

static int show_api(struct weft_tool_report *report, const char *name)
{
	struct weft_tool_report *at = weft_tool_report_object(report, name);
	struct weft_tool_report *list =
		options.is_brief ? NULL
				 : weft_tool_report_list(at, "procedures");
	size_t n_there = 0;

	for (size_t i = 0; i < N_API; i++) {
		struct weft_tool_report *row =
			list ? weft_tool_report_object(list, NULL) : NULL;

		n_there += api_rows[i].is_there;
		weft_tool_report_text(row, "state", "%s",
			api_rows[i].is_there ? "implemented" : "missing");
		weft_tool_report_text(row, "name", "%s", api_rows[i].name);
		weft_tool_report_text(
			row, "section", "%s", api_rows[i].section);
	}
	weft_tool_report_text(at, "counts", "%zu implemented, %zu missing",
		n_there, N_API - n_there);
	return 0;
}

/* Lists the procedures of OpenSHMEM. All of them exist, because the build fails
 * if one is missing. */
static int show_shmem(struct weft_tool_report *report, const char *name)
{
	struct weft_tool_report *at = weft_tool_report_object(report, name);
	struct weft_tool_report *list =
		options.is_brief ? NULL
				 : weft_tool_report_list(at, "procedures");
	size_t n_current, n_deprecated, n_extensions;

	for (size_t i = 0; i < N_SHMEM && list; i++) {
		struct weft_tool_report *row =
			weft_tool_report_object(list, NULL);

		weft_tool_report_text(row, "state", "%s",
			tool_info_is_extension(&shmem_rows[i]) ? "extension"
			: shmem_rows[i].is_deprecated	       ? "deprecated"
							       : "current");
		weft_tool_report_text(row, "name", "%s", shmem_rows[i].name);
	}
	count_shmem(&n_current, &n_deprecated, &n_extensions);
	weft_tool_report_text(at, "counts",
		"%zu current, %zu deprecated, %zu of shmemx.h; all "
		"implemented",
		n_current, n_deprecated, n_extensions);
	return 0;
}

static void add_candidate(void *arg, const struct weft_net_candidate *c)
{
	struct weft_tool_report *row = weft_tool_report_object(arg, NULL);

	weft_tool_report_text(row, "provider", "%s", c->form);
	weft_tool_report_text(row, "verdict", "%s", c->verdict);
	weft_tool_report_text(row, "domain", "%s", c->domain);
	weft_tool_report_text(row, "fabric", "%s", c->fabric);
	weft_tool_report_text(row, "why", "%s", c->why);
}

static int show_providers(struct weft_tool_report *report, const char *name)
{
	struct weft_net_hints hints = { .provider = options.provider,
		.iface = options.iface };

	weft_net_candidates(
		&hints, add_candidate, weft_tool_report_list(report, name));
	return 0;
}

/* Shows how files are accessed; mpiio(7) documents the hints. */
static int show_io(struct weft_tool_report *report, const char *name)
{
	struct weft_tool_report *at = weft_tool_report_object(report, name);
	const char *why_not = weft_uring_refusal();

	if (weft_knobs.io_threads)
		weft_tool_report_text(at, "non-blocking",
			"%sup to %lld threads of the process, started when "
			"first needed (WEFT_IO_THREADS)",
			why_not ? "" : "io_uring, and ",
			(long long)weft_knobs.io_threads);
	else
		weft_tool_report_text(at, "non-blocking",
			"carried out in the call that starts it "
			"(WEFT_IO_THREADS=0)");
	weft_tool_report_text(at, "io_uring", "%s%s (WEFT_IO_ENGINE)",
		why_not ? "no: " : "permitted by the kernel, used for ",
		why_not				 ? why_not
		: weft_knobs.io_engine[0] == 'u' ? "all non-blocking accesses"
						 : "short reads from disks");
	weft_tool_report_text(at, "collective buffering",
		"%scollectives whose views have gaps, if that is faster: one "
		"aggregator per node, unless hints set another number",
		weft_knobs.io_threads ? "" : "blocking ");
	weft_tool_report_text(at, "writing gaps",
		"data sieving for short runs, on file systems of this host: "
		"other writers are locked out meanwhile");
	weft_tool_report_text(at, "report at close", "%s (WEFT_STATS)",
		weft_knobs.stats[0] == '1' ? "on" : "off");
	return 0;
}

static void ignore_message(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
}

/* Adds a line of the plan to the report: a name, then text or a number with or
 * without unit. */
static void add_line(struct weft_tool_report *report, char *line)
{
	char *value = line + strcspn(line, " "), *end;
	unsigned long long number;

	if (*value)
		*value++ = 0;
	number = strtoull(value, &end, 10);
	if (!strcmp(value, "yes") || !strcmp(value, "no"))
		weft_tool_report_flag(report, line, *value == 'y');
	else if (end == value ||
		 (*end && (*end != ' ' || strchr(end + 1, ' '))))
		weft_tool_report_text(report, line, "%s", value);
	else
		weft_tool_report_number(
			report, line, number, *end ? end + 1 : NULL);
}

static void add_hint(
	void *arg, const char *hint, bool is_applied, const char *how)
{
	struct weft_tool_report *row = weft_tool_report_object(arg, NULL);

	weft_tool_report_text(row, "hint", "%s", hint);
	weft_tool_report_text(row, "state", is_applied ? "applied" : "ignored");
	weft_tool_report_text(row, "how", "%s", how);
}

/* Shows each hint alone, then all together, because some hints need another
 * hint. */
static int show_hints(struct weft_tool_report *report, const char *name)
{
	struct weft_net_hints hints = { .provider = options.provider,
		.iface = options.iface };
	struct weft_tool_report *at = weft_tool_report_object(report, name);
	struct weft_tool_report *alone = weft_tool_report_list(at, "alone");
	struct weft_rma_domain *side;
	int err = weft_rma_domain_open(&hints, &side);

	if (err)
		return tool_info_fail("no endpoint for one-sided access", err);
	for (unsigned bit = 1; bit & WEFT_RMA_HINTS; bit <<= 1)
		weft_rma_hints_explain(&side->plan, bit, add_hint, alone);
	weft_rma_hints_explain(&side->plan, WEFT_RMA_HINTS, add_hint,
		weft_tool_report_list(at, "together"));
	weft_rma_domain_close(side);
	return 0;
}

/* Shows how messages are transferred between processes of this node. */
static int show_node(struct weft_tool_report *at)
{
	struct weft_node_plan plan;
	unsigned long n = weft_allowance_cpus();
	char *end = NULL;

	if (options.coll.per_node) {
		n = strtoul(options.coll.per_node, &end, 10);
		if (!n || *end)
			return tool_info_fail("plan of the node",
				weft_err_set(WEFT_ERR_ARG,
					"--per-node %s is not a number of "
					"processes, 1 or more",
					options.coll.per_node));
	}
	weft_proc_read_knobs();
	weft_node_plan_make(&plan, n);
	weft_tool_report_number(at, "processes", n, NULL);
	weft_tool_report_text(at, "cores", "%s",
		plan.shares_cores ? "shared" : "one for each process");
	weft_tool_report_text(at, "near", "%s",
		!plan.is_near_only ? "no processes: this one is not bound"
		: plan.near[0]	   ? plan.near
				   : "all");
	weft_tool_report_number(at, "ring", plan.ring_len, "B");
	weft_tool_report_number(at, "slots", plan.n_slots, NULL);
	weft_tool_report_number(at, "ring_memory", plan.buf_budget, "B");
	weft_tool_report_number(at, "eager", plan.eager_len, "B");
	weft_tool_report_number(at, "window_messages",
		(uint64_t)weft_win_message_max(plan.shares_cores), "B");
	weft_tool_report_text(at, "near_stores", "%s",
		weft_node_plan_stores_past(&plan, true) ? "non-temporal"
							: "cached");
	weft_tool_report_text(at, "far_stores", "%s",
		weft_node_plan_stores_past(&plan, false) ? "non-temporal"
							 : "cached");
	return 0;
}

/* True if the fabric of a session without an info object is opened for device
 * memory. This process loads no driver, so the launcher must request a kind. */
static bool default_has_dev(void)
{
	return weft_hint_lists_dev(weft_knobs.alloc_kinds);
}

static int show_plan(struct weft_tool_report *report, const char *name)
{
	struct weft_net_hints hints = { .provider = options.provider,
		.iface = options.iface,
		.has_devices = default_has_dev() };
	struct weft_tool_report *at = weft_tool_report_object(report, name);
	struct weft_net *net;
	char text[8192], *rest = text, *line;
	int code = show_node(weft_tool_report_object(at, "node"));
	int err = weft_net_open(&hints, ignore_message, NULL, &net);

	if (err)
		return tool_info_fail("no endpoint", err);
	weft_plan_print(&net->plan, text, sizeof(text));
	weft_net_close(net);
	while ((line = strsep(&rest, "\n")) != NULL)
		if (*line)
			add_line(at, line);
	return code;
}

static void add_nic(void *arg, const struct weft_nic *nic)
{
	struct weft_tool_report *row = weft_tool_report_object(arg, NULL);

	weft_tool_report_text(row, "device", "%s", nic->name);
	weft_tool_report_text(row, "kind", "%s", nic->kind);
	weft_tool_report_text(row, "pci", "%s", nic->pci);
	weft_tool_report_text(row, "near", "%s", nic->near);
	weft_tool_report_flag(row, "local", nic->is_local);
	weft_tool_report_text(row, "vendor", "%s", nic->vendor);
}

static int show_nics(struct weft_tool_report *report, const char *name)
{
	int err = weft_nic_visit(add_nic, weft_tool_report_list(report, name));

	return err ? tool_info_fail("network devices", err) : 0;
}

/* Opens the drivers, so this topic is not part of --all. */
static int show_gpus(struct weft_tool_report *report, const char *name)
{
	static const struct {
		const char *kind, *devices, *reason;
	} names[WEFT_DEV_N] = {
		[WEFT_DEV_CUDA] = { "cuda", "cuda_devices", "cuda_reason" },
		[WEFT_DEV_ROCM] = { "rocm", "rocm_devices", "rocm_reason" },
		[WEFT_DEV_ZE] = { "level_zero", "level_zero_devices",
			"level_zero_reason" },
	};
	struct weft_tool_report *at = weft_tool_report_object(report, name);

	for (int i = 0; i < WEFT_DEV_N; i++) {
		const char *why = "";
		int n = weft_dev_open((enum weft_dev_id)i, &why);

		weft_tool_report_flag(at, names[i].kind, n > 0);
		weft_tool_report_number(at, names[i].devices, n, "devices");
		if (!n)
			weft_tool_report_text(at, names[i].reason, "%s", why);
	}
	return 0;
}

/* Shows a process set of a session, with its size. */
static int show_pset(
	struct weft_tool_report *list, struct weft_session *session, uint32_t i)
{
	struct weft_tool_report *row = weft_tool_report_object(list, NULL);
	struct weft_group *group = NULL;
	const char *name = NULL;
	int err = weft_pset_name(session, i, &name);

	if (!err)
		err = weft_pset_group(session, name, &group);
	if (err)
		return tool_info_fail("process set", err);
	weft_tool_report_text(row, "name", "%s", name);
	weft_tool_report_number(row, "size", group->size, "processes");
	weft_group_put(group);
	return 0;
}

/* Shows the processors that the launcher or the parent permits this process to
 * use. */
static void show_binding(struct weft_tool_report *at)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	struct weft_topo *topo = NULL;

	if (weft_topo_open(&topo))
		return;
	weft_tool_report_text(at, "processors", "%s", weft_topo_cpuset(topo));
	weft_tool_report_text(at, "binding", "%s",
		(long)weft_topo_n_cpus(topo) < n ? "bound to these"
						 : "not bound");
	weft_topo_close(topo);
}

static int show_psets(struct weft_tool_report *report, const char *name)
{
	const struct weft_boot_facts *facts = &weft_proc.facts;
	struct weft_tool_report *at = weft_tool_report_object(report, name),
				*list;
	struct weft_session *session = NULL;
	uint32_t n = 0;
	int code = 0, err = weft_session_open(NULL, NULL, &session);

	if (err)
		return tool_info_fail("no session", err);
	weft_tool_report_text(at, "manager", "%s", facts->manager);
	weft_tool_report_text(at, "job", "%s", facts->job);
	weft_tool_report_number(at, "rank", facts->rank, NULL);
	weft_tool_report_number(at, "size", facts->size, "processes");
	weft_tool_report_text(at, "node", "%s", facts->host);
	weft_tool_report_number(at, "on_node", facts->local_size, "processes");
	show_binding(at);
	err = weft_pset_count(session, &n);
	if (err)
		code = tool_info_fail("process sets", err);
	list = weft_tool_report_list(at, "sets");
	for (uint32_t i = 0; i < n; i++)
		code |= show_pset(list, session, i);
	weft_session_close(session);
	return code;
}

static int show_coll(struct weft_tool_report *report, const char *name)
{
	return weft_tool_coll_show(report, name, &options.coll);
}

static const struct topic topics[] = {
	{ "--version", "version and standards (the default)", show_version,
		true },
	{ "--build", "compiler, options and libraries of the build", show_build,
		true },
	{ "--providers",
		"fabric providers found, and why each is or is not "
		"used",
		show_providers, true },
	{ "--plan",
		"the configuration on the provider that the library chooses",
		show_plan, true },
	{ "--hints", "the effect of each hint of a session on that provider",
		show_hints, true },
	{ "--nics", "network devices of this host, and their distance",
		show_nics, true },
	{ "--gpus", "device memory that messages can use, or why they cannot",
		show_gpus, false },
	{ "--io", "the methods of reading and writing files", show_io, true },
	{ "--psets", "process manager and process sets; run it under mpiexec",
		show_psets, true },
	{ "--knobs", "every WEFT_ variable: value, source, meaning", show_knobs,
		true },
	{ "--counters", "the counters of WEFT_STATS=1, with units",
		show_counters, true },
	{ "--env", "variables of other libraries that are set", show_env,
		true },
	{ "--api",
		"every MPI procedure: implemented or missing; --brief: "
		"only the counts",
		show_api, false },
	{ "--shmem", "every OpenSHMEM procedure; --brief: only the counts",
		show_shmem, false },
	{ "--coll",
		"OPERATION: the selected algorithm, its rule, and the other "
		"possible algorithms",
		show_coll, false },
};

enum { N_TOPICS = sizeof(topics) / sizeof(topics[0]) };

static int usage(void)
{
	printf("usage: weft-info [topic...] [--json] [--provider NAME] "
	       "[--iface NAME] [--brief]\n"
	       "       weft-info --coll OPERATION [--size BYTES] [--procs N] "
	       "[--per-node N] [--fabric NAME]\n"
	       "                                   [--network NAME]\n"
	       "       weft-info --profile DIRECTORY [--json]\n"
	       "       weft-info --profile-library\n");
	for (size_t i = 0; i < N_TOPICS; i++)
		printf("  %-12s %s\n", topics[i].option, topics[i].sentence);
	printf("  --all        all topics except --api, --gpus, --shmem and "
	       "--coll\n"
	       "  --json       print JSON; without a topic, of --all\n");
	return 0;
}

/* Selects a topic; false when there is no such topic. */
static bool tool_info_choose(const char *option, bool chosen[N_TOPICS])
{
	bool is_all = strcmp(option, "--all") == 0, is_one = false;

	for (size_t i = 0; i < N_TOPICS; i++)
		if ((is_all && topics[i].is_in_all) ||
			strcmp(option, topics[i].option) == 0)
			is_one = chosen[i] = true;
	return is_one;
}

static int tool_info_show(const bool chosen[N_TOPICS])
{
	struct weft_tool_report *report = weft_tool_report_create();
	int code = 0;

	for (size_t i = 0; i < N_TOPICS; i++)
		if (chosen[i])
			code |= topics[i].show(report, topics[i].option + 2);
	if (options.is_json)
		weft_tool_report_print_json(report, stdout);
	else
		weft_tool_report_print(report, stdout);
	weft_tool_report_destroy(report);
	return code;
}

/* Reads an option with a value. False if it is another option, or has no value.
 */
static bool tool_info_read_option(const char *option, const char *value)
{
	const struct {
		const char *option;
		const char **to;
	} table[] = { { "--provider", &options.provider },
		{ "--iface", &options.iface },
		{ "--coll", &options.coll.operation },
		{ "--size", &options.coll.size },
		{ "--procs", &options.coll.procs },
		{ "--per-node", &options.coll.per_node },
		{ "--fabric", &options.coll.fabric },
		{ "--network", &options.coll.network },
		{ "--profile", &options.profile } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(option, table[i].option) == 0) {
			*table[i].to = value;
			return value != NULL;
		}
	return false;
}

static int tool_info_refuse(const char *word)
{
	fprintf(stderr,
		"weft-info: %s is no topic or option, or its value is missing; "
		"--help lists them\n",
		word);
	return 2;
}

int main(int argc, char **argv)
{
	bool chosen[N_TOPICS] = { false }, is_any = false;

	for (int i = 1; i < argc; i++) {
		is_any |= tool_info_choose(argv[i], chosen);
		if (tool_info_read_option(argv[i], argv[i + 1]))
			i++;
		else if (strcmp(argv[i], "--brief") == 0)
			options.is_brief = true;
		else if (strcmp(argv[i], "--json") == 0)
			options.is_json = true;
		else if (strcmp(argv[i], "--help") == 0)
			return usage();
		else if (strcmp(argv[i], "--profile-library") == 0)
			return weft_tool_profile_library();
		else if (strcmp(argv[i], "--coll") == 0 ||
			 !tool_info_choose(argv[i], chosen))
			return tool_info_refuse(argv[i]);
	}
	if (options.profile)
		return weft_tool_profile_print(
			options.profile, options.is_json);
	weft_knob_load();
	if (!is_any)
		tool_info_choose(
			options.is_json ? "--all" : "--version", chosen);
	return tool_info_show(chosen);
}
