/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_finish: the page without Weft's mpiexec */
#ifndef WEFT_PROFILE_FINISH_H
#define WEFT_PROFILE_FINISH_H

#include <stdbool.h>
#include <stdint.h>

/* Called by rank, one of n, when it exits and writes no more into its record in
 * dir. The last of them prints the page and the file, as profile asks, and then
 * removes the records if is_temporary. Never waits for another process. */
void weft_profile_finish(const char *profile, const char *dir, uint32_t rank,
	uint32_t n, bool is_temporary);

#endif
