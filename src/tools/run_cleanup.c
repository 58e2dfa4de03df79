/* SPDX-License-Identifier: BSD-3-Clause */
/* run_cleanup: a process that cleans up when the launcher is killed */
#include "tools/run_cleanup.h"

#include "base/err.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYE = 0, WALK_FDS = 16, KILL_ROUNDS = 20, ROUND_US = 20000 };

static int remove_one(
	const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	remove(path);
	return 0;
}

void weft_run_dir_remove(const char *dir)
{
	nftw(dir, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
}

/* True if the environment of the process contains mark. */
static int has_mark(const char *pid, const char *mark)
{
	char path[64], *text = NULL;
	size_t cap = 0;
	FILE *file;
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (!found && getdelim(&text, &cap, '\0', file) > 0)
		found = !strcmp(text, mark);
	free(text);
	fclose(file);
	return found;
}

/* Kills the processes whose environment contains mark, except this process.
 * Returns their number. */
static int kill_marked(const char *mark)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	if (!proc)
		return 0;
	for (entry = readdir(proc); entry; entry = readdir(proc)) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
			atoi(entry->d_name) == getpid() ||
			!has_mark(entry->d_name, mark))
			continue;
		n += kill(atoi(entry->d_name), SIGKILL) == 0;
	}
	closedir(proc);
	return n;
}

static void clean_up(
	const pid_t *pgids, size_t n, const char *dir, const char *mark)
{
	for (size_t i = 0; i < n; i++)
		kill(-pgids[i], SIGKILL);
	/* kills processes that left their group; repeated, because they may
	 * fork meanwhile */
	for (int i = 0; i < KILL_ROUNDS && kill_marked(mark); i++)
		usleep(ROUND_US);
	weft_run_dir_remove(dir);
}

/* Reads process groups until the launcher sends BYE, or until the pipe ends
 * because the launcher was killed. Cleans up in the second case. Does not
 * return. */
static void run_cleanup_watch(int fd, const char *dir, const char *mark)
{
	pid_t *pgids = NULL, pgid;
	size_t n = 0;
	ssize_t got;

	for (;;) {
		pid_t *grown;

		got = read(fd, &pgid, sizeof(pgid));
		if (got < 0 && errno == EINTR)
			continue;
		if (got != (ssize_t)sizeof(pgid) || pgid == BYE)
			break;
		grown = realloc(pgids, (n + 1) * sizeof(*pgids));
		if (!grown)
			continue;
		pgids = grown;
		pgids[n++] = pgid;
	}
	if (got != (ssize_t)sizeof(pgid))
		clean_up(pgids, n, dir, mark);
	_exit(0);
}

static void run_cleanup_main(int fd, const char *dir, const char *mark)
{
	setsid();
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "mpiexec-cleanup");
	/* closes the launcher's output and other files, and leaves its current
	 * directory */
	dup2(fd, 0);
	close_range(1, ~0u, 0);
	if (chdir("/"))
		_exit(1);
	run_cleanup_watch(0, dir, mark);
}

int weft_run_cleanup_start(
	struct weft_run_cleanup *cleanup, const char *dir, const char *mark)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return weft_err_set(
			WEFT_ERR_OTHER, "pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		close(fds[1]);
		run_cleanup_main(fds[0], dir, mark);
	}
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return weft_err_set(
			WEFT_ERR_OTHER, "fork: %s", strerror(errno));
	}
	*cleanup = (struct weft_run_cleanup){ .pid = pid, .fd = fds[1] };
	return 0;
}

void weft_run_cleanup_add(struct weft_run_cleanup *cleanup, pid_t pgid)
{
	if (write(cleanup->fd, &pgid, sizeof(pgid)) < 0)
		return; /* the cleanup process has ended: no cleanup then */
}

void weft_run_cleanup_stop(struct weft_run_cleanup *cleanup)
{
	if (!cleanup->pid)
		return;
	weft_run_cleanup_add(cleanup, BYE);
	close(cleanup->fd);
	while (waitpid(cleanup->pid, NULL, 0) < 0 && errno == EINTR)
		;
	cleanup->pid = 0;
}
