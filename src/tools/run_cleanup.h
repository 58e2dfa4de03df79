/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_cleanup: a process that cleans up when the launcher is killed
 *
 * A small process, which has called setsid(2), reads a pipe that only the
 * launcher writes to. If the pipe ends without a final message, the process
 * kills every process group of the job and all processes with the job's name in
 * their environment. Then it removes the job's temporary directory.
 */
#ifndef WEFT_RUN_CLEANUP_H
#define WEFT_RUN_CLEANUP_H

#include <sys/types.h>

struct weft_run_cleanup {
	pid_t pid; /* 0: none */
	int fd;	   /* write end of the pipe to it */
};

/*
 * Starts the process; called before the launcher has threads. dir is removed
 * when the launcher dies. mark is a "NAME=VALUE" in the environment of every
 * process of the job. 0 or WEFT_ERR_OTHER, described.
 */
int weft_run_cleanup_start(
	struct weft_run_cleanup *cleanup, const char *dir, const char *mark);

/* Adds a process group of the job. */
void weft_run_cleanup_add(struct weft_run_cleanup *cleanup, pid_t pgid);

/* Ends the process without a cleanup, and waits for its end. */
void weft_run_cleanup_stop(struct weft_run_cleanup *cleanup);

/* Removes a directory with its contents. Does not follow links. */
void weft_run_dir_remove(const char *dir);

#endif
