/* SPDX-License-Identifier: BSD-3-Clause */
/* launch: a launcher behind a process that was started without one
 *
 * Any thread, except where said. */
#ifndef WEFT_LAUNCH_H
#define WEFT_LAUNCH_H

#include "boot/boot.h"

#include <pthread.h>

/* The jobs that a process had started. Caller's memory. */
struct weft_launch {
	struct weft_boot *boot;
	pthread_mutex_t lock; /* guards what follows */
	struct weft_launched *list;
};

void weft_launch_init(struct weft_launch *launch, struct weft_boot *boot);

/* Starts mpiexec, which starts the apps; their job is *job_out
 * (WEFT_BOOT_JOB_MAX bytes). Does not wait for it. WEFT_ERR_SPAWN where there
 * is no mpiexec of ours beside the library. When that has ended boot->pending
 * counts one more. */
int weft_launch_start(struct weft_launch *launch,
	const struct weft_boot_app *apps, size_t n, char *job_out);

/* Delivers WEFT_BOOT_JOB_ENDED for each job that is over; returns how many. In
 * boot's poll only. */
int weft_launch_poll(
	struct weft_launch *launch, weft_boot_event_fn *fn, void *arg);

/* The jobs go on. */
void weft_launch_fini(struct weft_launch *launch);

#endif
