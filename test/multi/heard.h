/* SPDX-License-Identifier: BSD-3-Clause */
/* heard: captures the messages of the library during a part of a test
 *
 * One capture at a time; the other ranks have a stderr of their own. */
#ifndef MTEST_HEARD_H
#define MTEST_HEARD_H

#include "mtest.h"

#include <fcntl.h>
#include <sys/stat.h>

static char heard_text[16384];
static FILE *heard_file;
static int heard_stderr = -1;

static inline void heard_begin(void)
{
	fflush(stderr);
	heard_file = tmpfile();
	heard_stderr = dup(2);
	if (!CHECK(heard_file && dup2(fileno(heard_file), 2) == 2,
		    "stderr is read back"))
		exit(1);
}

/* copies all output so far to heard_text */
static inline void heard_look(void)
{
	ssize_t n;

	fflush(stderr);
	n = pread(fileno(heard_file), heard_text, sizeof(heard_text) - 1, 0);
	heard_text[n > 0 ? n : 0] = 0;
}

/* prints the captured text to stderr */
static inline void heard_end(void)
{
	heard_look();
	dup2(heard_stderr, 2);
	close(heard_stderr);
	fclose(heard_file);
	fputs(heard_text, stderr);
}

/* the number of times that the text was printed */
static inline int heard(const char *what)
{
	int n = 0;

	for (const char *at = heard_text; (at = strstr(at, what)) != NULL; at++)
		n++;
	return n;
}

/* True if another process has printed this text. That process is between
 * heard_begin() and heard_end(). */
static inline int heard_by(int pid, const char *what)
{
	static char text[sizeof(heard_text)];
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
static inline void heard_from(int pid, const char *what)
{
	do
		mtest_linger(20);
	while (!heard_by(pid, what));
}

#endif
