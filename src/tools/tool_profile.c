/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_profile: weft-info --profile and --profile-library */
#include "tools/tool_profile.h"

#include "profile/profile_report.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { RANKS_MAX = 1 << 20, PROFILE_PLACES = 32 };

/* Returns one more than the largest rank with a record in dir; 0 without
 * records. */
static uint32_t count_records(const char *dir)
{
	DIR *stream = opendir(dir);
	struct dirent *entry;
	uint32_t n = 0, rank;

	while (stream && (entry = readdir(stream)))
		if (sscanf(entry->d_name, "profile.%u", &rank) == 1 &&
			rank < RANKS_MAX && rank >= n)
			n = rank + 1;
	if (stream)
		closedir(stream);
	return n;
}

int weft_tool_profile_print(const char *dir, bool is_json)
{
	struct weft_profile_report report;
	uint32_t n = count_records(dir);

	if (weft_profile_report_make(&report, dir, n)) {
		fputs("weft-info: no memory for the profile\n", stderr);
		return 1;
	}
	if (!report.n_recorded) {
		fprintf(stderr,
			"weft-info: no record of a process of this version in "
			"%s: name the directory that WEFT_PROFILE_DIR named\n",
			dir);
		weft_profile_report_fini(&report);
		return 1;
	}
	weft_profile_report_places(&report, PROFILE_PLACES);
	if (is_json)
		weft_profile_json(&report, stdout);
	else
		weft_profile_page(&report, stdout);
	weft_profile_report_fini(&report);
	return 0;
}

int weft_tool_profile_library(void)
{
	char path[PATH_MAX];

	weft_profile_library(path, sizeof(path));
	if (access(path, R_OK)) {
		fprintf(stderr, "weft-info: %s cannot be read\n", path);
		return 1;
	}
	puts(path);
	return 0;
}
