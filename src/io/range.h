/* SPDX-License-Identifier: BSD-3-Clause */
/* range: byte-range locks, so that data sieving loses nothing of others
 *
 * Short runs are written fastest with what is around them (sieve.h), which must
 * not change between reading and writing it. So whoever writes to a file in
 * which that may happen locks the stretch first: exclusively who sieves, shared
 * who does not. Where it cannot happen nobody locks anything: a process
 * announces, by a lock that it holds until it closes the file, whether it locks
 * what it writes, before it writes, and then looks for the other kind. One that
 * comes to others who may sieve locks what it writes, too; one that finds
 * others who do not lock does not sieve.
 *
 * Locks are those of open file descriptions, so they end with the process, and
 * only files of this host's file systems have any. A process's own locks, those
 * of fcntl(2) and lockf(3), are the program's: nobody waits for them. */
#ifndef WEFT_RANGE_H
#define WEFT_RANGE_H

#include "io/syscall.h"

#include <stdbool.h>
#include <stdint.h>

struct weft_file;

enum weft_range_kind {
	WEFT_RANGE_SHARED, /* other writers of what is theirs */
	WEFT_RANGE_EXCLUSIVE,
};

/* The file is open, and is_readable says how. */
void weft_range_open(struct weft_file *file);

enum weft_syscall_fs weft_range_fs(struct weft_file *file);

/* Whether the file is one of this host's file systems. */
static inline bool weft_range_is_local(struct weft_file *file)
{
	return weft_range_fs(file) != WEFT_SYSCALL_FS_OTHER;
}

void weft_range_close(struct weft_file *file);

/* Writers lock what they write from now on. Collective, between accesses, and
 * members agree on something before the next. */
void weft_range_start_locking(struct weft_file *file);

/* Locks [first, end), for one access of this process at a time, and waits for
 * it. *locked_out is false where nothing has to be locked, and with
 * WEFT_RANGE_EXCLUSIVE where somebody writes without locks, or a lock of the
 * program's is in the way: nobody is kept out then. An error says why there is
 * no lock. */
int weft_range_lock(struct weft_file *file, enum weft_range_kind kind,
	int64_t first, int64_t end, bool *locked_out);
/* Whether an access has to, from now on until the view changes. */
bool weft_range_must_lock(struct weft_file *file);
void weft_range_unlock(struct weft_file *file, int64_t first, int64_t end);

#endif
