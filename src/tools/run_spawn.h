/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_spawn: jobs that processes spawn
 *
 * Each spawned job has its own launcher, another mpiexec, which is a child of
 * this one. So the new job is independent from the start. Only communicators
 * that its processes open connect it to this job. The launchers notify each
 * other of jobs that have ended, so that no process waits for such a job.
 */
#ifndef WEFT_RUN_SPAWN_H
#define WEFT_RUN_SPAWN_H

#include "tools/run_proc.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	WEFT_RUN_NAME_MAX = 64,
	WEFT_RUN_PARENT_MAX = 512, /* name of a port */
};

/* Environment of a child launcher: the name of its job, the pipe for
 * notifications, and the port of the parent job. The port is a secret, so it is
 * not on the command line. */
#define WEFT_RUN_SPAWN_NAME_ENV "MPIEXEC_NAME"
#define WEFT_RUN_SPAWN_PIPE_ENV "MPIEXEC_ABOVE"
#define WEFT_RUN_SPAWN_PARENT_ENV "MPIEXEC_PARENT"

/* One child launcher. Created by _start, destroyed by _free. */
struct weft_run_spawn {
	struct weft_run_spawn *next;
	char name[WEFT_RUN_NAME_MAX]; /* of its job */
	char parent[WEFT_RUN_PARENT_MAX];
	struct weft_run_proc proc;
	struct weft_run_app app;
	int pipe; /* notifies it of jobs that have ended */
};

/*
 * Starts a launcher with these arguments (NULL-terminated; the first is
 * replaced), and inserts it at the head of *list. parent is the port that its
 * processes connect to, or NULL. WEFT_ERR_SPAWN if one of the programs does not
 * exist.
 */
int weft_run_spawn_start(
	struct weft_run_spawn **list, char *const *argv, const char *parent);

/* Marks the launcher with this pid as ended, with its status, and returns it.
 * NULL if no launcher of the list has the pid. */
struct weft_run_spawn *weft_run_spawn_ended(
	struct weft_run_spawn *list, pid_t pid, int status);

/* The number of launchers that still run. */
size_t weft_run_spawn_running(const struct weft_run_spawn *list);

void weft_run_spawn_kill(const struct weft_run_spawn *list, int sig);

/* Notifies the launchers that the job of this name has ended. */
void weft_run_spawn_notify(const struct weft_run_spawn *list, const char *name);

void weft_run_spawn_free(struct weft_run_spawn *list);

/*
 * Called by the child launcher. Returns the read end of its pipe, or -1, and
 * writes the name of its job and the parent's port, or "". Removes all three
 * from the environment.
 */
int weft_run_spawn_above(char *name_out, char *parent_out);

/* Receives the name of the next job that has ended. False if there is none at
 * present. Closes *fd and sets it to -1 if the launcher above has ended. */
bool weft_run_spawn_receive(int *fd, char *name_out);

#endif
