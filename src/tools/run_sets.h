/* SPDX-License-Identifier: BSD-3-Clause */
/* run_sets: process sets with members of several jobs
 *
 * Each job has its own launcher. The launcher of the job that defines such a
 * set asks its neighbours: its parent and its child launchers. Each launcher
 * forwards the request to its other neighbours. It defines the set if its job
 * has members. When all its neighbours have answered or ended, it answers with
 * the number of jobs that have defined the set. So the first launcher learns
 * whether all jobs of the members have the set. Otherwise it deletes the set
 * again, and the definition fails. */
#ifndef WEFT_RUN_SETS_H
#define WEFT_RUN_SETS_H

#include "tools/run_job.h"

/* Handles the definition or deletion of a set by a process of this job. */
void weft_run_sets_on_request(
	struct weft_run_job *run, struct weft_serve_event *event);

/* Handles a record of a neighbour; from is NULL for the parent launcher. */
void weft_run_sets_on_notice(struct weft_run_job *run,
	const struct weft_run_notice *notice, struct weft_run_spawn *from);

/* Called when a neighbour has ended. */
void weft_run_sets_on_end(
	struct weft_run_job *run, const struct weft_run_spawn *neighbour);

/* Frees all requests. The server has stopped. */
void weft_run_sets_close(struct weft_run_job *run);

#endif
