/* SPDX-License-Identifier: BSD-3-Clause */
/* run_proc: starts, signals and reaps the processes of a job */
#include "tools/run_proc.h"

#include "base/err.h"
#include "boot/boot.h"
#include "tools/run_mpir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NOT_STARTED = 127, SWEEP_ROUNDS = 50, SWEEP_US = 10000 };

extern char **environ;

struct weft_run_fault *weft_run_fault_map(uint32_t n)
{
	void *p = mmap(NULL, n * sizeof(struct weft_run_fault),
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void weft_run_fault_unmap(struct weft_run_fault *faults, uint32_t n)
{
	if (faults)
		munmap(faults, n * sizeof(*faults));
}

/* In the child: stores the reason and exits. */
static void run_proc_exit(
	struct weft_run_fault *fault, enum weft_run_stage stage)
{
	fault->error = errno;
	fault->stage = stage;
	_exit(EXIT_NOT_STARTED);
}

/* In the child: restores the default signal handling, as a shell does. */
static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child: executes the program from app->path, or else as a shell does.
 * Returns on failure only. */
static void run_program(const struct weft_run_app *app, char **env)
{
	char *dirs, *save = NULL, path[4096];

	environ = env;
	if (app->path && !strchr(app->argv[0], '/')) {
		dirs = strdup(app->path);
		for (char *dir = dirs ? strtok_r(dirs, ":", &save) : NULL; dir;
			dir = strtok_r(NULL, ":", &save)) {
			snprintf(
				path, sizeof(path), "%s/%s", dir, app->argv[0]);
			execve(path, app->argv, env);
		}
	}
	execvpe(app->argv[0], app->argv, env);
}

static void exec_process(
	struct weft_run_proc *proc, const struct weft_run_start *start)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != start->launcher)
		_exit(EXIT_NOT_STARTED); /* the launcher died before prctl() */
	for (int fd = 0; fd < 3; fd++)
		if (start->fds[fd] != fd && dup2(start->fds[fd], fd) < 0)
			run_proc_exit(proc->fault, WEFT_RUN_STAGE_EXEC);
	/* libpmix's server accepts connections without close-on-exec */
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	for (int i = 0; i < 2; i++)
		if (start->kept[i])
			fcntl(start->kept[i], F_SETFD, 0);
	reset_signals();
	if (proc->app->wdir && chdir(proc->app->wdir))
		run_proc_exit(proc->fault, WEFT_RUN_STAGE_WDIR);
	if (start->cpus &&
		sched_setaffinity(0, sizeof(*start->cpus), start->cpus))
		run_proc_exit(proc->fault, WEFT_RUN_STAGE_BIND);
	if (start->is_held)
		weft_run_mpir_trace();
	run_program(proc->app, start->env);
	run_proc_exit(proc->fault, WEFT_RUN_STAGE_EXEC);
}

int weft_run_proc_start(
	struct weft_run_proc *proc, const struct weft_run_start *start)
{
	pid_t pid = fork();

	if (!pid)
		exec_process(proc, start);
	if (pid < 0)
		return weft_err_set(WEFT_ERR_OTHER,
			"cannot start process %u: fork: %s", proc->rank,
			strerror(errno));
	setpgid(pid, pid); /* in both processes, because either may run first */
	proc->pid = pid;
	proc->is_running = true;
	if (start->is_held)
		weft_run_mpir_hold(pid);
	return 0;
}

void weft_run_proc_kill(const struct weft_run_proc *proc, int sig)
{
	if (proc->is_running && kill(-proc->pid, sig))
		kill(proc->pid, sig);
}

static struct weft_run_proc *proc_find(
	struct weft_run_proc *procs, uint32_t n, pid_t pid)
{
	for (uint32_t r = 0; r < n; r++)
		if (procs[r].is_running && procs[r].pid == pid)
			return &procs[r];
	return NULL;
}

/* Returns the status that waitpid() will return. */
static int wait_status(const siginfo_t *info)
{
	if (info->si_code == CLD_EXITED)
		return W_EXITCODE(info->si_status, 0);
	return W_EXITCODE(0, info->si_status) |
	       (info->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

struct weft_run_proc *weft_run_proc_next_ended(struct weft_run_proc *procs,
	uint32_t n, weft_run_other_fn *fn, void *arg)
{
	for (;;) {
		struct weft_run_proc *proc;
		siginfo_t info = { 0 };

		/* WNOWAIT leaves the process a zombie, so that the number of
		 * its group is not reused before the group is killed */
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) ||
			!info.si_pid)
			return NULL;
		proc = proc_find(procs, n, info.si_pid);
		if (proc) {
			kill(-proc->pid, SIGKILL);
			proc->status = wait_status(&info);
			proc->is_running = false;
			return proc;
		}
		if (waitpid(info.si_pid, NULL, 0) < 0)
			return NULL;
		fn(arg, info.si_pid, wait_status(&info));
	}
}

void weft_run_proc_reap(const struct weft_run_proc *proc)
{
	while (waitpid(proc->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Kills the children that the kernel lists. Returns their number. */
static int kill_children(pid_t except)
{
	char path[64];
	int n = 0, pid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fscanf(file, "%d", &pid) == 1)
		if (pid != except && kill(pid, SIGKILL) == 0)
			n++;
	fclose(file);
	return n;
}

void weft_run_proc_sweep(pid_t except)
{
	/* after each round, the launcher adopts the killed processes' children
	 */
	for (int i = 0; i < SWEEP_ROUNDS && kill_children(except); i++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(i ? SWEEP_US : 1000);
	}
}

static size_t name_len(const char *pair)
{
	return strcspn(pair, "=");
}

static bool same_name(const char *a, const char *b)
{
	size_t len = name_len(a);

	return len == name_len(b) && !memcmp(a, b, len);
}

int weft_run_env_set(char ***env, const char *pair)
{
	char *copy = strdup(pair), **grown;
	size_t n = 0;

	if (!copy)
		return WEFT_ERR_NOMEM;
	for (; *env && (*env)[n]; n++) {
		if (!same_name((*env)[n], pair))
			continue;
		free((*env)[n]);
		(*env)[n] = copy;
		return 0;
	}
	grown = realloc(*env, (n + 2) * sizeof(*grown));
	if (!grown) {
		free(copy);
		return WEFT_ERR_NOMEM;
	}
	grown[n] = copy;
	grown[n + 1] = NULL;
	*env = grown;
	return 0;
}

/* True if NAME of "NAME=VALUE" is in the list "A,B". */
static bool is_listed(const char *pair, const char *list)
{
	size_t len = name_len(pair);

	while (*list) {
		size_t part = strcspn(list, ",");

		if (part == len && !memcmp(list, pair, len))
			return true;
		list += part + (list[part] == ',');
	}
	return false;
}

/* True for variables that another launcher or its PMIx server set for this
 * launcher: they do not concern the new job. */
static bool is_foreign(const char *pair)
{
	return (!strncmp(pair, "PMIX_", 5) && strncmp(pair, "PMIX_MCA_", 9)) ||
	       !strncmp(pair, "WEFT_PARENT=", 12) ||
	       !strncmp(pair, WEFT_BOOT_STEP_ENV "=",
		       sizeof(WEFT_BOOT_STEP_ENV));
}

static int env_inherit(char ***env, const struct weft_run_env *rule)
{
	int err = 0;

	for (char **e = environ; *e && !err; e++) {
		if (is_foreign(*e) || rule->mode == WEFT_RUN_ENV_NONE)
			continue;
		if (rule->mode == WEFT_RUN_ENV_LIST &&
			!is_listed(*e, rule->list))
			continue;
		err = weft_run_env_set(env, *e);
	}
	return err;
}

static int env_apply(char ***env, const struct weft_run_env *rule)
{
	int err = 0;

	for (size_t i = 0; i < rule->n_set && !err; i++)
		err = weft_run_env_set(env, rule->set[i]);
	return err;
}

static int env_add_options(char ***env, const struct weft_run_opt *opt)
{
	char pair[512];
	int err = 0;

	if (opt->universe) {
		snprintf(pair, sizeof(pair), "WEFT_UNIVERSE_SIZE=%u",
			opt->universe);
		err = weft_run_env_set(env, pair);
	}
	if (err || !opt->alloc_kinds)
		return err;
	snprintf(pair, sizeof(pair), "WEFT_MEMORY_ALLOC_KINDS=%s",
		opt->alloc_kinds);
	return weft_run_env_set(env, pair);
}

char **weft_run_env_make(
	const struct weft_run_opt *opt, const struct weft_run_app *app)
{
	char **env = calloc(1, sizeof(*env));
	int err = env ? 0 : WEFT_ERR_NOMEM;

	if (!err)
		err = env_inherit(
			&env, app->env.has_mode ? &app->env : &opt->env);
	if (!err)
		err = env_apply(&env, &opt->env);
	if (!err)
		err = env_apply(&env, &app->env);
	if (!err)
		err = env_add_options(&env, opt);
	if (!err)
		return env;
	weft_run_env_free(env);
	return NULL;
}

void weft_run_env_free(char **env)
{
	for (char **e = env; e && *e; e++)
		free(*e);
	free(env);
}
