/* SPDX-License-Identifier: BSD-3-Clause */
/* run_profile: mpiexec --profile */
#ifndef WEFT_RUN_PROFILE_H
#define WEFT_RUN_PROFILE_H

#include <stdint.h>

struct weft_run_opt;

/* Without --profile, WEFT_PROFILE is used. If a profile is wanted, the
 * processes preload the profile library. 0, or a described error. */
int weft_run_profile_set_up(struct weft_run_opt *opt);

/* Prints the page of a job of n processes that has ended, from their records in
 * dir. job is the name of a spawned job, else "". */
void weft_run_profile_print(
	const char *profile, const char *job, const char *dir, uint32_t n);

#endif
