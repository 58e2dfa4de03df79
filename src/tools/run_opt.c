/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_opt: the command line of mpiexec as data
 *
 * Long options are accepted with one or two dashes, and as --name value or
 * --name=value. The word ":" ends an app context.
 */
#include "tools/run_opt.h"

#include "base/err.h"
#include "base/input.h"
#include "base/knob.h"
#include "tools/run_othermpi.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
	PROCS_MAX = 65535, /* a local rank of PMIx has 16 bits */
	PLACES_LEAST = 128,
	PLACES_TIMES = 4, /* ranks per process of --max */
};

enum opt_id {
	OPT_N,
	OPT_PSET,
	OPT_WDIR,
	OPT_PATH,
	OPT_ENV,
	OPT_ENVLIST,
	OPT_ENVALL,
	OPT_ENVNONE,
	OPT_GENV,
	OPT_GENVLIST,
	OPT_GENVALL,
	OPT_GENVNONE,
	OPT_KINDS,
	OPT_ERRH,
	OPT_BIND,
	OPT_MAP,
	OPT_CORES,
	OPT_NODES,
	OPT_PPN,
	OPT_TAG,
	OPT_PREPEND,
	OPT_TIMEOUT,
	OPT_GRACE,
	OPT_CONTINUE,
	OPT_FT,
	OPT_NO_FINALIZE,
	OPT_X,
	OPT_DVM,
	OPT_HOST,
	OPT_HOSTFILE,
	OPT_OVERSUBSCRIBE,
	OPT_UNIVERSE,
	OPT_MIN,
	OPT_MAX,
	OPT_RESIZE_AT,
	OPT_OFFER_TIMEOUT,
	OPT_REPORT,
	OPT_PROFILE,
	OPT_DEBUG,
	OPT_IGNORE,
	OPT_VERBOSE,
	OPT_HELP,
	OPT_VERSION,
};

struct opt_name {
	const char *name;
	enum opt_id id;
	bool has_value;
};

static const struct opt_name opt_names[] = {
	{ "n", OPT_N, true },
	{ "np", OPT_N, true },
	{ "pset", OPT_PSET, true },
	{ "wdir", OPT_WDIR, true },
	{ "wd", OPT_WDIR, true },
	{ "path", OPT_PATH, true },
	{ "env", OPT_ENV, true },
	{ "envlist", OPT_ENVLIST, true },
	{ "envall", OPT_ENVALL, false },
	{ "envnone", OPT_ENVNONE, false },
	{ "genv", OPT_GENV, true },
	{ "genvlist", OPT_GENVLIST, true },
	{ "genvall", OPT_GENVALL, false },
	{ "genvnone", OPT_GENVNONE, false },
	{ "memory-alloc-kinds", OPT_KINDS, true },
	{ "initial-errhandler", OPT_ERRH, true },
	{ "bind-to", OPT_BIND, true },
	{ "map-by", OPT_MAP, true },
	{ "cpus-per-proc", OPT_CORES, true },
	{ "cpus-per-rank", OPT_CORES, true },
	{ "N", OPT_NODES, true },
	{ "nodes", OPT_NODES, true },
	{ "ppn", OPT_PPN, true },
	{ "perhost", OPT_PPN, true },
	{ "npernode", OPT_PPN, true },
	{ "tag-output", OPT_TAG, false },
	{ "prepend-rank", OPT_PREPEND, false },
	{ "l", OPT_PREPEND, false },
	{ "timeout", OPT_TIMEOUT, true },
	{ "grace", OPT_GRACE, true },
	{ "continue", OPT_CONTINUE, false },
	{ "enable-recovery", OPT_CONTINUE, false },
	{ "disable-auto-cleanup", OPT_CONTINUE, false },
	{ "with-ft", OPT_FT, true },
	{ "allow-exit-without-finalize", OPT_NO_FINALIZE, false },
	{ "x", OPT_X, false },
	{ "dvm-uri", OPT_DVM, true },
	{ "host", OPT_HOST, true },
	{ "hosts", OPT_HOST, true },
	{ "H", OPT_HOST, true },
	{ "hostfile", OPT_HOSTFILE, true },
	{ "machinefile", OPT_HOSTFILE, true },
	{ "f", OPT_HOSTFILE, true },
	{ "oversubscribe", OPT_OVERSUBSCRIBE, false },
	{ "universe-size", OPT_UNIVERSE, true },
	{ "usize", OPT_UNIVERSE, true },
	{ "min", OPT_MIN, true },
	{ "max", OPT_MAX, true },
	{ "resize-at", OPT_RESIZE_AT, true },
	{ "offer-timeout", OPT_OFFER_TIMEOUT, true },
	{ "report-bindings", OPT_REPORT, false },
	{ "profile", OPT_PROFILE, false }, /* a value only as =FILE */
	{ "debug", OPT_DEBUG, false },
	{ "debugger", OPT_DEBUG, false },
	{ "allow-run-as-root", OPT_IGNORE, false },
	{ "q", OPT_IGNORE, false },
	{ "quiet", OPT_IGNORE, false },
	{ "verbose", OPT_VERBOSE, false },
	{ "v", OPT_VERBOSE, false },
	{ "help", OPT_HELP, false },
	{ "h", OPT_HELP, false },
	{ "version", OPT_VERSION, false },
	{ "V", OPT_VERSION, false },
};

static const char help_text[] =
	"Usage: mpiexec [options] program [arguments] "
	"[: [options] program [arguments]] ...\n"
	"Start the processes of an MPI or OpenSHMEM job on this host. Inside a"
	" Slurm\nallocation, srun starts them; with --dvm-uri, prun does.\n"
	"\n"
	"For one app context (between two \":\"):\n"
	"  -n, -np N               start N processes (default: 1)\n"
	"  --pset NAME             add them to the process set NAME\n"
	"  -wdir DIR               start them in DIR\n"
	"  -path DIRS              search for the program in DIRS (a:b:c)\n"
	"  -env NAME VALUE         set a variable (also --env NAME=VALUE)\n"
	"  -x NAME[=VALUE]         set a variable, or pass on its value\n"
	"  -envlist A,B            pass on only these variables\n"
	"  -envall, -envnone       pass on all variables (default), or none\n"
	"For the whole job:\n"
	"  -genv, -genvlist, -genvall, -genvnone   as above, for all contexts\n"
	"  -memory-alloc-kinds K   memory kinds the program will use\n"
	"  -initial-errhandler H   mpi_errors_are_fatal, _abort or _return\n"
	"  -configfile FILE        read app contexts from FILE, one per line\n"
	"  --bind-to X             core, socket, numa, hwthread or none; "
	"without it, a\n"
	"                          job is bound to cores or numa nodes if "
	"enough are free\n"
	"  --map-by X[:PE=N]       distribute processes to core, socket, numa "
	"or\n"
	"                          hwthread in turn, with N cores each\n"
	"  --cpus-per-proc N       bind each process to N cores\n"
	"  --report-bindings       print the processors of each process\n"
	"  --profile[=FILE.json]   print the time in MPI at the end, or write "
	"FILE, too\n"
	"  --debug                 start each process under gdb, in a window "
	"of xterm\n"
	"                          or tmux\n"
	"  --oversubscribe         allow more processes than cores (always "
	"allowed here)\n"
	"  --tag-output            start each line with [rank]<stream>:\n"
	"  -prepend-rank, -l       start each line with [rank]\n"
	"  --timeout S             end the job after S seconds, with status "
	"124\n"
	"  --grace S               seconds between TERM and KILL (default: 2)\n"
	"  --continue              if a process fails, the others continue\n"
	"  --with-ft mpi           the same, as Open MPI's option; no: the "
	"default\n"
	"  --allow-exit-without-finalize   a process may exit with 0 without "
	"finalizing\n"
	"  -N NODES, -ppn P        nodes, processes per node (Slurm, PRRTE)\n"
	"  -host A,B, --hostfile F hosts to use (Slurm, PRRTE)\n"
	"  --universe-size N       value of MPI_UNIVERSE_SIZE (default: "
	"none)\n"
	"  --min N, --max N        the job may shrink and grow within these "
	"limits\n"
	"  --resize-at S:+N,S:-N   offer N processes, or ask for them back, "
	"after S\n"
	"                          seconds\n"
	"  --offer-timeout S       withdraw an offer after S seconds\n"
	"  --dvm-uri URI           use this PRRTE DVM\n"
	"  -v, --verbose           print the commands that are started\n"
	"  --help, --version\n"
	"\n"
	"WEFT_MPIEXEC=self|slurm|prrte selects the launcher.\n"
	"On USR1, QUIT (Ctrl-\\) and timeout, the state of every process is "
	"printed.\n"
	"The exit status is that of the first process that failed, or 128 + "
	"the signal\nthat ended it.\n";

const char *weft_run_opt_help(void)
{
	return help_text;
}

static const struct opt_name *opt_find(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(opt_names) / sizeof(*opt_names); i++)
		if (strlen(opt_names[i].name) == len &&
			!memcmp(opt_names[i].name, word, len))
			return &opt_names[i];
	return NULL;
}

static int get_count(const char *name, const char *text, uint32_t *v_out)
{
	char *end = NULL;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < 1 || v > PROCS_MAX)
		return weft_err_set(WEFT_ERR_ARG,
			"-%s %s: expected a whole number from 1 to %d", name,
			text, PROCS_MAX);
	*v_out = (uint32_t)v;
	return 0;
}

static int get_seconds(const char *name, const char *text, double *v_out)
{
	char *end = NULL;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= 0) || v > 1e9)
		return weft_err_set(WEFT_ERR_ARG,
			"--%s %s: expected a number of seconds", name, text);
	*v_out = v;
	return 0;
}

/* Appends pair, a "NAME=VALUE", and takes ownership of it. WEFT_ERR_NOMEM if
 * pair is NULL, or when out of memory. */
static int env_push_take(struct weft_run_env *env, char *pair)
{
	char **set;

	if (!pair)
		return WEFT_ERR_NOMEM;
	set = realloc(env->set, (env->n_set + 1) * sizeof(*set));
	if (!set) {
		free(pair);
		return WEFT_ERR_NOMEM;
	}
	env->set = set;
	set[env->n_set++] = pair;
	return 0;
}

/* Adds the variable of -env NAME VALUE, or of NAME=VALUE in one word. *used is
 * the number of words read after the first: 1 in the form with VALUE, else 0.
 */
static int env_add(struct weft_run_env *env, const char *name,
	const char *value, int *used)
{
	char *pair = NULL;

	*used = 0;
	if (*name == '\0' || *name == '=')
		return weft_err_set(
			WEFT_ERR_ARG, "-env: no variable name in \"%s\"", name);
	if (strchr(name, '='))
		return env_push_take(env, strdup(name));
	if (!value)
		return weft_err_set(
			WEFT_ERR_ARG, "-env %s: the value is missing", name);
	*used = 1;
	if (asprintf(&pair, "%s=%s", name, value) < 0)
		pair = NULL;
	return env_push_take(env, pair);
}

static int env_mode(
	struct weft_run_env *env, enum weft_run_env_mode mode, const char *list)
{
	env->mode = mode;
	env->has_mode = true;
	env->list = list;
	return 0;
}

/* Parses an option of the current app context. more is the word after its
 * value, or NULL. *used is set to 1 if that word belongs to the option, too. */
static int app_option(struct weft_run_app *app, const struct opt_name *name,
	const char *value, const char *more, int *used)
{
	switch (name->id) {
	case OPT_N:
		app->has_n = true;
		return get_count(name->name, value, &app->n);
	case OPT_PSET:
		if (!*value || strchr(value, ',') ||
			!strncasecmp(value, "mpi://", 6) ||
			!strncmp(value, "weft://", 7) ||
			!strncmp(value, "hwloc://", 8))
			return weft_err_set(WEFT_ERR_ARG,
				"--pset \"%s\": expected a name without commas "
				"that does not begin with mpi://, weft:// or "
				"hwloc://: these names are reserved",
				value);
		app->pset = value;
		return 0;
	case OPT_WDIR:
		app->wdir = value;
		return 0;
	case OPT_PATH:
		app->path = value;
		return 0;
	case OPT_ENV:
		return env_add(&app->env, value, more, used);
	case OPT_ENVLIST:
		return env_mode(&app->env, WEFT_RUN_ENV_LIST, value);
	case OPT_ENVALL:
		return env_mode(&app->env, WEFT_RUN_ENV_ALL, NULL);
	case OPT_ENVNONE:
		return env_mode(&app->env, WEFT_RUN_ENV_NONE, NULL);
	default:
		return WEFT_ERR_INTERN;
	}
}

static int job_env_option(struct weft_run_opt *opt, enum opt_id id,
	const char *value, const char *more, int *used)
{
	switch (id) {
	case OPT_GENV:
		return env_add(&opt->env, value, more, used);
	case OPT_GENVLIST:
		return env_mode(&opt->env, WEFT_RUN_ENV_LIST, value);
	case OPT_GENVALL:
		return env_mode(&opt->env, WEFT_RUN_ENV_ALL, NULL);
	default:
		return env_mode(&opt->env, WEFT_RUN_ENV_NONE, NULL);
	}
}

/* Returns the word before the colon of a value of --bind-to or --map-by if it
 * is one of `words`, else NULL. *more_out is the text after the colon, or NULL.
 */
static const char *place_word(const char *value, const char **more_out)
{
	static const char *const words[] = { "core", "socket", "package",
		"numa", "hwthread", "slot", "node" };
	size_t len = strcspn(value, ":");

	*more_out = value[len] ? value + len + 1 : NULL;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i]) == len && !memcmp(words[i], value, len))
			return words[i];
	return NULL;
}

/* Parses the value of --bind-to. MPICH's core:2 means 2 cores for each process.
 */
static int bind_option(struct weft_run_opt *opt, const char *value)
{
	const char *more, *word = place_word(value, &more);

	opt->bind = value;
	if (!word || strcmp(word, "core") || !more)
		return 0;
	opt->bind = word;
	return get_count("bind-to", more, &opt->n_cores);
}

/* Parses the value of --map-by. Open MPI's slot and node mean the default here,
 * ppr:N:node means -ppn N, and PE=2 after a colon means 2 cores for each
 * process. */
static int map_option(struct weft_run_opt *opt, const char *value)
{
	const char *more, *word = place_word(value, &more);
	char unit[8] = "";
	unsigned n = 0;
	int end = 0, err = 0;

	if (strncmp(value, "ppr:", 4)) {
		if (word && more && !strncasecmp(more, "PE=", 3)) {
			err = get_count("map-by", more + 3, &opt->n_cores);
			value = word;
		}
		if (strcmp(value, "slot") && strcmp(value, "node"))
			opt->map = value;
		return err;
	}
	if (sscanf(value, "ppr:%u:%7[a-z]%n", &n, unit, &end) == 2 && n &&
		!value[end] && !strcmp(unit, "node")) {
		opt->per_node = n;
		return 0;
	}
	return weft_err_set(WEFT_ERR_ARG,
		"--map-by %s: the only form of ppr is ppr:N:node; --map-by and "
		"--bind-to accept core, socket, numa or hwthread",
		value);
}

/* --continue: if a process fails, the others continue. The library reads
 * WEFT_FT for the attribute MPIX_FT. */
static int keep_going(struct weft_run_opt *opt)
{
	opt->keep_going = true;
	return env_push_take(&opt->env, strdup("WEFT_FT=on"));
}

/* Open MPI's option, with its values. "no" changes nothing, also after
 * --continue. */
static int with_ft(struct weft_run_opt *opt, const char *value)
{
	if (!strcmp(value, "mpi") || !strcmp(value, "ulfm") ||
		!strcmp(value, "yes"))
		return keep_going(opt);
	if (!strcmp(value, "no"))
		return 0;
	return weft_err_set(WEFT_ERR_ARG,
		"--with-ft %s: expected mpi, ulfm or yes (as --continue), or "
		"no",
		value);
}

/* Parses "5:+2,20:-2". */
static int resize_at(struct weft_run_opt *opt, const char *text)
{
	for (const char *p = text;;) {
		struct weft_run_offer_at offer, *offers;
		char sign;
		int end = 0;

		if (sscanf(p, "%lf:%c%d%n", &offer.at_s, &sign, &offer.delta,
			    &end) != 3 ||
			(sign != '+' && sign != '-') || offer.delta < 1 ||
			offer.delta > PROCS_MAX || !(offer.at_s >= 0) ||
			offer.at_s > 1e9 || (p[end] && p[end] != ',') ||
			(opt->n_offers &&
				offer.at_s <
					opt->offers[opt->n_offers - 1].at_s))
			return weft_err_set(WEFT_ERR_ARG,
				"--resize-at %s: expected S:+N or S:-N, with "
				"commas between them, and times S that ascend",
				text);
		if (sign == '-')
			offer.delta = -offer.delta;
		offers = realloc(
			opt->offers, (opt->n_offers + 1) * sizeof(*offers));
		if (!offers)
			return WEFT_ERR_NOMEM;
		opt->offers = offers;
		offers[opt->n_offers++] = offer;
		if (!p[end])
			return 0;
		p += end + 1;
	}
}

static int job_option(struct weft_run_opt *opt, const struct opt_name *name,
	const char *value)
{
	switch (name->id) {
	case OPT_KINDS:
		opt->alloc_kinds = value;
		return 0;
	case OPT_BIND:
		return bind_option(opt, value);
	case OPT_MAP:
		return map_option(opt, value);
	case OPT_CORES:
		return get_count(name->name, value, &opt->n_cores);
	case OPT_NODES:
		return get_count(name->name, value, &opt->n_nodes);
	case OPT_PPN:
		return get_count(name->name, value, &opt->per_node);
	case OPT_TAG:
		opt->tag = WEFT_RUN_TAG_STREAM;
		return 0;
	case OPT_PREPEND:
		opt->tag = WEFT_RUN_TAG_RANK;
		return 0;
	case OPT_TIMEOUT:
		return get_seconds(name->name, value, &opt->timeout_s);
	case OPT_GRACE:
		return get_seconds(name->name, value, &opt->grace_s);
	case OPT_CONTINUE:
		return keep_going(opt);
	case OPT_FT:
		return with_ft(opt, value);
	case OPT_DVM:
		opt->dvm_uri = value;
		return 0;
	case OPT_NO_FINALIZE:
		opt->needs_no_finalize = true;
		return 0;
	case OPT_HOST:
		opt->hosts = value;
		return 0;
	case OPT_HOSTFILE:
		opt->hostfile = value;
		return 0;
	case OPT_OVERSUBSCRIBE:
		opt->oversubscribe = true;
		return 0;
	case OPT_UNIVERSE:
		return get_count(name->name, value, &opt->universe);
	case OPT_MIN:
		return get_count(name->name, value, &opt->n_min);
	case OPT_MAX:
		return get_count(name->name, value, &opt->n_max);
	case OPT_RESIZE_AT:
		return resize_at(opt, value);
	case OPT_OFFER_TIMEOUT:
		return get_seconds(name->name, value, &opt->offer_timeout_s);
	case OPT_REPORT:
		opt->report_bindings = true;
		return 0;
	case OPT_PROFILE:
		opt->profile = value ? value : "on";
		return 0;
	case OPT_DEBUG:
		opt->is_debugged = true;
		return 0;
	case OPT_VERBOSE:
		opt->is_verbose = true;
		return 0;
	case OPT_HELP:
		opt->task = WEFT_RUN_HELP;
		return 0;
	case OPT_VERSION:
		opt->task = WEFT_RUN_VERSION;
		return 0;
	default:
		return 0;
	}
}

static int initial_errhandler(struct weft_run_opt *opt, const char *value)
{
	char *pair = NULL;

	if (strcmp(value, "mpi_errors_are_fatal") &&
		strcmp(value, "mpi_errors_abort") &&
		strcmp(value, "mpi_errors_return"))
		return weft_err_set(WEFT_ERR_ARG,
			"-initial-errhandler %s: expected "
			"mpi_errors_are_fatal, mpi_errors_abort or "
			"mpi_errors_return",
			value);
	if (asprintf(&pair, "WEFT_INITIAL_ERRHANDLER=%s", value) < 0)
		pair = NULL;
	return env_push_take(&opt->env, pair);
}

static struct weft_run_app *app_push(struct weft_run_opt *opt)
{
	struct weft_run_app *apps =
		realloc(opt->apps, (opt->n_apps + 1) * sizeof(*apps));

	if (!apps)
		return NULL;
	opt->apps = apps;
	apps[opt->n_apps] = (struct weft_run_app){ .n = 1 };
	return &apps[opt->n_apps++];
}

bool weft_run_has_program(const char *name)
{
	const char *path = weft_knob_getenv("PATH");
	char file[4096];

	while (path && *path) {
		size_t len = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/%s", (int)len, path, name);
		if (!access(file, X_OK))
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

/* True for "NAME" or "NAME=..." with a name that a shell accepts. */
static bool is_variable(const char *word)
{
	size_t len = strcspn(word, "=");

	if (!len || isdigit((unsigned char)*word))
		return false;
	for (size_t i = 0; i < len; i++)
		if (word[i] != '_' && !isalnum((unsigned char)word[i]))
			return false;
	return true;
}

/* Passes the launcher's value of a variable on to the processes. */
static int export_variable(struct weft_run_env *env, const char *name)
{
	const char *value = weft_knob_getenv(name);
	char *pair = NULL;

	if (value)
		return asprintf(&pair, "%s=%s", name, value) < 0
			       ? WEFT_ERR_NOMEM
			       : env_push_take(env, pair);
	if (weft_run_has_program(name))
		return weft_err_set(WEFT_ERR_ARG,
			"-x %s: there is no such variable to pass on; if %s is "
			"the program, write --continue %s",
			name, name, name);
	fprintf(stderr,
		"mpiexec: warning: -x %s: there is no such variable to pass "
		"on\n",
		name);
	return 0;
}

/* Parses Open MPI's -x NAME[=VALUE]. Before a word that is no variable, -x
 * means --continue, for old command lines. */
static int x_option(struct weft_run_opt *opt, struct weft_run_app *app,
	const char *value, char **argv, int *at)
{
	const char *word = value ? value : argv[*at];

	if (!word || !is_variable(word)) {
		if (value)
			return weft_err_set(WEFT_ERR_ARG,
				"-x %s: expected NAME or NAME=VALUE", value);
		return keep_going(opt);
	}
	if (!value)
		(*at)++;
	if (strchr(word, '='))
		return env_push_take(&app->env, strdup(word));
	return export_variable(&app->env, word);
}

/* Parses an option of another launcher: skips its values with a warning, or
 * fails with the remedy. */
static int foreign_option(char **argv, int *at)
{
	const char *option = argv[*at];
	const struct weft_run_othermpi *foreign =
		weft_run_othermpi_find(option);

	if (!foreign)
		return weft_err_set(WEFT_ERR_ARG,
			"option %s is not known; mpiexec --help lists them",
			option);
	if (foreign->is_refused)
		return weft_err_set(WEFT_ERR_ARG, "option %s is not known: %s",
			option, foreign->remedy);
	fprintf(stderr, "mpiexec: warning: option %s is ignored: %s\n", option,
		foreign->remedy);
	(*at)++;
	if (strchr(option, '='))
		return 0;
	for (int i = 0; i < foreign->n_values && argv[*at]; i++)
		(*at)++;
	return 0;
}

/* Parses the option at argv[*at], and moves *at past the option and its values.
 */
static int option(struct weft_run_opt *opt, struct weft_run_app *app,
	char **argv, int *at)
{
	const char *word = argv[*at] + 1 + (argv[*at][1] == '-');
	size_t len = strcspn(word, "=");
	const struct opt_name *name = opt_find(word, len);
	const char *value = NULL;
	int used = 0, err;

	if (!name)
		return foreign_option(argv, at);
	if (name->id == OPT_X) {
		(*at)++;
		return x_option(
			opt, app, word[len] ? word + len + 1 : NULL, argv, at);
	}
	if (word[len] && !name->has_value && name->id != OPT_PROFILE)
		return weft_err_set(WEFT_ERR_ARG, "option -%s accepts no value",
			name->name);
	(*at)++;
	if (word[len])
		value = word + len + 1;
	else if (name->has_value)
		value = argv[*at];
	if (name->has_value && !value)
		return weft_err_set(WEFT_ERR_ARG,
			"option -%s: the value is missing", name->name);
	if (value && !word[len])
		(*at)++;
	if (name->id == OPT_ERRH)
		err = initial_errhandler(opt, value);
	else if (name->id < OPT_GENV)
		err = app_option(
			app, name, value, value ? argv[*at] : NULL, &used);
	else if (name->id < OPT_KINDS)
		err = job_env_option(
			opt, name->id, value, value ? argv[*at] : NULL, &used);
	else
		err = job_option(opt, name, value);
	*at += used;
	return err;
}

int weft_run_opt_setenv(struct weft_run_opt *opt, const char *pair)
{
	return env_push_take(&opt->env, strdup(pair));
}

int weft_run_opt_prefix(struct weft_run_opt *opt, const char *word)
{
	opt->prefix = strdup(word);
	if (!opt->prefix)
		return WEFT_ERR_NOMEM;
	for (size_t a = 0; a < opt->n_apps; a++) {
		struct weft_run_app *app = &opt->apps[a];
		size_t n = 0;
		char **argv;

		while (app->argv[n])
			n++;
		argv = calloc(n + 2, sizeof(*argv));
		if (!argv)
			return WEFT_ERR_NOMEM;
		argv[0] = opt->prefix;
		memcpy(argv + 1, app->argv, n * sizeof(*argv));
		app->argv = app->own_argv = argv;
	}
	return 0;
}

/* Parses an app context from argv[*at] to ":" or the end. */
static int app_parse(struct weft_run_opt *opt, char **argv, int *at)
{
	struct weft_run_app *app = app_push(opt);
	int err = 0;

	if (!app)
		return WEFT_ERR_NOMEM;
	while (!err && opt->task == WEFT_RUN_LAUNCH && argv[*at] &&
		argv[*at][0] == '-' && argv[*at][1] && strcmp(argv[*at], "--"))
		err = option(opt, app, argv, at);
	if (err || opt->task != WEFT_RUN_LAUNCH)
		return err;
	if (argv[*at] && !strcmp(argv[*at], "--"))
		(*at)++;
	if (!argv[*at] || !strcmp(argv[*at], ":"))
		return weft_err_set(WEFT_ERR_ARG,
			"no program to start; mpiexec --help shows the "
			"usage");
	app->argv = &argv[*at];
	while (argv[*at] && strcmp(argv[*at], ":"))
		(*at)++;
	if (!argv[*at])
		return 0;
	argv[(*at)++] = NULL; /* terminates argv of this app context */
	if (!argv[*at])
		return weft_err_set(
			WEFT_ERR_ARG, "no program follows the last \":\"");
	return 0;
}

/* Checks the limits of a job whose size can change, and sets the limit that the
 * command line does not have. */
static int check_limits(struct weft_run_opt *opt)
{
	uint32_t n = weft_run_opt_size(opt);

	if (!opt->n_min && !opt->n_max) {
		if (opt->n_offers || opt->offer_timeout_s > 0)
			return weft_err_set(WEFT_ERR_ARG,
				"%s needs --max or --min: without them the "
				"size of the job does not change",
				opt->n_offers ? "--resize-at"
					      : "--offer-timeout");
		return 0;
	}
	if (!opt->n_min)
		opt->n_min = 1;
	if (!opt->n_max)
		opt->n_max = n > opt->n_min ? n : opt->n_min;
	if (opt->n_apps > 1)
		return weft_err_set(WEFT_ERR_ARG,
			"--min and --max need one program, and the command "
			"line has %zu, separated by \":\"",
			opt->n_apps);
	if (n < opt->n_min || n > opt->n_max)
		return weft_err_set(WEFT_ERR_ARG,
			"-n %u is not between --min %u and --max %u", n,
			opt->n_min, opt->n_max);
	return 0;
}

static int apps_parse(struct weft_run_opt *opt, int argc, char **argv, int at)
{
	int err = 0;

	do
		err = app_parse(opt, argv, &at);
	while (!err && at < argc && opt->task == WEFT_RUN_LAUNCH);
	if (!err && opt->per_node && opt->n_apps == 1 && !opt->apps->has_n)
		opt->apps->n =
			opt->per_node * (opt->n_nodes ? opt->n_nodes : 1);
	if (!err && weft_run_opt_size(opt) > PROCS_MAX)
		err = weft_err_set(WEFT_ERR_ARG,
			"%u processes are above the limit of one host (%d)",
			weft_run_opt_size(opt), PROCS_MAX);
	if (!err && opt->task == WEFT_RUN_LAUNCH)
		err = check_limits(opt);
	return err;
}

static char *file_read(const char *name, const char **why_out)
{
	FILE *file = weft_input_open(name, true, why_out);
	char *text = NULL;
	size_t cap = 0;
	ssize_t len;

	if (!file)
		return NULL;
	len = getdelim(&text, &cap, '\0', file);
	fclose(file);
	if (len >= 0)
		return text;
	free(text);
	*why_out = "out of memory";
	return strdup("");
}

/* Splits a line into words at blanks outside quotes; "#" ends the line. */
static size_t words_split(char *line, char **words)
{
	size_t n = 0;

	for (char *p = line; *p && *p != '#';) {
		char *to, quote = '\0';

		if (*p == ' ' || *p == '\t') {
			p++;
			continue;
		}
		words[n++] = to = p;
		for (; *p && (quote || (*p != ' ' && *p != '\t')); p++) {
			if (!quote && (*p == '"' || *p == '\''))
				quote = *p;
			else if (quote && *p == quote)
				quote = '\0';
			else
				*to++ = *p;
		}
		if (*p)
			p++;
		*to = '\0';
	}
	return n;
}

/* Parses a file: each line is an app context. */
static int file_parse(struct weft_run_opt *opt, const char *name)
{
	const char *why;
	char *save = NULL;
	size_t n = 0;

	opt->file_text = file_read(name, &why);
	if (!opt->file_text)
		return weft_err_set(
			WEFT_ERR_ARG, "-configfile %s: %s", name, why);
	opt->file_argv = calloc(2 * strlen(opt->file_text) + 3, sizeof(char *));
	if (!opt->file_argv)
		return WEFT_ERR_NOMEM;
	for (char *line = strtok_r(opt->file_text, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		size_t more = words_split(line, &opt->file_argv[n ? n + 1 : 0]);

		if (more && n)
			opt->file_argv[n++] = (char *)(uintptr_t) ":";
		n += more;
	}
	return apps_parse(opt, (int)n, opt->file_argv, 0);
}

/* MPICH's launcher reads this variable, too; --universe-size overrides it. */
static int env_universe(struct weft_run_opt *opt)
{
	const char *text = weft_knob_getenv("MPIEXEC_UNIVERSE_SIZE");

	if (!text || !*text ||
		!get_count("universe-size", text, &opt->universe))
		return 0;
	return weft_err_set(WEFT_ERR_ARG,
		"MPIEXEC_UNIVERSE_SIZE=%s: expected a whole number from 1 to "
		"%d",
		text, PROCS_MAX);
}

/* Launchers of other libraries read this variable, too; --timeout overrides it.
 */
static int env_timeout(struct weft_run_opt *opt)
{
	const char *text = weft_knob_getenv("MPIEXEC_TIMEOUT");

	if (!text || !*text || !get_seconds("timeout", text, &opt->timeout_s))
		return 0;
	return weft_err_set(WEFT_ERR_ARG,
		"MPIEXEC_TIMEOUT=%s: expected a number of seconds", text);
}

int weft_run_opt_parse(struct weft_run_opt *opt, int argc, char **argv)
{
	int err;

	*opt = (struct weft_run_opt){ .grace_s = 2 };
	err = env_timeout(opt);
	if (!err)
		err = env_universe(opt);
	if (err)
		return err;
	if (argc == 3 && (!strcmp(argv[1], "-configfile") ||
				 !strcmp(argv[1], "--configfile")))
		return file_parse(opt, argv[2]);
	return apps_parse(opt, argc, argv, 1);
}

static void env_fini(struct weft_run_env *env)
{
	for (size_t i = 0; i < env->n_set; i++)
		free(env->set[i]);
	free(env->set);
}

void weft_run_opt_fini(struct weft_run_opt *opt)
{
	for (size_t a = 0; a < opt->n_apps; a++) {
		env_fini(&opt->apps[a].env);
		free(opt->apps[a].own_argv);
	}
	env_fini(&opt->env);
	free(opt->prefix);
	free(opt->offers);
	free(opt->apps);
	free(opt->file_argv);
	free(opt->file_text);
	*opt = (struct weft_run_opt){ 0 };
}

uint32_t weft_run_opt_size(const struct weft_run_opt *opt)
{
	uint32_t n = 0;

	for (size_t a = 0; a < opt->n_apps; a++)
		n += opt->apps[a].n;
	return n;
}

uint32_t weft_run_opt_places(const struct weft_run_opt *opt)
{
	uint32_t n = opt->n_max;

	if (!n)
		return weft_run_opt_size(opt);
	if (n > PROCS_MAX / PLACES_TIMES)
		return PROCS_MAX;
	return n * PLACES_TIMES < PLACES_LEAST ? PLACES_LEAST
					       : n * PLACES_TIMES;
}
