/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_profile: weft-info --profile and --profile-library */
#ifndef WEFT_TOOL_PROFILE_H
#define WEFT_TOOL_PROFILE_H

#include <stdbool.h>

/* Prints the profile of a job from its records in dir, as a page or as JSON.
 * Returns the exit status: 1, with a message, if there is no record. */
int weft_tool_profile_print(const char *dir, bool is_json);

/* Prints the path of the profile library. Returns the exit status. */
int weft_tool_profile_library(void);

#endif
