/* SPDX-License-Identifier: BSD-3-Clause */
/* range: who writes more than its own bytes keeps the other writers out
 *
 * Short runs are written fastest with what is around them (sieve.h), which
 * must not change between reading and writing it. So whoever writes to a file
 * in which that may happen takes the stretch first: alone who sieves, beside
 * other such writers who does not. Where it cannot happen nobody takes
 * anything: a process says with a lock that it holds until it closes the file
 * whether what it writes is taken, before it writes, and then looks for the
 * other kind. One that comes to others who may sieve takes what it writes, too;
 * one that finds others who take nothing does not sieve.
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
	WEFT_RANGE_BESIDE, /* other writers of what is theirs */
	WEFT_RANGE_ALONE,
};

/* The file is open, and is_readable says how. */
void weft_range_open(struct weft_file *file);

enum weft_syscall_where weft_range_where(struct weft_file *file);

/* Whether the file is one of this host's file systems. */
static inline bool weft_range_is_local(struct weft_file *file)
{
	return weft_range_where(file) != WEFT_SYSCALL_ELSEWHERE;
}

void weft_range_close(struct weft_file *file);

/* Writers take what they write from now on. Collective, between accesses, and
 * members agree on something before the next. */
void weft_range_begin(struct weft_file *file);

/* Takes [first, end), for one access of this process at a time, and waits for
 * it. *taken_out is false where there is nothing to be taken, and with
 * WEFT_RANGE_ALONE where somebody writes without taking it, or a lock of the
 * program's is in the way: nobody is kept out then. An error says why there is
 * no lock. */
int weft_range_take(struct weft_file *file, enum weft_range_kind kind,
	int64_t first, int64_t end, bool *taken_out);
/* Whether an access has to, from now on until the view changes. */
bool weft_range_takes(struct weft_file *file);
void weft_range_drop(struct weft_file *file, int64_t first, int64_t end);

#endif
