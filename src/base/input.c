/* SPDX-License-Identifier: BSD-3-Clause */
/* input: opens a file that the user names, without waiting for the writer of a
 * FIFO */
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef PIPEFS_MAGIC
#define PIPEFS_MAGIC 0x50495045
#endif

static bool has_no_name(int fd)
{
	struct statfs where;

	return fstatfs(fd, &where) == 0 && where.f_type == PIPEFS_MAGIC;
}

/* Returns the reason why the file cannot be used, or NULL. */
static const char *input_refuse(int fd, bool accepts_pipe)
{
	struct stat is;

	if (fstat(fd, &is))
		return strerror(errno);
	if (S_ISREG(is.st_mode))
		return NULL;
	if (accepts_pipe && (S_ISCHR(is.st_mode) ||
				    (S_ISFIFO(is.st_mode) && has_no_name(fd))))
		return NULL;
	return S_ISDIR(is.st_mode)    ? "a directory, not a regular file"
	       : S_ISFIFO(is.st_mode) ? "a FIFO, not a regular file"
				      : "a device, not a regular file";
}

FILE *weft_input_open(const char *path, bool accepts_pipe, const char **why_out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	FILE *file = NULL;

	*why_out = fd < 0 ? strerror(errno) : input_refuse(fd, accepts_pipe);
	if (!*why_out) {
		/* O_NONBLOCK was for open() only; reads may wait */
		fcntl(fd, F_SETFL, 0);
		file = fdopen(fd, "r");
		if (!file)
			*why_out = strerror(errno);
	}
	if (fd >= 0 && !file)
		close(fd);
	return file;
}
