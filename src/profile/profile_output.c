/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_output: prints the page on standard error, and writes the file */
#include "profile/profile_report.h"

#include <errno.h>

enum { OUTPUT_PLACES = 32 };

bool weft_profile_is_file(const char *profile)
{
	return strcmp(profile, "on") && strcmp(profile, "1");
}

void weft_profile_job_file(
	char *buf, size_t len, const char *profile, const char *job)
{
	size_t end = strlen(profile);

	if (!*job || !weft_profile_is_file(profile)) {
		snprintf(buf, len, "%s", profile);
	} else if (weft_profile_is_trace(profile)) {
		end -= strlen("trace.json");
		snprintf(buf, len, "%.*s%s.%s", (int)end, profile, job,
			profile + end);
	} else {
		if (end >= 5 && !strcmp(profile + end - 5, ".json"))
			end -= 5;
		snprintf(buf, len, "%.*s.%s%s", (int)end, profile, job,
			profile + end);
	}
}

/* Writes the file. A failure causes only a warning, because the job is
 * complete. */
static void output_file(const struct weft_profile_report *report,
	const char *name, const char *program)
{
	FILE *file = fopen(name, "we");
	int error = errno;

	if (file) {
		if (!weft_profile_is_trace(name))
			weft_profile_json(report, file);
		else if (weft_profile_trace(report, file))
			fprintf(stderr, "%s: no memory for the timeline\n",
				program);
		error = ferror(file) ? errno : 0;
		if (fclose(file))
			error = errno;
	}
	if (error)
		fprintf(stderr,
			"%s: warning: the profile is not in %s, which cannot "
			"be written: %s\n",
			program, name, strerror(error));
}

void weft_profile_output(struct weft_profile_report *report,
	const char *profile, const char *program)
{
	weft_profile_report_places(report, OUTPUT_PLACES);
	weft_profile_page(report, stderr);
	if (weft_profile_is_file(profile))
		output_file(report, profile, program);
}
