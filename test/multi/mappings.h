/* SPDX-License-Identifier: BSD-3-Clause */
/* mappings: the shared memory that a process has mapped */
#ifndef MTEST_MAPPINGS_H
#define MTEST_MAPPINGS_H

#include "mtest.h"

/* Returns the number of this process's mappings of other processes' memory, and
 * of its own rings. */
static inline int n_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	CHECK(maps != NULL, "/proc/self/maps can be read");
	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "memfd:weft") || strstr(line, "/dev/shm/");
	if (maps)
		fclose(maps);
	return n;
}

#endif
