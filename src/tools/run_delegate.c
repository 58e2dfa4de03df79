/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_delegate: replaces mpiexec by srun, prun or prterun
 *
 * srun starts one program with one environment. Several app contexts become one
 * shell script, in which each process selects its part by its rank. Slurm has
 * no process sets: the variable WEFT_PSETS passes them. The library reads it if
 * the process manager has no process sets.
 */
#include "tools/run_delegate.h"

#include "base/err.h"
#include "base/knob.h"
#include "tools/run_hosts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_NOT_STARTED = 127 };

/* ---- command lines ---- */

void weft_run_cmd_fini(struct weft_run_cmd *cmd)
{
	for (size_t i = 0; i < cmd->n; i++)
		free(cmd->argv[i]);
	free(cmd->argv);
	*cmd = (struct weft_run_cmd){ 0 };
}

/* Appends a word and takes ownership of it. If the word is NULL, stores
 * WEFT_ERR_NOMEM. */
static void push_take(struct weft_run_cmd *cmd, char *word)
{
	char **argv = NULL;

	if (word && !cmd->err)
		argv = realloc(cmd->argv, (cmd->n + 2) * sizeof(*argv));
	if (!argv) {
		free(word);
		cmd->err = WEFT_ERR_NOMEM;
		return;
	}
	cmd->argv = argv;
	argv[cmd->n++] = word;
	argv[cmd->n] = NULL;
}

static void run_delegate_push(struct weft_run_cmd *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void run_delegate_push(struct weft_run_cmd *cmd, const char *fmt, ...)
{
	char *word = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&word, fmt, args) < 0)
		word = NULL;
	va_end(args);
	push_take(cmd, word);
}

static void push_all(struct weft_run_cmd *cmd, char **argv)
{
	for (; *argv; argv++)
		run_delegate_push(cmd, "%s", *argv);
}

/* Adds timeout(1), whose exit status is 124, in front of srun or prterun: their
 * own timeouts have no such status. */
static void push_timeout(
	struct weft_run_cmd *cmd, const struct weft_run_opt *opt)
{
	if (opt->timeout_s <= 0)
		return;
	run_delegate_push(cmd, "timeout");
	run_delegate_push(cmd, "--foreground");
	run_delegate_push(cmd, "-k");
	run_delegate_push(cmd, "%g", opt->grace_s > 0 ? opt->grace_s : 1);
	run_delegate_push(cmd, "%g", opt->timeout_s);
}

/* ---- Slurm ---- */

struct word_map {
	const char *ours, *theirs;
};

static const char *run_delegate_translate(
	const struct word_map *map, size_t n, const char *word)
{
	for (size_t i = 0; word && i < n; i++)
		if (!strcmp(map[i].ours, word))
			return map[i].theirs;
	return NULL;
}

static const char *slurm_bind(const char *word)
{
	static const struct word_map map[] = {
		{ "core", "cores" },
		{ "socket", "sockets" },
		{ "package", "sockets" },
		{ "numa", "ldoms" },
		{ "hwthread", "threads" },
		{ "none", "none" },
	};

	return run_delegate_translate(map, sizeof(map) / sizeof(*map), word);
}

/* Returns the value of srun's --export, or NULL for all variables; the caller
 * frees it. */
static char *export_list(const struct weft_run_opt *opt)
{
	const struct weft_run_env *rule = &opt->apps[0].env;
	const struct weft_run_env *from[] = { &opt->env, &opt->apps[0].env };
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	if (!rule->has_mode)
		rule = &opt->env;
	if (rule->mode == WEFT_RUN_ENV_ALL)
		return NULL;
	out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	/* srun needs these two to start the program */
	fputs("PATH,LD_LIBRARY_PATH", out);
	if (rule->mode == WEFT_RUN_ENV_LIST && *rule->list)
		fprintf(out, ",%s", rule->list);
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < from[k]->n_set; i++)
			fprintf(out, ",%.*s",
				(int)strcspn(from[k]->set[i], "="),
				from[k]->set[i]);
	fclose(out);
	return text;
}

static void quote(FILE *out, const char *word)
{
	fputc('\'', out);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	fputc('\'', out);
}

static void script_app(FILE *out, const struct weft_run_app *app, uint32_t end)
{
	fprintf(out, "if [ $r -lt %u ]; then\n", end);
	for (size_t i = 0; i < app->env.n_set; i++) {
		fputs("export ", out);
		quote(out, app->env.set[i]);
		fputc('\n', out);
	}
	if (app->path) {
		fputs("PATH=", out);
		quote(out, app->path);
		fputs(":$PATH\n", out);
	}
	if (app->wdir) {
		fputs("cd ", out);
		quote(out, app->wdir);
		fputs(" || exit 127\n", out);
	}
	fputs("exec", out);
	for (char **arg = app->argv; *arg; arg++) {
		fputc(' ', out);
		quote(out, *arg);
	}
	fputs("\nfi\n", out);
}

/* Returns the shell script that each process runs if there are several app
 * contexts. */
static char *slurm_script(const struct weft_run_opt *opt)
{
	char *text = NULL;
	uint32_t end = 0;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fputs("r=${PMIX_RANK:-$SLURM_PROCID}\n", out);
	for (size_t a = 0; a < opt->n_apps; a++) {
		end += opt->apps[a].n;
		script_app(out, &opt->apps[a], end);
	}
	fclose(out);
	return text;
}

static void slurm_program(
	struct weft_run_cmd *cmd, const struct weft_run_opt *opt)
{
	const struct weft_run_app *app = &opt->apps[0];

	if (opt->n_apps == 1 && !app->path) {
		push_all(cmd, app->argv);
		return;
	}
	run_delegate_push(cmd, "sh");
	run_delegate_push(cmd, "-c");
	push_take(cmd, slurm_script(opt));
}

/* True if the command line specifies the number of processes. Otherwise the
 * allocation determines it, or -ppn specifies the number per node. */
static bool run_delegate_is_counted(const struct weft_run_opt *opt)
{
	return opt->n_apps > 1 || opt->apps[0].has_n;
}

static void slurm_shape(
	struct weft_run_cmd *cmd, const struct weft_run_opt *opt)
{
	char *hosts = NULL;

	cmd->err = weft_run_hosts_list(opt, &hosts);
	if (run_delegate_is_counted(opt)) {
		run_delegate_push(cmd, "-n");
		run_delegate_push(cmd, "%u", weft_run_opt_size(opt));
	}
	if (hosts)
		run_delegate_push(cmd, "--nodelist=%s", hosts);
	free(hosts);
	if (opt->oversubscribe)
		run_delegate_push(cmd, "--overcommit");
	if (opt->n_nodes) {
		run_delegate_push(cmd, "-N");
		run_delegate_push(cmd, "%u", opt->n_nodes);
	}
	if (opt->per_node)
		run_delegate_push(cmd, "--ntasks-per-node=%u", opt->per_node);
}

void weft_run_delegate_slurm(
	struct weft_run_cmd *cmd, const struct weft_run_opt *opt)
{
	const char *bind = slurm_bind(opt->bind);
	char *exported = export_list(opt);

	push_timeout(cmd, opt);
	run_delegate_push(cmd, "srun");
	run_delegate_push(cmd, "--mpi=pmix");
	slurm_shape(cmd, opt);
	if (weft_knob_getenv("SLURM_STEP_ID"))
		run_delegate_push(
			cmd, "--overlap"); /* mpiexec runs in a step itself */
	run_delegate_push(
		cmd, "--kill-on-bad-exit=%d", opt->keep_going ? 0 : 1);
	run_delegate_push(
		cmd, "--input=0"); /* only rank 0 reads standard input */
	if (opt->tag != WEFT_RUN_TAG_NONE)
		run_delegate_push(cmd, "--label");
	if (opt->n_cores)
		run_delegate_push(cmd, "--cpus-per-task=%u", opt->n_cores);
	if (bind || opt->report_bindings)
		run_delegate_push(cmd, "--cpu-bind=%s%s%s",
			opt->report_bindings ? "verbose" : "",
			bind && opt->report_bindings ? "," : "",
			bind ? bind : "");
	if (opt->n_apps == 1 && opt->apps[0].wdir)
		run_delegate_push(cmd, "--chdir=%s", opt->apps[0].wdir);
	if (exported)
		run_delegate_push(cmd, "--export=%s", exported);
	free(exported);
	slurm_program(cmd, opt);
}

/* Returns the number of processes of an app context; from Slurm if the command
 * line does not specify it. */
static uint32_t slurm_app_size(
	const struct weft_run_opt *opt, const struct weft_run_app *app)
{
	const char *tasks = weft_knob_getenv("SLURM_NTASKS");
	int n = tasks ? atoi(tasks) : 0;

	return run_delegate_is_counted(opt) || n < 1 ? app->n : (uint32_t)n;
}

/* Returns the process sets of the app contexts, as "ocean=0-3;ice=4,5"; the
 * caller frees the string. */
static char *pset_list(const struct weft_run_opt *opt)
{
	char *text = NULL;
	uint32_t first = 0;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	for (size_t a = 0; out && a < opt->n_apps; a++) {
		const struct weft_run_app *app = &opt->apps[a];
		uint32_t n = slurm_app_size(opt, app);

		if (app->pset)
			fprintf(out, "%s=%u-%u;", app->pset, first,
				first + n - 1);
		first += n;
	}
	if (out)
		fclose(out);
	return text;
}

/* ---- PRRTE ---- */

static const char *prrte_place(const char *word)
{
	static const struct word_map map[] = {
		{ "core", "core" },
		{ "socket", "package" },
		{ "package", "package" },
		{ "numa", "numa" },
		{ "hwthread", "hwthread" },
		{ "none", "none" },
	};

	return run_delegate_translate(map, sizeof(map) / sizeof(*map), word);
}

static void prrte_job(struct weft_run_cmd *cmd, const struct weft_run_opt *opt)
{
	const char *bind = prrte_place(opt->bind), *by = prrte_place(opt->map);

	if (geteuid() == 0) /* mpiexec permits root, too */
		run_delegate_push(cmd, "--allow-run-as-root");
	if (opt->dvm_uri) {
		run_delegate_push(cmd, "--dvm-uri");
		run_delegate_push(cmd, "%s", opt->dvm_uri);
	}
	if (opt->per_node || by || opt->oversubscribe || opt->n_cores) {
		char more[48] = "";

		if (opt->n_cores)
			snprintf(more, sizeof(more), ":PE=%u", opt->n_cores);
		if (opt->oversubscribe)
			strcat(more, ":OVERSUBSCRIBE");
		run_delegate_push(cmd, "--map-by");
		if (opt->per_node)
			run_delegate_push(
				cmd, "ppr:%u:node%s", opt->per_node, more);
		else
			run_delegate_push(cmd, "%s%s", by ? by : "slot", more);
	}
	if (opt->hosts || opt->hostfile) {
		run_delegate_push(cmd, opt->hosts ? "--host" : "--hostfile");
		run_delegate_push(
			cmd, "%s", opt->hosts ? opt->hosts : opt->hostfile);
	}
	if (opt->report_bindings) {
		run_delegate_push(cmd, "--display");
		run_delegate_push(cmd, "bind");
	}
	if (bind) {
		run_delegate_push(cmd, "--bind-to");
		run_delegate_push(cmd, "%s", bind);
	}
	if (opt->tag != WEFT_RUN_TAG_NONE) {
		run_delegate_push(cmd, "--output");
		run_delegate_push(cmd, "tag");
	}
	if (opt->keep_going) {
		run_delegate_push(cmd, "--runtime-options");
		run_delegate_push(cmd, "recoverable,notifyerrors");
	}
}

static void prrte_env(struct weft_run_cmd *cmd, const struct weft_run_env *env)
{
	for (size_t i = 0; i < env->n_set; i++) {
		run_delegate_push(cmd, "-x");
		run_delegate_push(cmd, "%s", env->set[i]);
	}
}

/* psets: all process sets if PRRTE cannot create them; else NULL. */
static void prrte_app(struct weft_run_cmd *cmd, const struct weft_run_opt *opt,
	const struct weft_run_app *app, const char *psets)
{
	if (run_delegate_is_counted(opt)) {
		run_delegate_push(cmd, "-n");
		run_delegate_push(cmd, "%u", app->n);
	}
	if (psets) {
		run_delegate_push(cmd, "-x");
		run_delegate_push(cmd, "WEFT_PSETS=%s", psets);
	} else if (app->pset) {
		run_delegate_push(cmd, "--pset");
		run_delegate_push(cmd, "%s", app->pset);
	}
	if (app->wdir) {
		run_delegate_push(cmd, "--wdir");
		run_delegate_push(cmd, "%s", app->wdir);
	}
	prrte_env(cmd, &opt->env);
	prrte_env(cmd, &app->env);
	if (opt->alloc_kinds) {
		run_delegate_push(cmd, "-x");
		run_delegate_push(
			cmd, "WEFT_MEMORY_ALLOC_KINDS=%s", opt->alloc_kinds);
	}
	if (opt->universe) {
		run_delegate_push(cmd, "-x");
		run_delegate_push(cmd, "WEFT_UNIVERSE_SIZE=%u", opt->universe);
	}
	push_all(cmd, app->argv);
}

/* True if two app contexts name the same process set. PRRTE creates a set for
 * each context, and keeps only one set of each name. */
static bool prrte_shares_pset(const struct weft_run_opt *opt)
{
	for (size_t a = 0; a < opt->n_apps; a++)
		for (size_t b = 0; b < a; b++)
			if (opt->apps[a].pset && opt->apps[b].pset &&
				!strcmp(opt->apps[a].pset, opt->apps[b].pset))
				return true;
	return false;
}

void weft_run_delegate_prrte(
	struct weft_run_cmd *cmd, const struct weft_run_opt *opt)
{
	char *psets = prrte_shares_pset(opt) ? pset_list(opt) : NULL;

	push_timeout(cmd, opt);
	run_delegate_push(cmd, opt->dvm_uri ? "prun" : "prterun");
	prrte_job(cmd, opt);
	for (size_t a = 0; a < opt->n_apps; a++) {
		if (a)
			run_delegate_push(cmd, ":");
		prrte_app(cmd, opt, &opt->apps[a], psets);
	}
	free(psets);
}

/* ---- choice and start ---- */

int weft_run_delegate_choose(
	const struct weft_run_opt *opt, enum weft_run_by *by_out)
{
	const char *word = weft_knobs.mpiexec;

	if (!strcmp(word, "self"))
		*by_out = WEFT_RUN_BY_SELF;
	else if (!strcmp(word, "slurm"))
		*by_out = WEFT_RUN_BY_SLURM;
	else if (!strcmp(word, "prrte"))
		*by_out = WEFT_RUN_BY_PRRTE;
	else if (*word)
		return weft_err_set(WEFT_ERR_ARG,
			"WEFT_MPIEXEC=%s: expected self, slurm or prrte", word);
	else if (opt->dvm_uri)
		*by_out = WEFT_RUN_BY_PRRTE;
	else if (weft_knob_getenv("SLURM_JOB_ID") &&
		 weft_run_has_program("srun"))
		*by_out = WEFT_RUN_BY_SLURM;
	else
		*by_out = WEFT_RUN_BY_SELF;
	return 0;
}

/* Sets the variables in this process: srun passes its environment on. */
static void put_env(const struct weft_run_env *env)
{
	for (size_t i = 0; i < env->n_set; i++) {
		const char *pair = env->set[i];
		char *name = strndup(pair, strcspn(pair, "="));

		if (name)
			setenv(name, pair + strlen(name) + 1, 1);
		free(name);
	}
}

static void slurm_env(const struct weft_run_opt *opt)
{
	char *psets = pset_list(opt), universe[16];

	put_env(&opt->env);
	if (opt->n_apps == 1)
		put_env(&opt->apps[0].env);
	if (opt->alloc_kinds)
		setenv("WEFT_MEMORY_ALLOC_KINDS", opt->alloc_kinds, 1);
	if (psets && *psets)
		setenv("WEFT_PSETS", psets, 1);
	snprintf(universe, sizeof(universe), "%u", opt->universe);
	if (opt->universe)
		setenv("WEFT_UNIVERSE_SIZE", universe, 1);
	free(psets);
}

static void print_cmd(const struct weft_run_cmd *cmd)
{
	fputs("mpiexec:", stderr);
	for (size_t i = 0; i < cmd->n; i++)
		fprintf(stderr, " %s", cmd->argv[i]);
	fputc('\n', stderr);
}

static int exec_launcher(
	struct weft_run_cmd *cmd, const struct weft_run_opt *opt)
{
	if (cmd->err) {
		const char *detail = weft_err_detail_peek(cmd->err);

		fprintf(stderr, "mpiexec: %s\n",
			*detail ? detail : weft_err_str(cmd->err));
		return cmd->err == WEFT_ERR_ARG ? EXIT_USAGE : EXIT_FAILURE;
	}
	if (opt->is_verbose)
		print_cmd(cmd);
	fflush(NULL);
	execvp(cmd->argv[0], cmd->argv);
	fprintf(stderr, "mpiexec: cannot start %s: %s\n", cmd->argv[0],
		strerror(errno));
	return EXIT_NOT_STARTED;
}

int weft_run_delegate(const struct weft_run_opt *opt)
{
	struct weft_run_cmd cmd = { 0 };
	enum weft_run_by by = WEFT_RUN_BY_SELF;
	int err = weft_run_delegate_choose(opt, &by), status;

	if (err) {
		fprintf(stderr, "mpiexec: %s\n", weft_err_detail_peek(err));
		return EXIT_USAGE;
	}
	if (by == WEFT_RUN_BY_SELF)
		return WEFT_RUN_DELEGATE_NONE;
	if (opt->n_max) {
		fprintf(stderr,
			"mpiexec: --min and --max: %s starts this job, and it "
			"cannot change the size of a job; on one host, "
			"WEFT_MPIEXEC=self lets mpiexec start it\n",
			by == WEFT_RUN_BY_SLURM ? "srun"
			: opt->dvm_uri		? "prun"
						: "prterun");
		return EXIT_USAGE;
	}
	if (by == WEFT_RUN_BY_SLURM) {
		slurm_env(opt);
		weft_run_delegate_slurm(&cmd, opt);
	} else {
		weft_run_delegate_prrte(&cmd, opt);
	}
	status = exec_launcher(&cmd, opt);
	weft_run_cmd_fini(&cmd);
	return status;
}
