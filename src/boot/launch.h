/* SPDX-License-Identifier: BSD-3-Clause */
/* launch: starts jobs for a process that has no process manager
 *
 * Any thread, unless a call says otherwise. */
#ifndef WEFT_LAUNCH_H
#define WEFT_LAUNCH_H

#include "boot/boot.h"

#include <pthread.h>

/* The jobs that a process started. Caller's memory. */
struct weft_launch {
	struct weft_boot *boot;
	pthread_mutex_t lock; /* guards what follows */
	struct weft_launched *list;
};

void weft_launch_init(struct weft_launch *launch, struct weft_boot *boot);

/* Starts mpiexec, which starts the apps; their job is *job_out
 * (WEFT_BOOT_JOB_MAX bytes). Does not wait for it. WEFT_ERR_SPAWN if there is
 * no mpiexec of this library. When that mpiexec has ended, boot->pending counts
 * one more. */
int weft_launch_start(struct weft_launch *launch,
	const struct weft_boot_app *apps, size_t n, char *job_out);

/* Delivers WEFT_BOOT_JOB_ENDED for each job that has ended; returns how many.
 * Call it in boot's poll only. */
int weft_launch_poll(
	struct weft_launch *launch, weft_boot_event_fn *fn, void *arg);

/* Frees the list; the jobs continue. */
void weft_launch_fini(struct weft_launch *launch);

#endif
