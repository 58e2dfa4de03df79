/* SPDX-License-Identifier: BSD-3-Clause */
/* range: byte-range locks, so that data sieving loses no byte of other writers
 *
 * Data sieving writes back the gaps between runs (sieve.h). The bytes of a gap
 * must not change between the read and the write. So a writer that sieves locks
 * the range exclusively, and a writer that does not sieve locks the range
 * shared.
 *
 * A file that no process sieves needs no locks. Before its first write, a
 * process announces whether it locks the ranges that it writes. The
 * announcement is a lock that the process holds until it closes the file. After
 * its announcement, a process checks for announcements of other processes. If
 * other processes lock ranges, this process locks, too. While other processes
 * write without locks, this process does not sieve.
 *
 * The library uses locks of open file descriptions, which the kernel releases
 * when the process ends. Except in atomic mode, it locks files only on file
 * systems of this host, and does not wait for process locks (fcntl(2),
 * lockf(3)), which belong to the program. */
#ifndef WEFT_RANGE_H
#define WEFT_RANGE_H

#include "io/syscall.h"

#include <stdbool.h>
#include <stdint.h>

struct weft_file;

enum weft_range_kind {
	WEFT_RANGE_SHARED, /* shared by writers that do not sieve */
	WEFT_RANGE_EXCLUSIVE,
};

/* Prepares the locks of an open file. file->is_readable must be set. */
void weft_range_open(struct weft_file *file);

/* The kind of the file's file system, determined once. */
enum weft_syscall_fs weft_range_fs(struct weft_file *file);

/* True if the file is on a file system of this host. */
static inline bool weft_range_is_local(struct weft_file *file)
{
	return weft_range_fs(file) != WEFT_SYSCALL_FS_OTHER;
}

/* Withdraws the announcement. */
void weft_range_close(struct weft_file *file);

/* Makes this process lock the ranges that it writes from now on. Called between
 * accesses, by all members. They synchronize before the next access. */
void weft_range_start_locking(struct weft_file *file);

/* Locks [first, end), and waits for other processes and for other accesses of
 * this process. Sets *locked_out to false, and returns 0, if no lock is
 * necessary or a process lock overlaps the range. With WEFT_RANGE_EXCLUSIVE,
 * also if another process writes without locks or announcements are impossible;
 * the caller must then not sieve. In atomic mode, the access has locked its
 * range already. Locked ranges are released by weft_range_unlock(). */
int weft_range_lock(struct weft_file *file, enum weft_range_kind kind,
	int64_t first, int64_t end, bool *locked_out);
/* Announces this writer if it is not announced. True if writes must be locked.
 * The result does not change until the view changes. */
bool weft_range_must_lock(struct weft_file *file);
void weft_range_unlock(struct weft_file *file, int64_t first, int64_t end);

#endif
