/* SPDX-License-Identifier: BSD-3-Clause */
/* launch: starts jobs for a process that has no process manager
 *
 * The environment of the new mpiexec has the name of its job and the port of
 * the parent, as in tools/run_spawn.h. A thread of this process waits until
 * mpiexec ends. */
#include "boot/launch.h"

#include "base/err.h"
#include "base/list.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* One launcher. Created by weft_launch_start(). The list and the waiting thread
 * refer to the struct, and the last of the two frees it. */
struct weft_launched {
	struct weft_launched *next;
	pthread_mutex_t lock;	    /* guards the fields below */
	struct weft_launch *launch; /* NULL: the list has been freed */
	bool has_ended;
	/* set before the waiting thread starts, then constant */
	pid_t pid;
	char name[WEFT_BOOT_JOB_MAX];
};

/* A growing list of arguments. is_bad: an allocation failed. */
struct arg_list {
	char **list;
	size_t n;
	bool is_bad;
};

static void arg_list_add(struct arg_list *args, const char *a, const char *b)
{
	char **list = realloc(args->list, (args->n + 2) * sizeof(*list));
	char *arg_text = NULL;

	if (list)
		args->list = list;
	if (!list || asprintf(&arg_text, "%s%s", a, b) < 0) {
		args->is_bad = true;
		return;
	}
	list[args->n++] = arg_text;
	list[args->n] = NULL;
}

static void arg_list_fini(struct arg_list *args)
{
	for (size_t i = 0; i < args->n; i++)
		free(args->list[i]);
	free(args->list);
}

/* ---- the command ---- */

/* Finds the mpiexec of this library: installed, or in the build folder. */
static int find_mpiexec(char *buf, size_t len)
{
	static const char *const places[] = { "../bin/mpiexec",
		"../../bin/mpiexec", "../mpiexec" };
	const char *slash;
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)weft_launch_start, &info) ||
		!info.dli_fname)
		info.dli_fname = "";
	slash = strrchr(info.dli_fname, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(buf, len, "%.*s/%s", (int)(slash - info.dli_fname),
			info.dli_fname, places[i]);
		if (!access(buf, X_OK))
			return 0;
	}
	return weft_err_set(WEFT_ERR_SPAWN,
		"this process was started without mpiexec, and there is no "
		"mpiexec in ../bin of its library \"%s\" to start other "
		"processes with; start the program with mpiexec",
		info.dli_fname);
}

/* Returns the value of a variable in the environment of the app, or NULL. */
static const char *launch_env_peek(
	const struct weft_boot_app *app, const char *name)
{
	size_t len = strlen(name);

	for (char *const *e = app->env; e && *e; e++)
		if (!strncmp(*e, name, len) && (*e)[len] == '=')
			return *e + len + 1;
	return NULL;
}

static int launch_add_app(
	struct arg_list *args, const struct weft_boot_app *app)
{
	char n[16];

	snprintf(n, sizeof(n), "%u", app->n);
	arg_list_add(args, "-n", "");
	arg_list_add(args, n, "");
	if (app->host) {
		arg_list_add(args, "-host", "");
		arg_list_add(args, app->host, "");
	}
	if (app->wdir) {
		arg_list_add(args, "-wdir", "");
		arg_list_add(args, app->wdir, "");
	}
	if (app->pset) {
		arg_list_add(args, "--pset", "");
		arg_list_add(args, app->pset, "");
	}
	arg_list_add(args, "--", "");
	arg_list_add(args, app->program, "");
	for (char *const *arg = app->argv; arg && *arg; arg++) {
		if (!strcmp(*arg, ":"))
			return weft_err_set(WEFT_ERR_SPAWN,
				"argument \":\" of \"%s\" cannot be passed on: "
				"mpiexec would read it as the start of another "
				"program",
				app->program);
		arg_list_add(args, *arg, "");
	}
	return 0;
}

static int launch_fill_argv(
	struct arg_list *args, const struct weft_boot_app *apps, size_t n)
{
	const char *handler =
		launch_env_peek(&apps[0], "WEFT_INITIAL_ERRHANDLER");
	int err = 0;

	arg_list_add(args, "mpiexec", "");
	if (handler) {
		arg_list_add(args, "-initial-errhandler", "");
		arg_list_add(args, handler, "");
	}
	for (size_t i = 0; !err && i < n; i++) {
		if (i)
			arg_list_add(args, ":", "");
		err = launch_add_app(args, &apps[i]);
	}
	return err ? err : args->is_bad ? WEFT_ERR_NOMEM : 0;
}

static int launch_fill_env(struct arg_list *args,
	const struct weft_boot_app *app, const char *name)
{
	const char *port = launch_env_peek(app, "WEFT_PARENT");

	for (char **e = environ; e && *e; e++)
		if (strncmp(*e, "WEFT_MPIEXEC=", 13))
			arg_list_add(args, *e, "");
	arg_list_add(args, "MPIEXEC_NAME=", name);
	arg_list_add(args, "MPIEXEC_PARENT=", port ? port : "");
	arg_list_add(args, "WEFT_MPIEXEC=", "self");
	return args->is_bad ? WEFT_ERR_NOMEM : 0;
}

/* ---- the end of a launcher ---- */

static void launched_free(struct weft_launched *l)
{
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static void *wait_for_end(void *arg)
{
	struct weft_launched *l = arg;
	bool is_last;

	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		; /* ECHILD: the program has reaped the launcher */
	pthread_mutex_lock(&l->lock);
	is_last = !l->launch;
	l->has_ended = true;
	if (l->launch) {
		atomic_fetch_add_explicit(
			&l->launch->boot->pending, 1, memory_order_relaxed);
		weft_boot_wake(l->launch->boot);
	}
	pthread_mutex_unlock(&l->lock);
	if (is_last)
		launched_free(l);
	return NULL;
}

/* Starts the waiting thread. The thread blocks signals, so the program's signal
 * handlers do not run on it. */
static int start_waiter(struct weft_launched *l)
{
	sigset_t all, before;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, NULL, wait_for_end, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return weft_err_set(
			WEFT_ERR_OTHER, "pthread_create: %s", strerror(rc));
	pthread_detach(thread);
	return 0;
}

/* ---- the calls ---- */

void weft_launch_init(struct weft_launch *launch, struct weft_boot *boot)
{
	launch->boot = boot;
	launch->list = NULL;
	pthread_mutex_init(&launch->lock, NULL);
}

static int launch_run(struct weft_launched *l, const char *path,
	char *const *argv, char *const *env)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	int rc;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(
		&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	rc = posix_spawn(&l->pid, path, &files, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return rc ? weft_err_set(WEFT_ERR_SPAWN, "%s: %s", path, strerror(rc))
		  : 0;
}

int weft_launch_start(struct weft_launch *launch,
	const struct weft_boot_app *apps, size_t n, char *job_out)
{
	struct weft_launched *l = calloc(1, sizeof(*l));
	struct arg_list argv = { 0 }, env = { 0 };
	char path[4096];
	uint32_t salt[2];
	int err = l ? find_mpiexec(path, sizeof(path)) : WEFT_ERR_NOMEM;

	if (!err && getrandom(salt, sizeof(salt), 0) != sizeof(salt))
		err = weft_err_set(
			WEFT_ERR_OTHER, "getrandom: %s", strerror(errno));
	if (!err) {
		snprintf(l->name, sizeof(l->name), "weft-%d-%08x%08x", getpid(),
			salt[0], salt[1]);
		l->launch = launch;
		pthread_mutex_init(&l->lock, NULL);
		err = launch_fill_argv(&argv, apps, n);
	}
	if (!err)
		err = launch_fill_env(&env, &apps[0], l->name);
	if (!err)
		err = launch_run(l, path, argv.list, env.list);
	if (!err) {
		err = start_waiter(l);
		if (err) {
			kill(l->pid, SIGKILL);
			waitpid(l->pid, NULL, 0);
		}
	}
	arg_list_fini(&argv);
	arg_list_fini(&env);
	if (err) {
		free(l);
		return err;
	}
	snprintf(job_out, WEFT_BOOT_JOB_MAX, "%s", l->name);
	pthread_mutex_lock(&launch->lock);
	l->next = launch->list;
	launch->list = l;
	pthread_mutex_unlock(&launch->lock);
	return 0;
}

/* Removes a launcher that has ended from the list, and returns that launcher;
 * NULL if none has ended. */
static struct weft_launched *pop_ended(struct weft_launch *launch)
{
	struct weft_launched **at, *l = NULL;

	pthread_mutex_lock(&launch->lock);
	for (at = &launch->list; *at && !l; at = l ? at : &(*at)->next) {
		pthread_mutex_lock(&(*at)->lock);
		l = (*at)->has_ended ? *at : NULL;
		pthread_mutex_unlock(&(*at)->lock);
		if (l)
			*at = l->next;
	}
	pthread_mutex_unlock(&launch->lock);
	return l;
}

int weft_launch_poll(
	struct weft_launch *launch, weft_boot_event_fn *fn, void *arg)
{
	struct weft_boot_event event = { .kind = WEFT_BOOT_JOB_ENDED };
	struct weft_launched *l;
	int n = 0;

	while ((l = pop_ended(launch)) != NULL) {
		atomic_fetch_sub_explicit(
			&launch->boot->pending, 1, memory_order_relaxed);
		snprintf(event.name, sizeof(event.name), "%s", l->name);
		event.code = -1;
		if (fn)
			fn(arg, &event);
		launched_free(l);
		n++;
	}
	return n;
}

void weft_launch_fini(struct weft_launch *launch)
{
	struct weft_launched *l;

	while ((l = launch->list) != NULL) {
		bool has_ended;

		launch->list = l->next;
		pthread_mutex_lock(&l->lock);
		l->launch = NULL;
		has_ended = l->has_ended;
		pthread_mutex_unlock(&l->lock);
		if (has_ended) /* otherwise the thread frees l */
			launched_free(l);
	}
	pthread_mutex_destroy(&launch->lock);
}
