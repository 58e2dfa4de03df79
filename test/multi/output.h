/* SPDX-License-Identifier: BSD-3-Clause */
/* output: captures the messages of the library during a part of a test
 *
 * One capture at a time. The standard error of the other ranks is not
 * captured. */
#ifndef MTEST_OUTPUT_H
#define MTEST_OUTPUT_H

#include "mtest.h"

#include <fcntl.h>
#include <sys/stat.h>

static char output_text[16384];
static FILE *output_file;
static int output_stderr = -1;

static inline void output_capture(void)
{
	fflush(stderr);
	output_file = tmpfile();
	output_stderr = dup(2);
	if (!CHECK(output_file && dup2(fileno(output_file), 2) == 2,
		    "stderr is read back"))
		exit(1);
}

/* Copies all output so far to output_text. */
static inline void output_read(void)
{
	ssize_t n;

	fflush(stderr);
	n = pread(fileno(output_file), output_text, sizeof(output_text) - 1, 0);
	output_text[n > 0 ? n : 0] = 0;
}

/* Ends the capture: restores stderr, and prints the captured text to it. */
static inline void output_restore(void)
{
	output_read();
	dup2(output_stderr, 2);
	close(output_stderr);
	fclose(output_file);
	fputs(output_text, stderr);
}

/* Returns the number of times that the text was printed. */
static inline int output_count(const char *what)
{
	int n = 0;

	for (const char *at = output_text; (at = strstr(at, what)) != NULL;
		at++)
		n++;
	return n;
}

/* True if another process has printed this text. That process is between
 * output_capture() and output_restore(). */
static inline int output_has_from(int pid, const char *what)
{
	static char text[sizeof(output_text)];
	char path[64];
	struct stat st;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/2", pid);
	/* stderr of that process may not be redirected to its file yet */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	fd = open(path, O_RDONLY);
	n = fd < 0 ? 0 : pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		close(fd);
	return strstr(text, what) != NULL;
}

/* Waits until that process has printed the text, outside MPI. */
static inline void output_wait_from(int pid, const char *what)
{
	do
		mtest_linger(20);
	while (!output_has_from(pid, what));
}

#endif
