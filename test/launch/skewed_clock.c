/* SPDX-License-Identifier: BSD-3-Clause */
/* skewed_clock: preloaded, so that the time of day of ranks 2 and more is 5
 * seconds ahead */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *ts);

int clock_gettime(clockid_t id, struct timespec *ts)
{
	const char *rank = getenv("PMIX_RANK");
	int rc = (int)syscall(SYS_clock_gettime, id, ts);

	if (id == CLOCK_REALTIME && rank && atoi(rank) >= 2)
		ts->tv_sec += 5;
	return rc;
}
