/* SPDX-License-Identifier: BSD-3-Clause */
/* uring: the kernel moves what was begun, many pieces at once (io_uring)
 *
 * One thread of the process hands pieces to the kernel and hears when they are
 * moved; WEFT_IO_THREADS workers of the kernel's at most copy what it cannot do
 * by waiting alone. All submissions are that thread's: the kernel gives up what
 * a thread began when it ends, and interrupts its system calls.
 *
 * Whatever is not moved whole (the file ends, no room, an error, a file that
 * knows no such thing) is given back from the first byte on that is missing:
 * the owner moves the rest as anything else, and finds out why. */
#ifndef WEFT_URING_H
#define WEFT_URING_H

#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_move;

struct weft_uring_task {
	/* the owner's: memory that is one run, data as in memory; and who has
	 * the task back, in the ring's thread, without any lock. The first
	 * n_moved bytes were moved. */
	const struct weft_move *m;
	void (*on_done)(struct weft_uring_task *task, int64_t n_moved);
	/* the ring's */
	struct weft_link link;
	int64_t next;	 /* bytes that were handed to the kernel */
	int64_t stop;	 /* the first that is missing; INT64_MAX: none so far */
	int n_in_flight; /* pieces with the kernel */
	uint64_t since;
};

/* Why there is none, or NULL where there is. Tries it, once for the process;
 * any thread. */
const char *weft_uring_why_not(void);

/* Whether the kernel moves it, by what WEFT_IO_ENGINE says or what is quicker:
 * reads from a disk, of runs that are not long. */
bool weft_uring_is_suitable(const struct weft_move *m);

/* The rest is carried out without the caller. False when it had better be moved
 * otherwise. VCI's lock held. */
bool weft_uring_add(struct weft_uring_task *task);

/* Waits for what suits and has many runs; m->n_moved is what was moved of it,
 * maybe nothing. No lock held. */
void weft_uring_move(struct weft_move *m);

/* A file that the kernel moved something of is gone. Threads end after the last
 * of them. */
void weft_uring_put(void);

#endif
