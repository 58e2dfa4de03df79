/* SPDX-License-Identifier: BSD-3-Clause */
/* mr_cache: libfabric's cache, which keeps a registration until its memory is
 * freed */
#ifndef WEFT_TEST_MR_CACHE_H
#define WEFT_TEST_MR_CACHE_H

#include "base/knob.h"

#include <stdbool.h>
#include <string.h>

/* True if a key still permits access after its registration was closed. */
static inline bool mr_cache_keeps(const char *provider)
{
	const char *monitor = weft_knob_getenv("FI_MR_CACHE_MONITOR");
	const char *count = weft_knob_getenv("FI_MR_CACHE_MAX_COUNT");

	return strstr(provider, "verbs") &&
	       !(monitor && !strcmp(monitor, "disabled")) &&
	       !(count && !strcmp(count, "0"));
}

#endif
