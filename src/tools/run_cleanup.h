/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_cleanup: what cleans up when the launcher itself is killed
 *
 * A small process, in a session of its own, that waits on a pipe whose other
 * end only the launcher holds.  When the pipe ends without a goodbye it kills
 * every process group of the job and whatever else carries the job's name in
 * its environment, and removes the session directory.
 */
#ifndef WEFT_RUN_CLEANUP_H
#define WEFT_RUN_CLEANUP_H

#include <sys/types.h>

struct weft_run_cleanup {
	pid_t pid; /* 0: none */
	int fd;	   /* write end */
};

/*
 * Start it; call before the process has threads.  dir is removed when the
 * launcher dies; mark is a "NAME=VALUE" that every process of the job has in
 * its environment.
 */
int weft_run_cleanup_start(
	struct weft_run_cleanup *cleanup, const char *dir, const char *mark);

/* Process group pgid belongs to the job.  Safe after fork. */
void weft_run_cleanup_add(struct weft_run_cleanup *cleanup, pid_t pgid);

/* All is cleaned up: dismiss it and wait for its end. */
void weft_run_cleanup_stop(struct weft_run_cleanup *cleanup);

/* Remove dir and what is in it; does not follow links. */
void weft_run_dir_remove(const char *dir);

#endif
