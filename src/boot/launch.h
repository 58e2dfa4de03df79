/* SPDX-License-Identifier: BSD-3-Clause */
/* launch: starts jobs for a process that has no process manager
 *
 * Any thread, unless the contract of a function differs. */
#ifndef WEFT_LAUNCH_H
#define WEFT_LAUNCH_H

#include "boot/boot.h"

#include <pthread.h>

/* The jobs that a process started. The caller provides the memory. */
struct weft_launch {
	struct weft_boot *boot;
	pthread_mutex_t lock; /* guards the fields below */
	struct weft_launched *list;
};

void weft_launch_init(struct weft_launch *launch, struct weft_boot *boot);

/* Starts mpiexec, which starts the apps. Writes the name of their job to
 * job_out (WEFT_BOOT_JOB_MAX bytes). Does not wait for the job. WEFT_ERR_SPAWN:
 * this library has no mpiexec, or mpiexec cannot be started. When the mpiexec
 * ends, boot->pending is incremented. */
int weft_launch_start(struct weft_launch *launch,
	const struct weft_boot_app *apps, size_t n, char *job_out);

/* Delivers WEFT_BOOT_JOB_ENDED for each job that has ended; returns the number
 * of such jobs. Only the poll function of the boot object calls it. */
int weft_launch_poll(
	struct weft_launch *launch, weft_boot_event_fn *fn, void *arg);

/* Frees the list; the jobs continue. */
void weft_launch_fini(struct weft_launch *launch);

#endif
