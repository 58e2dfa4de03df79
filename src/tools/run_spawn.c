/* SPDX-License-Identifier: BSD-3-Clause */
/* run_spawn: jobs that processes spawn */
#include "tools/run_spawn.h"

#include "base/err.h"
#include "base/knob.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void spawn_free(struct weft_run_spawn *s)
{
	for (char **arg = s->app.argv; arg && *arg; arg++)
		free(*arg);
	free(s->app.argv);
	if (s->pipe >= 0)
		close(s->pipe);
	weft_run_fault_unmap(s->proc.fault, 1);
	free(s);
}

void weft_run_spawn_free(struct weft_run_spawn *list)
{
	while (list) {
		struct weft_run_spawn *next = list->next;

		spawn_free(list);
		list = next;
	}
}

static bool is_program(const char *path)
{
	return access(path, X_OK) == 0;
}

/* True if a process in directory dir would find the program. */
static bool is_found(const char *program, const char *dir)
{
	const char *dirs = weft_knob_getenv("PATH");
	char path[8192];

	if (strchr(program, '/')) {
		snprintf(path, sizeof(path), "%s%s%s",
			*program == '/' ? "" : dir, *program == '/' ? "" : "/",
			program);
		return is_program(path);
	}
	while (dirs && *dirs) {
		size_t len = strcspn(dirs, ":");

		snprintf(
			path, sizeof(path), "%.*s/%s", (int)len, dirs, program);
		if (is_program(path))
			return true;
		dirs += len + (dirs[len] == ':');
	}
	return false;
}

/* Checks that the programs exist. In argv, each program follows a "--", and its
 * option -wdir, if any, precedes the "--". */
static int check_programs(char *const *argv)
{
	const char *dir = ".";

	for (; *argv; argv++) {
		if (!strcmp(*argv, "-wdir") && argv[1])
			dir = argv[1];
		if (strcmp(*argv, "--") || !argv[1])
			continue;
		if (!is_found(argv[1], dir))
			return weft_err_set(WEFT_ERR_SPAWN,
				"program %s does not exist, or is not "
				"executable",
				argv[1]);
		while (argv[1] && strcmp(argv[1], ":"))
			argv++;
		dir = ".";
	}
	return 0;
}

static char **copy_args(char *const *argv, bool keep_going)
{
	size_t n = 0, at = 0;
	char **copy;

	while (argv[n])
		n++;
	copy = calloc(n + 2, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[at++] = strdup(i ? argv[i] : "/proc/self/exe");
		if (!i && keep_going)
			copy[at++] = strdup("--continue");
	}
	return copy;
}

static int make_name(struct weft_run_spawn *s)
{
	uint32_t salt[2];

	if (getrandom(salt, sizeof(salt), 0) != sizeof(salt))
		return weft_err_set(
			WEFT_ERR_OTHER, "getrandom: %s", strerror(errno));
	snprintf(s->name, sizeof(s->name), "weft-%d-%08x%08x", getpid(),
		salt[0], salt[1]);
	return 0;
}

static int run_spawn_make_env(const struct weft_run_spawn *s, int from_above,
	int to_above, char ***env)
{
	char pair[WEFT_RUN_PARENT_MAX + 32];
	int err;

	*env = calloc(1, sizeof(**env));
	err = *env ? 0 : WEFT_ERR_NOMEM;
	for (char **e = environ; *e && !err; e++)
		err = weft_run_env_set(env, *e);
	snprintf(pair, sizeof(pair), "%s=%s", WEFT_RUN_SPAWN_NAME_ENV, s->name);
	if (!err)
		err = weft_run_env_set(env, pair);
	snprintf(pair, sizeof(pair), "%s=%d %d", WEFT_RUN_SPAWN_PIPES_ENV,
		from_above, to_above);
	if (!err)
		err = weft_run_env_set(env, pair);
	snprintf(pair, sizeof(pair), "%s=%s", WEFT_RUN_SPAWN_PARENT_ENV,
		s->parent);
	if (!err)
		err = weft_run_env_set(env, pair);
	if (!err) /* the child launcher never uses srun or prterun */
		err = weft_run_env_set(env, "WEFT_MPIEXEC=self");
	return err;
}

static int run_spawn_launch(
	struct weft_run_spawn *s, const struct weft_run_pipes *pipes)
{
	struct weft_run_start start = { .launcher = getpid(),
		.fds = { -1, STDOUT_FILENO, STDERR_FILENO } };
	int fds[2] = { -1, -1 };
	int up = dup(pipes->below[1]); /* the child launcher inherits it */
	int err = 0;

	start.fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (start.fds[0] < 0 || up < 0 || pipe2(fds, O_CLOEXEC | O_NONBLOCK) ||
		fcntl(fds[0], F_SETFD, 0))
		err = weft_err_set(WEFT_ERR_OTHER, "pipe: %s", strerror(errno));
	s->pipe = fds[1];
	start.kept[0] = fds[0];
	start.kept[1] = up;
	if (!err)
		err = run_spawn_make_env(s, fds[0], up, &start.env);
	if (!err)
		err = weft_run_proc_start(&s->proc, &start);
	weft_run_env_free(start.env);
	if (fds[0] >= 0)
		close(fds[0]);
	if (up >= 0)
		close(up);
	if (start.fds[0] >= 0)
		close(start.fds[0]);
	return err;
}

int weft_run_spawn_start(struct weft_run_spawn **list,
	struct weft_run_pipes *pipes, char *const *argv, const char *parent,
	bool keep_going)
{
	struct weft_run_spawn *s;
	int err = check_programs(argv);

	if (!err && pipes->below[0] < 0 &&
		pipe2(pipes->below, O_CLOEXEC | O_NONBLOCK))
		err = weft_err_set(WEFT_ERR_OTHER, "pipe: %s", strerror(errno));
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return WEFT_ERR_NOMEM;
	s->pipe = -1;
	snprintf(s->parent, sizeof(s->parent), "%s", parent ? parent : "");
	s->proc.app = &s->app;
	s->proc.fault = weft_run_fault_map(1);
	s->app.argv = copy_args(argv, keep_going);
	err = s->proc.fault && s->app.argv ? make_name(s) : WEFT_ERR_NOMEM;
	if (!err)
		err = run_spawn_launch(s, pipes);
	if (err) {
		spawn_free(s);
		return err;
	}
	s->next = *list;
	*list = s;
	return 0;
}

struct weft_run_spawn *weft_run_spawn_ended(
	struct weft_run_spawn *list, pid_t pid, int status)
{
	for (struct weft_run_spawn *s = list; s; s = s->next)
		if (s->proc.is_running && s->proc.pid == pid) {
			s->proc.is_running = false;
			s->proc.status = status;
			return s;
		}
	return NULL;
}

size_t weft_run_spawn_running(const struct weft_run_spawn *list)
{
	size_t n = 0;

	for (; list; list = list->next)
		n += list->proc.is_running;
	return n;
}

void weft_run_spawn_kill(const struct weft_run_spawn *list, int sig)
{
	for (; list; list = list->next)
		weft_run_proc_kill(&list->proc, sig);
}

enum { HEAD_LEN = offsetof(struct weft_run_notice, set.runs) };

/* Writes of this length are not split, and do not mix with other writes. */
static_assert(sizeof(struct weft_run_notice) <= PIPE_BUF, "notice is too long");

/* Writes a notice to a pipe. Warns if the pipe is full. After other errors, the
 * reader has ended. */
static bool send_notice(int pipe, const struct weft_run_notice *notice)
{
	size_t len = HEAD_LEN + notice->set.n_runs * sizeof(*notice->set.runs);

	if (write(pipe, notice, len) >= 0)
		return true;
	if (errno == EAGAIN && notice->kind <= WEFT_RUN_DEATH)
		fprintf(stderr,
			"mpiexec: a launcher does not read its notices; its "
			"processes may wait for ever for job %s, which has "
			"ended or has a failed process\n",
			notice->job);
	else if (errno == EAGAIN)
		fprintf(stderr,
			"mpiexec: a launcher does not read its notices; its "
			"processes do not receive a change of process set "
			"\"%s\"\n",
			notice->set.name);
	return false;
}

bool weft_run_spawn_send(
	const struct weft_run_spawn *s, const struct weft_run_notice *notice)
{
	return s->proc.is_running && send_notice(s->pipe, notice);
}

struct weft_run_spawn *weft_run_spawn_find(
	struct weft_run_spawn *list, const char *name)
{
	while (list && strcmp(list->name, name))
		list = list->next;
	return list;
}

void weft_run_spawn_notify(
	const struct weft_run_spawn *list, const struct weft_run_notice *notice)
{
	for (; list; list = list->next)
		if (strcmp(list->name, notice->job))
			(void)weft_run_spawn_send(list, notice);
}

bool weft_run_spawn_report(const struct weft_run_pipes *pipes,
	const struct weft_run_notice *notice)
{
	return pipes->to_above >= 0 && send_notice(pipes->to_above, notice);
}

static int take_fd(int fd)
{
	return fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) ? -1 : fd;
}

void weft_run_spawn_above(
	struct weft_run_pipes *pipes_out, char *name_out, char *parent_out)
{
	const char *parent = weft_knob_getenv(WEFT_RUN_SPAWN_PARENT_ENV);
	const char *name = weft_knob_getenv(WEFT_RUN_SPAWN_NAME_ENV);
	const char *pipes = weft_knob_getenv(WEFT_RUN_SPAWN_PIPES_ENV);
	int from = -1, to = -1;

	if (pipes && sscanf(pipes, "%d %d", &from, &to) != 2)
		from = to = -1;
	*pipes_out = (struct weft_run_pipes){ take_fd(from), take_fd(to),
		{ -1, -1 } };
	snprintf(name_out, WEFT_RUN_NAME_MAX, "%s", name ? name : "");
	snprintf(parent_out, WEFT_RUN_PARENT_MAX, "%s", parent ? parent : "");
	unsetenv(WEFT_RUN_SPAWN_NAME_ENV);
	unsetenv(WEFT_RUN_SPAWN_PARENT_ENV);
	unsetenv(WEFT_RUN_SPAWN_PIPES_ENV);
}

bool weft_run_spawn_receive(int *fd, struct weft_run_notice *notice_out)
{
	ssize_t got = *fd < 0 ? -1 : read(*fd, notice_out, HEAD_LEN);
	struct weft_serve_set *set = &notice_out->set;
	ssize_t rest = got < HEAD_LEN
			       ? 0
			       : (ssize_t)(set->n_runs * sizeof(*set->runs));

	/* the writer writes the runs together with the head */
	if (got == HEAD_LEN && set->n_runs <= WEFT_SERVE_RUNS_MAX &&
		(!rest || read(*fd, set->runs, (size_t)rest) == rest)) {
		notice_out->job[WEFT_RUN_NAME_MAX - 1] = '\0';
		set->name[sizeof(set->name) - 1] = '\0';
		return true;
	}
	if (*fd >= 0 && (got >= 0 || errno != EAGAIN)) {
		close(*fd);
		*fd = -1;
	}
	return false;
}
