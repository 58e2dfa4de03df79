/* SPDX-License-Identifier: BSD-3-Clause */
/* run_profile: mpiexec --profile */
#ifndef WEFT_RUN_PROFILE_H
#define WEFT_RUN_PROFILE_H

#include <stdint.h>

struct weft_run_opt;

/* Sets opt->profile from WEFT_PROFILE if there is no --profile; NULL: no
 * profile. With a profile, sets variables of the processes, so that they
 * preload the profile library. 0, or WEFT_ERR_ARG, described, or
 * WEFT_ERR_NOMEM. */
int weft_run_profile_set_up(struct weft_run_opt *opt);

/* Prints the profile of a job of n processes that has ended, from their records
 * in dir, and writes the file that profile names, if any. job is the name of a
 * spawned job, else "". */
void weft_run_profile_print(
	const char *profile, const char *job, const char *dir, uint32_t n);

#endif
