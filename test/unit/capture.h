/* SPDX-License-Identifier: BSD-3-Clause */
/* capture: captures the output of a function to standard error */
#ifndef TEST_CAPTURE_H
#define TEST_CAPTURE_H

#include <stdio.h>
#include <unistd.h>

struct capture {
	FILE *file;
	int saved;
	char text[8192];
};

/* Redirects standard error to a temporary file. */
static inline void capture_start(struct capture *capture)
{
	fflush(stderr);
	capture->file = tmpfile();
	capture->saved = dup(STDERR_FILENO);
	if (capture->file)
		dup2(fileno(capture->file), STDERR_FILENO);
}

/* Restores standard error and returns the captured text. */
static inline const char *capture_stop(struct capture *capture)
{
	size_t n = 0;

	fflush(stderr);
	dup2(capture->saved, STDERR_FILENO);
	close(capture->saved);
	if (capture->file) {
		rewind(capture->file);
		n = fread(capture->text, 1, sizeof(capture->text) - 1,
			capture->file);
		fclose(capture->file);
	}
	capture->text[n] = 0;
	return capture->text;
}

#endif
