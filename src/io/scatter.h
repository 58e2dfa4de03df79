/* SPDX-License-Identifier: BSD-3-Clause */
/* scatter: many short runs are stored in the page cache by one call
 *
 * The pages are mapped shared, and only the bytes of the runs change, so no
 * lock is necessary. The kernel copies the data (process_vm_readv on this
 * process). So if another process truncates the file, or the file system is
 * full, the call fails and no SIGBUS is raised. Used only for file systems of
 * this host, where read(2) returns the bytes of the mapping. */
#ifndef WEFT_SCATTER_H
#define WEFT_SCATTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { WEFT_SCATTER_MAX = 512 }; /* runs of one call, at most */

/* Writes n_runs runs, WEFT_SCATTER_MAX at most, from the contiguous data at
 * buf. A run is an offset in the file and a length. The offsets rise, and all
 * runs end at most at the end of the file. Returns the number of runs that were
 * written. The caller writes the others by write(2), which reports the error.
 * *is_supported_out is false if this process can never write in this way. */
size_t weft_scatter_write(int fd, const char *buf, const struct iovec *runs,
	size_t n_runs, bool *is_supported_out);

#endif
