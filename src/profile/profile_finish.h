/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_finish: prints the page if Weft's mpiexec does not */
#ifndef WEFT_PROFILE_FINISH_H
#define WEFT_PROFILE_FINISH_H

#include <stdbool.h>
#include <stdint.h>

/* Called by each of n ranks of a job when it exits and no longer writes its
 * record in dir. job is the job's name, without a slash. The last rank prints
 * the page and writes the file, as the value `profile` of WEFT_PROFILE
 * requests. It then removes the records if is_temporary is true. Never waits
 * for another process. */
void weft_profile_finish(const char *profile, const char *dir, const char *job,
	uint32_t rank, uint32_t n, bool is_temporary);

#endif
