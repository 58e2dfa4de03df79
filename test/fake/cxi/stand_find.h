/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_find: finds the stand-in that was built with the tests */
#ifndef STAND_FIND_H
#define STAND_FIND_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lets libfabric find the stand-in in the build tree if the test uses cxi and
 * FI_PROVIDER_PATH is not set. Call it before the first query. */
static inline void stand_find(const char *provider)
{
	const char *top = getenv("TEST_BUILDDIR");
	char path[4096];

	if (!top || strcmp(provider, "cxi") != 0)
		return;
	snprintf(path, sizeof(path), "%s/test/fake/cxi/.libs", top);
	setenv("FI_PROVIDER_PATH", path, 0);
}

#endif
