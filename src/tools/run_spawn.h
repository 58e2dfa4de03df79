/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_spawn: jobs that a process of ours had started
 *
 * Each has a launcher of its own: mpiexec once more, as a child of this one.
 * So the new job is independent of ours from the start; what ties the two is
 * what their processes have opened. The launchers tell each other when a job
 * is over, so that nobody waits for it.
 */
#ifndef WEFT_RUN_SPAWN_H
#define WEFT_RUN_SPAWN_H

#include "tools/run_proc.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	WEFT_RUN_NAME_MAX = 64,
	WEFT_RUN_PARENT_MAX = 512, /* a port's name */
};

/* Names the job for the launcher beneath, the pipe it listens on, and the port
 * of the parent; that is a secret and not for a command line. */
#define WEFT_RUN_SPAWN_NAME_ENV "MPIEXEC_NAME"
#define WEFT_RUN_SPAWN_PIPE_ENV "MPIEXEC_ABOVE"
#define WEFT_RUN_SPAWN_PARENT_ENV "MPIEXEC_PARENT"

/* One launcher beneath us.  Made by _start, destroyed by _free. */
struct weft_run_spawn {
	struct weft_run_spawn *next;
	char name[WEFT_RUN_NAME_MAX]; /* of its job */
	char parent[WEFT_RUN_PARENT_MAX];
	struct weft_run_proc proc;
	struct weft_run_app app;
	int pipe; /* where it is told of jobs that ended */
};

/*
 * Start a launcher with these arguments (NULL-ended; the first is replaced)
 * and put it at the head of *list; parent (or NULL) is the port its processes
 * are to connect to.  WEFT_ERR_SPAWN when one of the programs it
 * is to start does not exist.
 */
int weft_run_spawn_start(
	struct weft_run_spawn **list, char *const *argv, const char *parent);

/* The one with this pid that ended with status; NULL for somebody else. */
struct weft_run_spawn *weft_run_spawn_ended(
	struct weft_run_spawn *list, pid_t pid, int status);

/* How many still run. */
size_t weft_run_spawn_running(const struct weft_run_spawn *list);

void weft_run_spawn_kill(const struct weft_run_spawn *list, int sig);

/* The job of this name is over. */
void weft_run_spawn_notify(const struct weft_run_spawn *list, const char *name);

void weft_run_spawn_free(struct weft_run_spawn *list);

/*
 * The other end: the descriptor from above, or -1; and the name this
 * launcher's job is to have, or ""; and the parent's port, or "".  All are
 * taken out of the environment.
 */
int weft_run_spawn_above(char *name_out, char *parent_out);

/* The next job that ended, from above; false when there is none now.  *fd
 * becomes -1 when there will be none any more. */
bool weft_run_spawn_receive(int *fd, char *name_out);

#endif
