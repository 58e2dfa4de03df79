/* SPDX-License-Identifier: BSD-3-Clause */
/* scatter: many short runs are stored in the pages of a file at once
 *
 * Into a shared mapping of these pages, which changes the bytes of the runs and
 * none between them: no lock is needed, and nobody who writes these is harmed.
 * The kernel copies, so that a file which another process cuts short, or a full
 * file system, stops it and raises no signal. Only for files of this host's
 * file systems: what is stored in their pages is what others read(2). */
#ifndef WEFT_SCATTER_H
#define WEFT_SCATTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { WEFT_SCATTER_MAX = 512 }; /* runs at once */

/* Writes runs, each a place in the file and a length, rising and all before the
 * end of the file, at most WEFT_SCATTER_MAX. Returns how many of the first are
 * there; what is said of the others by another way of writing is why.
 * *works_out is false when this process works never do so. */
size_t weft_scatter_write(int fd, const char *buf, const struct iovec *runs,
	size_t n_runs, bool *works_out);

#endif
